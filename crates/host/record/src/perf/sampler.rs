//! Hardware that samples accesses to memory, and perf as its driver.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use relayout_files::{DISTRIBUTION, cannot, find_in_path, system_package};

use crate::Error;

/// Folder in which the kernel lists devices that count and sample.
const DEVICES: &str = "/sys/bus/event_source/devices";

/// Hardware that samples accesses with their addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SamplingHardware {
    /// Intel's loads by latency, and stores.
    Pebs,
    /// AMD's instruction-based sampling.
    Ibs,
    /// Arm's statistical profiling extension.
    Spe,
}

impl SamplingHardware {
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
pub fn find_sampling_hardware() -> Option<SamplingHardware> {
    sampling_hardware_in(Path::new(DEVICES))
}

fn sampling_hardware_in(devices: &Path) -> Option<SamplingHardware> {
    let has_device = |path: &str| devices.join(path).exists();
    let mut names = fs::read_dir(devices)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    if has_device("cpu/events/mem-loads") || has_device("cpu_core/events/mem-loads") {
        Some(SamplingHardware::Pebs)
    } else if has_device("ibs_op") {
        Some(SamplingHardware::Ibs)
    } else {
        names
            .any(|name| name.starts_with("arm_spe"))
            .then_some(SamplingHardware::Spe)
    }
}

/// Returns perf, if it is installed.
pub fn find_perf() -> Option<PathBuf> {
    find_in_path("perf")
}

/// Perf, and hardware that it can have sample accesses.
#[derive(Clone, Debug)]
pub(crate) struct PerfSampler {
    perf: PathBuf,
    hardware: SamplingHardware,
}

impl PerfSampler {
    /// Finds the hardware and perf.
    ///
    /// # Errors
    /// The hardware or perf is missing.
    pub(crate) fn find() -> Result<Self, Error> {
        let hardware = find_sampling_hardware().ok_or_else(|| relayout_files::Error::Missing {
            missing: format!(
                "hardware that samples accesses to memory (Intel PEBS, AMD IBS or Arm SPE: mem-loads, ibs_op \
                 or arm_spe in {DEVICES})"
            ),
            remedy: Some(
                "virtual machines seldom have it; record by --with qemu, or on another machine, and import \
                 with 'relayout record perf'"
                    .into(),
            ),
        })?;
        let perf = find_perf().ok_or_else(|| relayout_files::Error::Missing {
            missing: "perf".into(),
            remedy: Some(format!("{DISTRIBUTION}: {}", system_package("perf"))),
        })?;
        Ok(Self { perf, hardware })
    }

    #[cfg(test)]
    pub(crate) fn new(perf: PathBuf, hardware: SamplingHardware) -> Self {
        Self { perf, hardware }
    }

    /// The hardware.
    pub(crate) fn hardware(&self) -> SamplingHardware {
        self.hardware
    }

    /// A program under `perf mem record`, which writes for [`Self::sample_file`] to `file`.
    pub(crate) fn command(&self, program: &Path, arguments: &[OsString], file: &Path) -> Command {
        let mut command = Command::new(&self.perf);
        command
            .args(["mem", "record", "-o"])
            .arg(file)
            .arg("--")
            .arg(program)
            .args(arguments);
        command
    }

    /// The file of samples that perf's recording in `file` comes to, once it has ended: of SPE they
    /// have to be made first.
    ///
    /// # Errors
    /// Perf cannot make them.
    pub(crate) fn sample_file(&self, file: &Path) -> Result<PathBuf, Error> {
        if self.hardware != SamplingHardware::Spe {
            return Ok(file.to_owned());
        }
        let samples = file.with_extension("samples");
        let status = Command::new(&self.perf)
            .args(["inject", "--itrace=M", "-i"])
            .arg(file)
            .arg("-o")
            .arg(&samples)
            .status()
            .map_err(cannot("run", &self.perf))?;
        match status.success() {
            true => Ok(samples),
            false => Err(Error::ProgramFailed {
                program: "perf inject".into(),
                how: format!("ended with {status}; what it said is above"),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(devices: &[&str], expect: Option<SamplingHardware>) {
        let folder = tempfile::tempdir().unwrap();
        for device in devices {
            fs::create_dir_all(folder.path().join(device)).unwrap();
        }
        assert_eq!(sampling_hardware_in(folder.path()), expect, "{devices:?}");
    }

    #[test]
    fn machines() {
        check(
            &["breakpoint", "msr", "software", "tracepoint", "uprobe"],
            None,
        );
        check(
            &["cpu/events/mem-loads", "software"],
            Some(SamplingHardware::Pebs),
        );
        check(
            &["cpu_core/events/mem-loads", "cpu_atom/events/mem-loads"],
            Some(SamplingHardware::Pebs),
        );
        // A PMU that counts and does not sample accesses.
        check(&["cpu/events/cycles"], None);
        check(
            &["cpu/events/cycles", "ibs_fetch", "ibs_op"],
            Some(SamplingHardware::Ibs),
        );
        check(&["armv8_pmuv3_0", "arm_spe_0"], Some(SamplingHardware::Spe));
        assert_eq!(sampling_hardware_in(Path::new("/no/such/folder")), None);
    }
}
