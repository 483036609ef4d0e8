//! A variable of which two members are hot, and profiles of it.

use std::path::PathBuf;

use relayout_layout::dwarf::DwarfFile;

use relayout_profile::AccessKind::ReadWrite;
use relayout_testprofile::{LINE_BYTES, Word};

use super::Place;
use super::profile::write_stores;

/// Two words that are used, on one of two lines.
pub const SOURCE: &str = "\
struct hot {
	long first;
	long second;
	long unused[14];
};
struct hot hot __attribute__((aligned(64)));
";

/// Each of two contexts adds to its word: false sharing of two.
pub fn two_counters(rounds: usize) -> Vec<Word> {
    [(0, ReadWrite, 0), (1, ReadWrite, 8)].repeat(rounds)
}

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
