//! Which QEMU, and which of the two plugins it takes.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::file_error::cannot;
use crate::installed::installed;
use crate::{Cache, Error};

/// Plugin interfaces that there is a plugin for, best first.
const INTERFACES: [u32; 2] = [4, 1];

/// What a QEMU emulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Emulated {
    /// A machine, for a kernel.
    Machine,
    /// A single program.
    Program,
}

impl Emulated {
    /// The program's name.
    fn qemu(self) -> &'static str {
        match self {
            Self::Machine => "qemu-system-x86_64",
            Self::Program => "qemu-x86_64",
        }
    }

    /// Names another one.
    fn variable(self) -> &'static str {
        match self {
            Self::Machine => "RELAYOUT_QEMU",
            Self::Program => "RELAYOUT_QEMU_USER",
        }
    }

    fn package(self) -> &'static str {
        match self {
            Self::Machine => "package qemu-system-x86, or scripts/setup.sh",
            Self::Program => {
                "scripts/setup.sh, or Debian 12's package qemu-user: later ones are linked statically and \
                 take no plugins"
            }
        }
    }

    /// Arguments with which it does nothing, up to the plugin.
    fn idle(self) -> &'static [&'static str] {
        match self {
            Self::Machine => &[
                "-M",
                "none",
                "-accel",
                "tcg",
                "-nodefaults",
                "-display",
                "none",
                "-S",
                "-plugin",
            ],
            Self::Program => &["-plugin"],
        }
    }

    /// How its version begins.
    fn version_prefix(self) -> &'static str {
        match self {
            Self::Machine => "QEMU emulator version ",
            Self::Program => "qemu-x86_64 version ",
        }
    }
}

/// A QEMU and the plugin for it.
#[derive(Clone, Debug)]
pub struct Collector {
    /// The program (or a script that starts it).
    pub qemu: PathBuf,
    /// `QEMU emulator version 10.0.2 (...)`, shortened to the number.
    pub version: String,
    /// Plugin interface.
    pub interface: u32,
    /// The plugin.
    pub plugin: PathBuf,
}

impl Collector {
    /// Whether stored values are seen, so that silent stores are known.
    pub fn sees_values(&self) -> bool {
        self.interface >= 4
    }

    /// `QEMU 10.0.2, plugin interface 4`
    pub fn describe(&self) -> String {
        format!("QEMU {}, plugin interface {}", self.version, self.interface)
    }
}

/// The QEMU at `given`, else at `$RELAYOUT_QEMU`, else in the cache, else in `$PATH`; tried out with
/// the plugins that were built.
///
/// # Errors
/// There is none, or the one given takes none of the plugins, or they are not built.
pub fn find_collector(given: Option<&Path>, cache: Option<&Cache>) -> Result<Collector, Error> {
    find(Emulated::Machine, given, cache)
}

/// The QEMU for single programs at `$RELAYOUT_QEMU_USER`, else in the cache, else in `$PATH`, tried out
/// likewise.
///
/// # Errors
/// As [`find_collector`].
pub fn find_program_collector(cache: Option<&Cache>) -> Result<Collector, Error> {
    find(Emulated::Program, None, cache)
}

fn find(what: Emulated, given: Option<&Path>, cache: Option<&Cache>) -> Result<Collector, Error> {
    let given = given.map(Path::to_owned);
    let qemu = match given.or_else(|| env::var_os(what.variable()).map(Into::into)) {
        Some(path) => existing(path, what)?,
        None => cache
            .and_then(|cache| match what {
                Emulated::Machine => cache.qemu(),
                Emulated::Program => cache.qemu_user(),
            })
            .or_else(|| search(Path::new(what.qemu())))
            .ok_or_else(|| missing(what.qemu().into(), what))?,
    };
    let version = version(&qemu, what)?;
    let mut said = String::from("its output says nothing");
    for interface in INTERFACES {
        let plugin = plugin(interface)?;
        match probe(&qemu, &plugin, what)? {
            Ok(()) => {
                return Ok(Collector {
                    qemu,
                    version,
                    interface,
                    plugin,
                });
            }
            Err(text) => said = text,
        }
    }
    Err(Error::NoPlugins {
        path: qemu,
        why: said,
    })
}

fn existing(path: PathBuf, what: Emulated) -> Result<PathBuf, Error> {
    if path.components().count() == 1 && !path.exists() {
        return search(&path).ok_or_else(|| missing(path.display().to_string(), what));
    }
    if path.is_file() {
        Ok(path)
    } else {
        Err(missing(path.display().to_string(), what))
    }
}

fn search(name: &Path) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .map(|dir| dir.join(name))
        .find(|path| path.is_file())
}

fn missing(file: String, what: Emulated) -> Error {
    Error::Missing {
        what: file,
        package: Some(what.package().into()),
    }
}

fn version(qemu: &Path, what: Emulated) -> Result<String, Error> {
    let output = Command::new(qemu)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(cannot("run", qemu))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let number = text
        .strip_prefix(what.version_prefix())
        .and_then(|t| t.split_whitespace().next());
    number.map(str::to_owned).ok_or_else(|| Error::NoPlugins {
        path: qemu.to_owned(),
        why: "it does not say its version as QEMU does".into(),
    })
}

fn plugin(interface: u32) -> Result<PathBuf, Error> {
    installed(
        "QEMU plugin",
        &format!("librelayout_qemu_api{interface}.so"),
    )
}

/// Starts QEMU with the plugin, which says that it was loaded and ends QEMU.
fn probe(qemu: &Path, plugin: &Path, what: Emulated) -> Result<Result<(), String>, Error> {
    let output = Command::new(qemu)
        .args(what.idle())
        .arg(format!("{},probe=1", comma_doubled(plugin)))
        // A program wants one to run; it does not come to that.
        .args((what == Emulated::Program).then_some("/proc/self/exe"))
        .stdin(Stdio::null())
        .output()
        .map_err(cannot("run", qemu))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("relayout plugin: loaded") {
        return Ok(Ok(()));
    }
    Ok(Err(said
        .trim()
        .lines()
        .last()
        .unwrap_or("it says nothing")
        .to_owned()))
}

/// A path as it stands in QEMU's options.
pub fn comma_doubled(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}
