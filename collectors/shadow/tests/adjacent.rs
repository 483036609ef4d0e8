//! The case of `mem_cgroup`: members that all read on line 2N, members that all store to on line
//! 2N+1. From accesses to findings.

use crate::common::Machine;
use crate::common::input::PAGE;
use relayout_contend::{
    AccessTarget, AddressNamer, FindSettings, Finding, FindingKind, Findings, SiteSource,
    TargetObject, find_with,
};
use relayout_layout::MemberAt;
use relayout_profile::{Addr, RecordedRun, RunId, SiteId, segments};
use relayout_shadow::wire::SiteRecord;
use relayout_shadow::{AccessKind, ShadowConfig};

const CONTEXTS: u16 = 4;
const OBJECT_BYTES: u64 = 384;
const PERIOD: u32 = 64;
/// Sites, as numbers.
const READS: u32 = 0;
const STORES: u32 = 1;

/// Places of the two blocks, each a line.
#[derive(Clone, Copy)]
struct Layout {
    vmstats_percpu: u64,
    vmstats: u64,
}

/// On two lines of a pair.
const BAD: Layout = Layout {
    vmstats_percpu: 128,
    vmstats: 192,
};
/// The accepted layout: blocks exchanged, so that a pair is of one kind.
const GOOD: Layout = Layout {
    vmstats_percpu: 128,
    vmstats: 256,
};

impl AddressNamer for Layout {
    fn target_at(&self, _: RunId, addr: Addr, _: u8) -> AccessTarget {
        let offset = addr - Addr(PAGE);
        let (path, at) = match offset {
            _ if offset - offset % 64 == self.vmstats_percpu => {
                ("vmstats_percpu", self.vmstats_percpu)
            }
            _ if offset - offset % 64 == self.vmstats => ("vmstats", self.vmstats),
            _ => return AccessTarget::Unresolved("other".to_owned()),
        };
        let member = MemberAt {
            path: path.to_owned(),
            types_path: vec!["mem_cgroup".to_owned()],
            offset: at,
            size: 64,
            elements: Vec::new(),
        };
        let object = TargetObject {
            array: None,
            type_percent: 100,
            rival_type: None,
            base: Addr(PAGE),
            bytes: OBJECT_BYTES,
            variable: None,
            declaring: None,
            origin: None,
        };
        AccessTarget::Member { object, member }
    }

    fn source_of_site(&self, site: SiteId) -> SiteSource {
        SiteSource {
            function: Some(["count_memcg_events", "cgroup_rstat_flush"][site.index()].to_owned()),
            inlined: None,
            file: None,
            line: None,
        }
    }
}

/// Context 0 flushes into `vmstats` now and then; all look up their per-CPU counters through
/// `vmstats_percpu` in between.
fn record(layout: Layout) -> Machine {
    let config = ShadowConfig {
        pair_period: PERIOD,
        page_table_bits: 8,
        ..ShadowConfig::new(CONTEXTS.into())
    };
    let mut machine = Machine::new(config);
    let mut access = |context: u16, offset: u64, access: AccessKind, site: u32| {
        let Machine { shadow, contexts } = &mut machine;
        let cx = &mut contexts[usize::from(context)];
        shadow.access(cx, PAGE + offset, 8, access, site, || None);
        shadow.pass_accesses(cx, 1, PAGE + offset);
    };
    for round in 0..20_000u64 {
        for context in 0..CONTEXTS {
            access(context, layout.vmstats_percpu, AccessKind::Read, READS);
            if context == 0 && round % 2 == 0 {
                access(0, layout.vmstats + round % 8 * 8, AccessKind::Write, STORES);
            }
        }
    }
    machine
}

fn findings(layout: Layout, pair_coefficient: Option<f64>) -> Findings {
    let Machine {
        shadow,
        mut contexts,
    } = record(layout);
    let sites = [READS, STORES].map(|site| SiteRecord {
        pc: site.into(),
        site,
        len: 1,
        bytes: [0; 19],
    });
    contexts[0].append(&sites, &shadow.host);
    for context in contexts.iter_mut().rev() {
        shadow.finish(context);
    }
    let files = shadow.host.files();
    let files: Vec<_> = files.iter().map(|(n, bytes)| (*n, &bytes[..])).collect();
    let mut assembled = segments::assemble(&files, RunId(0), CONTEXTS).expect("sound");
    assert_eq!(assembled.losses, segments::SegmentLosses::default());
    assembled.profile.meta.runs = vec![RecordedRun {
        pair_period: Some(PERIOD),
        ..RecordedRun::default()
    }];
    find_with(
        &assembled.profile,
        &layout,
        &FindSettings { pair_coefficient },
    )
}

fn kinds(findings: &Findings) -> Vec<FindingKind> {
    findings
        .findings
        .iter()
        .map(|finding| finding.kind)
        .collect()
}

#[test]
fn found_with_a_coefficient_above_zero_alone() {
    for unknown_or_zero in [None, Some(0.0)] {
        let found = findings(BAD, unknown_or_zero);
        assert_eq!(kinds(&found), []);
        assert_eq!(found.line_pairs.candidates, 1);
        assert_eq!(found.line_pairs.coefficient, unknown_or_zero);
    }
    let found = findings(BAD, Some(0.25));
    let [finding] = &found.findings[..] else {
        panic!("{found:?}");
    };
    check_finding(finding);
    // No transfer was seen, and none is made of the estimate.
    assert_eq!(found.totals.tally.transfers(), 0);
}

fn check_finding(finding: &Finding) {
    assert_eq!(finding.kind, FindingKind::AdjacentLine);
    assert_eq!(finding.subject.type_name(), "mem_cgroup");
    assert_eq!(finding.line_offset, 128);
    assert_eq!((finding.tally.transfers(), finding.share), (0, 0.0));
    let members: Vec<_> = finding
        .members
        .iter()
        .map(|m| (m.name.as_str(), m.offset, m.contexts(), m.writers()))
        .collect();
    assert_eq!(
        members,
        [("vmstats_percpu", 128, 3, 0), ("vmstats", 192, 1, 1)]
    );
    let adjacent = finding.adjacent.as_ref().expect("what it is about");
    // Each of the other three contexts loses the pair once in two rounds.
    let exact = 3 * 10_000;
    let [low, high] = adjacent.interval;
    assert!((low..=high).contains(&exact), "{adjacent:?}");
    let cost = 0.25 * adjacent.pair_transfers as f64;
    assert!((adjacent.cost_transfers - cost).abs() < 1e-6);
    let pair = &adjacent.pairs[0];
    let function = |source: &SiteSource| source.function.clone().expect("known");
    assert_eq!(pair.here.member, "vmstats_percpu");
    assert_eq!(function(&pair.here.source), "count_memcg_events");
    assert_eq!(pair.there.member, "vmstats");
    assert_eq!(function(&pair.there.source), "cgroup_rstat_flush");
}

#[test]
fn exchanging_the_blocks_clears_it() {
    let found = findings(GOOD, Some(1.0));
    assert_eq!(kinds(&found), []);
    assert_eq!(found.line_pairs.samples, 0);
    assert!(found.line_pairs.recorded);
}
