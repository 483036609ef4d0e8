//! C++ classes.

use relayout_patch::{
    MemberPosition, SourceChange, StructSource, WrittenAlignment, edit_struct, member_order,
};

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
fn members_that_share_a_declaration_are_aligned_alone() {
    let ring =
        |member: &str, new: &str| check("Ring", align(member, None), "    int a_, b_;\n", new);
    ring("a_", "    alignas(64) int a_;\n    int b_;\n");
    ring("b_", "    int a_;\n    alignas(64) int b_;\n");
    let counters = |member: &str, reason: Option<&str>| {
        let source = "struct Counters {\n  long sum() const { return hits + misses; }\n  \
                      std::atomic<long> hits{0}, misses{0},\n      fails{0};  // of all\n};\n";
        edit_struct("c.cc", source, "Counters", None, &[align(member, reason)]).unwrap()
    };
    let lines = |lines: &str| {
        format!("struct Counters {{\n  long sum() const {{ return hits + misses; }}\n{lines}}};\n")
    };
    assert_eq!(
        counters("misses", Some("Written by all.")),
        lines(
            "  std::atomic<long> hits{0};\n  // Written by all.\n  alignas(64) std::atomic<long> \
             misses{0};\n  std::atomic<long> fails{0};  // of all\n"
        )
    );
    assert_eq!(
        counters("hits", None),
        lines(
            "  alignas(64) std::atomic<long> hits{0};\n  std::atomic<long> misses{0},\n      \
             fails{0};  // of all\n"
        )
    );
    // Template arguments have commas, too, and stars belong to one name.
    let source = "struct Maps {\n  Maps();\n  std::map<int, long> *first = nullptr, second;\n};\n";
    assert_eq!(
        edit_struct("m.cc", source, "Maps", None, &[align("second", None)]).unwrap(),
        "struct Maps {\n  Maps();\n  std::map<int, long> *first = nullptr;\n  alignas(64) \
         std::map<int, long> second;\n};\n"
    );
}

#[test]
fn classes_on_one_line_get_lines() {
    let source =
        "struct Cell { long load() const { return n; } std::atomic<long> n{0}; int a, b; };\n";
    assert_eq!(
        edit_struct(
            "c.cc",
            source,
            "Cell",
            None,
            &[align("b", Some("Written."))]
        )
        .unwrap(),
        "struct Cell {\n    long load() const { return n; }\n    std::atomic<long> n{0};\n    int a;\n    \
         /* Written. */\n    alignas(64) int b;\n};\n"
    );
}

fn pad(to: MemberPosition, reason: Option<&str>) -> SourceChange {
    SourceChange::AddPadding {
        name: "_pad1_".to_owned(),
        bytes: 56,
        to,
        reason: reason.map(str::to_owned),
    }
}

#[test]
fn classes_are_padded() {
    let source = "struct Counter {\n    long load() const { return value.load(); }\n    std::atomic<long> \
                  value;\n};\n";
    let padded =
        |to| edit_struct("c.cc", source, "Counter", None, &[pad(to, Some("Apart."))]).unwrap();
    let expect = "struct Counter {\n    long load() const { return value.load(); }\n    std::atomic<long> \
                  value;\n    /* Apart. */\n    unsigned char _pad1_[56];\n};\n";
    assert_eq!(padded(after("value")), expect);
    assert_eq!(padded(MemberPosition::Last), expect);
    check(
        "Ring",
        pad(MemberPosition::Before("size_".to_owned()), None),
        "    size_t size_ =",
        "    unsigned char _pad1_[56];\n    size_t size_ =",
    );
    // Into the middle of a declaration.
    check(
        "Ring",
        pad(after("a_"), None),
        "    int a_, b_;\n",
        "    int a_;\n    unsigned char _pad1_[56];\n    int b_;\n",
    );
    let one_line = "class Cell { public: Cell(); private: std::atomic<long> n{0}; };\n";
    assert_eq!(
        edit_struct(
            "c.cc",
            one_line,
            "Cell",
            None,
            &[pad(MemberPosition::Last, None)]
        )
        .unwrap(),
        "class Cell {\npublic:\n    Cell();\nprivate:\n    std::atomic<long> n{0};\n    unsigned char \
         _pad1_[56];\n};\n"
    );
}

#[test]
fn classes_with_values_by_position_are_padded_at_the_end_only() {
    let source = "struct Point {\n  std::atomic<int> x;\n  int y;\n  int sum() { return x + y; }\n};\n\
                  static Point origin{1, 2};\n";
    let padded = |to| edit_struct("p.cc", source, "Point", None, &[pad(to, None)]);
    assert!(padded(MemberPosition::Last).is_ok());
    let refusal = padded(after("x")).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "p.cc:6: the members of Point get values by position here"
    );
}

#[test]
fn a_part_of_a_declaration_moves() {
    let source = "class Pool {\n  public:\n    Pool() : free_(1), used_(2), limit_(3) {}\n  private:\n    \
                  std::atomic<long> free_, used_; // both\n    long limit_;\n};\n";
    let change = SourceChange::MoveMembers {
        members: vec!["used_".to_owned()],
        to: after("limit_"),
        spacing: None,
        reason: None,
    };
    assert_eq!(
        edit_struct("p.cc", source, "Pool", None, &[change]).unwrap(),
        "class Pool {\n  public:\n    Pool() : free_(1), limit_(3), used_(2) {}\n  private:\n    \
         std::atomic<long> free_; // both\n    long limit_;\n    std::atomic<long> used_;\n};\n"
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

const POOL: &str = "\
namespace net {
class Pool {
 public:
  Pool(long limit, int fd) : in_use_(0), limit_(limit), fd_(fd) {}
  ~Pool();
  long limit() const { return limit_; }
  long served = 0;

 private:
  // taken and not given back
  std::atomic<long> in_use_;

  long limit_;  // at most
  int fd_;
  int copy_ = fd_;
#ifdef TRACE
  long traced_ = 0;
#endif
};

template <typename T>
struct Stats {
  T hits{};
  T misses{};
  char label[112];
};

class Far {
  Far(int a);
  int a_;
  int b_;
};

struct Point {
  int x;
  int y = 2;
};
static Point origin{1, 2};
}
";

fn moved(name: &str, member: &str, to: MemberPosition, reason: Option<&str>) -> String {
    let change = SourceChange::MoveMembers {
        members: vec![member.to_owned()],
        to,
        spacing: None,
        reason: reason.map(str::to_owned),
    };
    match edit_struct("pool.cc", POOL, name, None, &[change]) {
        Ok(new) => new,
        Err(refusal) => refusal.to_string(),
    }
}

fn after(member: &str) -> MemberPosition {
    MemberPosition::After(member.to_owned())
}

#[test]
fn a_member_moves_with_its_comment_and_its_place_in_constructors() {
    let new = moved("Pool", "in_use_", after("fd_"), Some("Written by all."));
    let expect = POOL
        .replace(": in_use_(0), limit_(limit), fd_(fd) {", ": limit_(limit), fd_(fd), in_use_(0) {")
        .replace("  // taken and not given back\n  std::atomic<long> in_use_;\n\n", "")
        .replace(
            "  int fd_;\n",
            "  int fd_;\n  // taken and not given back\n  // Written by all.\n  std::atomic<long> in_use_;\n",
        );
    assert_eq!(new, expect);
}

#[test]
fn access_stays() {
    let new = moved("Pool", "served", after("in_use_"), None);
    let expect = POOL.replace("  long served = 0;\n", "").replace(
        "  std::atomic<long> in_use_;\n",
        "  std::atomic<long> in_use_;\n public:\n  long served = 0;\n private:\n",
    );
    assert_eq!(new, expect);
    let new = moved("Pool", "limit_", MemberPosition::First, None);
    let expect = POOL
        .replace(": in_use_(0), limit_(limit)", ": limit_(limit), in_use_(0)")
        .replace("  long limit_;  // at most\n", "")
        .replace(
            "  long served = 0;\n",
            " private:\n  long limit_;  // at most\n public:\n  long served = 0;\n",
        );
    assert_eq!(new, expect);
}

#[test]
fn members_of_templates_move() {
    let new = moved("Stats<long unsigned int>", "hits", after("label"), None);
    let expect = POOL
        .replace("  T hits{};\n", "")
        .replace("  char label[112];\n", "  char label[112];\n  T hits{};\n");
    assert_eq!(new, expect);
}

#[test]
fn members_that_are_initialised_by_others_stay() {
    let said = moved("Pool", "fd_", after("copy_"), None);
    assert_eq!(
        said,
        "pool.cc:15: fd_ and copy_ are initialised in this order, and one may use the other"
    );
    let said = moved("Pool", "copy_", MemberPosition::First, None);
    assert!(said.starts_with("pool.cc:15: copy_ and fd_ are"), "{said}");
    let said = moved("Far", "a_", after("b_"), None);
    assert_eq!(
        said,
        "pool.cc:29: the definition of this constructor of Far is not found, and its list of \
         initialisers has this order: give the tree that has it with --source"
    );
    let said = moved("Point", "x", after("y"), None);
    assert_eq!(
        said,
        "pool.cc:38: the members of Point get values by position here"
    );
}

#[test]
fn members_of_classes_are_listed() {
    let members = member_order("pool.cc", POOL, "Pool").unwrap();
    let expect = ["served", "in_use_", "limit_", "fd_", "copy_", "traced_"];
    assert_eq!(members, expect);
    let source = StructSource::new("pool.cc", POOL, "Pool", None);
    let conditional = source.language().conditional_members(source);
    assert_eq!(conditional.unwrap(), ["traced_"]);
}

#[test]
fn conditional_members_of_classes_stay() {
    let said = moved("Pool", "traced_", after("served"), None);
    assert!(said.contains("#if group"), "{said}");
}
