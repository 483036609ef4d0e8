//! Bodies of structs and unions: members, and the comments between them.

use std::fmt::Write;

use relayout_layout::{Aggregate, AggregateGaps, AggregateKind, Member, MemberGap, Type};

use crate::access::AccessLabels;
use crate::align;
use crate::comment::plural;
use crate::footer::{FooterCounts, is_empty_class};
use crate::frame::PrintFrame;
use crate::member_type::MemberTypeNote;
use crate::options::PaholeVersion;
use crate::printer::{LayoutComment, LayoutPrinter};

/// Member that was printed last.
struct PreviousMember<'m> {
    member: &'m Member,
    /// Unused bytes and bits after it.
    gap: MemberGap,
    /// Bytes up to its end, including the storage unit that its bitfields share.
    size: u64,
}

impl LayoutPrinter<'_> {
    pub(super) fn write_struct_body(
        &mut self,
        aggregate: &Aggregate,
        frame: &PrintFrame,
    ) -> (AggregateGaps, FooterCounts) {
        let gaps = AggregateGaps::from_aggregate(self.types, aggregate);
        self.facts.pack_displaced(aggregate, &gaps);
        let mut counts = FooterCounts::default();
        let mut comments: Vec<LayoutComment> = LayoutComment::for_gap(gaps.before).collect();
        let mut last: Option<PreviousMember<'_>> = None;
        let several = aggregate.members.len() > 1;
        let aligns = align::member_aligns(&self.facts, aggregate, self.options);
        let mut labels = AccessLabels::new(aggregate);
        for (index, member) in aggregate.members.iter().enumerate() {
            let labels = labels.before_member(index);
            let gap = last.as_ref().map_or(gaps.before, |last| last.gap);
            counts.add_align(aligns[index], gap.bytes);
            let size = self.printed_size(member);
            if self.write_labels(&labels, &mut comments, frame) {
                self.out.push('\n');
            }
            self.write_between(&mut comments, last.as_ref(), member, gap, frame);
            self.push_tabs(frame.indent);
            let at_end = several && index + 1 == aggregate.members.len();
            let frame = PrintFrame {
                last: at_end,
                ..*frame
            };
            self.write_member(member, size, aligns[index], &frame);
            self.out.push('\n');
            self.count_member(member, size, &mut counts, &mut comments);
            let gap = gaps.after[index];
            comments.extend(LayoutComment::for_gap(gap));
            last = Some(PreviousMember {
                member,
                gap,
                size: last.map_or(size, |last| last.carried_size(member, size)),
            });
        }
        self.write_labels(&labels.behind_members(), &mut comments, frame);
        if !comments.is_empty() {
            self.write_comments(&mut comments, frame);
            // The footer or the closing brace brings its own distance.
            self.out.pop();
        }
        (gaps, counts)
    }

    /// Returns the bytes that pahole prints for a member: none for an empty base class, which shares its byte.
    fn printed_size(&self, member: &Member) -> u64 {
        match self.types.get(member.ty) {
            Type::Aggregate(base) if self.is_base(member) && is_empty_class(base) => 0,
            _ => self.types.storage_size(member),
        }
    }

    /// Each member of a union begins at its start, so each counts cache lines from there.
    pub(super) fn write_union_body(&mut self, aggregate: &Aggregate, frame: &PrintFrame) {
        let line = self.line;
        let aligns = align::member_aligns(&self.facts, aggregate, self.options);
        for (member, align) in aggregate.members.iter().zip(aligns) {
            self.line = line;
            self.push_tabs(frame.indent);
            let size = self.types.storage_size(member);
            self.write_member(member, size, align, frame);
            self.out.push('\n');
        }
        self.line = line;
    }

    /// Writes the lines between two members: comments about both, forced alignments, a cache line
    /// boundary.
    fn write_between(
        &mut self,
        comments: &mut Vec<LayoutComment>,
        last: Option<&PreviousMember<'_>>,
        member: &Member,
        gap: MemberGap,
        frame: &PrintFrame,
    ) {
        // A member behind a base class may lie in its padding.
        let last_member = last.filter(|last| !self.is_base(last.member));
        comments.extend(last_member.and_then(|last| last.overlap_comment(member)));
        if member.bits.is_some() && gap.bits > 0 {
            if last.is_some_and(|last| last.shares_unit(member)) {
                comments.push(LayoutComment::UnnamedBitfield(member.ty, gap.bits));
            } else if gap.bytes == 0 && last.is_some() {
                comments.push(LayoutComment::ForceAlignment);
                comments.push(LayoutComment::UnnamedBitfield(member.ty, 0));
            }
        }
        self.write_comments(comments, frame);
        if last.is_some_and(|last| last.member.offset != member.offset) {
            self.write_line_boundary(frame, member.offset);
        }
    }

    /// Adds the member to the counts, and a comment on what the member's struct leaves unused.
    fn count_member(
        &self,
        member: &Member,
        size: u64,
        counts: &mut FooterCounts,
        comments: &mut Vec<LayoutComment>,
    ) {
        match member.bits {
            Some(bits) => counts.member_bits = counts.member_bits.saturating_add(bits.size_bits),
            None => counts.member_bytes = counts.member_bytes.saturating_add(size),
        }
        let Type::Aggregate(inner) = self.types.get(member.ty) else {
            return;
        };
        if !inner.complete || inner.kind == AggregateKind::Union {
            return;
        }
        let note = match self.options.version {
            PaholeVersion::V1_24 => MemberTypeNote::from_padding(self.types, inner),
            PaholeVersion::V1_30 => MemberTypeNote::from_struct(self.types, inner),
        };
        if note != MemberTypeNote::default() {
            counts.member_types.add_note(note);
            comments.push(LayoutComment::MemberType(note));
        }
    }

    /// Writes a group of comments between two blank lines.
    pub(super) fn write_comments(&mut self, comments: &mut Vec<LayoutComment>, frame: &PrintFrame) {
        if comments.is_empty() {
            return;
        }
        self.out.push('\n');
        for comment in comments.drain(..) {
            if comment.is_set_off() {
                self.out.push('\n');
            }
            self.push_tabs(frame.indent);
            self.write_comment(comment, frame);
            self.out.push('\n');
        }
        self.out.push('\n');
    }

    fn write_line_boundary(&mut self, frame: &PrintFrame, offset: u64) {
        let size = self.options.cacheline_size.max(1);
        let offset = frame.base.saturating_add(offset);
        let line = offset / size;
        if line <= self.line {
            return;
        }
        self.line = line;
        self.push_tabs(frame.indent);
        let (bytes, past) = (line * size, offset % size);
        let _ = write!(self.out, "/* --- cacheline {line} boundary ({bytes} bytes)");
        if past > 0 {
            let _ = write!(self.out, " was {past} byte{} ago", plural(past));
        }
        self.push(" --- */\n");
    }
}

impl PreviousMember<'_> {
    /// Comment for a bitfield that shares bytes with a neighbour of another type.
    fn overlap_comment(&self, member: &Member) -> Option<LayoutComment> {
        let last = self.member;
        let joins = last.offset == member.offset && last.bits.is_none() && member.bits.is_some();
        if self.size == 0 {
            None
        } else if member.offset < last.offset || joins {
            Some(LayoutComment::CombinedWithPrevious)
        } else if member.offset > last.offset && member.offset - last.offset < self.size {
            Some(LayoutComment::CombinedWithNext)
        } else {
            None
        }
    }

    /// Returns true if both are bitfields of one storage unit.
    fn shares_unit(&self, member: &Member) -> bool {
        self.member.bits.is_some() && member.bits.is_some() && self.member.offset == member.offset
    }

    /// Bytes up to the end of `member`: a smaller bitfield does not end a larger unit.
    fn carried_size(&self, member: &Member, size: u64) -> u64 {
        if self.shares_unit(member) {
            size.max(self.size)
        } else {
            size
        }
    }
}
