//! What can be asserted of layouts, and where it applies.
//!
//! A [`Config`] holds [`Section`]s; the first is the file's top level, which applies everywhere. A
//! section that applies to a file holds [`TypeRules`], and those hold [`Assertion`]s. Offsets and
//! sizes are in bytes, offsets from the start of the type that is checked. A *line* is a cache line;
//! the type is taken to begin on one.

use std::fmt;

use crate::{Date, GlobPattern, MachineArchitecture, MemberPattern, TypePattern};

/// All that `relayout.toml` says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckConfig {
    /// Bytes of a cache line where neither section nor configuration says so; a power of two.
    pub line_bytes: Option<u64>,
    /// Named configurations, in the order of the file.
    pub configurations: Vec<BuildConfiguration>,
    /// The top level of the file first, then its sections in order.
    pub sections: Vec<RuleSection>,
    /// Violations that are known and accepted for a while.
    pub waivers: Vec<Waiver>,
}

/// A place in the text of the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConfigPosition {
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
}

impl fmt::Display for ConfigPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A way in which the checked program is built, by name: `[configuration.rt]`.
#[derive(Clone, Debug, PartialEq)]
pub struct BuildConfiguration {
    /// Its name.
    pub name: String,
    /// It is in force for a file that meets all of these; without any, only where the caller names
    /// it.
    pub conditions: Vec<SectionCondition>,
    /// Bytes of a cache line in it.
    pub line_bytes: Option<u64>,
    /// Where it is in the text.
    pub at: ConfigPosition,
}

/// Rules that apply to some files: `[[section]]`, or the top level.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleSection {
    /// The names of [`Configuration`]s of which one must be in force; empty: it does not matter.
    pub configurations: Vec<String>,
    /// The names of those of which none may be.
    pub not_configurations: Vec<String>,
    /// What the file must meet besides.
    pub conditions: Vec<SectionCondition>,
    /// Bytes of a cache line in it.
    pub line_bytes: Option<u64>,
    /// What is asserted, in the order of the file.
    pub types: Vec<TypeRules>,
    /// Where it is in the text.
    pub at: ConfigPosition,
}

/// Something that a file can be asked.
#[derive(Clone, Debug, PartialEq)]
pub enum SectionCondition {
    /// Its path, or the last part of it, matches one of these.
    Files(Vec<GlobPattern>),
    /// It is for one of these machines.
    Machine(Vec<MachineArchitecture>),
    /// Bytes of a pointer: 4 or 8.
    PointerBytes(u64),
    /// Whether the least byte comes first.
    LittleEndian(bool),
    /// Its build id begins with one of these, in hexadecimal.
    BuildId(Vec<String>),
    /// All of these hold in the kernel's `.config`.
    Kconfig(Vec<KconfigOption>),
    /// All of these types and members are there (or are not).
    Has(Vec<TypePresence>),
}

/// `CONFIG_SMP=y`: an option of the kernel's configuration and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KconfigOption {
    /// With `CONFIG_`.
    pub option: String,
    /// As `.config` has it: `y`, `m`, a number, a string in quotes; `n` where the option is not set.
    pub value: String,
}

/// `spinlock.rlock.dep_map`, `!lockdep_map`: whether there is such a type or member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypePresence {
    /// Must not be there.
    pub not: bool,
    /// Exact, no glob.
    pub type_name: TypePattern,
    /// A member of it, exact; `None`: the type itself.
    pub member: Option<MemberPattern>,
}

/// What is asserted of the types that a pattern matches: `[[type]]`.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeRules {
    /// Which types.
    pub name: TypePattern,
    /// Only definitions from source files that match; `None`: all of this name.
    pub declared_in: Option<GlobPattern>,
    /// A type or member that is not there is no violation.
    pub optional: bool,
    /// Why it is asserted, for those who see it violated.
    pub reason: Option<String>,
    /// In the order of the text.
    pub assertions: Vec<LayoutAssertion>,
    /// Where it is in the text.
    pub at: ConfigPosition,
}

/// One assertion.
#[derive(Clone, Debug, PartialEq)]
pub struct LayoutAssertion {
    /// What must hold.
    pub rule: LayoutRule,
    /// Where it is in the text.
    pub at: ConfigPosition,
}

/// What must hold of a type. Where a member is a glob, it must hold for all that it matches.
#[derive(Clone, Debug, PartialEq)]
pub enum LayoutRule {
    /// `sizeof` is at most so many bytes.
    SizeMax(u64),
    /// `sizeof` is exactly so many bytes.
    Size(u64),
    /// The type is aligned to at least so many bytes.
    Align(u64),
    /// The member begins at this offset.
    At {
        /// One member.
        member: MemberPattern,
        /// Its offset.
        offset: u64,
    },
    /// The member's offset and the type's alignment are multiples of so many bytes.
    Aligned {
        /// Which members.
        member: MemberPattern,
        /// A power of two.
        bytes: u64,
    },
    /// The first bytes of all members lie on one line.
    SameLine(Vec<MemberPattern>),
    /// All bytes of all members lie on one line.
    WithinLine(Vec<MemberPattern>),
    /// No line holds bytes of two of these; members that one glob matches are one of these.
    DifferentLines(Vec<MemberPattern>),
    /// No aligned pair of lines (128 bytes, where a line has 64) holds bytes of two of these.
    DifferentPairs(Vec<MemberPattern>),
    /// The member touches no more lines than its size needs.
    NoStraddle(MemberPattern),
    /// The members that a profile showed to be hot lie as the lock file has them.
    AsRecorded(AsRecorded),
}

/// How much of a record must still hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AsRecorded {
    /// Those that shared a line still do, those that did not still do not.
    Lines,
    /// Their offsets too.
    Offsets,
}

/// The name of a kind of rule: its key in the configuration, and what waivers and reports call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RuleId {
    /// [`Rule::SizeMax`].
    SizeMax,
    /// [`Rule::Size`].
    Size,
    /// [`Rule::Align`].
    Align,
    /// [`Rule::At`].
    At,
    /// [`Rule::Aligned`].
    Aligned,
    /// [`Rule::SameLine`].
    SameLine,
    /// [`Rule::WithinLine`].
    WithinLine,
    /// [`Rule::DifferentLines`].
    DifferentLines,
    /// [`Rule::DifferentPairs`].
    DifferentPairs,
    /// [`Rule::NoStraddle`].
    NoStraddle,
    /// [`Rule::AsRecorded`].
    AsRecorded,
    /// Not written in a configuration: a type or member that it names is not there.
    Exists,
}

impl LayoutRule {
    /// What kind of rule it is.
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

    /// The members that it names, in the order of the text.
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

impl RuleId {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::SizeMax,
        Self::Size,
        Self::Align,
        Self::At,
        Self::Aligned,
        Self::SameLine,
        Self::WithinLine,
        Self::DifferentLines,
        Self::DifferentPairs,
        Self::NoStraddle,
        Self::AsRecorded,
        Self::Exists,
    ];

    /// Its key in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SizeMax => "size_max",
            Self::Size => "size",
            Self::Align => "align",
            Self::At => "at",
            Self::Aligned => "aligned",
            Self::SameLine => "same_line",
            Self::WithinLine => "within_line",
            Self::DifferentLines => "different_lines",
            Self::DifferentPairs => "different_pairs",
            Self::NoStraddle => "no_straddle",
            Self::AsRecorded => "as_recorded",
            Self::Exists => "exists",
        }
    }

    /// What it asserts, in a sentence.
    pub fn help(self) -> &'static str {
        match self {
            Self::SizeMax => "The type has at most so many bytes.",
            Self::Size => "The type has exactly so many bytes.",
            Self::Align => "The type is aligned to at least so many bytes.",
            Self::At => "The member begins at this offset.",
            Self::Aligned => {
                "The member's offset and the type's alignment are multiples of so many bytes."
            }
            Self::SameLine => "The first bytes of the members lie on one cache line.",
            Self::WithinLine => "All bytes of the members lie on one cache line.",
            Self::DifferentLines => "No cache line holds bytes of two of the members.",
            Self::DifferentPairs => "No aligned pair of cache lines holds bytes of two members.",
            Self::NoStraddle => "The member touches no more cache lines than its size needs.",
            Self::AsRecorded => {
                "The members that a profile showed to be hot share cache lines as they did when the lock file was written."
            }
            Self::Exists => "The types and members that the configuration names are there.",
        }
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A violation that is known and accepted until a day.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiver {
    /// Of which types.
    pub type_name: TypePattern,
    /// Of which rule; `None`: of any.
    pub rule: Option<RuleId>,
    /// Of a rule that names this member, by the path as reported; `None`: of any.
    pub member: Option<GlobPattern>,
    /// In these files only; empty: in all.
    pub files: Vec<GlobPattern>,
    /// Why it is accepted.
    pub reason: String,
    /// The last day on which it counts.
    pub expires: Date,
    /// Where it is in the text.
    pub at: ConfigPosition,
}
