//! Debug information that was split off a program: found by build id and by name, and checked.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{Place, start};

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
