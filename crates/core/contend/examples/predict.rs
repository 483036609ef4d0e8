//! Predicts what another place of some bytes gains, for objects that a recorded program named
//! (`relayout_object`); `benches/prediction.py` holds it against hardware.
//!
//!     cargo run --release -p relayout-contend --example predict -- PROFILE COSTS TYPE CHANGE...
//!
//! COSTS are of the file that `relayout probe` writes, as 21 numbers with commas: nanoseconds to
//! move a line; of a load, a store, an update and an exchange alone; and of each against each (that
//! of a load against loads is not used). A CHANGE is one of
//!
//!     move:OFFSET:BYTES:NEW     the bytes at OFFSET lie at NEW
//!     align:BYTES               objects begin at multiples of BYTES
//!     check:OFFSET:BYTES        stores there are to change nothing, and a check is made first
//!     contexts:N                for so many threads
//!
//! Prints ratio, low and high for all contexts together, and then for each, in the order in which
//! they were started. Where threads wait for one another, nothing is predicted.

use std::path::Path;

use relayout_contend::throughput::{
    GainRatio, GuardCounts, MachineCosts, RecordedLoad, ReplayedStretch, SpinWait, StretchLine,
    ThroughputInputs, find_spin_waits,
};
use relayout_contend::{
    LineWaits, ObjectExtent, ObjectTrace, PreparedTrace, TraceAccess, TraceIndex,
};
use relayout_profile::{AccessKind, Profile, RangeKind, RunId};

const LINE_BYTES: u32 = 64;
const STRETCHES: usize = 64;

/// Changes to predict the gain of.
#[derive(Default)]
struct PredictedChanges {
    moves: Vec<[u32; 3]>,
    guarded_stores: Vec<[u32; 2]>,
    align: u32,
    contexts: Option<u32>,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Err(why) = predict(&arguments) {
        eprintln!("{why}");
        std::process::exit(1);
    }
}

fn predict(arguments: &[String]) -> Result<(), String> {
    let [path, costs, name, changes @ ..] = arguments else {
        return Err("PROFILE COSTS TYPE CHANGE...".to_owned());
    };
    let profile = relayout_profile::read(Path::new(path)).map_err(|e| format!("{path}: {e:?}"))?;
    let (costs, changes) = (parse_costs(costs)?, parse_changes(changes)?);
    let extents = objects(&profile, name);
    let index = TraceIndex::new(&profile);
    let traces: Vec<ObjectTrace> = extents
        .iter()
        .flat_map(|extent| index.traces(*extent))
        .collect();
    if let Some(SpinWait { context, .. }) = find_spin_waits(&traces).first() {
        return Err(format!(
            "waiting: {context} waits for another thread's stores to {name}"
        ));
    }
    let load = RecordedLoad::new(&profile, &extents);
    let question = ThroughputInputs {
        load: &load,
        costs: &costs,
        contexts: changes.contexts,
    };
    let gain = question.gain(&stretches(&index, &extents, &changes));
    let gain = gain.ok_or_else(|| format!("nobody waits for {name}"))?;
    let say = |name: &str, GainRatio { value, low, high }: GainRatio| {
        println!("{name} {value:.4} {low:.4} {high:.4}");
    };
    say("all", gain.ratio);
    // In the order in which the threads were started, which is not that in which they were first
    // seen.
    let mut by_context = gain.by_context;
    by_context.sort_by_key(|(context, _)| started(&profile, context.0));
    for (context, ratio) in by_context {
        say(&context.to_string(), ratio);
    }
    Ok(())
}

/// The number that the system gave to the thread.
fn started(profile: &Profile, context: u16) -> Option<u32> {
    let mut threads = profile.meta.runs.iter().flat_map(|run| &run.threads);
    let thread = threads.find(|thread| thread.context == context);
    thread.map(|thread| thread.tid)
}

fn parse_costs(text: &str) -> Result<MachineCosts, String> {
    let numbers: Result<Vec<f64>, _> = text.split(',').map(str::parse).collect();
    let numbers = numbers.map_err(|e| format!("{text}: {e}"))?;
    let mut numbers = numbers.into_iter();
    let mut next = || numbers.next().ok_or_else(|| format!("{text}: 21 numbers"));
    let mut costs = MachineCosts {
        transfer_ns: next()?,
        ..MachineCosts::default()
    };
    let all = costs.alone_ns.iter_mut();
    for cost in all.chain(costs.contended_ns.as_flattened_mut()) {
        *cost = next()?;
    }
    Ok(costs)
}

fn parse_changes(words: &[String]) -> Result<PredictedChanges, String> {
    let mut changes = PredictedChanges {
        align: 1,
        ..PredictedChanges::default()
    };
    for word in words {
        let (keyword, numbers) = word
            .split_once(':')
            .ok_or_else(|| format!("{word}: no number"))?;
        let numbers: Result<Vec<u32>, _> = numbers.split(':').map(str::parse).collect();
        match (keyword, &numbers.map_err(|e| format!("{word}: {e}"))?[..]) {
            ("move", &[from, bytes, to]) => changes.moves.push([from, bytes, to]),
            ("check", &[from, bytes]) => changes.guarded_stores.push([from, bytes]),
            ("align", &[align]) if align > 0 => changes.align = align,
            ("contexts", &[contexts]) => changes.contexts = Some(contexts),
            _ => return Err(format!("{word}: not known")),
        }
    }
    Ok(changes)
}

fn objects(profile: &Profile, name: &str) -> Vec<ObjectExtent> {
    let named = profile
        .ranges
        .iter()
        .filter(|row| row.kind == RangeKind::Named && row.owner == name);
    named
        .map(|row| ObjectExtent {
            run: row.run,
            base: row.start,
            bytes: u32::try_from(row.bytes).unwrap_or(u32::MAX),
        })
        .collect()
}

fn stretches(
    index: &TraceIndex<'_>,
    extents: &[ObjectExtent],
    changes: &PredictedChanges,
) -> Vec<ReplayedStretch> {
    let (runs, traces): (Vec<RunId>, Vec<ObjectTrace>) = extents
        .iter()
        .flat_map(|extent| {
            index
                .traces(*extent)
                .into_iter()
                .map(|trace| (extent.run, trace))
        })
        .unzip();
    let all: usize = traces.iter().map(|trace| trace.accesses.len()).sum();
    let length = all.div_ceil(STRETCHES).max(1);
    let place = |offset: u32| {
        let moved = changes
            .moves
            .iter()
            .find(|[from, bytes, _]| (*from..from + bytes).contains(&offset));
        moved.map_or(offset, |[from, _, to]| to + (offset - from))
    };
    let guarded = |access: &TraceAccess| {
        let there = |[from, bytes]: &[u32; 2]| (*from..from + bytes).contains(&access.offset);
        access.access == AccessKind::Write && changes.guarded_stores.iter().any(there)
    };
    // No recording of a program has values: these stores are said to change nothing.
    let said = |access: &TraceAccess| TraceAccess {
        silent: guarded(access).then_some(true),
        ..*access
    };
    let mut found = Vec::new();
    for (object, trace) in traces.iter().enumerate() {
        let phase = (trace.base % u64::from(LINE_BYTES)) as u32;
        for accesses in trace.accesses.chunks(length) {
            let accesses: Vec<TraceAccess> = accesses.iter().map(said).collect();
            let waits = |accesses: Vec<TraceAccess>, phase, place: &dyn Fn(u32) -> u32| {
                let piece = ObjectTrace {
                    accesses,
                    ..ObjectTrace::default()
                };
                let line = |LineWaits { line, contexts }| StretchLine {
                    object,
                    line,
                    contexts,
                };
                let lines = PreparedTrace::new(&piece).waits(
                    phase,
                    &|offset: u32| place(offset),
                    LINE_BYTES,
                );
                lines.into_iter().map(line).collect()
            };
            found.push(ReplayedStretch {
                run: runs[object],
                today: waits(accesses.clone(), phase, &|offset| offset),
                guards: GuardCounts::by_context(&accesses, guarded),
                changed: waits(
                    GuardCounts::guarded_accesses(&accesses, guarded),
                    phase.next_multiple_of(changes.align),
                    &place,
                ),
            });
        }
    }
    found
}
