//! Search of a QEMU, and of the plugin that it takes.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use relayout_files::{
    CacheFolder, DISTRIBUTION, cannot, find_in_path, find_installed_library, system_package,
};

use crate::Error;

/// Plugin interfaces that there is a plugin for, best first.
const INTERFACES: [u32; 2] = [4, 1];

/// Kind of QEMU.
struct QemuMode {
    /// Name of the program.
    program_name: &'static str,
    /// Variable that names another program.
    env_variable: &'static str,
    /// Beginning of the version text.
    version_prefix: &'static str,
    /// Arguments with which it does nothing, up to the plugin.
    idle_arguments: &'static [&'static str],
    /// Program to run in a trial, which does not come to that.
    trial_program: Option<&'static str>,
    /// Returns the program that setup unpacked.
    cached: fn(&CacheFolder) -> Option<PathBuf>,
    /// Returns the remedy for a missing program, given its package.
    remedy: fn(&str) -> String,
}

/// A machine, for a kernel.
const MACHINE: QemuMode = QemuMode {
    program_name: "qemu-system-x86_64",
    env_variable: "RELAYOUT_QEMU",
    version_prefix: "QEMU emulator version ",
    idle_arguments: &[
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
    trial_program: None,
    cached: CacheFolder::qemu_system,
    remedy: |package| format!("package {package}, or scripts/setup.sh"),
};

/// A single program.
const PROGRAM: QemuMode = QemuMode {
    program_name: "qemu-x86_64",
    env_variable: "RELAYOUT_QEMU_USER",
    version_prefix: "qemu-x86_64 version ",
    idle_arguments: &["-plugin"],
    trial_program: Some("/proc/self/exe"),
    cached: CacheFolder::qemu_user,
    remedy: |package| {
        format!(
            "scripts/setup.sh, or {DISTRIBUTION} 12's package {package}: later ones are linked \
             statically and take no plugins"
        )
    },
};

/// A QEMU and the plugin for it.
#[derive(Clone, Debug)]
pub struct QemuCollector {
    /// The program (or a script that starts it).
    pub qemu: PathBuf,
    /// `QEMU emulator version 10.0.2 (...)`, shortened to the number.
    pub version: String,
    /// Plugin interface.
    pub interface: u32,
    /// The plugin.
    pub plugin: PathBuf,
}

impl QemuCollector {
    /// Returns true if the plugin sees stored values, and so silent stores.
    pub fn sees_values(&self) -> bool {
        self.interface >= 4
    }

    /// `QEMU 10.0.2, plugin interface 4`
    pub fn describe(&self) -> String {
        format!("QEMU {}, plugin interface {}", self.version, self.interface)
    }
}

/// The QEMU at `given`, else at `$RELAYOUT_QEMU`, else in the cache, else in `$PATH`; tried out
/// with the plugins that were built.
///
/// # Errors
/// No QEMU is there, the given one takes none of the plugins, or the plugins are not built.
pub fn find_collector(
    requested: Option<&Path>,
    cache: Option<&CacheFolder>,
) -> Result<QemuCollector, Error> {
    find_qemu(&MACHINE, requested, cache)
}

/// Finds a QEMU for single programs at `$RELAYOUT_QEMU_USER`, in the cache, or in `$PATH`, and
/// tries it with the plugins.
///
/// # Errors
/// Those of [`find_collector`].
pub fn find_program_collector(cache: Option<&CacheFolder>) -> Result<QemuCollector, Error> {
    find_qemu(&PROGRAM, None, cache)
}

fn find_qemu(
    mode: &QemuMode,
    requested: Option<&Path>,
    cache: Option<&CacheFolder>,
) -> Result<QemuCollector, Error> {
    let requested = requested.map(Path::to_owned);
    let qemu = match requested.or_else(|| env::var_os(mode.env_variable).map(Into::into)) {
        Some(path) => existing_program(path, mode)?,
        None => cache
            .and_then(mode.cached)
            .or_else(|| find_in_path(mode.program_name))
            .ok_or_else(|| missing_qemu(mode.program_name.into(), mode))?,
    };
    let version = read_version(&qemu, mode)?;
    let mut plugin_error = String::from("its output says nothing");
    for interface in INTERFACES {
        let plugin = plugin_path(interface)?;
        match try_plugin(&qemu, &plugin, mode)? {
            Ok(()) => {
                return Ok(QemuCollector {
                    qemu,
                    version,
                    interface,
                    plugin,
                });
            }
            Err(text) => plugin_error = text,
        }
    }
    Err(Error::NoPlugins {
        path: qemu,
        why: plugin_error,
    })
}

fn existing_program(path: PathBuf, mode: &QemuMode) -> Result<PathBuf, Error> {
    if path.components().count() == 1 && !path.exists() {
        return find_in_path(&path).ok_or_else(|| missing_qemu(path.display().to_string(), mode));
    }
    if path.is_file() {
        Ok(path)
    } else {
        Err(missing_qemu(path.display().to_string(), mode))
    }
}

fn missing_qemu(file: String, mode: &QemuMode) -> Error {
    relayout_files::Error::Missing {
        missing: file,
        remedy: Some((mode.remedy)(&system_package(mode.program_name))),
    }
    .into()
}

fn read_version(qemu: &Path, mode: &QemuMode) -> Result<String, Error> {
    let output = Command::new(qemu)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(cannot("run", qemu))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.strip_prefix(mode.version_prefix)
        .and_then(|t| t.split_whitespace().next())
        .map(str::to_owned)
        .ok_or_else(|| Error::NoPlugins {
            path: qemu.to_owned(),
            why: "it does not say its version as QEMU does".into(),
        })
}

fn plugin_path(interface: u32) -> Result<PathBuf, Error> {
    let name = format!("librelayout_qemu_api{interface}.so");
    Ok(find_installed_library("QEMU plugin", &name)?)
}

/// Starts QEMU with the plugin, which reports that it was loaded and ends QEMU.
fn try_plugin(qemu: &Path, plugin: &Path, mode: &QemuMode) -> Result<Result<(), String>, Error> {
    let output = Command::new(qemu)
        .args(mode.idle_arguments)
        .arg(format!("{},probe=1", comma_doubled(plugin)))
        .args(mode.trial_program)
        .stdin(Stdio::null())
        .output()
        .map_err(cannot("run", qemu))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    if stderr.contains("relayout plugin: loaded") {
        return Ok(Ok(()));
    }
    Ok(Err(stderr
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
