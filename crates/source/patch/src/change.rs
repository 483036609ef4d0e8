//! Changes of a struct definition.

use crate::refusal::EditRefusal;
pub use crate::spacing::MoveSpacing;

/// A change of a struct definition. Members are named as in C, nested ones by path
/// (`stats.count`), members of anonymous structs by their own name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceChange {
    /// Moves members within the same struct.
    MoveMembers {
        /// The members that move together, with their comments: one member, all of a run of
        /// bitfields, all members of an anonymous struct or union, or several adjacent members.
        members: Vec<String>,
        /// Target of the move.
        to: MemberPosition,
        /// Blank lines after the move; `None`: by the style of the file.
        spacing: Option<MoveSpacing>,
        /// Reason of the move; becomes a comment above the members.
        reason: Option<String>,
    },
    /// Joins adjacent statements to one that declares the same members: the inverse of a move
    /// that took a declaration apart.
    JoinDeclarations {
        /// The joined statement: `int a, *b;`. It declares the members of the separate
        /// statements, in any order; a comment behind a member stays behind it.
        text: String,
    },
    /// Joins two adjacent `#if` groups: the inverse of a move that took a group apart. Refused if
    /// the condition of a member would change.
    JoinGroups {
        /// The last member before the `#endif`.
        behind: String,
        /// The `#else` or `#elif` that begins the second group; `None`: both have the same
        /// condition.
        line: Option<String>,
    },
    /// Aligns a member. The type of a Rust field is wrapped in one that has the alignment.
    AlignMember {
        /// The member.
        member: String,
        /// The alignment.
        alignment: WrittenAlignment,
        /// Reason of the alignment; becomes a comment above the member.
        reason: Option<String>,
    },
    /// Aligns the whole type.
    AlignType {
        /// The alignment.
        alignment: WrittenAlignment,
        /// Reason of the alignment; becomes a comment on the line above the closing brace, beside
        /// the attribute.
        reason: Option<String>,
    },
    /// Removes the alignment that is written on a member or on the type. The `#include` of its
    /// macro and comments stay.
    RemoveAlignment {
        /// The member; `None`: the type.
        member: Option<String>,
    },
    /// Adds an array of bytes that nothing uses.
    AddPadding {
        /// Name of the new member; the struct has no member of that name.
        name: String,
        /// Size in bytes.
        bytes: u64,
        /// Position of the new member.
        to: MemberPosition,
        /// Reason of the padding; becomes a comment above the member.
        reason: Option<String>,
    },
    /// Removes a padding member: an array of bytes, or a macro that declares one.
    RemovePadding {
        /// The member.
        member: String,
    },
    /// Fixes the order of a Rust struct's fields by `#[repr(C)]`.
    FixOrder {
        /// Fields in the new order. A field that is not named stays behind the one above it.
        fields: Vec<String>,
    },
}

impl SourceChange {
    /// Returns the request of a move of members; `None` for other changes.
    pub fn as_move(&self) -> Option<MoveRequest<'_>> {
        match self {
            Self::MoveMembers {
                members,
                to,
                spacing,
                reason,
            } => Some(MoveRequest {
                members,
                to,
                spacing: *spacing,
                reason: reason.as_deref(),
            }),
            _ => None,
        }
    }

    /// Returns true if the struct has other members behind the change than before.
    pub(crate) fn changes_members(&self) -> bool {
        matches!(self, Self::AddPadding { .. } | Self::RemovePadding { .. })
    }
}

/// A requested move: the fields of [`SourceChange::MoveMembers`].
#[derive(Clone, Copy, Debug)]
pub struct MoveRequest<'a> {
    /// Members that move together.
    pub members: &'a [String],
    /// Target of the move.
    pub to: &'a MemberPosition,
    /// Blank lines after the move; `None`: by the style of the file.
    pub spacing: Option<MoveSpacing>,
    /// Reason of the move.
    pub reason: Option<&'a str>,
}

/// A position in a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberPosition {
    /// In front of the first member, of the struct or of the nested struct that the member's path
    /// leads into.
    First,
    /// Behind the last member, above the closing brace.
    Last,
    /// Behind this member. The last member of an anonymous struct or union stands for the whole
    /// of it.
    After(String),
    /// Before this member. The first member of an anonymous struct or union stands for the whole
    /// of it.
    Before(String),
    /// Before this member, below the comment above it.
    Below(String),
}

impl MemberPosition {
    /// Behind a member; the first position for `None`.
    pub fn after(member: Option<impl Into<String>>) -> Self {
        member.map_or(Self::First, |member| Self::After(member.into()))
    }

    /// The member beside the position; `None` for the first and the last position.
    pub(crate) fn anchor(&self) -> Option<&String> {
        match self {
            Self::First | Self::Last => None,
            Self::After(member) | Self::Before(member) | Self::Below(member) => Some(member),
        }
    }

    /// Returns true if the position is in front of that member.
    pub(crate) fn is_before(&self) -> bool {
        matches!(self, Self::Before(_) | Self::Below(_))
    }
}

/// An alignment to write into source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WrittenAlignment {
    /// In bytes: `__aligned(N)` in kernel source, `__attribute__((aligned(N)))` elsewhere in C,
    /// `alignas(N)` in C++. In Rust, a type of that alignment is added beside the struct.
    Bytes(u32),
    /// A macro such as `____cacheline_aligned_in_smp`. A macro of `<linux/cache.h>` brings its
    /// `#include`; any other has to be defined in the file.
    Macro(String),
    /// `CachePadded` of a crate that a Rust project uses, by the path of its module:
    /// `crossbeam_utils`. A field is wrapped in it.
    CachePadded {
        /// Path of the module.
        module: String,
    },
}

impl WrittenAlignment {
    /// Refusal of an alignment that a file has no meaning for.
    pub(crate) fn unknown_refusal(&self, file: &str) -> EditRefusal {
        EditRefusal::UnknownMacro {
            file: file.to_owned(),
            name: match self {
                Self::Bytes(bytes) => bytes.to_string(),
                Self::Macro(name) => name.clone(),
                Self::CachePadded { module } => format!("{module}::CachePadded"),
            },
        }
    }
}
