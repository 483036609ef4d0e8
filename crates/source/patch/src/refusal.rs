//! Reasons for which an edit is refused.

use std::fmt;

use relayout_messages::UserFacingError;

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileLine {
    /// File name as given by the caller.
    pub file: String,
    /// Line, from 1, in the text before the refused change.
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
    /// The file has no definition of the struct with a body.
    #[error("{file}: no definition of struct {name}")]
    StructNotFound {
        /// The file.
        file: String,
        /// The tag.
        name: String,
    },
    /// The file has more than one definition; only one of them is in the recorded binary.
    #[error("{first}: struct {name} is defined again at {second}")]
    DefinedTwice {
        /// The tag.
        name: String,
        /// First definition.
        first: FileLine,
        /// Second definition.
        second: FileLine,
    },
    /// The struct is packed: a format for wire, disk or hardware.
    #[error("{place}: struct {name} is packed: others rely on its layout")]
    Packed {
        /// The tag.
        name: String,
        /// Line of the attribute or pragma that packs the struct.
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
        /// The line.
        place: FileLine,
    },
    /// A conditional or a bracket opens in the struct and closes outside, or the reverse.
    #[error("{place}: the preprocessor or brackets cut through the definition")]
    CutByPreprocessor {
        /// The line.
        place: FileLine,
    },
    /// The alignment is not written as a number.
    #[error(
        "{place}: the alignment '{text}' is not read: write a power of two up to 4096, as in __aligned(64)"
    )]
    AlignmentNotRead {
        /// The alignment as written.
        text: String,
        /// The line.
        place: FileLine,
    },
    /// The struct has no such member.
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
    /// The member comes from a macro, or from a statement that is not understood.
    #[error("{place}: {member} comes from a macro or from a statement that is not understood")]
    MacroMember {
        /// The member.
        member: String,
        /// The line.
        place: FileLine,
    },
    /// The member shares its declaration with others: `int a, b;`.
    #[error("{place}: {member} shares a declaration with other members")]
    SharedDeclaration {
        /// The member.
        member: String,
        /// The line.
        place: FileLine,
    },
    /// The declaration shares a line with other code.
    #[error("{place}: {member} shares a line with other code")]
    SharedLine {
        /// The member; the tag for the line of the brace.
        member: String,
        /// The line.
        place: FileLine,
    },
    /// The member and its target are in different `#if` groups.
    #[error("{place}: {member} would leave or enter an #if group")]
    ConditionalGroup {
        /// The member.
        member: String,
        /// Line of the `#if` that the move cannot keep.
        place: FileLine,
    },
    /// The member and its target are in different nested structs.
    #[error("{place}: {member} would leave or enter a nested struct")]
    NestedStruct {
        /// The member.
        member: String,
        /// Line of the target.
        place: FileLine,
    },
    /// The move would take apart a run of adjacent bitfields.
    #[error("{place}: {member} would break a run of bitfields")]
    BitfieldRun {
        /// The member.
        member: String,
        /// The line.
        place: FileLine,
    },
    /// The member is a bitfield, which cannot be aligned.
    #[error("{place}: {member} is a bitfield and cannot be aligned")]
    Bitfield {
        /// The member.
        member: String,
        /// The line.
        place: FileLine,
    },
    /// The member has no name to put an attribute on: `struct counters;`.
    #[error("{place}: {member} is a member without a name and cannot be aligned")]
    UnnamedMember {
        /// The member, by its tag.
        member: String,
        /// The line.
        place: FileLine,
    },
    /// The member is a flexible or zero-length array, which marks an end or a position.
    #[error("{place}: {member} is a flexible or zero-length array, which must stay where it is")]
    FlexibleArray {
        /// The member.
        member: String,
        /// The line.
        place: FileLine,
    },
    /// The move leads into or out of a group of members for the same cache lines.
    #[error(
        "{place}: {member} would {verb} the cache line group {group}, of which code elsewhere asserts members and \
         size (CACHELINE_ASSERT_GROUP_MEMBER, ..._SIZE): change these with it by hand"
    )]
    LineGroup {
        /// The member.
        member: String,
        /// `enter` or `leave`.
        verb: &'static str,
        /// The group.
        group: String,
        /// Line of the mark that the move would pass.
        place: FileLine,
    },
    /// The move crosses `randomized_struct_fields_start` or `_end`, or an access specifier.
    #[error("{place}: {member} would cross {border}")]
    CrossesBorder {
        /// The member.
        member: String,
        /// The border as written.
        border: String,
        /// The line.
        place: FileLine,
    },
    /// The member or type has an alignment already.
    #[error("{place}: {name} has an alignment already")]
    AlreadyAligned {
        /// The member or the tag.
        name: String,
        /// The line.
        place: FileLine,
    },
    /// The alignment is not a power of two.
    #[error("{bytes} is not an alignment: no power of two")]
    BadAlignment {
        /// The value as given.
        bytes: u32,
    },
    /// The macro is neither from `<linux/cache.h>` nor defined in the file.
    #[error("{file}: macro {name} is not known to be defined for this file")]
    UnknownMacro {
        /// The file.
        file: String,
        /// The macro.
        name: String,
    },
    /// The macro needs an `#include`, and the file has no position for one.
    #[error("{file}: no place found for #include <{header}>")]
    NoPlaceForInclude {
        /// The file.
        file: String,
        /// The header.
        header: String,
    },
    /// The reason would end the comment that it becomes.
    #[error("a reason for {name} holds a comment delimiter")]
    BadReason {
        /// The member or the tag.
        name: String,
    },
    /// The struct has the requested form already.
    #[error("{place}: {member} is there already")]
    NothingToDo {
        /// The member.
        member: String,
        /// The line.
        place: FileLine,
    },
    /// Members of a class are initialised in the order of their declarations, and one uses the other.
    #[error(
        "{place}: {member} and {other} are initialised in this order, and one may use the other"
    )]
    InitializedInOrder {
        /// The member.
        member: String,
        /// A member that it would cross.
        other: String,
        /// The initialisation.
        place: FileLine,
    },
    /// No known file has the constructor that initialises the members, in their order.
    #[error(
        "{place}: the definition of this constructor of {name} is not found, and its list of initialisers has \
         this order: give the tree that has it with --source"
    )]
    ConstructedElsewhere {
        /// The class.
        name: String,
        /// Declaration of the constructor.
        place: FileLine,
    },
    /// A constructor's list that would get another order has a directive in it.
    #[error(
        "{place}: a directive stands in a constructor's list of {name}: put the list in the new order by hand"
    )]
    ConditionalList {
        /// The class.
        name: String,
        /// The directive.
        place: FileLine,
    },
    /// Values are given to the members by their order.
    #[error("{place}: the members of {name} get values by position here")]
    ValuesByPosition {
        /// The class.
        name: String,
        /// The values.
        place: FileLine,
    },
    /// Members that are to move together have another between them.
    #[error("{place}: this stands between {member} and others that are to move with it")]
    NotTogether {
        /// The first named member.
        member: String,
        /// Line of the statement between them.
        place: FileLine,
    },
    /// The statements do not declare what the joined one declares, or are not adjacent.
    #[error("{place}: what stands here cannot be declared as '{text}'")]
    NotJoined {
        /// The value as given.
        text: String,
        /// Line of the first statement, or of the definition.
        place: FileLine,
    },
    /// The member stands in front of no two `#if` groups that can be joined.
    #[error("{place}: behind {member} no two #if groups stand that could be one")]
    GroupsNotJoined {
        /// The last member of the first group.
        member: String,
        /// Line of the member, or of the definition.
        place: FileLine,
    },
    /// The member or type has no alignment that can be removed by itself.
    #[error("{place}: no alignment of {name} stands here by itself")]
    NotAligned {
        /// The member or the tag.
        name: String,
        /// The line.
        place: FileLine,
    },
    /// The member is no array of bytes, so it may hold data.
    #[error("{place}: {member} is no array of bytes and no padding macro")]
    NotPadding {
        /// The member.
        member: String,
        /// The line.
        place: FileLine,
    },
    /// The struct has a member of that name, or the size is 0.
    #[error("{place}: '{name}' with {bytes} bytes cannot be a new member of it")]
    BadPadding {
        /// The value as given.
        name: String,
        /// The value as given.
        bytes: u64,
        /// The definition.
        place: FileLine,
    },
    /// No assignment to the member begins on the line.
    #[error("{place}: no assignment to {member} begins on this line")]
    NoStore {
        /// The member.
        member: String,
        /// The line.
        place: FileLine,
    },
    /// The assignment cannot be made conditional.
    #[error("{place}: the assignment to {member} stays as it is: {why}")]
    StoreNotGuarded {
        /// The member.
        member: String,
        /// The obstacle.
        why: &'static str,
        /// The line.
        place: FileLine,
    },
    /// The change is impossible for a Rust struct, or in this way.
    #[error("{place}: struct {name} stays as it is: {why}")]
    RustNotEdited {
        /// The struct.
        name: String,
        /// The obstacle and the remedy.
        why: &'static str,
        /// The line.
        place: FileLine,
    },
    /// The move names no member.
    #[error("no member is named that is to move")]
    NoMembers,
    /// No move gives the old bytes back.
    #[error("no move takes this change back to the old text")]
    NoInverse,
    /// The edited text does not have the members in the requested order.
    #[error("{place}: the edited text of struct {name} does not read back as intended")]
    NotAsIntended {
        /// The tag.
        name: String,
        /// The definition.
        place: FileLine,
    },
}

impl EditRefusal {
    /// Returns the name of the variant, by which refusals can be counted.
    pub fn kind(&self) -> String {
        let words = format!("{self:?}");
        words.split([' ', '(']).take(1).collect()
    }
}

impl UserFacingError for EditRefusal {}
