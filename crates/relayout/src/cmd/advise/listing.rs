//! A layout as text, in the lines that pahole's users know: members with offset and size, holes,
//! line boundaries, and the totals.

use std::fmt::Write as _;

use relayout_layout::{Aggregate, Member, Types};

/// The listing of `aggregate`, members of anonymous structs folded.
pub fn listing(types: &Types, aggregate: &Aggregate, line_bytes: u32) -> String {
    let line_bytes = u64::from(line_bytes.max(1));
    let mut text = format!(
        "struct {} {{\n",
        aggregate.name.as_deref().unwrap_or_default()
    );
    let (mut end, mut line, mut sum, mut holes) = (0, 0, 0, (0, 0));
    for member in &aggregate.members {
        let start = first_byte(member);
        if start > end {
            let gap = start - end;
            let _ = writeln!(text, "\n\t/* XXX {gap} bytes hole, try to pack */\n");
            holes = (holes.0 + 1, holes.1 + gap);
        }
        boundary(&mut text, start, line_bytes, &mut line);
        let size = types.size_of(member.ty).unwrap_or(0);
        let _ = writeln!(text, "\t{}", row(types, member, size));
        let after = match member.bits {
            Some(bits) => (bits.offset_bits + bits.size_bits).div_ceil(8),
            None => start + size,
        };
        sum += after.saturating_sub(end.max(start));
        end = end.max(after);
    }
    let lines = aggregate.size.div_ceil(line_bytes);
    let (size, members) = (aggregate.size, aggregate.members.len());
    let _ = writeln!(
        text,
        "\n\t/* size: {size}, cachelines: {lines}, members: {members} */"
    );
    if holes.0 > 0 {
        let (count, bytes) = holes;
        let _ = writeln!(
            text,
            "\t/* sum members: {sum}, holes: {count}, sum holes: {bytes} */"
        );
    }
    if size > end {
        let _ = writeln!(text, "\t/* padding: {} */", size - end);
    }
    if let Some(aligned) = forced(aggregate) {
        let _ = writeln!(text, "\t/* forced alignments: {aligned} */");
    }
    if !size.is_multiple_of(line_bytes) {
        let _ = writeln!(text, "\t/* last cacheline: {} bytes */", size % line_bytes);
    }
    let attribute = aggregate
        .declared_align
        .map(|n| format!(" __attribute__((__aligned__({n})))"));
    let _ = writeln!(text, "}}{};", attribute.unwrap_or_default());
    text
}

fn first_byte(member: &Member) -> u64 {
    member
        .bits
        .map_or(member.offset, |bits| bits.offset_bits / 8)
}

fn boundary(text: &mut String, start: u64, line_bytes: u64, line: &mut u64) {
    let now = start / line_bytes;
    if now > *line {
        let into = start % line_bytes;
        let ago = match into {
            0 => String::new(),
            _ => format!(" was {into} bytes ago"),
        };
        let bytes = now * line_bytes;
        let _ = writeln!(
            text,
            "\t/* --- cacheline {now} boundary ({bytes} bytes){ago} --- */"
        );
        *line = now;
    }
}

fn row(types: &Types, member: &Member, size: u64) -> String {
    let spelled = types.name_of(member.ty);
    let (base, dimensions) = match spelled.split_once(" [") {
        Some((base, rest)) => (base.to_owned(), format!("[{rest}")),
        None => (spelled, String::new()),
    };
    let mut name = format!("{}{dimensions}", member.name.as_deref().unwrap_or_default());
    let mut offset = format!("{:>5}", member.offset);
    if let Some(bits) = member.bits {
        let _ = write!(name, ":{}", bits.size_bits);
        let first = bits.offset_bits.saturating_sub(member.offset * 8);
        offset = format!("{:>5}:{first:>2}", member.offset);
    }
    if let Some(align) = member.declared_align {
        let _ = write!(name, " __attribute__((__aligned__({align})))");
    }
    format!(
        "{base:<26} {:<21} /* {offset} {size:>5} */",
        format!("{name};")
    )
}

fn forced(aggregate: &Aggregate) -> Option<usize> {
    let count = aggregate
        .members
        .iter()
        .filter(|member| member.declared_align.is_some())
        .count();
    (count > 0).then_some(count)
}
