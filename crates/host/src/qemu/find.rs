//! Which QEMU, and which of the two plugins it takes.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::installed::installed;
use crate::{Cache, Error};

const PROGRAM: &str = "qemu-system-x86_64";
/// Plugin interfaces that there is a plugin for, best first.
const INTERFACES: [u32; 2] = [4, 1];

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
    let qemu = match given
        .map(Path::to_owned)
        .or_else(|| env::var_os("RELAYOUT_QEMU").map(Into::into))
    {
        Some(path) => existing(path)?,
        None => cache
            .and_then(Cache::qemu)
            .or_else(in_path)
            .ok_or_else(|| missing(PROGRAM.into()))?,
    };
    let version = version(&qemu)?;
    let mut said = String::from("its output says nothing");
    for interface in INTERFACES {
        let plugin = plugin(interface)?;
        match probe(&qemu, &plugin)? {
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

fn existing(path: PathBuf) -> Result<PathBuf, Error> {
    if path.components().count() == 1 && !path.exists() {
        return search(&path).ok_or_else(|| missing(path.display().to_string()));
    }
    if path.is_file() {
        Ok(path)
    } else {
        Err(missing(path.display().to_string()))
    }
}

fn in_path() -> Option<PathBuf> {
    search(Path::new(PROGRAM))
}

fn search(name: &Path) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .map(|dir| dir.join(name))
        .find(|path| path.is_file())
}

fn missing(what: String) -> Error {
    Error::Missing {
        what,
        package: Some("package qemu-system-x86, or scripts/setup.sh".into()),
    }
}

fn version(qemu: &Path) -> Result<String, Error> {
    let output = Command::new(qemu)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(Error::io("run", qemu))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let number = text
        .strip_prefix("QEMU emulator version ")
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
fn probe(qemu: &Path, plugin: &Path) -> Result<Result<(), String>, Error> {
    let output = Command::new(qemu)
        .args([
            "-M",
            "none",
            "-accel",
            "tcg",
            "-nodefaults",
            "-display",
            "none",
            "-S",
            "-plugin",
        ])
        .arg(format!("{},probe=1", plugin.display()))
        .stdin(Stdio::null())
        .output()
        .map_err(Error::io("run", qemu))?;
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
