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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QemuMode {
    /// A machine, for a kernel.
    Machine,
    /// A single program.
    Program,
}

impl QemuMode {
    /// The program's name.
    fn program_name(self) -> &'static str {
        match self {
            Self::Machine => "qemu-system-x86_64",
            Self::Program => "qemu-x86_64",
        }
    }

    /// Names another one.
    fn env_variable(self) -> &'static str {
        match self {
            Self::Machine => "RELAYOUT_QEMU",
            Self::Program => "RELAYOUT_QEMU_USER",
        }
    }

    fn package_hint(self) -> String {
        let package = system_package(self.program_name());
        match self {
            Self::Machine => format!("package {package}, or scripts/setup.sh"),
            Self::Program => format!(
                "scripts/setup.sh, or {DISTRIBUTION} 12's package {package}: later ones are linked \
                 statically and take no plugins"
            ),
        }
    }

    /// Arguments with which it does nothing, up to the plugin.
    fn idle_arguments(self) -> &'static [&'static str] {
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

    /// Returns the beginning of its version text.
    fn version_prefix(self) -> &'static str {
        match self {
            Self::Machine => "QEMU emulator version ",
            Self::Program => "qemu-x86_64 version ",
        }
    }
}

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
    find_qemu(QemuMode::Machine, requested, cache)
}

/// Finds a QEMU for single programs at `$RELAYOUT_QEMU_USER`, in the cache, or in `$PATH`, and
/// tries it with the plugins.
///
/// # Errors
/// Those of [`find_collector`].
pub fn find_program_collector(cache: Option<&CacheFolder>) -> Result<QemuCollector, Error> {
    find_qemu(QemuMode::Program, None, cache)
}

fn find_qemu(
    mode: QemuMode,
    requested: Option<&Path>,
    cache: Option<&CacheFolder>,
) -> Result<QemuCollector, Error> {
    let requested = requested.map(Path::to_owned);
    let qemu = match requested.or_else(|| env::var_os(mode.env_variable()).map(Into::into)) {
        Some(path) => existing_program(path, mode)?,
        None => cache
            .and_then(|cache| match mode {
                QemuMode::Machine => cache.qemu_system(),
                QemuMode::Program => cache.qemu_user(),
            })
            .or_else(|| find_in_path(mode.program_name()))
            .ok_or_else(|| missing_qemu(mode.program_name().into(), mode))?,
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

fn existing_program(path: PathBuf, mode: QemuMode) -> Result<PathBuf, Error> {
    if path.components().count() == 1 && !path.exists() {
        return find_in_path(&path).ok_or_else(|| missing_qemu(path.display().to_string(), mode));
    }
    if path.is_file() {
        Ok(path)
    } else {
        Err(missing_qemu(path.display().to_string(), mode))
    }
}

fn missing_qemu(file: String, mode: QemuMode) -> Error {
    relayout_files::Error::Missing {
        missing: file,
        remedy: Some(mode.package_hint()),
    }
    .into()
}

fn read_version(qemu: &Path, mode: QemuMode) -> Result<String, Error> {
    let output = Command::new(qemu)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(cannot("run", qemu))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.strip_prefix(mode.version_prefix())
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
fn try_plugin(qemu: &Path, plugin: &Path, mode: QemuMode) -> Result<Result<(), String>, Error> {
    let output = Command::new(qemu)
        .args(mode.idle_arguments())
        .arg(format!("{},probe=1", comma_doubled(plugin)))
        // A program wants one to run; it does not come to that.
        .args((mode == QemuMode::Program).then_some("/proc/self/exe"))
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
