//! The libraries that a program needs, found where glibc's loader would find them. Nothing is run.
//!
//! Order and rules are those of ld.so(8).

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use relayout_files::{read_regular, read_regular_text};

use crate::elf::{LibraryNeeds, is_for_machine, library_needs, requested_loader};
use crate::{Error, GuestMachine};

/// Folders in which the loader looks last.
const LAST_FOLDERS: [&str; 4] = ["/lib64", "/usr/lib64", "/lib", "/usr/lib"];
const CONFIGURATION: &str = "/etc/ld.so.conf";
/// Configuration files that include each other, at most.
const CONFIGURATIONS_MAX: usize = 256;

/// Looks for libraries on this machine.
pub struct LibrarySearch {
    machine: GuestMachine,
    /// `$LD_LIBRARY_PATH`.
    first_folders: Vec<PathBuf>,
    /// Those of the loader's configuration, and the last ones.
    last_folders: Vec<PathBuf>,
}

/// A program's loader and libraries, by path.
pub struct FoundLibraries {
    /// Files that the program needs beside itself.
    pub files: Vec<PathBuf>,
    /// Folders of the libraries.
    pub folders: Vec<PathBuf>,
}

impl LibrarySearch {
    /// Reads where this machine's loader looks, for libraries of `machine`.
    pub fn new(machine: GuestMachine) -> Self {
        let variable = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let mut last_folders = configured_folders(Path::new(CONFIGURATION));
        last_folders.extend(LAST_FOLDERS.map(PathBuf::from));
        Self {
            machine,
            first_folders: { env::split_paths(&variable) }
                .filter(|folder| folder.is_absolute())
                .collect(),
            last_folders,
        }
    }

    /// Finds what the program at `path`, with the content `bytes`, needs. Errors speak of it as
    /// `name`.
    ///
    /// # Errors
    /// A library is missing or cannot be read.
    pub fn find_all(
        &self,
        name: &Path,
        path: &Path,
        bytes: &[u8],
    ) -> Result<FoundLibraries, Error> {
        let mut found: BTreeMap<String, PathBuf> = BTreeMap::new();
        let mut folders = Vec::new();
        let mut waiting = vec![(path.to_owned(), needs_of(path, bytes)?)];
        while let Some((user, needs)) = waiting.pop() {
            for needed in &needs.names {
                if found.contains_key(needed) {
                    continue;
                }
                let (library, bytes) = self.find_library(needed, &user, &needs).ok_or_else(
                    || Error::Program {
                        path: name.to_owned(),
                        why: format!(
                            "it needs {needed}, which is in no folder in which the loader looks: \
                                 $LD_LIBRARY_PATH names further ones"
                        ),
                    },
                )?;
                waiting.push((library.clone(), needs_of(&library, &bytes)?));
                folders.extend(library.parent().map(Path::to_owned));
                found.insert(needed.clone(), library);
            }
        }
        folders.sort();
        folders.dedup();
        let loader = requested_loader(bytes).map(PathBuf::from);
        Ok(FoundLibraries {
            files: found.into_values().chain(loader).collect(),
            folders,
        })
    }

    fn find_library(
        &self,
        name: &str,
        user: &Path,
        needs: &LibraryNeeds,
    ) -> Option<(PathBuf, Vec<u8>)> {
        let usable = |path: PathBuf| {
            let bytes = read_regular(&path).ok()?;
            is_for_machine(&bytes, self.machine).then_some((path, bytes))
        };
        if name.contains('/') {
            return usable(std::path::absolute(name).ok()?);
        }
        let own = own_folders(user, needs);
        let (before, after) = match needs.comes_first {
            true => (own, Vec::new()),
            false => (Vec::new(), own),
        };
        let folders = { before.iter() }
            .chain(&self.first_folders)
            .chain(&after)
            .chain(&self.last_folders);
        folders.map(|folder| folder.join(name)).find_map(usable)
    }
}

fn needs_of(path: &Path, bytes: &[u8]) -> Result<LibraryNeeds, Error> {
    library_needs(bytes).map_err(|error| Error::Program {
        path: path.to_owned(),
        why: format!("its dynamic section cannot be read: {error}"),
    })
}

/// Folders that a program or library names itself, `$ORIGIN` replaced by its own.
fn own_folders(user: &Path, needs: &LibraryNeeds) -> Vec<PathBuf> {
    let real = fs::canonicalize(user).unwrap_or_else(|_| user.to_owned());
    let origin = real
        .parent()
        .unwrap_or(Path::new("/"))
        .display()
        .to_string();
    let expand = |text: &str| {
        let text = text.replace("${ORIGIN}", &origin);
        PathBuf::from(text.replace("$ORIGIN", &origin))
    };
    let parts = needs.folders.iter().flat_map(|text| text.split(':'));
    { parts.filter(|text| !text.is_empty()) }
        .map(expand)
        .filter(|folder| folder.is_absolute())
        .collect()
}

/// Folders of the loader's configuration file and of those that it includes.
fn configured_folders(first: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let mut waiting = vec![first.to_owned()];
    let mut read = 0;
    while let Some(file) = waiting.pop() {
        read += 1;
        let Ok(text) = read_regular_text(&file) else {
            continue;
        };
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if let Some(pattern) = line.strip_prefix("include ") {
                if read < CONFIGURATIONS_MAX {
                    waiting.extend(matching_files(Path::new(pattern.trim())));
                }
            } else if line.starts_with('/') {
                folders.push(PathBuf::from(line));
            }
        }
    }
    folders
}

/// Files of a folder whose names match the pattern's last part, in which one `*` stands for
/// anything.
fn matching_files(pattern: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (pattern.parent(), pattern.file_name()) else {
        return Vec::new();
    };
    let name = name.to_string_lossy();
    let (start, end) = name.split_once('*').unwrap_or((&name, ""));
    let is_match = |path: &PathBuf| {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        match name.contains('*') {
            true => {
                file.len() >= start.len() + end.len()
                    && file.starts_with(start)
                    && file.ends_with(end)
            }
            false => file == name,
        }
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = { entries.map(|entry| entry.path()) }
        .filter(is_match)
        .collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loaders_configuration_includes_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let main = format!(
            "# comment\ninclude {}\n/opt/first # why\n",
            path("*.conf").display()
        );
        fs::write(path("main"), main).expect("written");
        fs::write(path("b.conf"), "/opt/b\n").expect("written");
        fs::write(path("a.conf"), "/opt/a\n/opt/c\nnot a folder\n").expect("written");
        fs::write(path("other"), "/opt/other\n").expect("written");
        let mut folders = configured_folders(&path("main"));
        folders.sort();
        let expect = ["/opt/a", "/opt/b", "/opt/c", "/opt/first"].map(PathBuf::from);
        assert_eq!(folders, expect);
    }

    #[test]
    fn a_configuration_that_includes_itself_ends() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("main");
        let text = format!("include {}\n/opt/a\n", path.display());
        fs::write(&path, text).expect("written");
        let folders = configured_folders(&path);
        assert_eq!(folders.first(), Some(&PathBuf::from("/opt/a")));
        assert!(folders.len() <= CONFIGURATIONS_MAX);
    }
}
