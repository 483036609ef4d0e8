//! Search for the members that moved others.
//!
//! A member that kept its place in the order moves by as much as the member before it, unless
//! something changed between the two: a member was added or removed, the member before has another
//! size, or a hole had room. The changed member is the pusher of all members behind it.

use crate::change::{MemberMove, MemberPush, MemberRoom, MoveCause, Pusher, PusherAction};
use crate::type_layout::{PlacedMember, TypeLayout};

/// Most members in front of a member that are searched for its predecessor. Only a union of very
/// many alternatives has more between the two.
const LOOK_BACK_MAX: usize = 256;

/// Most pushers of one push that are named.
const PUSHERS_MAX: usize = 16;

/// Most pushes whose pushers are searched. No type of a compiler has more.
const PUSHES_MAX: usize = 4096;

/// Position of a kept member in both layouts in bits, and the push that moved it.
#[derive(Clone, Copy)]
struct KeptMember {
    member: usize,
    old: (u64, u64),
    new: (u64, u64),
    push: Option<usize>,
}

impl KeptMember {
    fn delta(&self) -> i64 {
        to_signed(self.new.0).saturating_sub(to_signed(self.old.0))
    }

    /// Bits by which the member grew.
    fn growth(&self) -> i64 {
        let size = |(start, end)| to_signed(end).saturating_sub(to_signed(start));
        size(self.new).saturating_sub(size(self.old))
    }
}

/// Marks the kept members that moved with the push that moved them. Returns the pushes.
pub(super) fn explain_pushes(
    old: &TypeLayout,
    new: &TypeLayout,
    members: &mut [MemberMove],
) -> Vec<MemberPush> {
    let mut pushes: Vec<MemberPush> = Vec::new();
    let mut kept: Vec<KeptMember> = Vec::new();
    for index in 0..members.len() {
        let MemberMove {
            old: Some(was),
            new: Some(is),
            cause: MoveCause::Stayed,
            ..
        } = members[index]
        else {
            continue;
        };
        let mut here = KeptMember {
            member: index,
            old: member_extent(&old.members[was]),
            new: member_extent(&new.members[is]),
            push: None,
        };
        let (far, others) = followed_members(&kept, &here);
        let base = far.map_or(0, |far| far.delta());
        let inherited = far.and_then(|far| far.push);
        here.push = match here.delta() {
            0 => None,
            delta if delta == base => inherited,
            delta => {
                let bits = delta.saturating_sub(base);
                let by = if pushes.len() < PUSHES_MAX {
                    find_pushers(members, (old, new), &others, index, bits)
                } else {
                    Vec::new()
                };
                let push = MemberPush {
                    pushers: by,
                    moved_bits: bits,
                    on_top_of: inherited,
                };
                // Members in front of a union push all its alternatives.
                if pushes.last() != Some(&push) {
                    pushes.push(push);
                }
                Some(pushes.len() - 1)
            }
        };
        if let Some(push) = here.push {
            members[index].cause = MoveCause::Pushed(push);
        }
        kept.push(here);
    }
    pushes
}

fn member_extent(member: &PlacedMember) -> (u64, u64) {
    (member.start_bits(), member.end_bits())
}

fn to_signed(bits: u64) -> i64 {
    i64::try_from(bits).unwrap_or(i64::MAX)
}

/// Predecessor of `here` in the new layout, and its predecessors in either layout. In a union,
/// another alternative may have reached further before.
fn followed_members(
    kept: &[KeptMember],
    here: &KeptMember,
) -> (Option<KeptMember>, Vec<KeptMember>) {
    let apart = |other: &&KeptMember| other.old.1 <= here.old.0 && other.new.1 <= here.new.0;
    let earlier = || kept.iter().rev().take(LOOK_BACK_MAX).filter(apart);
    // Of equals the nearest.
    let furthest = |end: fn(&KeptMember) -> u64| {
        let mut best: Option<&KeptMember> = None;
        for other in earlier() {
            if best.is_none_or(|best| end(other) > end(best)) {
                best = Some(other);
            }
        }
        best.copied()
    };
    let in_new = furthest(|other| other.new.1);
    let in_old = furthest(|other| other.old.1);
    let mut followed: Vec<KeptMember> = in_new.into_iter().collect();
    followed.extend(in_old.filter(|other| {
        followed
            .iter()
            .all(|earlier| earlier.member != other.member)
    }));
    (in_new, followed)
}

/// Changes between the predecessors of `here` and `here` itself that move members in the direction
/// of `bits`.
fn find_pushers(
    members: &[MemberMove],
    (old, new): (&TypeLayout, &TypeLayout),
    follows: &[KeptMember],
    here: usize,
    bits: i64,
) -> Vec<Pusher> {
    let was_room = |index: usize| {
        matches!(
            members[index].room,
            Some(MemberRoom::Gap { .. } | MemberRoom::Union { .. })
        )
    };
    let resized = || {
        let same_way = |kept: &&KeptMember| kept.growth().signum() == bits.signum();
        let kept = follows.iter().filter(same_way);
        kept.map(|kept| (kept.member, PusherAction::Resized))
    };
    let start = follows.iter().map(|kept| kept.member + 1).min();
    let between = start.unwrap_or(0)..here;
    let grows = bits > 0;
    let inside = || {
        between.clone().filter_map(|index| {
            let deed = match (members[index].cause, grows) {
                (MoveCause::Added, true) => PusherAction::Came,
                (MoveCause::Removed, false) => PusherAction::Left,
                (MoveCause::Reordered, true) => PusherAction::MovedIn,
                _ => return None,
            };
            Some((index, deed))
        })
    };
    // A member that was moved away stands elsewhere in the new order; in the old order it is
    // between the two.
    let was = |index: usize| members[index].old;
    let from = follows.iter().filter_map(|kept| was(kept.member)).min();
    let left = || {
        members.iter().enumerate().filter_map(|(index, member)| {
            let moved = !grows && member.cause == MoveCause::Reordered;
            let between = member.old > from && member.old < was(here);
            (moved && between).then_some((index, PusherAction::MovedOut))
        })
    };
    let takes_room = |index: usize| {
        let member = &members[index];
        let field = match (member.new, member.old) {
            (Some(at), _) => &new.members[at],
            (None, Some(at)) => &old.members[at],
            (None, None) => return false,
        };
        field.size_bits() > 0
    };
    let candidates = || resized().chain(inside()).chain(left());
    // A member that filled a hole pushed nobody, unless there is no other candidate.
    let found: Vec<Pusher> = candidates()
        .filter(|(index, _)| takes_room(*index) && !was_room(*index))
        .take(PUSHERS_MAX)
        .map(|(member, deed)| Pusher {
            member,
            action: deed,
        })
        .collect();
    if !found.is_empty() {
        return found;
    }
    candidates()
        .filter(|(index, _)| takes_room(*index))
        .take(PUSHERS_MAX)
        .map(|(member, deed)| Pusher {
            member,
            action: deed,
        })
        .collect()
}
