//! Explanation of a moved member from its direct siblings.
//!
//! A sibling that keeps its place in the order has a shift: its new offset minus its old offset.
//! The shift changes between two such siblings because of a member between them: a new, resized,
//! moved or removed member. A change that a hole absorbs changes no shift and is not named.

use std::collections::HashMap;

use relayout_diff::longest_increasing;

use super::{MemberChangeKind, PushingChange};
use crate::known::KnownMember;

/// Returns the changes that moved `target` among its siblings.
pub(super) fn pushes_among_siblings(
    now: &[KnownMember],
    before: &[KnownMember],
    target: &str,
) -> Vec<PushingChange> {
    let (is, was) = (by_path(now), by_path(before));
    if !was.contains_key(target) {
        return Vec::new();
    }
    let stayed = in_one_order(now, &was);
    let mut pushes: Vec<PushingChange> = Vec::new();
    let mut pending: Vec<(PushingChange, u64)> = Vec::new();
    let mut last_shift = 0i64;
    let mut next_before = 0;
    for (index, member) in now.iter().enumerate() {
        let old = was.get(member.path.as_str()).copied();
        let Some(old) = old.filter(|_| stayed[index]) else {
            pending.push(arrival(member, old.map(|old| &before[old])));
            if member.path == target {
                break;
            }
            continue;
        };
        for gone in before.get(next_before..old).unwrap_or_default() {
            let at = is.get(gone.path.as_str()).copied();
            if at.is_none_or(|at| !stayed[at]) {
                pending.push(departure(gone, at.map(|at| &now[at])));
            }
        }
        next_before = old + 1;
        let shift = signed(member.first_bit).saturating_sub(signed(before[old].first_bit));
        if shift != last_shift {
            settle_shift(
                &mut pushes,
                &mut pending,
                member,
                shift.saturating_sub(last_shift),
            );
            last_shift = shift;
        }
        if shift == 0 {
            pushes.clear();
        }
        if member.path == target {
            return once_each(pushes);
        }
        // A hole absorbed the changes that end before this member and moved nothing.
        pending.retain(|(_, end)| *end > member.first_bit);
        if member.size_bits != before[old].size_bits {
            pending.push(resizing(member, &before[old]));
        }
    }
    // The target itself has another place in the order of members.
    pending.retain(|(push, _)| push.member == target);
    pending.into_iter().map(|(push, _)| push).collect()
}

fn by_path(members: &[KnownMember]) -> HashMap<&str, usize> {
    let numbered = members.iter().enumerate();
    numbered
        .map(|(index, member)| (member.path.as_str(), index))
        .collect()
}

/// Merges the pushes of each member into the first of them. A moved member appears at its old and
/// its new place. A resized member with another alignment appears before and after itself.
pub(super) fn once_each(pushes: Vec<PushingChange>) -> Vec<PushingChange> {
    let mut kept: Vec<PushingChange> = Vec::new();
    for push in pushes {
        match kept.iter_mut().find(|known| known.member == push.member) {
            Some(known) => {
                known.bits = known.bits.saturating_add(push.bits);
                if known.kind == MemberChangeKind::Realigned {
                    known.kind = push.kind;
                }
            }
            None => kept.push(push),
        }
    }
    kept
}

/// Takes the pending changes since the last sibling as the cause of a change of shift.
fn settle_shift(
    pushes: &mut Vec<PushingChange>,
    pending: &mut Vec<(PushingChange, u64)>,
    at: &KnownMember,
    by: i64,
) {
    if pending.is_empty() {
        let push = PushingChange {
            member: at.path.clone(),
            kind: MemberChangeKind::Realigned,
            bits: 0,
        };
        pending.push((push, 0));
    }
    if let Some((last, _)) = pending.last_mut() {
        last.bits = by;
    }
    pushes.extend(pending.drain(..).map(|(push, _)| push));
}

/// Returns the change for a member that is new at its place, and the member's end in bits.
fn arrival(member: &KnownMember, old: Option<&KnownMember>) -> (PushingChange, u64) {
    let how = match old {
        Some(old) => MemberChangeKind::Moved {
            from_bit: old.first_bit,
            to_bit: member.first_bit,
        },
        None => MemberChangeKind::Added {
            size_bits: member.size_bits,
        },
    };
    (change_without_bits(&member.path, how), end_bit(member))
}

/// Returns the change for a member that left its place. The member's end is 0.
fn departure(gone: &KnownMember, now: Option<&KnownMember>) -> (PushingChange, u64) {
    let how = match now {
        Some(member) => MemberChangeKind::Moved {
            from_bit: gone.first_bit,
            to_bit: member.first_bit,
        },
        None => MemberChangeKind::Removed {
            size_bits: gone.size_bits,
        },
    };
    (change_without_bits(&gone.path, how), 0)
}

fn resizing(member: &KnownMember, old: &KnownMember) -> (PushingChange, u64) {
    let how = MemberChangeKind::Resized {
        from_bits: old.size_bits,
        to_bits: member.size_bits,
    };
    (change_without_bits(&member.path, how), end_bit(member))
}

fn change_without_bits(path: &str, how: MemberChangeKind) -> PushingChange {
    PushingChange {
        member: path.to_owned(),
        kind: how,
        bits: 0,
    }
}

fn end_bit(member: &KnownMember) -> u64 {
    member.first_bit.saturating_add(member.size_bits)
}

fn signed(bits: u64) -> i64 {
    i64::try_from(bits).unwrap_or(i64::MAX)
}

/// Marks the members of `now` that belong to a longest common order. `was` maps each path to its
/// earlier index.
fn in_one_order(now: &[KnownMember], was: &HashMap<&str, usize>) -> Vec<bool> {
    let known = now.iter().enumerate();
    let (indices, places): (Vec<usize>, Vec<usize>) = known
        .filter_map(|(index, member)| Some((index, *was.get(member.path.as_str())?)))
        .unzip();
    let mut stayed = vec![false; now.len()];
    for (index, kept) in indices.into_iter().zip(longest_increasing(&places)) {
        stayed[index] = kept;
    }
    stayed
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{KnownMember, PushingChange, pushes_among_siblings};

    /// Lays out members `name:size` (in bytes) at natural alignment.
    fn laid_out(members: &[(String, u64)]) -> Vec<KnownMember> {
        let mut end = 0u64;
        let place = |(path, size): &(String, u64)| {
            let first = end.next_multiple_of((*size).clamp(1, 8).next_power_of_two());
            end = first + size;
            KnownMember {
                path: path.clone(),
                first_bit: first * 8,
                size_bits: size * 8,
            }
        };
        members.iter().map(place).collect()
    }

    fn members(text: &str) -> Vec<KnownMember> {
        let words = text.split(' ').map(|word| {
            let (name, size) = word.split_once(':').unwrap();
            (name.to_owned(), size.parse().unwrap())
        });
        laid_out(&words.collect::<Vec<_>>())
    }

    #[track_caller]
    fn check(before: &str, now: &str, target: &str, expect: &str) {
        let pushes = pushes_among_siblings(&members(now), &members(before), target);
        let words: Vec<String> = pushes
            .iter()
            .map(|push| format!("{push}: {:+}", push.bits / 8))
            .collect();
        assert_eq!(words.join("; "), expect);
    }

    #[test]
    fn what_is_new_or_grew_pushes() {
        check(
            "a:8 b:8",
            "a:8 n:8 b:8",
            "b",
            "n, which is new (8 bytes): +8",
        );
        check(
            "a:8 b:8",
            "a:16 b:8",
            "b",
            "a, which grew from 8 bytes to 16 bytes: +8",
        );
        check(
            "a:8 c:8 b:8",
            "a:8 b:8",
            "b",
            "c, which is gone (8 bytes): -8",
        );
        check("a:8 b:8", "a:8 n:8 b:8", "a", "");
        check(
            "a:8 b:8",
            "a:8 n:4 m:4 b:8",
            "b",
            "n, which is new (4 bytes): +0; m, which is new (4 bytes): +8",
        );
    }

    #[test]
    fn what_a_hole_took_pushes_nothing() {
        check(
            "a:4 b:8 c:8",
            "a:4 n:4 b:8 m:8 c:8",
            "c",
            "m, which is new (8 bytes): +8",
        );
        check("a:4 b:8", "a:4 n:4 b:8", "b", "");
    }

    #[test]
    fn what_is_made_good_again_pushes_nothing() {
        check("a:8 b:8 c:8 d:8", "a:16 c:8 d:8", "d", "");
    }

    #[test]
    fn members_that_changed_places() {
        check(
            "a:8 b:8 c:4",
            "c:4 a:8 b:8",
            "b",
            "c, which moved from 16 to 0: +8",
        );
        check(
            "a:8 b:8 c:4",
            "c:4 a:8 b:8",
            "c",
            "c, which moved from 16 to 0: +0",
        );
        check(
            "a:8 b:8 c:8",
            "b:8 c:8 a:8",
            "c",
            "a, which moved from 0 to 16: -8",
        );
    }

    #[test]
    fn a_member_that_is_not_known_was_not_pushed() {
        check("a:8", "a:8 b:8", "b", "");
    }

    fn some_members() -> impl Strategy<Value = Vec<(String, u64)>> {
        let names = prop::sample::subsequence((b'a'..=b'p').collect::<Vec<u8>>(), 1..16);
        let sizes = prop::collection::vec(prop::sample::select(vec![1u64, 2, 4, 8, 16, 40]), 16);
        (names.prop_shuffle(), sizes).prop_map(|(names, sizes)| {
            let name = |letter: u8| char::from(letter).to_string();
            names.into_iter().map(name).zip(sizes).collect()
        })
    }

    proptest! {
        // The pushes add up to the distance that the target moved, unless the target has another
        // place in the order of members.
        #[test]
        fn pushes_add_up(before in some_members(), now in some_members()) {
            let (before, now) = (laid_out(&before), laid_out(&now));
            for member in &now {
                let pushes = pushes_among_siblings(&now, &before, &member.path);
                let Some(old) = before.iter().find(|old| old.path == member.path) else {
                    prop_assert!(pushes.is_empty());
                    continue;
                };
                if pushes.iter().any(|push: &PushingChange| push.member == member.path) {
                    continue;
                }
                let shift = member.first_bit as i64 - old.first_bit as i64;
                let sum: i64 = pushes.iter().map(|push| push.bits).sum();
                prop_assert!(sum == shift || pushes.is_empty(), "{pushes:?} {shift}");
                prop_assert!(shift == 0 || !pushes.is_empty());
            }
        }

        #[test]
        fn nothing_pushes_where_nothing_changed(members in some_members()) {
            let members = laid_out(&members);
            for member in &members {
                prop_assert!(pushes_among_siblings(&members, &members, &member.path).is_empty());
            }
        }
    }
}
