//! Libraries of our own that other programs load: where they were installed.

use std::env;
use std::path::{Path, PathBuf};

use crate::Error;

/// The library of this name: in `$RELAYOUT_PLUGIN_DIR`, beside the program, or in
/// `../lib/relayout`. `what` says what it is.
///
/// # Errors
/// It is in none of them.
pub fn find_installed_library(description: &str, name: &str) -> Result<PathBuf, Error> {
    let program = env::current_exe().ok();
    let beside = program.as_deref().and_then(Path::parent);
    let dirs = [
        env::var_os("RELAYOUT_PLUGIN_DIR").map(PathBuf::from),
        beside.map(Path::to_owned),
        beside.map(|dir| dir.join("../lib/relayout")),
        // A test's program is one folder below.
        beside.and_then(Path::parent).map(Path::to_owned),
    ];
    let found = dirs
        .into_iter()
        .flatten()
        .map(|dir| dir.join(name))
        .find(|path| path.is_file());
    found.ok_or_else(|| Error::Missing {
        what: format!("the {description} {name}"),
        package: Some(
            "build it with 'cargo build --release --workspace', or say where it is with \
             RELAYOUT_PLUGIN_DIR"
                .into(),
        ),
    })
}
