//! Locks of the simulation: who holds them, who waits, and what waking costs.

use proptest::prelude::*;
use relayout_profile::ContextId;
use relayout_timed::{
    CurveInputs, LockKind, LockMode, MachineRules, ModelRules, OperationPart, PlacedKind,
    PlacedLock, PlacedOperation, PlacedOperations,
};

use crate::common::{access, machine, operations, set_operations, simulate, simulate_by};

fn acquire(lock: u32, mode: LockMode) -> PlacedKind {
    PlacedKind::Acquire { lock, mode }
}

fn release(lock: u32, mode: LockMode) -> PlacedKind {
    let atomic = mode == LockMode::Shared;
    PlacedKind::Release { lock, atomic }
}

/// Operations that hold a lock on line 0 for so many ticks, of 0.2 ns, and then do something else for as long.
fn locked_for(ticks: u32, mode: LockMode) -> PlacedOperations {
    let accesses = vec![
        access(100, 0, acquire(0, mode)),
        access(ticks, 0, release(0, mode)),
    ];
    let mut placed = operations(accesses, ticks, 2);
    placed.locks = vec![lock_on(0)];
    placed
}

fn lock_on(line: u32) -> PlacedLock {
    PlacedLock {
        line,
        kind: LockKind::Spinning,
        enqueued: Vec::new(),
        polled: vec![line],
    }
}

/// One holder at a time: the time between two of them is what the lock is held, and some moves of its line.
#[test]
fn a_lock_lets_one_cpu_in_at_a_time() {
    let placed = locked_for(20_000, LockMode::Alone);
    let rate = |cpus| simulate(&placed, cpus).operations_per_second;
    let held_ns = 20_000.0 * ModelRules::default().tick_ns;
    let each_ns = 1e9 / rate(16);
    assert!(
        each_ns >= held_ns * 0.98 && each_ns < held_ns + 5.0 * 70.0,
        "{each_ns}"
    );
    assert!(
        (rate(16) / rate(4) - 1.0).abs() < 0.05,
        "{} {}",
        rate(16),
        rate(4)
    );
    let waiting: f64 = simulate(&placed, 16).waiting.iter().sum();
    assert!((0.8..1.0).contains(&waiting), "{waiting}");
}

#[test]
fn readers_go_together() {
    let placed = locked_for(20_000, LockMode::Shared);
    let rate = |cpus| simulate(&placed, cpus).operations_per_second;
    assert!(
        (rate(16) / rate(1) / 16.0 - 1.0).abs() < 0.1,
        "{} {}",
        rate(16),
        rate(1)
    );
}

/// Tasks that wait for a lock take its line away from the holder, with what else the holder uses there.
#[test]
fn waiters_disturb_the_line_of_their_lock() {
    let beside = |line| {
        let mut accesses = vec![access(100, 0, acquire(0, LockMode::Alone))];
        accesses.extend((0..10).map(|_| access(500, line, PlacedKind::Store)));
        accesses.extend((0..10).map(|_| access(500, line, PlacedKind::Locked)));
        accesses.push(access(100, 0, release(0, LockMode::Alone)));
        let mut placed = operations(accesses, 500, 2);
        placed.locks = vec![lock_on(0)];
        simulate(&placed, 8).operations_per_second
    };
    let (same, other) = (beside(0), beside(1));
    assert!(other > same * 1.2, "{same} {other}");
}

/// Two operations that take two locks in different orders end in a deadlock, which is told.
#[test]
fn operations_that_cannot_go_on_are_told() {
    let both = |first: u32, second: u32| PlacedOperation {
        accesses: vec![
            access(100, first, acquire(first, LockMode::Alone)),
            access(1000, second, acquire(second, LockMode::Alone)),
            access(1000, second, release(second, LockMode::Alone)),
            access(100, first, release(first, LockMode::Alone)),
        ],
        ticks_behind: 100,
        locked_behind: 0,
    };
    let mut placed = operations(Vec::new(), 0, 2);
    set_operations(&mut placed, vec![both(0, 1), both(1, 0)]);
    placed.locks = vec![lock_on(0), lock_on(1)];
    assert!(simulate(&placed, 8).is_stuck);
    let machine = machine(70.0);
    let inputs = CurveInputs {
        today: &placed,
        changed: &placed,
        machine: &machine,
        rules: &MachineRules::default(),
        between_ns: 50.0,
        seed: 9,
    };
    assert_eq!(inputs.points(&[8]), None);
    placed.operations.truncate(1);
    placed.parts[0].operations.truncate(1);
    assert!(!simulate(&placed, 8).is_stuck);
}

const KINDS: [LockKind; 5] = [
    LockKind::Spinning,
    LockKind::Mutex,
    LockKind::Semaphore,
    LockKind::Futex,
    LockKind::SpunFutex,
];

/// [`locked_for`], by a lock of some kind.
fn locked_by(kind: LockKind, ticks: u32, mode: LockMode) -> PlacedOperations {
    let mut placed = locked_for(ticks, mode);
    placed.locks[0].kind = kind;
    placed
}

fn rules_with_wake_up(wake_ns: f64) -> ModelRules {
    ModelRules {
        wake_ns,
        ..ModelRules::default()
    }
}

/// While the owner of a mutex or semaphore runs, nobody sleeps: the time to wake up does not matter.
#[test]
fn who_waits_for_a_running_owner_spins() {
    for kind in [LockKind::Mutex, LockKind::Semaphore] {
        let placed = locked_by(kind, 20_000, LockMode::Alone);
        let rate =
            |wake_ns| simulate_by(&rules_with_wake_up(wake_ns), &placed, 16).operations_per_second;
        assert_eq!(rate(3000.0), rate(300_000.0), "{kind:?}");
        let held_ns = 20_000.0 * ModelRules::default().tick_ns;
        let each_ns = 1e9 / rate(3000.0);
        assert!(
            each_ns >= held_ns * 0.98 && each_ns < held_ns + 5.0 * 70.0,
            "{kind:?} {each_ns}"
        );
    }
}

/// Two tasks with a futex that each holds almost all of the time: one sleeps while the other has it, and the owner takes
/// it again before the other runs.
#[test]
fn the_owner_of_a_futex_passes_those_that_wake_up() {
    let placed = locked_by(LockKind::Futex, 20_000, LockMode::Alone);
    let rate = |wake_ns, cpus| {
        simulate_by(&rules_with_wake_up(wake_ns), &placed, cpus).operations_per_second
    };
    let held_ns = 20_000.0 * ModelRules::default().tick_ns;
    let each_ns = 1e9 / rate(3000.0, 16);
    assert!(each_ns >= held_ns * 0.98, "{each_ns}");
    // Whoever wakes another is in the kernel meanwhile, and works as long outside: it does not wait for the woken one.
    let each_ns = 1e9 / rate(1e6, 16);
    let kernel_ns = ModelRules::default().kernel_ns;
    assert!(each_ns < 2.0 * held_ns + 2.0 * kernel_ns, "{each_ns}");
}

/// A reader sleeps until the writer is done, and then takes the time to wake up.
#[test]
fn readers_of_a_semaphore_sleep() {
    let mut placed = locked_by(LockKind::Semaphore, 20_000, LockMode::Alone);
    let reading = locked_by(LockKind::Semaphore, 2_000, LockMode::Shared);
    let both = [&placed, &reading].map(|placed| placed.operations[0].clone());
    set_operations(&mut placed, both.to_vec());
    let rate =
        |wake_ns| simulate_by(&rules_with_wake_up(wake_ns), &placed, 4).operations_per_second;
    assert!(rate(20_000.0) < rate(1_000.0) * 0.9);
}

/// Those that wait for an owner that sleeps for another lock sleep as well. When it is back, a task that just comes takes
/// the mutex before the woken one. A spin lock would go to those that wait in turn.
#[test]
fn a_task_that_comes_passes_those_that_wake_up() {
    let operation = |accesses, ticks_behind| PlacedOperation {
        accesses,
        ticks_behind,
        locked_behind: 0,
    };
    let holds_both = operation(
        vec![
            access(100, 0, acquire(0, LockMode::Alone)),
            access(100, 1, acquire(1, LockMode::Shared)),
            access(1_000, 1, release(1, LockMode::Shared)),
            access(100, 0, release(0, LockMode::Alone)),
        ],
        1_000,
    );
    let holds_outer = operation(
        vec![
            access(100, 0, acquire(0, LockMode::Alone)),
            access(1_000, 0, release(0, LockMode::Alone)),
        ],
        1_000,
    );
    let writes = operation(
        vec![
            access(100, 1, acquire(1, LockMode::Alone)),
            access(30_000, 1, release(1, LockMode::Alone)),
        ],
        5_000,
    );
    let mut placed = operations(Vec::new(), 0, 2);
    placed.locks = vec![lock_on(0), lock_on(1)];
    placed.locks[0].kind = LockKind::Mutex;
    placed.locks[1].kind = LockKind::Semaphore;
    placed.operations = vec![holds_both, holds_outer, writes];
    placed.parts = (0u16..3)
        .map(|part| OperationPart {
            context: Some(ContextId(part)),
            operations: vec![part.into()],
        })
        .collect();
    let outer = |kind| {
        let mut placed = placed.clone();
        placed.locks[0].kind = kind;
        simulate_by(&rules_with_wake_up(60_000.0), &placed, 3).by_part[1]
    };
    let (mutex, spinning) = (outer(LockKind::Mutex), outer(LockKind::Spinning));
    assert!(mutex > spinning * 2.0, "{mutex} {spinning}");
}

/// A CPU whose task sleeps executes another.
#[test]
fn a_cpu_does_not_sleep_while_a_task_can_run() {
    let mut placed = locked_by(LockKind::Futex, 5_000, LockMode::Alone);
    placed.operations[0].ticks_behind = 20_000;
    let parts = |count: u16| {
        let mut placed = placed.clone();
        placed.parts = (0..count)
            .map(|part| OperationPart {
                context: Some(ContextId(part)),
                operations: vec![0],
            })
            .collect();
        placed
    };
    let rules = rules_with_wake_up(50_000.0);
    let rate = |tasks, cpus| simulate_by(&rules, &parts(tasks), cpus).operations_per_second;
    let (two, eight) = (rate(2, 2), rate(8, 2));
    assert!(eight > two * 1.02, "{two} {eight}");
    // Two CPUs have no more time than they have.
    let each_ns = 25_100.0 * ModelRules::default().tick_ns;
    assert!(eight < 2.02e9 / each_ns, "{eight}");
}

fn any_locking() -> impl Strategy<Value = PlacedOperations> {
    let mode = prop_oneof![Just(LockMode::Alone), Just(LockMode::Shared)];
    let ticks = || 0u32..20_000;
    let nested = (mode.clone(), mode, ticks(), ticks(), ticks(), any::<bool>());
    let kind = || prop::sample::select(&KINDS[..]);
    let all = proptest::collection::vec(nested, 1..5);
    (all, kind(), kind()).prop_map(|(all, outer, inner)| {
        let mut placed = operations(Vec::new(), 0, 3);
        placed.locks = vec![lock_on(0), lock_on(1)];
        placed.locks[0].kind = outer;
        // Nobody sleeps while holding a spin lock.
        if outer != LockKind::Spinning {
            placed.locks[1].kind = inner;
        }
        let operations = { all.into_iter() }
            .map(|(outer, inner, before, within, behind, is_nested)| {
                let mut accesses = vec![access(before, 0, acquire(0, outer))];
                if is_nested {
                    accesses.push(access(within, 1, acquire(1, inner)));
                    accesses.push(access(within, 1, release(1, inner)));
                }
                accesses.push(access(within, 0, release(0, outer)));
                PlacedOperation {
                    accesses,
                    ticks_behind: behind,
                    locked_behind: 0,
                }
            })
            .collect();
        set_operations(&mut placed, operations);
        placed
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However tasks wait for two locks that they take in one order, none waits for ever.
    #[test]
    fn locks_in_order_never_get_stuck(
        placed in any_locking(),
        cpus in 1u32..24,
        tasks in 1u16..8,
    ) {
        let mut placed = placed;
        let operations = placed.parts[0].operations.clone();
        placed.parts = (0..tasks)
            .map(|part| OperationPart { context: Some(ContextId(part)), operations: operations.clone() })
            .collect();
        let found = simulate(&placed, cpus);
        prop_assert!(!found.is_stuck);
        prop_assert_eq!(found, simulate(&placed, cpus));
    }
}
