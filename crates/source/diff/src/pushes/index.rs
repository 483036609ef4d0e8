//! The members that can push others, sorted, so that each search for pushers reads only its results.

use crate::change::{MemberMove, MemberRoom, MoveCause, Pusher, PusherAction};
use crate::type_layout::TypeLayout;

use super::KeptMember;

/// Most pushers of one push that are named.
const PUSHERS_MAX: usize = 16;

/// Search for the pushers of any member of one type.
pub(super) struct PusherSearch {
    /// Members that did not fill a hole or a place in a union.
    without_room: PusherIndex,
    /// All members that take room.
    all: PusherIndex,
}

impl PusherSearch {
    pub(super) fn new(old: &TypeLayout, new: &TypeLayout, members: &[MemberMove]) -> Self {
        let takes_room = |member: &MemberMove| {
            let field = match (member.new, member.old) {
                (Some(at), _) => &new.members[at],
                (None, Some(at)) => &old.members[at],
                (None, None) => return false,
            };
            field.size_bits() > 0
        };
        let had_room = |member: &MemberMove| {
            matches!(
                member.room,
                Some(MemberRoom::Gap { .. } | MemberRoom::Union { .. })
            )
        };
        Self {
            without_room: PusherIndex::new(members, |member| {
                takes_room(member) && !had_room(member)
            }),
            all: PusherIndex::new(members, takes_room),
        }
    }

    /// Changes between the predecessors of `here` and `here` itself that move members in the
    /// direction of `bits`.
    pub(super) fn find(
        &self,
        members: &[MemberMove],
        follows: &[KeptMember],
        here: usize,
        bits: i64,
    ) -> Vec<Pusher> {
        // A member that filled a hole pushed nobody, unless there is no other candidate.
        let found = self.without_room.find(members, follows, here, bits);
        if found.is_empty() {
            return self.all.find(members, follows, here, bits);
        }
        found
    }
}

/// Changed members that meet a condition.
struct PusherIndex {
    /// True for each member that meets the condition.
    accepted: Vec<bool>,
    /// Members that push others towards the end, by index.
    grows: Vec<Pusher>,
    /// Members that let others move towards the start, by index.
    shrinks: Vec<Pusher>,
    /// Members that moved away, by index in the old layout.
    moved_out: Vec<(Option<usize>, Pusher)>,
}

impl PusherIndex {
    fn new(members: &[MemberMove], accepts: impl Fn(&MemberMove) -> bool) -> Self {
        let mut index = Self {
            accepted: members.iter().map(accepts).collect(),
            grows: Vec::new(),
            shrinks: Vec::new(),
            moved_out: Vec::new(),
        };
        for (member, change) in members.iter().enumerate() {
            let pusher = |action| Pusher { member, action };
            match change.cause {
                _ if !index.accepted[member] => {}
                MoveCause::Added => index.grows.push(pusher(PusherAction::Came)),
                MoveCause::Removed => index.shrinks.push(pusher(PusherAction::Left)),
                MoveCause::Reordered => {
                    index.grows.push(pusher(PusherAction::MovedIn));
                    let left = pusher(PusherAction::MovedOut);
                    index.moved_out.push((change.old, left));
                }
                MoveCause::Stayed | MoveCause::Pushed(_) => {}
            }
        }
        index.moved_out.sort_by_key(|(old, _)| *old);
        index
    }

    fn find(
        &self,
        members: &[MemberMove],
        follows: &[KeptMember],
        here: usize,
        bits: i64,
    ) -> Vec<Pusher> {
        let grows = bits > 0;
        let resized = follows
            .iter()
            .filter(|kept| kept.growth().signum() == bits.signum() && self.accepted[kept.member])
            .map(|kept| Pusher {
                member: kept.member,
                action: PusherAction::Resized,
            });
        let start = follows.iter().map(|kept| kept.pushers_from).min();
        let changed = if grows { &self.grows } else { &self.shrinks };
        let inside =
            &changed[changed.partition_point(|pusher| pusher.member < start.unwrap_or(0))..];
        let inside = inside.iter().take_while(|pusher| pusher.member < here);
        // A member that was moved away stands elsewhere in the new order; in the old order it is
        // between the two.
        let was = |index: usize| members[index].old;
        let from = follows.iter().filter_map(|kept| was(kept.member)).min();
        let left = &self.moved_out[self.moved_out.partition_point(|(old, _)| *old <= from)..];
        let left = left
            .iter()
            .take_while(|(old, _)| !grows && *old < was(here))
            .map(|(_, pusher)| pusher);
        resized
            .chain(inside.copied())
            .chain(left.copied())
            .take(PUSHERS_MAX)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ACTIONS: [(MoveCause, bool, PusherAction); 3] = [
        (MoveCause::Added, true, PusherAction::Came),
        (MoveCause::Removed, false, PusherAction::Left),
        (MoveCause::Reordered, true, PusherAction::MovedIn),
    ];

    /// Looks at every member, as the definition of a pusher does.
    fn search_all(
        members: &[MemberMove],
        accepted: &[bool],
        follows: &[KeptMember],
        here: usize,
        grows: bool,
    ) -> Vec<Pusher> {
        let start = follows.iter().map(|kept| kept.pushers_from).min();
        let from = follows
            .iter()
            .filter_map(|kept| members[kept.member].old)
            .min();
        let inside = (start.unwrap_or(0)..here).filter_map(|member| {
            let (_, _, action) = ACTIONS
                .into_iter()
                .find(|(cause, side, _)| *cause == members[member].cause && *side == grows)?;
            Some(Pusher { member, action })
        });
        let is_between = |old: Option<usize>| old > from && old < members[here].old;
        let mut left: Vec<Pusher> = (0..members.len())
            .filter(|_| !grows)
            .filter(|&member| members[member].cause == MoveCause::Reordered)
            .filter(|&member| is_between(members[member].old))
            .map(|member| Pusher {
                member,
                action: PusherAction::MovedOut,
            })
            .collect();
        left.sort_by_key(|pusher| members[pusher.member].old);
        let found = inside.chain(left).filter(|pusher| accepted[pusher.member]);
        found.take(PUSHERS_MAX).collect()
    }

    fn member_moves() -> impl Strategy<Value = Vec<(MemberMove, bool)>> {
        let causes = prop::sample::select(vec![
            MoveCause::Stayed,
            MoveCause::Added,
            MoveCause::Removed,
            MoveCause::Reordered,
        ]);
        let member = (causes, any::<bool>(), any::<u16>());
        prop::collection::vec(member, 2..60).prop_map(|made| {
            let mut orders: Vec<usize> = (0..made.len()).collect();
            orders.sort_by_key(|&index| made[index].2);
            let member = |(&(cause, accepted, _), order): (&(MoveCause, bool, u16), usize)| {
                let moved = MemberMove {
                    old: (cause != MoveCause::Added).then_some(order),
                    new: None,
                    cause,
                    room: None,
                    twin: None,
                };
                (moved, accepted)
            };
            made.iter().zip(orders).map(member).collect()
        })
    }

    proptest! {
        /// One search looked at every member of a type, and thousands of searches of one type took
        /// seconds (found by fuzzing).
        #[test]
        fn the_index_finds_as_a_search_of_all(
            made in member_moves(),
            first in any::<prop::sample::Index>(),
            last in any::<prop::sample::Index>(),
            grows in any::<bool>(),
        ) {
            let (members, accepted): (Vec<MemberMove>, Vec<bool>) = made.into_iter().unzip();
            let (first, here) = (first.index(members.len()), last.index(members.len()));
            let pushers_from = first + 1;
            let follows = [KeptMember { member: first, old: (0, 8), new: (0, 8), push: None, pushers_from }];
            let accepts = |member: &MemberMove| {
                let at = members.iter().position(|other| std::ptr::eq(other, member));
                accepted[at.expect("a member of the list")]
            };
            let index = PusherIndex::new(&members, accepts);
            let found = index.find(&members, &follows, here, if grows { 8 } else { -8 });
            prop_assert_eq!(found, search_all(&members, &accepted, &follows, here, grows));
        }
    }
}
