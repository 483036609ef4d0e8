//! The `/** struct s - ... */` above a definition: its `@member:` entries follow the members' order.
//!
//! Only if they followed it before: a document in an order of its own keeps that.

use crate::body::Body;
use crate::find::{Definition, File};
use crate::lex::Kind;
use crate::lines::{line_start, next_line};
use crate::refusal::Refusal;

/// One member's entry: bytes of its lines, without blank ones below.
struct Entry {
    name: String,
    start: usize,
    end: usize,
}

/// `new`, which an edit of `old` gave, with the entries of its comment in the order of its members.
pub(crate) fn follow(file: &File<'_>, old: &Definition, new: &str) -> Result<String, Refusal> {
    let new_file = File::new(file.name, new);
    let definition = new_file.definition_at(old)?;
    let entries = entries(&new_file, &definition);
    let place = |body: &Body| {
        let mut names = Vec::new();
        list(body, "", &mut names);
        let at = |entry: &Entry| names.iter().position(|name| *name == entry.name);
        entries.iter().map(at).collect::<Option<Vec<usize>>>()
    };
    let (Some(before), Some(after)) = (place(&old.body), place(&definition.body)) else {
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

/// All names, nested ones also by path: `part`, `part.head`; those of anonymous structs by their
/// own.
pub(crate) fn list(body: &Body, prefix: &str, names: &mut Vec<String>) {
    for item in &body.items {
        let own = item.names.iter().chain(&item.group_name);
        names.extend(own.map(|name| format!("{prefix}{name}")));
        if let Some(inner) = item.body.as_deref() {
            let prefix = match item.names.first() {
                Some(name) => format!("{prefix}{name}."),
                None => prefix.to_owned(),
            };
            list(inner, &prefix, names);
        }
    }
}

/// The entries of the `/** */` right above the definition.
fn entries(file: &File<'_>, definition: &Definition) -> Vec<Entry> {
    let comment = file.head(definition.body.open).checked_sub(1);
    let Some(comment) = comment.map(|at| file.tokens[at]) else {
        return Vec::new();
    };
    let text = comment.text(file.source);
    if comment.kind != Kind::Comment || !text.starts_with("/**") || !text.contains('\n') {
        return Vec::new();
    }
    let mut found: Vec<Entry> = Vec::new();
    let mut open = false;
    let mut at = next_line(file.source, comment.start);
    // The line of the closing delimiter is no entry's.
    let end = line_start(file.source, comment.end - 1);
    while at < end {
        let next = next_line(file.source, at);
        let line = file.source[at..next].trim();
        let words = line.strip_prefix('*').unwrap_or(line).trim();
        if let Some((name, _)) = words
            .strip_prefix('@')
            .and_then(|rest| rest.split_once(':'))
        {
            found.push(Entry {
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
