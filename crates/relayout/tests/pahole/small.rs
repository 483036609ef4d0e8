//! Small programs: what pahole does with several definitions of one name.

use crate::common::Place;
use crate::peer;

const FIRST: &str = include_str!("first.c");
const SECOND: &str = include_str!("second.c");

/// Of the definitions of one name, pahole prints those that differ in size or in the members'
/// names and places; their types, and the keyword, do not count.
#[test]
fn definitions_of_one_name_in_two_units() {
    if !peer::is_installed() {
        return;
    }
    let place = Place::new();
    let second = place.write("second.c", SECOND);
    let program = place.compile("two", FIRST, &["-g", "-O0", &second.to_string_lossy()]);
    peer::check(&place, &program, "", "", &[]);
    peer::check(&place, &program, "-E", "-E", &[]);
}
