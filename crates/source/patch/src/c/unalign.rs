//! Removal of alignments.

use crate::declarator::is_alignment;
use crate::find::StructDefinition;
use crate::lex::TokenIndex;
use crate::refusal::EditRefusal;
use crate::tokenized::TokenizedFile;

/// Returns the text without the alignments written on `member`, or on the type.
pub(crate) fn remove_alignment(
    file: &TokenizedFile<'_>,
    definition: &StructDefinition,
    member: Option<&str>,
) -> Result<String, EditRefusal> {
    let ranges = match member {
        Some(member) => {
            let path = definition.find_member(file, member)?;
            let statement = definition.statement(&path);
            let from = statement
                .body
                .as_deref()
                .map_or(statement.first, |inner| inner.close);
            vec![(from, statement.last)]
        }
        None => {
            let (open, close) = (definition.body.open, definition.body.close);

            vec![
                (file.head_token(open), open),
                (close, file.declaration_end(close)),
            ]
        }
    };
    let place = file.place(ranges[ranges.len() - 1].0);
    let refused = || EditRefusal::NotAligned {
        name: member.unwrap_or(&definition.name).to_owned(),
        place: place.clone(),
    };
    let mut cuts = Vec::new();
    for (from, to) in ranges {
        let mut at = from;
        while at < to {
            let text = file.text(at);
            let end = file.arguments_end(at).unwrap_or(at);
            if matches!(text, "__attribute__" | "__attribute") {
                match is_only_alignment(file, at, end) {
                    Some(true) => cuts.push((at, end)),
                    Some(false) => return Err(refused()),
                    None => {}
                }
            } else if is_alignment(text) {
                let bare = text.starts_with("____cacheline") || text.starts_with("__cacheline");
                cuts.push((at, if bare { at } else { end }));
            }
            at = end.max(at) + 1;
        }
    }
    if cuts.is_empty() {
        return Err(refused());
    }
    let mut text = file.source.to_owned();
    for (first, last) in cuts.into_iter().rev() {
        let (start, end) = (file.tokens[first].start, file.tokens[last].end);
        // One side's white space goes along: the one in front, but at the start of a line.
        let before = text[..start].trim_end_matches([' ', '\t']).len();
        let starts_line = text[..before].is_empty() || text[..before].ends_with('\n');
        let behind = end + text[end..].len() - text[end..].trim_start_matches([' ', '\t']).len();
        match starts_line {
            true => text.replace_range(start..behind, ""),
            false => text.replace_range(before..end, ""),
        }
    }
    Ok(text)
}

/// Returns true if `__attribute__((...))` is an alignment and nothing else; `None` if it holds no
/// alignment.
fn is_only_alignment(file: &TokenizedFile<'_>, at: TokenIndex, end: TokenIndex) -> Option<bool> {
    let (first, inner_end) = (at + 3, end - 1);
    if !first.until(inner_end).any(|at| is_alignment(file.text(at))) {
        return None;
    }
    let last = file.arguments_end(first)?;
    Some(is_alignment(file.text(first)) && last + 1 == inner_end)
}
