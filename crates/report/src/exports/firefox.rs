//! Transfers over time, for the Firefox Profiler (<https://profiler.firefox.com>).
//!
//! Each recording is a process and each CPU or thread a thread. A sample is an access that moved a cache line, with the
//! number of moved lines as its weight. Its stack is the member, and in it the function: a call tree by member, or by
//! function when inverted.
//!
//! `fxprof-processed-profile` 0.8, which samply uses, writes this format too. Its frames have no source line unless
//! the profiler looks up addresses, and it adds a column of CPU time, so the structs of the format are here.

mod format;
mod tables;

use std::collections::{BTreeMap, HashMap};

use relayout_contend::{AddressNamer, LineMove, SiteSource};
use relayout_profile::{AccessKind, Addr, ClockUnit, ContextId, ProfileMeta, RunId, SiteId};

use crate::ReportContents;
use crate::documents::report::report_document;
use crate::words::escape::{escape_text, json_text};
use crate::words::finding::recording_sentence;
use crate::words::source_positions::SourcePositions;
use crate::words::{ContextNoun, counted};
use format::{
    ExtraEntry, ExtraSection, FirefoxCategory, FirefoxMeta, FirefoxProfile, FirefoxThread,
    GECKO_VERSION, MarkerTable, PROCESSED_VERSION, SampleTable,
};
use tables::{FrameName, TableBuilder};

/// Ticks of the recorder's clock in a millisecond of the profile: a tick is shown as a nanosecond.
const TICKS_PER_MS: f64 = 1e6;
/// Milliseconds between samples, as far as the profiler asks for a rate.
const INTERVAL_MS: f64 = 0.001;
/// Categories of samples; the first is that of no sample.
const CATEGORIES: [(&str, &str); 3] = [
    ("Other", "grey"),
    ("Read transfer", "blue"),
    ("Write transfer", "orange"),
];

/// Renders the accesses that moved a line as a profile for the Firefox Profiler.
///
/// `moves` are those of [`line_moves`](relayout_contend::line_moves()), and `names` tells their members and functions.
///
/// ```
/// use relayout_contend::{AccessTarget, AddressNamer, Findings, SiteSource};
/// use relayout_profile::{Addr, ProfileMeta, RunId, SiteId};
/// use relayout_report::exports::firefox::render_firefox_profile;
/// use relayout_report::{FindingSelection, ReportContents};
///
/// struct Nameless;
///
/// impl AddressNamer for Nameless {
///     fn target_at(&self, _: RunId, _: Addr, _: u8) -> AccessTarget {
///         AccessTarget::Unresolved("stack".into())
///     }
///
///     fn source_of_site(&self, _: SiteId) -> SiteSource {
///         SiteSource::default()
///     }
/// }
///
/// let report = ReportContents {
///     profile: "out.relayout",
///     meta: &ProfileMeta::default(),
///     findings: &Findings::default(),
///     selection: &FindingSelection::default(),
///     production: None,
///     judgements: None,
///     sources: &[],
///     layouts: &[],
///     freed: &[],
/// };
/// let json = render_firefox_profile(&report, &[], &Nameless)?;
/// assert!(json.contains(r#""preprocessedProfileVersion":70"#));
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// # Errors
/// Those of the serializer, which has none to give for these types.
pub fn render_firefox_profile(
    report: &ReportContents<'_>,
    moves: &[LineMove<'_>],
    names: &impl AddressNamer,
) -> Result<String, serde_json::Error> {
    let sources = SourcePositions::new(report.findings);
    let mut stacks = StackNames {
        names,
        sources: &sources,
        tables: TableBuilder::default(),
        known: HashMap::new(),
    };
    let mut samples: BTreeMap<(RunId, ContextId), SampleTable> = BTreeMap::new();
    for line_move in moves {
        let Some(stack) = stacks.stack(line_move) else {
            continue;
        };
        let visit = line_move.visit;
        let table = samples.entry((visit.run, visit.context)).or_default();
        table.stack.push(stack);
        table.time.push(line_move.ticks as f64 / TICKS_PER_MS);
        table.weight.push(line_move.lines);
    }
    let threads: Vec<FirefoxThread> = { samples.into_iter() }
        .map(|((run, context), samples)| profile_thread(report.meta, run, context, samples))
        .collect();
    let profile = FirefoxProfile {
        meta: profile_meta(report, moves, threads.len()),
        libs: [],
        shared: stacks.tables.into_tables(),
        threads,
    };
    json_text(&profile, false)
}

/// Way to the stack of an access: its address and size, instruction and kind of transfer.
type StackKey = (RunId, Addr, u8, SiteId, bool);

/// Stacks of accesses, each named once.
struct StackNames<'a, N> {
    names: &'a N,
    sources: &'a SourcePositions,
    tables: TableBuilder,
    known: HashMap<StackKey, Option<usize>>,
}

impl<N: AddressNamer> StackNames<'_, N> {
    fn stack(&mut self, line_move: &LineMove<'_>) -> Option<usize> {
        let visit = line_move.visit;
        let is_store = line_move.is_store();
        let key = (visit.run, visit.addr, visit.size, visit.site, is_store);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let category = if is_store { 2 } else { 1 };
        let target = self.names.target_at(visit.run, visit.addr, visit.size);
        let source = self.names.source_of_site(visit.site);
        let member = FrameName {
            function: target.full_name(),
            file: None,
            line: None,
            category,
        };
        let code = FrameName {
            function: self.code_name(&source, visit.access),
            file: { source.file.as_deref() }.map(|file| self.sources.shown_file(file).to_owned()),
            line: source.line,
            category,
        };
        let stack = self.tables.stack(&[member, code]);
        self.known.insert(key, stack);
        stack
    }

    /// `lockref_get (arch_atomic_try_cmpxchg), stores`; an inlined function in brackets.
    fn code_name(&self, source: &SiteSource, access: AccessKind) -> String {
        let function = self.sources.function_or_position(&source.into());
        let verb = match access {
            AccessKind::Read => "loads",
            AccessKind::Write => "stores",
            AccessKind::ReadWrite => "loads and stores",
        };
        match &source.inlined {
            Some(inlined) => format!("{function} ({inlined}), {verb}"),
            None => format!("{function}, {verb}"),
        }
    }
}

fn profile_meta(
    report: &ReportContents<'_>,
    moves: &[LineMove<'_>],
    threads: usize,
) -> FirefoxMeta {
    let tick = clock_tick(report.meta);
    let product = format!("relayout {} (1 ns is {tick})", report.meta.workload);
    let category = |&(name, color)| FirefoxCategory {
        name,
        color,
        subcategories: ["Other"],
    };
    FirefoxMeta {
        interval: INTERVAL_MS,
        start_time: 0.0,
        process_type: 0,
        categories: CATEGORIES.iter().map(category).collect(),
        product: escape_text(&product).into_owned(),
        stackwalk: 0,
        version: GECKO_VERSION,
        preprocessed_profile_version: PROCESSED_VERSION,
        symbolicated: true,
        marker_schema: [],
        uses_only_one_stack_type: true,
        source_code_is_not_on_searchfox: true,
        keep_profile_thread_order: true,
        initial_visible_threads: (0..threads).collect(),
        initial_selected_threads: (0..threads.min(1)).collect(),
        extra: vec![recording_facts(report, moves)],
    }
}

/// Returns the facts that the profiler's information panel shows.
fn recording_facts(report: &ReportContents<'_>, moves: &[LineMove<'_>]) -> ExtraSection {
    let moved_lines: u64 = { moves.iter() }
        .map(|line_move| u64::from(line_move.lines))
        .sum();
    let samples = format!(
        "{} of the order with a clock, which covers a part of the recording",
        counted(moved_lines, "transfer")
    );
    let tick = clock_tick(report.meta);
    let facts = [
        ("Recording", recording_sentence(&report_document(report))),
        ("Samples", samples),
        (
            "Time",
            format!("1 ns is {tick} of the CPU or thread, which has a clock of its own"),
        ),
        ("Collector", report.meta.collector.clone()),
    ];
    let entry = |(label, value): (&'static str, String)| ExtraEntry {
        label,
        format: "string",
        value: escape_text(&value).into_owned(),
    };
    ExtraSection {
        label: "relayout",
        entries: facts.map(entry).into(),
    }
}

/// Returns the words for a tick of the recorder's clock.
fn clock_tick(meta: &ProfileMeta) -> &'static str {
    match meta.clock {
        Some(ClockUnit::Instructions) => "1 instruction",
        Some(ClockUnit::Accesses) => "1 access",
        None => "1 tick of the clock",
    }
}

fn profile_thread(
    meta: &ProfileMeta,
    run: RunId,
    context: ContextId,
    samples: SampleTable,
) -> FirefoxThread {
    let recorded = meta.runs.get(usize::from(run.0));
    let thread =
        { recorded.iter().flat_map(|run| &run.threads) }.find(|thread| thread.context == context.0);
    let process = recorded.and_then(|run| run.process.as_ref());
    let name = match (thread, ContextNoun::from_meta(meta)) {
        (Some(thread), _) if !thread.name.is_empty() => format!("{} {}", thread.name, thread.tid),
        (_, noun) => format!("{} {}", noun.singular(), context.0),
    };
    let process_name = match process {
        Some(process) => format!("{} {}", process.program, process.pid),
        None => format!("{}, recording {}", meta.workload, run.0 + 1),
    };
    FirefoxThread {
        process_type: "default",
        process_name: escape_text(&process_name).into_owned(),
        process_startup_time: 0.0,
        process_shutdown_time: None,
        register_time: 0.0,
        unregister_time: None,
        paused_ranges: [],
        name: escape_text(&name).into_owned(),
        is_main_thread: false,
        pid: run.0.to_string(),
        tid: format!("{}.{}", run.0, context.0),
        samples: SampleTable {
            length: samples.time.len(),
            weight_type: "samples",
            ..samples
        },
        markers: MarkerTable::default(),
    }
}
