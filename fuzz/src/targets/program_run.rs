use relayout_profile::program::{ProgramMap, SiteNaming, assemble};
use relayout_profile::{RecordedRun, RunId, encode};

use super::segments::correct_sums;
use super::split;

/// Contexts of which there are files.
const CONTEXTS: usize = 2;

/// The map of a program and two segment files, as they are and then with their sums made right,
/// with sites named in both ways. What comes out can be written.
pub fn program_run(data: &[u8]) {
    let mut files: [Vec<u8>; CONTEXTS + 1] = split(data);
    check_files(&files);
    files[1..].iter_mut().for_each(|file| correct_sums(file));
    check_files(&files);
}

fn check_files(files: &[Vec<u8>]) {
    let map = ProgramMap::parse(&files[0]);
    let segments: Vec<(u16, &[u8])> = (0..).zip(files[1..].iter().map(Vec::as_slice)).collect();
    for naming in [SiteNaming::ReturnAddresses, SiteNaming::Defined] {
        if let Ok(program) = assemble(&segments, &map, RunId(0), naming) {
            let mut profile = program.assembled.profile;
            profile.meta.runs = vec![RecordedRun {
                modules: program.modules,
                threads: program.threads,
                ..RecordedRun::default()
            }];
            encode(&profile).expect("rows of a program are sound");
        }
    }
}
