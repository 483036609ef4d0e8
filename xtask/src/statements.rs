//! The size of the code in statements, which line breaks do not change.

use std::collections::BTreeMap;
use std::path::Path;

use syn::visit::Visit;

use crate::source::{SourceFile, is_cfg_test};

/// The size of the product: without tests and without this crate.
#[derive(Default)]
pub struct CodeSize {
    /// Statements in bodies of functions. An item among them is no statement.
    pub statements: usize,
    pub match_arms: usize,
    /// Functions and methods with a body.
    pub functions: usize,
    /// Types, traits, implementations, constants, macros.
    pub definitions: usize,
    /// `use` and `mod`: more of them where code stands in more and smaller files.
    pub imports: usize,
}

impl CodeSize {
    pub fn measure(files: &[SourceFile]) -> Self {
        let mut size = Self::default();
        for file in files {
            if !file.is_test() && !file.path.starts_with("xtask") {
                size.visit_file(&file.syntax);
            }
        }
        size
    }
}

impl<'ast> Visit<'ast> for CodeSize {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        match item {
            syn::Item::Mod(module) if is_cfg_test(&module.attrs) => return,
            syn::Item::Mod(_) | syn::Item::Use(_) => self.imports += 1,
            syn::Item::Fn(_) => self.functions += 1,
            _ => self.definitions += 1,
        }
        syn::visit::visit_item(self, item);
    }

    fn visit_stmt(&mut self, statement: &'ast syn::Stmt) {
        if !matches!(statement, syn::Stmt::Item(_)) {
            self.statements += 1;
        }
        syn::visit::visit_stmt(self, statement);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.functions += 1;
        syn::visit::visit_impl_item_fn(self, function);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        self.match_arms += 1;
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
