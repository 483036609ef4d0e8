//! Assertions about offsets and the size, and limits of offsets.

use super::code_view::{ArgumentRange, CodeView};
use super::variables::VariableType;
use super::{AssertedSize, OrderFact, OrderReliance};

/// Offset that `kfree_rcu` takes for the address of a function, from
/// `__is_kvfree_rcu_offset` of Linux.
const RECLAIM_OFFSET_LIMIT: u64 = 4096;

/// Tokens of an assertion, at most.
const TOKENS_MAX: usize = 2000;

pub(super) fn collect(code: &CodeView<'_>, facts: &mut Vec<OrderFact>) {
    for position in 0..code.len() {
        let name = code.word(position);
        if !code.is_ident(position) || code.word(position + 1) != "(" {
            continue;
        }
        let reliance = match is_assertion(name) {
            true => asserted(code, position),
            false if is_reclaim(name) => reclaimed_member(code, name, &code.arguments(position)),
            false => None,
        };
        facts.extend(reliance.map(|reliance| code.fact(position, reliance)));
    }
}

/// Returns true for names of assertions that the compiler checks.
fn is_assertion(name: &str) -> bool {
    let is_upper_case = !name.contains(|c: char| c.is_ascii_lowercase());
    name.starts_with("BUILD_BUG_ON")
        || matches!(
            name,
            "static_assert" | "_Static_assert" | "compiletime_assert"
        )
        || is_upper_case && (name.contains("ASSERT") || name.contains("CHECK_"))
}

fn is_reclaim(name: &str) -> bool {
    matches!(name, "kfree_rcu" | "kvfree_rcu")
}

/// Members and size that the assertion at `position` is about.
fn asserted(code: &CodeView<'_>, position: usize) -> Option<OrderReliance> {
    let close = { code.close_of(position + 1) }.filter(|close| close - position <= TOKENS_MAX)?;
    let (mut members, mut has_size) = (Vec::new(), false);
    for at in position + 2..close {
        let tokens = code.subject_tokens(at);
        if tokens == 0 {
            continue;
        }
        let before = code.word(at.saturating_sub(2));
        match (before, code.word(at + tokens)) {
            // No order changes the size of a member.
            ("sizeof_field" | "sizeof_member" | "FIELD_SIZEOF", _) => {}
            ("sizeof", _) => has_size = true,
            (_, ",") => members.extend(listed_members(code, at + tokens + 1)),
            _ => {}
        }
    }
    let is_size_check = code.word(position).contains("SIZE");
    let has_equality = (position + 2..close).any(|at| {
        let sign = (code.word(at), code.word(at + 1));
        matches!(sign, ("=" | "!", "="))
    });
    let size = match (has_size, has_equality) {
        (true, true) => Some(AssertedSize::Exact),
        (true, false) => Some(AssertedSize::Limit),
        _ if is_size_check => Some(AssertedSize::Exact),
        _ => None,
    };
    if is_size_check {
        members.clear();
    }
    let is_about_subject = !members.is_empty() || has_size;
    is_about_subject.then_some(OrderReliance::Assertion { members, size })
}

/// Member that is named from `start` to the next comma or closing bracket.
fn listed_members(code: &CodeView<'_>, start: usize) -> Option<String> {
    let end = (start..code.len()).find(|&at| matches!(code.word(at), "," | ")" | ";" | ""))?;
    (code.is_ident(start)).then(|| code.joined(start..end))
}

/// Member of `kfree_rcu(pointer, member)`.
fn reclaimed_member(
    code: &CodeView<'_>,
    name: &str,
    arguments: &[ArgumentRange],
) -> Option<OrderReliance> {
    let [object, member] = arguments else {
        return None;
    };
    let (operation, member) = (name.to_owned(), code.joined(member.clone()));
    match code.type_of(object.clone()) {
        VariableType::Subject => Some(OrderReliance::OffsetLimit {
            operation,
            member,
            below: RECLAIM_OFFSET_LIMIT,
        }),
        _ => None,
    }
}
