//! Reasons for which no throughput is predicted.

use relayout_advice::{
    AdvisedType, CurveRequest, ProbedMachine, SearchRequest, predict_curves, predict_gains,
};
use relayout_contend::throughput::MachineCosts;
use relayout_profile::{BurstRow, ClockUnit, Profile, VisitRow};
use relayout_testprofile::Step;
use relayout_timed::{MachineRules, TimedMachine, TransferTimes};

use crate::advice::fixture::address_of;
use crate::advice::recording::{Recording, hot_turns, in_function, load, made_profile, store};

/// A machine on which a moved line costs 50 ns.
fn probed() -> ProbedMachine {
    ProbedMachine {
        costs: Some(MachineCosts {
            transfer_ns: 50.0,
            alone_ns: [1.0; 4],
            contended_ns: [[100.0; 4]; 4],
        }),
        ..ProbedMachine::default()
    }
}

/// What is said of the throughput of `hot`, and true if a gain of the best layout is predicted.
fn gains(profile: Profile, machine: &ProbedMachine) -> (Option<String>, bool) {
    let recording = Recording::resolve(profile);
    let mut advised = recording.advise("hot");
    let searched = &mut advised.searched;
    let note = predict_gains(&recording.resolved(), searched, None, machine, 5);
    let advice = searched.outcome.as_ref().expect("searched");
    (note, advice.candidates[0].gain.is_some())
}

/// Context 0 loads `first` until context 1 has stored there, and answers.
fn waiting() -> Vec<Step> {
    let hot = address_of("hot");
    let look = load(0, hot);
    let round = [
        look,
        look,
        look,
        store(1, hot),
        look,
        store(0, hot + 8),
        load(1, hot + 8),
    ];
    round.repeat(60)
}

#[test]
fn gains_need_the_costs_of_a_machine() {
    let profile = || made_profile("program", &[hot_turns(100)]);
    assert_eq!(gains(profile(), &ProbedMachine::default()), (None, false));
    assert_eq!(gains(profile(), &probed()), (None, true));
}

#[test]
fn nothing_is_predicted_of_contexts_that_wait_for_each_other() {
    let profile = made_profile("program", &[waiting()]);
    let (note, is_predicted) = gains(profile, &probed());
    let note = note.expect("a reason");
    let says = "No throughput is predicted for struct hot: contexts wait for each other (";
    assert!(note.starts_with(says), "{note}");
    assert!(
        note.contains(" reads 'first' until another stores to it, 60 times"),
        "{note}"
    );
    assert!(!is_predicted);
}

#[test]
fn a_clock_of_instructions_has_curves_instead() {
    let mut profile = made_profile("program", &[hot_turns(100)]);
    profile.meta.clock = Some(ClockUnit::Instructions);
    assert_eq!(gains(profile, &probed()), (None, false));
}

/// A machine of two sockets with 12 cores each.
fn large_machine() -> TimedMachine {
    TimedMachine {
        name: "large".to_owned(),
        sockets: 2,
        cores: 12,
        cluster_cores: 12,
        transfer: TransferTimes {
            cluster: 20.0,
            socket: 50.0,
            other_socket: 100.0,
        },
    }
}

/// What is said of a curve of `hot`.
fn curve_note(clock: Option<ClockUnit>, is_asked_for: bool) -> Option<String> {
    let mut profile = made_profile("program", &[hot_turns(100)]);
    profile.meta.clock = clock;
    let recording = Recording::resolve(profile);
    let mut advised = recording.advise("hot");
    let request = CurveRequest {
        is_asked_for,
        ..CurveRequest::plain(large_machine(), MachineRules::default())
    };
    let resolved = recording.resolved();
    recording
        .with_names(|names| predict_curves(&resolved, names, &mut advised.searched, &request, 5))
}

#[test]
fn a_curve_needs_a_clock_of_instructions_and_whole_operations() {
    let note = |why: &str| {
        let sentence = format!("No gain of hot over the number of CPUs is predicted: {why}.");
        Some(sentence)
    };
    let no_clock = "the recording has no clock: record it again with this version";
    assert_eq!(curve_note(None, true), note(no_clock));
    let accesses = "the clock of a compiled-in runtime counts accesses; that of a recording under QEMU (--with qemu) \
                    counts instructions";
    assert_eq!(curve_note(Some(ClockUnit::Accesses), true), note(accesses));
    let few = "fewer than two contexts were logged for whole operations: record more of them, or with more --bursts";
    assert_eq!(curve_note(Some(ClockUnit::Instructions), true), note(few));
}

#[test]
fn who_does_not_ask_for_a_curve_is_told_of_recordings_with_its_clock_only() {
    assert_eq!(curve_note(None, false), None);
    assert_eq!(curve_note(Some(ClockUnit::Accesses), false), None);
    assert!(curve_note(Some(ClockUnit::Instructions), false).is_some());
}

#[test]
fn a_probed_machine_says_what_it_lacks_for_the_clock_of_the_recording() {
    let machine = ProbedMachine {
        missing_costs_note: Some("no costs".to_owned()),
        missing_visits_note: Some("no visits".to_owned()),
        ..ProbedMachine::default()
    };
    let notes = |clock| {
        let mut profile = made_profile("program", &[hot_turns(100)]);
        profile.meta.clock = clock;
        let recording = Recording::resolve(profile);
        let request = SearchRequest::plain(vec!["hot".to_owned()], machine.clone());
        let mut types = vec![recording.advise("hot")];
        let resolved = recording.resolved();
        recording.with_names(|names| {
            relayout_advice::predict_changes(&resolved, names, &mut types, &request)
        })
    };
    assert_eq!(notes(None), ["no costs"]);
    assert_eq!(notes(Some(ClockUnit::Accesses)), ["no costs"]);
    assert_eq!(notes(Some(ClockUnit::Instructions)), ["no visits"]);
}

/// Adds a clock of instructions, which all accesses in order are visits by.
fn with_visits(mut profile: Profile) -> Profile {
    let visit = |row: &BurstRow| VisitRow {
        run: row.run,
        ticket: row.ticket,
        context: row.context,
        clock: 1000 + 30 * row.ticket,
        operation: 0,
        site: row.site,
        addr: row.addr,
        size: row.size,
        access: row.access,
        locked: false,
        compare_exchange: false,
        string: false,
        stored: None,
    };
    profile.visits = profile.bursts.iter().map(visit).collect();
    for region in &mut profile.regions {
        region.visits_end_ticket = Some(profile.visits.len() as u64);
    }
    profile.meta.clock = Some(ClockUnit::Instructions);
    profile
}

/// Turns that give each context enough pieces of what it did.
const CLOCKED_TURNS: usize = 330;

/// Calls `check` with a type whose curve on so many CPUs was asked for, and with what is said instead.
fn with_curve(steps: &[Step], cpus: &[u32], check: impl FnOnce(&AdvisedType<'_>, Option<String>)) {
    let steps = steps.repeat(CLOCKED_TURNS);
    let recording = Recording::resolve(with_visits(made_profile("program", &[steps])));
    let mut advised = recording.advise("hot");
    let request = CurveRequest {
        cpus: cpus.to_vec(),
        ..CurveRequest::plain(large_machine(), MachineRules::default())
    };
    let resolved = recording.resolved();
    let note = recording
        .with_names(|names| predict_curves(&resolved, names, &mut advised.searched, &request, 1));
    check(&advised, note);
}

/// Tests the reason for which there is no curve where every second access is by a function.
#[track_caller]
fn check_no_curve(function: &str, why: &str) {
    let hot = address_of("hot");
    let steps = [in_function(function, store(0, hot)), store(1, hot + 8)];
    with_curve(&steps, &[2], |advised, note| {
        let sentence = format!("No gain of hot over the number of CPUs is predicted: {why}.");
        assert_eq!(note, Some(sentence));
        let mut candidates = advised.advice().expect("searched").candidates.iter();
        assert!(candidates.all(|candidate| candidate.curve.is_none()));
    });
}

#[test]
fn a_curve_needs_rules_for_all_that_contexts_do() {
    check_no_curve(
        "wait_for_completion",
        "contexts wait for each other in wait_for_completion, and the model has no rule for that",
    );
    check_no_curve(
        "mutex_lock",
        "mutex_lock takes or gives back locks whose other end lies outside of the operation, and the model has no rule \
         for that",
    );
    check_no_curve(
        "osq_lock",
        "50% of its accesses are waiting for locks (most in osq_lock), which the model replaces by a queue of its own",
    );
}
