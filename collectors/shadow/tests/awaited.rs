//! Stores that are announced first and settled later.

use std::collections::BTreeMap;

use crate::common::input::{Input, PAGE, any_inputs};
use crate::common::reference::Reference;
use crate::common::{Machine, Records};
use proptest::prelude::*;
use relayout_shadow::{AccessKind, AccessValue, ShadowConfig, StoreEffect};

/// Announces an access; a store's effect is awaited.
fn announce(machine: &mut Machine, input: &Input, site: u32) {
    let Machine { shadow, contexts } = machine;
    let context = &mut contexts[usize::from(input.context)];
    let value = || (input.access != AccessKind::Read).then_some(AccessValue::Awaited);
    shadow.access(context, input.addr, input.size, input.access, site, value);
    shadow.pass_accesses(context, 1, input.addr);
}

fn settle(machine: &mut Machine, context: u16, effect: StoreEffect) {
    let Machine { shadow, contexts } = machine;
    shadow.settle_store(&mut contexts[usize::from(context)], effect);
}

/// Sums by key of all that must be the same: conflicts, counts, totals by line.
fn summed(records: &Records) -> [BTreeMap<String, Vec<u64>>; 3] {
    let mut sums = [const { BTreeMap::new() }; 3];
    let mut add = |n: usize, key: String, values: &[u64]| {
        let sum: &mut Vec<u64> = sums[n].entry(key).or_insert_with(|| vec![0; values.len()]);
        sum.iter_mut().zip(values).for_each(|(sum, n)| *sum += n);
    };
    for (context, c) in &records.conflicts {
        let key = format!(
            "{context} {:x} {} {} {} {:x} {} {}",
            c.addr, c.site, c.size, c.transfer, c.other_addr, c.other_site, c.other_context
        );
        let falses = [c.false_first_touch, c.false_lifetime].map(u64::from);
        add(0, key, &[c.count.into(), falses[0], falses[1]]);
    }
    for (context, c) in &records.counts {
        let key = format!("{context} {:x} {} {} {}", c.addr, c.site, c.size, c.access);
        add(1, key, &[c.count.into(), c.silent.into()]);
    }
    for (context, l) in &records.lines {
        let events = [l.first_reads, l.later_reads, l.write_transfers, l.upgrades].map(u64::from);
        let sums = [&[l.reads, l.writes], &events[..]].concat();
        add(2, format!("{context} {:x}", l.line), &sums);
    }
    sums
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, max_shrink_iters: 2000, failure_persistence: None, ..Default::default() })]

    /// A store that is settled at once is recorded as one whose value is seen.
    #[test]
    fn settled_at_once_is_seen(
        (contexts, inputs) in any_inputs(30),
        count_from in 0..6u32,
        values_from in 0..4u32,
        burst_from in prop_oneof![Just(u32::MAX), 1..4u32],
    ) {
        let config = ShadowConfig {
            count_from,
            values_from,
            burst_from,
            page_table_bits: 8,
            ..ShadowConfig::new(contexts)
        };
        let (mut seen, mut awaited) = (Machine::new(config), Machine::new(config));
        let mut reference = Reference::new(config);
        for (site, input) in (1..).zip(&inputs) {
            input.feed(&mut seen, site);
            announce(&mut awaited, input, site);
            let parts = input.parts();
            let silent: Vec<_> =
                parts.iter().map(|part| reference.access(part, site).silent).collect();
            let effect = match silent[..] {
                [Some(is_silent)] => StoreEffect::Compared { is_silent },
                _ => StoreEffect::Unknown,
            };
            settle(&mut awaited, input.context, effect);
        }
        prop_assert_eq!(summed(&awaited.finish()), summed(&seen.finish()));
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

/// Silent stores counted of the last store of context 0 to offset 0, if `between` happens between
/// its announcement and its end with `effect`.
fn silent_with(between: &[Input], effect: StoreEffect) -> u64 {
    use AccessKind::{Read, Write};
    let mut machine = Machine::new(ShadowConfig {
        count_from: 0,
        values_from: 0,
        page_table_bits: 8,
        ..ShadowConfig::new(3)
    });
    for other in [input(0, Write, 0), input(1, Read, 0), input(2, Read, 32)] {
        announce(&mut machine, &other, 1);
        settle(&mut machine, other.context, StoreEffect::Unknown);
    }
    announce(&mut machine, &input(0, Write, 0), 2);
    for other in between {
        announce(&mut machine, other, 3);
    }
    settle(&mut machine, 0, effect);
    let records = machine.finish();
    let counts = records.counts.iter().filter(|(_, count)| count.site == 2);
    counts.map(|(_, count)| u64::from(count.silent)).sum()
}

#[test]
fn a_store_of_another_context_spoils_a_comparison() {
    use AccessKind::{Read, Write};
    let compared = StoreEffect::Compared { is_silent: true };
    let exact = StoreEffect::Exact { is_silent: true };
    assert_eq!(silent_with(&[], compared), 1);
    assert_eq!(silent_with(&[], StoreEffect::Unknown), 0);
    assert_eq!(
        silent_with(&[], StoreEffect::Compared { is_silent: false }),
        0
    );
    for load in [input(1, Read, 0), input(2, Read, 32)] {
        assert_eq!(silent_with(&[load], compared), 1, "a load changes nothing");
    }
    assert_eq!(
        silent_with(&[input(1, Write, 8)], compared),
        1,
        "other bytes"
    );
    assert_eq!(
        silent_with(&[input(1, Write, 0)], compared),
        0,
        "the same bytes"
    );
    let gone = [input(1, Write, 4), input(2, Read, 32)];
    assert_eq!(silent_with(&gone, compared), 0, "overlapping bytes");
    assert_eq!(silent_with(&[input(1, Write, 0)], exact), 1);
}

#[test]
fn a_store_that_another_context_may_still_make_spoils_a_comparison() {
    use AccessKind::{Read, Write};
    let mut machine = Machine::new(ShadowConfig {
        count_from: 0,
        values_from: 0,
        page_table_bits: 8,
        ..ShadowConfig::new(2)
    });
    announce(&mut machine, &input(0, Write, 0), 1);
    settle(&mut machine, 0, StoreEffect::Unknown);
    announce(&mut machine, &input(1, Read, 0), 1);
    // Context 1 has announced its store when context 0 announces and makes its own.
    announce(&mut machine, &input(1, Write, 0), 2);
    announce(&mut machine, &input(0, Write, 0), 3);
    let silent = StoreEffect::Compared { is_silent: true };
    settle(&mut machine, 0, silent);
    settle(&mut machine, 1, silent);
    let records = machine.finish();
    assert!(records.counts.iter().all(|(_, count)| count.silent == 0));
}
