//! pahole's spelling of types: a space before every `*`, a space after `const`.

use std::fmt::Write;

use crate::types::DEPTH_MAX;
use crate::{Type, TypeId, Types};

/// Longer spellings are cut: only damaged debug information produces them.
const NAME_BYTES_MAX: usize = 16 * 1024;

/// `const char  *`, `struct page * *`, `void (*)(int)`.
pub(super) fn type_name(types: &Types, id: Option<TypeId>) -> String {
    let mut out = String::new();
    push(types, id, &mut out, 0);
    out
}

/// [`type_name`] padded to a column. A width below zero pads to its absolute value, as printf does
/// with `%-*s`: that is what deeply nested members look like.
pub(super) fn type_column(types: &Types, id: Option<TypeId>, width: i64) -> String {
    let (keyword, name) = match id.map(|id| types.get(id)) {
        Some(Type::Aggregate(aggregate)) => (aggregate.kind.to_string(), aggregate.name.as_deref()),
        Some(Type::Enum { name, .. }) => ("enum".to_owned(), name.as_deref()),
        _ => return padded(&type_name(types, id), width),
    };
    let name = padded(name.unwrap_or("{...}"), width - keyword.len() as i64 - 1);
    format!("{keyword} {name}")
}

fn padded(text: &str, width: i64) -> String {
    let width = usize::try_from(width.unsigned_abs()).unwrap_or(0);
    format!("{text:width$}")
}

/// `(*name)(params)` with the types of the parameters.
pub(super) fn function_pointer(
    types: &Types,
    name: &str,
    params: &[TypeId],
    variadic: bool,
) -> String {
    let mut out = format!("(*{name})");
    push_params(types, params, variadic, &mut out, 0);
    out
}

fn push(types: &Types, id: Option<TypeId>, out: &mut String, depth: u32) {
    let Some(id) = id else {
        out.push_str("void");
        return;
    };
    if depth > DEPTH_MAX || out.len() > NAME_BYTES_MAX {
        out.push_str("...");
        return;
    }
    match types.get(id) {
        Type::Base { name, .. } | Type::Typedef { name, .. } | Type::Unknown(name) => {
            out.push_str(name)
        }
        Type::Enum { name, .. } => push_tagged("enum", name.as_deref(), out),
        Type::Aggregate(aggregate) => {
            push_tagged(&aggregate.kind.to_string(), aggregate.name.as_deref(), out);
        }
        Type::Pointer { target, sigil, .. } => push_pointer(types, *target, sigil, out, depth),
        Type::Qualified {
            qualifier: "restrict",
            target,
        } => {
            push(types, *target, out, depth + 1);
            out.push_str(" restrict ");
        }
        Type::Qualified { qualifier, target } => {
            out.push_str(qualifier);
            out.push(' ');
            push(types, *target, out, depth + 1);
            out.push(' ');
        }
        Type::Array { element, .. } => push(types, Some(*element), out, depth + 1),
        Type::Function {
            result,
            params,
            variadic,
        } => {
            push(types, *result, out, depth + 1);
            out.push_str(" ()");
            push_params(types, params, *variadic, out, depth);
        }
    }
}

fn is_pointer(types: &Types, id: Option<TypeId>) -> bool {
    id.is_some_and(|id| matches!(types.get(id), Type::Pointer { .. }))
}

fn push_pointer(types: &Types, target: Option<TypeId>, sigil: &str, out: &mut String, depth: u32) {
    if let Some(target) = target
        && let Type::Function {
            result,
            params,
            variadic,
        } = types.get(target)
    {
        push(types, *result, out, depth + 1);
        out.push_str(" (*)");
        push_params(types, params, *variadic, out, depth);
        return;
    }
    if let Some(Type::Qualified { qualifier, target }) = target.map(|target| types.get(target))
        && is_pointer(types, *target)
    {
        push(types, *target, out, depth + 1);
        let _ = write!(out, " {qualifier} {sigil}");
        return;
    }
    push(types, target, out, depth + 1);
    let _ = write!(out, " {sigil}");
}

fn push_params(types: &Types, params: &[TypeId], variadic: bool, out: &mut String, depth: u32) {
    out.push('(');
    for (index, param) in params.iter().enumerate() {
        if out.len() > NAME_BYTES_MAX {
            break;
        }
        if index > 0 {
            out.push_str(", ");
        }
        push(types, Some(*param), out, depth + 1);
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
    out.push_str(name.unwrap_or("{...}"));
}
