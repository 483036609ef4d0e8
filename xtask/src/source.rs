//! The Rust files of the repository, parsed.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// Folders below the root that hold the project's Rust code.
const ROOTS: [&str; 5] = ["crates", "collectors", "fleet", "fuzz", "xtask"];

/// A parsed Rust file.
pub struct SourceFile {
    /// Path relative to the repository.
    pub path: PathBuf,
    /// The text of the file.
    pub text: String,
    pub syntax: syn::File,
}

impl SourceFile {
    /// True for a file that is built for tests only, by its path.
    pub fn is_test(&self) -> bool {
        self.path.iter().any(|part| {
            part == "tests" || part == "tests.rs" || part == "testkit" || part == "testprofile"
        })
    }

    /// `path:line`, as editors and compilers write a place.
    pub fn place(&self, span: proc_macro2::Span) -> String {
        format!("{}:{}", self.path.display(), span.start().line)
    }
}

/// Parses all Rust files of the repository at `root`, in order of their paths.
///
/// # Errors
/// A file that cannot be read or is no Rust.
pub fn read_files(root: &Path) -> anyhow::Result<Vec<SourceFile>> {
    let mut paths = Vec::new();
    for folder in ROOTS {
        collect_paths(&root.join(folder), &mut paths)?;
    }
    paths.sort();
    let parse = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let syntax = syn::parse_file(&text).with_context(|| path.display().to_string())?;
        let path = path.strip_prefix(root).unwrap_or(&path).to_owned();
        Ok(SourceFile { path, text, syntax })
    };
    paths.into_iter().map(parse).collect()
}

fn collect_paths(folder: &Path, paths: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Ok(());
    };
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() {
            // Sources that tests compile, not code of the project.
            if name != "target" && name != "fixtures" && name != "corpus" && name != "programs" {
                collect_paths(&path, paths)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
    Ok(())
}

/// True for an item that carries `#[cfg(test)]`.
pub fn is_cfg_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let test = |list: &syn::MetaList| list.tokens.to_string() == "test";
        attribute.path().is_ident("cfg") && attribute.meta.require_list().is_ok_and(test)
    })
}
