//! Alternatives of a Rust enum as comments, so that the text remains C. pahole does not print them.

use std::fmt::Write;

use relayout_layout::{EnumVariants, TypeArena};

/// Writes a line for each alternative: offset, size, name, and the discriminant's value.
pub(super) fn write_variants(out: &mut String, types: &TypeArena, alternatives: &EnumVariants) {
    let size = |member: &relayout_layout::Member| types.size_of(member.ty).unwrap_or(0);
    match &alternatives.discriminant {
        Some(tag) => {
            let (name, at) = (types.name_of(tag.ty), tag.offset);
            let _ = writeln!(
                out,
                "\t/* one of these, by the {name} at {at} ({} bytes): */",
                size(tag)
            );
        }
        None => out.push_str("\t/* one of these: */\n"),
    }
    for variant in &alternatives.variants {
        let (member, offset) = (&variant.member, variant.member.offset);
        let name = member.name.as_deref().unwrap_or("?");
        let value = variant.discriminant.map(|value| format!(" if {value}"));
        let value = value.unwrap_or_default();
        let _ = writeln!(out, "\t/* {offset:5} {:5} {name}{value} */", size(member));
    }
}
