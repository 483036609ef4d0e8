//! `relayout/report/1`: the report for scripts. The structs here are the format; a change to a key
//! or its meaning needs a new version.

mod finding;
mod site;

use std::collections::BTreeMap;

use finding::{FindingDocument, finding_document};
use relayout_contend::CoherenceTally;
use relayout_contend::finding::{LinePairs, UnresolvedLines};
use relayout_profile::{ProfileMeta, RecordedProcess, RecordedRun};
use schemars::JsonSchema;
use serde::Serialize;
use site::{SiteDocument, site_document};

use crate::ReportContents;
use crate::document::Document;

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
    schema: &'static str,
    tool_version: &'a str,
    machine: MachineDocument<'a>,
    workload: &'a str,
    settings: BTreeMap<&'a str, &'a str>,
    runs: Vec<RunDocument<'a>>,
    /// Transfers and upgrades are not counted, but expected from rates of samples.
    estimated: bool,
    /// Transfers that hardware told of; not among the others.
    hitm_observed: Option<u64>,
    transfers_total: u64,
    read_transfers: u64,
    write_transfers: u64,
    upgrades: u64,
    false_first_touch: u64,
    false_lifetime: u64,
    lines: u64,
    order_errors: Option<u64>,
    resolved_share: f64,
    unresolved: &'a BTreeMap<String, u64>,
    unresolved_classes: Vec<UnresolvedDocument<'a>>,
    line_pairs: LinePairsDocument,
    findings_total: usize,
    findings: Vec<FindingDocument<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct MachineDocument<'a> {
    arch: &'a str,
    target: &'a str,
    release: &'a str,
    build_id: &'a str,
    collector: &'a str,
    contexts: u16,
    line_bytes: u32,
    values_seen: bool,
}

#[derive(Serialize, JsonSchema)]
struct RunDocument<'a> {
    seed: u64,
    complete: bool,
    ended: &'a str,
    /// Name of the signal that ended the program before its time, or at which the user ended the
    /// recording.
    signal: Option<&'a str>,
    /// Process whose memory the run's addresses are of.
    process: Option<ProcessDocument<'a>>,
    window_wall_ns: u64,
    window_cpu_ns: u64,
    accesses: u64,
    operations: u64,
    bursts_dropped: u64,
}

#[derive(Serialize, JsonSchema)]
struct ProcessDocument<'a> {
    pid: u32,
    parent_pid: u32,
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
    recorded: bool,
    coefficient: Option<f64>,
    candidates: u64,
    samples: u64,
    pair_transfers_estimated: u64,
}

#[derive(Serialize, JsonSchema)]
struct UnresolvedDocument<'a> {
    class: &'a str,
    transfers: u64,
    upgrades: u64,
    share: f64,
    lines: u64,
    sites: Vec<SiteDocument<'a>>,
}

fn report_document<'a>(report: &ReportContents<'a>) -> ReportDocument<'a> {
    let ReportContents {
        meta,
        findings,
        selection,
        production,
    } = *report;
    let totals = &findings.totals;
    let CoherenceTally {
        read_transfers,
        write_transfers,
        upgrades,
        false_first_touch,
        false_lifetime,
    } = totals.tally;
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
        estimated: findings.estimated,
        hitm_observed: totals.hitm,
        transfers_total: totals.tally.transfers(),
        read_transfers,
        write_transfers,
        upgrades,
        false_first_touch,
        false_lifetime,
        lines: totals.lines,
        order_errors: totals.order_errors,
        resolved_share: totals.resolved_share(),
        unresolved: &totals.unresolved,
        unresolved_classes: findings
            .unresolved
            .iter()
            .map(unresolved_document)
            .collect(),
        line_pairs: line_pairs_document(&findings.line_pairs),
        findings_total: findings.findings.len(),
        findings: selection
            .select_findings(findings)
            .0
            .into_iter()
            .map(|shown| finding_document(shown, meta, production))
            .collect(),
    }
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
        accesses: run.accesses,
        operations: run.operations,
        bursts_dropped: run.bursts_dropped,
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

fn unresolved_document(class: &UnresolvedLines) -> UnresolvedDocument<'_> {
    UnresolvedDocument {
        class: &class.class,
        transfers: class.tally.transfers(),
        upgrades: class.tally.upgrades,
        share: class.share,
        lines: class.lines,
        sites: class.sites.iter().map(site_document).collect(),
    }
}
