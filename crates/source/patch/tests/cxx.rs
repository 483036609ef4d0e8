//! C++ classes.

use relayout_patch::{SourceChange, WrittenAlignment, edit_struct};

const SOURCE: &str = "\
#pragma once
#include <atomic>
namespace queue {

template <typename T>
class Ring final : public Base<T, 4> {
  public:
    explicit Ring(size_t size) : size_{size}, slots_(size) { reset(); }
    ~Ring() = default;
    size_t size() const noexcept { return size_; }
    using Slot = T;
    static int instances;

  private:
    std::atomic<size_t> head_{0}; // producers
    mutable std::array<std::pair<int, T>, 4> tail_[2];
    std::function<void(int)> done_ = nullptr;
    alignas(8) char flag_;
    int a_, b_;
    unsigned c_ : 3;
    size_t size_ = 0;
};

struct Plain {
    long first;
    long second;
};
}
";

fn edited(name: &str, change: SourceChange) -> String {
    match edit_struct("ring.hpp", SOURCE, name, None, &[change]) {
        Ok(new) => new,
        Err(refusal) => refusal.to_string(),
    }
}

fn align(member: &str, reason: Option<&str>) -> SourceChange {
    SourceChange::AlignMember {
        member: member.to_owned(),
        alignment: WrittenAlignment::Bytes(64),
        reason: reason.map(str::to_owned),
    }
}

fn check(name: &str, change: SourceChange, old: &str, new: &str) {
    assert_eq!(edited(name, change), SOURCE.replace(old, new));
}

#[test]
fn members_are_aligned_by_alignas() {
    let front = "    std::atomic<size_t> head_";
    let lines = "    // Stored to by producers.\n    alignas(64) std::atomic<size_t> head_";
    check(
        "Ring",
        align("head_", Some("Stored to by producers.")),
        front,
        lines,
    );
    check(
        "Ring",
        align("tail_", None),
        "    mutable",
        "    alignas(64) mutable",
    );
    check(
        "Ring",
        align("done_", None),
        "    std::func",
        "    alignas(64) std::func",
    );
    check(
        "Ring",
        align("size_", None),
        "    size_t size_ =",
        "    alignas(64) size_t size_ =",
    );
    check(
        "Plain",
        align("second", None),
        "    long second",
        "    alignas(64) long second",
    );
}

#[test]
fn classes_are_aligned_before_their_name() {
    let change = SourceChange::AlignType {
        alignment: WrittenAlignment::Bytes(128),
        reason: None,
    };
    check(
        "Ring",
        change.clone(),
        "class Ring",
        "class alignas(128) Ring",
    );
    check("Plain", change, "struct Plain", "struct alignas(128) Plain");
}

#[test]
fn what_cannot_be_aligned_is_refused() {
    let check =
        |member: &str, expect: &str| assert_eq!(edited("Ring", align(member, None)), expect);
    check("flag_", "ring.hpp:18: flag_ has an alignment already");
    check(
        "b_",
        "ring.hpp:19: b_ shares a declaration with other members",
    );
    check("c_", "ring.hpp:20: c_ is a bitfield and cannot be aligned");
    check(
        "instances",
        "ring.hpp:6: struct Ring has no member instances that can be told from its text",
    );
    check(
        "reset",
        "ring.hpp:6: struct Ring has no member reset that can be told from its text",
    );
}

#[test]
fn headers_of_c_stay_c() {
    let align = |source: &str| edit_struct("s.h", source, "s", None, &[align("a", None)]).unwrap();
    let c = "struct namespace {\n\tunsigned private:1;\n};\nstruct s {\n\tint a;\n};\n";
    assert!(align(c).contains("\tint a __attribute__((aligned(64)));"));
    let cxx = "namespace n {\nstruct s {\n\tint a;\n};\n}\n";
    assert!(align(cxx).contains("\talignas(64) int a;"));
}
