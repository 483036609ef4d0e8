//! Whether this machine's hardware can sample accesses to memory, and having perf do it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;

/// Where the kernel lists what can count and sample.
const DEVICES: &str = "/sys/bus/event_source/devices";

/// Hardware that samples accesses with their addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampler {
    /// Intel's loads by latency, and stores.
    Pebs,
    /// AMD's instruction-based sampling.
    Ibs,
    /// Arm's statistical profiling extension.
    Spe,
}

impl Sampler {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pebs => "Intel PEBS",
            Self::Ibs => "AMD IBS",
            Self::Spe => "Arm SPE",
        }
    }
}

/// The hardware of this machine that can sample accesses; `None` where there is none, as in most
/// virtual machines.
pub fn sampler() -> Option<Sampler> {
    sampler_in(Path::new(DEVICES))
}

fn sampler_in(devices: &Path) -> Option<Sampler> {
    let has = |path: &str| devices.join(path).exists();
    let names = fs::read_dir(devices).ok()?;
    let mut names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    if has("cpu/events/mem-loads") || has("cpu_core/events/mem-loads") {
        Some(Sampler::Pebs)
    } else if has("ibs_op") {
        Some(Sampler::Ibs)
    } else {
        names
            .any(|name| name.starts_with("arm_spe"))
            .then_some(Sampler::Spe)
    }
}

/// Runs a program under `perf mem record`, which writes to `file`; its streams are relayout's. For
/// SPE, makes samples of what perf recorded.
///
/// # Errors
/// There is no such hardware or no perf; the program cannot be started or perf may not sample (both
/// are said by perf itself, on standard error).
pub fn record_samples(program: &Path, arguments: &[OsString], file: &Path) -> Result<(), Error> {
    let sampler = sampler().ok_or_else(|| Error::Missing {
        what: "hardware that samples accesses to memory (Intel PEBS, AMD IBS, Arm SPE)".into(),
        package: Some("a virtual machine has it only where its host passes it on".into()),
    })?;
    let raw = match sampler {
        Sampler::Spe => with_suffix(file, ".spe"),
        _ => file.to_owned(),
    };
    let mut record = Command::new("perf");
    record
        .args(["mem", "record", "-o"])
        .arg(&raw)
        .arg("--")
        .arg(program)
        .args(arguments);
    let recorded = run(record);
    if sampler == Sampler::Spe && recorded.is_ok() {
        let mut inject = Command::new("perf");
        inject
            .args(["inject", "--itrace=M", "-i"])
            .arg(&raw)
            .arg("-o")
            .arg(file);
        let injected = run(inject);
        fs::remove_file(&raw).map_err(Error::io("remove", &raw))?;
        injected?;
    }
    // perf ends as the program did; what counts is that there is a file.
    match fs::metadata(file) {
        Ok(meta) if meta.len() > 0 => Ok(()),
        _ => recorded.and(Err(Error::Unrecordable {
            path: program.to_owned(),
            why: "perf wrote no samples; what it said is above".into(),
        })),
    }
}

fn run(mut command: Command) -> Result<(), Error> {
    let status = command.status().map_err(|_| Error::Missing {
        what: "perf".into(),
        package: Some("Debian: linux-perf".into()),
    })?;
    if status.success() {
        return Ok(());
    }
    Err(Error::ProgramFailed {
        program: "perf".into(),
        how: format!("ended with {status}; what it said is above"),
    })
}

fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(devices: &[&str], expect: Option<Sampler>) {
        let folder = tempfile::tempdir().unwrap();
        for device in devices {
            fs::create_dir_all(folder.path().join(device)).unwrap();
        }
        assert_eq!(sampler_in(folder.path()), expect, "{devices:?}");
    }

    #[test]
    fn machines() {
        check(
            &["breakpoint", "msr", "software", "tracepoint", "uprobe"],
            None,
        );
        check(&["cpu/events/mem-loads", "software"], Some(Sampler::Pebs));
        check(
            &["cpu_core/events/mem-loads", "cpu_atom/events/mem-loads"],
            Some(Sampler::Pebs),
        );
        // A PMU that counts and does not sample accesses.
        check(&["cpu/events/cycles"], None);
        check(
            &["cpu/events/cycles", "ibs_fetch", "ibs_op"],
            Some(Sampler::Ibs),
        );
        check(&["armv8_pmuv3_0", "arm_spe_0"], Some(Sampler::Spe));
        assert_eq!(sampler_in(Path::new("/no/such/folder")), None);
    }
}
