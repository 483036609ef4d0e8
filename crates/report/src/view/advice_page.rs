//! The screen with the advice on a finding's type.

use relayout_contend::strip_type_tag;

use super::finding_details::{finding_heading, saving_words};
use super::page_text::PageText;
use super::text_fit::{shown_source_line, shown_text};
use relayout_workflows::shell_word;

use crate::documents::report::finding::FindingDocument;
use crate::words::wrap::fit_lines;

/// Returns the name by which `relayout advise` takes the type of a finding.
pub(super) fn advised_type(finding: &FindingDocument) -> &str {
    strip_type_tag(&finding.type_name)
}

/// Adds the advice on the type of a finding. `text` is what `relayout advise` printed; `None` if it has not run.
pub(super) fn write_advice(
    page: &mut PageText,
    finding: &FindingDocument,
    profile: &str,
    text: Option<&str>,
) {
    page.push_heading(&finding_heading(finding));
    page.push_fact("Saving", &shown_text(&saving_words(finding)));
    for advice in &finding.advice {
        page.push_text(String::new());
        page.push_sentence(&shown_text(&advice.words));
    }
    let command = format!(
        "relayout advise {} {}",
        shell_word(profile),
        shell_word(advised_type(finding))
    );
    match text {
        Some(text) => {
            page.push_heading(&format!("Printed by {}", shown_text(&command)));
            for line in fit_lines(text, page.width).lines() {
                page.push_text(shown_source_line(line));
            }
        }
        None => {
            page.push_heading("Advice on the type has not been computed. This command does it:");
            page.push_sentence(&shown_text(&command));
        }
    }
}
