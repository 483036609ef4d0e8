//! Pair transfers against a slow reading of their definition.

use std::collections::BTreeMap;

use crate::common::Machine;
use crate::common::input::{Input, PAGE, any_inputs};
use proptest::prelude::*;
use relayout_shadow::wire::PairRecord;
use relayout_shadow::{AccessKind, LINE_BYTES, ShadowConfig};

/// An access to one line, and where it stands among all.
#[derive(Clone, Copy)]
struct Touch {
    at: usize,
    context: u16,
    line: u64,
    stores: bool,
    addr: u64,
}

/// A pair transfer: its context, address and site, and the other side's context and address.
type Found = (u16, u64, u32, u16, u64);

/// The definition, with the whole history at hand.
fn expected(inputs: &[Input]) -> Vec<Found> {
    let mut history: Vec<Touch> = Vec::new();
    let mut found = Vec::new();
    for (n, input) in inputs.iter().enumerate() {
        for part in input.parts() {
            let touch = Touch {
                at: history.len(),
                context: part.context,
                line: part.addr / LINE_BYTES as u64,
                stores: part.access != AccessKind::Read,
                addr: part.addr,
            };
            if let Some(other) = other_side(&history, touch) {
                let site = n as u32 + 1;
                let other = (other.context, other.addr);
                found.push((touch.context, touch.addr, site, other.0, other.1));
            }
            history.push(touch);
        }
    }
    found.sort_unstable();
    found
}

/// The store that makes `now` a pair transfer, if it is one.
fn other_side(history: &[Touch], now: Touch) -> Option<Touch> {
    let is_own = |t: &&Touch| t.context == now.context;
    let is_foreign_store = |t: &&Touch| t.context != now.context && t.stores;
    let mut in_pair = history.iter().filter(|t| t.line / 2 == now.line / 2).rev();
    let last_use = in_pair.clone().find(is_own)?;
    // A watch begins only where another has stored before.
    in_pair.find(|t| t.at < last_use.at && is_foreign_store(t))?;
    let mut own_line = history.iter().filter(|t| t.line == now.line).rev();
    let fetched = own_line.clone().find(is_own)?;
    if own_line.any(|t| t.at > fetched.at && is_foreign_store(&t)) {
        return None;
    }
    let mut buddy = history.iter().filter(|t| t.line == now.line ^ 1).rev();
    buddy
        .find(|t| t.at > last_use.at && is_foreign_store(t))
        .copied()
}

fn record(config: ShadowConfig, inputs: &[Input]) -> Vec<(u16, PairRecord)> {
    let mut machine = Machine::new(config);
    for (n, input) in inputs.iter().enumerate() {
        for part in input.parts() {
            part.feed(&mut machine, n as u32 + 1);
        }
    }
    machine.finish().pairs
}

fn config(contexts: usize, pair_period: u32) -> ShadowConfig {
    ShadowConfig {
        pair_period,
        page_table_bits: 8,
        ..ShadowConfig::new(contexts)
    }
}

fn check(contexts: usize, inputs: &[Input]) {
    let records = record(config(contexts, 1), inputs);
    let mut found: Vec<Found> = records
        .iter()
        .map(|(context, r)| (*context, r.addr, r.site, r.other_context, r.other_addr))
        .collect();
    found.sort_unstable();
    assert_eq!(found, expected(inputs));
    for (context, r) in records {
        let own = &inputs[r.site as usize - 1];
        let other = &inputs[r.other_site as usize - 1];
        assert_eq!((r.samples, own.context), (1, context));
        let kinds = (r.access, r.other_access);
        assert_eq!(kinds, (own.access as u8, other.access as u8));
        let is_part = |input: &Input, addr, size| {
            let mut parts = input.parts().into_iter();
            parts.any(|part| (part.addr, part.size) == (addr, size))
        };
        assert!(is_part(own, r.addr, r.size), "{r:?} of {own:?}");
        assert!(is_part(other, r.other_addr, r.other_size), "{r:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, max_shrink_iters: 2000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn agrees_with_the_definition((contexts, inputs) in any_inputs(40)) {
        check(contexts, &inputs);
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

fn four_times(round: &[Input]) -> Vec<Input> {
    [round; 4].concat()
}

#[test]
fn a_store_to_the_buddy_disturbs_a_reader_without_any_event() {
    use AccessKind::{Read, Write};
    let round = [input(1, Write, 64), input(0, Read, 0)];
    let inputs = four_times(&round);
    // The first round has no earlier use, the second no earlier watch.
    let found: Vec<Found> = [4, 6, 8].map(|site| (0, PAGE, site, 1, PAGE + 64)).to_vec();
    assert_eq!(expected(&inputs), found[..]);
    check(2, &inputs);
    // The same on lines that are no pair.
    let apart = four_times(&[input(1, Write, 128), input(0, Read, 64)]);
    assert_eq!(expected(&apart), []);
    check(2, &apart);
}

#[test]
fn a_line_that_is_lost_itself_is_no_pair_transfer() {
    use AccessKind::{Read, Write};
    let round = [input(1, Write, 64), input(1, Write, 8), input(0, Read, 0)];
    let inputs = four_times(&round);
    assert_eq!(expected(&inputs), []);
    check(2, &inputs);
}

/// Accesses as of a program: four contexts work on 40 pairs each in its own proportions.
fn workload(accesses: usize) -> Vec<Input> {
    let mut state = 88_172_645_463_325_252u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 20
    };
    let any = |_| {
        let (context, place, kind) = (random() % 4, random() % 40, random() % 16);
        let place = place * random() % 40;
        // Of each pair, contexts 0 and 1 mostly read one line, 2 and 3 mostly store to the other.
        let stores = context > 1 && kind > 3 || kind == 0;
        let line = u64::from(context > 1) ^ u64::from(kind == 1);
        let access = if stores {
            AccessKind::Write
        } else {
            AccessKind::Read
        };
        input(context as u16, access, place * 128 + line * 64)
    };
    (0..accesses).map(any).collect()
}

#[test]
fn samples_estimate_the_number_of_pair_transfers() {
    const PERIOD: u32 = 50;
    let inputs = workload(if cfg!(miri) { 2_000 } else { 400_000 });
    let all = record(config(4, 1), &inputs);
    let sampled = record(config(4, PERIOD), &inputs);
    let by_line = |records: &[(u16, PairRecord)]| {
        let mut sums: BTreeMap<(u16, u64), u64> = BTreeMap::new();
        for (context, record) in records {
            *sums.entry((*context, record.addr)).or_default() += u64::from(record.samples);
        }
        sums
    };
    let (all, sampled) = (by_line(&all), by_line(&sampled));
    let mut squares = 0.0;
    let mut places = 0.0;
    for (place, count) in &all {
        let expected = *count as f64 / f64::from(PERIOD);
        let found = sampled.get(place).copied().unwrap_or(0) as f64;
        squares += (found - expected).powi(2) / expected.max(1.0);
        places += 1.0;
    }
    // A sum of squares of so many standard deviations.
    assert!(
        squares < places + 4.0 * f64::sqrt(2.0 * places),
        "{squares} of {places}"
    );
    let sum = |of: &BTreeMap<_, u64>| of.values().sum::<u64>() as f64;
    let (estimate, exact) = (sum(&sampled) * f64::from(PERIOD), sum(&all));
    assert!(
        (estimate / exact - 1.0).abs() < 0.05,
        "{estimate} of {exact}"
    );
}
