//! Flags for Rust, whose compiler takes them from the environment.

use std::path::Path;

use relayout_files::{Error, RUNTIME, cannot, find_installed_library};

/// Returns the value of `RUSTFLAGS` with which rustc (nightly, which has sanitizers) builds a
/// program to be recorded.
///
/// # Errors
/// The runtime is not installed, or lies in a folder that cannot be named in `RUSTFLAGS`, which are
/// split at spaces.
pub fn rust_flags() -> Result<String, Error> {
    let runtime = find_installed_library("runtime of recorded programs", RUNTIME)?;
    let folder = runtime.parent().unwrap_or(Path::new("."));
    let folder = std::fs::canonicalize(folder).map_err(cannot("open", folder))?;
    match folder
        .to_str()
        .filter(|text| !text.contains(char::is_whitespace))
    {
        Some(folder) => Ok(format_rust_flags(folder)),
        None => {
            let why = std::io::Error::from(std::io::ErrorKind::InvalidFilename);
            Err(cannot("name in RUSTFLAGS", &folder)(why).into())
        }
    }
}

fn format_rust_flags(folder: &str) -> String {
    [
        "-Zsanitizer=thread",
        "-Zexternal-clangrt",
        "-Cunsafe-allow-abi-mismatch=sanitizer",
        "-Cforce-frame-pointers=yes",
        // Without them debug information does not name the file of a struct, so no patch is
        // possible.
        "-Zdebug-info-type-line-numbers=yes",
        &format!("-Zpre-link-arg=-L{folder}"),
        "-Zpre-link-arg=-Wl,--push-state,--no-as-needed",
        "-Zpre-link-arg=-lrelayout_rt",
        "-Zpre-link-arg=-Wl,--pop-state",
        &format!("-Zpre-link-arg=-Wl,-rpath,{folder}"),
    ]
    .join(" ")
}
