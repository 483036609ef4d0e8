//! The logs of hot regions: what is there, and that what is left out of them changes no replay.

use relayout_profile::{Addr, ContextId, SiteId};
use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::common::input::{Input, PAGE, any_inputs};
use crate::common::reference::Reference;
use crate::common::{Machine, Records};
use proptest::prelude::*;
use relayout_contend::{CoherenceTally, ObjectTrace, TraceAccess, replay};
use relayout_profile::AccessKind as Kind;
use relayout_shadow::wire::BurstRecord;
use relayout_shadow::{AccessKind, PAGE_BYTES, REGION_BYTES, ShadowConfig};

/// A part of an access on one line, as it should be logged.
#[derive(Clone, Debug)]
struct Step {
    input: Input,
    silent: Option<bool>,
}

/// All accesses in order, and the number of the first that each region's log covers.
struct Expected {
    steps: Vec<Step>,
    regions: BTreeMap<u64, usize>,
}

fn region_of(addr: u64) -> u64 {
    addr - addr % REGION_BYTES as u64
}

fn page_of(addr: u64) -> u64 {
    addr - addr % PAGE_BYTES as u64
}

/// Runs both; the site of each part is its number. The inputs must not straddle lines.
fn run(config: ShadowConfig, inputs: &[Input]) -> (Expected, Records) {
    let mut machine = Machine::new(config);
    let mut reference = Reference::new(config);
    let (mut steps, mut regions) = (Vec::new(), BTreeMap::new());
    for (n, input) in inputs.iter().enumerate() {
        input.feed(&mut machine, n as u32);
        let touch = reference.access(input, n as u32);
        steps.push(Step {
            input: input.clone(),
            silent: touch.silent,
        });
        if touch.event.is_some() && touch.events == config.burst_from {
            let own = region_of(input.addr);
            let reach = config.burst_reach * REGION_BYTES as u64;
            for start in (own - reach..=own + reach).step_by(REGION_BYTES) {
                regions.entry(start).or_insert(n + 1);
            }
        }
    }
    (Expected { steps, regions }, machine.finish())
}

fn is_logged(expected: &Expected, n: usize) -> bool {
    let region = region_of(expected.steps[n].input.addr);
    expected
        .regions
        .get(&region)
        .is_some_and(|&first| n >= first)
}

/// Numbers of the accesses to logged regions that are no repeats within a turn.
fn needed(expected: &Expected) -> BTreeSet<usize> {
    let mut turns: BTreeMap<u64, (u16, HashSet<_>)> = BTreeMap::new();
    let mut needed = BTreeSet::new();
    for n in (0..expected.steps.len()).filter(|&n| is_logged(expected, n)) {
        let Step { input, silent } = &expected.steps[n];
        let (owner, done) = turns.entry(page_of(input.addr)).or_default();
        if *owner != input.context {
            (*owner, *done) = (input.context, HashSet::new());
        }
        if done.insert((
            input.addr,
            input.size,
            input.access as u8,
            *silent == Some(true),
        )) {
            needed.insert(n);
        }
    }
    needed
}

fn check_log(expected: &Expected, records: &Records) {
    let tickets: Vec<u64> = records
        .bursts
        .iter()
        .map(|(_, burst)| burst.ticket)
        .collect();
    assert_eq!(
        tickets,
        (0..tickets.len() as u64).collect::<Vec<_>>(),
        "no gaps, no twins"
    );
    let logged: Vec<usize> = records
        .bursts
        .iter()
        .map(|(_, b)| b.site as usize)
        .collect();
    assert!(
        logged.is_sorted_by(|a, b| a < b),
        "out of order: {logged:?}"
    );
    let missing: Vec<_> = needed(expected)
        .into_iter()
        .filter(|n| !logged.contains(n))
        .collect();
    assert!(missing.is_empty(), "not logged: {missing:?}");
    for (context, burst) in &records.bursts {
        let n = burst.site as usize;
        assert!(is_logged(expected, n), "access {n} is in no logged region");
        let Step { input, silent } = &expected.steps[n];
        assert_eq!(
            (*context, burst.addr, burst.size),
            (input.context, input.addr, input.size)
        );
        assert_eq!(burst.access, input.access as u8);
        assert_eq!(burst.silent, silent.map_or(2, u8::from));
    }
    let regions: BTreeSet<u64> = records.regions.iter().map(|region| region.start).collect();
    assert_eq!(regions, expected.regions.keys().copied().collect());
    assert_eq!(
        regions.len(),
        records.regions.len(),
        "one record per region"
    );
    assert!(
        records
            .regions
            .iter()
            .all(|r| r.end_ticket == tickets.len() as u64)
    );
}

fn trace_access(context: u16, burst: &BurstRecord, page: u64) -> TraceAccess {
    TraceAccess {
        context: ContextId(context),
        offset: (burst.addr - page) as u32,
        size: burst.size,
        access: [Kind::Read, Kind::Write, Kind::ReadWrite][usize::from(burst.access)],
        silent: [Some(false), Some(true), None][usize::from(burst.silent)],
        site: SiteId(0),
    }
}

/// All accesses to the regions of `page` that are logged at access number `from`, from there on.
fn whole(expected: &Expected, page: u64, from: usize) -> ObjectTrace {
    let in_regions = |addr: u64| {
        page_of(addr) == page
            && expected
                .regions
                .get(&region_of(addr))
                .is_some_and(|&first| first <= from)
    };
    let steps = expected.steps[from..]
        .iter()
        .filter(|step| in_regions(step.input.addr));
    let access = |step: &Step| {
        let Input {
            context,
            addr,
            size,
            access,
            ..
        } = step.input;
        let silent = step.silent.map_or(2, u8::from);
        let access = access as u8;
        let burst = BurstRecord {
            ticket: 0,
            addr,
            site: 0,
            size,
            access,
            silent,
            reserved: 0,
        };
        trace_access(context, &burst, page)
    };
    ObjectTrace {
        base: Addr(page),
        accesses: steps.map(access).collect(),
        ..ObjectTrace::default()
    }
}

/// The logged part of the same trace.
fn logged(
    expected: &Expected,
    records: &Records,
    page: u64,
    from: usize,
    ticket: u64,
) -> ObjectTrace {
    let in_regions = |burst: &BurstRecord| {
        page_of(burst.addr) == page && expected.regions[&region_of(burst.addr)] <= from
    };
    let accesses = records
        .bursts
        .iter()
        .filter(|(_, burst)| burst.ticket >= ticket && in_regions(burst))
        .map(|(context, burst)| trace_access(*context, burst, page));
    ObjectTrace {
        base: Addr(page),
        accesses: accesses.collect(),
        ..ObjectTrace::default()
    }
}

/// Packs the granules that a trace touches in an order that `seed` gives.
fn packed(trace: &ObjectTrace, seed: u64) -> impl Fn(u32) -> u32 + use<> {
    let bytes = trace
        .accesses
        .iter()
        .flat_map(|a| a.offset..a.offset + u32::from(a.size));
    let granules: BTreeSet<u32> = bytes.map(|byte| byte / 8).collect();
    let mut order: Vec<u32> = granules.into_iter().collect();
    order.sort_by_key(|&g| (u64::from(g) ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7);
    let places: BTreeMap<u32, u32> = order.into_iter().zip(0..).collect();
    move |offset| places[&(offset / 8)] * 8 + offset % 8
}

fn check_lossless(expected: &Expected, records: &Records, seeds: &[u64]) {
    for region in &records.regions {
        let (page, from) = (page_of(region.start), expected.regions[&region.start]);
        let all = whole(expected, page, from);
        let some = logged(expected, records, page, from, region.first_ticket);
        for &seed in seeds {
            let place = packed(&all, seed);
            let tally: [CoherenceTally; 2] =
                [&all, &some].map(|trace| replay(trace, 0, &place, 64));
            assert_eq!(
                tally[0], tally[1],
                "from access {from} on, seed {seed}: {all:?}\n{some:?}"
            );
        }
    }
}

fn config(contexts: usize, burst_from: u32, burst_reach: u64) -> ShadowConfig {
    ShadowConfig {
        burst_from,
        burst_reach,
        values_from: burst_from / 2,
        page_table_bits: 8,
        ..ShadowConfig::new(contexts)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..Default::default() })]

    #[test]
    fn all_but_repeats_is_there(
        (contexts, inputs) in any_inputs(60),
        burst_from in 1..5u32,
        reach in 0..9u64,
    ) {
        let parts: Vec<Input> = inputs.iter().flat_map(Input::parts).collect();
        let (expected, records) = run(config(contexts, burst_from, reach), &parts);
        check_log(&expected, &records);
    }

    #[test]
    fn repeats_change_no_replay(
        (contexts, inputs) in any_inputs(60),
        burst_from in 1..5u32,
        reach in 0..9u64,
        seeds in prop::array::uniform8(any::<u64>()),
    ) {
        let parts: Vec<Input> = inputs.iter().flat_map(Input::parts).collect();
        let (expected, records) = run(config(contexts, burst_from, reach), &parts);
        check_lossless(&expected, &records, &seeds);
    }
}

fn input(context: u16, access: AccessKind, offset: u64) -> Input {
    Input {
        context,
        addr: PAGE + offset,
        size: 8,
        access,
        value: None,
    }
}

/// A fight over the line at `offset` that heats its region when logging begins at one event.
fn fight(offset: u64) -> [Input; 2] {
    [
        input(0, AccessKind::Write, offset),
        input(1, AccessKind::Write, offset),
    ]
}

#[test]
fn repeats_are_logged_again_for_a_region_that_joins() {
    let mut inputs: Vec<Input> = fight(0).to_vec();
    // Context 1 logs a store, another region of the page heats, and it stores again in its turn.
    inputs.push(input(0, AccessKind::Write, 1024));
    inputs.push(input(1, AccessKind::Write, 8));
    inputs.push(input(1, AccessKind::Write, 1024));
    inputs.push(input(1, AccessKind::Write, 8));
    inputs.push(input(0, AccessKind::Read, 8));
    let (expected, records) = run(config(2, 1, 0), &inputs);
    assert_eq!(records.regions.len(), 2);
    check_lossless(&expected, &records, &[0]);
}

#[test]
fn spinning_is_logged_once_a_turn() {
    let mut inputs: Vec<Input> = fight(0).to_vec();
    for context in [0, 1, 0] {
        inputs.extend((0..1000).map(|_| input(context, AccessKind::Read, 0)));
    }
    let (expected, records) = run(config(2, 1, 0), &inputs);
    check_log(&expected, &records);
    assert_eq!(records.bursts.len(), 3);
}

#[test]
fn a_region_ends_at_its_limit() {
    let mut inputs: Vec<Input> = fight(0).to_vec();
    inputs.extend((0..100).map(|n| input(n % 2, AccessKind::Write, 0)));
    let mut config = config(2, 1, 0);
    config.burst_region_max = 10;
    let (_, records) = run(config, &inputs);
    let ends: Vec<u64> = records
        .regions
        .iter()
        .map(|region| region.end_ticket)
        .collect();
    assert_eq!((records.bursts.len(), ends), (10, vec![10]));
}
