//! The statistics below a struct.

use std::fmt::Write;

use super::Options;
use super::holes::Gaps;
use crate::Aggregate;

/// What is counted while the members are printed.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) member_bytes: u64,
    pub(super) member_bits: u64,
    pub(super) paddings: u64,
    pub(super) padding_bytes: u64,
    pub(super) forced: u64,
    pub(super) forced_holes: u64,
    pub(super) forced_hole_bytes: u64,
}

pub(super) fn write(
    out: &mut String,
    indent: usize,
    aggregate: &Aggregate,
    gaps: &Gaps,
    counts: &Counts,
    options: &Options,
) {
    let line = options.cacheline_size.max(1);
    let size = aggregate.size;
    let (lines, members) = (size.div_ceil(line), aggregate.members.len());
    let mut rows = vec![format!(
        "size: {size}, cachelines: {lines}, members: {members}"
    )];
    sums(&mut rows, gaps, counts);
    if gaps.padding > 0 {
        rows.push(format!("padding: {}", gaps.padding));
    }
    if counts.paddings > 0 {
        let (count, sum) = (counts.paddings, counts.padding_bytes);
        rows.push(format!("paddings: {count}, sum paddings: {sum}"));
    }
    if gaps.bit_padding > 0 {
        rows.push(format!("bit_padding: {} bits", gaps.bit_padding));
    }
    if counts.forced > 0 {
        let mut row = format!("forced alignments: {}", counts.forced);
        if counts.forced_holes > 0 {
            let (count, sum) = (counts.forced_holes, counts.forced_hole_bytes);
            let _ = write!(row, ", forced holes: {count}, sum forced holes: {sum}");
        }
        rows.push(row);
    }
    if !size.is_multiple_of(line) {
        rows.push(format!("last cacheline: {} bytes", size % line));
    }
    out.push('\n');
    for row in rows {
        let _ = writeln!(out, "{:\t<indent$}/* {row} */", "");
    }
}

fn sums(rows: &mut Vec<String>, gaps: &Gaps, counts: &Counts) {
    let (holes, bit_holes) = (gaps.holes().count(), gaps.bit_holes().count());
    if holes == 0 && bit_holes == 0 {
        return;
    }
    if counts.member_bytes > 0 {
        let mut row = format!("sum members: {}", counts.member_bytes);
        if holes > 0 {
            let _ = write!(
                row,
                ", holes: {holes}, sum holes: {}",
                gaps.holes().sum::<u64>()
            );
        }
        rows.push(row);
    }
    if counts.member_bits > 0 {
        let mut row = format!("sum bitfield members: {} bits", counts.member_bits);
        if bit_holes > 0 {
            let sum: u64 = gaps.bit_holes().sum();
            let _ = write!(row, ", bit holes: {bit_holes}, sum bit holes: {sum} bits");
        } else {
            let _ = write!(row, " ({} bytes)", counts.member_bits / 8);
        }
        rows.push(row);
    }
}
