//! Files that relayout runs, and that nobody but their user may be able to change.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::file_error::cannot;
use crate::{CacheFolder, Error};

/// Owner of files that the system installed.
const ROOT: u32 = 0;

/// Returns true if the file belongs to the user who runs this process, or to root.
pub fn is_owned_by_user_or_root(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| has_trusted_owner(&found))
}

fn has_trusted_owner(metadata: &Metadata) -> bool {
    metadata.uid() == ROOT || is_own(metadata)
}

/// Returns true if the user owns the file, and nobody else can write to it.
pub(crate) fn is_private(metadata: &Metadata) -> bool {
    is_own(metadata) && !others_can_write(metadata)
}

fn is_own(metadata: &Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw()
}

fn others_can_write(metadata: &Metadata) -> bool {
    metadata.mode() & 0o022 != 0
}

impl CacheFolder {
    /// Fails unless only this user and root can change the folder `path` of the cache and the
    /// folders above it, up to the cache's own.
    ///
    /// # Errors
    /// [`Error::Untrusted`], or a folder cannot be looked at.
    pub fn require_private(&self, path: &Path) -> Result<(), Error> {
        let below = path
            .ancestors()
            .take_while(|folder| folder.starts_with(self.dir()));
        below
            .filter(|folder| folder.exists())
            .try_for_each(require_private_file)
    }

    /// Fails unless only this user and root can change the program at `path` of the cache, and the
    /// files in its folder, which it may load.
    ///
    /// # Errors
    /// [`Error::Untrusted`], or a file cannot be looked at.
    pub fn require_private_program(&self, path: &Path) -> Result<(), Error> {
        let folder = path.parent().unwrap_or(path);
        self.require_private(folder)?;
        let program = fs::canonicalize(path).map_err(cannot("find", path))?;
        let mut pending = vec![program.parent().unwrap_or(&program).to_owned()];
        while let Some(path) = pending.pop() {
            require_private_file(&path)?;
            if !fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir()) {
                continue;
            }
            for entry in fs::read_dir(&path).map_err(cannot("read", &path))? {
                let entry = entry.map_err(cannot("read", &path))?.path();
                // A link can only be changed with its folder. Its target in this folder is looked
                // at by itself.
                if !entry.is_symlink() {
                    pending.push(entry);
                }
            }
        }
        Ok(())
    }
}

fn require_private_file(path: &Path) -> Result<(), Error> {
    let found = fs::metadata(path).map_err(cannot("look at", path))?;
    match has_trusted_owner(&found) && !others_can_write(&found) {
        true => Ok(()),
        false => Err(Error::Untrusted {
            path: path.to_owned(),
            owner: found.uid(),
            mode: found.mode() & 0o7777,
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_others_can_change_is_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CacheFolder::new(folder.path().to_owned());
        let made = folder.path().join("qemu/10.0.2");
        fs::create_dir_all(made.join("lib")).unwrap();
        std::os::unix::fs::symlink("10.0.2", folder.path().join("qemu/current")).unwrap();
        for name in ["qemu-system-x86_64", "lib/library.so"] {
            fs::write(made.join(name), "").unwrap();
        }
        for name in ["qemu", "qemu/10.0.2", "qemu/10.0.2/lib"] {
            let path = folder.path().join(name);
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let program = folder.path().join("qemu/current/qemu-system-x86_64");
        for name in [
            "",
            "qemu",
            "qemu/10.0.2",
            "qemu/10.0.2/qemu-system-x86_64",
            "qemu/10.0.2/lib",
            "qemu/10.0.2/lib/library.so",
        ] {
            let path = folder.path().join(name);
            let before = fs::metadata(&path).unwrap().permissions();
            let check = |mode: u32, expect: bool| {
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
                let result = cache.require_private_program(&program);
                assert_eq!(result.is_ok(), expect, "{name} {mode:o}: {result:?}");
            };
            check(0o755, true);
            check(0o775, false);
            check(0o757, false);
            fs::set_permissions(&path, before).unwrap();
        }
        assert!(cache.require_private_program(&program).is_ok());
    }
}
