//! What can be asked for.

pub use crate::edit::MoveSpacing;

/// One change of a struct definition. Members are named as in C, nested ones by path
/// (`stats.count`); members of anonymous structs by their own name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceChange {
    /// Put members elsewhere in the same struct.
    MoveMembers {
        /// What moves as one, with its comments: a member, all of a run of bitfields, all members
        /// of an anonymous struct or union, or several members that stand next to each other.
        members: Vec<String>,
        /// Where they go.
        to: MemberPosition,
        /// Blank lines afterwards; `None`: as the file's style asks for.
        spacing: Option<MoveSpacing>,
        /// Why they stand there: becomes a comment above them.
        reason: Option<String>,
    },
    /// Declare members in one statement that stand in statements of their own, next to each other: what
    /// a move took apart, put together again.
    JoinDeclarations {
        /// The statement: `int a, *b;`. It has to declare what those do, in any order; a comment behind one of
        /// them stays behind it.
        text: String,
    },
    /// Make one of two `#if` groups, one of which ends where the other begins: what a move took apart, put
    /// together again. Refused if a member would stand under another condition then.
    JoinGroups {
        /// The last member before the `#endif`.
        behind: String,
        /// The `#else` or `#elif` with which the second goes on; `None`: it has the condition of the first.
        line: Option<String>,
    },
    /// Align a member.
    AlignMember {
        /// The member.
        member: String,
        /// To what.
        alignment: WrittenAlignment,
        /// Why: becomes a comment above it.
        reason: Option<String>,
    },
    /// Align the whole type.
    AlignType {
        /// To what.
        alignment: WrittenAlignment,
        /// Why: becomes a comment on the line above the closing brace, beside the attribute.
        reason: Option<String>,
    },
    /// Take the alignment that is written on a member, or on the type, away. An `#include` for it
    /// and comments stay.
    RemoveAlignment {
        /// The member; `None`: the type.
        member: Option<String>,
    },
    /// A new member that nothing uses: an array of bytes.
    AddPadding {
        /// Its name, which the struct must not have.
        name: String,
        /// How many bytes.
        bytes: u64,
        /// Where it goes.
        to: MemberPosition,
        /// Why: becomes a comment above it.
        reason: Option<String>,
    },
    /// Take a padding member away: an array of bytes, or a macro that makes one.
    RemovePadding {
        /// The member.
        member: String,
    },
}

/// A place in a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberPosition {
    /// The first of the struct, or of the named nested struct that the member's path leads into.
    First,
    /// The last of it, above the closing brace.
    Last,
    /// Behind this member. To stand behind an anonymous struct or union, name the last member in
    /// that.
    After(String),
    /// Before this member, or before the anonymous struct or union that it is the first of.
    Before(String),
    /// The same, below the comment that stands above it.
    Below(String),
}

impl MemberPosition {
    /// Behind a member, or first where there is none.
    pub fn after(member: Option<impl Into<String>>) -> Self {
        member.map_or(Self::First, |member| Self::After(member.into()))
    }

    /// The member beside which it is; `None` for the first and the last place.
    pub(crate) fn anchor(&self) -> Option<&String> {
        match self {
            Self::First | Self::Last => None,
            Self::After(member) | Self::Before(member) | Self::Below(member) => Some(member),
        }
    }

    /// Whether it is in front of that member.
    pub(crate) fn is_before(&self) -> bool {
        matches!(self, Self::Before(_) | Self::Below(_))
    }
}

/// An alignment as it is written in source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WrittenAlignment {
    /// In bytes: `__aligned(N)` in kernel source, `__attribute__((aligned(N)))` elsewhere.
    Bytes(u32),
    /// A macro such as `____cacheline_aligned_in_smp`. Those of `<linux/cache.h>` bring the
    /// include with them; any other must be defined in the file itself.
    Macro(String),
}
