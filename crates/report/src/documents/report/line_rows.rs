//! Lines of a finding with the members on them. All pictures of lines are drawn from these rows.

use std::ops::Range;

use super::finding::{FindingDocument, MemberDocument};

/// Members that have a letter: those with the most transfers.
pub(crate) const LETTERS_MAX: usize = 26;

/// Use of a member, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemberUse {
    OnlyRead,
    WrittenByOne,
    WrittenBySeveral,
    NotCounted,
    NotAccessed,
}

/// A member, with its letter in pictures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LetteredMember<'f> {
    /// Capital for a member that is stored to; `None` beyond the first 26 members by transfers.
    pub letter: Option<char>,
    pub member: &'f MemberDocument,
}

/// A cache line, with the members on it.
#[derive(Clone, Debug)]
pub(crate) struct LineRow<'f> {
    /// Offset of the line in bytes from the start of the object.
    pub offset: i64,
    /// Members by offset; of those at one offset, the largest first.
    pub members: Vec<LetteredMember<'f>>,
}

impl MemberDocument {
    /// Returns the use of the member.
    pub(crate) fn member_use(&self) -> MemberUse {
        match (self.writes, self.writers, self.reads) {
            (1.., 2.., _) => MemberUse::WrittenBySeveral,
            (1.., ..) => MemberUse::WrittenByOne,
            (0, _, 1..) => MemberUse::OnlyRead,
            (0, _, 0) => MemberUse::NotCounted,
        }
    }

    /// Returns the offset of the byte behind the member.
    pub(crate) fn end(&self) -> i64 {
        let size = i64::try_from(self.size).unwrap_or(i64::MAX);
        self.offset.saturating_add(size)
    }
}

impl FindingDocument {
    /// Returns the offsets of the lines, ascending; of adjacent lines both.
    pub(crate) fn line_offsets(&self, line_bytes: u32) -> Vec<i64> {
        let places = self.places.iter().map(|place| place.line_offset);
        let other_line =
            { self.adjacent.as_ref() }.map(|_| self.line_offset.saturating_add(line_bytes.into()));
        let mut offsets: Vec<i64> = places.chain([self.line_offset]).chain(other_line).collect();
        offsets.sort_unstable();
        offsets.dedup();
        offsets
    }

    /// Returns the members by offset; of those at one offset, the one with the most transfers first. Those with the most
    /// transfers of all have letters.
    pub(crate) fn lettered_members(&self) -> Vec<LetteredMember<'_>> {
        let mut by_transfers: Vec<usize> = (0..self.members.len()).collect();
        by_transfers.sort_by_key(|&index| std::cmp::Reverse(self.members[index].transfers));
        by_transfers.truncate(LETTERS_MAX);
        let mut by_offset: Vec<(usize, &MemberDocument)> =
            self.members.iter().enumerate().collect();
        by_offset.sort_by_key(|(_, member)| (member.offset, std::cmp::Reverse(member.transfers)));
        let mut letters = 'a'..='z';
        let lettered = by_offset.into_iter().map(|(index, member)| {
            let has_letter = by_transfers.contains(&index);
            let letter = has_letter.then(|| letters.next()).flatten();
            LetteredMember {
                letter: letter.map(|letter| match member.writes {
                    0 => letter,
                    _ => letter.to_ascii_uppercase(),
                }),
                member,
            }
        });
        lettered.collect()
    }
}

impl<'f> LineRow<'f> {
    /// Returns the line at `offset` with those of `members` that lie on it.
    pub(crate) fn new(members: &[LetteredMember<'f>], offset: i64, line_bytes: u32) -> Self {
        let line = i128::from(offset)..i128::from(offset) + i128::from(line_bytes);
        let mut inside: Vec<LetteredMember<'f>> = { members.iter() }
            .filter(|lettered| lettered.overlaps(&line))
            .copied()
            .collect();
        inside.sort_by_key(|lettered| {
            (
                lettered.member.offset,
                std::cmp::Reverse(lettered.member.size),
            )
        });
        Self {
            offset,
            members: inside,
        }
    }

    /// Returns the members with letters on some bytes of the line, which are counted from its first.
    pub(crate) fn lettered_at(
        &self,
        bytes: Range<usize>,
    ) -> impl Iterator<Item = (char, &'f MemberDocument)> {
        let first = i128::from(self.offset);
        let bytes = first + bytes.start as i128..first + bytes.end as i128;
        { self.members.iter() }
            .filter(move |lettered| lettered.overlaps(&bytes))
            .filter_map(|lettered| Some((lettered.letter?, lettered.member)))
    }
}

impl LetteredMember<'_> {
    fn overlaps(&self, bytes: &Range<i128>) -> bool {
        let start = i128::from(self.member.offset);
        start < bytes.end && bytes.start < start + i128::from(self.member.size)
    }
}
