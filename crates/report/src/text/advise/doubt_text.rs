//! Text of the gain on parts of the recording, and of doubts.

use std::fmt::Write as _;

use relayout_advice::AdvisedType;
use relayout_search::RankedLayout;

use crate::words::advice::doubts::{doubt_paragraph, part_sentence};
use crate::words::wrap::wrap_text;

/// Appends the gain of a layout on parts of the recording, and the doubts about it.
pub(crate) fn push_doubts(text: &mut String, advised: &AdvisedType<'_>, ranked: &RankedLayout) {
    if let Some(sentence) = part_sentence(ranked) {
        let _ = writeln!(text, "{}", wrap_text(&sentence, 0));
    }
    let paragraph = doubt_paragraph(&advised.doubts_about(ranked));
    if !paragraph.is_empty() {
        let _ = writeln!(text, "{}", wrap_text(&paragraph, 2));
    }
}
