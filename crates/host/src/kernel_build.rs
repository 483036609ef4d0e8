//! Kernels built from one source, without a patch and with it, to boot them beside each other.
//!
//! The user's source is only read: it is copied once, and kept in step. Both kernels are built from the
//! copy at one path, into one folder, so that the second is built in as long as what the patch changes
//! takes, and nothing else differs between the two. What was built is kept, by all that went into it.
//!
//! Building runs `make` on the source, and with it whatever the source's makefiles run.

mod check;
mod config;
mod error;
mod images;
mod needs;
mod tree;

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use self::check::{Base, Configuration, NoConfiguration, Object};
pub use self::error::{Error, Need};
pub use self::needs::check as check_needs;

use self::images::{Images, Key};
use self::tree::{Manifest, Tree};
use crate::file_error::cannot;
use crate::measure::{self, Launch, Starter, Words};
use crate::workspace::free_bytes;
use crate::{Cache, Interrupt, Progress};

/// What a build needs beside the copy of the source.
const OUTPUT_MIB: u64 = 3 << 10;
/// How often the user is told which file is compiled.
const TELL_EVERY: Duration = Duration::from_millis(500);
/// Of what `make` wrote, in bytes, lines to show, and lines from the first error to the end that are looked
/// at.
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
/// So that the images of one source do not differ by when and by whom they were built.
const CONSTANT: &[(&str, &str)] = &[
    ("KBUILD_BUILD_TIMESTAMP", "Thu Jan 1 00:00:00 UTC 1970"),
    ("KBUILD_BUILD_USER", "relayout"),
    ("KBUILD_BUILD_HOST", "relayout"),
    ("KBUILD_BUILD_VERSION", "1"),
    ("LC_ALL", "C"),
];

/// A patch to a kernel's source, with paths as `git format-patch` writes them.
#[derive(Clone, Debug)]
pub struct Patch {
    /// The file, by its full name.
    path: PathBuf,
    bytes: Vec<u8>,
    /// Take it out instead of putting it in.
    reverse: bool,
}

impl Patch {
    /// Reads a patch, to be applied, or taken out with `reverse`.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(path: &Path, reverse: bool) -> Result<Self, Error> {
        let path = fs::canonicalize(path).map_err(cannot("read", path))?;
        let bytes = fs::read(&path).map_err(cannot("read", &path))?;
        Ok(Self {
            path,
            bytes,
            reverse,
        })
    }
}

/// Whom to tell where building stands, and who may stop it.
pub struct Watch<'w> {
    /// Steps.
    pub progress: &'w dyn Progress,
    /// Within a step.
    pub update: &'w dyn Fn(&str),
    /// Ctrl-C.
    pub interrupt: Interrupt,
}

impl Watch<'_> {
    fn check(&self) -> Result<(), Error> {
        match self.interrupt.is_set() {
            true => Err(Error::Interrupted),
            false => Ok(()),
        }
    }
}

/// A kernel that was built.
#[derive(Clone, Debug, PartialEq)]
pub struct Built {
    /// Its boot image.
    pub image: PathBuf,
    /// Its vmlinux with debug information.
    pub debug: PathBuf,
    /// Its configuration.
    pub config: PathBuf,
    /// How long building it took; `None` for one that was kept.
    pub seconds: Option<f64>,
}

/// Builds kernels of one source.
pub struct Builder {
    source: PathBuf,
    /// Copy, output and images.
    top: PathBuf,
    manifest: Manifest,
    options: String,
    jobs: usize,
}

impl Builder {
    /// Looks at the source in `source`. `config` is a file with more options, `jobs` what `make -j` is given.
    ///
    /// # Errors
    /// It is no kernel's clean source.
    pub fn open(
        cache: &Cache,
        source: &Path,
        config: Option<&Path>,
        jobs: usize,
    ) -> Result<Self, Error> {
        let source = fs::canonicalize(source).map_err(cannot("read", source))?;
        let manifest = Manifest::read(&source)?;
        let top = cache.dir().join("built").join(folder_name(&source));
        fs::create_dir_all(&top).map_err(cannot("create", &top))?;
        Ok(Self {
            options: config::options(config)?,
            source,
            top,
            manifest,
            jobs,
        })
    }

    /// Where all that is built lies.
    pub fn dir(&self) -> &Path {
        &self.top
    }

    /// Options of the configuration that the source did not take.
    ///
    /// # Errors
    /// The kernel's configuration cannot be read.
    pub fn not_taken(&self, built: &Built) -> Result<Vec<String>, Error> {
        let text = fs::read_to_string(&built.config).map_err(cannot("read", &built.config))?;
        config::not_taken(&self.options, &text)
    }

    /// The files that a patch changes; says early what would stop a build later: one that does not apply.
    ///
    /// # Errors
    /// It does not.
    pub fn check_patch(&self, patch: &Patch) -> Result<Vec<String>, Error> {
        patch.files(&self.source)
    }

    /// The kernel with that patch, or without any: a kept one, or else a new one. `what` it is called by in
    /// messages.
    ///
    /// # Errors
    /// Something that building needs is missing, another one is building from that source, the patch does not
    /// apply, or `make` fails.
    pub fn build(
        &self,
        patch: Option<&Patch>,
        what: &str,
        watch: &Watch<'_>,
    ) -> Result<Built, Error> {
        let key = Key::new(
            self.manifest.fingerprint(),
            &self.options,
            &needs::compiler(),
            patch.map(|patch| (&*patch.bytes, patch.reverse)),
        );
        let images = Images(self.top.join("images"));
        if let Some(built) = images.find(&key) {
            return Ok(built);
        }
        needs::check()?;
        let _lock = lock(&self.top)?;
        self.check_space()?;
        let begun = Instant::now();
        watch
            .progress
            .step(&format!("building {what} (make -j{})", self.jobs));
        let tree = Tree {
            source: &self.source,
            top: &self.top,
        };
        tree.follow(&self.manifest, patch, watch)?;
        self.configure(what, watch)?;
        self.make(&["vmlinux", "bzImage"], what, watch)?;
        let mut built = images.keep(&key, &self.out())?;
        built.seconds = Some(begun.elapsed().as_secs_f64());
        Ok(built)
    }

    fn out(&self) -> PathBuf {
        self.top.join("out")
    }

    fn check_space(&self) -> Result<(), Error> {
        let is_first = !self.out().join("vmlinux").exists();
        let free_mib = free_bytes(&self.top).unwrap_or(u64::MAX) >> 20;
        let needed_mib = (self.manifest.bytes() >> 20) + OUTPUT_MIB;
        match is_first && free_mib < needed_mib {
            true => Err(Error::Space {
                path: self.top.clone(),
                free_mib,
                needed_mib,
            }),
            false => Ok(()),
        }
    }

    /// Makes the configuration, unless it is there and made of the same options.
    fn configure(&self, what: &str, watch: &Watch<'_>) -> Result<(), Error> {
        let out = self.out();
        fs::create_dir_all(&out).map_err(cannot("create", &out))?;
        let options = self.top.join("options");
        let done = fs::read_to_string(&options).is_ok_and(|text| text == self.options);
        let config = out.join(".config");
        if !(done && config.is_file()) {
            fs::write(&options, &self.options).map_err(cannot("write", &options))?;
            let of = format!("KCONFIG_ALLCONFIG={}", options.display());
            let made = self.make(&[&of, "allnoconfig"], what, watch);
            if made.is_err() {
                let _ = fs::remove_file(&options);
            }
            made?;
        }
        let text = fs::read_to_string(&config).map_err(cannot("read", &config))?;
        config::not_taken(&self.options, &text).map(drop)
    }

    fn make(&self, targets: &[&str], what: &str, watch: &Watch<'_>) -> Result<(), Error> {
        self.make_in(&self.out(), targets, what, watch)
    }

    /// Runs make with the output in `out`; `words` are variables and targets.
    fn make_in(
        &self,
        out: &Path,
        words: &[&str],
        what: &str,
        watch: &Watch<'_>,
    ) -> Result<(), Error> {
        let starter = Starter::new(watch.interrupt)?;
        let command = self.command(out, words);
        let stdout = starter.dir().join("stdout");
        let told = Cell::new(Instant::now());
        let ended = starter.run_watched(
            &Launch {
                command: &command,
                dir: None,
                schedule: None,
                time_limit: None,
                disturbed_code: None,
            },
            &|| {
                if told.get().elapsed() >= TELL_EVERY {
                    told.set(Instant::now());
                    if let Some(line) = last_lines(&stdout).last() {
                        (watch.update)(&format!("building {what}: {}", line.trim()));
                    }
                }
            },
        );
        if watch.interrupt.is_set() {
            return Err(Error::Interrupted);
        }
        match ended {
            Ok(_) => Ok(()),
            Err(measure::Error::Failed { how, .. }) => Err(Error::Make {
                what: what.to_owned(),
                how: format!("'{}' {how}", command.text),
                said: errors(&last_lines(&starter.dir().join("stderr"))),
                log: self.keep_log(starter.dir())?,
            }),
            Err(other) => Err(Error::Measure(other)),
        }
    }

    fn command(&self, out: &Path, targets: &[&str]) -> Words {
        let path = |name: &str| self.top.join(name).display().to_string();
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
        Words {
            text: words[first..].join(" "),
            words,
            environment: { CONSTANT.iter() }
                .map(|(name, value)| ((*name).into(), (*value).into()))
                .collect(),
        }
    }

    /// All that `make` wrote, where the user can read it.
    fn keep_log(&self, dir: &Path) -> Result<PathBuf, Error> {
        let log = self.top.join("make.log");
        let mut text = Vec::new();
        for name in ["stdout", "stderr"] {
            let path = dir.join(name);
            text.extend(fs::read(&path).map_err(cannot("read", &path))?);
        }
        fs::write(&log, text).map_err(cannot("write", &log))?;
        Ok(log)
    }
}

/// For people to find, and another one for sources of one name in other places.
fn folder_name(source: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let name = source.file_name().unwrap_or_default().to_string_lossy();
    let number = crc32fast::hash(source.as_os_str().as_bytes());
    format!("{name}-{number:08x}")
}

/// Only one may build in a folder.
fn lock(top: &Path) -> Result<File, Error> {
    let path = top.join("lock");
    let file = File::create(&path).map_err(cannot("create", &path))?;
    // SAFETY: a plain system call on a file that is open.
    match unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } {
        0 => Ok(file),
        _ => Err(Error::Busy {
            path: top.to_owned(),
        }),
    }
}

fn last_lines(path: &Path) -> Vec<String> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let bytes = file.metadata()?.len();
        file.seek(SeekFrom::Start(bytes.saturating_sub(TAIL_BYTES)))?;
        let mut kept = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut kept)?;
        Ok(kept)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.lines().map(str::to_owned).collect()
}

/// What of make's errors says why: from the first line that is an error's on.
fn errors(lines: &[String]) -> String {
    let is_error = |line: &String| line.contains("error:") || line.contains("undefined reference");
    let first = lines.iter().position(is_error);
    let first = first.unwrap_or(lines.len().saturating_sub(TAIL_LINES));
    let shown: Vec<&str> = { lines[first..].iter() }
        .take(TAIL_LINES)
        .map(String::as_str)
        .collect();
    shown.join("\n")
}

#[cfg(test)]
mod tests;
