//! Model of the rules and of the conditions under which they apply.
//!
//! A [`CheckConfig`] has [`RuleSection`]s. The first section is the top level of the file and
//! applies everywhere. A section contains [`TypeRules`], and these contain [`LayoutAssertion`]s.
//! Offsets and sizes are in bytes. Offsets count from the start of the checked type. A *line* is a
//! cache line. The type is assumed to begin on a line.

use std::fmt;

use crate::{Date, GlobPattern, MachineArchitecture, MemberPattern, TypePattern};

/// Contents of `relayout.toml`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckConfig {
    /// Default cache line size in bytes, a power of two. Sections and configurations can set
    /// another size.
    pub line_bytes: Option<u64>,
    /// Named configurations, in the order of the file.
    pub configurations: Vec<BuildConfiguration>,
    /// Top level of the file, then its sections in order.
    pub sections: Vec<RuleSection>,
    /// Violations that are accepted for a while.
    pub waivers: Vec<Waiver>,
}

/// Position in the text of the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConfigPosition {
    /// Line number, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl fmt::Display for ConfigPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Named way to build the checked program: `[configuration.rt]`.
#[derive(Clone, Debug, PartialEq)]
pub struct BuildConfiguration {
    /// Name of the configuration.
    pub name: String,
    /// Conditions that put the configuration in force for a file. A configuration without
    /// conditions is in force only if the caller names it.
    pub conditions: Vec<SectionCondition>,
    /// Cache line size in bytes.
    pub line_bytes: Option<u64>,
    /// Position in the text.
    pub at: ConfigPosition,
}

/// Rules that apply to some files: `[[section]]`, or the top level.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleSection {
    /// Names of [`BuildConfiguration`]s of which one must be in force. An empty list means any.
    pub configurations: Vec<String>,
    /// Names of [`BuildConfiguration`]s of which none may be in force.
    pub not_configurations: Vec<String>,
    /// Conditions that the file must also meet.
    pub conditions: Vec<SectionCondition>,
    /// Cache line size in bytes.
    pub line_bytes: Option<u64>,
    /// Rules for types, in the order of the file.
    pub types: Vec<TypeRules>,
    /// Position in the text.
    pub at: ConfigPosition,
}

/// Condition on a file.
#[derive(Clone, Debug, PartialEq)]
pub enum SectionCondition {
    /// The path of the file, or its last component, matches one of these patterns.
    Files(Vec<GlobPattern>),
    /// The file is for one of these machines.
    Machine(Vec<MachineArchitecture>),
    /// The pointers of the file have this size in bytes: 4 or 8.
    PointerBytes(u64),
    /// The byte order of the file is little endian (`true`) or big endian (`false`).
    LittleEndian(bool),
    /// The build id of the file begins with one of these hexadecimal prefixes.
    BuildId(Vec<String>),
    /// All of these options hold in the kernel's `.config`.
    Kconfig(Vec<KconfigOption>),
    /// All of these types and members exist (or do not exist).
    Has(Vec<TypePresence>),
}

/// Option of the kernel's configuration and its value: `CONFIG_SMP=y`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KconfigOption {
    /// Name of the option, with `CONFIG_`.
    pub option: String,
    /// Value in the syntax of `.config`: `y`, `m`, a number, a string in quotes; `n` if the option
    /// is not set.
    pub value: String,
}

/// Existence of a type or member: `spinlock.rlock.dep_map`, `!lockdep_map`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypePresence {
    /// True if the type or member must not exist.
    pub not: bool,
    /// Exact name of the type, without globs.
    pub type_name: TypePattern,
    /// Exact path of the member; `None` means the type itself.
    pub member: Option<MemberPattern>,
}

/// Rules for the types that a pattern matches: `[[type]]`.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeRules {
    /// Pattern of the type names.
    pub name: TypePattern,
    /// Pattern of the source files of the definitions; `None` means any file.
    pub declared_in: Option<GlobPattern>,
    /// True if a missing type or member is no violation.
    pub optional: bool,
    /// Reason for the rules, for readers of a violation.
    pub reason: Option<String>,
    /// Assertions in the order of the text.
    pub assertions: Vec<LayoutAssertion>,
    /// Position in the text.
    pub at: ConfigPosition,
}

/// Assertion about a type.
#[derive(Clone, Debug, PartialEq)]
pub struct LayoutAssertion {
    /// Rule that must hold.
    pub rule: LayoutRule,
    /// Position in the text.
    pub at: ConfigPosition,
}

/// Rule for a type. A member glob extends the rule to all members that match.
#[derive(Clone, Debug, PartialEq)]
pub enum LayoutRule {
    /// `sizeof` is at most this number of bytes.
    SizeMax(u64),
    /// `sizeof` is exactly this number of bytes.
    Size(u64),
    /// The type is aligned to at least this number of bytes.
    Align(u64),
    /// The member begins at this offset.
    At {
        /// Pattern of one member.
        member: MemberPattern,
        /// Offset of the member in bytes.
        offset: u64,
    },
    /// The member's offset and the type's alignment are multiples of this number of bytes.
    Aligned {
        /// Pattern of the members.
        member: MemberPattern,
        /// Alignment in bytes, a power of two.
        bytes: u64,
    },
    /// The first bytes of all members share a cache line.
    SameLine(Vec<MemberPattern>),
    /// All bytes of all members share a cache line.
    WithinLine(Vec<MemberPattern>),
    /// No cache line contains bytes of two of these members. Members that one glob matches count as
    /// one.
    DifferentLines(Vec<MemberPattern>),
    /// No aligned pair of cache lines (128 bytes for lines of 64 bytes) contains bytes of two of
    /// these members.
    DifferentPairs(Vec<MemberPattern>),
    /// The member touches no more cache lines than its size needs.
    NoStraddle(MemberPattern),
    /// The hot members of the profile keep the layout of the lock file.
    AsRecorded(AsRecorded),
}

/// Strictness of the rule `as_recorded`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AsRecorded {
    /// Members that shared a cache line still share one, and members on different lines are still
    /// on different lines.
    Lines,
    /// Members also keep their offsets.
    Offsets,
}

/// Name of a rule kind: its key in the configuration, in waivers and in reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RuleId {
    /// [`LayoutRule::SizeMax`].
    SizeMax,
    /// [`LayoutRule::Size`].
    Size,
    /// [`LayoutRule::Align`].
    Align,
    /// [`LayoutRule::At`].
    At,
    /// [`LayoutRule::Aligned`].
    Aligned,
    /// [`LayoutRule::SameLine`].
    SameLine,
    /// [`LayoutRule::WithinLine`].
    WithinLine,
    /// [`LayoutRule::DifferentLines`].
    DifferentLines,
    /// [`LayoutRule::DifferentPairs`].
    DifferentPairs,
    /// [`LayoutRule::NoStraddle`].
    NoStraddle,
    /// [`LayoutRule::AsRecorded`].
    AsRecorded,
    /// Existence of the types and members that rules name. A configuration cannot contain this
    /// rule.
    Exists,
}

impl LayoutRule {
    /// Kind of the rule.
    pub fn id(&self) -> RuleId {
        match self {
            Self::SizeMax(_) => RuleId::SizeMax,
            Self::Size(_) => RuleId::Size,
            Self::Align(_) => RuleId::Align,
            Self::At { .. } => RuleId::At,
            Self::Aligned { .. } => RuleId::Aligned,
            Self::SameLine(_) => RuleId::SameLine,
            Self::WithinLine(_) => RuleId::WithinLine,
            Self::DifferentLines(_) => RuleId::DifferentLines,
            Self::DifferentPairs(_) => RuleId::DifferentPairs,
            Self::NoStraddle(_) => RuleId::NoStraddle,
            Self::AsRecorded(_) => RuleId::AsRecorded,
        }
    }

    /// Members that the rule names, in the order of the text.
    pub fn members(&self) -> &[MemberPattern] {
        match self {
            Self::SizeMax(_) | Self::Size(_) | Self::Align(_) | Self::AsRecorded(_) => &[],
            Self::At { member, .. } | Self::Aligned { member, .. } | Self::NoStraddle(member) => {
                std::slice::from_ref(member)
            }
            Self::SameLine(members)
            | Self::WithinLine(members)
            | Self::DifferentLines(members)
            | Self::DifferentPairs(members) => members,
        }
    }
}

impl LayoutRule {
    /// Returns true for the rules that keep the entries of a group apart.
    pub(crate) fn is_apart(&self) -> bool {
        matches!(self, Self::DifferentLines(_) | Self::DifferentPairs(_))
    }
}

impl RuleId {
    /// All rule kinds with their keys in the configuration, and a sentence that describes each.
    const TABLE: [(Self, &str, &str); 12] = [
        (
            Self::SizeMax,
            "size_max",
            "The type has at most so many bytes.",
        ),
        (Self::Size, "size", "The type has exactly so many bytes."),
        (
            Self::Align,
            "align",
            "The type is aligned to at least so many bytes.",
        ),
        (Self::At, "at", "The member begins at this offset."),
        (
            Self::Aligned,
            "aligned",
            "The member's offset and the type's alignment are multiples of so many bytes.",
        ),
        (
            Self::SameLine,
            "same_line",
            "The first bytes of the members lie on one cache line.",
        ),
        (
            Self::WithinLine,
            "within_line",
            "All bytes of the members lie on one cache line.",
        ),
        (
            Self::DifferentLines,
            "different_lines",
            "No cache line holds bytes of two of the members.",
        ),
        (
            Self::DifferentPairs,
            "different_pairs",
            "No aligned pair of cache lines holds bytes of two members.",
        ),
        (
            Self::NoStraddle,
            "no_straddle",
            "The member touches no more cache lines than its size needs.",
        ),
        (
            Self::AsRecorded,
            "as_recorded",
            "The members that a profile showed to be hot share cache lines as they did when the lock file was written.",
        ),
        (
            Self::Exists,
            "exists",
            "The types and members that the configuration names are there.",
        ),
    ];

    /// All rule kinds.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::TABLE.iter().map(|(rule, ..)| *rule)
    }

    /// Key of the rule in the configuration.
    pub fn as_str(self) -> &'static str {
        self.row().1
    }

    /// Name of the rule for lists of rules in code scanning: `DifferentLines`.
    pub fn title(self) -> String {
        let words = self.as_str().split('_');
        let capitals = words.map(|word| word[..1].to_ascii_uppercase() + &word[1..]);
        capitals.collect()
    }

    /// Reason for asserting the rule, and the direction of a remedy.
    pub fn purpose(self) -> &'static str {
        match self {
            Self::SizeMax | Self::Size => {
                "A larger type takes more cache lines, and fewer objects fit into a slab. Find the \
                 member that grew or came in, and the holes that could take it."
            }
            Self::Align => {
                "Objects of a type that is aligned to a cache line begin on a line, so that lines of \
                 members count from its start. Give the type its alignment again."
            }
            Self::At => {
                "Other code, another language or a file format relies on the offset. Move the member \
                 back, or change what relies on it."
            }
            Self::Aligned => {
                "A member that is aligned to a cache line begins on a line in every object. Give the \
                 member or its type the alignment again."
            }
            Self::SameLine | Self::WithinLine => {
                "Code uses the members together, and one cache line serves all of them. Move the \
                 member that left the line back, or what pushed it elsewhere."
            }
            Self::DifferentLines | Self::DifferentPairs => {
                "Different CPUs write the members, and on one line they invalidate each other's \
                 copies (false sharing). Move a member away, or align it to a line of its own."
            }
            Self::NoStraddle => {
                "A member on more lines than its size needs costs two transfers instead of one, and \
                 a split lock if it is atomic. Move the member to an offset that is a multiple of its size."
            }
            Self::AsRecorded => {
                "A recording showed which members are hot and shared a line or did not. Compare the \
                 layout with relayout.lock, and record again if the change is intended."
            }
            Self::Exists => {
                "A rule about a missing type or member asserts nothing. Correct the name in \
                 relayout.toml, or set `optional = true` if some builds lack it."
            }
        }
    }

    /// Sentence that describes the rule.
    pub fn help(self) -> &'static str {
        self.row().2
    }

    fn row(self) -> &'static (Self, &'static str, &'static str) {
        let mut rows = Self::TABLE.iter();
        rows.find(|(rule, ..)| *rule == self)
            .expect("the table has all rules")
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Violation that is accepted until a date.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiver {
    /// Types of the waived violations.
    pub type_name: TypePattern,
    /// Rule of the waived violations; `None` means any.
    pub rule: Option<RuleId>,
    /// Member, by the path in reports, that the rule names; `None` means any.
    pub member: Option<GlobPattern>,
    /// Files of the waived violations. An empty list means all files.
    pub files: Vec<GlobPattern>,
    /// Reason for the waiver.
    pub reason: String,
    /// Last day of the waiver.
    pub expires: Date,
    /// Position in the text.
    pub at: ConfigPosition,
}
