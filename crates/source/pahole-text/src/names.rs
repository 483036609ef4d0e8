//! Spelling of types by pahole: a space before every `*`, a space after `const`.

use relayout_layout::{NESTING_MAX, Type, TypeArena, TypeId};

use crate::column::push_spaces;

/// Longest spelling in bytes. Only damaged debug information has longer ones.
const NAME_BYTES_MAX: usize = 16 * 1024;

/// Name of a type without a name.
const UNNAMED: &str = "{...}";

/// Appends a type padded to a column: `const char  *`, `struct page * *`, `void (*)(int)`. A width
/// below zero, as of deeply nested members, pads to its absolute value, as printf does with `%-*s`.
pub(super) fn push_column(types: &TypeArena, id: Option<TypeId>, width: i64, out: &mut String) {
    let tagged = match id.map(|id| types.get(id)) {
        Some(Type::Aggregate(aggregate)) => Some((aggregate.kind.keyword(), &aggregate.name)),
        Some(Type::Enum { name, .. }) => Some(("enum", name)),
        _ => None,
    };
    let mut width = width;
    if let Some((keyword, _)) = tagged {
        out.push_str(keyword);
        out.push(' ');
        // A class takes as much of the column as a struct.
        let taken = if keyword == "class" {
            "struct"
        } else {
            keyword
        };
        width -= taken.len() as i64 + 1;
    }
    let start = out.len();
    match tagged {
        Some((_, name)) => out.push_str(name.as_deref().unwrap_or(UNNAMED)),
        None => push_type(types, id, out, start, 0),
    }
    pad_column(out, start, width);
}

/// Appends a type padded to a column. The keyword of a struct counts as part of its name.
pub(super) fn push_padded(types: &TypeArena, id: Option<TypeId>, width: i64, out: &mut String) {
    let start = out.len();
    push_type(types, id, out, start, 0);
    pad_column(out, start, width);
}

fn pad_column(out: &mut String, start: usize, width: i64) {
    let width = usize::try_from(width.unsigned_abs()).unwrap_or(0);
    push_spaces(out, width.saturating_sub(out.len() - start));
}

/// Appends `(params)` with the types of the parameters.
pub(super) fn push_signature(
    types: &TypeArena,
    params: &[TypeId],
    variadic: bool,
    out: &mut String,
) {
    let start = out.len();
    push_params(types, params, variadic, out, start, 0);
}

/// Appends a type; `start` is the byte of `out` at which the spelling begins.
fn push_type(types: &TypeArena, id: Option<TypeId>, out: &mut String, start: usize, depth: u32) {
    let Some(id) = id else {
        out.push_str("void");
        return;
    };
    if depth > NESTING_MAX || out.len() - start > NAME_BYTES_MAX {
        out.push_str("...");
        return;
    }
    match types.get(id) {
        Type::Base { name, .. } | Type::Typedef { name, .. } | Type::Unknown(name) => {
            out.push_str(name)
        }
        Type::Enum { name, .. } => push_tagged("enum", name.as_deref(), out),
        Type::Aggregate(aggregate) => {
            push_tagged(aggregate.kind.keyword(), aggregate.name.as_deref(), out);
        }
        Type::Pointer { target, sigil, .. } => {
            push_pointer(types, *target, sigil, out, start, depth)
        }
        Type::Qualified {
            qualifier: "restrict",
            target,
        } => {
            push_type(types, *target, out, start, depth + 1);
            out.push_str(" restrict ");
        }
        Type::Qualified { qualifier, target } => {
            out.push_str(qualifier);
            out.push(' ');
            push_type(types, *target, out, start, depth + 1);
            out.push(' ');
        }
        Type::Array { element, .. } => push_type(types, Some(*element), out, start, depth + 1),
        Type::Function {
            result,
            params,
            variadic,
        } => {
            push_type(types, *result, out, start, depth + 1);
            out.push_str(" ()");
            push_params(types, params, *variadic, out, start, depth);
        }
    }
}

fn is_pointer(types: &TypeArena, id: Option<TypeId>) -> bool {
    id.is_some_and(|id| matches!(types.get(id), Type::Pointer { .. }))
}

fn push_pointer(
    types: &TypeArena,
    target: Option<TypeId>,
    sigil: &str,
    out: &mut String,
    start: usize,
    depth: u32,
) {
    if let Some(target) = target
        && let Type::Function {
            result,
            params,
            variadic,
        } = types.get(target)
    {
        push_type(types, *result, out, start, depth + 1);
        out.push_str(" (*)");
        push_params(types, params, *variadic, out, start, depth);
        return;
    }
    if let Some(Type::Qualified { qualifier, target }) = target.map(|target| types.get(target))
        && is_pointer(types, *target)
    {
        push_type(types, *target, out, start, depth + 1);
        for part in [" ", qualifier, " ", sigil] {
            out.push_str(part);
        }
        return;
    }
    push_type(types, target, out, start, depth + 1);
    out.push(' ');
    out.push_str(sigil);
}

fn push_params(
    types: &TypeArena,
    params: &[TypeId],
    variadic: bool,
    out: &mut String,
    start: usize,
    depth: u32,
) {
    out.push('(');
    for (index, param) in params.iter().enumerate() {
        if out.len() - start > NAME_BYTES_MAX {
            break;
        }
        if index > 0 {
            out.push_str(", ");
        }
        push_type(types, Some(*param), out, start, depth + 1);
    }
    match (variadic, params.is_empty()) {
        (true, true) => out.push_str("..."),
        (true, false) => out.push_str(", ..."),
        (false, true) => out.push_str("void"),
        (false, false) => {}
    }
    out.push(')');
}

fn push_tagged(keyword: &str, name: Option<&str>, out: &mut String) {
    out.push_str(keyword);
    out.push(' ');
    out.push_str(name.unwrap_or(UNNAMED));
}
