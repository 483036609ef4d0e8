//! The help: keys, columns and kinds.

use super::page_text::PageText;
use crate::words::kinds::{LISTED_KINDS, kind_words};

const LIST_KEYS: [(&str, &str); 10] = [
    ("up, down", "select a finding; k and j do the same"),
    ("PgUp, PgDn", "a page; Home and End: first and last"),
    ("Enter", "details of the finding"),
    ("/", "search types, variables, members, functions and files"),
    ("s", "next order: transfers, saving, false, upgrades, name"),
    ("f", "only the next kind of findings"),
    ("w", "only findings that another layout saves transfers of"),
    ("Esc", "show all findings again"),
    ("i", "the recording and its limits"),
    ("q", "quit; Ctrl-C too"),
];

const DETAIL_KEYS: [(&str, &str); 4] = [
    ("up, down", "scroll; PgUp, PgDn, Home and End too"),
    (
        "n, p",
        "next and previous finding; right and left arrow too",
    ),
    ("a", "advice on the type"),
    ("Esc, Enter", "back to the list"),
];

const COLUMNS: [(&str, &str); 5] = [
    ("Transfers", "moves of the line from one cache to another"),
    ("Share", "part of all transfers of the recording"),
    (
        "False",
        "transfers that bring no byte that is used while the line stays",
    ),
    (
        "Upgrades",
        "stores that take a line from readers without moving it",
    ),
    ("Saving", "transfers that another layout of the type saves"),
];

/// Adds the help.
pub(super) fn write_help(page: &mut PageText) {
    page.push_heading("Keys in the list");
    page_rows(page, &LIST_KEYS);
    page.push_heading("Keys in the details");
    page_rows(page, &DETAIL_KEYS);
    page.push_heading("In a wide window, Tab changes between list and details");
    page.push_heading("Columns");
    page_rows(page, &COLUMNS);
    page.push_heading("Kinds");
    for kind in LISTED_KINDS {
        page.push_hanging(kind.as_str(), 15, kind_words(kind).clause);
    }
    page.push_heading("Pictures of lines");
    page.push_sentence(
        "Each letter is a member, and each dot is a byte without a recorded access. Members with capitals are written. \
         In colour: green is only read, yellow is written by one CPU or thread, red by several.",
    );
}

fn page_rows(page: &mut PageText, rows: &[(&str, &str)]) {
    for (name, words) in rows {
        page.push_fact(name, words);
    }
}
