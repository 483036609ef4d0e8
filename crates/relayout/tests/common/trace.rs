//! A profile of a variable whose accesses were logged in order, in one recording or several.

use std::path::PathBuf;

use relayout_layout::dwarf::DwarfFile;
use relayout_profile::WriteOptions;
use relayout_testprofile::{Step, Word, profile_of_steps};

use super::Place;
use super::profile::meta;

/// Writes a profile of the program `debug` as `name`: each of `runs` is a recording of its
/// `variable`.
pub fn write(
    place: &Place,
    name: &str,
    debug: &str,
    variable: &str,
    runs: &[Vec<Word>],
) -> PathBuf {
    let steps = |words: &Vec<Word>| words.iter().copied().map(Step::from).collect();
    let runs: Vec<Vec<Step>> = runs.iter().map(steps).collect();
    write_steps(place, name, debug, variable, &runs)
}

/// The same of accesses of other sizes, whose silence may be known.
pub fn write_steps(
    place: &Place,
    name: &str,
    debug: &str,
    variable: &str,
    runs: &[Vec<Step>],
) -> PathBuf {
    let path = place.path(name);
    let bytes = std::fs::read(place.path(debug)).unwrap();
    let file = DwarfFile::parse(&bytes).unwrap();
    let mut globals = file.globals().iter();
    let global = globals.find(|global| global.name == variable);
    let meta = meta(&place.path(debug), &file.build_id_text().unwrap());
    let profile = profile_of_steps(meta, global.unwrap().address, runs);
    relayout_profile::write(&path, &profile, &WriteOptions::default()).unwrap();
    path
}
