//! Findings: what hurts, as data. Rendered elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use relayout_layout::suggestions;
use relayout_profile::AccessKind;

use crate::identify::SiteSource;
use crate::remedy::Remedy;
use crate::replay::CoherenceTally;

/// Everything that [`find`](crate::find()) has to say about a profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// Ranked: most transfers first.
    pub findings: Vec<Finding>,
    /// Lines that could not be given to an object, by class; most transfers first.
    pub unresolved: Vec<UnresolvedLines>,
    /// Sums over the whole profile.
    pub totals: ProfileTotals,
    /// Events are not counted but expected, from rates of sampled accesses ([`crate::rates`]).
    pub estimated: bool,
    /// Pairs of lines, as far as they were recorded.
    pub line_pairs: LinePairs,
}

impl Findings {
    /// Names of types and variables in the findings that are close to `name`, to end a message with: see
    /// [`close::sentence`].
    pub fn suggest_names(&self, name: &str) -> String {
        let names: BTreeSet<&str> = { self.findings.iter() }
            .flat_map(|finding| {
                let subject = &finding.subject;
                let types = finding.types_path.iter().map(String::as_str);
                types.chain(subject.variable()).chain([subject.type_name()])
            })
            .collect();
        suggestions::suggestion_suffix(&suggestions::similar_names(names, name))
    }
}

/// What a profile says of pairs of lines: two that are aligned to twice the line size, which some
/// processors fetch together. Estimates, apart from what was counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinePairs {
    /// They were looked at in some run; if not, nothing is known of them.
    pub recorded: bool,
    /// What a pair transfer costs on the machine that is asked about, in transfers; `None`: not known.
    pub coefficient: Option<f64>,
    /// Pairs of lines of types and variables that would be findings with a coefficient above 0.
    pub candidates: u64,
    /// Pair transfers that were sampled, also on what could not be given to an object.
    pub samples: u64,
    /// Pair transfers that these stand for.
    pub pair_transfers: u64,
}

/// Sums over a whole profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProfileTotals {
    /// All coherence events.
    pub tally: CoherenceTally,
    /// Transfers on a member of a typed object or on a whole scalar variable.
    pub resolved: u64,
    /// All other transfers, by class. Those in holes of typed objects are here under `hole`, those
    /// which only the totals by line have under `other side unknown`.
    pub unresolved: BTreeMap<String, u64>,
    /// Distinct lines with coherence events, over all runs.
    pub lines: u64,
    /// Read transfers that returned another value than the last store in recorded order had left;
    /// `None` where values were not seen.
    pub order_errors: Option<u64>,
    /// Transfers that hardware told of (HITM), samples times their period. `None` where it does not
    /// tell, or nothing was sampled.
    pub hitm: Option<u64>,
}

impl ProfileTotals {
    /// Fraction of the transfers that are resolved; 1 if there are none.
    pub fn resolved_share(&self) -> f64 {
        share(self.resolved, self.tally.transfers(), 1.0)
    }
}

/// What a finding is called by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FindingKind {
    /// Contexts use different bytes of one line, and most transfers bring nothing that is used.
    FalseSharing,
    /// Most transfers bring what the context goes on to use: no layout removes them.
    TrueSharing,
    /// The object, or one access to it, lies on two lines and moves both.
    Straddle,
    /// Most transfers follow stores that changed nothing.
    SilentStore,
    /// A lock word that some contexts try to take, beside data that its holder uses.
    LockWord,
    /// Variables that the linker put on one line.
    HotGlobal,
    /// A member that is hardly ever written, beside what is written all the time.
    ReadMostly,
    /// A member that only contexts other than its writer read.
    RemoteRead,
    /// Two lines that are fetched together, one used by some contexts and the other stored to by
    /// others. Estimated.
    AdjacentLine,
}

impl FindingKind {
    /// The name that scripts rely on.
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

/// What a finding is about: a type, or a variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FindingSubject {
    /// All objects of a type that are not variables of their own.
    Type {
        /// The outermost type that a user can edit.
        name: String,
    },
    /// A variable of an aggregate type (all CPUs' copies, if it is per-cpu).
    Variable {
        /// Its type.
        type_name: String,
        /// Its name.
        name: String,
    },
    /// A scalar variable, and the others on its line; the one with the most transfers gives its
    /// name.
    Scalar {
        /// Its name.
        name: String,
    },
}

impl FindingSubject {
    /// The type's name; for a scalar variable its own.
    pub fn type_name(&self) -> &str {
        match self {
            Self::Type { name } | Self::Scalar { name } => name,
            Self::Variable { type_name, .. } => type_name,
        }
    }

    /// The variable's name, if it is one.
    pub fn variable(&self) -> Option<&str> {
        match self {
            Self::Type { .. } => None,
            Self::Variable { name, .. } | Self::Scalar { name } => Some(name),
        }
    }
}

/// One contended line of a type, over all its objects; or one of a variable. Where its objects begin at
/// several places in a line, or an array lies on several lines, what is one thing to a reader: the lines around one
/// member.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Place among the findings, from 1.
    pub rank: u32,
    /// What it is called by.
    pub kind: FindingKind,
    /// What it is about.
    pub subject: FindingSubject,
    /// Types from the outermost inwards to the member with the most transfers.
    pub types_path: Vec<String>,
    /// Where the line (of adjacent ones, the first) begins, in bytes from the object's first; negative
    /// where the object begins inside the line.
    /// Where objects begin at several places in a line, that of the first of `places`.
    pub line_offset: i64,
    /// Where its lines begin, most transfers first: one, unless one member (or array) has most transfers on
    /// several. None for [`Kind::AdjacentLine`].
    pub places: Vec<LinePlace>,
    /// Bytes of a line.
    pub line_bytes: u32,
    /// Its coherence events; none for [`Kind::AdjacentLine`], see `adjacent`.
    pub tally: CoherenceTally,
    /// Its transfers as a fraction of all in the profile.
    pub share: f64,
    /// What [`Kind::AdjacentLine`] is about: an estimate, which is in no sum of transfers.
    pub adjacent: Option<AdjacentLines>,
    /// Distinct objects (base addresses, over all runs) with coherence events on this line.
    pub objects: u64,
    /// Contexts that accessed the line.
    pub contexts: u32,
    /// Fraction of the runs in which it kept its place: within two ranks of `rank`, or within the
    /// first ten if it is there. `None` with one run.
    pub stability: Option<f64>,
    /// Its events are not counted but expected, from rates of sampled accesses ([`crate::rates`]).
    pub estimated: bool,
    /// Transfers of its lines that hardware told of (HITM), samples times their period: of whole lines,
    /// also where others lie on them. Not in `tally`. `None` where it does not tell, or nothing was
    /// sampled.
    pub hitm: Option<u64>,
    /// Members on the line that were accessed, by offset.
    pub members: Vec<FindingMember>,
    /// Instructions that accessed the line; those in most transfers first.
    pub sites: Vec<SiteUse>,
    /// Who lost the line to whom; most transfers first.
    pub pairs: Vec<ConflictPair>,
    /// Members that only contexts other than their writers read, with the transfers that this costs, where
    /// it is a twentieth of the line's at least; most first.
    pub remote_reads: Vec<RemoteRead>,
    /// Transfers whose other side was in another object on the same line, by that object's name.
    pub neighbours: BTreeMap<String, u64>,
    /// Where the objects were allocated, in words, with the transfers on them; empty for variables and
    /// where it is not known.
    pub origins: BTreeMap<String, u64>,
    /// What it is called by in each run alone: in how many of those in which it is. Empty with one run.
    pub kinds_by_run: BTreeMap<FindingKind, u32>,
    /// What could be done; nothing where the finding [is unstable](Self::is_unstable).
    pub remedies: Vec<Remedy>,
}

impl Finding {
    /// Whether it is another thing in some runs: its kind there is another one.
    pub fn is_unstable(&self) -> bool {
        self.kinds_by_run.keys().any(|kind| *kind != self.kind)
    }
}

impl Finding {
    /// How far into a line its objects begin, in bytes; `None` if not all begin at one place.
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

/// Where a line lies in objects that begin at one place in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinePlace {
    /// Where it begins, in bytes from the object's first; negative where the object begins inside it.
    pub line_offset: i64,
    /// Transfers on it.
    pub transfers: u64,
    /// Distinct objects (base addresses, over all runs) with coherence events on it.
    pub objects: u64,
}

/// A member that only contexts other than its writer read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteRead {
    /// The member's path, or the variable's name.
    pub member: String,
    /// Read transfers by loads of it.
    pub transfers: u64,
    /// Those of them that bring what was stored to it. The others follow stores beside it.
    pub needed: u64,
}

/// What a pair of lines costs those who use it, as an estimate.
#[derive(Clone, Debug, PartialEq)]
pub struct AdjacentLines {
    /// Pair transfers that were sampled.
    pub samples: u64,
    /// Pair transfers that they stand for.
    pub pair_transfers: u64,
    /// 95 % interval of that, from the number of samples.
    pub interval: [u64; 2],
    /// What one costs, in transfers.
    pub coefficient: f64,
    /// What they cost together, in transfers: `coefficient` times `pair_transfers`.
    pub cost_transfers: f64,
    /// Who disturbed whom; most first.
    pub pairs: Vec<AdjacentPair>,
}

/// Pair transfers between two ways of access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdjacentPair {
    /// The access that was disturbed.
    pub here: AccessSide,
    /// The last store to the other line.
    pub there: AccessSide,
    /// How many were sampled.
    pub samples: u64,
    /// How many that stands for.
    pub pair_transfers: u64,
}

/// A member on a contended line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindingMember {
    /// Path from the subject's type (`mmap_lock.owner`); a variable's name; empty for a hole.
    pub name: String,
    /// Bytes from the object's first byte.
    pub offset: i64,
    /// Bytes.
    pub size: u64,
    /// Loads, read-writes included.
    pub reads: u64,
    /// Stores, read-writes included.
    pub writes: u64,
    /// Stores that left every byte as it was; `None` where values were not seen.
    pub silent_writes: Option<u64>,
    /// Contexts that accessed it.
    pub contexts: u32,
    /// Of them, those that stored.
    pub writers: u32,
    /// Transfers whose missing access was to it.
    pub transfers: u64,
}

impl FindingMember {
    /// Whether its accesses were counted: collectors count those of a line from its first few coherence
    /// events on, so that of lines with fewer only these events are known. Then `reads`, `writes` and `writers`
    /// are 0 for want of a number.
    pub fn is_counted(&self) -> bool {
        self.reads > 0 || self.writes > 0
    }
}

/// Instructions of one source line that accessed a contended line in one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteUse {
    /// Where they come from.
    pub source: SiteSource,
    /// What they do.
    pub access: AccessKind,
    /// How often they accessed the line since it became contended.
    pub count: u64,
    /// Transfers that they had to wait for.
    pub transfers: u64,
    /// Transfers that others had to wait for because of them.
    pub caused: u64,
}

/// Coherence events between two ways of access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictPair {
    /// The access that missed (or upgraded).
    pub here: AccessSide,
    /// The one on the other side: the last to write what was needed, else the last to write the
    /// line; for an upgrade one that shared it.
    pub there: AccessSide,
    /// Events.
    pub tally: CoherenceTally,
}

/// One side of a [`Pair`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccessSide {
    /// The member's path, or the variable's name; with the object's name before it where it is not
    /// the finding's subject.
    pub member: String,
    /// What it did.
    pub access: AccessKind,
    /// Where it comes from.
    pub source: SiteSource,
}

/// Lines that could not be given to an object.
#[derive(Clone, Debug, PartialEq)]
pub struct UnresolvedLines {
    /// What is known: the kind of memory.
    pub class: String,
    /// Their coherence events.
    pub tally: CoherenceTally,
    /// Transfers as a fraction of all in the profile.
    pub share: f64,
    /// Distinct lines, over all runs.
    pub lines: u64,
    /// Instructions that missed there; most transfers first.
    pub sites: Vec<SiteUse>,
}

/// `part / whole`, or `none` if there is no whole.
pub(crate) fn share(part: u64, whole: u64, none: f64) -> f64 {
    if whole == 0 {
        none
    } else {
        part as f64 / whole as f64
    }
}
