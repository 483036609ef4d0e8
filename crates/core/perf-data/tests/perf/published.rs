//! Files of perf that others published, from real machines.

use relayout_perf_data::{PerfRecording, decode};

use crate::oracle::perf;

/// Every record of a sample is counted once, and a sample has an address and a kind of access.
#[track_caller]
pub fn assert_accounts(recording: &PerfRecording) {
    let counted = recording.samples.len() as u64
        + recording.repeated
        + recording.without_address
        + recording.unknown_event;
    let malformed = recording.sample_records - counted;
    assert!(malformed <= recording.malformed, "{recording:?}");
    for sample in &recording.samples {
        assert!(sample.addr != 0 && (sample.source.is_load() || sample.source.is_store()));
    }
}

/// Each file of the folder `RELAYOUT_PERF_FILES` is refused with a reason, or gives the accesses that
/// perf prints of it.
#[test]
#[ignore = "needs files that others published (docs/long-tests.md)"]
fn published_files() {
    let folder = std::env::var_os("RELAYOUT_PERF_FILES");
    let folder = folder.expect("RELAYOUT_PERF_FILES names a folder, as in docs/long-tests.md");
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    for path in paths {
        let bytes = std::fs::read(&path).expect("the file can be read");
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match decode(&bytes) {
            Ok(recording) => {
                assert_accounts(&recording);
                let printed = perf(&["script", "-F", "addr,ip"], &bytes);
                let accesses = printed.lines().map(|line| {
                    let words = line.split_whitespace();
                    words
                        .map(|word| u64::from_str_radix(word, 16).expect("an address"))
                        .collect()
                });
                let mut theirs: Vec<Vec<u64>> = accesses.collect();
                let samples = recording.samples.iter();
                let mut ours: Vec<Vec<u64>> =
                    samples.map(|sample| vec![sample.addr, sample.pc]).collect();
                theirs.sort();
                ours.sort();
                assert_eq!(ours, theirs, "{name}: not the accesses that perf prints");
                println!(
                    "{name}: {} of {} samples, {} without address, {} unknown, {} malformed, {} lost, hitm {}, \
                     truncated {}; {}; {:?}",
                    recording.samples.len(),
                    recording.sample_records,
                    recording.without_address,
                    recording.unknown_event,
                    recording.malformed,
                    recording.lost,
                    recording
                        .samples
                        .iter()
                        .filter(|sample| sample.source.is_hitm())
                        .count(),
                    recording.truncated,
                    recording.origin.arch,
                    recording
                        .events
                        .iter()
                        .map(|event| &*event.name)
                        .collect::<Vec<_>>(),
                );
            }
            Err(error) => println!("{name}: refused: {error}"),
        }
    }
}
