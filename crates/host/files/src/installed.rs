//! Installed libraries of relayout that other programs load.

use std::env;
use std::path::{Path, PathBuf};

use crate::Error;

/// Name of the library that programs built with `relayout cc` load.
pub const RUNTIME: &str = "librelayout_rt.so";

/// Finds a library of relayout in `$RELAYOUT_PLUGIN_DIR`, beside the command, or in
/// `../lib/relayout`. Messages call it `description`.
///
/// # Errors
/// No folder has it.
pub fn find_installed_library(description: &str, name: &str) -> Result<PathBuf, Error> {
    let program = env::current_exe().ok();
    let beside = program.as_deref().and_then(Path::parent);
    let dirs = [
        env::var_os("RELAYOUT_PLUGIN_DIR").map(PathBuf::from),
        beside.map(Path::to_owned),
        beside.map(|dir| dir.join("../lib/relayout")),
        // Test programs lie one folder below the libraries.
        beside.and_then(Path::parent).map(Path::to_owned),
    ];
    dirs.into_iter()
        .flatten()
        .map(|dir| dir.join(name))
        .find(|path| path.is_file())
        .ok_or_else(|| Error::Missing {
            missing: format!("the {description} {name}"),
            remedy: Some(
                "build it with 'cargo build --release --workspace', or say where it is with \
             RELAYOUT_PLUGIN_DIR"
                    .into(),
            ),
        })
}
