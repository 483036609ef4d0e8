//! The machine file: what `relayout probe` measured, for the commands that weigh findings with it.

use std::io::Read;
use std::path::{Path, PathBuf};

use relayout_files::{CacheFolder, cannot, open_regular, write_atomically};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::contention::ContentionTests;
use crate::error::MachineFileProblem;
use crate::estimate::ProbeEstimate;
use crate::schema::{FILE_BYTES_MAX, SCHEMA, SCHEMA_PREFIX};
use crate::topology::{CoreCounts, CpuRelation, MachineIdentity};

/// Measurements of one machine. A value that could not be measured is null; `unknown` has the
/// reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineFile {
    /// [`SCHEMA`].
    pub schema: String,
    /// The machine.
    pub machine: MachineIdentity,
    /// Cores of the machine; null in files of earlier versions.
    #[serde(default)]
    pub cores: Option<CoreCounts>,
    /// Bytes of a cache line, as the machine reports them.
    pub line_bytes: u32,
    /// Cost of an access to the other line of a pair, as a fraction of the cost of an access to the
    /// same line. It is 0 where lines of a pair do not disturb each other measurably. The largest
    /// of `pairs`.
    pub pair_coefficient: ProbeEstimate,
    /// The pair coefficient of each way of using the two lines.
    pub pairs: Vec<PairTest>,
    /// Costs of moving a line from one CPU to another.
    pub transfers: Vec<TransferCost>,
    /// Costs of accesses in loops of nothing else, alone and while another CPU takes the line away:
    /// each kind of access against each other kind. Empty in files of earlier versions.
    #[serde(default)]
    pub accesses: Vec<AccessCost>,
    /// Costs of visiting a line that another CPU has taken meanwhile. Empty in files of earlier versions.
    #[serde(default)]
    pub visits: Vec<VisitCost>,
    /// A store that changes nothing, of a word that another CPU reads all the time: its owner's
    /// time with the store over its time with a check before it.
    pub silent_store_ratio: Option<f64>,
    /// Handing a word that lies across two lines to another CPU, over handing one within a line.
    pub split_ratio: Option<f64>,
    /// Load, add and store of a word across two lines that no other CPU uses, over one within a
    /// line.
    pub split_local_ratio: Option<f64>,
    /// An atomic addition to a word across two lines that no other CPU uses, over one within a
    /// line.
    pub split_atomic_ratio: Option<f64>,
    /// 95 % intervals of the four ratios, where they were measured.
    pub intervals: RatioIntervals,
    /// A line that several CPUs want at once: what `relayout probe --contend` measures. Null in other files.
    #[serde(default)]
    pub contention: Option<ContentionTests>,
    /// Relative spread of windows that measure the same loop: 1.4826 times the median absolute
    /// deviation, over the median; of all loops the median. Null without windows.
    pub noise: Option<f64>,
    /// The windows in which it was measured.
    pub windows: WindowSummary,
    /// Values that could not be measured.
    pub unknown: Vec<UnknownValue>,
}

/// One way of using two lines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairTest {
    /// `two-writers` or `beside-shared`.
    pub pattern: String,
    /// The coefficient; 0 where it is not measurably above 0.
    #[serde(flatten)]
    pub coefficient: ProbeEstimate,
}

/// Moving a line between two CPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TransferCost {
    /// Number of the one CPU.
    pub cpu_a: u32,
    /// Number of the other.
    pub cpu_b: u32,
    /// Distance of the two CPUs.
    pub relation: CpuRelation,
    /// Half of a round trip, in nanoseconds.
    pub ns: Option<f64>,
    /// Its 95 % interval.
    pub ns_low: Option<f64>,
    /// Its 95 % interval.
    pub ns_high: Option<f64>,
}

/// Cost of one access in a loop of nothing else, in which the processor overlaps as many accesses
/// as it can.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AccessCost {
    /// `load`, `store`, `update` (two stores to the line and a load of it) or `exchange` (a locked
    /// addition).
    pub kind: String,
    /// Kind of access that the other CPU does to another word of the line all the time. Empty in
    /// files of earlier versions.
    #[serde(default)]
    pub against: String,
    /// Cost on a line that no other CPU uses, in nanoseconds.
    pub alone_ns: ProbeEstimate,
    /// Cost on a line that another CPU takes away all the time, in nanoseconds.
    pub contended_ns: ProbeEstimate,
}

/// Cost of a visit to a line that another CPU visits as often: the time of a loop of work and visits, less that of the
/// same loop on a line of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VisitCost {
    /// `load` (whose value is needed at once), `exchange` (a locked addition), `upgrade` (an exchange where the other CPU
    /// only loads), `load-exchange` (a load, `instructions`, and an exchange), or `load-then-exchange` (which cannot begin
    /// before the value of the load is there).
    pub kind: String,
    /// Instructions between the load and the exchange that do not need the loaded value.
    pub instructions: Option<u32>,
    /// The cost in nanoseconds.
    pub ns: ProbeEstimate,
}

/// 95 % intervals of the ratios.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RatioIntervals {
    /// Interval of `silent_store_ratio`.
    pub silent_store_ratio: Option<RatioInterval>,
    /// Interval of `split_ratio`.
    pub split_ratio: Option<RatioInterval>,
    /// Interval of `split_local_ratio`.
    pub split_local_ratio: Option<RatioInterval>,
    /// Interval of `split_atomic_ratio`.
    pub split_atomic_ratio: Option<RatioInterval>,
}

/// Interval from `low` to `high`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RatioInterval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Counts and conditions of the windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WindowSummary {
    /// Windows of measurement.
    pub taken: u64,
    /// Windows in which the machine ran all threads all the time.
    pub kept: u64,
    /// Length of one, in milliseconds.
    pub window_ms: u32,
    /// True if the threads had real-time priority (SCHED_FIFO).
    pub fifo: bool,
    /// Percent of the CPUs' time that the hypervisor took meanwhile; null where it does not report
    /// them.
    pub steal_percent: Option<f64>,
}

/// A value that could not be measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnknownValue {
    /// Key of the value that is null.
    pub what: String,
    /// Why it is.
    pub why: String,
}

/// Reads a file of a machine; of one that is too long, a byte more than is allowed.
pub(crate) fn read_bounded(path: &Path) -> Result<Vec<u8>, Error> {
    let file = open_regular(path).map_err(cannot("read", path))?;
    let mut text = Vec::new();
    file.take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut text)
        .map_err(cannot("read", path))?;
    Ok(text)
}

impl MachineFile {
    /// Default path of the machine file: `machine.json` in the [`CacheFolder`].
    pub fn default_path() -> Option<PathBuf> {
        Some(CacheFolder::locate()?.dir().join("machine.json"))
    }

    /// The file at `path`.
    ///
    /// # Errors
    /// The file cannot be read, is no machine file, or has impossible numbers.
    pub fn read(path: &Path) -> Result<Self, Error> {
        Self::parse(&read_bounded(path)?).map_err(|problem| Error::MachineFile {
            path: path.to_owned(),
            problem,
        })
    }

    /// The file whose text this is.
    ///
    /// # Errors
    /// The content cannot be used; [`MachineFileProblem`] has the reason.
    pub fn parse(text: &[u8]) -> Result<Self, MachineFileProblem> {
        #[derive(Deserialize)]
        struct SchemaHead {
            schema: String,
        }
        if text.len() as u64 > FILE_BYTES_MAX {
            return Err(MachineFileProblem::TooLong);
        }
        let invalid_json = |e: serde_json::Error| MachineFileProblem::Json(e.to_string());
        let head: SchemaHead = serde_json::from_slice(text).map_err(invalid_json)?;
        match head.schema.strip_prefix(SCHEMA_PREFIX) {
            _ if head.schema == SCHEMA => {}
            Some(version) if version.parse::<u32>().is_ok_and(|n| n > 1) => {
                return Err(MachineFileProblem::NewerVersion(head.schema));
            }
            _ => return Err(MachineFileProblem::OtherSchema(head.schema)),
        }
        let file: Self = serde_json::from_slice(text).map_err(invalid_json)?;
        file.validate()?;
        Ok(file)
    }

    /// Its text, ending in a newline.
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("all keys are strings") + "\n"
    }

    /// Writes the file. An older file at `path` stays until the new one is complete.
    ///
    /// # Errors
    /// The folder cannot be made or written to.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        Ok(write_atomically(path, self.to_json().as_bytes())?)
    }

    fn validate(&self) -> Result<(), MachineFileProblem> {
        if !self.line_bytes.is_power_of_two() || !(16..=4096).contains(&self.line_bytes) {
            return Err(MachineFileProblem::InvalidNumber {
                key: "line_bytes",
                found: self.line_bytes.to_string(),
                allowed: "a power of two from 16 to 4096 is expected",
            });
        }
        let require_cost = |key, value: Option<f64>, min: f64| match value {
            Some(found) if !(found.is_finite() && found >= min) => {
                Err(MachineFileProblem::InvalidNumber {
                    key,
                    found: found.to_string(),
                    allowed: "a cost is finite and not negative",
                })
            }
            _ => Ok(()),
        };
        require_cost("pair_coefficient.value", self.pair_coefficient.value, 0.0)?;
        for (key, value) in [
            ("silent_store_ratio", self.silent_store_ratio),
            ("split_ratio", self.split_ratio),
            ("split_local_ratio", self.split_local_ratio),
            ("split_atomic_ratio", self.split_atomic_ratio),
            ("noise", self.noise),
        ] {
            require_cost(key, value, 0.0)?;
        }
        for transfer in &self.transfers {
            require_cost("transfers[].ns", transfer.ns, 0.0)?;
        }
        for access in &self.accesses {
            require_cost("accesses[].alone_ns.value", access.alone_ns.value, 0.0)?;
            require_cost(
                "accesses[].contended_ns.value",
                access.contended_ns.value,
                0.0,
            )?;
        }
        for visit in &self.visits {
            require_cost("visits[].ns.value", visit.ns.value, 0.0)?;
        }
        Ok(())
    }
}

/// The machine file of this machine, if it was probed: that at [`MachineFile::default_path`]. One
/// of a machine with another CPU (a home folder that several share) is as good as none.
///
/// # Errors
/// The file exists and cannot be read.
pub fn load_machine_file() -> Result<Option<MachineFile>, Error> {
    let Some(path) = MachineFile::default_path().filter(|path| path.exists()) else {
        return Ok(None);
    };
    let file = MachineFile::read(&path)?;
    Ok(Some(file).filter(|file| file.machine == super::topology::identify_machine()))
}

#[cfg(test)]
pub(crate) mod tests;
