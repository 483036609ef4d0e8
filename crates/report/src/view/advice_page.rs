//! The screen with the advice on a finding's type.

use relayout_contend::strip_type_tag;

use super::finding_details::{finding_heading, saving_words};
use super::page_text::PageText;
use super::text_fit::{shown_source_line, shown_text};
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
        quoted_word(profile),
        quoted_word(advised_type(finding))
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

/// Returns a word as a shell takes it.
fn quoted_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::quoted_word;

    #[test]
    fn words_reach_the_command_as_they_are() {
        for (word, expect) in [
            ("pcpu_chunk", "pcpu_chunk"),
            ("unsigned long[]", "'unsigned long[]'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
        ] {
            assert_eq!(quoted_word(word), expect);
        }
    }
}
