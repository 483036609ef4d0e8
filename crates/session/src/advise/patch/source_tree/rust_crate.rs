//! Edits of a Rust struct in all files of its crate: a wrapped field is wrapped wherever the struct
//! is built.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use relayout_patch::{
    CrateFile, EditRefusal, SourceChange as Edit, WrappedField, edit_struct, wrap_rust_field,
};

use super::super::super::rust_sources::crate_folder;
use super::EditedFile;
use relayout_advice::RustStructRules;

/// Bytes of a file that is read: larger ones are generated tables.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// Makes the edits of struct `name`, which `file` defines at a line, and returns the file and the
/// other files of the crate that changed.
pub fn edit_rust_crate(
    source: &Path,
    file: EditedFile,
    line: u32,
    name: &str,
    edits: &[Edit],
    rules: &RustStructRules,
) -> Result<(EditedFile, Vec<EditedFile>), String> {
    let is_wrapped = |edit: &&Edit| matches!(edit, Edit::AlignMember { .. });
    let mut files = vec![CrateFile {
        path: file.path.clone(),
        text: file.new.clone(),
    }];
    if edits.iter().any(|edit| is_wrapped(&edit)) {
        files.extend(other_crate_files(source, &file.path));
    }
    let old = files.clone();
    let wrap_all = |text: &str, line: u32| -> Result<Vec<CrateFile>, EditRefusal> {
        let others: Vec<Edit> = { edits.iter() }
            .filter(|edit| !is_wrapped(edit))
            .cloned()
            .collect();
        let mut files = files;
        files[0].text = edit_struct(&file.path, text, name, Some(line), &others)?;
        for edit in edits {
            let Edit::AlignMember { member, reason, .. } = edit else {
                continue;
            };
            let request = WrappedField {
                struct_name: name,
                field: member,
                wrapper: &rules.wrapper,
                reason: reason.as_deref(),
            };
            let texts = wrap_rust_field(&files, 0, &request)?;
            { files.iter_mut().zip(texts) }.for_each(|(file, text)| file.text = text);
        }
        Ok(files)
    };
    let new = wrap_all(&file.new, line).map_err(|refusal| refusal.to_string())?;
    let mut others = Vec::new();
    for (old, new) in old.into_iter().zip(&new).skip(1) {
        if old.text != new.text {
            others.push(EditedFile {
                path: old.path,
                old: old.text,
                new: new.text.clone(),
                added_lines: Vec::new(),
            });
        }
    }
    let text = new
        .into_iter()
        .next()
        .map_or(String::new(), |first| first.text);
    Ok((EditedFile { new: text, ..file }, others))
}

/// Returns the other files of the crate that has the file: all below its manifest, or without one
/// those that are modules of each other.
fn other_crate_files(source: &Path, path: &str) -> Vec<CrateFile> {
    let own = source.join(path);
    let manifest_folder = crate_folder(source, &own);
    let folder = manifest_folder.as_deref().or(own.parent());
    let Some(folder) = folder else {
        return Vec::new();
    };
    let mut files: Vec<(PathBuf, String)> = Vec::new();
    for found in relayout_files::rust_source_files(folder) {
        let is_small = std::fs::metadata(&found).is_ok_and(|meta| meta.len() <= FILE_BYTES_MAX);
        if let (true, Ok(text)) = (is_small, relayout_files::read_regular_text(&found)) {
            files.push((found, text));
        }
    }
    if manifest_folder.is_none() {
        let connected = connected_modules(&files, &own);
        files.retain(|(found, _)| connected.contains(found));
    }
    files.retain(|(found, _)| *found != own);
    let files = files.into_iter().map(|(found, text)| CrateFile {
        path: found
            .strip_prefix(source)
            .unwrap_or(&found)
            .to_string_lossy()
            .into_owned(),
        text,
    });
    files.collect()
}

/// Returns the files that declare each other by `mod name;`, from one file on.
fn connected_modules(files: &[(PathBuf, String)], from: &Path) -> BTreeSet<PathBuf> {
    let links: Vec<(&PathBuf, PathBuf)> = { files.iter() }
        .flat_map(|(path, text)| {
            declared_files(path, text)
                .into_iter()
                .map(move |to| (path, to))
        })
        .collect();
    let mut connected = BTreeSet::from([from.to_owned()]);
    loop {
        let count = connected.len();
        for (parent, child) in &links {
            if connected.contains(*parent) || connected.contains(child) {
                connected.insert((*parent).clone());
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
