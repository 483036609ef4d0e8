//! Statistics below a struct.

use std::fmt::Write;

use relayout_layout::{Aggregate, AggregateGaps};

use crate::comment::plural;
use crate::member_type::MemberTypeNote;
use crate::options::Options;

/// Sums of the members that were printed.
#[derive(Default)]
pub(super) struct FooterCounts {
    pub(super) member_bytes: u64,
    pub(super) member_bits: u64,
    pub(super) member_types: MemberTypeCounts,
    forced: u64,
    forced_holes: u64,
    forced_hole_bytes: u64,
}

impl FooterCounts {
    /// Counts a member's forced alignment, if it has one, and the hole before it.
    pub(super) fn add_align(&mut self, align: Option<u64>, bytes_before: u64) {
        if align.is_some() {
            self.forced += 1;
            self.forced_holes += u64::from(bytes_before > 0);
            self.forced_hole_bytes = self.forced_hole_bytes.saturating_add(bytes_before);
        }
    }
}

/// Number of members and sum of their values.
#[derive(Default)]
struct CountedSum {
    count: u64,
    sum: u64,
}

impl CountedSum {
    fn add(&mut self, value: u64) {
        self.count += u64::from(value > 0);
        self.sum = self.sum.saturating_add(value);
    }
}

/// Sums of what the structs of members leave unused.
#[derive(Default)]
pub(super) struct MemberTypeCounts {
    paddings: CountedSum,
    bit_paddings: CountedSum,
    holes: CountedSum,
    bit_holes: CountedSum,
    arrays_at_end: u64,
    arrays_inside: u64,
}

impl MemberTypeCounts {
    pub(super) fn add_note(&mut self, note: MemberTypeNote) {
        self.paddings.add(note.padding);
        self.bit_paddings.add(note.bit_padding);
        self.holes.add(note.holes);
        self.bit_holes.add(note.bit_holes);
        self.arrays_at_end += u64::from(note.ends_in_array);
        self.arrays_inside += u64::from(note.holds_array);
    }

    /// `holes: 2, total: 3, bit paddings: 1, total: 4 bits`, or an empty text.
    fn unused_text(&self) -> String {
        let mut parts = Vec::new();
        for (name, counted) in [("holes", &self.holes), ("bit holes", &self.bit_holes)] {
            if counted.count > 0 {
                parts.push(format!("{name}: {}, total: {}", counted.count, counted.sum));
            }
        }
        let CountedSum { count, sum } = self.bit_paddings;
        if count > 0 {
            let s = plural(sum);
            parts.push(format!("bit paddings: {count}, total: {sum} bit{s}"));
        }
        parts.join(", ")
    }

    /// `end: 1, middle: 2`, or an empty text.
    fn arrays_text(&self) -> String {
        let counts = [("end", self.arrays_at_end), ("middle", self.arrays_inside)];
        let there = counts.iter().filter(|(_, count)| *count > 0);
        let parts: Vec<String> = there
            .map(|(name, count)| format!("{name}: {count}"))
            .collect();
        parts.join(", ")
    }
}

/// Lines of the footer.
struct FooterRows<'o> {
    out: &'o mut String,
    indent: usize,
}

impl FooterRows<'_> {
    fn push_row(&mut self, row: std::fmt::Arguments<'_>) {
        for _ in 0..self.indent {
            self.out.push('\t');
        }
        let _ = writeln!(self.out, "/* {row} */");
    }
}

/// Returns true for an empty class of C++, which has a byte all the same. pahole takes its size for 0.
pub(super) fn is_empty_class(aggregate: &Aggregate) -> bool {
    aggregate.size == 1 && aggregate.members.is_empty() && aggregate.variants.is_none()
}

pub(super) fn write_footer(
    out: &mut String,
    indent: usize,
    aggregate: &Aggregate,
    gaps: &AggregateGaps,
    counts: &FooterCounts,
    options: &Options,
) {
    let line = options.cacheline_size.max(1);
    let size = aggregate.size;
    let members = aggregate.members.len();
    let lines = match is_empty_class(aggregate) {
        true => 0,
        false => size.div_ceil(line),
    };
    out.push('\n');
    let mut rows = FooterRows { out, indent };
    rows.push_row(format_args!(
        "size: {size}, cachelines: {lines}, members: {members}"
    ));
    write_sums(&mut rows, gaps, counts);
    if gaps.padding > 0 {
        rows.push_row(format_args!("padding: {}", gaps.padding));
    }
    let unused = counts.member_types.unused_text();
    if !unused.is_empty() {
        rows.push_row(format_args!("member types with {unused}"));
    }
    let CountedSum { count, sum } = counts.member_types.paddings;
    if count > 0 {
        rows.push_row(format_args!("paddings: {count}, sum paddings: {sum}"));
    }
    if gaps.bit_padding > 0 {
        rows.push_row(format_args!("bit_padding: {} bits", gaps.bit_padding));
    }
    let forced = counts.forced;
    if counts.forced_holes > 0 {
        let (count, sum) = (counts.forced_holes, counts.forced_hole_bytes);
        rows.push_row(format_args!(
            "forced alignments: {forced}, forced holes: {count}, sum forced holes: {sum}"
        ));
    } else if forced > 0 {
        rows.push_row(format_args!("forced alignments: {forced}"));
    }
    let arrays = counts.member_types.arrays_text();
    if !arrays.is_empty() {
        rows.push_row(format_args!("flexible array members: {arrays}"));
    }
    if !size.is_multiple_of(line) {
        rows.push_row(format_args!("last cacheline: {} bytes", size % line));
    }
}

fn write_sums(rows: &mut FooterRows<'_>, gaps: &AggregateGaps, counts: &FooterCounts) {
    let (holes, bit_holes) = (gaps.holes().count(), gaps.bit_holes().count());
    if holes == 0 && bit_holes == 0 {
        return;
    }
    let bytes = counts.member_bytes;
    if bytes > 0 && holes > 0 {
        let sum: u64 = gaps.holes().sum();
        rows.push_row(format_args!(
            "sum members: {bytes}, holes: {holes}, sum holes: {sum}"
        ));
    } else if bytes > 0 {
        rows.push_row(format_args!("sum members: {bytes}"));
    }
    let bits = counts.member_bits;
    if bits > 0 && bit_holes > 0 {
        let sum: u64 = gaps.bit_holes().sum();
        rows.push_row(format_args!(
            "sum bitfield members: {bits} bits, bit holes: {bit_holes}, sum bit holes: {sum} bits"
        ));
    } else if bits > 0 {
        rows.push_row(format_args!(
            "sum bitfield members: {bits} bits ({} bytes)",
            bits / 8
        ));
    }
}
