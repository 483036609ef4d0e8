//! The file and the types that a command line names: pahole's users leave out the file.

use std::path::{Path, PathBuf};

/// Types of the running kernel.
pub const RUNNING_KERNEL: &str = "/sys/kernel/btf/vmlinux";

/// A file, and names of types in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedTypes {
    /// File.
    pub file: PathBuf,
    /// Names of types; empty for all.
    pub names: Vec<String>,
}

impl NamedTypes {
    /// Returns the named file and types; without a file, those of the running kernel. A first word that is no file is a type
    /// of the running kernel, unless it looks like a path, or a file stands among the types.
    pub fn find(first: Option<&Path>, mut names: Vec<String>) -> Self {
        let running = Path::new(RUNNING_KERNEL);
        let Some(first) = first else {
            return Self {
                file: running.to_owned(),
                names,
            };
        };
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || "_*? ".contains(letter);
        let is_type = |word: &&str| {
            word.chars().all(is_name) && !Path::new(word).exists() && running.exists()
        };
        let is_misplaced = names.iter().any(|name| Path::new(name).exists());
        match first.to_str().filter(is_type).filter(|_| !is_misplaced) {
            Some(word) => {
                names.insert(0, word.to_owned());
                Self {
                    file: running.to_owned(),
                    names,
                }
            }
            None => Self {
                file: first.to_owned(),
                names,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_look_like_files_are_files() {
        let check = |first: Option<&str>, expected: &str| {
            let found = NamedTypes::find(first.map(Path::new), Vec::new());
            assert_eq!(found.file, Path::new(expected), "{first:?}");
            assert_eq!(found.names, Vec::<String>::new());
        };
        check(None, RUNNING_KERNEL);
        check(Some("Cargo.toml"), "Cargo.toml");
        check(Some("missing.o"), "missing.o");
        check(Some("./vmlinux"), "./vmlinux");
        let swapped = NamedTypes::find(
            Some(Path::new("task_struct")),
            vec!["Cargo.toml".to_owned()],
        );
        assert_eq!(swapped.file, Path::new("task_struct"));
    }
}
