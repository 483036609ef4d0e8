//! Differences between two layouts of one type, as data.

use crate::type_layout::BitGap;

/// One member in both layouts.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberMove {
    /// Index in the old layout's members; `None` for an added member.
    pub old: Option<usize>,
    /// Index in the new layout's members; `None` for a removed member.
    pub new: Option<usize>,
    /// Reason for its new offset.
    pub cause: MoveCause,
    /// For an added member, the former use of its bytes. For a removed member, their new use.
    pub room: Option<MemberRoom>,
    /// Index in [`TypeDiffDetail::members`](crate::TypeDiffDetail::members) of a member with the
    /// same offset, size and type in the other layout under another name: probably the same member,
    /// renamed.
    pub twin: Option<usize>,
}

/// Reason for a member's offset in the new layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveCause {
    /// Same offset as before.
    Stayed,
    /// New member.
    Added,
    /// Member without counterpart in the new layout.
    Removed,
    /// Member that the source declares at another place in the order.
    Reordered,
    /// Member that kept its place in the order, after a change before it. The number is an index in
    /// [`TypeDiffDetail::pushes`](crate::TypeDiffDetail::pushes).
    Pushed(usize),
}

/// Gap that was opened, closed or resized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GapChange {
    /// Gap in the old layout.
    pub old: Option<BitGap>,
    /// Gap in the new layout.
    pub new: Option<BitGap>,
    /// Member in front of the gap: index in
    /// [`TypeDiffDetail::members`](crate::TypeDiffDetail::members).
    pub after: Option<usize>,
}

/// Two members that share a cache line in one of the two layouts only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairChange {
    /// Index in `TypeDiffDetail::members`; the earlier one in the new order.
    pub first: usize,
    /// Index in `TypeDiffDetail::members`.
    pub second: usize,
    /// True if the members share a line in the new layout; false if they shared one in the old
    /// layout.
    pub together: bool,
    /// First shared line, in the layout in which the two share it.
    pub line: u64,
}

/// Change that moved all members behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberPush {
    /// Members that caused the push, side by side. Empty if only the alignment of the moved member
    /// explains it.
    pub pushers: Vec<Pusher>,
    /// Distance in bits by which the members behind it moved; negative towards the start.
    pub moved_bits: i64,
    /// Earlier push that moved the same members too: index in `TypeDiffDetail::pushes`.
    pub on_top_of: Option<usize>,
}

/// Member that moved others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pusher {
    /// Index in `TypeDiffDetail::members`.
    pub member: usize,
    /// Change of this member.
    pub action: PusherAction,
}

/// Change of a member that moved others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PusherAction {
    /// Added.
    Came,
    /// Removed.
    Left,
    /// Moved to this place.
    MovedIn,
    /// Moved away from this place.
    MovedOut,
    /// Size changed.
    Resized,
}

/// Use of a member's bytes in the layout that does not have the member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberRoom {
    /// One gap of the other layout holds the whole member.
    Gap {
        /// Gap of the other layout.
        gap: BitGap,
    },
    /// A gap of the other layout holds the first bits of the member.
    GapPart {
        /// Gap of the other layout.
        gap: BitGap,
        /// Number of the member's bits in the gap.
        bits: u64,
    },
    /// The bytes belong to another alternative of a union, which both layouts have.
    Union {
        /// Index of the alternative in `TypeDiffDetail::members`.
        member: usize,
    },
    /// A removed member had the bytes; for a removed member, an added member has them.
    MemberPlace {
        /// Index of the other member in `TypeDiffDetail::members`.
        member: usize,
    },
}
