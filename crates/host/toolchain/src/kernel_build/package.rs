//! Kernels as files to install: what `make install` and `make modules_install` would put below `/`.

use std::fs;
use std::path::Path;

use relayout_files::cannot;

use super::{BuildWatch, Error, KernelBuilder, KernelPatch};

/// Boot image of x86-64 in a folder of output.
const IMAGE: &str = "arch/x86/boot/bzImage";
/// Option of kernels with modules.
const MODULES: &str = "CONFIG_MODULES=y";

impl KernelBuilder {
    /// Builds the kernel with that patch, or without any, under a release that ends with `suffix`, and
    /// puts `boot/` and `lib/modules/` into the folder `to`. Returns the release.
    ///
    /// # Errors
    /// Those of [`build`](Self::build), and a file that cannot be copied.
    pub fn package(
        &self,
        patch: Option<&KernelPatch>,
        suffix: &str,
        to: &Path,
        label: &str,
        watch: &BuildWatch<'_>,
    ) -> Result<String, Error> {
        let _lock = self.prepare_tree(patch, label, watch)?;
        let version = format!("LOCALVERSION={suffix}");
        let out = self.output_folder();
        let config = out.join(".config");
        let text = fs::read_to_string(&config).map_err(cannot("read", &config))?;
        let has_modules = text.lines().any(|line| line == MODULES);
        self.make(&[&version, "bzImage"], label, watch)?;
        if has_modules {
            self.make(&[&version, "modules"], label, watch)?;
            let root = format!("INSTALL_MOD_PATH={}", to.display());
            let words = [&version, &root, "INSTALL_MOD_STRIP=1", "modules_install"];
            self.make(&words, label, watch)?;
        }
        let path = out.join("include/config/kernel.release");
        let release = fs::read_to_string(&path).map_err(cannot("read", &path))?;
        let release = release.trim().to_owned();
        // Links to the source and the output here.
        for link in ["build", "source"] {
            let _ = fs::remove_file(to.join("lib/modules").join(&release).join(link));
        }
        let boot = to.join("boot");
        fs::create_dir_all(&boot).map_err(cannot("create", &boot))?;
        for (name, file) in [
            ("vmlinuz", IMAGE),
            ("System.map", "System.map"),
            ("config", ".config"),
        ] {
            let file = out.join(file);
            fs::copy(&file, boot.join(format!("{name}-{release}")))
                .map_err(cannot("copy", &file))?;
        }
        Ok(release)
    }
}
