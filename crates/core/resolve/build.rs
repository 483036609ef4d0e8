//! Hash of the sources that decide the outcome of an analysis: this library and the reader of debug
//! information. Evidence that another build kept is not used.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// Source folders, as far as they are here: a published library has only its own.
const SOURCES: [&str; 2] = ["src", "../layout/src"];

fn main() -> io::Result<()> {
    let mut files = Vec::new();
    for source in SOURCES.map(Path::new) {
        if source.is_dir() {
            println!("cargo:rerun-if-changed={}", source.display());
            collect_files(source, &mut files)?;
        }
    }
    files.sort();
    let mut hash = SourceHash::default();
    for file in files {
        hash.add_bytes(file.display().to_string().as_bytes());
        hash.add_bytes(&fs::read(file)?);
    }
    println!("cargo:rustc-env=RELAYOUT_RESOLVE_RULES={:016x}", hash.0);
    Ok(())
}

fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect_files(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// FNV-1a, 64 bits.
struct SourceHash(u64);

impl Default for SourceHash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl SourceHash {
    fn add_bytes(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().chain(&[0]) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
