//! What can go wrong outside of relayout.

use std::path::PathBuf;

use crate::{FileError, compile, kernel_build, measure, probe};

/// Kinds of error, by who has to do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCategory {
    /// What was given cannot be used.
    Input,
    /// The environment lacks something.
    Environment,
    /// The recorded guest or program failed.
    Guest,
    /// The user stopped it.
    Interrupted,
}

/// Why a step outside could not be done. Each names the file or program and the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The debug file cannot be used.
    #[error("cannot read the debug information of {}", path.display())]
    Debug {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: relayout_layout::Error,
    },
    /// The debug information was split off, and is not where it could be.
    #[error(
        "no debug information: neither DWARF (.debug_info) nor BTF (.BTF), and no debug file of it \
         was found{}; build with -g, or install the distribution's debug package (-dbgsym, debuginfo)",
        search(looked, other)
    )]
    NoDebugFile {
        /// Where there was none.
        looked: Vec<PathBuf>,
        /// What was found, and is of another build.
        other: Vec<PathBuf>,
    },
    /// The debug file lacks something that a kernel has.
    #[error("{} has no {what}: is it the vmlinux of a kernel with debug information?", path.display())]
    NotAKernel {
        /// The file.
        path: PathBuf,
        /// The symbol, type or member that is missing.
        what: String,
    },
    /// The image is not a bootable kernel.
    #[error("{} is not a Linux boot image (bzImage): {why}; give the vmlinuz of the kernel's package, or arch/x86/boot/bzImage of its build", path.display())]
    Image {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Image and debug file are not of one build.
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
        /// Version that the image says.
        image_version: String,
        /// Version that the debug file says.
        debug_version: String,
    },
    /// No such workload.
    #[error("there is no workload '{name}'{}; 'list' names them", close.as_ref().map(|c| format!(" (did you mean '{c}'?)")).unwrap_or_default())]
    UnknownWorkload {
        /// What was asked for.
        name: String,
        /// One that is spelt nearly so.
        close: Option<String>,
    },
    /// The program to run in the guest cannot run there.
    #[error("{} cannot run in the guest: {why}", path.display())]
    Program {
        /// The program.
        path: PathBuf,
        /// Why.
        why: &'static str,
    },
    /// The program to record cannot be.
    #[error("cannot record {}: {why}", path.display())]
    Unrecordable {
        /// The program, as given.
        path: PathBuf,
        /// Why, and what to do.
        why: String,
    },
    /// The recorded program failed.
    #[error("{program} {how}")]
    ProgramFailed {
        /// Its name.
        program: String,
        /// How it ended.
        how: String,
    },
    /// A setting is out of its range.
    #[error("{what} is {found}; {allowed}")]
    Setting {
        /// Which.
        what: &'static str,
        /// Its value.
        found: String,
        /// What it may be.
        allowed: String,
    },
    /// Something to install.
    #[error("{what} is missing{}", hint(package))]
    Missing {
        /// Program or file.
        what: String,
        /// Debian package that has it, if one does, or what else to do.
        package: Option<String>,
    },
    /// A QEMU that loads no plugins.
    #[error(
        "{} cannot load the recording plugin: {why}\n\
         a QEMU built with plugins is needed: Debian's qemu-system-x86 7.2 or 10.0 for kernels, Debian 12's \
         qemu-user 7.2 for programs (later ones are linked statically); scripts/setup.sh unpacks both",
        path.display()
    )]
    NoPlugins {
        /// The QEMU.
        path: PathBuf,
        /// What it said.
        why: String,
    },
    /// QEMU ended or stopped answering before the recording was complete.
    #[error("QEMU {why}{}", tail(said))]
    Qemu {
        /// What happened.
        why: String,
        /// What it wrote to standard error.
        said: String,
    },
    /// The guest failed before its window opened.
    #[error("the guest {why}\nlast lines of its console:{}", indent(console))]
    Guest {
        /// What happened.
        why: String,
        /// Last lines of the console.
        console: Vec<String>,
    },
    /// What the collector wrote does not belong together.
    #[error("the collector's files cannot be read")]
    Segments(#[source] relayout_profile::segments::Error),
    /// A unit could not be compiled.
    #[error(transparent)]
    Compile(compile::Error),
    /// What `relayout probe` wrote cannot be used.
    #[error("{} is not a machine file of `relayout probe`: {problem}; run `relayout probe` again", path.display())]
    MachineFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: probe::MachineFileProblem,
    },
    /// A program could not be measured.
    #[error(transparent)]
    Measure(measure::Error),
    /// A kernel could not be built.
    #[error(transparent)]
    KernelBuild(kernel_build::Error),
    /// A `perf.data` file gives no profile.
    #[error("{}", path.display())]
    Perf {
        /// The file.
        path: PathBuf,
        /// Why, and what to do.
        #[source]
        source: relayout_profile::perf::Error,
    },
    /// Another kernel was recorded.
    #[error(
        "{} is of another build than the recorded kernel: its build id is {found}, the recorded one's \
         {recorded}; give the vmlinux of the recorded build",
        path.display()
    )]
    OtherKernel {
        /// The debug file.
        path: PathBuf,
        /// Its build id.
        found: String,
        /// The recording's.
        recorded: String,
    },
    /// Stopped by the user.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// Who has to do something.
    pub fn category(&self) -> ErrorCategory {
        match self {
            Self::Missing { .. } | Self::NoPlugins { .. } => ErrorCategory::Environment,
            Self::Guest { .. } | Self::Qemu { .. } | Self::ProgramFailed { .. } => {
                ErrorCategory::Guest
            }
            Self::Interrupted | Self::Compile(compile::Error::Interrupted) => {
                ErrorCategory::Interrupted
            }
            Self::Compile(compile::Error::NoCompiler { .. }) => ErrorCategory::Environment,
            Self::Measure(error) => error.category(),
            Self::KernelBuild(error) => error.category(),
            _ => ErrorCategory::Input,
        }
    }
}

fn search(looked: &[PathBuf], other: &[PathBuf]) -> String {
    let list = |paths: &[PathBuf]| {
        let paths = paths.iter().map(|path| path.display().to_string());
        paths.collect::<Vec<_>>().join(", ")
    };
    let mut text = String::new();
    if !other.is_empty() {
        text.push_str(&format!(" ({} is of another build)", list(other)));
    }
    if !looked.is_empty() {
        text.push_str(&format!(" (not there: {})", list(looked)));
    }
    text
}

fn hint(package: &Option<String>) -> String {
    package
        .as_ref()
        .map(|p| format!(" ({p})"))
        .unwrap_or_default()
}

fn tail(said: &str) -> String {
    let said = said.trim();
    if said.is_empty() {
        String::new()
    } else {
        format!(":\n  {}", said.replace('\n', "\n  "))
    }
}

fn indent(lines: &[String]) -> String {
    if lines.is_empty() {
        return " (nothing)".into();
    }
    lines.iter().map(|line| format!("\n  {line}")).collect()
}
