//! Examples for users of the library, run on a written profile.

#[path = "../examples/hot_lines.rs"]
#[allow(dead_code, reason = "the example's own main")]
mod hot_lines;

use relayout_profile::{Addr, ContextId, LineRow, Profile, ProfileMeta, RecordedRun, RunId};

fn row(line: u64, context: u16, transfers: u64) -> LineRow {
    LineRow {
        run: RunId(0),
        line: Addr(line),
        context: ContextId(context),
        reads: 10,
        writes: 10,
        read_transfers: transfers,
        first_reads: None,
        write_transfers: transfers,
        upgrades: 0,
        order_errors: None,
    }
}

#[test]
fn hot_lines_of_a_profile() {
    let profile = Profile {
        meta: ProfileMeta {
            line_bytes: 64,
            contexts: 2,
            runs: vec![RecordedRun::default()],
            ..ProfileMeta::default()
        },
        lines: vec![row(0x1000, 0, 2), row(0x1000, 1, 2), row(0x1040, 0, 3)],
        ..Profile::default()
    };
    let files = relayout_profile::encode(&profile).expect("a profile");
    let read = relayout_profile::decode(files).expect("the same profile");
    assert_eq!(hot_lines::hot_lines(&read), [(0x1000, 8), (0x1040, 6)]);
}
