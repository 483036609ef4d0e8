//! Which members came together on a cache line, and which went apart.
//!
//! Lines are counted from the start of the type, as if objects began on one.
use crate::detail::MemberMove;
use crate::shape::TypeLayout;

/// Pairs of one type that are listed; a type of a page full of bytes would have millions.
pub const PAIRS_MAX: usize = 4096;

/// Two members that share a line in one of the shapes only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairChange {
    /// Index in `Detail::members`; before the other in the new order.
    pub first: usize,
    /// Index in `Detail::members`.
    pub second: usize,
    /// They share a line now and did not before; else the other way round.
    pub together: bool,
    /// The first line that they share or shared, in the shape in which they do.
    pub line: u64,
}

/// First and last line of one member, in both shapes.
#[derive(Clone, Copy)]
struct MemberLines {
    member: usize,
    old: (u64, u64),
    new: (u64, u64),
}

/// The pairs that changed, and whether there are more than are listed. Members that are in one
/// shape only are in none.
pub(super) fn changed_pairs(
    old: &TypeLayout,
    new: &TypeLayout,
    members: &[MemberMove],
    line_bytes: u64,
) -> (Vec<PairChange>, bool) {
    let member_lines: Vec<MemberLines> = members
        .iter()
        .enumerate()
        .filter_map(|(member, member_move)| {
            Some(MemberLines {
                member,
                old: old.members[member_move.old?].line_range(line_bytes)?,
                new: new.members[member_move.new?].line_range(line_bytes)?,
            })
        })
        .collect();
    let mut found = Vec::new();
    for together in [true, false] {
        let range = |lines: &MemberLines| if together { lines.new } else { lines.old };
        if !sweep_pairs(&member_lines, range, together, &mut found) {
            return (found, true);
        }
    }
    found.sort_by_key(|pair| (pair.first, pair.second));
    (found, false)
}

/// Adds pairs that share a line by `by` and not by the other; false once there are too many.
fn sweep_pairs(
    member_lines: &[MemberLines],
    range: impl Fn(&MemberLines) -> (u64, u64),
    together: bool,
    found: &mut Vec<PairChange>,
) -> bool {
    let mut sorted: Vec<MemberLines> = member_lines.to_vec();
    sorted.sort_by_key(|lines| range(lines).0);
    // Pairs that did not change cost a look each; a union of thousands has millions.
    let mut comparisons_left = PAIRS_MAX * 256;
    for (index, first) in sorted.iter().enumerate() {
        for second in &sorted[index + 1..] {
            let line = range(second).0;
            if line > range(first).1 {
                break;
            }
            comparisons_left -= 1;
            if comparisons_left == 0 {
                return false;
            }
            let other_range = |lines: &MemberLines| if together { lines.old } else { lines.new };
            if lines_overlap(other_range(first), other_range(second)) {
                continue;
            }
            if found.len() >= PAIRS_MAX {
                return false;
            }
            found.push(PairChange {
                first: first.member.min(second.member),
                second: first.member.max(second.member),
                together,
                line,
            });
        }
    }
    true
}

/// Whether two ranges of lines have one in common.
pub fn lines_overlap(a: (u64, u64), b: (u64, u64)) -> bool {
    a.0 <= b.1 && b.0 <= a.1
}
