//! Examples for users of the library, run on a real object.

#[path = "../examples/struct_holes.rs"]
#[allow(dead_code, reason = "the example's own main")]
mod struct_holes;

use std::process::Command;

#[test]
fn struct_holes_of_an_object() {
    relayout_testkit::require_programs(&["gcc"]);
    let place = tempfile::tempdir().expect("a folder");
    let (source, object) = (place.path().join("a.c"), place.path().join("a.o"));
    let text = "struct holed { char a; long b; char c; } x; struct full { long a; } y;\n";
    std::fs::write(&source, text).expect("the source");
    let compiled = Command::new("gcc")
        .args(["-g", "-c", "-o"])
        .args([&object, &source])
        .status();
    assert!(compiled.expect("gcc runs").success());
    let bytes = std::fs::read(object).expect("the object");
    let lines = struct_holes::holes(&bytes).expect("types");
    assert_eq!(lines, "holed 24 7 16\n");
}
