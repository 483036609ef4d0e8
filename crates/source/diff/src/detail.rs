//! Comparison of two layouts of one type.

use crate::change::{GapChange, MemberMove, MemberPush, MoveCause, PairChange};
use crate::type_layout::{BitGap, TypeLayout};
use crate::{lines, matching, pushes, room};

/// All differences between two layouts of one type.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeDiffDetail {
    /// Members of both layouts in the new order. A removed member stands at its old place.
    pub members: Vec<MemberMove>,
    /// Causes of moved members.
    pub pushes: Vec<MemberPush>,
    /// Gaps that differ; those of the old layout come first.
    pub gaps: Vec<GapChange>,
    /// Pairs of members that share a cache line in one of the layouts only.
    pub pairs: Vec<PairChange>,
    /// True if there are more than [`PAIRS_MAX`](crate::PAIRS_MAX) pairs.
    pub pairs_cut: bool,
}

impl TypeDiffDetail {
    /// Compares two layouts; `line_bytes` is the size of a cache line in bytes.
    pub fn compare(old: &TypeLayout, new: &TypeLayout, line_bytes: u64) -> Self {
        let mut members = matching::match_members(old, new);
        room::explain_room(old, new, &mut members);
        let pushes = pushes::explain_pushes(old, new, &mut members);
        let gaps = gap_changes(old, new, &members);
        let (pairs, pairs_cut) = lines::changed_pairs(old, new, &members, line_bytes);
        Self {
            members,
            pushes,
            gaps,
            pairs,
            pairs_cut,
        }
    }

    /// Pushes that moved a member, the nearest first.
    pub fn pushes_of(&self, member: &MemberMove) -> Vec<&MemberPush> {
        let mut found = Vec::new();
        let mut at = match member.cause {
            MoveCause::Pushed(push) => Some(push),
            _ => None,
        };
        while let Some(push) = at.and_then(|at| self.pushes.get(at)) {
            found.push(push);
            at = push.on_top_of;
        }
        found
    }
}

/// Differing gaps. Two gaps correspond if they follow the same member.
fn gap_changes(old: &TypeLayout, new: &TypeLayout, members: &[MemberMove]) -> Vec<GapChange> {
    let mut changes = Vec::new();
    let mut index_by_old = vec![None; old.members.len()];
    let mut index_by_new = vec![None; new.members.len()];
    for (index, member) in members.iter().enumerate() {
        if let Some(at) = member.old.and_then(|at| index_by_old.get_mut(at)) {
            *at = Some(index);
        }
        if let Some(at) = member.new.and_then(|at| index_by_new.get_mut(at)) {
            *at = Some(index);
        }
    }
    let member_of = |map: &[Option<usize>], gap: &BitGap| gap.after.and_then(|at| map[at]);
    let by_member = |gaps: &[BitGap], map: &[Option<usize>]| {
        let pairs = gaps.iter().map(|gap| (member_of(map, gap), *gap));
        pairs.collect::<rustc_hash::FxHashMap<_, _>>()
    };
    let in_new = by_member(&new.gaps, &index_by_new);
    let in_old = by_member(&old.gaps, &index_by_old);
    for gap in &old.gaps {
        let after = member_of(&index_by_old, gap);
        let now = in_new.get(&after).copied();
        if now.is_none_or(|now| (now.size_bits, now.padding) != (gap.size_bits, gap.padding)) {
            changes.push(GapChange {
                old: Some(*gap),
                new: now,
                after,
            });
        }
    }
    for gap in &new.gaps {
        let after = member_of(&index_by_new, gap);
        if !in_old.contains_key(&after) {
            changes.push(GapChange {
                old: None,
                new: Some(*gap),
                after,
            });
        }
    }
    changes
}
