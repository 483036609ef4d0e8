//! The folder into which `scripts/setup.sh` puts kernels and QEMU.

use std::env;
use std::path::{Path, PathBuf};

/// The user's cache folder for relayout.
#[derive(Clone, Debug)]
pub struct CacheFolder(PathBuf);

impl CacheFolder {
    /// Takes `$RELAYOUT_CACHE`, else `$XDG_CACHE_HOME/relayout`, else `~/.cache/relayout`. `None`
    /// if no variable is set.
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

    /// Takes `dir` as the cache folder.
    pub fn new(dir: PathBuf) -> Self {
        Self(dir)
    }

    /// Path of the folder.
    pub fn dir(&self) -> &Path {
        &self.0
    }

    /// The stock kernel's boot image, if it exists.
    pub fn kernel_image(&self) -> Option<PathBuf> {
        self.existing_path("kernel/current/vmlinuz")
    }

    /// The stock kernel's debug file, if it exists.
    pub fn kernel_debug_file(&self) -> Option<PathBuf> {
        self.existing_path("kernel/current/vmlinux")
    }

    /// Folder of a kernel that was fetched by this name (`6.12`, `newest`), if it exists.
    pub fn kernel_folder(&self, name: &str) -> Option<PathBuf> {
        let is_name = |name: &str| {
            let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
            name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(is_part)
        };
        is_name(name).then(|| self.existing_path(&format!("kernel/{name}")))?
    }

    /// Names by which kernels were fetched that end with `suffix` (`-arm64`), sorted.
    pub fn kernel_names(&self, suffix: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.0.join("kernel")) else {
            return Vec::new();
        };
        let links = entries.flatten().filter(|entry| entry.path().is_symlink());
        let names = links.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(suffix)).collect();
        names.sort();
        names
    }

    /// Folder of the recorder's libraries that `relayout setup` builds, for a version of relayout.
    pub fn libraries(&self, version: &str) -> PathBuf {
        self.0.join("libraries").join(version)
    }

    /// The kernel source, if it exists.
    pub fn kernel_source(&self) -> Option<PathBuf> {
        self.existing_path("source/current")
    }

    /// The unpacked QEMU for whole machines, if it exists.
    pub fn qemu_system(&self) -> Option<PathBuf> {
        self.existing_path("qemu/current/qemu-system-x86_64")
    }

    /// The unpacked QEMU for whole arm64 machines, if it exists.
    pub fn qemu_system_aarch64(&self) -> Option<PathBuf> {
        self.existing_path("qemu/aarch64/qemu-system-aarch64")
    }

    /// The guest's program for a machine other than this one, if it was compiled.
    pub fn guest_program(&self, machine: &str) -> Option<PathBuf> {
        self.existing_path(&format!("guest/{machine}/relayout-guest"))
    }

    /// The unpacked QEMU for single programs, if it exists.
    pub fn qemu_user(&self) -> Option<PathBuf> {
        self.existing_path("qemu/user/qemu-x86_64")
    }

    fn existing_path(&self, name: &str) -> Option<PathBuf> {
        Some(self.0.join(name)).filter(|path| path.exists())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn kernels_have_names_by_links() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = CacheFolder::new(folder.path().to_owned());
        assert_eq!(cache.kernel_names("-arm64"), Vec::<String>::new());
        let kernels = folder.path().join("kernel");
        std::fs::create_dir_all(kernels.join("6.12.1-cloud-arm64")).expect("created");
        for name in ["newest-arm64", "6.12-arm64", "6.12"] {
            symlink("6.12.1-cloud-arm64", kernels.join(name)).expect("linked");
        }
        assert_eq!(cache.kernel_names("-arm64"), ["6.12-arm64", "newest-arm64"]);
    }
}
