//! docs/fleet.md has the tables as the program prints them.

use std::process::Command;

#[test]
fn the_document_has_all_columns() {
    let printed = Command::new(env!("CARGO_BIN_EXE_relayout-fleet"))
        .arg("tables")
        .output();
    let printed = String::from_utf8(printed.expect("it runs").stdout).expect("text");
    let document = include_str!("../../docs/fleet.md");
    assert!(
        document.contains(printed.trim()),
        "docs/fleet.md differs from `relayout fleet tables`"
    );
}
