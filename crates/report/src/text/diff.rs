//! The text of `diff`: a line per type as codiff writes it, then what happened in it.

mod lines;
mod members;

use std::fmt::Write as _;

use rayon::prelude::*;
use relayout_diff::{DiffStatus, LayoutDiff, TypeDiff, TypeDiffDetail, TypeLayout};
use relayout_layout::word_lists::word_series;
use relayout_session::diff::size_growth;

use crate::words::layout_changes::shape_pair::{ShapePair, size_text};
use crate::words::percent::percent;

use crate::documents::diff::contents::DiffContents;
use crate::words::counted;
use crate::words::layout_changes::{hot, pushed};

/// Types that are named of those that hold a changed one.
const HOLDERS_MAX: usize = 5;

/// Alignments up to this many bytes may be those of the members.
const ALIGN_PLAIN_MAX: u64 = 16;

/// Renders a comparison as text.
pub fn render_text(contents: &DiffContents<'_>) -> String {
    let shown = contents.comparison.shown.par_iter();
    let texts: Vec<String> = shown.map(|index| type_text(contents, *index)).collect();
    let mut text = texts.concat();
    let _ = writeln!(text, " {}", summary_text(contents.diff()));
    text.extend(left_out_text(contents.comparison.bindings_left_out));
    text
}

/// Line about copies of C types that were not compared.
fn left_out_text(count: usize) -> Option<String> {
    let copies = match count {
        0 => return None,
        1 => "1 Rust copy of a C type".to_owned(),
        count => format!("{count} Rust copies of C types"),
    };
    Some(format!(
        " {copies} left out (bindings::*, uapi::*); --bindings compares them\n"
    ))
}

fn type_text(contents: &DiffContents<'_>, index: usize) -> String {
    let diff = contents.diff();
    let each = &diff.types[index];
    let shape = diff.layout(each);
    let name = match shape.kind {
        relayout_layout::AggregateKind::Class => format!("class {}", shape.key.qualified()),
        _ => shape.key.to_string(),
    };
    let Some((old, new)) = diff.both_layouts(each) else {
        let status = each.status.as_str();
        return format!("{name} | {status}, {}\n", size_text(shape.size * 8));
    };
    let mut text = format!("{name} | {}\n", sizes_text(contents, old, new));
    let hot = contents.comparison.hot.get(&index);
    if each.status == DiffStatus::Same {
        return text.replacen('\n', ", the same\n", 1);
    }
    let mut lines = Vec::new();
    if each.by_order {
        lines.push(
            "several types have this name, and nothing says where they are declared: these two \
             are compared since they come in the same order"
                .to_owned(),
        );
    }
    let detail = TypeDiffDetail::compare(old, new, contents.line_bytes);
    let pair = ShapePair {
        old,
        new,
        detail: &detail,
    };
    if let Some(hot) = hot {
        lines.push(format!(
            "hot: {} transfers, {} of all in the profile",
            hot.transfers,
            percent(hot.share)
        ));
        lines.extend(hot::sentences(&pair, hot, contents.line_bytes));
        lines.extend(hot::moves(hot, contents.line_bytes));
    }
    lines.extend(held_changes(diff, index, each));
    lines.extend(alignment_change(old, new));
    lines.extend(members::sentences(&pair));
    lines.extend(pushed::sentences(&pair, contents.verbose));
    lines.extend(members::gap_sentences(&pair));
    lines.extend(lines::sentences(&pair, contents.line_bytes));
    lines.extend(holders_text(diff, index, contents));
    for line in lines {
        let _ = writeln!(text, "  {line}");
    }
    text
}

/// `+4 (12 -> 16 bytes, 1 line)`.
fn sizes_text(contents: &DiffContents<'_>, old: &TypeLayout, new: &TypeLayout) -> String {
    let lines = |shape: &TypeLayout| shape.size.div_ceil(contents.line_bytes);
    let (before, after) = (lines(old), lines(new));
    let lines = if before == after {
        counted(after, "line")
    } else {
        format!("{before} -> {after} lines")
    };
    if old.size == new.size {
        return format!("0 ({}, {lines})", size_text(new.size * 8));
    }
    let change = i128::from(new.size) - i128::from(old.size);
    format!("{change:+} ({} -> {} bytes, {lines})", old.size, new.size)
}

/// Names the changed types that the type contains, and the types that caused these changes.
fn held_changes(diff: &LayoutDiff, index: usize, each: &TypeDiff) -> Option<String> {
    if each.held.is_empty() {
        return None;
    }
    let name = |index: &usize| {
        let change = size_growth(diff, *index);
        let key = &diff.layout(&diff.types[*index]).key;
        match change {
            0 => format!("{key}"),
            change => format!("{key} ({change:+})"),
        }
    };
    let direct: Vec<String> = each.held.iter().map(name).collect();
    let mut text = format!("holds {}", word_series(&direct, 8));
    let origins: Vec<String> = diff
        .origins(index)
        .iter()
        .filter(|origin| !each.held.contains(origin))
        .map(name)
        .collect();
    if !origins.is_empty() {
        let _ = write!(text, ", because of {}", word_series(&origins, HOLDERS_MAX));
    }
    Some(text + ", which changed")
}

fn alignment_change(old: &TypeLayout, new: &TypeLayout) -> Option<String> {
    // Compilers also write down what a type has anyway.
    let declared = |shape: &TypeLayout| {
        shape
            .declared_align
            .filter(|align| *align > ALIGN_PLAIN_MAX)
    };
    match (old.declared_align, new.declared_align) {
        (Some(old), Some(new)) if old != new => {
            Some(format!("aligned to {new} bytes, was to {old}"))
        }
        (None, Some(_)) => declared(new).map(|to| format!("aligned to {to} bytes, was not")),
        (Some(_), None) => declared(old).map(|to| format!("no longer aligned to {to} bytes")),
        _ => None,
    }
}

/// `and 214 types that hold it: a +8, b +8`.
fn holders_text(diff: &LayoutDiff, index: usize, contents: &DiffContents<'_>) -> Option<String> {
    // Of a few types that were named, not all holders were looked at.
    if contents.is_partial {
        return None;
    }
    let mut affected = diff.affected_holders(index);
    if affected.is_empty() {
        return None;
    }
    affected.sort_by_key(|at| std::cmp::Reverse(size_growth(diff, *at).unsigned_abs()));
    let named: Vec<String> = affected
        .iter()
        .map(|at| {
            let key = &diff.layout(&diff.types[*at]).key;
            match size_growth(diff, *at) {
                0 => key.to_string(),
                change => format!("{key} {change:+}"),
            }
        })
        .collect();
    let verb = if affected.len() == 1 { "holds" } else { "hold" };
    let types = counted(affected.len() as u64, "type");
    Some(format!(
        "and {types} that {verb} it: {}",
        word_series(&named, HOLDERS_MAX)
    ))
}

/// `3 types changed, 214 only because of what they hold; 1 added, 2 removed, 9012 the same`.
fn summary_text(diff: &LayoutDiff) -> String {
    let with = |status| diff.types.iter().filter(move |each| each.status == status);
    let own = with(DiffStatus::Changed)
        .filter(|each| each.by_itself)
        .count();
    let folded = with(DiffStatus::Changed).count() - own;
    let mut text = format!("{} changed", counted(own as u64, "type"));
    if folded > 0 {
        let _ = write!(text, ", {folded} more only because they hold one of them");
    }
    let rest = [DiffStatus::Added, DiffStatus::Removed].map(|status| with(status).count());
    let _ = write!(
        text,
        "; {} added, {} removed, {} the same",
        rest[0],
        rest[1],
        with(DiffStatus::Same).count()
    );
    text
}
