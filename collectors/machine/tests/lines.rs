//! Lines as servers: saturation, readers, threads of a core, order of service, protocols.

use crate::common::{
    CpuStep, GuestRun, NS, at, exact, exact_with, flat, last_ns, layered, run_script,
};
use crate::common::{ScriptStep, setup};
use relayout_machine::LineAccess::{Atomic, Load, Store, Update};
use relayout_machine::{
    CoherenceProtocol, CpuActivity, CpuDistance, LineAccess, MachineRule, MachineRules,
    SimulatedTime, TransferKind, find_machine,
};

const LINE: u64 = 64;

/// Accesses that CPUs of a flat machine execute in a millisecond, with so much code between. The first ten microseconds
/// are left out.
fn accesses_in_ms(cpus: usize, rules: MachineRules, access: LineAccess, code_ns: u64) -> u64 {
    let mut has_code = vec![false; cpus];
    let window = SimulatedTime(10_000 * NS)..SimulatedTime(1_010_000 * NS);
    let run = GuestRun::new(
        setup(flat(cpus as u32), rules, cpus),
        1_010_000,
        |cpu, _, _| {
            has_code[cpu] = !has_code[cpu];
            match has_code[cpu] {
                true => CpuStep::Code(code_ns * NS),
                false => CpuStep::Access(LINE, access, 1),
            }
        },
    );
    let times = run.run().executed.into_iter().map(|access| access.at);
    times.filter(|at| window.contains(at)).count() as u64
}

#[test]
fn adding_to_one_line_saturates() {
    // Without a hold, each add is a transfer of 100 ns.
    let rules = exact_with(&[(MachineRule::HoldAfterLoss, 0.0)]);
    for cpus in [4, 16, 64] {
        let added = accesses_in_ms(cpus, rules.clone(), Atomic, 20);
        assert!((9_999..=10_001).contains(&added), "{cpus} CPUs: {added}");
    }
    // One CPU alone is limited by its code only.
    assert_eq!(accesses_in_ms(1, rules, Atomic, 20), 50_000);
}

#[test]
fn hold_lets_a_cpu_add_twice_in_a_visit() {
    let with = accesses_in_ms(16, exact(), Atomic, 20);
    assert!((19_998..=20_002).contains(&with), "{with}");
}

#[test]
fn readers_do_not_wait_for_each_other() {
    let mut script = vec![at(0, 0, LINE, Store), at(1000, 1, LINE, Load)];
    script.extend((2..34).map(|cpu| at(2000, cpu, LINE, Load)));
    let rules = exact_with(&[(MachineRule::LoadOverlap, 0.0)]);
    let run = run_script(setup(flat(34), rules, 34), &script);
    for cpu in 2..34 {
        let nth = cpu as u64 - 2;
        assert_eq!(run.times_ns(cpu), [2050 + 4 * nth]);
    }
    let line = &run.machine.counts().lines[0];
    assert_eq!(line.transfers_of(TransferKind::SharedRead), 32);
    assert_eq!(line.transfers_of(TransferKind::DirtyRead), 1);
    assert_eq!(line.cores.len(), 33);
}

#[test]
fn threads_of_a_core_share_its_cache() {
    let script = [
        at(0, 0, LINE, Store),
        at(1000, 8, LINE, Atomic),
        at(2000, 0, LINE, Update),
    ];
    let run = run_script(setup(layered(), exact(), 9), &script);
    assert_eq!(run.times_ns(8), [1600], "the code of CPU 8 takes longer");
    let line = &run.machine.counts().lines[0];
    assert_eq!(line.transfers, [[0; 4]; 4]);
}

#[test]
fn a_line_that_one_thread_waits_for_comes_for_both() {
    let script = [
        at(0, 1, LINE, Store),
        at(1000, 4, LINE, Atomic),
        at(1010, 0, LINE, Atomic),
        at(1020, 8, LINE, Atomic),
        at(1030, 2, LINE, Atomic),
    ];
    let rules = exact_with(&[(MachineRule::SharedIssue, 1.0)]);
    let run = run_script(setup(layered(), rules, 9), &script);
    assert_eq!([run.times_ns(0), run.times_ns(8)], [[1400], [1400]]);
    assert_eq!(run.times_ns(2), [1500]);
}

#[test]
fn transfers_take_as_long_as_the_way() {
    for (cpu, ns) in [(1, 40), (2, 100), (4, 200)] {
        let script = [at(0, 0, LINE, Store), at(1000, cpu, LINE, Atomic)];
        let run = run_script(setup(layered(), exact(), 8), &script);
        assert_eq!(run.times_ns(cpu), [1000 + ns]);
        let distance = match cpu {
            1 => CpuDistance::SameCluster,
            2 => CpuDistance::SameSocket,
            _ => CpuDistance::OtherSocket,
        };
        assert_eq!(run.machine.counts().lines[0].transfers_over(distance), 1);
    }
}

#[test]
fn requests_are_served_in_their_order() {
    let mut script = vec![at(0, 0, LINE, Store)];
    // CPU 7 comes first, CPU 1 last.
    script.extend((1..8).map(|cpu| at(1000 + 10 * (8 - cpu as u64), cpu, LINE, Atomic)));
    let run = run_script(setup(flat(8), exact(), 8), &script);
    let order: Vec<usize> = run.executed.iter().map(|access| access.cpu).collect();
    assert_eq!(order, [0, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(run.times_ns(7), [1110]);
    assert_eq!(run.times_ns(1), [1710]);
    let line = &run.machine.counts().lines[0];
    // 90 ns for the second, 180 for the third, and so on.
    assert_eq!(line.queue_ps, 90 * 21 * NS);
    assert_eq!(line.wait_ps, (90 * 21 + 7 * 100) * NS);
}

/// CPUs 0, 1, 2 and 3 of one socket and CPU 4 of the other add to a line; returns the share of CPU 4 with a rule.
fn share_of_far_cpu(rule: MachineRule, value: f64) -> f64 {
    let rules = exact_with(&[(rule, value), (MachineRule::HoldAfterLoss, 0.0)]);
    let mut has_code = [false; 5];
    let run = GuestRun::new(setup(layered(), rules, 5), 1_000_000, |cpu, _, _| {
        has_code[cpu] = !has_code[cpu];
        match has_code[cpu] {
            true => CpuStep::Code(20 * NS),
            false => CpuStep::Access(LINE, Atomic, 1),
        }
    });
    let run = run.run();
    run.times_ns(4).len() as f64 / run.count(LINE) as f64
}

#[test]
fn near_requests_pass_over_far_ones_a_bounded_number_of_times() {
    let first_come = share_of_far_cpu(MachineRule::NearFirst, 0.0);
    assert!((0.19..0.21).contains(&first_come), "{first_come}");
    let near_first = share_of_far_cpu(MachineRule::NearFirst, 8.0);
    assert!((0.06..0.12).contains(&near_first), "{near_first}");
}

#[test]
fn sockets_with_queues_are_served_in_turn() {
    let share = share_of_far_cpu(MachineRule::SocketQueues, 1.0);
    assert!((0.45..0.51).contains(&share), "{share}");
}

#[test]
fn a_request_at_the_time_at_which_a_line_comes_free_is_behind_those_that_waited() {
    let script = [
        at(0, 0, LINE, Store),
        at(1000, 1, LINE, Atomic),
        at(1010, 4, LINE, Atomic),
        at(1040, 2, LINE, Atomic),
    ];
    let rules = exact_with(&[(MachineRule::NearFirst, 8.0)]);
    let run = run_script(setup(layered(), rules, 8), &script);
    assert_eq!(run.times_ns(4), [1240], "CPU 1 has it at 1040");
    assert_eq!(run.times_ns(2), [1440]);
}

#[test]
fn a_store_modifies_a_line_that_was_fetched_for_reading_only() {
    let topology = relayout_machine::MachineTopology {
        protocol: CoherenceProtocol::MOESI,
        ..flat(3)
    };
    let pause = ScriptStep {
        cpu: 0,
        at_ns: 0,
        step: CpuStep::Pause,
    };
    let script = [
        at(0, 0, LINE, Load),
        pause,
        at(0, 0, LINE, Store),
        at(10_000, 1, LINE, Load),
        at(20_000, 2, LINE, Load),
    ];
    let rules = exact_with(&[(MachineRule::LoadOverlap, 0.0)]);
    let run = run_script(setup(topology, rules, 3), &script);
    assert_eq!(run.times_ns(2), [20_100], "the owner supplies it");
}

#[test]
fn plain_stores_do_not_wait() {
    let script = [
        at(0, 0, LINE, Store),
        at(1000, 1, LINE, Store),
        at(1001, 1, LINE, Load),
        at(1002, 1, LINE, Store),
    ];
    let run = run_script(setup(flat(2), exact(), 2), &script);
    assert_eq!(run.times_ns(1), [1000, 1001, 1002]);
    let counts = run.machine.counts();
    assert_eq!(counts.lines[0].transfers_of(TransferKind::Take), 1);
    assert_eq!(counts.lines[0].hits, 2);
}

#[test]
fn each_store_to_a_line_on_its_way_takes_a_place_in_the_buffer() {
    let rules = exact_with(&[(MachineRule::StoresInFlight, 2.0)]);
    let mut script = vec![at(0, 0, LINE, Store)];
    script.extend([1000, 1001, 1002, 1003].map(|ns| at(ns, 1, LINE, Store)));
    let run = run_script(setup(flat(2), rules, 2), &script);
    // The line comes after 100 ns.
    assert_eq!(run.times_ns(1), [1000, 1001, 1100, 1100]);
}

#[test]
fn atomics_drain_stores() {
    let script = [
        at(0, 0, LINE, Store),
        at(0, 0, LINE + 2, Store),
        at(1000, 1, LINE, Store),
        at(1010, 1, LINE + 2, Atomic),
    ];
    let mut run = run_script(setup(flat(2), exact(), 2), &script);
    assert_eq!(run.times_ns(1), [1000, 1200]);
    run.machine.bring_counts_to(SimulatedTime(1_200_000));
    let cpu = &run.machine.counts().cpus[1];
    assert_eq!(cpu.time_ps(CpuActivity::Drain), 90 * NS);
    assert_eq!(cpu.time_ps(CpuActivity::AtomicWait), 100 * NS);
}

/// Times of a load of CPU 1 of a line that CPU 0 modified, of a store behind it, and of a load of CPU 2, with kinds.
fn with_protocol(protocol: CoherenceProtocol) -> (u64, u64, [u64; 4]) {
    let topology = relayout_machine::MachineTopology {
        protocol,
        ..flat(3)
    };
    let script = [
        at(0, 0, LINE, Store),
        at(1000, 1, LINE, Load),
        at(2000, 2, LINE, Load),
        at(3000, 1, LINE, Atomic),
    ];
    let rules = exact_with(&[(MachineRule::LoadOverlap, 0.0)]);
    let run = run_script(setup(topology, rules, 3), &script);
    let line = &run.machine.counts().lines[0];
    let kinds = [
        TransferKind::Take,
        TransferKind::Upgrade,
        TransferKind::DirtyRead,
        TransferKind::SharedRead,
    ];
    let counts = kinds.map(|kind| line.transfers_of(kind));
    (run.times_ns(2)[0], run.times_ns(1)[1], counts)
}

#[test]
fn protocols_differ() {
    assert_eq!(
        with_protocol(CoherenceProtocol::MESIF),
        (2050, 3075, [0, 1, 1, 1])
    );
    assert_eq!(
        with_protocol(CoherenceProtocol::MOESI),
        (2100, 3075, [0, 1, 1, 1])
    );
    // CPU 1 took it over, and CPU 2 from there.
    assert_eq!(
        with_protocol(CoherenceProtocol::MIGRATORY),
        (2100, 3100, [1, 0, 2, 0])
    );
}

#[test]
fn clean_lines_come_from_the_last_reader_or_the_nearest() {
    let time = |protocol| {
        let topology = relayout_machine::MachineTopology {
            protocol,
            ..layered()
        };
        let script = [
            at(0, 0, LINE, Store),
            at(1000, 1, LINE, Load),
            at(2000, 4, LINE, Load),
            at(3000, 2, LINE, Load),
        ];
        let rules = exact_with(&[(MachineRule::LoadOverlap, 0.0)]);
        last_ns(setup(topology, rules, 8), &script, 2)
    };
    assert_eq!(time(CoherenceProtocol::MESIF), 3100, "from CPU 4");
    assert_eq!(time(CoherenceProtocol::MOESI), 3100, "from the owner");
    let clean_nearest = CoherenceProtocol {
        clean_supplier: relayout_machine::CleanSupplier::Nearest,
        ..CoherenceProtocol::MESIF
    };
    assert_eq!(time(clean_nearest), 3050, "from CPU 0 or 1");
}

#[test]
fn lines_of_one_cpu_and_read_lines_are_not_ordered() {
    let script = [
        at(0, 0, LINE, Store),
        at(10, 0, LINE, Load),
        at(20, 0, LINE + 2, Load),
        at(1000, 1, LINE + 2, Load),
        at(2000, 0, LINE + 2, Load),
        ScriptStep {
            cpu: 1,
            at_ns: 3000,
            step: CpuStep::Code(1),
        },
    ];
    let run = run_script(setup(flat(2), exact(), 2), &script);
    assert!(
        run.machine
            .counts()
            .cpus
            .iter()
            .all(|cpu| cpu.requests == 0)
    );
}

/// Operations of 20 CPUs in a millisecond: each adds twice to a line, and accesses a member that lies on `member_line`.
fn operations(member_line: u64, access: LineAccess) -> usize {
    let rules = exact_with(&[(MachineRule::HoldAfterLoss, 0.0)]);
    let mut steps = [0_usize; 20];
    let mut done = 0;
    GuestRun::new(setup(flat(20), rules, 20), 1_000_000, |cpu, _, _| {
        steps[cpu] += 1;
        match steps[cpu] % 6 {
            1 => CpuStep::Access(LINE, Atomic, 1),
            3 => CpuStep::Access(member_line, access, 2),
            5 => CpuStep::Access(LINE, Atomic, 3),
            0 => {
                done += 1;
                CpuStep::Code(200 * NS)
            }
            _ => CpuStep::Code(200 * NS),
        }
    })
    .run();
    done
}

#[test]
fn visits_decide_at_saturation() {
    let [together, apart] = [LINE, LINE + 2].map(|line| operations(line, Atomic));
    let ratio = apart as f64 / together as f64;
    assert!((1.48..1.52).contains(&ratio), "3 visits to 2: {ratio}");
    // Where nobody stores, it does not matter which line it is.
    assert_eq!(operations(LINE + 2, Load), operations(LINE + 4, Load));
}

#[test]
fn a_machine_of_512_cpus() {
    let bergamo = find_machine("bergamo-2s")
        .expect("it is in the table")
        .topology;
    let mut has_code = [false; 512];
    let setup = setup(bergamo, MachineRules::default(), 512);
    let run = GuestRun::new(setup, 300_000, |cpu, _, _| {
        has_code[cpu] = !has_code[cpu];
        match has_code[cpu] {
            true => CpuStep::Code(300 * NS),
            false => CpuStep::Access(LINE, Atomic, 1),
        }
    });
    let run = run.run();
    assert!((0..512).all(|cpu| !run.times_ns(cpu).is_empty()));
    assert_eq!(run.machine.counts().lines[0].cores.len(), 256);
}
