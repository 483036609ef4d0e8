//! Built kernels, kept under keys of their inputs.

use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use relayout_files::{cannot, private_dir};
use rustc_hash::FxHasher;

use super::{BuiltKernel, Error};

/// Kernels that are kept; with more, the ones that were not used for longest go.
const KEPT_MAX: usize = 8;
const KEY_FILE: &str = "key";
const IMAGE_FILE: &str = "bzImage";
const DEBUG_FILE: &str = "vmlinux";
const CONFIG_FILE: &str = "config";

/// Key of a built kernel, of all its inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageKey(String);

impl ImageKey {
    /// Makes a key. `source` is the fingerprint of the manifest, `config` the text of the options,
    /// `patch` the text of the patch and true if it is reversed.
    pub fn new(source: u64, config: &str, compiler: &str, patch: Option<(&[u8], bool)>) -> Self {
        let hash = |bytes: &[u8]| {
            let mut hasher = FxHasher::default();
            bytes.hash(&mut hasher);
            hasher.finish()
        };
        let patch = match patch {
            Some((bytes, reverse)) => format!(
                "{:016x}{}",
                hash(bytes),
                if reverse { " in reverse" } else { "" }
            ),
            None => "none".to_owned(),
        };
        Self(format!(
            "source {source:016x}\nconfig {:016x}\ncompiler {compiler}\npatch {patch}\n",
            hash(config.as_bytes())
        ))
    }

    fn folder_name(&self) -> String {
        let mut hasher = FxHasher::default();
        self.0.hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }
}

/// The folder of kept kernels.
pub struct KernelImages(pub PathBuf);

impl KernelImages {
    /// Returns the kernel of this key, if it exists, and marks it as used.
    pub fn find(&self, key: &ImageKey) -> Option<BuiltKernel> {
        let dir = self.0.join(key.folder_name());
        let is_same_key = fs::read_to_string(dir.join(KEY_FILE)).is_ok_and(|text| text == key.0);
        let built = kernel_in(&dir);
        let paths = [&built.image, &built.debug, &built.config];
        let found = is_same_key && paths.iter().all(|path| path.is_file());
        found.then(|| {
            // Only the order of removal depends on this.
            let _ = fs::write(dir.join(KEY_FILE), &key.0);
            built
        })
    }

    /// Keeps the kernel that was built in `out`, as a whole or not at all.
    pub fn keep(&self, key: &ImageKey, out: &Path) -> Result<BuiltKernel, Error> {
        fs::create_dir_all(&self.0).map_err(cannot("create", &self.0))?;
        let partial = private_dir(&self.0)?;
        let files = [
            ("arch/x86/boot/bzImage", IMAGE_FILE),
            ("vmlinux", DEBUG_FILE),
            (".config", CONFIG_FILE),
        ];
        for (from, to) in files {
            let from = out.join(from);
            fs::copy(&from, partial.path().join(to)).map_err(cannot("copy", &from))?;
        }
        let path = partial.path().join(KEY_FILE);
        fs::write(&path, &key.0).map_err(cannot("write", &path))?;
        let dir = self.0.join(key.folder_name());
        if dir.exists() {
            fs::remove_dir_all(&dir).map_err(cannot("remove", &dir))?;
        }
        partial.rename_to(&dir).map_err(cannot("rename", &dir))?;
        self.remove_unused();
        Ok(kernel_in(&dir))
    }

    /// Removes the least recently used kernels, and the rests of builds that were killed. A folder
    /// that cannot be removed stays.
    fn remove_unused(&self) {
        let used = |dir: &Path| fs::metadata(dir.join(KEY_FILE)).and_then(|key| key.modified());
        let mut kept: Vec<(SystemTime, PathBuf)> = fs::read_dir(&self.0)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .map(|dir| (used(&dir).unwrap_or(SystemTime::UNIX_EPOCH), dir))
            .collect();
        kept.sort();
        for (_, dir) in kept.iter().take(kept.len().saturating_sub(KEPT_MAX)) {
            let _ = fs::remove_dir_all(dir);
        }
    }
}

fn kernel_in(dir: &Path) -> BuiltKernel {
    BuiltKernel {
        image: dir.join(IMAGE_FILE),
        debug: dir.join(DEBUG_FILE),
        config: dir.join(CONFIG_FILE),
        seconds: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(source: u64, config: &str, patch: Option<(&[u8], bool)>) -> ImageKey {
        ImageKey::new(source, config, "gcc 12", patch)
    }

    #[test]
    fn keys_differ_by_all_that_goes_in() {
        let keys = [
            key(1, "a", None),
            key(2, "a", None),
            key(1, "b", None),
            key(1, "a", Some((b"x", false))),
            key(1, "a", Some((b"x", true))),
            key(1, "a", Some((b"y", false))),
            ImageKey::new(1, "a", "gcc 13", None),
        ];
        let mut names: Vec<String> = keys.iter().map(ImageKey::folder_name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), keys.len());
        assert_eq!(key(1, "a", None), key(1, "a", None));
    }

    fn out(dir: &Path, text: &str) -> PathBuf {
        let out = dir.join("out");
        fs::create_dir_all(out.join("arch/x86/boot")).unwrap();
        for name in ["arch/x86/boot/bzImage", "vmlinux", ".config"] {
            fs::write(out.join(name), text).unwrap();
        }
        out
    }

    #[test]
    fn kept_whole_and_found_again() {
        let dir = tempfile::tempdir().unwrap();
        let images = KernelImages(dir.path().join("images"));
        let kept_key = key(1, "a", None);
        assert!(images.find(&kept_key).is_none());
        images.keep(&kept_key, &out(dir.path(), "one")).unwrap();
        let found = images.find(&kept_key).unwrap();
        assert_eq!(fs::read_to_string(&found.debug).unwrap(), "one");
        assert!(images.find(&key(2, "a", None)).is_none());
        // Without one of its files it is none.
        fs::remove_file(&found.image).unwrap();
        assert!(images.find(&kept_key).is_none());
    }

    #[test]
    fn half_a_build_is_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let images = KernelImages(dir.path().join("images"));
        let out = out(dir.path(), "one");
        fs::remove_file(out.join("vmlinux")).unwrap();
        assert!(images.keep(&key(1, "a", None), &out).is_err());
        assert_eq!(fs::read_dir(&images.0).unwrap().count(), 0);
    }

    #[test]
    fn the_longest_unused_go() {
        let dir = tempfile::tempdir().unwrap();
        let images = KernelImages(dir.path().join("images"));
        let out = out(dir.path(), "x");
        for source in 0..=KEPT_MAX as u64 {
            images.keep(&key(source, "a", None), &out).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(10));
            assert!(images.find(&key(0, "a", None)).is_some());
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert!(images.find(&key(1, "a", None)).is_none());
        assert_eq!(fs::read_dir(&images.0).unwrap().count(), KEPT_MAX);
    }
}
