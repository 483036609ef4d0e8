//! Statistics below a struct.

use std::fmt::Write;

use relayout_layout::{Aggregate, AggregateGaps};

use crate::options::Options;

/// Sums of the members that were printed.
#[derive(Default)]
pub(super) struct FooterCounts {
    pub(super) member_bytes: u64,
    pub(super) member_bits: u64,
    pub(super) paddings: u64,
    pub(super) padding_bytes: u64,
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
    let (lines, members) = (size.div_ceil(line), aggregate.members.len());
    out.push('\n');
    let mut rows = FooterRows { out, indent };
    rows.push_row(format_args!(
        "size: {size}, cachelines: {lines}, members: {members}"
    ));
    write_sums(&mut rows, gaps, counts);
    if gaps.padding > 0 {
        rows.push_row(format_args!("padding: {}", gaps.padding));
    }
    if counts.paddings > 0 {
        let (count, sum) = (counts.paddings, counts.padding_bytes);
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
