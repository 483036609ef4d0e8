//! A profile of a variable of which two members are hot.

use std::path::PathBuf;

use relayout_layout::dwarf::DwarfFile;

use super::Place;
use super::profile::{LINE_BYTES, write_stores};

/// Writes a profile of the program `debug` in which two contexts store to the members of 4 bytes at
/// these offsets of its variable.
pub fn write(place: &Place, name: &str, debug: &str, variable: &str, offsets: [u64; 2]) -> PathBuf {
    let debug = place.path(debug);
    let bytes = std::fs::read(&debug).unwrap();
    let file = DwarfFile::parse(&bytes).unwrap();
    let mut globals = file.globals().iter();
    let address = globals
        .find(|global| global.name == variable)
        .unwrap()
        .address;
    assert_eq!(address % LINE_BYTES, 0, "the variable begins on a line");
    let words = offsets.map(|offset| address + offset);
    write_stores(place, name, &debug, &file.build_id_text().unwrap(), words)
}
