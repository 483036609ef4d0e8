//! Where an added member found room, and what became of a removed one's: the answer to "why did
//! this new member not move anything".
use crate::detail::{MemberMove, MoveCause};
use crate::gaps::BitGap;
use crate::shape::{PlacedMember, TypeLayout};

/// Members before one that are looked at for those that it stands behind.
const LOOK_BACK_MAX: usize = 256;

/// Bytes or bits that were, or have become, unused; or others'.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberRoom {
    /// A gap holds all of it: `gap` is one of the other shape's.
    Gap {
        /// The gap.
        gap: BitGap,
    },
    /// A gap holds its first bits only.
    GapPart {
        /// The gap.
        gap: BitGap,
        /// Bits of the member that are in it.
        bits: u64,
    },
    /// It shares its bytes with another alternative of a union, which is in both shapes: index in
    /// `Detail::members`.
    Union {
        /// The other.
        member: usize,
    },
    /// The place of a member that was removed, or for a removed one of one that was added: index
    /// in `Detail::members`.
    MemberPlace {
        /// The other.
        member: usize,
    },
}

/// Fills in `room` of added and removed members, and `twin` of those that look renamed.
pub(super) fn explain_room(old: &TypeLayout, new: &TypeLayout, members: &mut [MemberMove]) {
    let forwards = ComparisonView {
        here: new,
        there: old,
        mirrored: false,
    };
    let backwards = ComparisonView {
        here: old,
        there: new,
        mirrored: true,
    };
    for index in 0..members.len() {
        let view = match members[index].cause {
            MoveCause::Added => &forwards,
            MoveCause::Removed => &backwards,
            _ => continue,
        };
        let (room, twin) = view.find_room(members, index);
        members[index].room = room;
        members[index].twin = twin;
    }
}

/// The shape that a member is in and the other one.
struct ComparisonView<'s> {
    here: &'s TypeLayout,
    there: &'s TypeLayout,
    mirrored: bool,
}

impl<'s> ComparisonView<'s> {
    fn member_here(&self, member: &MemberMove) -> Option<&'s PlacedMember> {
        let at = if self.mirrored {
            member.old
        } else {
            member.new
        };
        at.map(|at| &self.here.members[at])
    }

    fn member_there(&self, member: &MemberMove) -> Option<&'s PlacedMember> {
        let at = if self.mirrored {
            member.new
        } else {
            member.old
        };
        at.map(|at| &self.there.members[at])
    }

    fn find_room(
        &self,
        members: &[MemberMove],
        index: usize,
    ) -> (Option<MemberRoom>, Option<usize>) {
        let Some(field) = self.member_here(&members[index]) else {
            return (None, None);
        };
        if field.size_bits() == 0 {
            return (None, None);
        }
        let (here, there) = self.followed_ends(members, index, field);
        let Some(start) = (field.start_bits() - here).checked_add(there) else {
            return (None, None);
        };
        let end = start.saturating_add(field.size_bits());
        let near = || {
            let first = index.saturating_sub(LOOK_BACK_MAX);
            let last = members.len().min(index + LOOK_BACK_MAX);
            (first..last).filter(move |other| *other != index)
        };
        let (mut place, mut twin, mut union) = (None, None, None);
        for other in near() {
            let member = &members[other];
            let Some(there) = self.member_there(member) else {
                continue;
            };
            let overlaps = there.start_bits() < end && there.end_bits() > start;
            if !overlaps {
                continue;
            }
            let opposite = if self.mirrored {
                MoveCause::Added
            } else {
                MoveCause::Removed
            };
            if member.cause == opposite {
                place = place.or(Some(other));
                let exact = there.start_bits() == start && there.end_bits() == end;
                if exact && there.type_name == field.type_name {
                    twin = twin.or(Some(other));
                }
            } else if self.shares_union(field, member) {
                union = union.or(Some(other));
            }
        }
        let room = match (twin.or(place), union) {
            (Some(of), _) => Some(MemberRoom::MemberPlace { member: of }),
            (None, Some(with)) => Some(MemberRoom::Union { member: with }),
            (None, None) => self.room_in_gap(there, start, end),
        };
        (room, twin)
    }

    /// Whether the two share bytes here, as alternatives of a union do. The array that an element's
    /// member is in does not count.
    fn shares_union(&self, field: &PlacedMember, other: &MemberMove) -> bool {
        self.member_here(other).is_some_and(|other| {
            let inside = field.path.strip_prefix(&*other.path);
            let inside = inside.is_some_and(|rest| rest.starts_with("[]"));
            let overlaps =
                other.start_bits() < field.end_bits() && other.end_bits() > field.start_bits();
            overlaps && !inside
        })
    }

    /// Where the kept member that this one follows ends, here and in the other shape. The member
    /// would begin there as far behind it as it does here.
    fn followed_ends(
        &self,
        members: &[MemberMove],
        index: usize,
        field: &PlacedMember,
    ) -> (u64, u64) {
        let earlier = members[..index].iter().rev().take(LOOK_BACK_MAX);
        let mut best: Option<(u64, u64)> = None;
        for member in earlier {
            let kept = matches!(member.cause, MoveCause::Stayed | MoveCause::Pushed(_));
            let (true, Some(here), Some(there)) =
                (kept, self.member_here(member), self.member_there(member))
            else {
                continue;
            };
            let ends_before = here.end_bits() <= field.start_bits();
            if ends_before && best.is_none_or(|(end, _)| here.end_bits() > end) {
                best = Some((here.end_bits(), there.end_bits()));
            }
        }
        best.unwrap_or((0, 0))
    }

    /// The gap that begins no later than `follows` and holds the bits from `start` on.
    fn room_in_gap(&self, follows: u64, start: u64, end: u64) -> Option<MemberRoom> {
        let gaps = &self.there.gaps;
        let after = gaps.partition_point(|gap| gap.start_bits <= start);
        let gap = *gaps.get(after.checked_sub(1)?)?;
        if gap.start_bits > follows {
            return None;
        }
        if gap.end_bits() >= end {
            Some(MemberRoom::Gap { gap })
        } else {
            let bits = gap.end_bits().checked_sub(start).filter(|bits| *bits > 0)?;
            Some(MemberRoom::GapPart { gap, bits })
        }
    }
}
