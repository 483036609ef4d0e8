//! Classes of C++ are found by the names that people write: with a namespace, with integers spelled in
//! any way. Their patches apply, compile without warnings, and save what was predicted.

use crate::common::Place;
use crate::common::programs::{data, recording_place, transfers_about};
use relayout_testkit::require_programs;

/// A member of a type, the type's name as reports print it, and others that people write.
const NAMES: [(&str, &str, &[&str]); 3] = [
    ("limit_", "net::Pool", &["Pool", "class net::Pool"]),
    (
        "hits",
        "Stats<unsigned long>",
        &[
            "Stats<long unsigned int>",
            "Stats< unsigned long >",
            "Stats<*>",
        ],
    ),
    ("seen", "Epoch", &["struct Epoch"]),
];

fn recorded_classes() -> Place {
    require_programs(&["g++", "patch"]);
    let place = recording_place();
    std::fs::copy(data("classes.cc"), place.path("classes.cc")).expect("the source");
    record(&place, "out");
    place
}

fn record(place: &Place, output: &str) {
    let flags = "-g -O1 -std=c++17 -Wall -Wextra -Werror -pthread";
    for words in [
        format!("cc -- g++ {flags} -o classes classes.cc"),
        format!("record run --yield 50 -o {output} -- ./classes 60000"),
    ] {
        let ended = place.said(&words);
        assert_eq!(ended.code, Some(0), "{words}: {}", ended.stderr);
    }
}

/// Transfers of a type's objects.
fn transfers(place: &Place, profile: &str, name: &str) -> u64 {
    transfers_about(place, profile, |found| found == name)
}

#[test]
fn names_as_people_write_them() {
    let place = recorded_classes();
    let said = |words: &[&str]| {
        let mut command = place.relayout(words);
        place.with_system(&mut command);
        let ended = place.ended(&mut command);
        assert_eq!(ended.code, Some(0), "{words:?}: {}", ended.stderr);
        ended.stdout
    };
    for (member, printed, others) in NAMES {
        let align = format!("{member}=64");
        let shown = said(&["show", "classes", printed]);
        let advised = said(&["advise", "out", printed, "--json"]);
        let reported = said(&["report", "out", "--type", printed, "--json"]);
        let scored = said(&["what-if", "out", printed, "--align", &align, "--json"]);
        for name in others {
            assert_eq!(said(&["show", "classes", name]), shown, "{name}");
            assert_eq!(said(&["advise", "out", name, "--json"]), advised, "{name}");
            let words = ["report", "out", "--type", name, "--json"];
            assert_eq!(said(&words), reported, "{name}");
            let words = ["what-if", "out", name, "--align", &align, "--json"];
            assert_eq!(said(&words), scored, "{name}");
        }
    }
}

/// What `show` prints of a class is a layout of it, with its base classes and access labels.
#[test]
fn the_text_of_show_is_a_layout() {
    let place = recorded_classes();
    for name in ["net::Pool", "Stats<unsigned long>", "Worker"] {
        let shown = place.ended(&mut place.relayout(&["show", "classes", name]));
        assert_eq!(shown.code, Some(0), "{name}: {}", shown.stderr);
        place.write("shown.txt", &shown.stdout);
        let words = ["what-if", "out", name, "--layout", "shown.txt"];
        let scored = place.ended(&mut place.relayout(&words));
        assert_eq!(scored.code, Some(0), "{name}: {}", scored.stderr);
        assert!(
            scored.stdout.contains("* shown "),
            "{name}: {}",
            scored.stdout
        );
        assert!(scored.stdout.contains("+0.0%"), "{name}: {}", scored.stdout);
    }
}

/// Allocated elements are told by their container, and accesses by the line that calls a helper.
#[test]
fn containers_and_callers_are_named() {
    let place = recorded_classes();
    let ended = place.said("report out --top 0");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for words in [
        "operator new in main (classes.cc:82), element of std::vector<Worker> (",
        "classes.cc:15 (net::Pool::use > std::__atomic_base<long>::fetch_add)",
    ] {
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
}

#[test]
fn another_namespace_is_another_type() {
    let place = recorded_classes();
    for words in ["advise out other::Pool", "report out --type other::Pool"] {
        let ended = place.said(words);
        assert_eq!(ended.code, Some(2), "{words}: {}", ended.stdout);
        assert!(ended.stderr.contains("other::Pool"), "{}", ended.stderr);
    }
}

/// A member of a class with access specifiers, one of a template, one of a base, and elements of a
/// vector.
#[test]
fn patches_of_classes_hold() {
    let place = recorded_classes();
    let names = ["net::Pool", "Stats<unsigned long>", "Epoch", "Worker"];
    for (index, name) in names.iter().enumerate() {
        let patch = format!("{index}.patch");
        let words = ["advise", "out", name, "--source", ".", "--patch", &patch];
        // The machine may be busy with other tests, which is a doubt.
        let mut command = place.relayout(&[&words[..], &["--force"]].concat());
        place.with_system(&mut command);
        let ended = place.ended(&mut command);
        assert_eq!(ended.code, Some(0), "{name}: {}", ended.stderr);
        assert!(place.path(&patch).exists(), "{name}: {}", ended.stdout);
    }
    let types = ["net::Pool", "Stats<unsigned long>", "Domain", "Worker"];
    let before = types.map(|name| transfers(&place, "out", name));
    for index in 0..names.len() {
        let applied = place.other("/usr/bin/patch", &format!("-p1 -i {index}.patch"));
        assert_eq!(applied.code, Some(0), "{}", applied.stdout);
    }
    record(&place, "then");
    for (name, before) in types.into_iter().zip(before) {
        let after = transfers(&place, "then", name);
        assert!(
            after * 10 < before,
            "{name}: {before} before, {after} after"
        );
    }
}

/// Compilers of C++, with what their debug information may differ in.
const COMPILERS: [&str; 3] = ["g++", "clang++", "clang++ -gsimple-template-names"];

/// Compiles a file by each of the compilers to `it.0`, `it.1` and so on.
fn compile_by_each(place: &Place, source: &str) -> Vec<String> {
    require_programs(&["g++", "clang++"]);
    place.write("it.cc", source);
    let build = |(index, compiler): (usize, &&str)| {
        let words = format!("{compiler} -std=c++17 -g -O1 -pthread it.cc -o it.{index}");
        let built = place.other("/usr/bin/env", &words);
        assert_eq!(built.code, Some(0), "{words}: {}", built.stderr);
        format!("it.{index}")
    };
    COMPILERS.iter().enumerate().map(build).collect()
}

/// Size that `show` prints of a type, and its notes.
#[track_caller]
fn shown_size(place: &Place, program: &str, name: &str) -> (u64, String) {
    let ended = place.run(&["show", program, name, "--json"]);
    assert_eq!(ended.code, Some(0), "{program} {name}: {}", ended.stderr);
    let shown: serde_json::Value = serde_json::from_str(&ended.stdout).expect("a document");
    let size = shown["types"][0]["size"].as_u64();
    (size.unwrap_or_else(|| panic!("{shown}")), ended.stderr)
}

/// Checks that each of the programs has the type, of this size, for `show` and for `check`, and
/// that `diff` finds it.
#[track_caller]
fn check_found(place: &Place, programs: &[String], name: &str, size: u64) {
    place.write(
        "relayout.toml",
        format!("[[type]]\nname = \"{name}\"\nsize = {size}\n"),
    );
    for program in programs {
        assert_eq!(shown_size(place, program, name).0, size, "{program} {name}");
        let checked = place.run(&["check", program]);
        assert_eq!(
            checked.code,
            Some(0),
            "{program} {name}: {}",
            checked.stdout
        );
        let compared = place.run(&["diff", &programs[0], program, name]);
        let same = "0 types changed; 0 added, 0 removed, 1 the same";
        assert!(
            compared.stdout.contains(same),
            "{program} {name}: {}",
            compared.stdout
        );
    }
}

#[track_caller]
fn check_not_found(place: &Place, programs: &[String], name: &str) {
    place.write(
        "relayout.toml",
        format!("[[type]]\nname = \"{name}\"\nsize_max = 4096\n"),
    );
    for program in programs {
        let shown = place.run(&["show", program, name]);
        assert_eq!(shown.code, Some(2), "{program} {name}: {}", shown.stdout);
        let checked = place.run(&["check", program]);
        assert_eq!(
            checked.code,
            Some(1),
            "{program} {name}: {}",
            checked.stdout
        );
        assert!(
            checked.stdout.contains("violates exists"),
            "{}",
            checked.stdout
        );
    }
}

const NAMESPACES: &str = "
namespace a { struct Q { int x; }; inline namespace v1 { struct W { short s[3]; }; } }
namespace b { struct Q { char c; long x; }; }
namespace { struct Q { short s; }; }
namespace c { namespace { struct Q { short s[9]; }; } }
template <class T> struct Held { T t; char c; };
a::Q qa; b::Q qb; Q qc; c::Q qd; a::W w; Held<c::Q> h; Held<a::W> i;
int main() { return qa.x + qb.x + qc.s + qd.s[1] + w.s[0] + h.c + i.c; }
";

#[test]
fn namespaces_that_names_may_leave_out() {
    let place = Place::new();
    let programs = compile_by_each(&place, NAMESPACES);
    for (name, size) in [
        ("a::Q", 4),
        ("c::Q", 18),
        ("c::(anonymous namespace)::Q", 18),
        ("c::{anonymous}::Q", 18),
        ("c::(anonymous)::Q", 18),
        ("struct c::Q", 18),
        ("a::W", 6),
        ("a::v1::W", 6),
        ("Held<c::Q>", 20),
        ("Held<c::(anonymous namespace)::Q>", 20),
        ("Held<c::{anonymous}::Q>", 20),
        ("Held<a::v1::W>", 8),
        ("Held<a::W>", 8),
    ] {
        check_found(&place, &programs, name, size);
    }
    for name in ["d::Q", "a::v2::W", "b::(anonymous)::Q", "Held<b::W>"] {
        check_not_found(&place, &programs, name);
    }
    for program in &programs {
        let (_, note) = shown_size(&place, program, "Q");
        for words in [
            "4 different types are named `Q`",
            "a::Q at ",
            "b::Q at ",
            "(anonymous)::Q at ",
            "c::(anonymous)::Q at ",
        ] {
            assert!(note.contains(words), "{words}: {note}");
        }
    }
}

/// A waiver for the name that its rule has covers a violation whose type has more namespaces.
#[test]
fn waivers_name_types_as_rules_do() {
    let place = Place::new();
    let programs = compile_by_each(&place, NAMESPACES);
    place.write(
        "relayout.toml",
        "[[type]]\nname = \"a::W\"\nsize = 4\n[[waiver]]\ntype = \"a::W\"\nreason = \"known\"\nexpires = 2999-01-01\n",
    );
    for program in &programs {
        let checked = place.run(&["check", program]);
        assert_eq!(
            checked.code,
            Some(0),
            "{}{}",
            checked.stdout,
            checked.stderr
        );
        assert!(checked.stdout.contains("waived"), "{}", checked.stdout);
    }
}

const TEMPLATES: &str = "
enum Color { Red, Green }; enum class Shade : char { Dark, Light };
template <class T, int N> struct Ring { T t[N]; };
template <class K, class V> struct Map { K k; V v; };
template <unsigned long N> struct Bytes { char c[N]; };
template <char C> struct Tag { char c[3]; };
template <bool B> struct Flag { char c[5]; };
template <Color C> struct Paint { char c[6]; };
template <Shade S> struct Dim { char c[7]; };
template <class... T> struct Pack { char c[sizeof...(T) + 1]; };
template <class T> struct Arena { T *at; };
template <class T, class A = Arena<T>, int N = 2> struct Pool { T t[N]; A a; };
template <class F> struct Call { F *f; char c; };
template <class T> struct Outer { struct Inner { T t; char c; }; Inner in; };
namespace net { struct Job { short s[5]; }; }
Ring<unsigned long, 2> a; Map<long, Ring<short, 2>> b; Bytes<4> c; Tag<'a'> d; Tag<'\\n'> d2; Flag<true> e;
Paint<Green> f; Dim<Shade::Light> g; Pack<int, long> h; Pool<int> i; Pool<long, Arena<long>, 4> j;
Call<int(long, const char *)> k; Outer<long> l; Ring<net::Job, 3> m; Ring<const net::Job *, 1> n;
int main() {}
";

#[test]
fn templates_as_either_compiler_spells_them() {
    let place = Place::new();
    let programs = compile_by_each(&place, TEMPLATES);
    for (name, size) in [
        ("Ring<unsigned long, 2>", 16),
        ("Ring<long unsigned int, 2>", 16),
        ("Ring<unsigned long int,2>", 16),
        ("Ring<short, 2>", 4),
        ("Map<long, Ring<short, 2>>", 16),
        ("Map<long int, Ring<short int, 2> >", 16),
        ("Bytes<4>", 4),
        ("Bytes<4UL>", 4),
        ("Bytes<4ul>", 4),
        ("Tag<'a'>", 3),
        ("Tag<(char)97>", 3),
        ("Tag<97>", 3),
        ("Tag<(char)10>", 3),
        ("Flag<true>", 5),
        ("Flag<(bool)1>", 5),
        ("Paint<(Color)1>", 6),
        ("Paint<Green>", 6),
        ("Dim<(Shade)1>", 7),
        ("Dim<Shade::Light>", 7),
        ("Pack<int, long>", 3),
        ("Pool<int>", 16),
        ("Pool<int, Arena<int>>", 16),
        ("Pool<int, Arena<int>, 2>", 16),
        ("Call<int (long, const char *)>", 16),
        ("Call<int(long int, char const*)>", 16),
        ("Outer<long>::Inner", 16),
        ("Ring<net::Job, 3>", 30),
        ("Ring<net::Job const*, 1>", 8),
    ] {
        let is_enumerator = name.starts_with("Paint") || name.starts_with("Dim");
        match is_enumerator {
            // `diff` takes the name of a type in each build.
            true => {
                for program in &programs {
                    assert_eq!(
                        shown_size(&place, program, name).0,
                        size,
                        "{program} {name}"
                    );
                }
            }
            false => check_found(&place, &programs, name, size),
        }
    }
    for name in [
        "Ring<unsigned, 2>",
        "Ring<unsigned long, 3>",
        "Tag<'b'>",
        "Flag<false>",
        "Paint<Red>",
        // A pack has no defaults.
        "Pack<int>",
        "Outer<int>::Inner",
    ] {
        check_not_found(&place, &programs, name);
    }
    // Where the arguments are not in the name, they are in the entries.
    let shown = place.run(&["show", &programs[2]]);
    for line in [
        "struct Ring<unsigned long, 2> {",
        "struct Pool<int, Arena<int>, 2> {",
    ] {
        assert!(shown.stdout.contains(line), "{line}: {}", shown.stdout);
    }
}

const INSTANCES: &str = "
#include <atomic>
#include <cstdio>
#include <thread>
template <class T> struct Stat { std::atomic<T> in{0}; std::atomic<T> out{0}; T peak{0}; };
alignas(64) static Stat<long> bytes;
alignas(64) static Stat<int> packets;
static void a() { for (int i = 0; i < 20000; i++) { bytes.in++; packets.in++; } }
static void b() { for (int i = 0; i < 20000; i++) { bytes.out++; packets.out++; } }
int main() { std::thread x(a), y(b); x.join(); y.join(); std::printf(\"%ld\\n\", bytes.in.load()); }
";

#[test]
fn instances_with_short_names_are_apart() {
    require_programs(&["clang++"]);
    let place = recording_place();
    place.write("stats.cc", INSTANCES);
    let flags = "-std=c++17 -O1 -g -gsimple-template-names -pthread";
    for words in [
        format!("cc -- clang++ {flags} stats.cc -o stats"),
        "record run --yield 50 -o out -- ./stats".to_owned(),
    ] {
        let ended = place.said(&words);
        assert_eq!(ended.code, Some(0), "{words}: {}", ended.stderr);
    }
    for (name, size) in [("Stat<int>", 12), ("Stat<long>", 24)] {
        assert_eq!(shown_size(&place, "stats", name).0, size);
        assert!(transfers(&place, "out", name) > 0, "{name}");
        let mut command = place.relayout(&["advise", "out", name]);
        place.with_system(&mut command);
        let advised = place.ended(&mut command);
        assert_eq!(advised.code, Some(0), "{}", advised.stderr);
        assert!(
            advised.stdout.contains(&format!("struct {name}")),
            "{}",
            advised.stdout
        );
    }
    assert_eq!(transfers(&place, "out", "Stat"), 0);
}

const LOCAL: &str = "
#include <thread>
#include <cstdio>
#include <pthread.h>
static pthread_barrier_t turns;
struct Server { int run(int n); };
__attribute__((noinline)) int Server::run(int n) { struct Turn { char c[7]; } turn{}; turn.c[0] = n; asm volatile(\"\" :: \"r\"(&turn) : \"memory\"); return turn.c[0]; }
__attribute__((noinline)) static int other() { struct Shared { char c[3]; } own{}; asm volatile(\"\" :: \"r\"(&own) : \"memory\"); return own.c[0]; }
int main(int argc, char **) {
    long rounds = 20000;
    { struct Inner { char c[11]; } inner{}; inner.c[0] = argc; asm volatile(\"\" :: \"r\"(&inner) : \"memory\"); }
    struct Shared { volatile long produced; volatile long consumed; const char *name; };
    static Shared shared{0, 0, \"x\"};
    auto work = [&] { struct InLambda { char c[13]; } it{}; asm volatile(\"\" :: \"r\"(&it) : \"memory\");
        for (long i = 0; i < rounds; i++) {
            if (i % 50 == 0) pthread_barrier_wait(&turns);
            shared.produced = shared.produced + 1; } };
    pthread_barrier_init(&turns, nullptr, 2);
    std::thread a(work);
    std::thread b([&] { for (long i = 0; i < rounds; i++) {
            if (i % 50 == 0) pthread_barrier_wait(&turns);
            shared.consumed = shared.consumed + 1; } });
    a.join(); b.join();
    std::printf(\"%ld %d\\n\", shared.produced, other() + Server().run(argc));
}
";

#[test]
fn types_in_functions_are_found() {
    let place = Place::new();
    let programs = compile_by_each(&place, LOCAL);
    for (name, size) in [
        ("main::Shared", 24),
        ("main()::Shared", 24),
        ("other::Shared", 3),
        ("Inner", 11),
        ("Turn", 7),
        ("Server::run::Turn", 7),
        ("run(int)::Turn", 7),
        ("InLambda", 13),
    ] {
        check_found(&place, &programs, name, size);
    }
    check_not_found(&place, &programs, "Server::Turn");
    for program in &programs {
        let (_, note) = shown_size(&place, program, "Shared");
        assert!(note.contains("main()::Shared at "), "{note}");
        assert!(note.contains("other()::Shared at "), "{note}");
        let all = place.run(&["show", program, "--sizes"]).stdout;
        assert!(
            !all.contains("Shared") && all.contains("Server"),
            "pahole leaves them out: {all}"
        );
    }
}

#[test]
fn types_in_functions_have_the_name_of_reports() {
    require_programs(&["g++"]);
    let place = recording_place();
    place.write("local.cc", LOCAL);
    for words in [
        "cc -- g++ -std=c++17 -O1 -g -pthread local.cc -o local",
        "record run --yield 50 -o out -- ./local",
    ] {
        let ended = place.said(words);
        assert_eq!(ended.code, Some(0), "{words}: {}", ended.stderr);
    }
    assert!(transfers(&place, "out", "Shared") > 0);
    assert_eq!(shown_size(&place, "local", "main::Shared").0, 24);
    let mut command = place.relayout(&["advise", "out", "Shared"]);
    place.with_system(&mut command);
    let advised = place.ended(&mut command);
    assert_eq!(advised.code, Some(0), "{}", advised.stderr);
    assert!(advised.stdout.contains("produced"), "{}", advised.stdout);
}
