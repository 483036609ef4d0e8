//! A struct with members moved into its holes, as pahole shows it.

use std::fmt::Write as _;

use relayout_layout::TypeArena;
use relayout_pahole_text::{Options, render_aggregate};
use relayout_session::show::{PackedStep, PackedType, ShownType};

use crate::text::show::layout_text;

/// Renders the struct after the moves and what they save, as `pahole -R` does; with `has_steps`, as `pahole -R -S`, each
/// move and the struct after it too. A type that stays as it is has its usual text.
pub fn packed_text(
    types: &TypeArena,
    found: &ShownType<'_>,
    packed: Option<&PackedType>,
    options: &Options,
    has_steps: bool,
) -> String {
    let Some(packed) = packed else {
        return layout_text(types, found, options);
    };
    let mut text = String::new();
    if has_steps {
        packed
            .steps
            .iter()
            .for_each(|step| text.push_str(&step_text(types, step, options)));
        text.push_str("/* Final reorganized struct: */\n");
    }
    let last = render_aggregate(types, packed.last(), options).unwrap_or_default();
    text.push_str(last.trim_end());
    let size = types.size_of(found.id).unwrap_or(0);
    text.push_str(&saving_comment(
        size,
        packed.last().size,
        options.cacheline_size,
    ));
    text.push('\n');
    text
}

fn step_text(types: &TypeArena, step: &PackedStep, options: &Options) -> String {
    let moved = &step.moved;
    let after = |name: &Option<String>| match name {
        Some(name) => format!("after '{name}'"),
        None => "the start".to_owned(),
    };
    let (from, to) = (after(&moved.from_after), after(&moved.to_after));
    let aggregate = render_aggregate(types, &step.aggregate, options).unwrap_or_default();
    format!(
        "/* Moving '{}' from {from} to {to} */\n{aggregate}\n",
        moved.member
    )
}

fn saving_comment(before: u64, after: u64, line_bytes: u64) -> String {
    let plural = |count: u64| if count == 1 { "" } else { "s" };
    let saved = before.saturating_sub(after);
    if saved == 0 {
        return String::new();
    }
    let mut text = format!("   /* saved {saved} byte{}", plural(saved));
    let lines = before.div_ceil(line_bytes) - after.div_ceil(line_bytes);
    if lines > 0 {
        let _ = write!(text, " and {lines} cacheline{}", plural(lines));
    }
    text + "! */"
}

/// Renders the columns of `pahole -P`: name, size, size after the moves, bytes saved; `None` if nothing is saved.
pub fn packable_text(
    types: &TypeArena,
    found: &ShownType<'_>,
    packed: Option<&PackedType>,
) -> Option<String> {
    let (before, after) = (types.size_of(found.id)?, packed?.last().size);
    let saved = before.checked_sub(after).filter(|saved| *saved > 0)?;
    Some(format!("{}\t{before}\t{after}\t{saved}\n", found.name))
}
