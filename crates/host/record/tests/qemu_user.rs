//! Real programs, as they are, recorded under the real qemu-user.
//!
//! Needed: a C compiler; the cached qemu-user (scripts/setup.sh), or one in `$RELAYOUT_QEMU_USER`;
//! and the plugin, built by `cargo build --release -p relayout-qemu-api1`.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use object::{Object, ObjectSymbol};
use relayout_files::CacheFolder;
use relayout_messages::RecordingProgress;
use relayout_profile::{
    Addr, CoherenceEvent, ConflictRow, Profile, RangeKind, RecordedRun, VisitRow,
};
use relayout_record::{
    CountedAccesses, Error, ProgramBackend, ProgramRecording, RecordingOutcome, SlicePlan,
    StopSignals, find_program_collector, record_program,
};
use tempfile::TempDir;

/// Fewest transfers between two threads that count beside each other 100,000 times each or more.
/// Hundreds to tens of thousands were seen, by how busy the machine was.
const TRANSFERS_MIN: u64 = 10;

struct Silent;

impl RecordingProgress for Silent {
    fn step(&self, _text: &str) {}
    fn window(&self, _accesses: u64, _transfers: u64, _operations: u64) {}
    fn program(&self, _accesses: u64, _transfers: u64, _threads: u64) {}
    fn warn(&self, _text: &str) {}
}

/// Fails the test unless qemu-user and the plugin for it are here.
#[track_caller]
fn require_qemu_user() {
    if let Err(error) = find_program_collector(CacheFolder::locate().as_ref()) {
        panic!("this test records under qemu-user: {error}; run scripts/setup.sh --tests");
    }
}

/// A program that was compiled for a test.
struct CompiledProgram {
    folder: TempDir,
    path: PathBuf,
}

fn build(source: &str, flags: &[&str]) -> CompiledProgram {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("program");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let status = Command::new("cc")
        .args(["-O1", "-g", "-w", "-pthread"])
        .args(flags)
        .arg("-o")
        .args([&path, &sources.join(source)])
        .status();
    assert!(status.unwrap().success(), "{source} {flags:?}");
    CompiledProgram { folder, path }
}

impl CompiledProgram {
    fn recording(&self, arguments: &[&str]) -> ProgramRecording {
        ProgramRecording {
            program: self.path.clone().into(),
            arguments: arguments.iter().map(OsString::from).collect(),
            backend: None,
            slices: None,
            counts: CountedAccesses::Shared,
            values: false,
            bursts: None,
            yield_every: None,
            seed: 1,
            follow_forks: None,
            time_limit: None,
            stop_after: None,
        }
    }

    fn record(&self, arguments: &[&str]) -> RecordingOutcome {
        record(&self.recording(arguments)).unwrap()
    }

    /// Address of the pair of counters in a run.
    fn pair_address(&self, run: &RecordedRun) -> u64 {
        self.variable_address("shared_pair", run)
    }

    fn variable_address(&self, name: &str, run: &RecordedRun) -> u64 {
        let bytes = fs::read(&self.path).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let variable = file.symbols().find(|s| s.name() == Ok(name));
        let path = self.path.to_str().unwrap();
        let module = run.modules.iter().find(|m| m.path == path).unwrap();
        variable.unwrap().address().wrapping_add(module.bias)
    }

    /// Checks that the two counters were seen to be on one line: by the addresses, by false
    /// sharing.
    fn check_found(&self, profile: &Profile) {
        let (transfers, false_ones) = self.transfers_beside(profile);
        assert!(transfers >= TRANSFERS_MIN, "{transfers} transfers");
        assert!(
            false_ones * 10 >= transfers * 9,
            "{false_ones} of {transfers} false"
        );
    }

    /// Transfers between the two counters, and how many of them are false by first touch.
    fn transfers_beside(&self, profile: &Profile) -> (u64, u64) {
        let pair = self.pair_address(&profile.meta.runs[0]);
        let is_beside = |c: &&ConflictRow| {
            let places = (
                c.addr.wrapping_sub(Addr(pair)),
                c.other_addr.wrapping_sub(Addr(pair)),
            );
            matches!(places, (0, 8) | (8, 0)) && c.transfer != CoherenceEvent::Upgrade
        };
        let conflicts = || profile.conflicts.iter().filter(is_beside);
        let sum = |count_of: fn(&ConflictRow) -> u64| conflicts().map(count_of).sum::<u64>();
        for conflict in conflicts() {
            assert_ne!(conflict.context, conflict.other_context);
            let site = &profile.sites[conflict.site.index()];
            assert!(!site.bytes.is_empty(), "an instruction, not a call");
            let modules = &profile.meta.runs[0].modules;
            assert!(
                modules
                    .iter()
                    .any(|m| m.start <= site.pc && site.pc < m.end)
            );
        }
        (sum(|c| c.count), sum(|c| c.false_first_touch))
    }
}

fn record(recording: &ProgramRecording) -> Result<RecordingOutcome, Error> {
    record_program(recording, &Silent, StopSignals::catch(), &|_, _| None)
}

fn first_run(recorded: &RecordingOutcome) -> &RecordedRun {
    &recorded.profile.meta.runs[0]
}

fn threads() -> &'static CompiledProgram {
    static BUILT: OnceLock<CompiledProgram> = OnceLock::new();
    BUILT.get_or_init(|| build("main.c", &[]))
}

/// Records a mode that ends well.
fn check_whole(mode: &str) -> RecordingOutcome {
    require_qemu_user();
    let recorded = threads().record(&[mode]);
    assert!(recorded.problem.is_none(), "{mode}: {:?}", recorded.problem);
    assert!(
        first_run(&recorded).complete,
        "{mode}: {:?}",
        recorded.notes
    );
    if matches!(mode, "come-and-go" | "crowd") {
        // Several threads share each counter there.
        let (transfers, false_ones) = threads().transfers_beside(&recorded.profile);
        assert!(
            transfers >= TRANSFERS_MIN && false_ones > 0,
            "{mode}: {false_ones} of {transfers}"
        );
    } else {
        threads().check_found(&recorded.profile);
    }
    recorded
}

/// Records a mode that fails with a message that contains `how`, and requires that everything was
/// recorded.
fn check_failure(mode: &str, how: &str) -> RecordingOutcome {
    require_qemu_user();
    let recorded = threads().record(&[mode]);
    let problem = recorded.problem.as_ref().map(ToString::to_string);
    assert!(
        problem.as_ref().is_some_and(|p| p.contains(how)),
        "{mode}: {problem:?}"
    );
    threads().check_found(&recorded.profile);
    recorded
}

fn check_linked(flags: &[&str]) {
    require_qemu_user();
    let built = build("main.c", flags);
    let recorded = built.record(&[]);
    assert!(recorded.problem.is_none(), "{:?}", recorded.problem);
    built.check_found(&recorded.profile);
    let meta = &recorded.profile.meta;
    assert_eq!(meta.target, "program");
    assert!(
        meta.collector.starts_with("qemu-user: QEMU "),
        "{}",
        meta.collector
    );
    assert!(!meta.values_seen, "interface 1 does not show them");
    assert!(meta.runs[0].complete);
}

#[test]
fn programs_linked_in_all_ways() {
    check_linked(&["-pie"]);
    check_linked(&["-no-pie"]);
    check_linked(&["-static"]);
    check_linked(&["-static-pie"]);
}

#[test]
fn loads_are_no_stores() {
    require_qemu_user();
    let built = build("loads.c", &[]);
    let profile = built.record(&[]).profile;
    let word = built.variable_address("shared_word", &profile.meta.runs[0]);
    let mut uses: Vec<(u64, u64)> = (profile.lines.iter())
        .filter(|row| row.line == Addr(word))
        .map(|row| (row.reads, row.writes))
        .collect();
    uses.sort_unstable();
    assert_eq!(uses, [(0, 100_000), (100_000, 0)], "loads and stores");
}

#[test]
fn visits_count_the_instructions_between_them() {
    require_qemu_user();
    let between = |turns: &str| {
        let built = build("steps.c", &[]);
        let profile = built.record(&[turns]).profile;
        let word = built.variable_address("shared_word", &profile.meta.runs[0]);
        let mut visits: Vec<VisitRow> = profile.visits.clone();
        visits.retain(|visit| visit.addr == Addr(word));
        assert!(visits.iter().all(|visit| visit.locked && !visit.string));
        visits.sort_by_key(|visit| (visit.context, visit.clock));
        let pairs = visits
            .windows(2)
            .filter(|pair| pair[0].context == pair[1].context);
        let mut gaps: Vec<u64> = pairs.map(|pair| pair[1].clock - pair[0].clock).collect();
        gaps.sort_unstable();
        assert!(gaps.len() > 1000, "{}", gaps.len());
        gaps[gaps.len() / 2]
    };
    // Two instructions for each turn of the loop between two accesses.
    assert_eq!(between("600") - between("200"), 800);
}

#[test]
fn what_was_where() {
    let recorded = check_whole("two");
    let run = first_run(&recorded);
    let named = |part: &str| run.modules.iter().any(|m| m.path.contains(part));
    assert!(named("/program") && named("/ld-linux") && named("/libc.so"));
    assert!(run.modules.iter().all(|m| !m.build_id.is_empty()));
    assert_eq!(run.threads.len(), 3);
    let contexts: Vec<u16> = run.threads.iter().map(|t| t.context).collect();
    assert_eq!(contexts, [0, 1, 2]);
    assert!(run.threads.iter().all(|t| t.name == "program"));
    let ranges = |kind| {
        let ranges = recorded.profile.ranges.iter();
        ranges.filter(move |r| r.kind == kind).count()
    };
    assert_eq!(ranges(RangeKind::Stack), 3);
    assert_eq!(ranges(RangeKind::Tls), 3);
    // 300,000 times two counters, each read and written by one instruction or two.
    assert!(run.accesses > 1_200_000, "{}", run.accesses);
}

/// Each thread's own counter lies in the range that is recorded as its thread-local storage.
#[test]
fn thread_local_storage_is_where_it_is_said_to_be() {
    let recorded = check_whole("two");
    let profile = &recorded.profile;
    for tls in profile.ranges.iter().filter(|r| r.kind == RangeKind::Tls) {
        let line = tls.start.align_down(64);
        let used = |context: u32| {
            let mut rows = profile.lines.iter();
            let row = rows.find(|l| l.line == line && u32::from(l.context.0) == context);
            row.map_or(0, |row| row.writes)
        };
        let expect = if tls.id == 0 { 0 } else { 300_000 };
        assert!(
            used(tls.id) >= expect,
            "context {}: {}",
            tls.id,
            used(tls.id)
        );
    }
}

#[test]
fn threads_that_come_and_go() {
    let recorded = check_whole("come-and-go");
    let run = first_run(&recorded);
    assert_eq!(run.threads.len(), 81);
    assert_eq!(recorded.profile.meta.contexts, 48, "used again");
    assert!(
        !recorded
            .notes
            .iter()
            .any(|n| n.contains("threads were not recorded"))
    );
}

#[test]
fn more_threads_than_contexts_are_counted() {
    let recorded = check_whole("crowd");
    let said = "13 threads were not recorded";
    assert!(
        recorded.notes.iter().any(|n| n.contains(said)),
        "{:?}",
        recorded.notes
    );
}

#[test]
fn a_forked_child_is_not_recorded() {
    let recorded = check_whole("fork");
    let said = "were not recorded (1): only the first is";
    assert!(
        recorded.notes.iter().any(|n| n.contains(said)),
        "{:?}",
        recorded.notes
    );
    assert_eq!(first_run(&recorded).threads.len(), 5, "those of the parent");
}

#[test]
fn a_program_that_closes_our_files() {
    let recorded = check_whole("close-all");
    assert_eq!(first_run(&recorded).threads.len(), 5);
}

#[test]
fn a_program_with_signal_handlers() {
    check_whole("signals");
}

#[test]
fn exec_ends_the_recording() {
    let recorded = check_whole("exec");
    let ended = &first_run(&recorded).ended;
    assert!(
        ended.contains("replaced itself by ") && ended.ends_with("/true"),
        "{ended}"
    );
}

#[test]
fn exit_while_other_threads_run() {
    for (mode, how) in [("exit-group", "status 7"), ("_exit", "status 4")] {
        let recorded = check_failure(mode, how);
        assert!(first_run(&recorded).complete, "{mode}");
    }
}

#[test]
fn deadly_signals_lose_nothing() {
    for (mode, how) in [
        ("crash", "SIGSEGV"),
        ("abort", "SIGABRT"),
        ("term", "SIGTERM"),
    ] {
        let recorded = check_failure(mode, how);
        let run = first_run(&recorded);
        assert_eq!(
            (run.complete, run.signal.as_deref()),
            (false, Some(how)),
            "{mode}"
        );
        let names: Vec<_> = first_run(&recorded)
            .threads
            .iter()
            .map(|t| &*t.name)
            .collect();
        assert_eq!(names, ["program", "for-ever", "for-ever"], "{mode}");
    }
}

#[test]
fn after_a_kill_there_is_what_was_appended() {
    let recorded = check_failure("kill", "SIGKILL");
    assert!(!first_run(&recorded).complete);
    assert_eq!(first_run(&recorded).threads.len(), 3);
}

/// A server that does not end by itself, and has no handler.
#[test]
fn stopped_after_a_time() {
    require_qemu_user();
    let sleeper = build("sleep.c", &[]);
    let mut recording = sleeper.recording(&[]);
    recording.stop_after = Some(std::time::Duration::from_secs(2));
    let recorded = record(&recording).unwrap();
    assert!(recorded.problem.is_none(), "{:?}", recorded.problem);
    assert!(first_run(&recorded).complete);
    sleeper.check_found(&recorded.profile);
}

#[test]
fn from_marker_to_marker() {
    require_qemu_user();
    let built = build("marked.c", &[]);
    let recorded = built.record(&[]);
    built.check_found(&recorded.profile);
    let run = first_run(&recorded);
    assert!(run.complete);
    assert_eq!(run.operations, 10);
    assert_eq!(run.threads.len(), 3, "the main thread and two of six");
    let missed = built.record(&["out"]);
    let problem = missed.problem.map(|problem| problem.to_string());
    assert!(
        problem
            .as_ref()
            .is_some_and(|p| p.contains("ended before it came to that")),
        "{problem:?}"
    );
    assert_eq!(missed.profile.conflicts, []);
}

#[test]
fn watched_a_part_of_the_time() {
    require_qemu_user();
    let whole = threads().record(&["come-and-go"]);
    let mut recording = threads().recording(&["come-and-go"]);
    recording.slices = Some(SlicePlan::Share(0.1));
    let part = record(&recording).unwrap();
    assert!(first_run(&part).complete, "{:?}", part.notes);
    assert!(first_run(&part).accesses * 2 < first_run(&whole).accesses);
}

#[test]
fn what_it_refuses() {
    require_qemu_user();
    let check = |recording: &ProgramRecording, expect: &str| {
        let said = record(recording).err().unwrap().to_string();
        assert!(said.contains(expect), "{said}");
    };
    let mut counting_all = threads().recording(&[]);
    counting_all.counts = CountedAccesses::All;
    check(&counting_all, "--counts");

    let setuid = build("main.c", &[]);
    fs::set_permissions(&setuid.path, Permissions::from_mode(0o4755)).unwrap();
    check(&setuid.recording(&[]), "setuid");

    let script = setuid.folder.path().join("script");
    fs::write(&script, "#!/bin/sh\ntrue\n").unwrap();
    fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    let mut recording = threads().recording(&[]);
    recording.program = script.into();
    recording.backend = Some(ProgramBackend::QemuUser);
    check(&recording, "it is a script");
}
