use relayout_profile::program::{Map, Naming, assemble};
use relayout_profile::{Run, encode};

use super::segments::correct_sums;
use super::split;

/// Contexts of which there are files.
const CONTEXTS: usize = 2;

/// The map of a program and two segment files, as they are and then with their sums made right, with
/// sites named in both ways. What comes out can be written.
pub fn program_run(data: &[u8]) {
    let mut files: [Vec<u8>; CONTEXTS + 1] = split(data);
    check_files(&files);
    files[1..].iter_mut().for_each(|file| correct_sums(file));
    check_files(&files);
}

fn check_files(files: &[Vec<u8>]) {
    let map = Map::parse(&files[0]);
    let segments: Vec<(u16, &[u8])> = (0..).zip(files[1..].iter().map(Vec::as_slice)).collect();
    for naming in [Naming::ReturnAddresses, Naming::Defined] {
        if let Ok(program) = assemble(&segments, &map, 0, naming) {
            let mut profile = program.assembled.profile;
            profile.meta.runs = vec![Run {
                modules: program.modules,
                threads: program.threads,
                ..Run::default()
            }];
            encode(&profile).expect("rows of a program are sound");
        }
    }
}
