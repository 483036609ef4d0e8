//! Predicts by the timed model what another place of some bytes gains, for one object of a program that was recorded
//! under QEMU; `benches/prediction.py` holds it against hardware.
//!
//!     cargo run --release -p relayout-session --example predict_threads -- PROFILE MACHINE OBJECT:BYTES CPUS CHANGE...
//!
//! MACHINE is the file that `relayout probe` writes, OBJECT an address. A CHANGE is one of
//!
//!     move:OFFSET:BYTES:NEW     the bytes at OFFSET lie at NEW
//!     align:BYTES               objects begin at multiples of BYTES
//!     check:OFFSET:BYTES        stores there are to change nothing, and a check is made first
//!
//! Prints ratio, low and high of each thread, in the order in which they were started, and then the rules that move the
//! answer most. Where threads wait for one another, nothing is predicted.

use std::path::Path;

use relayout_contend::throughput::{SpinWait, find_spin_waits};
use relayout_contend::{ObjectExtent, ObjectTrace, TraceIndex};
use relayout_profile::{AccessKind, Addr, ContextId, Profile, RunId, SiteId};
use relayout_timed::{
    BytePlace, CurveInputs, LineLayout, LineName, OperationLog, PlacedOperations, SiteRole,
    SiteRoles,
};

const LINE_BYTES: u64 = 64;
/// Rules that are printed.
const RULES_SHOWN: usize = 4;

/// Changes to predict the gain of.
#[derive(Default)]
struct ChangedObject {
    start: u64,
    bytes: u64,
    moves: Vec<[u64; 3]>,
    guarded: Vec<[u64; 2]>,
    align: u64,
}

/// Place of the changed object, far from all others.
const CHANGED_BASE: u64 = 1 << 50;

impl ChangedObject {
    fn offset(&self, addr: Addr) -> Option<u64> {
        addr.0
            .checked_sub(self.start)
            .filter(|offset| *offset < self.bytes)
    }

    fn is_guarded(&self, addr: Addr) -> bool {
        let is_there = |[from, bytes]: &[u64; 2]| {
            self.offset(addr)
                .is_some_and(|offset| (*from..from + bytes).contains(&offset))
        };
        self.guarded.iter().any(is_there)
    }
}

impl LineLayout for ChangedObject {
    fn place(&self, _: RunId, addr: Addr) -> BytePlace {
        let at = self.offset(addr).map_or(addr.0, |offset| {
            let is_there = |[from, bytes, _]: &&[u64; 3]| (*from..from + bytes).contains(&offset);
            let moved = self.moves.iter().find(is_there);
            let phase = (self.start % LINE_BYTES).next_multiple_of(self.align.max(1));
            CHANGED_BASE + phase + moved.map_or(offset, |[from, _, to]| to + (offset - from))
        });
        (LineName::Memory(at / LINE_BYTES), (at % LINE_BYTES) as u32)
    }
}

/// Code that takes no locks.
struct PlainCode;

impl SiteRoles for PlainCode {
    fn role(&self, _: SiteId) -> SiteRole {
        SiteRole::Code
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Err(why) = predict(&arguments) {
        eprintln!("{why}");
        std::process::exit(1);
    }
}

fn predict(arguments: &[String]) -> Result<(), String> {
    let [path, machine, object, cpus, changes @ ..] = arguments else {
        return Err("PROFILE MACHINE OBJECT:BYTES CPUS CHANGE...".to_owned());
    };
    let profile = relayout_profile::read(Path::new(path)).map_err(|e| format!("{path}: {e:?}"))?;
    let probed = relayout_session::read_machine(Some(Path::new(machine)), None, None);
    let probed = probed.map_err(|e| e.to_string())?.timed;
    let (machine, rules) = probed.ok_or("the machine was not probed")?;
    let cpus: u32 = cpus.parse().map_err(|e| format!("{cpus}: {e}"))?;
    let changed = parse_changes(object, changes)?;
    if let Some(SpinWait { context, .. }) = find_waits(&profile, &changed).first() {
        return Err(format!(
            "waiting: {context} waits for another thread's stores"
        ));
    }
    let is_subject = |_: RunId, addr: Addr| changed.offset(addr).is_some();
    let log = OperationLog::from_profile(&profile, &is_subject, &PlainCode);
    let log = log.map_err(|why| format!("{why:?}"))?;
    let mut guarded = log.clone();
    let accesses = guarded
        .operations
        .iter_mut()
        .flat_map(|found| &mut found.accesses);
    for access in accesses.filter(|access| changed.is_guarded(access.addr)) {
        access.kind = AccessKind::Read;
    }
    let today = ChangedObject {
        moves: Vec::new(),
        guarded: Vec::new(),
        align: 1,
        ..changed
    };
    let today = PlacedOperations::new(&log, &today);
    let inputs = CurveInputs {
        today: &today,
        changed: &PlacedOperations::new(&guarded, &changed),
        machine: &machine,
        rules: &rules,
        between_ns: 0.0,
        seed: 1,
    };
    let points = inputs.points(&[cpus]).ok_or("locks in different orders")?;
    let mut gains = points[0].by_context.clone();
    // In the order in which the threads were started, which is not that in which they were first seen.
    gains.sort_by_key(|gain| started(&profile, gain.context));
    for gain in gains {
        let [ratio, low, high] = [gain.ratio, gain.low, gain.high];
        println!("{} {ratio:.4} {low:.4} {high:.4}", gain.context);
    }
    for effect in inputs.rule_effects(cpus).iter().take(RULES_SHOWN) {
        println!(
            "# {}: {:.2} to {:.2}",
            effect.rule, effect.at_low, effect.at_high
        );
    }
    Ok(())
}

fn find_waits(profile: &Profile, changed: &ChangedObject) -> Vec<SpinWait> {
    let runs = 0..profile.meta.runs.len() as u16;
    let extents = runs.map(|run| ObjectExtent {
        run: RunId(run),
        base: Addr(changed.start),
        bytes: u32::try_from(changed.bytes).unwrap_or(u32::MAX),
    });
    let index = TraceIndex::new(profile);
    let traces: Vec<ObjectTrace> = extents.flat_map(|extent| index.traces(extent)).collect();
    find_spin_waits(&traces)
}

/// The number that the system gave to the thread.
fn started(profile: &Profile, context: ContextId) -> Option<u32> {
    let mut threads = profile.meta.runs.iter().flat_map(|run| &run.threads);
    let thread = threads.find(|thread| thread.context == context.0);
    thread.map(|thread| thread.tid)
}

fn parse_changes(object: &str, words: &[String]) -> Result<ChangedObject, String> {
    let (start, bytes) = object.split_once(':').ok_or("OBJECT:BYTES")?;
    let start = u64::from_str_radix(start.trim_start_matches("0x"), 16);
    let mut changed = ChangedObject {
        start: start.map_err(|e| format!("{object}: {e}"))?,
        bytes: bytes.parse().map_err(|e| format!("{object}: {e}"))?,
        align: 1,
        ..ChangedObject::default()
    };
    for word in words {
        let (keyword, numbers) = word
            .split_once(':')
            .ok_or_else(|| format!("{word}: no number"))?;
        let numbers: Result<Vec<u64>, _> = numbers.split(':').map(str::parse).collect();
        match (keyword, &numbers.map_err(|e| format!("{word}: {e}"))?[..]) {
            ("move", &[from, bytes, to]) => changed.moves.push([from, bytes, to]),
            ("check", &[from, bytes]) => changed.guarded.push([from, bytes]),
            ("align", &[align]) if align > 0 => changed.align = align,
            _ => return Err(format!("{word}: not known")),
        }
    }
    Ok(changed)
}
