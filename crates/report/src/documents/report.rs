//! `relayout/report/1`: the report for scripts. The structs here are the format; a change to a key
//! or its meaning needs a new version.

mod excerpts;
mod finding;
mod layout;
mod site;

use std::collections::BTreeMap;

use excerpts::{SourceDocument, source_documents};
pub(crate) use finding::{
    AdviceDocument, DeclaringDocument, advice_document, declaring_document, source_position,
};
use finding::{ElementsDocument, FindingDocument, finding_document};
use layout::{SubjectLayoutDocument, subject_layout_document};
use relayout_contend::finding::{LinePairs, UnresolvedLines};
use relayout_contend::{CoherenceTally, UnreadMemory};
use relayout_profile::boot::{BootChange, RecordedBoot, UnwatchedAccess};
use relayout_profile::{
    AccessCoverage, ProfileMeta, RecordedProcess, RecordedRun, RecordedTime, UnseenStringCode,
};
use schemars::JsonSchema;
use serde::Serialize;
pub use site::access_key;
use site::{SiteDocument, site_document};

use crate::ReportContents;
use crate::documents::Document;
use crate::words::saving::OutlookWords;
use crate::words::source_positions::SourcePositions;

/// Renders `report` as indented JSON, ending in a line feed.
///
/// # Errors
/// Those of the serializer, which has none to give for these types.
pub fn render(report: &ReportContents) -> Result<String, serde_json::Error> {
    report_document(report).to_json()
}

impl Document for ReportDocument<'_> {
    const SCHEMA: &'static str = "relayout/report/1";
}

/// The document of `report --json`.
#[derive(Serialize, JsonSchema)]
pub struct ReportDocument<'a> {
    /// Name and version of this document.
    schema: &'static str,
    /// Version of relayout that recorded.
    tool_version: &'a str,
    /// Machine.
    machine: MachineDocument<'a>,
    /// Name of the workload, or command of the program.
    workload: &'a str,
    /// Settings of the recording by name.
    settings: BTreeMap<&'a str, &'a str>,
    /// Recordings of the profile.
    runs: Vec<RunDocument<'a>>,
    /// Part of the accesses that the counts are of: `complete`; `sliced`: those of a part of the time;
    /// `samples`: single ones that hardware took.
    coverage: &'static str,
    /// Fraction of the time in which accesses were recorded: 1 if `coverage` is `complete`; null for
    /// samples, and where it is not known.
    recorded_share: Option<f64>,
    /// Transfers and upgrades are not counted, but expected from rates of samples.
    estimated: bool,
    /// Transfers that hardware told of; not among the others.
    hitm_observed: Option<u64>,
    /// All transfers of the profile.
    transfers_total: u64,
    /// Least and most transfers in a recording; null with one recording.
    transfers_range: Option<[u64; 2]>,
    /// In some recording, others took more of the CPU time than the order of findings can be
    /// trusted with (`runs[].lost_share`).
    host_was_busy: bool,
    /// Transfers that loads waited for.
    read_transfers: u64,
    /// Of them: reads of what a store left before another context had read it. Null where reads
    /// were not told apart.
    first_reads: Option<u64>,
    /// The other read transfers.
    later_reads: Option<u64>,
    /// Transfers that stores waited for.
    write_transfers: u64,
    /// Upgrades: stores to a line that other CPUs shared.
    upgrades: u64,
    /// Transfers that brought nothing that was used at the access itself.
    false_first_touch: u64,
    /// Transfers that brought nothing that was used as long as the line stayed.
    false_lifetime: u64,
    /// Number of distinct cache lines.
    lines: u64,
    /// Read transfers that returned another value than the recorded order says; null where values were not recorded.
    order_errors: Option<u64>,
    /// Fraction of the transfers that are on a member of a typed object or on a scalar variable, from 0 to 1.
    resolved_share: f64,
    /// The same fraction without the transfers on contents of files and pipes, which have no members, from 0 to 1.
    resolved_share_without_content: f64,
    /// Other transfers by class.
    unresolved: &'a BTreeMap<String, u64>,
    /// Lines without a known object, by class.
    unresolved_classes: Vec<UnresolvedDocument<'a>>,
    /// Readers of the recorded guest's memory that did not understand its kernel.
    left_out_readers: Vec<LeftOutReaderDocument<'a>>,
    /// Totals of line pairs.
    line_pairs: LinePairsDocument,
    /// Code of a program whose repeated string instructions (`rep movs`) were not seen; null where
    /// nobody looked for it, and where the collector sees all instructions.
    unseen_strings: Option<Vec<UnseenStringsDocument<'a>>>,
    /// Folder that the names of the program's own source files begin with; empty if they share none.
    source_root: String,
    /// Number of findings in the profile.
    findings_total: usize,
    /// Findings that are shown, most transfers first.
    findings: Vec<FindingDocument<'a>>,
    /// Source lines around these findings' instructions, from the tree of `--source`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sources: Vec<SourceDocument<'a>>,
    /// Layouts of the types and variables of these findings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    layouts: Vec<SubjectLayoutDocument<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct MachineDocument<'a> {
    /// Architecture of the recorded code.
    arch: &'a str,
    /// `kernel` or `program`.
    target: &'a str,
    /// Release of the kernel; empty for programs.
    release: &'a str,
    /// Build id in hexadecimal.
    build_id: &'a str,
    /// What recorded.
    collector: &'a str,
    /// Number of CPUs or threads that were recorded.
    contexts: u16,
    /// Size of a cache line in bytes.
    line_bytes: u32,
    /// True if stored values were seen.
    values_seen: bool,
    /// Boot of the recorded kernel; null for programs, and for kernels that relayout did not boot.
    boot: Option<BootDocument<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct BootDocument<'a> {
    /// Differences from a boot in production: `no-slab-merging`, `no-kaslr`, `no-mitigations`,
    /// `no-fast-strings`, `no-clock-watchdog`, `no-timer-check`.
    changes: Vec<&'static str>,
    /// Model and features of the emulated CPU, as QEMU was given them; null where the profile does
    /// not hold them.
    cpu_model: Option<&'a str>,
    /// Accesses that were not seen: `user-space`, `bulk-functions`, `block-clears`, `page-walks`,
    /// `dma`.
    not_watched: Vec<&'static str>,
    /// Functions of the kernel whose accesses were not seen; null where the profile does not hold
    /// them.
    unwatched_functions: Option<&'a [String]>,
}

#[derive(Serialize, JsonSchema)]
struct RunDocument<'a> {
    /// Seed of the order of CPUs or starts.
    seed: u64,
    /// False if the recording was cut off.
    complete: bool,
    /// How the recorded program or guest ended.
    ended: &'a str,
    /// Name of the signal that ended the program before its time, or at which the user ended the
    /// recording.
    signal: Option<&'a str>,
    /// Process whose memory the run's addresses are of.
    process: Option<ProcessDocument<'a>>,
    /// Time of the recording in nanoseconds.
    window_wall_ns: u64,
    /// CPU time of the recording in nanoseconds.
    window_cpu_ns: u64,
    /// Fraction of the CPU time that the recorded processes wanted and did not get, because the
    /// host ran others; null where nobody measured it.
    lost_share: Option<f64>,
    /// Time in which accesses were recorded; null if that was the whole window. All processes of a
    /// recording have the same.
    recorded_time: Option<RecordedTimeDocument>,
    /// Number of accesses.
    accesses: u64,
    /// Number of operations.
    operations: u64,
    /// Accesses that were not kept in order, for lack of room.
    bursts_dropped: u64,
}

#[derive(Serialize, JsonSchema)]
struct RecordedTimeDocument {
    /// Wall time from the beginning on in which everything was recorded.
    whole_ns: u64,
    /// Wall time after that, in which only slices were recorded.
    sliced_ns: u64,
    /// Wall time of all slices together.
    slices_ns: u64,
    /// Length of a slice, as asked for.
    slice_ns: u64,
    /// Recorded fraction of the whole time.
    share: f64,
}

#[derive(Serialize, JsonSchema)]
struct ProcessDocument<'a> {
    /// Number of the process.
    pid: u32,
    /// Number of its parent.
    parent_pid: u32,
    /// Path of the program.
    program: &'a str,
    /// False for the first process of a recording.
    is_further: bool,
    /// Mappings that it could share with other processes. Transfers between processes are not
    /// recorded.
    shared_mappings: u32,
    /// Of the first process: further ones that had no transfers, and have no run.
    without_transfers: u32,
    /// Of the first process: further ones that were not recorded.
    left_out: u32,
}

#[derive(Serialize, JsonSchema)]
struct LinePairsDocument {
    /// True if pair transfers were sampled.
    recorded: bool,
    /// Cost of a pair transfer, in transfers.
    coefficient: Option<f64>,
    /// Pairs of lines that would be findings with a coefficient above 0.
    candidates: u64,
    /// Number of samples.
    samples: u64,
    /// Pair transfers that the samples stand for; an estimate.
    pair_transfers_estimated: u64,
}

#[derive(Serialize, JsonSchema)]
struct UnseenStringsDocument<'a> {
    /// Module.
    module: &'a str,
    /// Function with string instructions that were not seen.
    function: &'a str,
    /// Number of such instructions in the function.
    instructions: u32,
}

#[derive(Serialize, JsonSchema)]
struct LeftOutReaderDocument<'a> {
    /// `slabs`, `stacks`, ...
    reader: &'a str,
    /// Type, member or symbol that the kernel lacks.
    missing: &'a str,
    /// Transfers without a name in the areas of memory that the reader describes.
    transfers: u64,
    /// Their fraction of all transfers: the most that the reader adds to `resolved_share`.
    share: f64,
}

#[derive(Serialize, JsonSchema)]
struct UnresolvedDocument<'a> {
    /// Kind of memory.
    class: &'a str,
    /// Transfers: moves of a cache line to a CPU that another CPU had it.
    transfers: u64,
    /// Upgrades: stores to a line that other CPUs shared.
    upgrades: u64,
    /// Fraction of all transfers of the profile, from 0 to 1.
    share: f64,
    /// Number of distinct cache lines.
    lines: u64,
    /// Instructions, most transfers first.
    sites: Vec<SiteDocument<'a>>,
    /// Memory that the program cuts into equal parts, one for each context.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hand_cuts: Vec<ElementsDocument>,
}

fn report_document<'a>(report: &ReportContents<'a>) -> ReportDocument<'a> {
    let ReportContents {
        meta,
        findings,
        sources,
        layouts,
        ..
    } = *report;
    let totals = &findings.totals;
    let CoherenceTally {
        read_transfers,
        write_transfers,
        upgrades,
        false_first_touch,
        false_lifetime,
    } = totals.tally;
    let shown = finding_documents(report);
    let positions = shown.iter().flat_map(FindingDocument::positions).collect();
    ReportDocument {
        schema: ReportDocument::SCHEMA,
        tool_version: &meta.tool_version,
        machine: machine_document(meta),
        workload: &meta.workload,
        settings: meta
            .settings
            .iter()
            .map(|setting| (setting.name.as_str(), setting.value.as_str()))
            .collect(),
        runs: meta.runs.iter().map(run_document).collect(),
        coverage: coverage_name(meta.coverage),
        recorded_share: meta.recorded_share(),
        estimated: findings.estimated,
        hitm_observed: totals.hitm,
        transfers_total: totals.tally.transfers(),
        transfers_range: totals.transfers_range,
        host_was_busy: meta.runs.iter().any(RecordedRun::was_host_busy),
        read_transfers,
        first_reads: totals.first_reads,
        later_reads: totals.later_reads(),
        write_transfers,
        upgrades,
        false_first_touch,
        false_lifetime,
        lines: totals.lines,
        order_errors: totals.order_errors,
        resolved_share: totals.resolved_share(),
        resolved_share_without_content: totals.resolved_share_without_content(),
        unresolved: &totals.unresolved,
        unresolved_classes: findings
            .unresolved
            .iter()
            .map(unresolved_document)
            .collect(),
        left_out_readers: { findings.unread_memory.iter() }
            .map(left_out_document)
            .collect(),
        line_pairs: line_pairs_document(&findings.line_pairs),
        unseen_strings: { meta.unseen_strings.as_ref() }
            .map(|code| code.iter().map(unseen_strings_document).collect()),
        source_root: SourcePositions::new(findings).root().to_owned(),
        findings_total: findings.findings.len(),
        findings: shown,
        sources: source_documents(sources, &positions),
        layouts: layouts.iter().map(subject_layout_document).collect(),
    }
}

/// Returns the selected findings.
fn finding_documents<'a>(report: &ReportContents<'a>) -> Vec<FindingDocument<'a>> {
    let (shown, _) = report.selection.select_findings(report.findings);
    { shown.into_iter() }
        .map(|finding| {
            let outlook =
                OutlookWords::new(finding, report.findings, report.judgements, report.profile);
            finding_document(finding, report.meta, report.production, &outlook)
        })
        .collect()
}

fn machine_document(meta: &ProfileMeta) -> MachineDocument<'_> {
    MachineDocument {
        arch: &meta.machine,
        target: &meta.target,
        release: &meta.release,
        build_id: &meta.build_id,
        collector: &meta.collector,
        contexts: meta.contexts,
        line_bytes: meta.line_bytes,
        values_seen: meta.values_seen,
        boot: RecordedBoot::from_meta(meta).map(boot_document),
    }
}

fn boot_document(boot: RecordedBoot<'_>) -> BootDocument<'_> {
    let unwatched = boot.unwatched.into_iter();
    BootDocument {
        changes: boot.changes.into_iter().map(BootChange::as_str).collect(),
        cpu_model: boot.cpu_model,
        not_watched: unwatched.map(UnwatchedAccess::as_str).collect(),
        unwatched_functions: boot.unwatched_functions,
    }
}

fn run_document(run: &RecordedRun) -> RunDocument<'_> {
    RunDocument {
        seed: run.seed,
        complete: run.complete,
        ended: &run.ended,
        signal: run.signal.as_deref(),
        process: run.process.as_ref().map(process_document),
        window_wall_ns: run.window_wall_ns,
        window_cpu_ns: run.window_cpu_ns,
        lost_share: run.lost_share,
        recorded_time: run.recorded_time.map(recorded_time_document),
        accesses: run.accesses,
        operations: run.operations,
        bursts_dropped: run.bursts_dropped,
    }
}

fn recorded_time_document(time: RecordedTime) -> RecordedTimeDocument {
    RecordedTimeDocument {
        whole_ns: time.whole_ns,
        sliced_ns: time.sliced_ns,
        slices_ns: time.slices_ns,
        slice_ns: time.slice_ns,
        share: time.share(),
    }
}

fn coverage_name(coverage: AccessCoverage) -> &'static str {
    match coverage {
        AccessCoverage::Complete => "complete",
        AccessCoverage::Sliced => "sliced",
        AccessCoverage::Samples => "samples",
    }
}

fn process_document(process: &RecordedProcess) -> ProcessDocument<'_> {
    ProcessDocument {
        pid: process.pid,
        parent_pid: process.parent_pid,
        program: &process.program,
        is_further: process.is_further,
        shared_mappings: process.shared_mappings,
        without_transfers: process.without_transfers,
        left_out: process.left_out,
    }
}

fn line_pairs_document(pairs: &LinePairs) -> LinePairsDocument {
    LinePairsDocument {
        recorded: pairs.recorded,
        coefficient: pairs.coefficient,
        candidates: pairs.candidates,
        samples: pairs.samples,
        pair_transfers_estimated: pairs.pair_transfers,
    }
}

fn unseen_strings_document(code: &UnseenStringCode) -> UnseenStringsDocument<'_> {
    UnseenStringsDocument {
        module: &code.module,
        function: &code.function,
        instructions: code.instructions,
    }
}

fn left_out_document(unread: &UnreadMemory) -> LeftOutReaderDocument<'_> {
    LeftOutReaderDocument {
        reader: &unread.reader,
        missing: &unread.missing,
        transfers: unread.transfers,
        share: unread.share,
    }
}

fn unresolved_document(class: &UnresolvedLines) -> UnresolvedDocument<'_> {
    UnresolvedDocument {
        class: &class.class,
        transfers: class.tally.transfers(),
        upgrades: class.tally.upgrades,
        share: class.share,
        lines: class.lines,
        sites: class.sites.iter().map(site_document).collect(),
        hand_cuts: { class.hand_cuts.iter() }
            .map(ElementsDocument::new)
            .collect(),
    }
}
