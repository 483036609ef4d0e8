//! Order of the `@member:` entries in the `/** struct s - ... */` above a definition.
//!
//! The entries follow the order of the members only if they did so before the edit.

use crate::body::BracedBody;
use crate::find::StructDefinition;
use crate::lex::TokenKind;
use crate::lines::{line_start, next_line_start};
use crate::refusal::EditRefusal;
use crate::tokenized::TokenizedFile;

/// Entry of one member: bytes of its lines, without blank lines below.
struct KernelDocEntry {
    name: String,
    start: usize,
    end: usize,
}

/// Returns `new`, which an edit of `old` gave, with the entries of its comment in the order of
/// its members.
pub(crate) fn reorder_entries(
    file: &TokenizedFile<'_>,
    old: &StructDefinition,
    new: &str,
) -> Result<String, EditRefusal> {
    let new_file = TokenizedFile::new(file.name, new);
    let definition = new_file.find_same_definition(old)?;
    let entries = kernel_doc_entries(&new_file, &definition);
    let entry_positions = |body: &BracedBody| {
        let mut names = Vec::new();
        list_member_names(body, "", &mut names);
        let at = |entry: &KernelDocEntry| names.iter().position(|name| *name == entry.name);
        entries.iter().map(at).collect::<Option<Vec<usize>>>()
    };
    let (Some(before), Some(after)) = (
        entry_positions(&old.body),
        entry_positions(&definition.body),
    ) else {
        return Ok(new.to_owned());
    };
    if !before.is_sorted() || after.is_sorted() {
        return Ok(new.to_owned());
    }
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|&index| after[index]);
    let mut text = String::with_capacity(new.len());
    let mut done = 0;
    for (slot, &index) in entries.iter().zip(&order) {
        text += &new[done..slot.start];
        text += &new[entries[index].start..entries[index].end];
        done = slot.end;
    }
    text += &new[done..];
    Ok(text)
}

/// Appends all names of members, nested ones also by path (`part`, `part.head`), members of
/// anonymous structs by their own name.
pub(crate) fn list_member_names(body: &BracedBody, prefix: &str, names: &mut Vec<String>) {
    for statement in &body.statements {
        let own = statement.names.iter().chain(&statement.group_name);
        names.extend(own.map(|name| format!("{prefix}{name}")));
        if let Some(inner) = statement.body.as_deref() {
            let prefix = match statement.names.first() {
                Some(name) => format!("{prefix}{name}."),
                None => prefix.to_owned(),
            };
            list_member_names(inner, &prefix, names);
        }
    }
}

/// Entries of the `/** */` above the definition.
fn kernel_doc_entries(
    file: &TokenizedFile<'_>,
    definition: &StructDefinition,
) -> Vec<KernelDocEntry> {
    let comment = file.head_token(definition.body.open).previous();
    let Some(comment) = comment.map(|at| file.tokens[at]) else {
        return Vec::new();
    };
    let text = comment.text(file.source);
    if comment.kind != TokenKind::Comment || !text.starts_with("/**") || !text.contains('\n') {
        return Vec::new();
    }
    let mut found: Vec<KernelDocEntry> = Vec::new();
    let mut open = false;
    let mut at = next_line_start(file.source, comment.start);
    // The line of the closing delimiter is no entry's.
    let end = line_start(file.source, comment.end - 1);
    while at < end {
        let next = next_line_start(file.source, at);
        let line = file.source[at..next].trim();
        let words = line.strip_prefix('*').unwrap_or(line).trim();
        if let Some((name, _)) = words
            .strip_prefix('@')
            .and_then(|rest| rest.split_once(':'))
        {
            found.push(KernelDocEntry {
                name: name.to_owned(),
                start: at,
                end: next,
            });
            open = true;
        } else if words.is_empty() {
            open = false;
        } else if let Some(last) = found.last_mut().filter(|_| open) {
            last.end = next;
        }
        at = next;
    }
    found
}
