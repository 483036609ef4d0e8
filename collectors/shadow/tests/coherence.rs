//! The shadow against a slow reading of the definitions.

use std::collections::BTreeMap;

use crate::common::Machine;
use crate::common::input::{Input, PAGE, any_inputs};
use crate::common::reference::{Event, Line, Reference, Touch};
use proptest::prelude::*;
use relayout_shadow::wire::{ConflictRecord, LineRecord};
use relayout_shadow::{AccessKind, CONTEXTS_MAX, ShadowConfig};

/// Line and context.
type Place = (u64, u16);

/// Runs both; every part of an access has a site of its own, counted from 1.
fn run(config: ShadowConfig, inputs: &[Input]) -> (Reference, crate::common::Records) {
    let mut machine = Machine::new(config);
    let mut reference = Reference::new(config);
    for (n, input) in inputs.iter().enumerate() {
        let site = n as u32 + 1;
        input.feed(&mut machine, site);
        for part in input.parts() {
            reference.access(&part, site);
        }
    }
    (reference, machine.finish())
}

fn touches(reference: &Reference) -> impl Iterator<Item = (u64, &Line, usize, &Touch)> {
    reference.lines.iter().flat_map(|(&start, line)| {
        line.touches
            .iter()
            .enumerate()
            .map(move |(at, touch)| (start, line, at, touch))
    })
}

/// Reads, writes, first reads, write transfers, upgrades, later reads, order errors.
type Totals = [u64; 7];

fn expected_totals(reference: &Reference) -> BTreeMap<Place, Totals> {
    let mut totals: BTreeMap<Place, Totals> = BTreeMap::new();
    for (start, _, _, touch) in touches(reference) {
        let sum = totals.entry((start, touch.context)).or_default();
        sum[0] += u64::from(touch.access as u8 != 1);
        sum[1] += u64::from(touch.stores());
        if let Some(event) = &touch.event {
            sum[2 + usize::from(event.transfer)] += 1;
        }
        sum[6] += u64::from(touch.order_error);
    }
    totals
}

fn found_totals(lines: &[(u16, LineRecord)]) -> BTreeMap<Place, Totals> {
    let mut totals: BTreeMap<Place, Totals> = BTreeMap::new();
    for (context, line) in lines {
        let sum = totals.entry((line.line, *context)).or_default();
        let found = [
            line.reads,
            line.writes,
            line.first_reads.into(),
            line.write_transfers.into(),
            line.upgrades.into(),
            line.later_reads.into(),
            line.order_errors.into(),
        ];
        sum.iter_mut().zip(found).for_each(|(sum, n)| *sum += n);
    }
    totals
}

/// An event by the access that missed: line and site.
type Events = BTreeMap<(u64, u32), (u8, u32, u32)>;

fn expected_events(reference: &Reference) -> Events {
    touches(reference)
        .filter_map(|(start, line, at, touch)| {
            let event = touch.event.as_ref()?;
            let false_lifetime = event.transfer != 2 && line.is_false_by_lifetime(at);
            let falses = (
                u32::from(event.false_first_touch),
                u32::from(false_lifetime),
            );
            Some(((start, touch.site), (event.transfer, falses.0, falses.1)))
        })
        .collect()
}

fn found_events(conflicts: &[(u16, ConflictRecord)]) -> Events {
    let mut counts = BTreeMap::new();
    let mut events = Events::new();
    for (_, c) in conflicts {
        let key = (c.addr & !63, c.site);
        *counts.entry(key).or_insert(0) += c.count;
        let event = events.entry(key).or_insert((c.transfer, 0, 0));
        assert_eq!(event.0, c.transfer);
        event.1 += c.false_first_touch;
        event.2 += c.false_lifetime;
    }
    assert!(
        counts.values().all(|&n| n == 1),
        "one event per access: {counts:?}"
    );
    events
}

fn check_side(touch: &Touch, event: &Event, found: &ConflictRecord) {
    let fits = event.others.iter().any(|other| {
        other.context == found.other_context
            && other.site.is_none_or(|site| site == found.other_site)
    });
    assert!(fits, "{found:?} is none of {event:?}, by {touch:?}");
    assert_eq!(
        (found.addr, found.size, found.access),
        (touch.addr, touch.size, touch.access as u8)
    );
}

fn check_sides(reference: &Reference, conflicts: &[(u16, ConflictRecord)]) {
    let by_site: BTreeMap<(u64, u32), &Touch> = touches(reference)
        .map(|(start, _, _, touch)| ((start, touch.site), touch))
        .collect();
    for (context, found) in conflicts {
        let touch = by_site[&(found.addr & !63, found.site)];
        assert_eq!(*context, touch.context);
        check_side(touch, touch.event.as_ref().expect("an event"), found);
    }
}

/// Counted accesses by address and site: context, size, kind, how many, silent ones.
type Counts = BTreeMap<(u64, u32), (u16, u8, u8, u32, u32)>;

fn expected_counts(reference: &Reference, config: &ShadowConfig) -> Counts {
    touches(reference)
        .filter(|(_, _, _, t)| t.contended && t.events >= config.count_from)
        .map(|(_, _, _, t)| {
            let silent = u32::from(t.silent == Some(true));
            (
                (t.addr, t.site),
                (t.context, t.size, t.access as u8, 1, silent),
            )
        })
        .collect()
}

fn check_all(config: ShadowConfig, inputs: &[Input]) {
    let (reference, records) = run(config, inputs);
    assert_eq!(found_totals(&records.lines), expected_totals(&reference));
    assert_eq!(
        found_events(&records.conflicts),
        expected_events(&reference)
    );
    check_sides(&reference, &records.conflicts);
    let counts: Counts = records
        .counts
        .iter()
        .map(|(n, c)| ((c.addr, c.site), (*n, c.size, c.access, c.count, c.silent)))
        .collect();
    assert_eq!(counts, expected_counts(&reference, &config));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, max_shrink_iters: 2000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn agrees_with_the_definitions(
        (contexts, inputs) in any_inputs(30),
        count_from in 0..6u32,
        values_from in 0..4u32,
        burst_from in prop_oneof![Just(u32::MAX), 1..4u32],
        pair_period in 1..4u32,
    ) {
        let config = ShadowConfig {
            pair_period,
            count_from,
            values_from,
            burst_from,
            page_table_bits: 8,
            ..ShadowConfig::new(contexts)
        };
        check_all(config, &inputs);
    }
}

fn input(context: u16, access: AccessKind, offset: u64, size: u8) -> Input {
    Input {
        context,
        addr: PAGE + offset,
        size,
        access,
        value: None,
    }
}

/// The other side of the last event: its context and offset.
fn last_other_side(inputs: &[Input]) -> (u16, u64) {
    let config = ShadowConfig {
        page_table_bits: 8,
        ..ShadowConfig::new(3)
    };
    let (_, records) = run(config, inputs);
    let last = records
        .conflicts
        .iter()
        .filter(|(_, c)| c.count > 0)
        .max_by_key(|(_, c)| c.site);
    let (_, last) = last.expect("an event");
    (last.other_context, last.other_addr - PAGE)
}

#[test]
fn an_upgrade_names_a_context_that_has_the_line() {
    use AccessKind::{Read, Write};
    // Context 1 has lost it by the time that 0 stores; 2 has it.
    let inputs = [
        (2, Write, 0),
        (1, Read, 8),
        (2, Write, 0),
        (0, Read, 8),
        (0, Write, 16),
    ];
    let inputs = inputs.map(|(context, access, offset)| input(context, access, offset, 8));
    assert_eq!(last_other_side(&inputs), (2, 0));
}

#[test]
fn contexts_of_every_number_take_part() {
    use AccessKind::{Read, Write};
    let last = CONTEXTS_MAX as u16 - 1;
    let all = [0, 7, 8, 55, 56, 63, 64, 512, last];
    let readers = all.map(|context| (context, Read, 0));
    let mut inputs = readers.to_vec();
    for store in [
        (last, Write, 0),
        (8, Write, 8),
        (64, Write, 0),
        (0, Write, 16),
    ] {
        inputs.push(store);
        inputs.extend(readers);
    }
    let inputs: Vec<Input> = (inputs.into_iter())
        .map(|(context, access, offset)| input(context, access, offset, 8))
        .collect();
    let config = ShadowConfig {
        page_table_bits: 8,
        ..ShadowConfig::new(CONTEXTS_MAX)
    };
    check_all(config, &inputs);
}

#[test]
fn words_that_share_a_granule_are_told_apart() {
    use AccessKind::{Read, Write};
    let inputs = [(0, Read, 0), (1, Write, 0), (2, Write, 4), (0, Read, 0)];
    let inputs = inputs.map(|(context, access, offset)| input(context, access, offset, 4));
    assert_eq!(last_other_side(&inputs), (1, 0));
}
