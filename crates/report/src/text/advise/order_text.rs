//! Text about code that relies on the order of members.

use std::fmt::Write as _;

use relayout_advice::GatheredType;
use relayout_patch::OrderFact;

use crate::words::advice::order::{fact_words, order_sentences, undecided_sentence};
use crate::words::count_more;
use crate::words::wrap::wrap_text;

/// Uses that are listed.
const FACTS_MAX: usize = 8;
/// Undecided uses that are listed.
const UNDECIDED_MAX: usize = 3;

/// Appends the code that relies on the order, what stays for it, and what cannot be decided.
/// `skipped` is the number of layouts that were skipped for it.
pub(crate) fn push_order(text: &mut String, gathered: &GatheredType<'_>, skipped: usize) {
    let order = &gathered.order;
    for sentence in order_sentences(gathered, skipped) {
        let _ = writeln!(text, "{}", wrap_text(&sentence, 2));
    }
    push_facts(text, &order.facts, FACTS_MAX);
    if let Some(sentence) = undecided_sentence(order) {
        let _ = writeln!(text, "{}", wrap_text(&sentence, 2));
        push_facts(text, &order.undecided, UNDECIDED_MAX);
    }
}

fn push_facts(text: &mut String, facts: &[OrderFact], shown: usize) {
    for fact in facts.iter().take(shown) {
        let line = format!("  {}: {}", fact.place, fact_words(fact));
        let _ = writeln!(text, "{}", wrap_text(&line, 4));
    }
    if let Some(count @ 1..) = facts.len().checked_sub(shown) {
        let _ = writeln!(text, "  and {}", count_more(count as u64, "use"));
    }
}
