//! Several recordings become one profile.

use crate::common::{RUNS, SITES, profiles, sample};
use proptest::prelude::*;
use relayout_profile::{
    AccessCoverage, LoadedModule, RecordedTime, RunId, Site, SiteId, decode, encode, merge,
};

#[test]
fn runs_are_renumbered_and_sites_unified() {
    let first = sample();
    let mut second = sample();
    second.sites.reverse();
    second.sites[0].bytes = vec![0x90];
    second.bursts[0].site = SiteId(0);
    second.bursts[1].site = SiteId(1);
    let merged = merge(vec![first.clone(), second.clone()]).expect("same build");

    assert_eq!(merged.meta.runs.len(), usize::from(RUNS) * 2);
    assert_eq!(merged.sites.len(), SITES as usize + 1);
    assert_eq!(merged.sites[..SITES as usize], first.sites);
    let moved = &merged.bursts[first.bursts.len()..];
    assert_eq!(moved[0].run, RunId(second.bursts[0].run.0 + RUNS));
    assert_eq!(merged.sites[moved[0].site.index()].bytes, [0x90]);
    assert_eq!(merged.sites[moved[1].site.index()], second.sites[1]);
    assert_eq!(
        decode(encode(&merged).expect("valid")).expect("written"),
        merged
    );
}

#[test]
fn what_does_not_belong_together_is_named() {
    let check = |change: fn(&mut relayout_profile::ProfileMeta), expect: &str| {
        let mut other = sample();
        change(&mut other.meta);
        let error = merge(vec![sample(), other]).expect_err(expect).to_string();
        assert_eq!(error, expect);
    };
    check(
        |meta| meta.build_id = "1234".to_owned(),
        "recordings differ in build id: 8f00 and 1234",
    );
    check(
        |meta| meta.contexts = 9,
        "recordings differ in number of contexts: 8 and 9",
    );
    check(
        |meta| meta.line_bytes = 128,
        "recordings differ in cache line size: 64 and 128",
    );
    let error = merge(Vec::new()).expect_err("nothing").to_string();
    assert_eq!(error, "no recordings to merge");
}

#[test]
fn a_recording_in_slices_makes_no_complete_profile() {
    use AccessCoverage::*;
    let check = |first, second, expect| {
        let with_coverage = |coverage| {
            let mut profile = sample();
            profile.meta.coverage = coverage;
            profile
        };
        let profiles = [first, second].map(with_coverage);
        let merged = merge(profiles.into()).expect("same build");
        assert_eq!(merged.meta.coverage, expect, "{first:?} {second:?}");
    };
    check(Complete, Complete, Complete);
    check(Complete, Sliced, Sliced);
    check(Sliced, Complete, Sliced);
    check(Samples, Samples, Samples);
}

#[test]
fn times_of_recordings_are_kept_and_added() {
    let time = RecordedTime {
        whole_ns: 100,
        sliced_ns: 300,
        slices_ns: 60,
        slice_ns: 20,
    };
    let mut sliced = sample();
    sliced.meta.coverage = AccessCoverage::Sliced;
    sliced.meta.runs.truncate(1);
    sliced.meta.runs[0].recorded_time = Some(time);
    let mut complete = sample();
    complete.meta.runs.truncate(1);
    complete.meta.runs[0].window_wall_ns = 400;
    assert_eq!(sliced.meta.recorded_share(), Some(0.4));
    assert_eq!(complete.meta.recorded_share(), Some(1.0));
    assert_eq!(complete.meta.recorded_times(), []);
    sliced.meta.runs.append(&mut complete.meta.runs);
    assert_eq!(sliced.meta.recorded_share(), Some(0.7));
    let whole = RecordedTime {
        whole_ns: 400,
        ..RecordedTime::default()
    };
    assert_eq!(sliced.meta.recorded_times(), [time, whole]);
    // Of a profile from before the times were kept, and of samples.
    sliced
        .meta
        .runs
        .iter_mut()
        .for_each(|run| run.recorded_time = None);
    assert_eq!(sliced.meta.recorded_share(), None);
    sliced.meta.coverage = AccessCoverage::Samples;
    assert_eq!(sliced.meta.recorded_share(), None);
}

#[test]
fn values_are_seen_only_if_all_saw_them() {
    let mut other = sample();
    other.meta.values_seen = false;
    let merged = merge(vec![sample(), other]).expect("same build");
    assert!(!merged.meta.values_seen);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn merged_profiles_can_be_written(a in profiles(), b in profiles()) {
        let sites = |of: &[Site]| of.iter().cloned().collect::<std::collections::HashSet<_>>();
        let (in_a, in_b) = (sites(&a.sites), sites(&b.sites));
        let rows = a.bursts.len() + b.bursts.len();
        let merged = merge(vec![a, b]).expect("same build");
        prop_assert_eq!(merged.bursts.len(), rows);
        prop_assert_eq!(sites(&merged.sites), in_a.union(&in_b).cloned().collect());
        prop_assert!(encode(&merged).is_ok());
    }
}

#[test]
fn programs_may_have_other_threads_and_addresses_in_each_run() {
    let program = |contexts, start| {
        let mut profile = sample();
        profile.meta.target = "program".into();
        profile.meta.contexts = contexts;
        for run in &mut profile.meta.runs {
            run.modules = vec![LoadedModule {
                start,
                end: start + 0x1000,
                ..LoadedModule::default()
            }];
        }
        profile
    };
    let sites = |profiles| {
        let merged = merge(profiles).expect("same build");
        assert_eq!(merged.meta.contexts, 11);
        assert!(encode(&merged).is_ok());
        merged.sites.len()
    };
    assert_eq!(
        sites(vec![program(8, 0x1000), program(11, 0x1000)]),
        SITES as usize
    );
    // What runs at an address is not known without the run: no site may be of both.
    assert_eq!(
        sites(vec![program(8, 0x1000), program(11, 0x2000)]),
        2 * SITES as usize
    );
}
