//! The format keeps what it is given, and says what is wrong with what it did not write.

use crate::common::{meta, profiles, sample};
use proptest::prelude::*;
use relayout_profile::parquet::HOST_FILE;
use relayout_profile::{
    Addr, BurstRow, ContextId, FormatError, HostWindow, Profile, ProfileFiles, RunId,
    SimulatedMachineName, SiteId, decode, encode,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_is_read(profile in profiles()) {
        let files = encode(&profile).expect("a valid profile");
        prop_assert_eq!(decode(files).expect("what was written"), profile);
    }

    #[test]
    fn any_changed_byte_is_noticed(at in any::<prop::sample::Index>(), flip in 1..=u8::MAX) {
        let mut files = encode(&sample()).expect("a valid profile");
        let mut tables = files.iter_mut().filter(|(name, _)| name.ends_with(".parquet"));
        let table = at.index(tables.by_ref().count());
        let (_, bytes) = files.iter_mut().filter(|(name, _)| name.ends_with(".parquet"))
            .nth(table).expect("index is below the count");
        let place = at.index(bytes.len());
        bytes[place] ^= flip;
        let noticed = matches!(decode(files), Err(FormatError::Checksum { .. }));
        prop_assert!(noticed);
    }

    /// With the checksum forged, too: the decoder proper must survive.
    #[test]
    fn forged_tables_do_not_panic(
        table in 0..7usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut files = encode(&sample()).expect("a valid profile");
        let name = files.keys().filter(|name| name.ends_with(".parquet")).nth(table)
            .expect("seven tables").clone();
        let bytes = files.get_mut(&name).expect("just listed");
        for (at, value) in changes {
            let place = at.index(bytes.len());
            bytes[place] = value;
        }
        forge(&mut files, &name);
        let _ = decode(files);
    }
}

#[test]
fn an_empty_profile_is_kept() {
    let profile = Profile {
        meta: meta(),
        ..Profile::default()
    };
    assert_eq!(
        decode(encode(&profile).expect("valid")).expect("written"),
        profile
    );
}

#[test]
fn several_row_groups_are_kept() {
    let burst = |ticket: u64| BurstRow {
        run: RunId((ticket / 200_000) as u16),
        ticket: ticket * 3,
        context: ContextId((ticket % 8) as u16),
        site: SiteId((ticket % 5) as u32),
        addr: Addr(0xffff_8880_0000_0000 + ticket % 512),
        size: 8,
        access: relayout_profile::AccessKind::Write,
        silent: [None, Some(false), Some(true)][(ticket % 3) as usize],
    };
    let profile = Profile {
        bursts: (0..300_000).map(burst).collect(),
        ..sample()
    };
    assert!(decode(encode(&profile).expect("valid")).expect("written") == profile);
}

#[test]
fn a_table_cut_anywhere_is_truncated() {
    let whole = encode(&sample()).expect("a valid profile");
    for name in whole.keys().filter(|name| name.ends_with(".parquet")) {
        for length in 0..whole[name].len() {
            let mut files = whole.clone();
            files.get_mut(name).expect("listed").truncate(length);
            check_error(files, "truncated");
        }
    }
}

/// The length and checksum agree with what is left: the decoder itself has to notice.
#[test]
fn a_forged_cut_is_corrupt() {
    let whole = encode(&sample()).expect("a valid profile");
    for name in whole.keys().filter(|name| name.ends_with(".parquet")) {
        for length in (0..whole[name].len()).step_by(37) {
            let mut files = whole.clone();
            files.get_mut(name).expect("listed").truncate(length);
            forge(&mut files, name);
            check_error(files, "is corrupt");
        }
    }
}

#[test]
fn metadata_cut_anywhere_is_refused() {
    let whole = encode(&sample()).expect("a valid profile");
    let length = whole["meta.json"].len();
    for length in 0..length - 2 {
        let mut files = whole.clone();
        files.get_mut("meta.json").expect("listed").truncate(length);
        assert!(decode(files).is_err(), "cut to {length} bytes");
    }
}

#[test]
fn errors_say_what_is_wrong() {
    let whole = encode(&sample()).expect("a valid profile");
    let with_meta = |from: &str, to: &str| {
        let mut files = whole.clone();
        let text = String::from_utf8(files["meta.json"].clone()).expect("JSON is text");
        assert!(text.contains(from), "{text}");
        files.insert(
            "meta.json".to_owned(),
            text.replacen(from, to, 1).into_bytes(),
        );
        files
    };
    check_error(
        with_meta("profile/2", "profile/3"),
        "written by a newer relayout (format 3, this one reads 2): upgrade",
    );
    check_error(
        with_meta("relayout/profile/2", "other/1"),
        "not a relayout profile",
    );
    check_error(
        with_meta("\"bursts\"", "\"burst\""),
        "does not list table `bursts`",
    );
    check_error(
        with_meta("\"contexts\": 8", "\"contexts\": 80000"),
        "meta.json",
    );
    check_error(
        with_meta("\"contexts\": 8", "\"contexts\": 1"),
        "context is",
    );
    check_error(
        with_meta("\"line_bytes\": 64", "\"line_bytes\": 63"),
        "power of two",
    );
    check_error(
        with_meta("\"rows\": 5", "\"rows\": 6"),
        "5 rows, meta.json says 6",
    );

    let mut files = whole.clone();
    files.remove("counts.parquet");
    check_error(files, "table `counts` is missing");

    let mut files = whole.clone();
    files.remove("meta.json");
    check_error(files, "not a relayout profile: it has no meta.json");

    let mut files = whole.clone();
    files.insert("lines.parquet".to_owned(), files["counts.parquet"].clone());
    let rows = whole_rows(&whole, "lines");
    forge(&mut files, "lines.parquet");
    let rows_now = whole_rows(&files, "counts");
    if rows == rows_now {
        check_error(files, "column `line` is missing");
    } else {
        check_error(files, "rows, meta.json says");
    }
}

#[test]
fn contradictory_rows_are_not_written() {
    let check = |change: fn(&mut Profile), expect: &str| {
        let mut profile = sample();
        change(&mut profile);
        let error = encode(&profile).expect_err(expect).to_string();
        assert!(error.contains(expect), "{error}");
    };
    check(
        |p| p.bursts[0].site = SiteId(99),
        "table `bursts`, row 0: site is 99, of 5",
    );
    check(
        |p| p.lines[0].context = ContextId(8),
        "table `lines`, row 0: context is 8, of 8",
    );
    check(|p| p.counts[0].size = 0, "table `counts`, row 0: size is 0");
    check(
        |p| p.ranges[0].run = RunId(3),
        "table `ranges`, row 0: run is 3, of 3",
    );
    check(
        |p| p.meta.runs[1].gaps[0].context = 8,
        "table `gaps`, row 0: context is 8, of 8",
    );
    check(
        |p| p.meta.runs[2].gaps[1].samples = 0,
        "table `gaps`, row 1: samples is 0",
    );
    check(|p| p.lines[0].line.0 |= 1, "is not a multiple of 64 bytes");
    check(|p| p.bursts.reverse(), "out of order");
    check(
        |p| p.counts[0].silent = p.counts[0].count.checked_add(1),
        "silent is",
    );
    check(
        |p| p.sites[1].bytes = vec![0; 16],
        "table `sites`, row 1: length of bytes is 16",
    );
}

#[track_caller]
fn check_error(files: ProfileFiles, expect: &str) {
    let error = decode(files).expect_err(expect);
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    assert!(text.contains(expect), "{text}");
}

fn whole_rows(files: &ProfileFiles, table: &str) -> u64 {
    let meta: serde_json::Value = serde_json::from_slice(&files["meta.json"]).expect("JSON");
    meta["tables"][table]["rows"].as_u64().expect("a number")
}

/// Makes `meta.json` agree with the changed file `name`.
fn forge(files: &mut ProfileFiles, name: &str) {
    let mut meta: serde_json::Value = serde_json::from_slice(&files["meta.json"]).expect("JSON");
    let table = name.trim_end_matches(".parquet");
    meta["tables"][table]["bytes"] = files[name].len().into();
    meta["tables"][table]["crc32"] = crc32fast::hash(&files[name]).into();
    files.insert("meta.json".to_owned(), meta.to_string().into_bytes());
}

/// What depends on the host is in a file of its own, and nothing else changes with it.
#[test]
fn a_simulated_recording_keeps_the_host_apart() {
    let mut profile = sample();
    profile.meta.simulated_machine = Some(SimulatedMachineName::default());
    let files = encode(&profile).expect("a valid profile");
    profile.meta.command = vec!["relayout".to_owned(), "record".to_owned()];
    profile.meta.tool_version = "9.9.9".to_owned();
    profile.meta.runs[0].host_window = Some(HostWindow {
        wall_ns: 7,
        cpu_ns: 5,
        lost_share: Some(0.5),
    });
    let mut others = encode(&profile).expect("a valid profile");
    assert_eq!(decode(others.clone()).expect("what was written"), profile);
    let host = others.insert(HOST_FILE.to_owned(), files[HOST_FILE].clone());
    assert_ne!(host, files.get(HOST_FILE).cloned());
    assert_eq!(others, files);
    others.remove(HOST_FILE);
    let without = decode(others).expect("the host is not needed");
    assert_eq!(without.meta.command, Vec::<String>::new());
    assert!(!encode(&sample()).expect("valid").contains_key(HOST_FILE));
}
