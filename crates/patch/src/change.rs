//! What can be asked for.

/// One change of a struct definition. Members are named as in C, nested ones by path
/// (`stats.count`); members of anonymous structs by their own name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Put a member elsewhere in the same struct.
    MoveMember {
        /// The member that moves, with its comments.
        member: String,
        /// The member that it comes to stand behind; `None` makes it the first of the struct, or
        /// of the named nested struct that its path leads into. To stand behind an anonymous
        /// struct or union, name the last member in that.
        after: Option<String>,
        /// Why it stands there: becomes a comment above it.
        reason: Option<String>,
    },
    /// Align a member.
    AlignMember {
        /// The member.
        member: String,
        /// To what.
        alignment: Alignment,
        /// Why: becomes a comment above it.
        reason: Option<String>,
    },
    /// Align the whole type.
    AlignType {
        /// To what.
        alignment: Alignment,
        /// Why: becomes a comment on the line above the closing brace, beside the attribute.
        reason: Option<String>,
    },
}

/// An alignment as it is written in source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Alignment {
    /// In bytes: `__aligned(N)` in kernel source, `__attribute__((aligned(N)))` elsewhere.
    Bytes(u32),
    /// A macro such as `____cacheline_aligned_in_smp`. Those of `<linux/cache.h>` bring the
    /// include with them; any other must be defined in the file itself.
    Macro(String),
}
