//! The alternatives of a Rust enum. pahole knows none; they are comments, so that what is printed
//! remains C.
use std::fmt::Write;

use relayout_layout::{EnumVariants, TypeArena};

/// Each alternative in a line: offset, size, name, and the discriminant's value that stands for it.
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
