//! An empty stand-in for libtsan.
//!
//! GCC links libtsan into everything that it instruments. It searches a folder that is given with
//! `-B` before its own folders. There the linker finds empty linker scripts under both names that
//! GCC uses.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use relayout_files::{CacheFolder, Error, cannot, write_atomically};

const STAND_IN_NAMES: [&str; 2] = ["libtsan.so", "libtsan_preinit.o"];
const EMPTY_SCRIPT: &str =
    "/* Empty: programs built with relayout cc load relayout's runtime instead. */\n";

/// The folder, made if need be: in the user's cache, or, without one that can be written to, in the
/// folder for temporary files.
///
/// # Errors
/// Neither can be written to.
pub fn stand_in_folder(cache: Option<&CacheFolder>) -> Result<PathBuf, Error> {
    if let Some(cache) = cache {
        let folder = cache.dir().join("no-libtsan");
        if create_stand_in(&folder).is_ok() {
            return Ok(folder);
        }
    }
    let user = rustix::process::getuid().as_raw();
    let folder = std::env::temp_dir().join(format!("relayout-no-libtsan-{user}"));
    create_stand_in(&folder).map_err(cannot("make a folder for the compiler:", &folder))?;
    Ok(folder)
}

fn create_stand_in(folder: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    // Anybody can make a folder of that name in /tmp.
    let meta = fs::symlink_metadata(folder)?;
    let user = rustix::process::getuid().as_raw();
    if !meta.is_dir() || meta.uid() != user || meta.mode() & 0o022 != 0 {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    for name in STAND_IN_NAMES {
        let file = folder.join(name);
        if fs::metadata(&file).is_ok_and(|meta| meta.len() == EMPTY_SCRIPT.len() as u64) {
            continue;
        }
        // Others may be about to do the same.
        write_atomically(&file, EMPTY_SCRIPT.as_bytes()).map_err(|error| error.source)?;
    }
    Ok(())
}
