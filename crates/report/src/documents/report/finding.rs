//! A finding: the one form that every rendering reads.

use std::collections::BTreeMap;

use relayout_contend::FindingKind;
use relayout_profile::AccessKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::site::{PositionDocument, SiteDocument, access_word};
use crate::documents::advise::simulated_curve::SimulatedPointDocument;
use crate::words::notes::{FindingNote, NoteKind};
use crate::words::saving::{OutlookKey, SavingDocument, SearchEffort, saving_cell};

/// Operations of the workload with the line of a finding free, in simulated time.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum FreedLineDocument {
    /// It was executed.
    Executed {
        /// Beside today's.
        point: Box<SimulatedPointDocument>,
        /// The bound as a sentence.
        words: String,
    },
    /// It was not.
    Refused {
        /// Reason.
        refused: String,
    },
}

impl FreedLineDocument {
    /// Returns the bound as a sentence.
    pub(crate) fn sentence(&self) -> String {
        match self {
            Self::Executed { words, .. } => words.clone(),
            Self::Refused { refused } => format!("If its line cost nothing: not known, {refused}."),
        }
    }

    /// Returns the operations over today's: `1.62`.
    pub(crate) fn cell(&self) -> String {
        match self {
            Self::Executed { point, .. } => {
                { point.ratio }.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"))
            }
            Self::Refused { .. } => "-".to_owned(),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct FindingDocument {
    /// Rank, from 1.
    pub(crate) rank: u32,
    /// Kind of contention: `false-sharing`, `true-sharing`, and the like; see docs/glossary.md.
    #[serde(with = "kind_word")]
    #[schemars(with = "String")]
    pub(crate) kind: FindingKind,
    /// Name of the type, without `struct`.
    #[serde(rename = "type")]
    pub(crate) type_name: String,
    /// Name of the variable; null for a type.
    pub(crate) variable: Option<String>,
    /// Function that declares the variable; absent unless it is local.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) declared_in: Option<DeclaringDocument>,
    /// Types from the outermost inwards to the member with most transfers.
    pub(crate) types_path: Vec<String>,
    /// Offset of the line in bytes from the start of the object; negative where the object begins inside the line.
    pub(crate) line_offset: i64,
    /// Lines of the finding, most transfers first.
    pub(crate) places: Vec<PlaceDocument>,
    /// True if the numbers are estimates from samples.
    pub(crate) estimated: bool,
    /// Transfers that hardware reported; null where it does not.
    pub(crate) hitm_observed: Option<u64>,
    /// Transfers: moves of a cache line to a CPU that another CPU had it.
    pub(crate) transfers: u64,
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
    /// Fraction of all transfers of the profile, from 0 to 1.
    pub(crate) share: f64,
    /// Share of the CPUs' time for which they stood still for the line, in percent of simulated time. Absent in
    /// the host's order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) wait_percent: Option<f64>,
    /// Operations of the workload with a line that costs nothing; absent where that was not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) if_free: Option<FreedLineDocument>,
    /// What a layout of the type can save; null where none does, or nothing was searched.
    pub(crate) saving: Option<SavingDocument>,
    /// Reason why `saving` is null: `not searched`, or what the search found.
    pub(crate) saving_why: Option<String>,
    /// The known saving in words, with the command that searches where more could be known;
    /// null where there are no members to move.
    pub(crate) saving_words: Option<String>,
    /// Key of what is known of other layouts: `saves`; `nothing-helps`, only after a search with all
    /// of its effort; `nothing-recommended`; `not-searched`; or `no-members`.
    #[schemars(with = "String")]
    pub(crate) outlook: OutlookKey,
    /// Effort of the search of layouts: `quick` or `thorough`; absent where nothing was searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub(crate) search_effort: Option<SearchEffort>,
    /// Number of distinct objects.
    pub(crate) objects: u64,
    /// Of them: objects whose type was elected with a confidence below 75%.
    pub(crate) uncertain_objects: u64,
    /// Lowest confidence in the type of an object, in percent.
    pub(crate) type_confidence_percent: u8,
    /// Type that other code takes the memory of the uncertain objects for: an arena of the program, or
    /// memory that was used again. Null where the evidence agrees.
    pub(crate) rival_type: Option<String>,
    /// Number of CPUs or threads that accessed it.
    pub(crate) contexts: u32,
    /// Fraction of the recordings in which it kept its rank; null with one recording.
    pub(crate) stability: Option<f64>,
    /// Least and most transfers in a recording; null with one recording, and for adjacent lines.
    pub(crate) transfers_range: Option<[u64; 2]>,
    /// Members in the order of their offsets.
    pub(crate) members: Vec<MemberDocument>,
    /// Instructions, most transfers first.
    pub(crate) sites: Vec<SiteDocument>,
    /// Pairs of accesses, most transfers first.
    pub(crate) pairs: Vec<PairDocument>,
    /// Estimate of an adjacent-line finding; null for others.
    pub(crate) adjacent: Option<AdjacentDocument>,
    /// Members that only other CPUs than their writers read.
    pub(crate) remote_reads: Vec<RemoteReadDocument>,
    /// It is another kind of finding in some runs: no advice then.
    pub(crate) unstable: bool,
    /// Number of recordings by the kind that the finding has in each alone.
    pub(crate) kinds_by_run: BTreeMap<String, u32>,
    /// Sentences that explain the numbers, in the order in which they are shown.
    pub(crate) notes: Vec<FindingNote>,
    /// Possible remedies.
    pub(crate) advice: Vec<AdviceDocument>,
    /// Transfers by the other object on the line.
    pub(crate) neighbours: BTreeMap<String, u64>,
    /// Transfers by the place where the object was allocated.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) allocated: BTreeMap<String, u64>,
    /// Where elements of an array share the lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) elements: Option<ElementsDocument>,
    /// Placement in the build without instrumentation; null without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) production: Option<ProductionDocument>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct PlaceDocument {
    /// Offset of the line in bytes from the start of the object; negative where the object begins inside the line.
    pub(crate) line_offset: i64,
    /// Transfers: moves of a cache line to a CPU that another CPU had it.
    pub(crate) transfers: u64,
    /// Number of distinct objects.
    pub(crate) objects: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ElementsDocument {
    /// Bytes from one element to the next.
    pub(crate) stride: u64,
    /// Number of elements in the array.
    pub(crate) count: u64,
    /// Transfers between elements that are false by lifetime.
    pub(crate) transfers: u64,
    /// Elements by index.
    pub(crate) users: Vec<ElementUsersDocument>,
    /// Runs of neighbouring elements with the same users, ascending.
    pub(crate) runs: Vec<ElementRunDocument>,
    /// Path of the array, where it is a member; null where the objects are its elements.
    pub(crate) member: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ElementRunDocument {
    /// Index of the first element.
    pub(crate) first: u64,
    /// Index of the last element.
    pub(crate) last: u64,
    /// CPUs or threads that use them, ascending.
    pub(crate) contexts: Vec<u16>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ElementUsersDocument {
    /// Index of the element.
    pub(crate) index: u64,
    /// CPUs or threads that use it, most accesses first.
    pub(crate) contexts: Vec<u16>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct DeclaringDocument {
    /// Name of the function.
    pub(crate) function: String,
    /// File of the declaration; null where it is not known.
    pub(crate) file: Option<String>,
    /// Line of the declaration; null where it is not known.
    pub(crate) line: Option<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ProductionDocument {
    /// Variables that share the line there too.
    pub(crate) same_line: Vec<String>,
    /// Variables that are on other lines there.
    pub(crate) other_line: Vec<String>,
    /// Variables that are not found there.
    pub(crate) unknown: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AdjacentDocument {
    /// Number of samples.
    pub(crate) samples: u64,
    /// Pair transfers that the samples stand for; an estimate.
    pub(crate) pair_transfers_estimated: u64,
    /// 95% interval of the pair transfers.
    pub(crate) interval: [u64; 2],
    /// Cost of a pair transfer, in transfers.
    pub(crate) coefficient: f64,
    /// Cost of all pair transfers, in transfers; an estimate.
    pub(crate) cost_transfers_estimated: f64,
    /// Pairs of accesses, most transfers first.
    pub(crate) pairs: Vec<AdjacentPairDocument>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AdjacentPairDocument {
    /// Number of samples.
    pub(crate) samples: u64,
    /// Pair transfers that the samples stand for; an estimate.
    pub(crate) pair_transfers_estimated: u64,
    /// The access that waited.
    pub(crate) here: SideDocument,
    /// The access that it waited for.
    pub(crate) there: SideDocument,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RemoteReadDocument {
    /// Path of the member.
    pub(crate) member: String,
    /// Transfers: moves of a cache line to a CPU that another CPU had it.
    pub(crate) transfers: u64,
    /// Those that bring what was stored to it.
    pub(crate) needed: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AdviceDocument {
    /// Key of the remedy.
    pub(crate) action: String,
    /// The remedy in words.
    pub(crate) words: String,
    /// What replaying it gives; null where it was not replayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) replayed: Option<ReplayedDocument>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ReplayedDocument {
    /// Transfers of today's layout, by replay.
    pub(crate) transfers_today: u64,
    /// Transfers with the remedy, by replay.
    pub(crate) transfers_changed: u64,
    /// With the member on a line of its own beside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) transfers_own_line: Option<u64>,
    /// With both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) transfers_changed_own_line: Option<u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct MemberDocument {
    /// Path of the member, with indices (`done[2]`, `done[0..3]`) where elements of an array have
    /// rows of their own; empty for a hole.
    pub(crate) name: String,
    /// Offset in bytes from the start of the object.
    pub(crate) offset: i64,
    /// Size in bytes.
    pub(crate) size: u64,
    /// Number of loads, read-writes included.
    pub(crate) reads: u64,
    /// Number of stores, read-writes included.
    pub(crate) writes: u64,
    /// Number of stores that left every byte as it was; null where values were not recorded.
    pub(crate) silent_writes: Option<u64>,
    /// Number of CPUs or threads that accessed it.
    pub(crate) contexts: u32,
    /// CPUs or threads that accessed it, ascending.
    pub(crate) context_ids: Vec<u16>,
    /// Number of CPUs or threads that stored to it.
    pub(crate) writers: u32,
    /// CPUs or threads that stored to it, ascending.
    pub(crate) writer_ids: Vec<u16>,
    /// True if `reads`, `writes` and `writers` were counted; they are 0 otherwise.
    pub(crate) counted: bool,
    /// Transfers: moves of a cache line to a CPU that another CPU had it.
    pub(crate) transfers: u64,
    /// `name` without indices: `done[]`.
    pub(crate) path: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct PairDocument {
    /// Transfers: moves of a cache line to a CPU that another CPU had it.
    pub(crate) transfers: u64,
    /// Upgrades: stores to a line that other CPUs shared.
    pub(crate) upgrades: u64,
    /// Transfers that brought nothing that was used at the access itself.
    pub(crate) false_first_touch: u64,
    /// Transfers that brought nothing that was used as long as the line stayed.
    pub(crate) false_lifetime: u64,
    /// The access that missed or upgraded.
    pub(crate) here: SideDocument,
    /// The access on the other side.
    pub(crate) there: SideDocument,
}

/// Side of a pair of accesses.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SideDocument {
    /// Path of the member, or name of the variable.
    pub(crate) member: String,
    /// Kind of access: `read`, `write`, `read-write`.
    #[serde(with = "access_word")]
    #[schemars(with = "String")]
    pub(crate) access: AccessKind,
    #[serde(flatten)]
    pub(crate) position: PositionDocument,
}

impl FindingDocument {
    /// Returns the files and lines of its instructions.
    pub(crate) fn positions(&self) -> impl Iterator<Item = (&str, u32)> {
        let sites = self.sites.iter().map(|site| &site.position);
        let sides = { self.pairs.iter() }.flat_map(|pair| [&pair.here, &pair.there]);
        let positions = sites.chain(sides.map(|side| &side.position));
        positions.filter_map(PositionDocument::file_line)
    }

    /// Returns the variable, else the type.
    pub(crate) fn subject(&self) -> &str {
        self.variable.as_deref().unwrap_or(&self.type_name)
    }

    /// Returns the offset of the finding's line within its type: `+64`.
    pub(crate) fn line_words(&self) -> String {
        format!("{:+}", self.line_offset)
    }

    /// Returns the change of transfers by another layout, for a narrow column.
    pub(crate) fn saving_cell(&self) -> String {
        saving_cell(self.outlook, self.search_effort, self.saving.as_ref())
    }

    /// Returns true if the type of many of the objects is uncertain.
    pub(crate) fn is_type_doubtful(&self) -> bool {
        { self.notes.iter() }.any(|note| note.kind == NoteKind::UncertainType)
    }

    /// Returns the names that a search looks in, in lower case, one per line.
    pub(crate) fn search_text(&self) -> String {
        let names = [Some(&self.type_name), self.variable.as_ref()];
        let members = self.members.iter().map(|member| &member.name);
        let positions = self.sites.iter().map(|site| &site.position);
        let positions = positions.flat_map(|position| {
            [&position.function, &position.inlined, &position.file].map(Option::as_ref)
        });
        let names = { names.into_iter().flatten() }
            .chain(members)
            .chain(positions.flatten());
        let mut text = String::new();
        for name in names {
            text.push_str(&name.to_lowercase());
            text.push('\n');
        }
        text
    }
}

/// Kinds of findings by their words.
mod kind_word {
    use relayout_contend::FindingKind;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(kind: &FindingKind, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(kind.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<FindingKind, D::Error> {
        let word = String::deserialize(from)?;
        let known = { FindingKind::ALL.into_iter() }.find(|kind| kind.as_str() == word);
        known.ok_or_else(|| D::Error::custom(format!("no kind of finding: {word}")))
    }
}
