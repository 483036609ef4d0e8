//! Small programs: what pahole does with several definitions of one name, and with its options.

use crate::common::Place;
use crate::peer::{self, PaholeProgram};

const FIRST: &str = include_str!("first.c");
const SECOND: &str = include_str!("second.c");
const UNNAMED: &str = include_str!("unnamed.c");
const STRUCTS: &str = include_str!("structs.cc");
const TYPES: &str = include_str!("../layouts/show/types.c");

/// Of the definitions of one name, pahole prints those that differ in size or in the members'
/// names and places; their types, and the keyword, do not count.
#[test]
fn definitions_of_one_name_in_two_units() {
    peer::require_pahole();
    let place = Place::new();
    let second = place.write("second.c", SECOND);
    let program = place.compile("two", FIRST, &["-g", "-O0", &second.to_string_lossy()]);
    peer::check(&place, &program, "", "", &[]);
    peer::check(&place, &program, "-E", "-E", &[]);
}

/// Unnamed members of tagged structs are anonymous in C; base classes of C++ are not.
#[test]
fn unnamed_members_of_tagged_structs() {
    peer::require_pahole();
    let place = Place::new();
    let flags = ["-g", "-O0", "-c", "-fms-extensions", "-w"];
    let object = place.compile("unnamed", UNNAMED, &flags);
    for both in ["", "-E", "-c 16"] {
        peer::check(&place, &object, both, &format!("-F dwarf {both}"), &[]);
    }
    peer::encode_btf(&object);
    for both in ["-F btf", "-F btf -E"] {
        peer::check(&place, &object, &both.replace("-F btf", "--btf"), both, &[]);
    }
}

/// As in the `rdists` of arm64's interrupt controller.
#[test]
fn an_aligned_struct_behind_a_pointer() {
    peer::require_pahole();
    let place = Place::new();
    let source = "struct tables {
	struct { int lock; long base __attribute__((aligned(16))); } *each;
	struct { long first __attribute__((aligned(16))); } one, some[2];
	int count;
} tables;
";
    let object = place.compile("tables", source, &["-g", "-O0", "-c"]);
    for both in ["", "-E"] {
        peer::check(&place, &object, both, &format!("-F dwarf {both}"), &[]);
    }
}

/// Structs of C++: bases, templates, alignments, nested and anonymous types. pahole leaves out nested types
/// that have names, unless all of their class is printed; and of a struct with bit-fields behind a base it says
/// itself that its sums are wrong.
#[test]
fn structs_of_cxx() {
    peer::require_pahole();
    relayout_testkit::require_programs(&["g++"]);
    let place = Place::new();
    let source = place.write("structs.cc", STRUCTS);
    let object = place.path("structs");
    let flags = ["-g", "-O0", "-std=c++17", "-c", "-o"];
    let built = std::process::Command::new("g++")
        .args(flags)
        .args([&object, &source])
        .status();
    assert!(built.expect("g++ runs").success());
    let theirs = "-F dwarf -M";
    let allowed = ["struct Flags : Derived"];
    let printed =
        peer::check_contained(&place, &object, PaholeProgram::Newer, "", theirs, &allowed);
    assert!(printed > 8, "pahole printed {printed} types");
}

/// The options that both have.
#[test]
fn options() {
    peer::require_pahole();
    let place = Place::new();
    let object = place.compile("types", TYPES, &["-g", "-O0", "-c"]);
    for both in [
        "-s",
        "-E",
        "--hex",
        "-c 16",
        "-E -c 32 --hex",
        "-H 1",
        "-H 1 -s",
        "--structs",
        "--unions",
        "-s --unions",
        "--sort",
    ] {
        peer::check(&place, &object, both, &format!("-F dwarf {both}"), &[]);
    }
    // 1.30 ends these with an error, after printing the type.
    for both in ["-C inner", "-i inner"] {
        peer::check_with(&place, &object, PaholeProgram::Older, both, both, &[]);
    }
}
