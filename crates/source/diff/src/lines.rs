//! Pairs of members that came together on a cache line or went apart.
//!
//! Lines are counted from the start of the type. Objects are taken to begin on a line.

use crate::change::{MemberMove, PairChange};
use crate::type_layout::TypeLayout;

/// Most pairs of one type that are listed. A type of a page full of bytes would have millions.
pub const PAIRS_MAX: usize = 4096;

/// First and last cache line of one member in both layouts.
#[derive(Clone, Copy)]
struct MemberLines {
    member: usize,
    old: (u64, u64),
    new: (u64, u64),
}

/// Pairs that changed, and true if there are more than are listed. Members of one layout only are
/// in no pair.
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
    let mut pairs = Vec::new();
    for together in [true, false] {
        let range = |lines: &MemberLines| if together { lines.new } else { lines.old };
        if !sweep_pairs(&member_lines, range, together, &mut pairs) {
            return (pairs, true);
        }
    }
    pairs.sort_by_key(|pair| (pair.first, pair.second));
    (pairs, false)
}

/// Adds pairs that share a line by `range`, but not in the other layout. Returns false once there
/// are too many.
fn sweep_pairs(
    member_lines: &[MemberLines],
    range: impl Fn(&MemberLines) -> (u64, u64),
    together: bool,
    pairs: &mut Vec<PairChange>,
) -> bool {
    let mut sorted: Vec<MemberLines> = member_lines.to_vec();
    sorted.sort_by_key(|lines| range(lines).0);
    // A union of thousands of members has millions of unchanged pairs.
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
            if pairs.len() >= PAIRS_MAX {
                return false;
            }
            pairs.push(PairChange {
                first: first.member.min(second.member),
                second: first.member.max(second.member),
                together,
                line,
            });
        }
    }
    true
}

/// Returns true if two ranges of lines have a line in common.
pub fn lines_overlap(a: (u64, u64), b: (u64, u64)) -> bool {
    a.0 <= b.1 && b.0 <= a.1
}
