//! Where `scripts/setup.sh` puts kernels and QEMU.

use std::env;
use std::path::{Path, PathBuf};

/// The user's cache folder for relayout.
#[derive(Clone, Debug)]
pub struct CacheFolder(PathBuf);

impl CacheFolder {
    /// `$RELAYOUT_CACHE`, else `relayout` in `$XDG_CACHE_HOME`, else in `~/.cache`. `None` without
    /// any of them.
    pub fn locate() -> Option<Self> {
        let env_path = |name: &str| {
            env::var_os(name)
                .filter(|v| !v.is_empty())
                .map(PathBuf::from)
        };
        let dir = env_path("RELAYOUT_CACHE")
            .or_else(|| Some(env_path("XDG_CACHE_HOME")?.join("relayout")))
            .or_else(|| Some(env_path("HOME")?.join(".cache/relayout")))?;
        Some(Self(dir))
    }

    /// In this folder.
    pub fn new(dir: PathBuf) -> Self {
        Self(dir)
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.0
    }

    /// The stock kernel's image, if it is there.
    pub fn kernel_image(&self) -> Option<PathBuf> {
        self.existing_path("kernel/current/vmlinuz")
    }

    /// The stock kernel's debug file, if it is there.
    pub fn kernel_debug_file(&self) -> Option<PathBuf> {
        self.existing_path("kernel/current/vmlinux")
    }

    /// The kernel source, if it is there.
    pub fn kernel_source(&self) -> Option<PathBuf> {
        self.existing_path("source/current")
    }

    /// The unpacked QEMU, if it is there.
    pub fn qemu_system(&self) -> Option<PathBuf> {
        self.existing_path("qemu/current/qemu-system-x86_64")
    }

    /// The unpacked QEMU for single programs, if it is there.
    pub fn qemu_user(&self) -> Option<PathBuf> {
        self.existing_path("qemu/user/qemu-x86_64")
    }

    fn existing_path(&self, name: &str) -> Option<PathBuf> {
        Some(self.0.join(name)).filter(|path| path.exists())
    }
}
