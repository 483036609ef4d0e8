//! Text about code that relies on the order of members.

use std::fmt::Write as _;

use crate::documents::advise::AdvisedTypeDocument;
use crate::documents::advise::evidence::OrderFactDocument;
use crate::words::advice::order::undecided_sentence;
use crate::words::count_more;
use crate::words::wrap::wrap_text;

/// Uses that are listed.
const FACTS_MAX: usize = 8;
/// Undecided uses that are listed.
const UNDECIDED_MAX: usize = 3;

/// Appends the code that relies on the order, what stays for it, and what cannot be decided.
pub(crate) fn push_order(text: &mut String, advised: &AdvisedTypeDocument) {
    let skipped = advised.left_out.order;
    if skipped > 0 {
        let sentence =
            format!("{skipped} skipped: other code relies on the order that they would change.");
        let _ = writeln!(text, "{}", wrap_text(&sentence, 2));
    }
    for sentence in &advised.order_notes {
        let _ = writeln!(text, "{}", wrap_text(sentence, 2));
    }
    let (undecided, facts): (Vec<_>, Vec<_>) =
        { advised.order.iter() }.partition(|fact| fact.kind == OrderFactDocument::UNDECIDED);
    push_facts(text, &facts, FACTS_MAX);
    if let Some(sentence) = undecided_sentence(undecided.len()) {
        let _ = writeln!(text, "{}", wrap_text(&sentence, 2));
        push_facts(text, &undecided, UNDECIDED_MAX);
    }
}

fn push_facts(text: &mut String, facts: &[&OrderFactDocument], shown: usize) {
    for fact in facts.iter().take(shown) {
        let line = format!("  {}:{}: {}", fact.file, fact.line, fact.sentence);
        let _ = writeln!(text, "{}", wrap_text(&line, 4));
    }
    if let Some(count @ 1..) = facts.len().checked_sub(shown) {
        let _ = writeln!(text, "  and {}", count_more(count as u64, "use"));
    }
}
