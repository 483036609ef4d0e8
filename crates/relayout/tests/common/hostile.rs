//! Debug files whose names no compiler would accept.

use std::fs;

use super::{KERNEL_FLAGS, Place};

/// A name that a compiler takes, in whose place a hostile name comes.
const PLACEHOLDER: &str = "a_name_that_no_other_string_holds";

/// A hostile name with as many bytes as [`PLACEHOLDER`].
pub fn padded(hostile: &str) -> String {
    hostile.to_owned() + &"_".repeat(PLACEHOLDER.len() - hostile.len())
}

/// Writes an ELF file with the variable `origin`, whose type and first member have the hostile name in `.debug_str`.
/// `before` is further members in front.
pub fn write_elf(place: &Place, name: &str, before: &str, hostile: &str) {
    let source = format!(
        "struct {PLACEHOLDER} {{ {before} int {PLACEHOLDER}; int other; }} origin __attribute__((aligned(64)));\n\
         const char linux_banner[] = \"Linux version 6.1.0-test\";\n"
    );
    let path = place.compile(name, &source, KERNEL_FLAGS);
    let mut bytes = fs::read(&path).unwrap();
    let hostile = padded(hostile);
    let mut replaced = 0;
    while let Some(at) =
        { bytes.windows(PLACEHOLDER.len()) }.position(|window| window == PLACEHOLDER.as_bytes())
    {
        bytes[at..at + hostile.len()].copy_from_slice(hostile.as_bytes());
        replaced += 1;
    }
    assert!(replaced > 0, "{PLACEHOLDER} in .debug_str");
    fs::write(path, bytes).unwrap();
}
