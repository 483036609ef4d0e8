//! One finding in the document.

use std::collections::BTreeMap;

use relayout_contend::finding::{
    AccessSide, AdjacentLines, AdjacentPair, ConflictPair, FindingMember, LinePlace, RemoteRead,
    SharedElements,
};
use relayout_contend::{CoherenceTally, Finding, Remedy, SiteSource};
use relayout_profile::{ContextId, ProfileMeta};
use schemars::JsonSchema;
use serde::Serialize;

use super::site::{SiteDocument, access_key, site_document};
use crate::remedy::{self, RemedyContext};
use crate::saving::SavingDocument;
use crate::words::ContextNoun;
use relayout_session::{ProductionBuild, ProductionPlacement};

#[derive(Serialize, JsonSchema)]
pub(super) struct FindingDocument<'a> {
    rank: u32,
    kind: &'static str,
    #[serde(rename = "type")]
    type_name: &'a str,
    variable: Option<&'a str>,
    types_path: &'a [String],
    line_offset: i64,
    places: Vec<PlaceDocument>,
    estimated: bool,
    hitm_observed: Option<u64>,
    transfers: u64,
    read_transfers: u64,
    /// Of them: reads of what a store left before another context had read it. Null where reads
    /// were not told apart.
    first_reads: Option<u64>,
    /// The other read transfers.
    later_reads: Option<u64>,
    write_transfers: u64,
    upgrades: u64,
    false_first_touch: u64,
    false_lifetime: u64,
    share: f64,
    /// What a layout of the type can save; null where none does, or nothing was searched.
    saving: Option<SavingDocument>,
    /// Reason why `saving` is null: `not searched`, or what the search found.
    saving_why: Option<String>,
    objects: u64,
    /// Of them: objects whose type was elected with a confidence below 75%.
    uncertain_objects: u64,
    /// Lowest confidence in the type of an object, in percent.
    type_confidence_percent: u8,
    /// Type that other code takes the memory of the uncertain objects for: an arena of the program, or
    /// memory that was used again. Null where the evidence agrees.
    rival_type: Option<&'a str>,
    contexts: u32,
    /// Fraction of the recordings in which it kept its rank; null with one recording.
    stability: Option<f64>,
    /// Least and most transfers in a recording; null with one recording, and for adjacent lines.
    transfers_range: Option<[u64; 2]>,
    members: Vec<MemberDocument<'a>>,
    sites: Vec<SiteDocument<'a>>,
    pairs: Vec<PairDocument<'a>>,
    adjacent: Option<AdjacentDocument<'a>>,
    remote_reads: Vec<RemoteReadDocument<'a>>,
    /// It is another kind of finding in some runs: no advice then.
    unstable: bool,
    kinds_by_run: BTreeMap<&'static str, u32>,
    advice: Vec<AdviceDocument>,
    neighbours: &'a BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    allocated: &'a BTreeMap<String, u64>,
    /// Where elements of an array share the lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    elements: Option<ElementsDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    production: Option<ProductionDocument<'a>>,
}

impl<'a> FindingDocument<'a> {
    /// Files and lines of its instructions.
    pub fn positions(&self) -> impl Iterator<Item = (&'a str, u32)> {
        let sites = self.sites.iter().map(|site| (site.file, site.line));
        let sides = { self.pairs.iter() }.flat_map(|pair| [&pair.here, &pair.there]);
        let positions = sites.chain(sides.map(|side| (side.file, side.line)));
        positions.filter_map(|(file, line)| file.zip(line))
    }
}

#[derive(Serialize, JsonSchema)]
struct PlaceDocument {
    line_offset: i64,
    transfers: u64,
    objects: u64,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct ElementsDocument {
    /// Bytes from one element to the next.
    stride: u64,
    /// Number of elements in the array.
    count: u64,
    /// Transfers between elements that are false by lifetime.
    transfers: u64,
    users: Vec<ElementUsersDocument>,
}

#[derive(Serialize, JsonSchema)]
struct ElementUsersDocument {
    /// Index of the element.
    index: u64,
    /// CPUs or threads that use it, most accesses first.
    contexts: Vec<u16>,
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
        }
    }
}

#[derive(Serialize, JsonSchema)]
struct ProductionDocument<'a> {
    same_line: &'a [String],
    other_line: &'a [String],
    unknown: &'a [String],
}

#[derive(Serialize, JsonSchema)]
struct AdjacentDocument<'a> {
    samples: u64,
    pair_transfers_estimated: u64,
    interval: [u64; 2],
    coefficient: f64,
    cost_transfers_estimated: f64,
    pairs: Vec<AdjacentPairDocument<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct AdjacentPairDocument<'a> {
    samples: u64,
    pair_transfers_estimated: u64,
    here: SideDocument<'a>,
    there: SideDocument<'a>,
}

#[derive(Serialize, JsonSchema)]
struct RemoteReadDocument<'a> {
    member: &'a str,
    transfers: u64,
    /// Those that bring what was stored to it.
    needed: u64,
}

#[derive(Serialize, JsonSchema)]
struct AdviceDocument {
    action: &'static str,
    words: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    replayed: Option<ReplayedDocument>,
}

#[derive(Serialize, JsonSchema)]
struct ReplayedDocument {
    transfers_today: u64,
    transfers_changed: u64,
    /// With the member on a line of its own beside.
    #[serde(skip_serializing_if = "Option::is_none")]
    transfers_own_line: Option<u64>,
    /// With both.
    #[serde(skip_serializing_if = "Option::is_none")]
    transfers_changed_own_line: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
struct MemberDocument<'a> {
    name: &'a str,
    offset: i64,
    size: u64,
    reads: u64,
    writes: u64,
    silent_writes: Option<u64>,
    contexts: u32,
    /// CPUs or threads that accessed it, ascending.
    context_ids: Vec<u16>,
    writers: u32,
    /// CPUs or threads that stored to it, ascending.
    writer_ids: Vec<u16>,
    /// True if `reads`, `writes` and `writers` were counted; they are 0 otherwise.
    counted: bool,
    transfers: u64,
}

#[derive(Serialize, JsonSchema)]
struct PairDocument<'a> {
    transfers: u64,
    upgrades: u64,
    false_first_touch: u64,
    false_lifetime: u64,
    here: SideDocument<'a>,
    there: SideDocument<'a>,
}

#[derive(Serialize, JsonSchema)]
struct SideDocument<'a> {
    member: &'a str,
    access: &'static str,
    function: Option<&'a str>,
    inlined: Option<&'a str>,
    file: Option<&'a str>,
    line: Option<u32>,
}

pub(super) fn finding_document<'a>(
    finding: &'a Finding,
    meta: &ProfileMeta,
    production: Option<&'a ProductionBuild>,
    saving: Result<SavingDocument, String>,
) -> FindingDocument<'a> {
    let saves = saving.is_ok();
    let (saving, saving_why) = match saving {
        Ok(saving) => (Some(saving), None),
        Err(reason) => (None, Some(reason)),
    };
    let CoherenceTally {
        read_transfers,
        write_transfers,
        upgrades,
        false_first_touch,
        false_lifetime,
    } = finding.tally;
    FindingDocument {
        rank: finding.rank,
        kind: finding.kind.as_str(),
        type_name: finding.subject.type_name(),
        variable: finding.subject.variable(),
        types_path: &finding.types_path,
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
        saving,
        saving_why,
        objects: finding.objects,
        uncertain_objects: finding.type_confidence.uncertain,
        type_confidence_percent: finding.type_confidence.least_percent,
        rival_type: finding.rival_type.as_deref(),
        contexts: finding.contexts,
        stability: finding.stability,
        transfers_range: finding.transfers_range,
        members: finding.members.iter().map(member_document).collect(),
        sites: finding.sites.iter().map(site_document).collect(),
        pairs: finding.pairs.iter().map(pair_document).collect(),
        adjacent: finding.adjacent.as_ref().map(adjacent_document),
        remote_reads: finding
            .remote_reads
            .iter()
            .map(remote_read_document)
            .collect(),
        unstable: finding.is_unstable(),
        kinds_by_run: finding
            .kinds_by_run
            .iter()
            .map(|(kind, runs)| (kind.as_str(), *runs))
            .collect(),
        advice: finding
            .remedies
            .iter()
            .map(|remedy| advice_document(remedy, meta, saves))
            .collect(),
        neighbours: &finding.neighbours,
        allocated: &finding.origins,
        elements: finding.elements.as_ref().map(ElementsDocument::new),
        production: production
            .and_then(|all| all.get(finding.rank))
            .map(production_document),
    }
}

fn place_document(place: &LinePlace) -> PlaceDocument {
    PlaceDocument {
        line_offset: place.line_offset,
        transfers: place.transfers,
        objects: place.objects,
    }
}

fn production_document(placement: &ProductionPlacement) -> ProductionDocument<'_> {
    ProductionDocument {
        same_line: &placement.same_line,
        other_line: &placement.other_line,
        unknown: &placement.unknown,
    }
}

fn adjacent_document(adjacent: &AdjacentLines) -> AdjacentDocument<'_> {
    AdjacentDocument {
        samples: adjacent.samples,
        pair_transfers_estimated: adjacent.pair_transfers,
        interval: adjacent.interval,
        coefficient: adjacent.coefficient,
        cost_transfers_estimated: adjacent.cost_transfers,
        pairs: adjacent.pairs.iter().map(adjacent_pair_document).collect(),
    }
}

fn adjacent_pair_document(pair: &AdjacentPair) -> AdjacentPairDocument<'_> {
    AdjacentPairDocument {
        samples: pair.samples,
        pair_transfers_estimated: pair.pair_transfers,
        here: side_document(&pair.here),
        there: side_document(&pair.there),
    }
}

fn remote_read_document(read: &RemoteRead) -> RemoteReadDocument<'_> {
    RemoteReadDocument {
        member: &read.member,
        transfers: read.transfers,
        needed: read.needed,
    }
}

fn advice_document(remedy: &Remedy, meta: &ProfileMeta, saves: bool) -> AdviceDocument {
    let own_line = remedy::replayed_own_line(remedy);
    let replayed = remedy::replayed_transfers(remedy).map(|replayed| ReplayedDocument {
        transfers_today: replayed.today,
        transfers_changed: replayed.changed,
        transfers_own_line: own_line.map(|own| own.stored),
        transfers_changed_own_line: own_line.map(|own| own.guarded),
    });
    AdviceDocument {
        action: remedy::remedy_key(remedy),
        words: remedy::remedy_sentence(
            remedy,
            RemedyContext {
                context_noun: ContextNoun::from_meta(meta).singular(),
                saves,
            },
            source_position,
        ),
        replayed,
    }
}

/// `osq_lock, kernel/locking/osq_lock.c:97`
fn source_position(source: &SiteSource) -> String {
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

fn member_document(member: &FindingMember) -> MemberDocument<'_> {
    MemberDocument {
        name: &member.name,
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

fn pair_document(pair: &ConflictPair) -> PairDocument<'_> {
    PairDocument {
        transfers: pair.tally.transfers(),
        upgrades: pair.tally.upgrades,
        false_first_touch: pair.tally.false_first_touch,
        false_lifetime: pair.tally.false_lifetime,
        here: side_document(&pair.here),
        there: side_document(&pair.there),
    }
}

fn side_document(side: &AccessSide) -> SideDocument<'_> {
    SideDocument {
        member: &side.member,
        access: access_key(side.access),
        function: side.source.function.as_deref(),
        inlined: side.source.inlined.as_deref(),
        file: side.source.file.as_deref(),
        line: side.source.line,
    }
}
