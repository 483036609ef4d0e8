//! The logs of visits: which accesses are there, when, and until where they are complete.

use crate::common::input::PAGE;
use crate::common::{Machine, Records};
use proptest::prelude::*;
use relayout_shadow::wire::{COMPARE_EXCHANGE, LOCKED, VisitRecord};
use relayout_shadow::{AccessFacts, AccessKind, AccessValue, ShadowConfig};

/// An access at a time of its context's clock.
#[derive(Clone, Copy, Debug)]
struct TimedAccess {
    context: u16,
    addr: u64,
    access: AccessKind,
    /// Ticks since the context's last access.
    after: u64,
}

struct Facts {
    clock: u64,
    instruction: u8,
}

impl AccessFacts for Facts {
    fn value(&self) -> Option<AccessValue> {
        None
    }

    fn clock(&self) -> Option<u64> {
        Some(self.clock)
    }

    fn instruction(&self) -> u8 {
        self.instruction
    }
}

fn config() -> ShadowConfig {
    ShadowConfig {
        burst_from: 2,
        burst_reach: 0,
        page_table_bits: 8,
        ..ShadowConfig::new(3)
    }
}

fn feed(machine: &mut Machine, clocks: &mut [u64; 3], n: u32, step: TimedAccess) {
    let clock = &mut clocks[usize::from(step.context)];
    *clock += step.after;
    let facts = Facts {
        clock: *clock,
        instruction: LOCKED,
    };
    let cx = &mut machine.contexts[usize::from(step.context)];
    machine
        .shadow
        .access(cx, step.addr, 8, step.access, n, facts);
}

/// Makes the line at `PAGE` hot.
fn heat(machine: &mut Machine, clocks: &mut [u64; 3]) {
    for context in [0, 1, 0] {
        let step = TimedAccess {
            context,
            addr: PAGE,
            access: AccessKind::Write,
            after: 1000,
        };
        feed(machine, clocks, u32::MAX, step);
    }
}

fn recorded(config: ShadowConfig, steps: &[TimedAccess]) -> Records {
    let mut machine = Machine::new(config);
    let mut clocks = [1; 3];
    heat(&mut machine, &mut clocks);
    for (n, &step) in steps.iter().enumerate() {
        feed(&mut machine, &mut clocks, n as u32, step);
    }
    machine.finish()
}

/// Numbers of the steps that have to be logged: those that repeat no other of their visit.
fn needed(steps: &[TimedAccess]) -> Vec<u32> {
    let mut clocks = [1; 3];
    // The two that made the line hot came before; whose turn it is, nobody knows yet.
    let mut turn = None;
    let mut visits = std::collections::HashMap::new();
    let mut needed = Vec::new();
    for (n, step) in steps.iter().enumerate() {
        let clock = &mut clocks[usize::from(step.context)];
        *clock += step.after;
        if turn.replace(step.context) != Some(step.context) {
            visits.clear();
        }
        let line = step.addr / 64;
        let (last, seen) = visits.entry(line).or_insert((*clock, Vec::new()));
        if *clock - *last > 50 {
            seen.clear();
        }
        let own = (step.addr, step.access);
        if !seen.contains(&own) {
            seen.push(own);
            *last = *clock;
            needed.push(n as u32);
        }
    }
    needed
}

fn steps() -> impl Strategy<Value = Vec<TimedAccess>> {
    let kind = prop::sample::select(vec![
        AccessKind::Read,
        AccessKind::Write,
        AccessKind::ReadWrite,
    ]);
    let after = prop_oneof![1..20u64, 40..60u64, 100..200u64];
    let step = (0..3u16, 0..3u64, 0..2u64, kind, after);
    let step = step.prop_map(|(context, line, word, access, after)| TimedAccess {
        context,
        addr: PAGE + line * 64 + word * 8,
        access,
        after,
    });
    prop::collection::vec(step, 1..200)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    #[test]
    fn all_but_repeats_of_a_visit_are_there(steps in steps()) {
        let records = recorded(config(), &steps);
        let logged: Vec<u32> = records.visits.iter().map(|(_, visit)| visit.site).collect();
        prop_assert!(logged.is_sorted(), "{logged:?}");
        let missing: Vec<u32> =
            needed(&steps).into_iter().filter(|n| !logged.contains(n)).collect();
        prop_assert!(missing.is_empty(), "{missing:?} of {steps:?}");
        let mut clocks = [1 + 2000, 1 + 1000, 1];
        let times: Vec<u64> = steps
            .iter()
            .map(|step| {
                clocks[usize::from(step.context)] += step.after;
                clocks[usize::from(step.context)]
            })
            .collect();
        for (context, visit) in &records.visits {
            let step = steps[visit.site as usize];
            prop_assert_eq!((*context, visit.addr), (step.context, step.addr));
            prop_assert_eq!(visit.clock, times[visit.site as usize]);
            prop_assert_eq!((visit.access, visit.instruction), (step.access as u8, LOCKED));
        }
        let region = records.regions.iter().find(|region| region.start == PAGE).unwrap();
        prop_assert_eq!(region.visits_end_ticket, region.end_ticket);
    }
}

/// Accesses of one kind to one word, by one context, so many ticks apart.
fn repeats(count: usize, after: u64) -> Vec<TimedAccess> {
    let step = TimedAccess {
        context: 2,
        addr: PAGE + 8,
        access: AccessKind::Read,
        after,
    };
    vec![step; count]
}

#[test]
fn a_context_that_comes_back_later_is_logged_again() {
    let records = recorded(config(), &repeats(10, 51));
    assert_eq!(records.visits.len(), 10);
    let bursts = records.bursts.iter().filter(|(context, _)| *context == 2);
    assert_eq!(bursts.count(), 1, "for a layout, it repeats");
    assert_eq!(recorded(config(), &repeats(10, 5)).visits.len(), 1);
    // A context that spins is logged now and then.
    assert_eq!(recorded(config(), &repeats(101, 5)).visits.len(), 10);
}

#[test]
fn logs_end_at_their_limits_and_say_where() {
    let by_region = ShadowConfig {
        visits_region_max: 4,
        ..config()
    };
    let in_all = ShadowConfig {
        visits_total_max: 256,
        ..config()
    };
    for (config, expect) in [(by_region, 4), (in_all, 256)] {
        let records = recorded(config, &repeats(1000, 100));
        assert_eq!(records.visits.len(), expect);
        let region = &records.regions[0];
        let logged = |visit: &VisitRecord| visit.ticket < region.visits_end_ticket;
        assert!(records.visits.iter().all(|(_, visit)| logged(visit)));
        assert!(region.visits_end_ticket < region.end_ticket);
    }
}

#[test]
fn exchanges_say_whether_they_stored() {
    let mut machine = Machine::new(config());
    heat(&mut machine, &mut [1; 3]);
    let instructions = [LOCKED | COMPARE_EXCHANGE, LOCKED, LOCKED | COMPARE_EXCHANGE];
    for (n, instruction) in (0..).zip(instructions) {
        let cx = &mut machine.contexts[2];
        cx.operations = 7 + n;
        let clock = u64::from(n) * 1000;
        let facts = Facts { clock, instruction };
        machine
            .shadow
            .access(cx, PAGE, 8, AccessKind::ReadWrite, n, facts);
        machine.shadow.note_exchange(cx, PAGE + 8, true);
        if n < 2 {
            machine.shadow.note_exchange(cx, PAGE, n == 1);
        }
    }
    let records = machine.finish();
    let own = records.visits.iter().filter(|(context, _)| *context == 2);
    let found: Vec<_> = own
        .map(|(_, visit)| (visit.operation, visit.stored))
        .collect();
    assert_eq!(found, [(7, 0), (8, 2), (9, 2)]);
}

/// An access that crosses from line to line is timed on both.
#[test]
fn parts_of_an_access_have_its_time() {
    let mut machine = Machine::new(config());
    heat(&mut machine, &mut [1; 3]);
    let facts = Facts {
        clock: 77,
        instruction: 0,
    };
    let cx = &mut machine.contexts[2];
    machine
        .shadow
        .access(cx, PAGE + 60, 8, AccessKind::Read, 5, facts);
    let records = machine.finish();
    let own = records.visits.iter().filter(|(context, _)| *context == 2);
    let found: Vec<_> = own.map(|(_, v)| (v.addr - PAGE, v.size, v.clock)).collect();
    assert_eq!(found, [(60, 4, 77), (64, 4, 77)]);
}
