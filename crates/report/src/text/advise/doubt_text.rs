//! Text of the gain on parts of the recording, and of doubts.

use std::fmt::Write as _;

use crate::documents::advise::candidate::CandidateDocument;
use crate::words::advice::doubts::doubt_paragraph;
use crate::words::wrap::wrap_text;

/// Appends the gain of a layout on parts of the recording, and the doubts about it.
pub(crate) fn push_doubts(text: &mut String, candidate: &CandidateDocument) {
    if let Some(sentence) = &candidate.parts_sentence {
        let _ = writeln!(text, "{}", wrap_text(sentence, 0));
    }
    let doubts = candidate.doubts.iter().map(|doubt| doubt.sentence.as_str());
    let paragraph = doubt_paragraph(doubts);
    if !paragraph.is_empty() {
        let _ = writeln!(text, "{}", wrap_text(&paragraph, 2));
    }
}
