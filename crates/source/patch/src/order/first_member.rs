//! Code that takes the first member to be at offset 0.

use super::code_view::CodeView;
use super::variables::VariableType;
use super::{FirstMemberReliance, OrderFact, OrderReliance};

pub(super) fn collect(code: &CodeView<'_>, facts: &mut Vec<OrderFact>) {
    for position in 0..code.len() {
        let reliance = match code.word(position) {
            "(" => cast(code, position),
            "OFFSET" => assembly_offset(code, position),
            "DEFINE" => defined_offset(code, position),
            name if is_container_of(name) && code.word(position + 1) == "(" => {
                container_of(code, position)
            }
            _ => None,
        };
        let reliance = reliance.map(OrderReliance::FirstMember);
        facts.extend(reliance.map(|reliance| code.fact(position, reliance)));
    }
}

fn is_container_of(name: &str) -> bool {
    let name = name.trim_start_matches('_');
    name.starts_with("container_of")
        || name.eq_ignore_ascii_case("container_of")
        || name.ends_with("_entry")
        || name.ends_with("_entry_safe")
        || name.ends_with("_entry_rcu")
}

/// `container_of(pointer, struct s, first)`.
fn container_of(code: &CodeView<'_>, position: usize) -> Option<FirstMemberReliance> {
    let arguments = code.arguments(position);
    let names_first = arguments.windows(2).any(|pair| {
        let member = code.joined(pair[1].clone());
        code.subject_tokens(pair[0].start) == pair[0].len() && code.query.is_first(&member)
    });
    names_first.then(|| FirstMemberReliance::ContainerOf {
        operation: code.word(position).to_owned(),
    })
}

/// `(struct first *)pointer_to_struct` and `(struct s *)pointer_to_first`; `open` is at the
/// parenthesis.
fn cast(code: &CodeView<'_>, open: usize) -> Option<FirstMemberReliance> {
    let close = code.close_of(open)?;
    let start = open + 1 + usize::from(code.word(open + 1) == "const");
    let operand = operand_after(code, close)?;
    if let Some((first, tokens)) = code.first_type(start)
        && is_pointer(code, start + tokens, close)
    {
        let casts_subject = code.type_of(operand) == VariableType::Subject;
        return casts_subject.then(|| FirstMemberReliance::CastToFirst {
            to: first.to_owned(),
        });
    }
    let tokens = code.subject_tokens(start);
    if tokens == 0 || !is_pointer(code, start + tokens, close) {
        return None;
    }
    // The tag of the operand is not kept; the struct at offset 0 stands for all inside of it.
    let casts_first = code.type_of(operand) == VariableType::First;
    let from = code.query.first_types.first();
    from.filter(|_| casts_first)
        .map(|from| FirstMemberReliance::CastFromFirst { from: from.clone() })
}

fn is_pointer(code: &CodeView<'_>, start: usize, close: usize) -> bool {
    start < close && (start..close).all(|at| code.word(at) == "*")
}

/// Operand of a cast whose parenthesis closes at `close`: a name, `&name`, or what is in
/// parentheses.
fn operand_after(code: &CodeView<'_>, close: usize) -> Option<std::ops::Range<usize>> {
    let start = close + 1;
    let name = start + usize::from(code.word(start) == "&");
    if code.word(name) == "(" {
        return Some(name..code.close_of(name)? + 1);
    }
    // `p->member` is of another type.
    let is_whole = !matches!(code.word(name + 1), "." | "[" | "(")
        && (code.word(name + 1), code.word(name + 2)) != ("-", ">");
    (code.is_ident(name) && is_whole).then_some(start..name + 1)
}

fn is_offset_file(code: &CodeView<'_>) -> bool {
    let name = code.file_name().rsplit('/').next().unwrap_or_default();
    name.contains("offsets") || name.contains("bounds")
}

/// `OFFSET(SYMBOL, tag, member)` of the kernel's `asm-offsets.c`.
fn assembly_offset(code: &CodeView<'_>, position: usize) -> Option<FirstMemberReliance> {
    let arguments = code.arguments(position);
    let [_, tag, member] = &arguments[..] else {
        return None;
    };
    let is_subject = code.joined(tag.clone()) == code.query.tag;
    let member = code.joined(member.clone());
    (is_offset_file(code) && is_subject && code.query.is_first(&member))
        .then_some(FirstMemberReliance::AssemblyOffset)
}

/// `DEFINE(SYMBOL, offsetof(struct s, member))` of the kernel's `asm-offsets.c`.
fn defined_offset(code: &CodeView<'_>, position: usize) -> Option<FirstMemberReliance> {
    let value = code.arguments(position).get(1)?.clone();
    let names_first = value.into_iter().any(|at| {
        let arguments = match code.word(at) {
            "offsetof" => code.arguments(at),
            _ => return false,
        };
        let [owner, member] = &arguments[..] else {
            return false;
        };
        let member = code.joined(member.clone());
        code.subject_tokens(owner.start) > 0 && code.query.is_first(&member)
    });
    (is_offset_file(code) && names_first).then_some(FirstMemberReliance::AssemblyOffset)
}
