//! Files of a crate, by their paths and their declarations of modules.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::language::StructSource;
use crate::source_files::{SourceFiles, SourceText, WantedFiles};

/// Returns the closest folder around a file of the tree that has a `Cargo.toml`, relative to the
/// top of the tree.
pub fn crate_folder<'p>(tree: &dyn SourceFiles, file: &'p str) -> Option<&'p str> {
    let mut folders = Path::new(file).ancestors().skip(1);
    let has_manifest = |folder: &&Path| {
        let manifest = folder.join("Cargo.toml");
        manifest.to_str().is_some_and(|path| tree.has_file(path))
    };
    folders.find(has_manifest).and_then(Path::to_str)
}

/// Returns the other files of the crate that has the struct: all below its manifest, or without one
/// those that are modules of each other.
pub(super) fn other_crate_files(
    tree: &dyn SourceFiles,
    source: StructSource<'_>,
) -> Vec<SourceText> {
    let manifest_folder = crate_folder(tree, source.file);
    let own_folder = || Path::new(source.file).parent().and_then(Path::to_str);
    let folder = manifest_folder.or_else(own_folder).unwrap_or_default();
    let mut files = tree.read_files(&WantedFiles {
        folder: folder.to_owned(),
        extensions: &["rs"],
        built_folder: Some("target"),
        containing: None,
    });
    if manifest_folder.is_none() {
        let connected = connected_modules(&files, Path::new(source.file));
        files.retain(|found| connected.contains(Path::new(&found.file)));
    }
    files.retain(|found| found.file != source.file);
    files
}

/// Returns the files that declare each other by `mod name;`, from one file on.
fn connected_modules(files: &[SourceText], from: &Path) -> BTreeSet<PathBuf> {
    let links: Vec<(&Path, PathBuf)> = { files.iter() }
        .flat_map(|file| {
            let path = Path::new(&file.file);
            let declared = declared_files(path, &file.text).into_iter();
            declared.map(move |to| (path, to))
        })
        .collect();
    let mut connected = BTreeSet::from([from.to_owned()]);
    loop {
        let count = connected.len();
        for (parent, child) in &links {
            if connected.contains(*parent) || connected.contains(child) {
                connected.insert((*parent).to_owned());
                connected.insert(child.clone());
            }
        }
        if connected.len() == count {
            return connected;
        }
    }
}

/// Returns the files that the modules of a text may be in.
fn declared_files(path: &Path, text: &str) -> Vec<PathBuf> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let stem = path.file_stem().unwrap_or_default();
    let names = text.lines().filter_map(|line| {
        let (before, name) = line.trim().strip_suffix(';')?.split_once("mod ")?;
        let is_declaration = before.is_empty() || before.trim_start().starts_with("pub");
        is_declaration.then_some(name.trim())
    });
    let places = names.flat_map(|name| {
        [folder.to_owned(), folder.join(stem)]
            .into_iter()
            .flat_map(move |folder| {
                [
                    folder.join(format!("{name}.rs")),
                    folder.join(name).join("mod.rs"),
                ]
            })
    });
    places.collect()
}
