//! Errors of recording.

use std::path::PathBuf;

use relayout_files::{DISTRIBUTION, FileError, setup_command, system_package};
use relayout_messages::{ErrorCategory, ProblemReason, UserFacingError};

use crate::program::MemoryLimit;

/// An error that names the file or program, and the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be used, or something is not installed.
    #[error(transparent)]
    Files(#[from] relayout_files::Error),
    /// The debug file lacks something that every kernel has.
    #[error("{} has no {missing}: is it the vmlinux of a kernel with debug information?", path.display())]
    NotAKernel {
        /// The debug file.
        path: PathBuf,
        /// The missing symbol, type or member.
        missing: String,
    },
    /// The image is not a bootable kernel.
    #[error(
        "{} is not a Linux boot image (x86 bzImage, arm64 Image): {why}; {BOOT_IMAGE}",
        path.display()
    )]
    Image {
        /// The image.
        path: PathBuf,
        /// The defect.
        why: &'static str,
    },
    /// Image and debug file are of different machines.
    #[error(
        "{} is a boot image for {image_machine}, and {} is for {debug_machine}; {SAME_VERSION}",
        image.display(),
        debug.display()
    )]
    OtherMachine {
        /// The image.
        image: PathBuf,
        /// Machine of the image.
        image_machine: &'static str,
        /// The debug file.
        debug: PathBuf,
        /// Machine of the debug file.
        debug_machine: &'static str,
    },
    /// Image and debug file are of different builds.
    #[error(
        "{} and {} are of different builds:\n  image: {image_version}\n  debug: {debug_version}\n\
         take both from packages of one version",
        image.display(),
        debug.display()
    )]
    Mismatch {
        /// The image.
        image: PathBuf,
        /// The debug file.
        debug: PathBuf,
        /// Version in the image.
        image_version: String,
        /// Version in the debug file.
        debug_version: String,
    },
    /// The kernel was built without something that the guest needs.
    #[error("{} cannot be recorded: {why}", path.display())]
    Unsuitable {
        /// The image.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// No workload has this name.
    #[error(
        "there is no workload '{name}'{}; {}",
        close.as_ref().map(|close| format!(" (did you mean '{close}'?)")).unwrap_or_default(),
        workload_remedy(name)
    )]
    UnknownWorkload {
        /// The requested name.
        name: String,
        /// A workload with a similar name.
        close: Option<String>,
    },
    /// The guest's CPUs have no place on the machine.
    #[error("the machine {machine}: {why}")]
    Placement {
        /// Name of the machine.
        machine: String,
        /// The reason.
        why: String,
    },
    /// The guest cannot run in simulated time.
    #[error("the guest cannot run in simulated time: {0}; {HOST_ORDER}")]
    Simulation(String),
    /// A program cannot run in simulated time.
    #[error("the program cannot run in simulated time: {0}; {PROGRAM_HOST_ORDER}")]
    SimulatedProgram(String),
    /// Members cannot be said to lie elsewhere.
    #[error("cannot move {requested}: {why}")]
    Move {
        /// The requested move.
        requested: String,
        /// The reason.
        why: String,
    },
    /// The results of a simulation are damaged.
    #[error("{} is damaged", .0.display())]
    Rates(PathBuf),
    /// No file of the kernel's modules has this name.
    #[error(
        "there is no module '{name}'{}{}; {}",
        folder.as_ref().map(|folder| format!(" in {}", folder.display())).unwrap_or_default(),
        close.as_ref().map(|close| format!(" (did you mean '{close}'?)")).unwrap_or_default(),
        fetch_module(name)
    )]
    UnknownModule {
        /// The requested name.
        name: String,
        /// Folder with the kernel's modules.
        folder: Option<PathBuf>,
        /// A module with a similar name.
        close: Option<String>,
    },
    /// A kernel module cannot be loaded.
    #[error("{} cannot be loaded into the guest: {why}", path.display())]
    Module {
        /// The module's file.
        path: PathBuf,
        /// The reason.
        why: ProblemReason,
    },
    /// The program cannot run in the guest.
    #[error("{} cannot run in the guest: {why}", path.display())]
    Program {
        /// The program.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The guest has not enough memory for its files.
    #[error(
        "with {}, the guest has at least {files_mib} MiB of files, which do not fit into its {memory_mib} MiB of memory \
         (they are there twice at first); {MORE_MEMORY}",
        path.display()
    )]
    GuestTooSmall {
        /// The first file that does not fit.
        path: PathBuf,
        /// Size of the files up to it.
        files_mib: u64,
        /// The guest's memory.
        memory_mib: u64,
    },
    /// A folder does not fit into the guest's memory, and the kernel cannot read it from a disk.
    #[error(
        "{} has {files_mib} MiB of files, which do not fit into the guest's {memory_mib} MiB of memory (they are \
         there twice at first). They cannot come on a disk, because the kernel has {missing}. --memory gives the \
         guest more memory; {}",
        folder.display(),
        fetch_disk_drivers()
    )]
    NoDiskDriver {
        /// The folder.
        folder: PathBuf,
        /// Size of its files.
        files_mib: u64,
        /// The guest's memory.
        memory_mib: u64,
        /// The missing driver, with the option of the kernel's configuration.
        missing: String,
    },
    /// The host's disk has too little room for a disk image.
    #[error(
        "the disk image of {} needs {needed_mib} MiB, and {free_mib} MiB are free in {}; {OTHER_FOLDER}",
        folder.display(),
        place.display()
    )]
    DiskImageRoom {
        /// The folder.
        folder: PathBuf,
        /// Space that the image takes.
        needed_mib: u64,
        /// Folder for temporary files.
        place: PathBuf,
        /// Free space.
        free_mib: u64,
    },
    /// No disk image can be made of a folder.
    #[error("cannot make a disk image of {}: {why}", folder.display())]
    DiskImage {
        /// The folder.
        folder: PathBuf,
        /// The reason.
        why: ProblemReason,
    },
    /// The program cannot be recorded.
    #[error("cannot record {}: {why}", path.display())]
    Unrecordable {
        /// The program, as given.
        path: PathBuf,
        /// The reason, and the remedy.
        why: ProblemReason,
    },
    /// The program ran, and nothing of it was recorded.
    #[error("nothing was recorded of {program}: {why}")]
    NothingRecorded {
        /// Name of the program.
        program: String,
        /// The reason, and the remedy.
        why: String,
    },
    /// The recorded program failed.
    #[error("{program} {how}")]
    ProgramFailed {
        /// Name of the program.
        program: String,
        /// Its end: `ended with status 1`.
        how: String,
    },
    /// A limit of the program's memory leaves the collector too little.
    #[error("cannot record {program}: {}; {}", limit.describe_shortage(), limit.remedy())]
    MemoryLimited {
        /// Name of the program.
        program: String,
        /// The limit.
        limit: MemoryLimit,
    },
    /// This QEMU loads no plugins.
    #[error(
        "{} cannot load the recording plugin: {why}\n\
         a QEMU built with plugins is needed: {DISTRIBUTION}'s {} 7.2 or 10.0 for kernels, \
         {DISTRIBUTION} 12's {} 7.2 for programs (later ones are linked statically); \
         {} unpacks both",
        path.display(),
        system_package("qemu-system-x86_64"),
        system_package("qemu-x86_64"),
        setup_command()
    )]
    NoPlugins {
        /// The QEMU.
        path: PathBuf,
        /// QEMU's message.
        why: String,
    },
    /// QEMU ended or stopped answering before the recording was complete.
    #[error("QEMU {why}{}", indented_output(stderr))]
    Qemu {
        /// The event.
        why: String,
        /// QEMU's standard error.
        stderr: String,
    },
    /// The guest failed before its window opened.
    #[error(
        "the guest {why}\nlast lines of its console:{}",
        indented_lines(console)
    )]
    Guest {
        /// The event.
        why: String,
        /// Last lines of the console.
        console: Vec<String>,
    },
    /// The guest failed in its boot by an event that is rare under QEMU.
    #[error(
        "the boot of the guest failed twice, at last: {event}\nlast lines of its console:{}",
        indented_lines(console)
    )]
    BootFault {
        /// The event.
        event: String,
        /// Last lines of the console.
        console: Vec<String>,
    },
    /// A snapshot of a guest cannot be used.
    #[error("{0}")]
    Snapshot(String),
    /// The collector's files are not those of one recording.
    #[error("the collector's files cannot be read")]
    Segments(#[source] relayout_profile::segments::Error),
    /// The parts of a recording cannot be one profile.
    #[error("the parts of the recording cannot be merged")]
    Parts(#[source] relayout_profile::merge::Error),
    /// A `perf.data` file yields no profile.
    #[error("{}", path.display())]
    Perf {
        /// The file.
        path: PathBuf,
        /// The reason, and the remedy.
        #[source]
        source: relayout_profile::perf::ImportError,
    },
    /// A `perf.data` file cannot be decoded.
    #[error("{}", path.display())]
    PerfData {
        /// The file.
        path: PathBuf,
        /// The reason, and the remedy.
        #[source]
        source: relayout_perf_data::Error,
    },
    /// The debug file is not the recorded kernel's.
    #[error(
        "{} is of another build than the recorded kernel: its build id is {found}, the recorded one's \
         {recorded}; {RECORDED_VMLINUX}",
        path.display()
    )]
    OtherKernel {
        /// The debug file.
        path: PathBuf,
        /// Its build id.
        found: String,
        /// Build id in the recording.
        recorded: String,
    },
    /// The user stopped the recording.
    #[error("interrupted")]
    Interrupted,
}

impl From<relayout_profile::segments::Error> for Error {
    fn from(error: relayout_profile::segments::Error) -> Self {
        match error {
            relayout_profile::segments::Error::Aborted => Self::Interrupted,
            other => Self::Segments(other),
        }
    }
}

impl From<FileError> for Error {
    fn from(error: FileError) -> Self {
        Self::Files(error.into())
    }
}

/// Remedies, each at the end of a message.
const BOOT_IMAGE: &str = "give the vmlinuz of the kernel's package, or arch/x86/boot/bzImage or \
                          arch/arm64/boot/Image of its build";
const SAME_VERSION: &str = "take both from packages of one version";
const HOST_ORDER: &str = "--order host records it in the order of the host";
const PROGRAM_HOST_ORDER: &str =
    "without --machine, --with qemu records it in the order of the host";
const LIST_WORKLOADS: &str = "'list' names them";
const RUN_PROGRAM: &str = "--run PROGRAM records a program of yours";
const MORE_MEMORY: &str = "--memory gives it more, and a folder (--file FOLDER, --root) comes on a \
                           disk if it is larger";
const OTHER_FOLDER: &str = "TMPDIR names another folder";
const RECORDED_VMLINUX: &str = "give the vmlinux of the recorded build";

fn fetch_module(name: &str) -> String {
    format!(
        "{} --module {name} fetches it for the kernels in the cache folder, and a FILE.ko may be given instead. What is \
         built into the kernel needs no --module",
        setup_command()
    )
}

fn fetch_disk_drivers() -> String {
    format!(
        "where the kernel has drivers as modules, {} --module ext4,nvme fetches them",
        setup_command()
    )
}

/// Returns how to record what was named as a workload: a path is a program.
fn workload_remedy(name: &str) -> &'static str {
    match name.contains('/') {
        true => RUN_PROGRAM,
        false => LIST_WORKLOADS,
    }
}

impl Error {
    /// Returns the remedy, which stands behind the last semicolon of the message or of its source.
    pub fn remedy(&self) -> Option<String> {
        let remedy = match self {
            Self::Files(error) => return error.remedy(),
            Self::Perf { source, .. } => return source.remedy(),
            Self::PerfData { source, .. } => return source.remedy().map(str::to_owned),
            Self::Image { .. } => BOOT_IMAGE,
            Self::OtherMachine { .. } => SAME_VERSION,
            Self::UnknownWorkload { name, .. } => workload_remedy(name),
            Self::Simulation(_) => HOST_ORDER,
            Self::SimulatedProgram(_) => PROGRAM_HOST_ORDER,
            Self::UnknownModule { name, .. } => return Some(fetch_module(name)),
            Self::Module { why, .. }
            | Self::DiskImage { why, .. }
            | Self::Unrecordable { why, .. } => return why.remedy.clone(),
            Self::GuestTooSmall { .. } => MORE_MEMORY,
            Self::NoDiskDriver { .. } => return Some(fetch_disk_drivers()),
            Self::DiskImageRoom { .. } => OTHER_FOLDER,
            Self::MemoryLimited { limit, .. } => return Some(limit.remedy()),
            Self::OtherKernel { .. } => RECORDED_VMLINUX,
            _ => return None,
        };
        Some(remedy.to_owned())
    }

    /// Returns the first line of the message.
    pub(crate) fn first_line(&self) -> String {
        self.to_string()
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned()
    }

    /// Returns who has to act.
    pub fn category(&self) -> ErrorCategory {
        match self {
            Self::Files(error) => error.category(),
            Self::NoPlugins { .. } | Self::DiskImageRoom { .. } | Self::MemoryLimited { .. } => {
                ErrorCategory::Environment
            }
            Self::Guest { .. }
            | Self::BootFault { .. }
            | Self::Qemu { .. }
            | Self::ProgramFailed { .. }
            | Self::NothingRecorded { .. } => ErrorCategory::Guest,
            Self::Interrupted => ErrorCategory::Interrupted,
            _ => ErrorCategory::Input,
        }
    }
}

impl UserFacingError for Error {
    fn user_remedy(&self) -> Option<String> {
        self.remedy()
    }

    fn user_category(&self) -> ErrorCategory {
        self.category()
    }
}

fn indented_output(output: &str) -> String {
    let output = output.trim();
    if output.is_empty() {
        String::new()
    } else {
        format!(":\n  {}", output.replace('\n', "\n  "))
    }
}

fn indented_lines(lines: &[String]) -> String {
    if lines.is_empty() {
        return " (nothing)".into();
    }
    lines.iter().map(|line| format!("\n  {line}")).collect()
}
