//! Matching of the members of two layouts by name, and of their order.

use rustc_hash::FxHashMap;

use crate::change::{MemberMove, MoveCause};
use crate::type_layout::{PlacedMember, TypeLayout};

/// Members of both layouts in the new order. [`MoveCause::Stayed`] marks members that kept their
/// place in the order, at any offset.
pub(super) fn match_members(old: &TypeLayout, new: &TypeLayout) -> Vec<MemberMove> {
    let partner = partners(old, new);
    let common: Vec<usize> = partner.iter().flatten().copied().collect();
    let kept = longest_increasing(&common);
    let mut matched = vec![false; old.members.len()];
    for old in &common {
        matched[*old] = true;
    }
    let mut moves = Vec::with_capacity(new.members.len());
    let mut removed = 0;
    let mut nth = 0;
    for (index, partner) in partner.iter().enumerate() {
        let cause = match partner {
            None => MoveCause::Added,
            Some(_) if kept[nth] => MoveCause::Stayed,
            Some(_) => MoveCause::Reordered,
        };
        nth += usize::from(partner.is_some());
        if let (Some(before), MoveCause::Stayed) = (partner, cause) {
            push_removed(&mut moves, &matched, removed..*before);
            removed = *before;
        }
        moves.push(member_move(*partner, Some(index), cause));
    }
    push_removed(&mut moves, &matched, removed..old.members.len());
    moves
}

fn push_removed(moves: &mut Vec<MemberMove>, matched: &[bool], range: std::ops::Range<usize>) {
    let removed = range.filter(|index| !matched[*index]);
    moves.extend(removed.map(|index| member_move(Some(index), None, MoveCause::Removed)));
}

fn member_move(old: Option<usize>, new: Option<usize>, cause: MoveCause) -> MemberMove {
    MemberMove {
        old,
        new,
        cause,
        room: None,
        twin: None,
    }
}

/// For each new member the old member of its name; of several with one name, in order.
fn partners(old: &TypeLayout, new: &TypeLayout) -> Vec<Option<usize>> {
    let mut by_name: FxHashMap<(&str, u32), usize> = FxHashMap::default();
    for (key, index) in number_by_name(&old.members) {
        by_name.insert(key, index);
    }
    let found = number_by_name(&new.members).map(|(key, _)| by_name.get(&key).copied());
    found.collect()
}

/// Members with their name and the number of earlier members of that name.
fn number_by_name(members: &[PlacedMember]) -> impl Iterator<Item = ((&str, u32), usize)> {
    let mut seen: FxHashMap<&str, u32> = FxHashMap::default();
    members.iter().enumerate().map(move |(index, member)| {
        let count = seen.entry(&member.path).or_insert(0);
        let key = (&*member.path, *count);
        *count += 1;
        (key, index)
    })
}

/// Marks the elements of a longest increasing subsequence.
///
/// ```
/// let kept = relayout_diff::longest_increasing(&[3, 0, 1, 2]);
/// assert_eq!(kept, [false, true, true, true]);
/// ```
pub fn longest_increasing(values: &[usize]) -> Vec<bool> {
    // Last element of the best subsequence of each length, and the predecessor of each element.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(values.len());
    for (index, value) in values.iter().enumerate() {
        let length = ends.partition_point(|end| values[*end] < *value);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut kept = vec![false; values.len()];
    let mut at = ends.last().copied();
    while let Some(index) = at {
        kept[index] = true;
        at = before[index];
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::longest_increasing;

    #[track_caller]
    fn check(values: &[usize], kept: usize) {
        let found = longest_increasing(values);
        let left: Vec<usize> = values
            .iter()
            .zip(&found)
            .filter_map(|(value, kept)| kept.then_some(*value))
            .collect();
        assert_eq!(left.len(), kept, "{values:?}: {left:?}");
        assert!(left.is_sorted(), "{values:?}: {left:?}");
    }

    #[test]
    fn keeps_as_many_as_possible() {
        check(&[], 0);
        check(&[0, 1, 2], 3);
        check(&[3, 0, 1, 2], 3);
        check(&[1, 2, 3, 0], 3);
        check(&[2, 1, 0], 1);
        check(&[0, 8, 4, 12, 2, 10, 6, 14, 1, 9], 4);
    }
}
