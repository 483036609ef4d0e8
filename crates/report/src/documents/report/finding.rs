//! One finding in the document.

use std::collections::BTreeMap;

use relayout_contend::finding::{
    AccessSide, AdjacentLines, AdjacentPair, ConflictPair, ElementRun, FindingMember, LinePlace,
    RemoteRead, SharedElements,
};
use relayout_contend::{CoherenceTally, DeclaringFunction, Finding, Remedy, SiteSource};
use relayout_profile::{ContextId, ProfileMeta};
use schemars::JsonSchema;
use serde::Serialize;

use crate::documents::report::site::{SiteDocument, access_key, site_document};
use crate::words::ContextNoun;
use crate::words::notes::{FindingNote, finding_notes};
use crate::words::remedy::{self, RemedyContext};
use crate::words::saving::{OutlookWords, SavingDocument};
use relayout_session::{ProductionBuild, ProductionPlacement};

#[derive(Serialize, JsonSchema)]
pub(crate) struct FindingDocument<'a> {
    /// Rank, from 1.
    rank: u32,
    /// Kind of contention: `false-sharing`, `true-sharing`, and the like; see docs/glossary.md.
    kind: &'static str,
    /// Name of the type, without `struct`.
    #[serde(rename = "type")]
    type_name: &'a str,
    /// Name of the variable; null for a type.
    variable: Option<&'a str>,
    /// Function that declares the variable; absent unless it is local.
    #[serde(skip_serializing_if = "Option::is_none")]
    declared_in: Option<DeclaringDocument<'a>>,
    /// Types from the outermost inwards to the member with most transfers.
    types_path: &'a [String],
    /// Offset of the line in bytes from the start of the object; negative where the object begins inside the line.
    line_offset: i64,
    /// Lines of the finding, most transfers first.
    places: Vec<PlaceDocument>,
    /// True if the numbers are estimates from samples.
    estimated: bool,
    /// Transfers that hardware reported; null where it does not.
    hitm_observed: Option<u64>,
    /// Transfers: moves of a cache line to a CPU that another CPU had it.
    transfers: u64,
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
    /// Fraction of all transfers of the profile, from 0 to 1.
    share: f64,
    /// What a layout of the type can save; null where none does, or nothing was searched.
    saving: Option<SavingDocument>,
    /// Reason why `saving` is null: `not searched`, or what the search found.
    saving_why: Option<String>,
    /// The known saving in words, with the command that searches where more could be known;
    /// null where there are no members to move.
    saving_words: Option<String>,
    /// Key of what is known of other layouts: `saves`; `nothing-helps`, only after a search with all
    /// of its effort; `nothing-recommended`; `not-searched`; or `no-members`.
    outlook: &'static str,
    /// Number of distinct objects.
    objects: u64,
    /// Of them: objects whose type was elected with a confidence below 75%.
    uncertain_objects: u64,
    /// Lowest confidence in the type of an object, in percent.
    type_confidence_percent: u8,
    /// Type that other code takes the memory of the uncertain objects for: an arena of the program, or
    /// memory that was used again. Null where the evidence agrees.
    rival_type: Option<&'a str>,
    /// Number of CPUs or threads that accessed it.
    contexts: u32,
    /// Fraction of the recordings in which it kept its rank; null with one recording.
    stability: Option<f64>,
    /// Least and most transfers in a recording; null with one recording, and for adjacent lines.
    transfers_range: Option<[u64; 2]>,
    /// Members in the order of their offsets.
    members: Vec<MemberDocument<'a>>,
    /// Instructions, most transfers first.
    sites: Vec<SiteDocument<'a>>,
    /// Pairs of accesses, most transfers first.
    pairs: Vec<PairDocument<'a>>,
    /// Estimate of an adjacent-line finding; null for others.
    adjacent: Option<AdjacentDocument<'a>>,
    /// Members that only other CPUs than their writers read.
    remote_reads: Vec<RemoteReadDocument<'a>>,
    /// It is another kind of finding in some runs: no advice then.
    unstable: bool,
    /// Number of recordings by the kind that the finding has in each alone.
    kinds_by_run: BTreeMap<&'static str, u32>,
    /// Sentences that explain the numbers, in the order in which they are shown.
    notes: Vec<FindingNote>,
    /// Possible remedies.
    advice: Vec<AdviceDocument>,
    /// Transfers by the other object on the line.
    neighbours: &'a BTreeMap<String, u64>,
    /// Transfers by the place where the object was allocated.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    allocated: &'a BTreeMap<String, u64>,
    /// Where elements of an array share the lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    elements: Option<ElementsDocument>,
    /// Placement in the build without instrumentation; null without one.
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
    /// Offset of the line in bytes from the start of the object; negative where the object begins inside the line.
    line_offset: i64,
    /// Transfers: moves of a cache line to a CPU that another CPU had it.
    transfers: u64,
    /// Number of distinct objects.
    objects: u64,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ElementsDocument {
    /// Bytes from one element to the next.
    stride: u64,
    /// Number of elements in the array.
    count: u64,
    /// Transfers between elements that are false by lifetime.
    transfers: u64,
    /// Elements by index.
    users: Vec<ElementUsersDocument>,
    /// Runs of neighbouring elements with the same users, ascending.
    runs: Vec<ElementRunDocument>,
    /// Path of the array, where it is a member; null where the objects are its elements.
    member: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct ElementRunDocument {
    /// Index of the first element.
    first: u64,
    /// Index of the last element.
    last: u64,
    /// CPUs or threads that use them, ascending.
    contexts: Vec<u16>,
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

#[derive(Serialize, JsonSchema)]
pub(crate) struct DeclaringDocument<'a> {
    /// Name of the function.
    function: &'a str,
    /// File of the declaration; null where it is not known.
    file: Option<&'a str>,
    /// Line of the declaration; null where it is not known.
    line: Option<u32>,
}

pub(crate) fn declaring_document(declaring: &DeclaringFunction) -> DeclaringDocument<'_> {
    DeclaringDocument {
        function: &declaring.name,
        file: declaring.file.as_deref(),
        line: declaring.line,
    }
}

#[derive(Serialize, JsonSchema)]
struct ProductionDocument<'a> {
    /// Variables that share the line there too.
    same_line: &'a [String],
    /// Variables that are on other lines there.
    other_line: &'a [String],
    /// Variables that are not found there.
    unknown: &'a [String],
}

#[derive(Serialize, JsonSchema)]
struct AdjacentDocument<'a> {
    /// Number of samples.
    samples: u64,
    /// Pair transfers that the samples stand for; an estimate.
    pair_transfers_estimated: u64,
    /// 95% interval of the pair transfers.
    interval: [u64; 2],
    /// Cost of a pair transfer, in transfers.
    coefficient: f64,
    /// Cost of all pair transfers, in transfers; an estimate.
    cost_transfers_estimated: f64,
    /// Pairs of accesses, most transfers first.
    pairs: Vec<AdjacentPairDocument<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct AdjacentPairDocument<'a> {
    /// Number of samples.
    samples: u64,
    /// Pair transfers that the samples stand for; an estimate.
    pair_transfers_estimated: u64,
    /// The access that waited.
    here: SideDocument<'a>,
    /// The access that it waited for.
    there: SideDocument<'a>,
}

#[derive(Serialize, JsonSchema)]
struct RemoteReadDocument<'a> {
    /// Path of the member.
    member: &'a str,
    /// Transfers: moves of a cache line to a CPU that another CPU had it.
    transfers: u64,
    /// Those that bring what was stored to it.
    needed: u64,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct AdviceDocument {
    /// Key of the remedy.
    action: &'static str,
    /// The remedy in words.
    words: String,
    /// What replaying it gives; null where it was not replayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    replayed: Option<ReplayedDocument>,
}

#[derive(Serialize, JsonSchema)]
struct ReplayedDocument {
    /// Transfers of today's layout, by replay.
    transfers_today: u64,
    /// Transfers with the remedy, by replay.
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
    /// Path of the member, with indices (`done[2]`, `done[0..3]`) where elements of an array have
    /// rows of their own; empty for a hole.
    name: &'a str,
    /// Offset in bytes from the start of the object.
    offset: i64,
    /// Size in bytes.
    size: u64,
    /// Number of loads, read-writes included.
    reads: u64,
    /// Number of stores, read-writes included.
    writes: u64,
    /// Number of stores that left every byte as it was; null where values were not recorded.
    silent_writes: Option<u64>,
    /// Number of CPUs or threads that accessed it.
    contexts: u32,
    /// CPUs or threads that accessed it, ascending.
    context_ids: Vec<u16>,
    /// Number of CPUs or threads that stored to it.
    writers: u32,
    /// CPUs or threads that stored to it, ascending.
    writer_ids: Vec<u16>,
    /// True if `reads`, `writes` and `writers` were counted; they are 0 otherwise.
    counted: bool,
    /// Transfers: moves of a cache line to a CPU that another CPU had it.
    transfers: u64,
    /// `name` without indices: `done[]`.
    path: &'a str,
}

#[derive(Serialize, JsonSchema)]
struct PairDocument<'a> {
    /// Transfers: moves of a cache line to a CPU that another CPU had it.
    transfers: u64,
    /// Upgrades: stores to a line that other CPUs shared.
    upgrades: u64,
    /// Transfers that brought nothing that was used at the access itself.
    false_first_touch: u64,
    /// Transfers that brought nothing that was used as long as the line stayed.
    false_lifetime: u64,
    /// The access that missed or upgraded.
    here: SideDocument<'a>,
    /// The access on the other side.
    there: SideDocument<'a>,
}

#[derive(Serialize, JsonSchema)]
struct SideDocument<'a> {
    /// Path of the member, or name of the variable.
    member: &'a str,
    /// Kind of access: `read`, `write`, `read-write`.
    access: &'static str,
    /// Function that the code belongs to; null if unknown.
    function: Option<&'a str>,
    /// Functions inlined there, from the outside inwards; null where none was.
    inlined: Option<&'a str>,
    /// Source file, as the debug information names it.
    file: Option<&'a str>,
    /// 1-based line in `file`.
    line: Option<u32>,
}

pub(crate) fn finding_document<'a>(
    finding: &'a Finding,
    meta: &ProfileMeta,
    production: Option<&'a ProductionBuild>,
    outlook: &OutlookWords<'_>,
) -> FindingDocument<'a> {
    let (saving, saving_why) = match outlook.saving_document() {
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
        declared_in: finding.subject.declaring().map(declaring_document),
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
        saving_words: outlook.saving_words(),
        outlook: outlook.key(),
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
        notes: finding_notes(finding, ContextNoun::from_meta(meta)),
        advice: finding
            .remedies
            .iter()
            .map(|remedy| advice_document(remedy, meta, outlook))
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

pub(crate) fn advice_document(
    remedy: &Remedy,
    meta: &ProfileMeta,
    outlook: &OutlookWords<'_>,
) -> AdviceDocument {
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
                outlook,
            },
            source_position,
        ),
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

fn member_document(member: &FindingMember) -> MemberDocument<'_> {
    MemberDocument {
        name: &member.name,
        path: &member.path,
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
