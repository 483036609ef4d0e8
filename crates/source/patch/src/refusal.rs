//! Why an edit was not made.

use std::fmt;

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileLine {
    /// The file as the caller named it.
    pub file: String,
    /// 1-based line, of the text as the changes before the refused one left it.
    pub line: u32,
}

impl fmt::Display for FileLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// An edit that cannot be made safely, with the reason and the place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditRefusal {
    /// The file is part of the user-space ABI.
    #[error("{file}: user-space ABI, its structs must keep their layout")]
    Uapi {
        /// The file.
        file: String,
    },
    /// No definition with a body.
    #[error("{file}: no definition of struct {name}")]
    StructNotFound {
        /// The file.
        file: String,
        /// The tag asked for.
        name: String,
    },
    /// More than one definition: only one of them is in the recorded binary.
    #[error("{first}: struct {name} is defined again at {second}")]
    DefinedTwice {
        /// The tag.
        name: String,
        /// First definition.
        first: FileLine,
        /// Second definition.
        second: FileLine,
    },
    /// A packed struct is a format for wire, disk or hardware.
    #[error("{place}: struct {name} is packed: others rely on its layout")]
    Packed {
        /// The tag.
        name: String,
        /// Where that is written.
        place: FileLine,
    },
    /// The file has a static assertion about the struct, which another layout may break.
    #[error(
        "{place}: the size or a place in struct {name} is asserted here: change this with it by hand"
    )]
    Asserted {
        /// The tag.
        name: String,
        /// The assertion.
        place: FileLine,
    },
    /// The type is a union, or the member lies in one.
    #[error("{place}: {name} is a union or a member of one")]
    InUnion {
        /// The tag or member.
        name: String,
        /// Where.
        place: FileLine,
    },
    /// A conditional or a bracket opens in the struct and closes outside, or the reverse.
    #[error("{place}: the preprocessor or brackets cut through the definition")]
    CutByPreprocessor {
        /// Where.
        place: FileLine,
    },
    /// An alignment that is no number.
    #[error(
        "{place}: the alignment '{text}' is not read: write a power of two up to 4096, as in __aligned(64)"
    )]
    AlignmentNotRead {
        /// What is written.
        text: String,
        /// Where.
        place: FileLine,
    },
    /// No such member.
    #[error("{place}: struct {name} has no member {member} that can be told from its text")]
    MemberNotFound {
        /// The tag.
        name: String,
        /// The member.
        member: String,
        /// The definition.
        place: FileLine,
    },
    /// The member is declared more than once (in branches of an `#if`).
    #[error("{first}: {member} is declared again at {second}")]
    MemberTwice {
        /// The member.
        member: String,
        /// First declaration.
        first: FileLine,
        /// Second declaration.
        second: FileLine,
    },
    /// A macro makes the member, or a statement that is not understood.
    #[error("{place}: {member} comes from a macro or from a statement that is not understood")]
    MacroMember {
        /// The member.
        member: String,
        /// Where.
        place: FileLine,
    },
    /// `int a, b;`
    #[error("{place}: {member} shares a declaration with other members")]
    SharedDeclaration {
        /// The member.
        member: String,
        /// Where.
        place: FileLine,
    },
    /// The declaration does not have its lines for itself.
    #[error("{place}: {member} shares a line with other code")]
    SharedLine {
        /// The member, or the tag when it is the brace's line.
        member: String,
        /// Where.
        place: FileLine,
    },
    /// Member and target position are in different `#if` groups.
    #[error("{place}: {member} would leave or enter an #if group")]
    ConditionalGroup {
        /// The member.
        member: String,
        /// The position that the move cannot keep.
        place: FileLine,
    },
    /// Member and target position are in different nested structs.
    #[error("{place}: {member} would leave or enter a nested struct")]
    NestedStruct {
        /// The member.
        member: String,
        /// The target.
        place: FileLine,
    },
    /// One of several adjacent bitfields, or a place between them.
    #[error("{place}: {member} would break a run of bitfields")]
    BitfieldRun {
        /// The member.
        member: String,
        /// Where.
        place: FileLine,
    },
    /// A bitfield cannot be aligned.
    #[error("{place}: {member} is a bitfield and cannot be aligned")]
    Bitfield {
        /// The member.
        member: String,
        /// Where.
        place: FileLine,
    },
    /// A flexible or zero-length array marks the end or a place.
    #[error("{place}: {member} is a flexible or zero-length array, which must stay where it is")]
    FlexibleArray {
        /// The member.
        member: String,
        /// Where.
        place: FileLine,
    },
    /// The move leads into or out of a group of members that are to be on the same lines.
    #[error(
        "{place}: {member} would {verb} the cache line group {group}, of which code elsewhere asserts members and \
         size (CACHELINE_ASSERT_GROUP_MEMBER, ..._SIZE): change these with it by hand"
    )]
    LineGroup {
        /// The member.
        member: String,
        /// What it would do.
        verb: &'static str,
        /// The group.
        group: String,
        /// The mark that it would pass.
        place: FileLine,
    },
    /// The move leads into or out of what is between `randomized_struct_fields_start` and `_end`, or crosses
    /// an access specifier.
    #[error("{place}: {member} would cross {border}")]
    CrossesBorder {
        /// The member.
        member: String,
        /// The border as written.
        border: String,
        /// Where.
        place: FileLine,
    },
    /// There is an alignment already.
    #[error("{place}: {name} has an alignment already")]
    AlreadyAligned {
        /// The member or the tag.
        name: String,
        /// Where.
        place: FileLine,
    },
    /// Not a power of two.
    #[error("{bytes} is not an alignment: no power of two")]
    BadAlignment {
        /// As given.
        bytes: u32,
    },
    /// Neither from `<linux/cache.h>` nor defined in the file.
    #[error("{file}: macro {name} is not known to be defined for this file")]
    UnknownMacro {
        /// The file.
        file: String,
        /// The macro.
        name: String,
    },
    /// The macro needs an include and the file has no place for one.
    #[error("{file}: no place found for #include <{header}>")]
    NoPlaceForInclude {
        /// The file.
        file: String,
        /// The header.
        header: String,
    },
    /// A reason that would end the comment it becomes.
    #[error("a reason for {name} holds a comment delimiter")]
    BadReason {
        /// The member or the tag.
        name: String,
    },
    /// The struct is as asked already.
    #[error("{place}: {member} is there already")]
    NothingToDo {
        /// The member.
        member: String,
        /// Where.
        place: FileLine,
    },
    /// Members that are to move as one have another between them.
    #[error("{place}: this stands between {member} and others that are to move with it")]
    NotTogether {
        /// The first that was named.
        member: String,
        /// What stands between.
        place: FileLine,
    },
    /// Statements that do not declare what one statement would, or do not stand next to each other.
    #[error("{place}: what stands here cannot be declared as '{text}'")]
    NotJoined {
        /// As given.
        text: String,
        /// The first of the statements, or the definition.
        place: FileLine,
    },
    /// No `#if` group ends and another begins there that could be one.
    #[error("{place}: behind {member} no two #if groups stand that could be one")]
    GroupsNotJoined {
        /// The last member before the place.
        member: String,
        /// Where it is, or the definition.
        place: FileLine,
    },
    /// There is no alignment that could be taken away by itself.
    #[error("{place}: no alignment of {name} stands here by itself")]
    NotAligned {
        /// The member or the tag.
        name: String,
        /// Where.
        place: FileLine,
    },
    /// The member is no array of bytes, so it may hold something.
    #[error("{place}: {member} is no array of bytes and no padding macro")]
    NotPadding {
        /// The member.
        member: String,
        /// Where.
        place: FileLine,
    },
    /// Not a name that the struct does not have yet, or no bytes.
    #[error("{place}: '{name}' with {bytes} bytes cannot be a new member of it")]
    BadPadding {
        /// As given.
        name: String,
        /// As given.
        bytes: u64,
        /// The definition.
        place: FileLine,
    },
    /// No assignment to the member begins there.
    #[error("{place}: no assignment to {member} begins on this line")]
    NoStore {
        /// The member.
        member: String,
        /// The line.
        place: FileLine,
    },
    /// An assignment that cannot be made conditional as it is.
    #[error("{place}: the assignment to {member} stays as it is: {why}")]
    StoreNotGuarded {
        /// The member.
        member: String,
        /// What is in the way.
        why: &'static str,
        /// Where.
        place: FileLine,
    },
    /// What Rust does not let one do, or not by this.
    #[error("{place}: struct {name} stays as it is: {why}")]
    RustNotEdited {
        /// The struct.
        name: String,
        /// What is in the way, and what can be done.
        why: &'static str,
        /// Where.
        place: FileLine,
    },
    /// A move of nothing.
    #[error("no member is named that is to move")]
    NoMembers,
    /// No move gives the old bytes.
    #[error("no move takes this change back to the old text")]
    NoInverse,
    /// Reading the result back did not give the members in the order asked for.
    #[error("{place}: the edited text of struct {name} does not read back as intended")]
    NotAsIntended {
        /// The tag.
        name: String,
        /// The definition.
        place: FileLine,
    },
}

impl EditRefusal {
    /// A short fixed word for the kind, for counting.
    pub fn kind(&self) -> &'static str {
        match self {
            EditRefusal::Uapi { .. } => "uapi",
            EditRefusal::StructNotFound { .. } => "struct not found",
            EditRefusal::DefinedTwice { .. } => "defined twice",
            EditRefusal::Asserted { .. } => "asserted",
            EditRefusal::Packed { .. } => "packed",
            EditRefusal::RustNotEdited { .. } => "rust",
            EditRefusal::NoStore { .. } => "no store",
            EditRefusal::StoreNotGuarded { .. } => "store not guarded",
            EditRefusal::NotJoined { .. } => "not joined",
            EditRefusal::GroupsNotJoined { .. } => "groups not joined",
            EditRefusal::NotAligned { .. } => "not aligned",
            EditRefusal::NotPadding { .. } => "not padding",
            EditRefusal::BadPadding { .. } => "bad padding",
            EditRefusal::InUnion { .. } => "union",
            EditRefusal::CutByPreprocessor { .. } => "cut by preprocessor",
            EditRefusal::AlignmentNotRead { .. } => "alignment not read",
            EditRefusal::MemberNotFound { .. } => "member not found",
            EditRefusal::MemberTwice { .. } => "member twice",
            EditRefusal::MacroMember { .. } => "macro member",
            EditRefusal::SharedDeclaration { .. } => "shared declaration",
            EditRefusal::SharedLine { .. } => "shared line",
            EditRefusal::ConditionalGroup { .. } => "conditional group",
            EditRefusal::NestedStruct { .. } => "nested struct",
            EditRefusal::BitfieldRun { .. } => "bitfield run",
            EditRefusal::Bitfield { .. } => "bitfield",
            EditRefusal::FlexibleArray { .. } => "flexible array",
            EditRefusal::LineGroup { .. } => "line group",
            EditRefusal::CrossesBorder { .. } => "border",
            EditRefusal::AlreadyAligned { .. } => "already aligned",
            EditRefusal::BadAlignment { .. } => "bad alignment",
            EditRefusal::UnknownMacro { .. } => "unknown macro",
            EditRefusal::NoPlaceForInclude { .. } => "no place for include",
            EditRefusal::BadReason { .. } => "bad reason",
            EditRefusal::NothingToDo { .. } => "nothing to do",
            EditRefusal::NotTogether { .. } => "not together",
            EditRefusal::NoMembers => "no members",
            EditRefusal::NoInverse => "no inverse",
            EditRefusal::NotAsIntended { .. } => "not as intended",
        }
    }
}
