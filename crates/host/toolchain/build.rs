//! Packs the files of `relayout setup` into the command: those below `setup-files`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let root = Path::new("setup-files");
    println!("cargo::rerun-if-changed=setup-files");
    let mut files = Vec::new();
    list_files(root, &mut files);
    files.sort();
    let mut text = String::from(
        "/// Files that the command carries: their paths and their texts.\nconst SETUP_FILES: &[(&str, &str)] = &[\n",
    );
    for file in files {
        println!("cargo::rerun-if-changed={}", file.display());
        let path = file
            .canonicalize()
            .expect("a file that was listed is there");
        let name = file.strip_prefix(root).expect("a file below the root");
        let _ = writeln!(
            text,
            "    ({:?}, include_str!({:?})),",
            name.display().to_string(),
            path.display().to_string()
        );
    }
    text.push_str("];\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("setup_files.rs"), text).expect("OUT_DIR can be written");
}

/// Adds the scripts and the C files below a folder.
fn list_files(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).expect("setup-files is part of the crate");
    for entry in entries {
        let path = entry.expect("a folder that can be read").path();
        let is_wanted = path
            .extension()
            .is_some_and(|kind| kind == "sh" || kind == "c" || kind == "h");
        if path.is_dir() {
            list_files(&path, files);
        } else if is_wanted {
            files.push(path);
        }
    }
}
