//! Kernels built from one source, without a patch and with it, to boot them beside each other.
//!
//! The user's source is only read: it is copied once, and the copy is updated. Both kernels are
//! built from the copy at one path, into one folder. So the second build takes only as long as the
//! patch requires, and nothing else differs between the two. Built kernels are kept under a key of
//! everything that went into them.
//!
//! Building runs `make` on the source, and with it whatever the source's makefiles run.

mod compile_test;
mod config;
mod error;
mod images;
mod needs;
mod package;
mod tree;

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use relayout_files::{CacheFolder, FolderLock, InterruptFlag, cannot, free_bytes, last_lines};
use relayout_measure::{ProgramCommand, ProgramLaunch, ProgramStarter};
use relayout_messages::RecordingProgress;

pub use self::compile_test::{
    ConfigurationBase, ConfigurationParseError, KernelConfiguration, TestedObject,
};
pub use self::error::Error;
pub use self::needs::require_needs;

use self::images::{ImageKey, KernelImages};
use self::tree::{SourceCopy, SourceManifest};

/// MiB that a build needs beside the copy of the source.
const OUTPUT_MIB: u64 = 3 << 10;
/// Interval at which the user is told which file is compiled.
const TELL_EVERY: Duration = Duration::from_millis(500);
/// Interval at which a lock is tried that another process holds.
const LOCK_INTERVAL: Duration = Duration::from_millis(200);
/// Bytes of make's output that are read for messages, and lines that are shown.
const TAIL_BYTES: u64 = 64 << 10;
const TAIL_LINES: usize = 20;
/// Variables that would make another kernel of the same source.
const CLEARED: &[&str] = &[
    "ARCH",
    "SUBARCH",
    "CROSS_COMPILE",
    "LLVM",
    "CC",
    "KBUILD_OUTPUT",
    "KCONFIG_CONFIG",
    "KCONFIG_ALLCONFIG",
    "KCFLAGS",
    "KBUILD_EXTRA_SYMBOLS",
    "LOCALVERSION",
    "MAKEFLAGS",
    "MAKELEVEL",
    "MFLAGS",
];
/// Values that keep the images of one source independent of the time and the user of the build.
const CONSTANT: &[(&str, &str)] = &[
    ("KBUILD_BUILD_TIMESTAMP", "Thu Jan 1 00:00:00 UTC 1970"),
    ("KBUILD_BUILD_USER", "relayout"),
    ("KBUILD_BUILD_HOST", "relayout"),
    ("KBUILD_BUILD_VERSION", "1"),
    ("LC_ALL", "C"),
];

/// A patch to a kernel's source, with paths as `git format-patch` writes them.
#[derive(Clone, Debug)]
pub struct KernelPatch {
    /// The file, by its full name.
    path: PathBuf,
    bytes: Vec<u8>,
    /// Take it out instead of putting it in.
    reverse: bool,
}

impl KernelPatch {
    /// Reads a patch, to be applied, or taken out with `reverse`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(path: &Path, reverse: bool) -> Result<Self, Error> {
        let path = fs::canonicalize(path).map_err(cannot("read", path))?;
        let bytes = relayout_files::read_regular(&path).map_err(cannot("read", &path))?;
        Ok(Self {
            path,
            bytes,
            reverse,
        })
    }
}

/// Whom to tell where building stands, and who may stop it.
pub struct BuildWatch<'w> {
    /// Steps.
    pub progress: &'w dyn RecordingProgress,
    /// Within a step.
    pub update: &'w dyn Fn(&str),
    /// Ctrl-C.
    pub interrupt: InterruptFlag,
}

impl BuildWatch<'_> {
    fn stop_if_interrupted(&self) -> Result<(), Error> {
        match self.interrupt.is_set() {
            true => Err(Error::Interrupted),
            false => Ok(()),
        }
    }
}

/// A kernel that was built.
#[derive(Clone, Debug, PartialEq)]
pub struct BuiltKernel {
    /// Its boot image.
    pub image: PathBuf,
    /// Its vmlinux with debug information.
    pub debug: PathBuf,
    /// Its configuration.
    pub config: PathBuf,
    /// Seconds that building took; `None` for a kernel that was kept.
    pub seconds: Option<f64>,
}

/// Builds kernels of one source.
pub struct KernelBuilder {
    source: PathBuf,
    /// Copy, output and images.
    folder: PathBuf,
    manifest: SourceManifest,
    options: String,
    jobs: usize,
}

impl KernelBuilder {
    /// Looks at the source in `source`. `config` is a file with more options, `jobs` what `make -j`
    /// is given.
    ///
    /// # Errors
    /// The folder is not the clean source of a kernel.
    pub fn open(
        cache: &CacheFolder,
        source: &Path,
        config: Option<&Path>,
        jobs: usize,
    ) -> Result<Self, Error> {
        let source = fs::canonicalize(source).map_err(cannot("read", source))?;
        let manifest = SourceManifest::read(&source)?;
        let folder = cache.dir().join("built").join(folder_name(&source));
        fs::create_dir_all(&folder).map_err(cannot("create", &folder))?;
        // A build runs programs that it made there.
        cache.require_private(&folder)?;
        Ok(Self {
            options: config::merged_options(config)?,
            source,
            folder,
            manifest,
            jobs,
        })
    }

    /// Folder of everything that is built.
    pub fn dir(&self) -> &Path {
        &self.folder
    }

    /// Options of the configuration that the source did not take.
    ///
    /// # Errors
    /// The kernel's configuration cannot be read.
    pub fn options_not_taken(&self, built: &BuiltKernel) -> Result<Vec<String>, Error> {
        let text = fs::read_to_string(&built.config).map_err(cannot("read", &built.config))?;
        config::options_not_taken(&self.options, &text)
    }

    /// Returns the files that a patch changes. A patch that does not apply fails here, before a
    /// build.
    ///
    /// # Errors
    /// The patch does not apply.
    pub fn patched_files(&self, patch: &KernelPatch) -> Result<Vec<String>, Error> {
        patch.changed_files(&self.source)
    }

    /// The kernel with that patch, or without any: a kept one, or else a new one. `what` it is
    /// called by in messages.
    ///
    /// # Errors
    /// Something that building needs is missing, the patch does not apply, or `make` fails.
    pub fn build(
        &self,
        patch: Option<&KernelPatch>,
        label: &str,
        watch: &BuildWatch<'_>,
    ) -> Result<BuiltKernel, Error> {
        let key = ImageKey::new(
            self.manifest.fingerprint(),
            &self.options,
            &needs::compiler_version(),
            patch.map(|patch| (&*patch.bytes, patch.reverse)),
        );
        let images = KernelImages(self.folder.join("images"));
        if let Some(built) = images.find(&key) {
            return Ok(built);
        }
        let begun = Instant::now();
        let _lock = self.prepare_tree(patch, label, watch)?;
        self.make(&["vmlinux", "bzImage"], label, watch)?;
        let mut built = images.keep(&key, &self.output_folder())?;
        built.seconds = Some(begun.elapsed().as_secs_f64());
        Ok(built)
    }

    /// Locks the folder, and brings its copy of the source and its configuration up to date.
    fn prepare_tree(
        &self,
        patch: Option<&KernelPatch>,
        label: &str,
        watch: &BuildWatch<'_>,
    ) -> Result<FolderLock, Error> {
        require_needs()?;
        let lock = lock_folder(&self.folder, watch)?;
        self.require_space()?;
        watch
            .progress
            .step(&format!("building {label} (make -j{})", self.jobs));
        let tree = SourceCopy {
            source: &self.source,
            folder: &self.folder,
        };
        tree.synchronize(&self.manifest, patch, watch)?;
        self.configure(label, watch)?;
        Ok(lock)
    }

    fn output_folder(&self) -> PathBuf {
        self.folder.join("out")
    }

    fn require_space(&self) -> Result<(), Error> {
        let is_first = !self.output_folder().join("vmlinux").exists();
        let free_mib = free_bytes(&self.folder).unwrap_or(u64::MAX) >> 20;
        let needed_mib = (self.manifest.bytes() >> 20) + OUTPUT_MIB;
        match is_first && free_mib < needed_mib {
            true => Err(Error::Space {
                path: self.folder.clone(),
                free_mib,
                needed_mib,
            }),
            false => Ok(()),
        }
    }

    /// Makes the configuration, unless it exists and was made of the same options.
    fn configure(&self, label: &str, watch: &BuildWatch<'_>) -> Result<(), Error> {
        let out = self.output_folder();
        fs::create_dir_all(&out).map_err(cannot("create", &out))?;
        let options = self.folder.join("options");
        let done = fs::read_to_string(&options).is_ok_and(|text| text == self.options);
        let config = out.join(".config");
        if !(done && config.is_file()) {
            fs::write(&options, &self.options).map_err(cannot("write", &options))?;
            let all_config = format!("KCONFIG_ALLCONFIG={}", options.display());
            let result = self.make(&[&all_config, "allnoconfig"], label, watch);
            if result.is_err() {
                let _ = fs::remove_file(&options);
            }
            result?;
        }
        let text = fs::read_to_string(&config).map_err(cannot("read", &config))?;
        config::options_not_taken(&self.options, &text).map(drop)
    }

    fn make(&self, targets: &[&str], label: &str, watch: &BuildWatch<'_>) -> Result<(), Error> {
        self.make_in_folder(&self.output_folder(), targets, label, watch)
    }

    /// Runs make with the output in `out`; `words` are variables and targets.
    fn make_in_folder(
        &self,
        out: &Path,
        words: &[&str],
        label: &str,
        watch: &BuildWatch<'_>,
    ) -> Result<(), Error> {
        let starter = ProgramStarter::new(watch.interrupt)?;
        let command = self.make_command(out, words);
        let stdout = starter.dir().join("stdout");
        let last_update = Cell::new(Instant::now());
        let ended = starter.run_watched(
            &ProgramLaunch {
                command: &command,
                dir: None,
                schedule: None,
                time_limit: None,
                disturbed_code: None,
            },
            &|| {
                if last_update.get().elapsed() >= TELL_EVERY {
                    last_update.set(Instant::now());
                    if let Some(line) = last_lines(&stdout, TAIL_BYTES).last() {
                        (watch.update)(&format!("building {label}: {}", line.trim()));
                    }
                }
            },
        );
        if watch.interrupt.is_set() {
            return Err(Error::Interrupted);
        }
        match ended {
            Ok(_) => Ok(()),
            Err(relayout_measure::Error::Failed { how, .. }) => Err(Error::Make {
                what: label.to_owned(),
                how: format!("'{}' {how}", command.text),
                output: first_errors(&last_lines(&starter.dir().join("stderr"), TAIL_BYTES)),
                log: self.keep_log(starter.dir())?,
            }),
            Err(other) => Err(Error::Measure(other)),
        }
    }

    fn make_command(&self, out: &Path, targets: &[&str]) -> ProgramCommand {
        let path = |name: &str| self.folder.join(name).display().to_string();
        let mut words: Vec<String> = vec!["env".into()];
        words.extend(
            CLEARED
                .iter()
                .flat_map(|name| ["-u".into(), (*name).into()]),
        );
        let first = words.len();
        words.extend(["make".into(), "-C".into(), path("src")]);
        words.extend([format!("O={}", out.display()), format!("-j{}", self.jobs)]);
        words.extend(targets.iter().map(|target| (*target).to_owned()));
        ProgramCommand {
            text: words[first..].join(" "),
            words,
            environment: CONSTANT
                .iter()
                .map(|(name, value)| ((*name).into(), (*value).into()))
                .collect(),
        }
    }

    /// Keeps the whole output of `make` where the user can read it.
    fn keep_log(&self, dir: &Path) -> Result<PathBuf, Error> {
        let log = self.folder.join("make.log");
        let mut text = Vec::new();
        for name in ["stdout", "stderr"] {
            let path = dir.join(name);
            text.extend(fs::read(&path).map_err(cannot("read", &path))?);
        }
        fs::write(&log, text).map_err(cannot("write", &log))?;
        Ok(log)
    }
}

/// Returns a folder name that people recognise, different for sources of one name in different
/// folders.
fn folder_name(source: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let name = source.file_name().unwrap_or_default().to_string_lossy();
    let number = crc32fast::hash(source.as_os_str().as_bytes());
    format!("{name}-{number:08x}")
}

/// Locks a folder, in which only one process may build, when the one that builds there has ended.
fn lock_folder(folder: &Path, watch: &BuildWatch<'_>) -> Result<FolderLock, Error> {
    let path = folder.join("lock");
    let mut is_announced = false;
    loop {
        if let Some(lock) = FolderLock::acquire(&path)? {
            return Ok(lock);
        }
        if !is_announced {
            watch.progress.step(&format!(
                "waiting for another relayout that builds kernels in {}",
                folder.display()
            ));
            is_announced = true;
        }
        watch.stop_if_interrupted()?;
        std::thread::sleep(LOCK_INTERVAL);
    }
}

/// Returns the beginning of make's errors: the lines from the first error on.
fn first_errors(lines: &[String]) -> String {
    let is_error = |line: &String| line.contains("error:") || line.contains("undefined reference");
    let first = lines
        .iter()
        .position(is_error)
        .unwrap_or(lines.len().saturating_sub(TAIL_LINES));
    let shown: Vec<&str> = lines[first..]
        .iter()
        .take(TAIL_LINES)
        .map(String::as_str)
        .collect();
    shown.join("\n")
}

#[cfg(test)]
mod tests;
