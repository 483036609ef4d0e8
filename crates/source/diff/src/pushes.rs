//! Search for the members that moved others.
//!
//! A member that kept its place in the order moves by as much as the member before it, unless
//! something changed between the two: a member was added or removed, the member before has another
//! size, or a hole had room. The changed member is the pusher of all members behind it.

use crate::change::{MemberMove, MemberPush, MoveCause};
use crate::type_layout::{PlacedMember, TypeLayout};

use index::PusherSearch;

mod index;

/// Most members in front of a member that are searched for its predecessor. Only a union of very
/// many alternatives has more between the two.
const LOOK_BACK_MAX: usize = 256;

/// Most pushes whose pushers are searched. No type of a compiler has more.
const PUSHES_MAX: usize = 4096;

/// Position of a kept member in both layouts in bits, and the push that moved it.
#[derive(Clone, Copy)]
struct KeptMember {
    member: usize,
    old: (u64, u64),
    new: (u64, u64),
    push: Option<usize>,
    /// Index of the first member that can push the next one: the one behind it, or an alternative of
    /// the same union before it that reaches further.
    pushers_from: usize,
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
    let search = PusherSearch::new(old, new, members);
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
            pushers_from: index + 1,
        };
        here.pushers_from = first_pusher(old, new, members, &here);
        let (far, others) = followed_members(&kept, &here);
        let base = far.map_or(0, |far| far.delta());
        let inherited = far.and_then(|far| far.push);
        here.push = match here.delta() {
            0 => None,
            delta if delta == base => inherited,
            delta => {
                let bits = delta.saturating_sub(base);
                let by = if pushes.len() < PUSHES_MAX {
                    search.find(members, &others, index, bits)
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

/// Returns [`KeptMember::pushers_from`].
fn first_pusher(
    old: &TypeLayout,
    new: &TypeLayout,
    members: &[MemberMove],
    here: &KeptMember,
) -> usize {
    let reaches_further = |change: &MemberMove| {
        let (extent, own) = match (change.cause, change.old, change.new) {
            (MoveCause::Added | MoveCause::Reordered, _, Some(at)) => (&new.members[at], here.new),
            (MoveCause::Removed, Some(at), _) => (&old.members[at], here.old),
            _ => return None,
        };
        let (start, end) = member_extent(extent);
        Some(start < own.1 && end > own.1)
    };
    let before = members[..here.member].iter().enumerate().rev();
    let alternatives = before
        .take(LOOK_BACK_MAX)
        .map_while(|(index, change)| Some((index, reaches_further(change)?)));
    let further = alternatives.filter(|(_, is_further)| *is_further).last();
    further.map_or(here.member + 1, |(index, _)| index)
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
