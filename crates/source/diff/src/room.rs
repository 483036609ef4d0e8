//! Search for the former use of an added member's bytes, and for the new use of a removed member's
//! bytes.

use crate::change::{MemberMove, MemberRoom, MoveCause};
use crate::type_layout::{PlacedMember, TypeLayout};

/// Most members in front of a member that are searched for its predecessor.
const LOOK_BACK_MAX: usize = 256;

/// Sets `room` of added and removed members, and `twin` of those that look renamed.
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

/// Layout of a member, and the layout without it.
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

    /// Returns true if the two share bytes here, as alternatives of a union do. An array that
    /// contains the member of an element does not count.
    fn shares_union(&self, field: &PlacedMember, other: &MemberMove) -> bool {
        self.member_here(other).is_some_and(|other| {
            let inside = field.path.strip_prefix(&*other.path);
            let inside = inside.is_some_and(|rest| rest.starts_with("[]"));
            let overlaps =
                other.start_bits() < field.end_bits() && other.end_bits() > field.start_bits();
            overlaps && !inside
        })
    }

    /// End of the member's predecessor in both layouts, in bits. The member is taken to be as far
    /// behind its predecessor in the layout that does not have it.
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

    /// Gap that begins no later than `follows` and holds the bits from `start` on.
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
