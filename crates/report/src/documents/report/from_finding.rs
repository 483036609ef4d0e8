//! The document of a finding, made of the finding.

use relayout_contend::finding::{
    AccessSide, AdjacentLines, AdjacentPair, ConflictPair, ElementRun, FindingMember, LinePlace,
    RemoteRead, SharedElements,
};
use relayout_contend::{CoherenceTally, DeclaringFunction, Finding, Remedy, SiteSource};
use relayout_profile::ContextId;
use relayout_session::ProductionPlacement;

use super::finding::{
    AdjacentDocument, AdjacentPairDocument, AdviceDocument, DeclaringDocument, ElementRunDocument,
    ElementUsersDocument, ElementsDocument, FindingDocument, FreedLineDocument, MemberDocument,
    PairDocument, PlaceDocument, ProductionDocument, RemoteReadDocument, ReplayedDocument,
    SideDocument,
};
use super::site::site_document;
use crate::ReportContents;
use crate::documents::advise::simulated_curve::SimulatedPointDocument;
use crate::documents::time_shares::{percent_of_time, recorded_cpu_times};
use crate::words::ContextNoun;
use crate::words::freed_line::freed_line_words;
use crate::words::notes::finding_notes;
use crate::words::remedy::{self, RemedyContext};
use crate::words::saving::OutlookWords;
use crate::words::source_positions::SourcePositions;

impl FindingDocument {
    /// Returns the document of a finding of `report`.
    pub(super) fn new(
        finding: &Finding,
        report: &ReportContents<'_>,
        sources: &SourcePositions,
        production: Option<&ProductionPlacement>,
        outlook: &OutlookWords<'_>,
    ) -> Self {
        let noun = ContextNoun::from_meta(report.meta);
        let CoherenceTally {
            read_transfers,
            write_transfers,
            upgrades,
            false_first_touch,
            false_lifetime,
        } = finding.tally;
        let context = RemedyContext {
            context_noun: noun.singular(),
            outlook,
        };
        let position = |source: &SiteSource| sources.function_and_position(&source.into());
        Self {
            rank: finding.rank,
            kind: finding.kind,
            type_name: finding.subject.type_name().to_owned(),
            variable: finding.subject.variable().map(str::to_owned),
            declared_in: finding.subject.declaring().map(declaring_document),
            types_path: finding.types_path.clone(),
            line_offset: finding.line_offset,
            places: finding.places.iter().map(place_document).collect(),
            estimated: finding.estimated,
            hitm_observed: finding.hitm,
            transfers: finding.tally.transfers(),
            read_transfers,
            first_reads: finding.first_reads,
            later_reads: finding.later_reads(),
            write_transfers,
            upgrades,
            false_first_touch,
            false_lifetime,
            share: finding.share,
            wait_percent: wait_percent(finding, report),
            if_free: freed_line_document(finding, report),
            saving: outlook.saving_document().ok(),
            saving_why: outlook.saving_document().err(),
            saving_words: outlook.saving_words(),
            outlook: outlook.key(),
            search_effort: outlook.search_effort(),
            objects: finding.objects,
            uncertain_objects: finding.type_confidence.uncertain,
            type_confidence_percent: finding.type_confidence.least_percent,
            rival_type: finding.rival_type.clone(),
            contexts: finding.contexts,
            stability: finding.stability,
            transfers_range: finding.transfers_range,
            members: finding.members.iter().map(member_document).collect(),
            sites: finding.sites.iter().map(site_document).collect(),
            pairs: finding.pairs.iter().map(pair_document).collect(),
            adjacent: finding.adjacent.as_ref().map(adjacent_document),
            remote_reads: { finding.remote_reads.iter() }
                .map(remote_read_document)
                .collect(),
            unstable: finding.is_unstable(),
            kinds_by_run: { finding.kinds_by_run.iter() }
                .map(|(kind, runs)| (kind.as_str().to_owned(), *runs))
                .collect(),
            notes: finding_notes(finding, noun),
            advice: { finding.remedies.iter() }
                .map(|remedy| advice_document(remedy, context, position))
                .collect(),
            neighbours: finding.neighbours.clone(),
            allocated: finding.origins.clone(),
            elements: finding.elements.as_ref().map(ElementsDocument::new),
            production: production.map(production_document),
        }
    }
}

/// Returns the share of the CPUs' time for which they stood still for a finding; `None` in the host's order.
fn wait_percent(finding: &Finding, report: &ReportContents<'_>) -> Option<f64> {
    let times = recorded_cpu_times(&report.meta.runs)?;
    Some(percent_of_time(finding.wait_ps?, &times))
}

/// Returns the operations with the line of a finding free; `None` if that was not executed.
fn freed_line_document(
    finding: &Finding,
    report: &ReportContents<'_>,
) -> Option<FreedLineDocument> {
    let freed = { report.freed.iter() }.find(|freed| freed.rank == finding.rank)?;
    let point = freed.outcome.as_ref().map(|change| change.points.first());
    Some(match point {
        Ok(point) => {
            let point = SimulatedPointDocument::from(point?);
            FreedLineDocument::Executed {
                words: freed_line_words(&point),
                point: Box::new(point),
            }
        }
        Err(error) => FreedLineDocument::Refused {
            refused: error.to_string(),
        },
    })
}

impl ElementsDocument {
    pub fn new(elements: &SharedElements) -> Self {
        let users = elements.users.iter().map(|users| ElementUsersDocument {
            index: users.index,
            contexts: context_numbers(&users.contexts),
        });
        Self {
            stride: elements.stride,
            count: elements.count,
            transfers: elements.transfers,
            users: users.collect(),
            runs: elements.runs.iter().map(element_run_document).collect(),
            member: elements.member.clone(),
        }
    }
}

fn element_run_document(run: &ElementRun) -> ElementRunDocument {
    ElementRunDocument {
        first: run.first,
        last: run.last,
        contexts: context_numbers(&run.contexts),
    }
}

pub(crate) fn declaring_document(declaring: &DeclaringFunction) -> DeclaringDocument {
    DeclaringDocument {
        function: declaring.name.clone(),
        file: declaring.file.clone(),
        line: declaring.line,
    }
}

fn place_document(place: &LinePlace) -> PlaceDocument {
    PlaceDocument {
        line_offset: place.line_offset,
        transfers: place.transfers,
        objects: place.objects,
    }
}

fn production_document(placement: &ProductionPlacement) -> ProductionDocument {
    ProductionDocument {
        same_line: placement.same_line.clone(),
        other_line: placement.other_line.clone(),
        unknown: placement.unknown.clone(),
    }
}

fn adjacent_document(adjacent: &AdjacentLines) -> AdjacentDocument {
    AdjacentDocument {
        samples: adjacent.samples,
        pair_transfers_estimated: adjacent.pair_transfers,
        interval: adjacent.interval,
        coefficient: adjacent.coefficient,
        cost_transfers_estimated: adjacent.cost_transfers,
        pairs: adjacent.pairs.iter().map(adjacent_pair_document).collect(),
    }
}

fn adjacent_pair_document(pair: &AdjacentPair) -> AdjacentPairDocument {
    AdjacentPairDocument {
        samples: pair.samples,
        pair_transfers_estimated: pair.pair_transfers,
        here: (&pair.here).into(),
        there: (&pair.there).into(),
    }
}

fn remote_read_document(read: &RemoteRead) -> RemoteReadDocument {
    RemoteReadDocument {
        member: read.member.clone(),
        transfers: read.transfers,
        needed: read.needed,
    }
}

pub(crate) fn advice_document(
    remedy: &Remedy,
    context: RemedyContext<'_>,
    position: impl Fn(&SiteSource) -> String,
) -> AdviceDocument {
    let own_line = remedy::replayed_own_line(remedy);
    let replayed = remedy::replayed_transfers(remedy).map(|replayed| ReplayedDocument {
        transfers_today: replayed.today,
        transfers_changed: replayed.changed,
        transfers_own_line: own_line.map(|own| own.stored),
        transfers_changed_own_line: own_line.map(|own| own.guarded),
    });
    AdviceDocument {
        action: remedy::remedy_key(remedy).to_owned(),
        words: remedy::remedy_sentence(remedy, context, position),
        replayed,
    }
}

/// `osq_lock, kernel/locking/osq_lock.c:97`
pub(crate) fn source_position(source: &SiteSource) -> String {
    let function = source.function.as_deref().unwrap_or("?");
    match (&source.file, source.line) {
        (Some(file), Some(line)) => format!("{function}, {file}:{line}"),
        (Some(file), None) => format!("{function}, {file}"),
        (None, _) => function.to_owned(),
    }
}

fn context_numbers(contexts: &[ContextId]) -> Vec<u16> {
    contexts.iter().map(|context| context.0).collect()
}

fn member_document(member: &FindingMember) -> MemberDocument {
    MemberDocument {
        name: member.name.clone(),
        path: member.path.clone(),
        offset: member.offset,
        size: member.size,
        reads: member.reads,
        writes: member.writes,
        silent_writes: member.silent_writes,
        contexts: member.contexts(),
        context_ids: context_numbers(&member.context_ids),
        writers: member.writers(),
        writer_ids: context_numbers(&member.writer_ids),
        counted: member.is_counted(),
        transfers: member.transfers,
    }
}

fn pair_document(pair: &ConflictPair) -> PairDocument {
    PairDocument {
        transfers: pair.tally.transfers(),
        upgrades: pair.tally.upgrades,
        false_first_touch: pair.tally.false_first_touch,
        false_lifetime: pair.tally.false_lifetime,
        here: (&pair.here).into(),
        there: (&pair.there).into(),
    }
}

impl From<&AccessSide> for SideDocument {
    fn from(side: &AccessSide) -> Self {
        Self {
            member: side.member.clone(),
            access: side.access,
            position: (&side.source).into(),
        }
    }
}
