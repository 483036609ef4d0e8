//! Values by position, and definitions that the compiler may shuffle.

use super::code_view::CodeView;
use super::{OrderFact, OrderReliance};

pub(super) fn collect(code: &CodeView<'_>, facts: &mut Vec<OrderFact>) {
    for position in 0..code.len() {
        let tokens = code.subject_tokens(position);
        if tokens == 0 {
            continue;
        }
        let behind = position + tokens;
        let reliance = match code.is_randomized(behind) {
            true => Some(OrderReliance::Randomized),
            false => code
                .initializer_brace(behind)
                .filter(|&open| code.is_positional(open))
                .map(|open| OrderReliance::Initializer {
                    values: value_count(code, behind, open),
                }),
        };
        facts.extend(reliance.map(|reliance| code.fact(position, reliance)));
    }
}

/// Number of values at the start of the braces at `open`, of an array those of the element with the
/// most.
fn value_count(code: &CodeView<'_>, behind: usize, open: usize) -> usize {
    let is_array = (behind..open).any(|at| code.word(at) == "[");
    let Some(close) = code.close_of(open) else {
        return 0;
    };
    let values = code.split(open + 1..close);
    if !is_array {
        return leading_values(code, &values);
    }
    let in_element = |value: &std::ops::Range<usize>| {
        let brace = value.clone().find(|&at| code.word(at) == "{")?;
        let inner = code.split(brace + 1..code.close_of(brace)?);
        Some(leading_values(code, &inner))
    };
    let most = values.iter().filter_map(in_element).max();
    // Without inner braces the values go through all members.
    most.unwrap_or(values.len())
}

fn leading_values(code: &CodeView<'_>, values: &[std::ops::Range<usize>]) -> usize {
    let is_positional = |value: &&std::ops::Range<usize>| {
        let is_old_designator = code.is_ident(value.start) && code.word(value.start + 1) == ":";
        code.word(value.start) != "." && !is_old_designator
    };
    values.iter().take_while(is_positional).count()
}
