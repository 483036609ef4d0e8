//! Debug information that was split off a program: found by build id and by name, and checked.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{Place, start};
use relayout_testkit::require_programs;

const SOURCE: &str =
    "struct point { int x; char tag; long y; } origin; int main(void) { return 0; }";

/// A program whose debug information is in `program.debug`, which it names.
fn split_off() -> Place {
    let place = Place::new();
    place.compile("program", SOURCE, &["-g", "-Wl,--build-id"]);
    objcopy(&place, &["--only-keep-debug", "program", "program.debug"]);
    let link = "--add-gnu-debuglink=program.debug";
    objcopy(&place, &["--strip-debug", link, "program"]);
    place
}

fn objcopy(place: &Place, arguments: &[&str]) {
    let mut command = Command::new("objcopy");
    command.args(arguments).current_dir(place.path(""));
    let status = start(&mut command).wait().unwrap();
    assert!(status.success(), "objcopy (package binutils) {arguments:?}");
}

#[track_caller]
fn shows(place: &Place, folders: &Path) {
    let mut command = place.relayout(&["show", "program", "point"]);
    let ended = place.ended(command.env("RELAYOUT_DEBUG_PATH", folders));
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""));
    assert!(
        ended.stdout.starts_with("struct point {\n"),
        "{}",
        ended.stdout
    );
}

#[test]
fn by_name_beside_the_program() {
    let place = split_off();
    shows(&place, Path::new("none"));
    fs::create_dir(place.path(".debug")).unwrap();
    fs::rename(
        place.path("program.debug"),
        place.path(".debug/program.debug"),
    )
    .unwrap();
    shows(&place, Path::new("none"));
}

#[test]
fn by_build_id_where_debug_packages_are_installed() {
    let place = split_off();
    let bytes = fs::read(place.path("program")).unwrap();
    let about = relayout_layout::links::DebugLinks::read(&bytes).unwrap();
    let id: Vec<String> = about
        .build_id
        .unwrap()
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    let folder = place.path("installed/.build-id").join(&id[0]);
    fs::create_dir_all(&folder).unwrap();
    let name = format!("{}.debug", id[1..].concat());
    fs::rename(place.path("program.debug"), folder.join(name)).unwrap();
    shows(&place, &place.path("installed"));
}

#[test]
fn of_another_build_or_not_at_all() {
    let place = split_off();
    let refused = |says: &str| {
        let mut command = place.relayout(&["show", "program"]);
        let ended = place.ended(command.env("RELAYOUT_DEBUG_PATH", "none"));
        assert_eq!((ended.code, &*ended.stdout), (Some(2), ""));
        assert!(ended.stderr.contains(says), "{}", ended.stderr);
    };
    let mut bytes = fs::read(place.path("program.debug")).unwrap();
    bytes.push(0);
    place.write("program.debug", bytes);
    refused("./program.debug is of another build");
    fs::remove_file(place.path("program.debug")).unwrap();
    refused("not there: none/.build-id/");
}

/// Two programs whose common types `dwz` moved to the file `common.debug`, and the first as it was
/// before.
fn shared_types() -> Place {
    require_programs(&["gcc", "dwz"]);
    let place = Place::new();
    let common =
        |n: u32| format!("struct common_{n} {{ int a{n}; long b{n}; char c{n}; }} x{n};\n");
    let common: String = (0..12).map(common).collect();
    for name in ["p", "q"] {
        let source = format!(
            "{common}struct shared {{ char flag; long count; }} s;\n\
             struct own_{name} {{ char c; struct shared s; }} o;\nint main(void) {{ return s.flag + o.c; }}\n"
        );
        place.write(&format!("{name}.c"), source);
        run(&place, &format!("gcc -g -Wl,--build-id {name}.c -o {name}"));
    }
    fs::copy(place.path("p"), place.path("p.before")).unwrap();
    run(&place, "dwz -m common.debug p q");
    place
}

fn run(place: &Place, words: &str) {
    let mut command = Command::new("/usr/bin/env");
    command
        .args(words.split_whitespace())
        .current_dir(place.path(""));
    assert!(start(&mut command).wait().unwrap().success(), "{words}");
}

/// Runs a command that finds the types of all programs, of which some are in the common file.
#[track_caller]
fn finds_common_types(place: &Place, program: &str) {
    let ended = |words: &[&str]| {
        let mut command = place.relayout(words);
        let ended = place.ended(command.env("RELAYOUT_DEBUG_PATH", place.path("installed")));
        assert_eq!(
            (ended.code, &*ended.stderr),
            (Some(0), ""),
            "{words:?}: {}",
            ended.stdout
        );
        ended.stdout
    };
    let names = |program: &str| {
        let text = ended(&["show", program, "--sizes"]);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(names(program), names("p.before"));
    assert_eq!(names(program).len(), 14);
    assert!(
        ended(&["show", program, "shared"]).contains("count;                /*     8     8 */")
    );
    let same = "0 types changed; 0 added, 0 removed, 14 the same";
    assert!(ended(&["diff", "p.before", program]).contains(same));
    place.write("relayout.toml", "[[type]]\nname = \"shared\"\nsize = 16\n");
    ended(&["check", program]);
}

#[test]
fn common_types_by_dwz() {
    let place = shared_types();
    finds_common_types(&place, "p");
    // `dwz` wrote the path from the program itself.
    fs::create_dir(place.path("links")).unwrap();
    std::os::unix::fs::symlink(place.path("p"), place.path("links/p")).unwrap();
    finds_common_types(&place, "links/p");
    fs::create_dir_all(place.path("installed/.dwz")).unwrap();
    fs::rename(
        place.path("common.debug"),
        place.path("installed/.dwz/common.debug"),
    )
    .unwrap();
    finds_common_types(&place, "p");
    // A file of the name that is of other programs does not hide it.
    fs::copy(place.path("q"), place.path("common.debug")).unwrap();
    finds_common_types(&place, "p");
}

#[test]
fn missing_common_types_are_no_verdict() {
    let place = shared_types();
    fs::remove_file(place.path("common.debug")).unwrap();
    place.write("relayout.toml", "[[type]]\nname = \"shared\"\nsize = 16\n");
    let checked = place.run(&["check", "p"]);
    assert_eq!((checked.code, &*checked.stdout), (Some(2), ""));
    let says = "cannot tell if p has a type shared: the supplementary file common.debug (build id ";
    assert!(checked.stderr.contains(says), "{}", checked.stderr);
    let optional = "[[type]]\nname = \"shared\"\noptional = true\nsize = 16\n";
    place.write("relayout.toml", optional);
    assert_eq!(place.run(&["check", "p"]).code, Some(2));
    place.write("relayout.toml", "[[type]]\nname = \"own_p\"\nsize = 24\n");
    assert_eq!(place.run(&["check", "p"]).code, Some(0));
    let compared = place.run(&["diff", "p.before", "p"]);
    assert_eq!((compared.code, &*compared.stdout), (Some(2), ""));
    let says = "cannot tell if p.before and p differ: the supplementary file common.debug";
    assert!(compared.stderr.contains(says), "{}", compared.stderr);
    let shown = place.run(&["show", "p", "shared"]);
    assert_eq!(shown.code, Some(2));
    assert!(shown.stderr.contains("common.debug"), "{}", shown.stderr);
}
