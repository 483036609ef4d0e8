//! Parts of relayout beside the command: libraries that other programs load, and the script that fetches kernels.

use std::env;
use std::path::{Path, PathBuf};

use crate::{CacheFolder, Error, find_in_path};

/// Name of the library that programs built with `relayout cc` load.
pub const RUNTIME: &str = "librelayout_rt.so";
/// Names of all libraries: the runtime and the plugins.
pub const LIBRARIES: [&str; 3] = [
    RUNTIME,
    "librelayout_qemu_api1.so",
    "librelayout_qemu_api4.so",
];

/// Finds a library of relayout in `$RELAYOUT_PLUGIN_DIR`, beside the command, in `../lib/relayout`, or
/// where `relayout setup` builds it. Messages call it `description`.
///
/// # Errors
/// No folder has it.
pub fn find_installed_library(description: &str, name: &str) -> Result<PathBuf, Error> {
    let program = env::current_exe().ok();
    let beside = program.as_deref().and_then(Path::parent);
    let built = CacheFolder::locate().map(|cache| cache.libraries(env!("CARGO_PKG_VERSION")));
    let dirs = [
        env::var_os("RELAYOUT_PLUGIN_DIR").map(PathBuf::from),
        beside.map(Path::to_owned),
        beside.map(|dir| dir.join("../lib/relayout")),
        // Test programs lie one folder below the libraries.
        beside.and_then(Path::parent).map(Path::to_owned),
        built,
    ];
    dirs.into_iter()
        .flatten()
        .map(|dir| dir.join(name))
        .find(|path| path.is_file())
        .ok_or_else(|| Error::Missing {
            missing: format!("the {description} {name}"),
            remedy: Some(library_remedy().into()),
        })
}

/// Finds another command of relayout: beside this one, in PATH, or where the source tree builds it.
///
/// # Errors
/// No folder has it.
pub fn find_sister_command(name: &str, source_folder: &str) -> Result<PathBuf, Error> {
    let program = env::current_exe().ok();
    let beside = program.as_deref().and_then(Path::parent);
    let built = source_tree().map(|tree| tree.join(source_folder).join("target/release"));
    let in_folder = |folder: PathBuf| Some(folder.join(name)).filter(|path| path.is_file());
    { beside.map(Path::to_owned).and_then(in_folder) }
        .or_else(|| find_in_path(name))
        .or_else(|| built.and_then(in_folder))
        .ok_or_else(|| Error::Missing {
            missing: format!("the command {name}"),
            remedy: Some(format!(
                "'cargo install --path {source_folder}' in relayout's source builds it"
            )),
        })
}

fn library_remedy() -> &'static str {
    match source_tree() {
        Some(_) => {
            "build it with 'cargo build --release --workspace', or say where it is with RELAYOUT_PLUGIN_DIR"
        }
        None => {
            "'relayout setup --libraries' builds it, or say where it is with RELAYOUT_PLUGIN_DIR"
        }
    }
}

/// Returns the folder of relayout's source if the command was built in it and is still there.
pub fn source_tree() -> Option<PathBuf> {
    let program = env::current_exe().ok()?;
    let is_source = |folder: &&Path| {
        folder.join("scripts/setup.sh").is_file() && folder.join("crates/relayout").is_dir()
    };
    program
        .ancestors()
        .skip(1)
        .find(is_source)
        .map(Path::to_owned)
}

/// Returns the command that fetches what is missing, as messages name it: `scripts/setup.sh` in the source, else
/// `relayout setup`.
pub fn setup_command() -> &'static str {
    match source_tree() {
        Some(_) => "scripts/setup.sh",
        None => "relayout setup",
    }
}
