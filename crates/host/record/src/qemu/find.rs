//! Search of a QEMU, and of the plugin that it takes.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use relayout_files::{
    CacheFolder, DISTRIBUTION, cannot, find_in_path, find_installed_library, setup_command,
    system_package,
};

use super::option::path_option;
use crate::{Error, GuestMachine};

/// Plugin interfaces that there is a plugin for, best first.
const INTERFACES: [u32; 2] = [4, 1];

/// Forbids QEMU to start programs, to change its user, and to change priorities.
const SANDBOX: [&str; 2] = [
    "-sandbox",
    "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
];

/// Kind of QEMU.
struct QemuMode {
    /// Name of the program.
    program_name: &'static str,
    /// Variable that names another program.
    env_variable: &'static str,
    /// Beginning of the version text.
    version_prefix: &'static str,
    /// Arguments with which it does nothing.
    idle_arguments: &'static [&'static str],
    /// True if it takes [`SANDBOX`], unless it was built without.
    may_have_sandbox: bool,
    /// Program to run in a trial, which does not come to that.
    trial_program: Option<&'static str>,
    /// Returns the program that setup unpacked.
    cached: fn(&CacheFolder) -> Option<PathBuf>,
    /// Returns the remedy for a missing program, given its package.
    remedy: fn(&str) -> String,
}

/// Arguments with which a machine does nothing.
const IDLE_MACHINE: [&str; 8] = [
    "-M",
    "none",
    "-accel",
    "tcg",
    "-nodefaults",
    "-display",
    "none",
    "-S",
];

/// A machine, for an arm64 kernel.
const AARCH64_MACHINE: QemuMode = QemuMode {
    program_name: "qemu-system-aarch64",
    env_variable: "RELAYOUT_QEMU_AARCH64",
    cached: CacheFolder::qemu_system_aarch64,
    remedy: |package| format!("package {package}, or {} --arm64", setup_command()),
    ..X86_MACHINE
};

/// A machine, for an x86-64 kernel.
const X86_MACHINE: QemuMode = QemuMode {
    program_name: "qemu-system-x86_64",
    env_variable: "RELAYOUT_QEMU",
    version_prefix: "QEMU emulator version ",
    idle_arguments: &IDLE_MACHINE,
    may_have_sandbox: true,
    trial_program: None,
    cached: CacheFolder::qemu_system,
    remedy: |package| format!("package {package}, or {}", setup_command()),
};

/// A single program.
const PROGRAM: QemuMode = QemuMode {
    program_name: "qemu-x86_64",
    env_variable: "RELAYOUT_QEMU_USER",
    version_prefix: "qemu-x86_64 version ",
    idle_arguments: &[],
    may_have_sandbox: false,
    trial_program: Some("/proc/self/exe"),
    cached: CacheFolder::qemu_user,
    remedy: |package| {
        format!(
            "{}, or {DISTRIBUTION} 12's package {package}: later ones are linked statically and take no plugins",
            setup_command()
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
    /// True if this QEMU can confine itself by system call filters (seccomp).
    pub has_sandbox: bool,
}

impl QemuCollector {
    /// Returns true if the plugin sees stored values, and so silent stores.
    pub fn sees_values(&self) -> bool {
        self.interface >= 4
    }

    /// Arguments that confine QEMU, which needs no other program and no other user. The guest is
    /// code that may be faulty, and so may QEMU's devices be.
    pub(crate) fn sandbox_arguments(&self) -> &'static [&'static str] {
        match self.has_sandbox {
            true => &SANDBOX,
            false => &[],
        }
    }

    /// Value of `-plugin` with these options of the plugin.
    pub(crate) fn plugin_argument(&self, options: &OsStr) -> OsString {
        // The key is written, because QEMU takes the part before a `=` in the path for a key.
        let mut argument = path_option("file=", &self.plugin);
        argument.push(",");
        argument.push(options);
        argument
    }

    /// `QEMU 10.0.2, plugin interface 4`
    pub fn describe(&self) -> String {
        format!("QEMU {}, plugin interface {}", self.version, self.interface)
    }
}

/// The QEMU of a machine at `requested`, else at `$RELAYOUT_QEMU` (`$RELAYOUT_QEMU_AARCH64`), else
/// in the cache, else in `$PATH`; tried out with the plugins that were built.
///
/// # Errors
/// No QEMU is there, the given one takes none of the plugins, or the plugins are not built.
pub fn find_collector(
    machine: GuestMachine,
    requested: Option<&Path>,
    cache: Option<&CacheFolder>,
) -> Result<QemuCollector, Error> {
    let mode = match machine {
        GuestMachine::X86 => &X86_MACHINE,
        GuestMachine::Aarch64 => &AARCH64_MACHINE,
    };
    find_qemu(mode, requested, cache)
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
        None => match cached_qemu(cache, mode)? {
            Some(path) => path,
            None => find_in_path(mode.program_name)
                .ok_or_else(|| missing_qemu(mode.program_name.into(), mode))?,
        },
    };
    let version = read_version(&qemu, mode)?;
    let mut plugin_error = String::from("its output says nothing");
    let mut has_sandbox = mode.may_have_sandbox;
    for interface in INTERFACES {
        let mut collector = QemuCollector {
            qemu: qemu.clone(),
            version: version.clone(),
            interface,
            plugin: plugin_path(interface)?,
            has_sandbox,
        };
        let mut tried = try_plugin(&collector, mode)?;
        // A QEMU that was built without.
        if has_sandbox && tried.as_ref().is_err_and(|text| text.contains("sandbox")) {
            has_sandbox = false;
            collector.has_sandbox = false;
            tried = try_plugin(&collector, mode)?;
        }
        match tried {
            Ok(()) => return Ok(collector),
            Err(text) => plugin_error = text,
        }
    }
    Err(Error::NoPlugins {
        path: qemu,
        why: plugin_error,
    })
}

fn cached_qemu(cache: Option<&CacheFolder>, mode: &QemuMode) -> Result<Option<PathBuf>, Error> {
    let Some(cache) = cache else {
        return Ok(None);
    };
    let found = (mode.cached)(cache);
    if let Some(path) = &found {
        cache.require_private_program(path)?;
    }
    Ok(found)
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
fn try_plugin(collector: &QemuCollector, mode: &QemuMode) -> Result<Result<(), String>, Error> {
    let qemu = &collector.qemu;
    let output = Command::new(qemu)
        .args(mode.idle_arguments)
        .args(collector.sandbox_arguments())
        .arg("-plugin")
        .arg(collector.plugin_argument("probe=1".as_ref()))
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
