//! Findings as data; other crates render them.

use std::collections::{BTreeMap, BTreeSet};

use relayout_layout::suggestions;
use relayout_profile::{AccessKind, ContextId, is_plain_content};
use serde::{Deserialize, Serialize};

use crate::identify::{DeclaringFunction, SiteSource};
use crate::remedy::Remedy;
use crate::replay::CoherenceTally;
use crate::type_confidence::TypeConfidence;
use crate::unread_memory::UnreadMemory;

/// All findings of a profile, and its totals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// Findings by rank: most transfers first, or in simulated time the most time for which contexts stood still.
    pub findings: Vec<Finding>,
    /// Lines without a known object, by class; most transfers first.
    pub unresolved: Vec<UnresolvedLines>,
    /// Sums over the whole profile.
    pub totals: ProfileTotals,
    /// True if events are estimates from rates of sampled accesses ([`crate::rates`]).
    pub estimated: bool,
    /// Totals of line pairs.
    pub line_pairs: LinePairs,
    /// Readers of guest memory that the recording was made without, and what they cost.
    pub unread_memory: Vec<UnreadMemory>,
}

impl Findings {
    /// Suggests names of types and variables in the findings that are similar to `name`, as the end
    /// of a message.
    pub fn suggest_names(&self, name: &str) -> String {
        suggestions::suggestion_suffix(&self.similar_names(name))
    }

    /// Returns the names of types and variables in the findings that are similar to `name`.
    pub fn similar_names(&self, name: &str) -> Vec<String> {
        let names: BTreeSet<&str> = { self.findings.iter() }
            .flat_map(|finding| {
                let subject = &finding.subject;
                let types = finding.types_path.iter().map(String::as_str);
                types.chain(subject.variable()).chain([subject.type_name()])
            })
            .collect();
        suggestions::similar_names(names, strip_type_tag(name))
    }
}

fn later_reads(tally: &CoherenceTally, first_reads: Option<u64>) -> Option<u64> {
    Some(tally.read_transfers.saturating_sub(first_reads?))
}

/// Returns the name of a type without `struct`, `union` or `class`.
pub fn strip_type_tag(name: &str) -> &str {
    let tags = ["struct ", "union ", "class "];
    let stripped = tags.iter().find_map(|tag| name.strip_prefix(tag));
    stripped.unwrap_or(name).trim()
}

/// Totals of line pairs: two lines aligned to twice the line size, which some processors fetch
/// together. Estimates, apart from counted events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinePairs {
    /// True if some run sampled pair transfers; otherwise nothing is known of them.
    pub recorded: bool,
    /// Cost of a pair transfer on the machine of interest, in transfers; `None` if unknown.
    pub coefficient: Option<f64>,
    /// Number of line pairs of types and variables that a coefficient above 0 would make findings.
    pub candidates: u64,
    /// Sampled pair transfers, also those without a known object.
    pub samples: u64,
    /// Pair transfers that the samples stand for.
    pub pair_transfers: u64,
}

/// Sums over a whole profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProfileTotals {
    /// All coherence events.
    pub tally: CoherenceTally,
    /// Transfers on a member of a typed object or on a whole scalar variable.
    pub resolved: u64,
    /// All other transfers by class. Transfers in holes of typed objects are under `hole`, those
    /// that only the totals by line have under `other side unknown`.
    pub unresolved: BTreeMap<String, u64>,
    /// Least and most transfers in a recording; `None` with one recording.
    pub transfers_range: Option<[u64; 2]>,
    /// Distinct lines with coherence events, over all runs.
    pub lines: u64,
    /// Of the read transfers: first reads. See [`Finding::first_reads`].
    pub first_reads: Option<u64>,
    /// Read transfers that returned another value than the last store in recorded order had left;
    /// `None` where values were not recorded.
    pub order_errors: Option<u64>,
    /// Transfers that hardware reported (HITM), as samples times their period; `None` where
    /// hardware does not report them, or nothing was sampled.
    pub hitm: Option<u64>,
}

impl ProfileTotals {
    /// Returns the read transfers that are no first reads.
    pub fn later_reads(&self) -> Option<u64> {
        later_reads(&self.tally, self.first_reads)
    }

    /// Returns the fraction of the transfers that are resolved; 1 without transfers.
    pub fn resolved_share(&self) -> f64 {
        share(self.resolved, self.tally.transfers(), 1.0)
    }

    /// Returns the same fraction of the transfers on memory that can have members: without the
    /// contents of files and pipes; 1 without such transfers.
    pub fn resolved_share_without_content(&self) -> f64 {
        let transfers = self
            .tally
            .transfers()
            .saturating_sub(self.content_transfers());
        share(self.resolved, transfers, 1.0)
    }

    /// Returns the transfers on contents of files and pipes.
    pub fn content_transfers(&self) -> u64 {
        let classes = self.unresolved.iter();
        let contents = classes.filter(|(class, _)| is_plain_content(class));
        contents.map(|(_, transfers)| transfers).sum()
    }
}

/// Kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum FindingKind {
    /// Contexts use different bytes of one line, and most transfers bring nothing that is used.
    FalseSharing,
    /// Most transfers bring bytes that the context goes on to use.
    TrueSharing,
    /// The object, or an access to it, lies on two lines and moves both.
    Straddle,
    /// Most transfers follow stores that changed nothing.
    SilentStore,
    /// Contexts try to take a lock whose line has data that its holder uses.
    LockWord,
    /// The linker put variables on one line.
    HotGlobal,
    /// A member is hardly ever stored to, but shares a line with members that are stored to all the
    /// time.
    ReadMostly,
    /// A member that only contexts other than its writer read.
    RemoteRead,
    /// Two lines are fetched together, and some contexts use one while others store to the other.
    /// Estimated.
    AdjacentLine,
}

impl FindingKind {
    /// All kinds.
    pub const ALL: [Self; 9] = [
        Self::FalseSharing,
        Self::TrueSharing,
        Self::Straddle,
        Self::SilentStore,
        Self::LockWord,
        Self::HotGlobal,
        Self::ReadMostly,
        Self::RemoteRead,
        Self::AdjacentLine,
    ];

    /// Returns the name that scripts rely on.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FalseSharing => "false-sharing",
            Self::TrueSharing => "true-sharing",
            Self::Straddle => "straddle",
            Self::SilentStore => "silent-store",
            Self::LockWord => "lock-word",
            Self::HotGlobal => "hot-global",
            Self::ReadMostly => "read-mostly",
            Self::RemoteRead => "remote-read",
            Self::AdjacentLine => "adjacent-line",
        }
    }
}

/// Subject of a finding: a type, or a variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum FindingSubject {
    /// All objects of a type that are not variables of their own.
    Type {
        /// Outermost type that a user can edit.
        name: String,
    },
    /// A variable of an aggregate type; all CPUs' copies, if it is per-cpu.
    Variable {
        /// Its type.
        type_name: String,
        /// Its name.
        name: String,
    },
    /// A scalar variable, and the others on its line. The one with the most transfers gives its
    /// name.
    Scalar {
        /// Its name.
        name: String,
    },
    /// A local variable of numbers, and the others on its line. The one with the most transfers
    /// gives its name.
    Local {
        /// Its name.
        name: String,
        /// Function that declares it.
        declaring: DeclaringFunction,
    },
}

impl FindingSubject {
    /// Returns the type's name; for a scalar variable its own.
    pub fn type_name(&self) -> &str {
        match self {
            Self::Type { name } | Self::Scalar { name } | Self::Local { name, .. } => name,
            Self::Variable { type_name, .. } => type_name,
        }
    }

    /// Returns the variable's name; `None` for a type.
    pub fn variable(&self) -> Option<&str> {
        match self {
            Self::Type { .. } => None,
            Self::Variable { name, .. } | Self::Scalar { name } | Self::Local { name, .. } => {
                Some(name)
            }
        }
    }

    /// Returns the function that declares the variable, if it is local.
    pub fn declaring(&self) -> Option<&DeclaringFunction> {
        match self {
            Self::Local { declaring, .. } => Some(declaring),
            _ => None,
        }
    }

    /// Returns true for what members of a type are named of, false for numbers.
    pub fn has_members(&self) -> bool {
        matches!(self, Self::Type { .. } | Self::Variable { .. })
    }
}

/// A contended line of a type, over all its objects, or a contended line of a variable. Where
/// objects begin at several places in a line, or an array lies on several lines, a finding covers
/// the lines around one member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Rank among the findings, from 1.
    pub rank: u32,
    /// Kind of contention.
    pub kind: FindingKind,
    /// Type or variable.
    pub subject: FindingSubject,
    /// Types from the outermost inwards to the member with the most transfers.
    pub types_path: Vec<String>,
    /// Offset of the line (of adjacent lines, the first) in bytes from the object's first byte;
    /// negative where the object begins inside the line. Where objects begin at several places in a
    /// line, the offset of the first of `places`.
    pub line_offset: i64,
    /// Lines of the finding, most transfers first: one, unless one member (or array) has the most
    /// transfers on several lines. None for [`FindingKind::AdjacentLine`].
    pub places: Vec<LinePlace>,
    /// Line size in bytes.
    pub line_bytes: u32,
    /// Coherence events; none for [`FindingKind::AdjacentLine`], see `adjacent`.
    pub tally: CoherenceTally,
    /// Of the read transfers: reads of what a store left before any other context had read it. The
    /// rest are later reads of the same. `None` where they were not told apart.
    pub first_reads: Option<u64>,
    /// Simulated time for which contexts stood still for the line, in picoseconds; `None` in the host's order, and
    /// for [`FindingKind::AdjacentLine`].
    pub wait_ps: Option<u64>,
    /// Addresses of the lines for which contexts stood still, longest first, at most [`Finding::WAITED_LINES_MAX`]: those of all
    /// objects, in all recordings.
    pub waited_lines: Vec<u64>,
    /// Transfers as a fraction of all in the profile.
    pub share: f64,
    /// Estimate of [`FindingKind::AdjacentLine`], which no sum of transfers includes.
    pub adjacent: Option<AdjacentLines>,
    /// Distinct objects (base addresses, over all runs) with coherence events on the line.
    pub objects: u64,
    /// Confidence in the types of these objects.
    pub type_confidence: TypeConfidence,
    /// Type that other code takes the memory of most of those objects for whose type is uncertain. Such
    /// memory is an arena of the program, or was used again.
    pub rival_type: Option<String>,
    /// Contexts that accessed the line.
    pub contexts: u32,
    /// Fraction of the recordings in which the finding kept its rank: within two ranks of `rank`,
    /// or within the first ten if it is there. `None` with one recording.
    pub stability: Option<f64>,
    /// Least and most transfers in a recording. `None` with one recording, and for
    /// [`FindingKind::AdjacentLine`].
    pub transfers_range: Option<[u64; 2]>,
    /// True if its events are estimates from rates of sampled accesses ([`crate::rates`]).
    pub estimated: bool,
    /// Transfers of its lines that hardware reported (HITM), as samples times their period. They
    /// are of whole lines, also where other objects lie on them, and not in `tally`. `None` where
    /// hardware does not report them, or nothing was sampled.
    pub hitm: Option<u64>,
    /// Members on the line that were accessed, by offset.
    pub members: Vec<FindingMember>,
    /// Instructions that accessed the line; most transfers first.
    pub sites: Vec<SiteUse>,
    /// Pairs of accesses that took the line from each other; most transfers first.
    pub pairs: Vec<ConflictPair>,
    /// Members that only contexts other than their writers read, with the transfers of these reads,
    /// where those are at least a twentieth of the line's; most first.
    pub remote_reads: Vec<RemoteRead>,
    /// Transfers whose other side was in another object on the same line, by that object's name.
    pub neighbours: BTreeMap<String, u64>,
    /// Transfers by the allocation site of the object, in words; empty for variables and where the
    /// site is unknown.
    pub origins: BTreeMap<String, u64>,
    /// Elements of an array that share the lines, where most transfers are false and between them.
    pub elements: Option<SharedElements>,
    /// Number of runs by the kind that the finding has in that run alone. Empty with one run.
    pub kinds_by_run: BTreeMap<FindingKind, u32>,
    /// Possible remedies; none where the finding [is unstable](Self::is_unstable).
    pub remedies: Vec<Remedy>,
}

impl Finding {
    /// Most of [`Finding::waited_lines`].
    pub const WAITED_LINES_MAX: usize = 256;

    /// Returns true if the finding's type, its variable, or a type on the way to the contended member
    /// has this name (with or without `struct`).
    pub fn is_about(&self, name: &str) -> bool {
        let wanted = strip_type_tag(name);
        self.subject.type_name() == wanted
            || self.subject.variable() == Some(wanted)
            || self.types_path.iter().any(|name| name == wanted)
    }
}

impl Finding {
    /// Returns the read transfers that are no first reads.
    pub fn later_reads(&self) -> Option<u64> {
        later_reads(&self.tally, self.first_reads)
    }

    /// Returns true if the finding has another kind in some runs.
    pub fn is_unstable(&self) -> bool {
        self.kinds_by_run.keys().any(|kind| *kind != self.kind)
    }
}

impl Finding {
    /// Returns the phase of its objects in bytes; `None` if not all begin at one place of a line.
    pub fn phase(&self) -> Option<u64> {
        let line = i64::from(self.line_bytes.max(1));
        let phase = |offset: i64| offset.wrapping_neg().rem_euclid(line).unsigned_abs();
        let own = phase(self.line_offset);
        let steady = self
            .places
            .iter()
            .all(|place| phase(place.line_offset) == own);
        steady.then_some(own)
    }
}

/// A line in objects that begin at one place in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinePlace {
    /// Offset of the line in bytes from the object's first byte; negative where the object begins
    /// inside the line.
    pub line_offset: i64,
    /// Transfers on the line.
    pub transfers: u64,
    /// Distinct objects (base addresses, over all runs) with coherence events on the line.
    pub objects: u64,
}

/// Elements of an array that different contexts use on the same lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedElements {
    /// Bytes from one element to the next.
    pub stride: u64,
    /// Number of elements of the array with the most transfers.
    pub count: u64,
    /// Transfers between elements that are false by lifetime, over all arrays.
    pub transfers: u64,
    /// Elements of the array with the most transfers, by index.
    pub users: Vec<ElementUsers>,
    /// Runs of its elements with the same users, ascending.
    pub runs: Vec<ElementRun>,
    /// Path of the array, where it is a member of the finding's objects; `None` where the objects
    /// are its elements.
    pub member: Option<String>,
}

/// Neighbouring elements of an array that the same contexts use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElementRun {
    /// Index of the first element.
    pub first: u64,
    /// Index of the last element.
    pub last: u64,
    /// Contexts that use them, ascending.
    pub contexts: Vec<ContextId>,
}

impl ElementRun {
    /// Returns the number of elements.
    pub fn element_count(&self) -> u64 {
        self.last.saturating_sub(self.first) + 1
    }
}

/// Contexts that use an element of an array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElementUsers {
    /// Index of the element.
    pub index: u64,
    /// Contexts that use it, most accesses first; those with hardly any are left out.
    pub contexts: Vec<ContextId>,
}

/// A member that only contexts other than its writer read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteRead {
    /// Path of the member, or name of the variable.
    pub member: String,
    /// Read transfers by loads of the member.
    pub transfers: u64,
    /// Those of them that bring a value stored to the member. The others follow stores beside it.
    pub needed: u64,
}

/// Estimated cost of a pair of lines to its users.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdjacentLines {
    /// Sampled pair transfers.
    pub samples: u64,
    /// Pair transfers that the samples stand for.
    pub pair_transfers: u64,
    /// 95% interval of these pair transfers, from the number of samples.
    pub interval: [u64; 2],
    /// Cost of a pair transfer, in transfers.
    pub coefficient: f64,
    /// Cost of all, in transfers: `coefficient` times `pair_transfers`.
    pub cost_transfers: f64,
    /// Pairs of accesses that disturbed each other; most first.
    pub pairs: Vec<AdjacentPair>,
}

/// Pair transfers between two ways of access.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdjacentPair {
    /// The access that was disturbed.
    pub here: AccessSide,
    /// The last store to the other line.
    pub there: AccessSide,
    /// Number of samples.
    pub samples: u64,
    /// Number of pair transfers that the samples stand for.
    pub pair_transfers: u64,
}

/// A member on a contended line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingMember {
    /// Path from the subject's type (`mmap_lock.owner`), with indices (`done[2]`, `done[0..3]`)
    /// where elements of an array have rows of their own; the name of a variable; empty for a hole.
    pub name: String,
    /// The same without indices: `done[]`.
    pub path: String,
    /// Offset in bytes from the object's first byte.
    pub offset: i64,
    /// Size in bytes.
    pub size: u64,
    /// Loads, read-writes included.
    pub reads: u64,
    /// Stores, read-writes included.
    pub writes: u64,
    /// Stores that left every byte as it was; `None` where values were not recorded.
    pub silent_writes: Option<u64>,
    /// Contexts that accessed it, ascending.
    pub context_ids: Vec<ContextId>,
    /// Contexts that stored to it, ascending.
    pub writer_ids: Vec<ContextId>,
    /// Transfers of accesses to it.
    pub transfers: u64,
}

impl FindingMember {
    /// Returns the number of contexts that accessed it.
    pub fn contexts(&self) -> u32 {
        self.context_ids.len() as u32
    }

    /// Returns the number of contexts that stored to it.
    pub fn writers(&self) -> u32 {
        self.writer_ids.len() as u32
    }

    /// Returns true if its accesses were counted. Collectors count the accesses of a line only
    /// after its first few coherence events. Without them `reads` and `writes` are 0 and
    /// `writer_ids` is empty, because the numbers are unknown.
    pub fn is_counted(&self) -> bool {
        self.reads > 0 || self.writes > 0
    }
}

/// Instructions of a source line that accessed a contended line in one way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteUse {
    /// Source position of the instructions.
    pub source: SiteSource,
    /// Kind of access.
    #[serde(with = "access_number")]
    pub access: AccessKind,
    /// Number of accesses to the line since it became contended.
    pub count: u64,
    /// Transfers that they waited for.
    pub transfers: u64,
    /// Transfers that others waited for because of them.
    pub caused: u64,
}

/// Coherence events between two ways of access.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictPair {
    /// The access that missed or upgraded.
    pub here: AccessSide,
    /// The access on the other side: the last store to the bytes that were needed, else the last
    /// store to the line; for an upgrade, an access of a context that shared the line.
    pub there: AccessSide,
    /// Coherence events.
    pub tally: CoherenceTally,
}

/// One side of a [`ConflictPair`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AccessSide {
    /// Path of the member, or name of the variable; with the object's name before it where the
    /// object is not the finding's subject.
    pub member: String,
    /// Kind of access.
    #[serde(with = "access_number")]
    pub access: AccessKind,
    /// Source position of the access.
    pub source: SiteSource,
}

/// Lines without a known object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnresolvedLines {
    /// Kind of memory.
    pub class: String,
    /// Coherence events on these lines.
    pub tally: CoherenceTally,
    /// Transfers as a fraction of all in the profile.
    pub share: f64,
    /// Number of distinct lines, over all runs.
    pub lines: u64,
    /// Instructions that missed on these lines; most transfers first.
    pub sites: Vec<SiteUse>,
    /// Memory that the program cuts into equal parts, one for each context.
    pub hand_cuts: Vec<SharedElements>,
}

/// Returns `part / whole`, or `none` if `whole` is 0.
pub(crate) fn share(part: u64, whole: u64, none: f64) -> f64 {
    if whole == 0 {
        none
    } else {
        part as f64 / whole as f64
    }
}

/// Kinds of accesses by their numbers, as segments have them.
mod access_number {
    use relayout_profile::AccessKind;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    const KINDS: [AccessKind; 3] = [AccessKind::Read, AccessKind::Write, AccessKind::ReadWrite];

    pub(super) fn serialize<S: Serializer>(access: &AccessKind, to: S) -> Result<S::Ok, S::Error> {
        (*access as u8).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<AccessKind, D::Error> {
        let number = u8::deserialize(from)?;
        let found = KINDS.into_iter().find(|kind| *kind as u8 == number);
        found.ok_or_else(|| D::Error::custom("no kind of access"))
    }
}
