//! Experiments on a patch to Linux: both kernels are built, recorded under QEMU in turn, and their
//! transfers compared.

mod boots;
mod changed;
mod counts;
mod experiment;
mod failed;
mod prediction;
mod samples;
mod simulated_boots;

use std::iter;
use std::path::PathBuf;
use std::time::Duration;

use super::{ExperimentProgress, JudgedRuns, judge, save_runs};
use boots::PreparedKernels;
use experiment::KernelExperiment;
use relayout_files::{CacheFolder, DISTRIBUTION, InterruptFlag, setup_command};
use relayout_messages::UserError;
use relayout_profile::SimulatedMachineName;
use relayout_record::{GuestMachine, GuestTools, find_workload, workloads};
use relayout_toolchain::kernel_build::{
    BuildWatch, Error as BuildError, KernelBuilder, KernelPatch,
};
use relayout_verify::judge::JudgingRules;

pub use boots::BootSetting;
pub use changed::{ChangedType, MovedMember, PatchedLayout};
pub use counts::{BootCounts, TypeCounts};
pub use failed::{FailedVerification, PatchedStep};
pub use prediction::{ReplayPrediction, ReplayedChange};
pub use relayout_toolchain::kernel_build::BuiltKernel;
pub use samples::{
    BootSample, BootSamples, DetailSelection, FALSE_BY_FIRST_TOUCH, KERNEL, OPERATIONS,
    member_metric_name,
};
pub use simulated_boots::SimulatedBoots;

/// Settings of an experiment with kernels.
#[derive(Clone, Debug)]
pub struct KernelSettings {
    /// Source of the kernel; `None` for the one in the cache folder.
    pub source: Option<PathBuf>,
    /// Patch.
    pub patch: PathBuf,
    /// The source has the patch already.
    pub reverse: bool,
    /// Workloads to record.
    pub workloads: Vec<String>,
    /// Numbers of CPUs to record each workload with.
    pub cpus: Vec<u16>,
    /// Iterations of a workload; `None` for its own number.
    pub iterations: Option<u64>,
    /// Pairs of boots.
    pub pairs: usize,
    /// Stops when every metric is decided.
    pub early_stop: bool,
    /// Time after which no pair begins.
    pub budget: Option<Duration>,
    /// Types to count; empty for those that the patch lays out differently.
    pub types: Vec<String>,
    /// Seed of the order and of the recordings; `None` for one from the clock.
    pub seed: Option<u64>,
    /// Machine in whose simulated time the kernels execute; `None` for the order of the host.
    pub simulated: Option<SimulatedBoots>,
    /// Accesses after which a CPU pauses, in the order of the host.
    pub yield_every: u32,
    /// Memory of the guest in bytes.
    pub memory_bytes: u64,
    /// Longest time of a boot.
    pub time_limit: Duration,
    /// Configuration of the kernels; `None` for ours.
    pub config: Option<PathBuf>,
    /// Jobs of `make`; `None` for one per CPU.
    pub jobs: Option<usize>,
    /// QEMU to run; `None` to find one.
    pub qemu: Option<PathBuf>,
    /// File for the starts.
    pub save: Option<PathBuf>,
    /// Folder for the recordings of the first pair.
    pub keep: Option<PathBuf>,
    /// Command that kept recordings name.
    pub command: Vec<String>,
}

/// A judged experiment with kernels.
#[derive(Debug)]
pub struct KernelVerification {
    /// Release of the kernels.
    pub release: String,
    /// The kernels without and with the patch.
    pub kernels: [BuiltKernel; 2],
    /// Machine in whose simulated time they executed; `None` for the order of the host.
    pub machine: Option<SimulatedMachineName>,
    /// Types that the patch lays out differently.
    pub changed: Vec<ChangedType>,
    /// Counts of all boots.
    pub samples: BootSamples,
    /// Their judgement.
    pub judged: JudgedRuns,
    /// Replays of the changed layouts.
    pub predictions: Vec<ReplayPrediction>,
    /// Sentences for the user.
    pub notes: Vec<String>,
    /// Failure to save the starts, which must not cost the result.
    pub save_error: Option<UserError>,
}

/// Returns the machine of all boots, if they have one.
///
/// # Errors
/// It has no room for the CPUs of a boot, or no such placement.
fn machine_of_all(settings: &KernelSettings) -> Result<Option<SimulatedMachineName>, UserError> {
    let Some(simulated) = &settings.simulated else {
        return Ok(None);
    };
    let names = settings.cpus.iter().map(|&cpus| simulated.name(cpus));
    Ok(names.collect::<Result<Vec<_>, _>>()?.pop())
}

/// Builds both kernels and boots them in turn until the experiment is decided or complete.
///
/// # Errors
/// A tool is missing, the patch does not apply, or a kernel does not build or boot.
pub fn verify_kernel(
    settings: &KernelSettings,
    rules: &JudgingRules,
    progress: &dyn ExperimentProgress,
    interrupt: InterruptFlag,
) -> Result<KernelVerification, FailedVerification> {
    let boot_settings = boot_settings(settings)?;
    let machine = machine_of_all(settings)?;
    let cache = CacheFolder::locate().ok_or_else(no_cache_folder)?;
    let patch = KernelPatch::read(&settings.patch, settings.reverse)?;
    let (builder, files) = open_builder(settings, &cache, &patch, progress)?;
    let tools = GuestTools::find(GuestMachine::X86, settings.qemu.as_deref(), Some(&cache))?;
    let kernels = build_kernels(settings, &builder, &patch, interrupt, progress)?;
    let rejected = rejected_options_note(&builder, &kernels[0])?;
    let notes = [rejected, code_changes_note(&files)].into_iter().flatten();
    progress.step("comparing the types of the two kernels");
    let [before, after] = &kernels;
    let notify = |note: &str| progress.warn(note);
    let changed = changed::changed_types(&before.debug, &after.debug, &settings.types, &notify)?;
    let names = changed.iter().map(|changed_type| changed_type.name.clone());
    let mut experiment = KernelExperiment::new(settings, boot_settings, names.collect());
    let ended = PreparedKernels::with(settings, &kernels, &tools, interrupt, |boots| {
        experiment.run(boots, rules, progress)?;
        progress.step("replaying the recordings of the first kernel");
        let kept = std::mem::take(&mut experiment.kept);
        let predictions = prediction::predict_changes(&changed, kept, boots, progress);
        Ok((boots.release().to_owned(), predictions))
    });
    let samples = experiment.samples;
    let runs = samples.runs(DetailSelection::Both);
    let save_error = save_runs(settings.save.as_deref(), &runs).err();
    let (release, predictions) = match ended {
        Ok(done) => done,
        Err(failed) => return Err(save_error.map_or(failed, FailedVerification::from)),
    };
    Ok(KernelVerification {
        release,
        judged: judge(&runs, rules),
        kernels,
        machine,
        changed,
        samples,
        predictions,
        notes: notes.collect(),
        save_error,
    })
}

/// Opens the source and tests that the patch applies; returns the files that it changes, too.
pub(crate) fn open_builder(
    settings: &KernelSettings,
    cache: &CacheFolder,
    patch: &KernelPatch,
    progress: &dyn ExperimentProgress,
) -> Result<(KernelBuilder, Vec<String>), UserError> {
    let source = match &settings.source {
        Some(source) => source.clone(),
        None => {
            let source = cache.kernel_source().ok_or_else(|| {
                UserError::input(format!(
                    "say where the kernel's source is: --source DIR, or run {} to fetch {DISTRIBUTION}'s",
                    setup_command()
                ))
            })?;
            cache.require_private(&source)?;
            source
        }
    };
    let jobs = settings
        .jobs
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    progress.step("looking at the source");
    let builder = KernelBuilder::open(cache, &source, settings.config.as_deref(), jobs)?;
    let files = builder.patched_files(patch)?;
    Ok((builder, files))
}

fn build_kernels(
    settings: &KernelSettings,
    builder: &KernelBuilder,
    patch: &KernelPatch,
    interrupt: InterruptFlag,
    progress: &dyn ExperimentProgress,
) -> Result<[BuiltKernel; 2], FailedVerification> {
    let watch = BuildWatch {
        progress,
        update: &|text: &str| progress.update(text),
        interrupt,
    };
    let build = |patch: Option<&KernelPatch>, name: &str| {
        builder.build(patch, name, &watch).map_err(|error| {
            let is_compiled = matches!(error, BuildError::Make { .. });
            FailedVerification {
                failed_step: is_compiled.then_some(PatchedStep::Build),
                error: error.into(),
            }
        })
    };
    // The source has the patch, or lacks it.
    let [before, after] = match settings.reverse {
        false => [None, Some(patch)],
        true => [Some(patch), None],
    };
    Ok([
        build(before, "the kernel without the patch")?,
        build(after, "the kernel with the patch")?,
    ])
}

/// Makes the error of a machine without a place for kernels.
pub(crate) fn no_cache_folder() -> UserError {
    UserError::input(
        "there is no folder for what is built: set RELAYOUT_CACHE, XDG_CACHE_HOME or HOME",
    )
}

/// Names the options of the configuration that the source does not take.
fn rejected_options_note(
    builder: &KernelBuilder,
    kernel: &BuiltKernel,
) -> Result<Option<String>, UserError> {
    let options = builder.options_not_taken(kernel)?;
    let note = format!(
        "this source does not take these options of the configuration: {}",
        options.join(", ")
    );
    Ok((!options.is_empty()).then_some(note))
}

/// Names changed files other than headers: replay knows layouts, not code.
fn code_changes_note(files: &[String]) -> Option<String> {
    let code: Vec<&str> = files
        .iter()
        .filter(|file| !file.ends_with(".h"))
        .map(String::as_str)
        .collect();
    (!code.is_empty()).then(|| {
        format!(
            "the patch changes more than headers ({}): what was recorded is of all of it, replay of \
             the layouts alone",
            code.join(", ")
        )
    })
}

/// Returns the workloads with each number of CPUs.
fn boot_settings(settings: &KernelSettings) -> Result<Vec<BootSetting>, UserError> {
    if settings.workloads.iter().any(|name| name == "list") {
        let names: Vec<&str> = workloads().map(|workload| workload.name).collect();
        let names = names.join(", ");
        return Err(UserError::input(format!("the workloads are {names}")));
    }
    let mut boots: Vec<BootSetting> = Vec::new();
    for name in &settings.workloads {
        find_workload(name)?;
        for (name, &cpus) in iter::repeat(name).zip(&settings.cpus) {
            let setting = BootSetting {
                workload: name.clone(),
                cpus,
            };
            if !boots.contains(&setting) {
                boots.push(setting);
            }
        }
    }
    Ok(boots)
}

#[cfg(test)]
mod tests {
    use super::code_changes_note;

    #[test]
    fn code_beside_layouts_is_noted() {
        let note = |files: &[&str]| {
            let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
            code_changes_note(&files)
        };
        assert_eq!(note(&["include/linux/osq_lock.h"]), None);
        let code = note(&["include/linux/osq_lock.h", "kernel/locking/osq_lock.c"]).unwrap();
        assert!(code.contains("(kernel/locking/osq_lock.c)"), "{code}");
    }
}
