//! Makes kits with two kernels.

use std::path::{Path, PathBuf};

use relayout_files::{CacheFolder, InterruptFlag, cannot};
use relayout_measure::ProgramCommand;
use relayout_messages::UserError;
use relayout_toolchain::kernel_build::{BuildWatch, KernelPatch};
use relayout_verify::plan::ExperimentSide;

use super::evidence::KitEvidence;
use super::export::{ExportedKit, partial_folder};
use super::files::{KitFiles, command_words, patch_subject};
use super::manifest::{FORMAT, KitKernels, KitManifest};
use crate::verify::ExperimentProgress;
use crate::verify::kernel::{KernelSettings, no_cache_folder, open_builder};

/// Kit with kernels to make.
#[derive(Clone, Debug)]
pub struct KernelKitRequest {
    /// Folder of the kit, which must not be there.
    pub folder: PathBuf,
    /// Source, patch, configuration, boots of each kernel.
    pub settings: KernelSettings,
    /// Benchmark.
    pub bench: ProgramCommand,
    /// Metrics, as the command line has them; empty for the default.
    pub metrics: Vec<String>,
    /// Runs of the benchmark in each boot.
    pub runs: u32,
    /// What was predicted and counted.
    pub evidence: KitEvidence,
}

/// Builds both kernels and packs them with the script. The kit appears whole or not at all.
///
/// # Errors
/// Something is in its place, the patch does not apply, a kernel does not build, or the user
/// interrupts.
pub fn export_kernel_kit(
    request: &KernelKitRequest,
    progress: &dyn ExperimentProgress,
    interrupt: InterruptFlag,
) -> Result<ExportedKit, UserError> {
    let partial = partial_folder(&request.folder)?;
    let mut files = KitFiles::default();
    let mut bench = request.bench.clone();
    let mut folder = "";
    if Path::new(&bench.words[0]).is_file() {
        bench.words[0] = files.copy_program(&bench, &partial.path().join("bench"))?;
        folder = "/bench";
    }
    let [before, after] = package_kernels(request, partial.path(), progress, interrupt)?;
    let manifest = KitManifest {
        format: FORMAT.to_owned(),
        id: String::new(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        subject: patch_subject(&request.settings.patch),
        before: format!("{} on Linux {before}", request.bench.text),
        after: format!("{} on Linux {after}", request.bench.text),
        metrics: request.metrics.clone(),
        seed: 0,
        pairs: request.settings.pairs,
        warmups: 1,
        disturbed_code: None,
        kernels: Some(KitKernels {
            before,
            after,
            runs: request.runs,
        }),
        evidence: request.evidence.clone(),
    }
    .with_id()?;
    files.add_manifest(&manifest);
    let words = command_words(&bench);
    let code = format!("\tcd \"$kit{folder}\" && $keep_cpus {words}\n");
    files.add_settings(None, &manifest, &code);
    files.write(partial.path())?;
    let bytes = files.bytes + folder_bytes(partial.path());
    partial
        .rename_to(&request.folder)
        .map_err(cannot("create", &request.folder))?;
    let mut notes = Vec::new();
    if request.settings.config.is_none() {
        notes.push(
            "the kernels have the small configuration for QEMU; a real machine needs its own: --kconfig \
             /boot/config-RELEASE"
                .to_owned(),
        );
    }
    Ok(ExportedKit {
        folder: request.folder.clone(),
        manifest,
        bytes,
        notes,
    })
}

/// Builds both kernels into the kit, and returns their releases.
fn package_kernels(
    request: &KernelKitRequest,
    kit: &Path,
    progress: &dyn ExperimentProgress,
    interrupt: InterruptFlag,
) -> Result<[String; 2], UserError> {
    let settings = &request.settings;
    let cache = CacheFolder::locate().ok_or_else(no_cache_folder)?;
    let patch = KernelPatch::read(&settings.patch, settings.reverse)?;
    let (builder, _) = open_builder(settings, &cache, &patch, progress)?;
    let watch = BuildWatch {
        progress,
        update: &|text: &str| progress.update(text),
        interrupt,
    };
    let mut releases = [String::new(), String::new()];
    for side in ExperimentSide::ALL {
        // The source has the patch, or lacks it.
        let is_patched = (side == ExperimentSide::After) != settings.reverse;
        let label = match is_patched {
            true => "the kernel with the patch",
            false => "the kernel without the patch",
        };
        let to = kit.join(side.as_str());
        let to = std::path::absolute(&to).map_err(cannot("find", &to))?;
        let suffix = format!("-relayout-{}", side.as_str());
        let applied = is_patched.then_some(&patch);
        releases[side as usize] = builder
            .package(applied, &suffix, &to, label, &watch)
            .map_err(UserError::from)?;
    }
    Ok(releases)
}

/// Bytes of the files in a folder; of what cannot be read, none.
fn folder_bytes(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => folder_bytes(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    sizes.sum()
}
