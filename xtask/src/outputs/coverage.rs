//! Tests that no subcommand of relayout lacks a row.
#![cfg(test)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syn::visit::Visit;

use super::rows::all_rows;
use crate::source::{SourceFile, read_files};

/// Subcommands without a row, with the reason.
const UNCOVERED: [(&str, &str); 1] = [(
    "fleet",
    "another program, of a workspace of its own; relayout itself only starts it",
)];

/// Collects the subcommands that enums with `#[derive(clap::Subcommand)]` define.
struct SubcommandVisitor<'a> {
    file: &'a SourceFile,
    names: &'a mut BTreeSet<String>,
}

impl<'ast> Visit<'ast> for SubcommandVisitor<'_> {
    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        let derives = item
            .attrs
            .iter()
            .filter(|attribute| attribute.path().is_ident("derive"));
        let texts = derives.filter_map(|attribute| attribute.meta.require_list().ok());
        if texts
            .into_iter()
            .any(|list| list.tokens.to_string().contains("Subcommand"))
        {
            let outer = outer_command(&self.file.path);
            for variant in &item.variants {
                let name =
                    stated_name(variant).unwrap_or_else(|| kebab(&variant.ident.to_string()));
                self.names.insert(format!("{outer}{name}"));
            }
        }
    }
}

/// The command whose subcommands a file of `cmd/` defines, with a space behind it; none for `main.rs`.
fn outer_command(path: &Path) -> String {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    let after = parts.iter().skip_while(|part| *part != "cmd").nth(1);
    after.map_or_else(String::new, |name| {
        format!("{} ", name.trim_end_matches(".rs").replace('_', "-"))
    })
}

/// The name in `#[command(name = "c++")]`.
fn stated_name(variant: &syn::Variant) -> Option<String> {
    let command = variant
        .attrs
        .iter()
        .find(|attribute| attribute.path().is_ident("command"))?;
    let mut name = None;
    // The rest of the list stays unread after `name`.
    let _ = command.parse_nested_meta(|meta| {
        if meta.path.is_ident("name") {
            name = Some(meta.value()?.parse::<syn::LitStr>()?.value());
        }
        Ok(())
    });
    name
}

/// `WhatIf` as clap writes it: `what-if`.
fn kebab(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push('-');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

/// Every subcommand, as a user types it: `report`, `record kernel`.
fn defined_subcommands() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut names = BTreeSet::new();
    for file in read_files(&root).expect("the repository's source") {
        if file.path.starts_with("crates/relayout/src") {
            let mut visitor = SubcommandVisitor {
                file: &file,
                names: &mut names,
            };
            visitor.visit_file(&file.syntax);
        }
    }
    names
}

#[test]
fn each_subcommand_has_a_row_or_a_reason() {
    let mut names = defined_subcommands();
    assert!(
        names.contains("what-if") && names.contains("record perf") && names.contains("c++"),
        "{names:?}"
    );
    // It has subcommands only.
    names.remove("record");
    let reasons = BTreeMap::from(UNCOVERED);
    let rows = all_rows();
    let commands: Vec<_> = rows.iter().flat_map(|row| row.commands()).collect();
    for name in &names {
        let has_row = commands.iter().any(|command| {
            let line = command.words.join(" ");
            line.strip_prefix(name.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        });
        assert_ne!(
            has_row,
            reasons.contains_key(name.as_str()),
            "{name} needs a row in rows/, or a reason in UNCOVERED"
        );
    }
    assert!(
        reasons.keys().all(|name| names.contains(*name)),
        "a reason for no subcommand"
    );
}
