//! `relayout/report/1`: the report, written for scripts and pages, and read by every other rendering of findings. The
//! structs here are the format; a change to a key or its meaning needs a new version.

mod excerpts;
pub(crate) mod finding;
mod from_finding;
mod layout;
pub(crate) mod line_rows;
mod recording;
pub(crate) mod site;

use std::collections::BTreeMap;

use relayout_contend::finding::{LinePairs, UnresolvedLines};
use relayout_contend::{CoherenceTally, UnreadMemory};
use relayout_profile::{AccessCoverage, UnseenStringCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Document;
use super::time_shares::{TimeShares, recorded_cpu_times};
use crate::ReportContents;
use crate::words::ContextNoun;
use crate::words::saving::OutlookWords;
use crate::words::source_positions::SourcePositions;
use excerpts::{SourceDocument, source_documents};
use finding::{ElementsDocument, FindingDocument};
pub(crate) use from_finding::{advice_document, declaring_document, source_position};
use layout::{SubjectLayoutDocument, subject_layout_document};
use recording::{MachineDocument, RunDocument, machine_document, run_document};
pub use site::access_key;
use site::{SiteDocument, site_document};

/// Renders `report` as indented JSON, ending in a line feed.
///
/// # Errors
/// Those of the serializer, which has none to give for these types.
pub fn render(report: &ReportContents) -> Result<String, serde_json::Error> {
    report_document(report).to_json()
}

impl Document for ReportDocument {
    const SCHEMA: &'static str = "relayout/report/1";
}

impl ReportDocument {
    /// Returns the noun for the contexts of the recording.
    pub(crate) fn context_noun(&self) -> ContextNoun {
        let machine = &self.machine;
        ContextNoun::from_target(&machine.target, machine.simulated_machine.is_some())
    }

    /// Returns the names of source files as they are shown.
    pub(crate) fn source_positions(&self) -> SourcePositions {
        SourcePositions::below(&self.source_root)
    }
}

/// The document of `report --json`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReportDocument {
    /// Name and version of this document.
    pub(crate) schema: String,
    /// Version of relayout that recorded.
    pub(crate) tool_version: String,
    /// Machine.
    pub(crate) machine: MachineDocument,
    /// Name of the workload, or command of the program.
    pub(crate) workload: String,
    /// Settings of the recording by name.
    pub(crate) settings: BTreeMap<String, String>,
    /// Recordings of the profile.
    pub(crate) runs: Vec<RunDocument>,
    /// Part of the accesses that the counts are of: `complete`; `sliced`: those of a part of the time;
    /// `samples`: single ones that hardware took.
    pub(crate) coverage: String,
    /// Fraction of the time in which accesses were recorded: 1 if `coverage` is `complete`; null for
    /// samples, and where it is not known.
    pub(crate) recorded_share: Option<f64>,
    /// Transfers and upgrades are not counted, but expected from rates of samples.
    pub(crate) estimated: bool,
    /// Transfers that hardware told of; not among the others.
    pub(crate) hitm_observed: Option<u64>,
    /// All transfers of the profile.
    pub(crate) transfers_total: u64,
    /// Least and most transfers in a recording; null with one recording.
    pub(crate) transfers_range: Option<[u64; 2]>,
    /// In some recording, others took more of the CPU time than the order of findings can be
    /// trusted with (`runs[].lost_share`).
    pub(crate) host_was_busy: bool,
    /// Transfers that loads waited for.
    pub(crate) read_transfers: u64,
    /// Of them: reads of what a store left before another context had read it. Null where reads
    /// were not told apart.
    pub(crate) first_reads: Option<u64>,
    /// The other read transfers.
    pub(crate) later_reads: Option<u64>,
    /// Transfers that stores waited for.
    pub(crate) write_transfers: u64,
    /// Upgrades: stores to a line that other CPUs shared.
    pub(crate) upgrades: u64,
    /// Transfers that brought nothing that was used at the access itself.
    pub(crate) false_first_touch: u64,
    /// Transfers that brought nothing that was used as long as the line stayed.
    pub(crate) false_lifetime: u64,
    /// What the CPUs did with simulated time; absent in the host's order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) time: Option<TimeShares>,
    /// Number of distinct cache lines.
    pub(crate) lines: u64,
    /// Read transfers that returned another value than the recorded order says; null where values were not recorded.
    pub(crate) order_errors: Option<u64>,
    /// Fraction of the transfers that are on a member of a typed object or on a scalar variable, from 0 to 1.
    pub(crate) resolved_share: f64,
    /// The same fraction without the transfers on contents of files and pipes, which have no members, from 0 to 1.
    pub(crate) resolved_share_without_content: f64,
    /// Other transfers by class.
    pub(crate) unresolved: BTreeMap<String, u64>,
    /// Lines without a known object, by class.
    pub(crate) unresolved_classes: Vec<UnresolvedDocument>,
    /// Readers of the recorded guest's memory that did not understand its kernel.
    pub(crate) left_out_readers: Vec<LeftOutReaderDocument>,
    /// Totals of line pairs.
    pub(crate) line_pairs: LinePairsDocument,
    /// Code of a program whose repeated string instructions (`rep movs`) were not seen; null where
    /// nobody looked for it, and where the collector sees all instructions.
    pub(crate) unseen_strings: Option<Vec<UnseenStringsDocument>>,
    /// Folder that the names of the program's own source files begin with; empty if they share none.
    pub(crate) source_root: String,
    /// Number of findings in the profile.
    pub(crate) findings_total: usize,
    /// Findings that are shown, in their order.
    pub(crate) findings: Vec<FindingDocument>,
    /// Source lines around these findings' instructions, from the tree of `--source`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) sources: Vec<SourceDocument>,
    /// Layouts of the types and variables of these findings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) layouts: Vec<SubjectLayoutDocument>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LinePairsDocument {
    /// True if pair transfers were sampled.
    pub(crate) recorded: bool,
    /// Cost of a pair transfer, in transfers.
    pub(crate) coefficient: Option<f64>,
    /// Pairs of lines that would be findings with a coefficient above 0.
    pub(crate) candidates: u64,
    /// Number of samples.
    pub(crate) samples: u64,
    /// Pair transfers that the samples stand for; an estimate.
    pub(crate) pair_transfers_estimated: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct UnseenStringsDocument {
    /// Module.
    pub(crate) module: String,
    /// Function with string instructions that were not seen.
    pub(crate) function: String,
    /// Number of such instructions in the function.
    pub(crate) instructions: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LeftOutReaderDocument {
    /// `slabs`, `stacks`, ...
    pub(crate) reader: String,
    /// Type, member or symbol that the kernel lacks.
    pub(crate) missing: String,
    /// Transfers without a name in the areas of memory that the reader describes.
    pub(crate) transfers: u64,
    /// Their fraction of all transfers: the most that the reader adds to `resolved_share`.
    pub(crate) share: f64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct UnresolvedDocument {
    /// Kind of memory.
    pub(crate) class: String,
    /// Transfers: moves of a cache line to a CPU that another CPU had it.
    pub(crate) transfers: u64,
    /// Upgrades: stores to a line that other CPUs shared.
    pub(crate) upgrades: u64,
    /// Fraction of all transfers of the profile, from 0 to 1.
    pub(crate) share: f64,
    /// Number of distinct cache lines.
    pub(crate) lines: u64,
    /// Instructions, most transfers first.
    pub(crate) sites: Vec<SiteDocument>,
    /// Memory that the program cuts into equal parts, one for each context.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) hand_cuts: Vec<ElementsDocument>,
}

/// Returns the document of a report.
pub fn report_document(report: &ReportContents<'_>) -> ReportDocument {
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
    let sources = source_documents(sources, &positions);
    ReportDocument {
        schema: ReportDocument::SCHEMA.to_owned(),
        tool_version: meta.tool_version.clone(),
        machine: machine_document(meta),
        workload: meta.workload.clone(),
        settings: meta
            .settings
            .iter()
            .map(|setting| (setting.name.clone(), setting.value.clone()))
            .collect(),
        runs: meta.runs.iter().map(run_document).collect(),
        coverage: coverage_name(meta.coverage).to_owned(),
        recorded_share: meta.recorded_share(),
        estimated: findings.estimated,
        hitm_observed: totals.hitm,
        transfers_total: totals.tally.transfers(),
        transfers_range: totals.transfers_range,
        host_was_busy: meta.distrusted_lost_share().is_some(),
        read_transfers,
        first_reads: totals.first_reads,
        later_reads: totals.later_reads(),
        write_transfers,
        upgrades,
        false_first_touch,
        false_lifetime,
        time: recorded_cpu_times(&meta.runs).map(TimeShares::from),
        lines: totals.lines,
        order_errors: totals.order_errors,
        resolved_share: totals.resolved_share(),
        resolved_share_without_content: totals.resolved_share_without_content(),
        unresolved: totals.unresolved.clone(),
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
        sources,
        layouts: layouts.iter().map(subject_layout_document).collect(),
    }
}

/// Returns the selected findings.
fn finding_documents(report: &ReportContents<'_>) -> Vec<FindingDocument> {
    let (shown, _) = report.selection.select_findings(report.findings);
    let sources = SourcePositions::new(report.findings);
    { shown.into_iter() }
        .map(|finding| {
            let outlook =
                OutlookWords::new(finding, report.findings, report.judgements, report.profile);
            let production = report.production.and_then(|all| all.get(finding.rank));
            FindingDocument::new(finding, report, &sources, production, &outlook)
        })
        .collect()
}

fn coverage_name(coverage: AccessCoverage) -> &'static str {
    match coverage {
        AccessCoverage::Complete => "complete",
        AccessCoverage::Sliced => "sliced",
        AccessCoverage::Samples => "samples",
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

fn unseen_strings_document(code: &UnseenStringCode) -> UnseenStringsDocument {
    UnseenStringsDocument {
        module: code.module.clone(),
        function: code.function.clone(),
        instructions: code.instructions,
    }
}

fn left_out_document(unread: &UnreadMemory) -> LeftOutReaderDocument {
    LeftOutReaderDocument {
        reader: unread.reader.clone(),
        missing: unread.missing.clone(),
        transfers: unread.transfers,
        share: unread.share,
    }
}

fn unresolved_document(class: &UnresolvedLines) -> UnresolvedDocument {
    UnresolvedDocument {
        class: class.class.clone(),
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
