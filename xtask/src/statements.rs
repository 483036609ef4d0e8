//! The size of the code in statements, which line breaks do not change.

use std::collections::BTreeMap;
use std::path::Path;

use syn::visit::Visit;

use crate::source::{SourceFile, is_cfg_test};

/// Counts statements, items and match arms of the product: outside tests and outside of this crate.
pub fn count_statements(files: &[SourceFile]) -> usize {
    let mut counter = StatementCounter::default();
    for file in files {
        if !file.is_test() && !file.path.starts_with("xtask") {
            counter.visit_file(&file.syntax);
        }
    }
    counter.count
}

#[derive(Default)]
struct StatementCounter {
    count: usize,
}

impl<'ast> Visit<'ast> for StatementCounter {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if let syn::Item::Mod(module) = item
            && is_cfg_test(&module.attrs)
        {
            return;
        }
        self.count += 1;
        syn::visit::visit_item(self, item);
    }

    fn visit_stmt(&mut self, statement: &'ast syn::Stmt) {
        // An item among statements is counted as an item.
        if !matches!(statement, syn::Stmt::Item(_)) {
            self.count += 1;
        }
        syn::visit::visit_stmt(self, statement);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.count += 1;
        syn::visit::visit_impl_item_fn(self, function);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        self.count += 1;
        syn::visit::visit_arm(self, arm);
    }
}

/// Lines of code of each subcommand in `commands`, without empty lines and lines with only a
/// comment.
///
/// A subcommand is a file there, with the folder of the same name. A file in a folder that is a
/// subcommand of its own (`record kernel`) counts for itself.
pub fn subcommand_lines(files: &[SourceFile], commands: &Path) -> BTreeMap<String, usize> {
    const NESTED: [&str; 4] = [
        "record/kernel",
        "record/perf",
        "record/run",
        "verify/kernel",
    ];
    let mut lines = BTreeMap::new();
    for file in files {
        let Ok(inside) = file.path.strip_prefix(commands) else {
            continue;
        };
        let path = inside.with_extension("");
        let path = path.to_string_lossy();
        let nested = NESTED.into_iter().find(|name| path.starts_with(name));
        let command = nested.or(path.split('/').next()).unwrap_or_default();
        if command != "mod" && !file.is_test() {
            *lines.entry(command.to_owned()).or_default() += code_lines(&file.text);
        }
    }
    lines
}

fn code_lines(text: &str) -> usize {
    let is_code = |line: &&str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with("//")
    };
    text.lines().filter(is_code).count()
}
