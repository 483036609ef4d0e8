//! Paths at the wrong place of the command line, and the command that was meant.

use std::io::Read as _;
use std::path::Path;

use relayout_profile::parquet::META_FILE;

use relayout_messages::UserError;

/// Profiles that are named beside one that is missing.
const PROFILES_SHOWN: usize = 4;

/// Verifies that `path`, where a file with debug information belongs, is no profile, and was not swapped
/// with one of `others`. A path that is simply wrong passes: reading it fails with the reason.
///
/// # Errors
/// The path is of another kind, with the command that was meant.
pub fn verify_debug_path(command: &str, path: &Path, others: &[String]) -> Result<(), UserError> {
    let shown = path.display();
    if is_profile(path) {
        let remedy = format!(
            "`relayout report {shown}` reads it, and `relayout diff OLD NEW --profile {shown}` puts its hot \
             types first"
        );
        return misplaced(path, "a profile and no file with debug information", remedy);
    }
    match others.iter().find(|other| Path::new(other).is_file()) {
        Some(other) if !path.exists() => {
            let remedy = format!(
                "the file comes before the types, as in `relayout {command} {other} {shown}`"
            );
            misplaced(path, "not there, and the type is a file", remedy)
        }
        _ => Ok(()),
    }
}

/// Verifies that `path`, where a profile belongs, is no recorded or profiled file, and was not swapped with
/// one of `others`.
///
/// # Errors
/// The path is of another kind, with the command that was meant.
pub fn verify_profile_path(command: &str, path: &Path, others: &[String]) -> Result<(), UserError> {
    let shown = path.display();
    if let Some(start) = first_bytes(path) {
        let perf_magic = [b"PERFILE2", b"2ELIFREP"];
        if start.starts_with(b"\x7fELF") {
            let remedy = format!(
                "`relayout show {shown}` prints its types, and `relayout record` writes a profile"
            );
            return misplaced(path, "an ELF file and no profile", remedy);
        } else if perf_magic.contains(&&start) {
            let remedy = format!("`relayout record perf {shown} -o OUT` makes a profile of it");
            return misplaced(path, "a recording of perf", remedy);
        }
    }
    let swapped = others.iter().find(|other| is_profile(Path::new(other)));
    if swapped.is_none() && !path.exists() {
        let remedy = format!("`relayout record` writes profiles{}", profiles_beside(path));
        return misplaced(path, "not there", remedy);
    }
    match swapped {
        Some(other) if !is_profile(path) => {
            let remedy = format!(
                "the profile comes before the type, as in `relayout {command} {other} {shown}`"
            );
            misplaced(path, "no profile, and the type is one", remedy)
        }
        _ => Ok(()),
    }
}

fn misplaced(path: &Path, found: &str, remedy: String) -> Result<(), UserError> {
    let message = format!("{} is {found}: {remedy}", path.display());
    Err(UserError::input(message))
}

/// Returns the profiles in the folder of a missing one, as the end of a sentence.
fn profiles_beside(path: &Path) -> String {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let profiles = entries
        .map(|entry| entry.path())
        .filter(|path| is_profile(path));
    let mut names: Vec<String> = profiles
        .filter_map(|path| Some(path.file_name()?.display().to_string()))
        .collect();
    names.sort();
    names.truncate(PROFILES_SHOWN);
    match names.is_empty() {
        true => String::new(),
        false => format!(", and there are: {}", names.join(", ")),
    }
}

fn is_profile(path: &Path) -> bool {
    path.join(META_FILE).is_file()
}

/// First 8 bytes of a regular file.
fn first_bytes(path: &Path) -> Option<[u8; 8]> {
    let mut bytes = [0; 8];
    let mut file = relayout_files::open_regular(path).ok()?;
    file.read_exact(&mut bytes).ok()?;
    Some(bytes)
}
