//! Profiles that older versions wrote.
//!
//! `fixtures/v1` was written by the last relayout before format 2: `common::sample()` of that time,
//! through `encode`.

use std::path::Path;

use relayout_profile::{AccessCoverage, decode, encode, read};

#[test]
fn format_1_is_read() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/v1");
    let profile = read(&dir).expect("a profile");
    let rows = [
        profile.sites.len(),
        profile.lines.len(),
        profile.counts.len(),
        profile.conflicts.len(),
        profile.bursts.len(),
        profile.regions.len(),
        profile.ranges.len(),
    ];
    assert_eq!(rows, [5, 2, 14, 19, 16, 4, 7]);
    assert_eq!(profile.meta.workload, "mntns");
    assert_eq!(profile.meta.coverage, AccessCoverage::Complete);
    // It says nothing about pairs of lines, which is not to say that there were none.
    assert!(profile.pairs.is_empty());
    assert!(
        profile
            .meta
            .runs
            .iter()
            .all(|run| run.pair_period.is_none())
    );
    // Nor which reads were the first after a store.
    assert!(profile.lines.iter().all(|row| row.first_reads.is_none()));
    assert!(
        profile
            .conflicts
            .iter()
            .all(|row| row.first_reads.is_none())
    );
    let again = decode(encode(&profile).expect("valid")).expect("just written");
    assert_eq!(again, profile);
}
