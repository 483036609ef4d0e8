//! What is different between two shapes of one type: the data that texts are made of.
use crate::gaps::BitGap;
use crate::lines::{self, PairChange};
use crate::matching;
use crate::pushes::{self, MemberPush};
use crate::room::{self, MemberRoom};
use crate::shape::TypeLayout;

/// All differences between two shapes of one type.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeDiffDetail {
    /// Members of both in the order of the new one; a removed member stands where it was.
    pub members: Vec<MemberMove>,
    /// What moved members, each with what it came on top of.
    pub pushes: Vec<MemberPush>,
    /// Gaps that differ, those of the old shape first.
    pub gaps: Vec<GapChange>,
    /// Pairs of members that came together on a line or went apart.
    pub pairs: Vec<PairChange>,
    /// There are more pairs than [`lines::PAIRS_MAX`].
    pub pairs_cut: bool,
}

/// One member in both shapes.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberMove {
    /// Index in the old shape's fields; `None` if it was added.
    pub old: Option<usize>,
    /// Index in the new shape's fields; `None` if it was removed.
    pub new: Option<usize>,
    /// Why it is where it is now.
    pub cause: MoveCause,
    /// What an added member's place was before, or what a removed one's has become.
    pub room: Option<MemberRoom>,
    /// The member (index in [`Detail::members`]) that has or had its very place, size and type
    /// under another name: the two are probably one that was renamed.
    pub twin: Option<usize>,
}

/// Why a member is where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveCause {
    /// It did not move.
    Stayed,
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It was put elsewhere among the others.
    Reordered,
    /// It keeps its place among the others, and something before it changed: index in
    /// [`Detail::pushes`].
    Pushed(usize),
}

/// A gap that was opened, closed, or has another size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GapChange {
    /// In the old shape.
    pub old: Option<BitGap>,
    /// In the new shape.
    pub new: Option<BitGap>,
    /// The member after which it begins, as an index in [`Detail::members`].
    pub after: Option<usize>,
}

impl TypeDiffDetail {
    /// Compares two shapes; `line_bytes` is the size of a cache line.
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

    /// What moved a member, the nearest first.
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

/// Gaps are the same gap when they follow the same member.
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
