//! Reads the result of a kit, and judges it.

use std::collections::BTreeMap;
use std::path::Path;

use relayout_files::{cannot, fnv1a, read_regular};
use relayout_messages::UserError;
use relayout_verify::extract::{ExtractError, StartOutput, extract_values};
use relayout_verify::judge::JudgingRules;
use relayout_verify::kit_result::{KitResult, KitStart};
use relayout_verify::metric::Metric;
use relayout_verify::plan::ExperimentSide;
use relayout_verify::runs::{
    ExperimentEnding, ExperimentRuns, ExperimentSetup, ProgramStart, SCHEMA, StartFate,
};
use serde::{Deserialize, Serialize};

use super::manifest::{FORMAT, KitManifest};
use crate::verify::{JudgedRuns, judge};

/// CPUs of a machine that are believed.
const CPUS_MAX: u32 = 65536;

/// Result of a kit, judged.
#[derive(Debug)]
pub struct ImportedResult {
    /// What the kit is about.
    pub manifest: KitManifest,
    /// Number that tells results apart: the same for the same text.
    pub id: String,
    /// Machine that measured.
    pub machine: KitMachine,
    /// Starts.
    pub runs: ExperimentRuns,
    /// Verdicts.
    pub judged: JudgedRuns,
    /// Events that perf counted, once for each build.
    pub events: Vec<EventCounts>,
    /// Sentences for the user.
    pub notes: Vec<String>,
}

/// Machine that measured, as its own files describe it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KitMachine {
    /// Name of the processor; empty where the system does not tell.
    pub cpu: String,
    /// CPUs of the machine.
    pub cpus: u32,
    /// True for a virtual machine.
    pub is_virtual: bool,
    /// Name and version of its kernel.
    pub kernel: String,
    /// CPUs that the starts were kept on: `0-3`, `all`, or `no` if that failed.
    pub pinned: String,
}

/// Counts of an event in one start of each build.
#[derive(Clone, Debug, PartialEq)]
pub struct EventCounts {
    /// Name, as perf has it.
    pub name: String,
    /// Count without the change; `None` where it was not counted.
    pub before: Option<f64>,
    /// Count with it.
    pub after: Option<f64>,
}

/// Reads and judges a result.
///
/// # Errors
/// The file is no result, or a start failed or lacks a metric.
pub fn import_result(path: &Path, rules: &JudgingRules) -> Result<ImportedResult, UserError> {
    let bytes = read_regular(path).map_err(cannot("read", path))?;
    // A benchmark may write other bytes than text, which `verify` without a kit takes, too.
    let text = String::from_utf8_lossy(&bytes);
    let result = KitResult::parse(&text).map_err(|error| {
        let refused = in_line(path, error.line, &error.why);
        match error.remedy {
            Some(remedy) => refused.with_remedy(remedy),
            None => refused,
        }
    })?;
    let manifest = read_manifest(path, result.kit)?;
    let metrics = manifest.parsed_metrics()?;
    let machine = KitMachine::read(&result.facts);
    let starts = { result.starts.iter() }
        .map(|start| program_start(path, start, &metrics, &manifest))
        .collect::<Result<Vec<_>, _>>()?;
    if !starts.iter().any(|start| start.fate.counts()) {
        let message = format!("{}: it has no start that counts", path.display());
        return Err(UserError::input(message).with_remedy("run the kit again"));
    }
    let mut notes = Vec::new();
    // Of kernels there can always be another boot.
    let is_finished = result.is_finished || manifest.kernels.is_some();
    if !is_finished {
        notes.push(
            "the script did not come to its end; what it measured until then is judged".to_owned(),
        );
    }
    if machine.pinned == "no" {
        notes.push("the starts could not be kept on the CPUs that the kit asks for".to_owned());
    }
    let runs = ExperimentRuns {
        schema: SCHEMA.to_owned(),
        setup: setup(&manifest, &machine),
        metrics: metrics
            .into_iter()
            .map(|metric| metric.description)
            .collect(),
        ending: match is_finished {
            true => ExperimentEnding::Complete,
            false => ExperimentEnding::CutOff,
        },
        starts,
    };
    runs.validate()
        .map_err(UserError::wrap(path.display().to_string()))?;
    Ok(ImportedResult {
        id: format!("{:016x}", fnv1a(&bytes)),
        judged: judge(&runs, rules),
        events: event_counts(&result.events),
        manifest,
        machine,
        runs,
        notes,
    })
}

fn read_manifest(path: &Path, kit: &str) -> Result<KitManifest, UserError> {
    let manifest: Option<KitManifest> = serde_json::from_str(kit).ok();
    manifest.filter(|kit| kit.format == FORMAT).ok_or_else(|| {
        let why = "another version of relayout made the kit, or the line was changed";
        in_line(path, 2, why)
    })
}

/// Makes the error of a line that cannot be used.
fn in_line(path: &Path, line: usize, why: &str) -> UserError {
    UserError::input(format!("{}, line {line}: {why}", path.display()))
}

impl KitMachine {
    fn read(facts: &[(&str, &str)]) -> Self {
        let fact = |wanted: &str| {
            let found = facts.iter().find(|(name, _)| *name == wanted);
            found.map_or(String::new(), |(_, value)| value.trim().to_owned())
        };
        Self {
            cpu: fact("cpu"),
            cpus: fact("cpus").parse().unwrap_or(0),
            is_virtual: fact("virtual") == "yes",
            kernel: fact("kernel"),
            pinned: fact("pinned"),
        }
    }
}

fn setup(manifest: &KitManifest, machine: &KitMachine) -> ExperimentSetup {
    ExperimentSetup {
        tool_version: manifest.version.clone(),
        before: manifest.before.clone(),
        after: manifest.after.clone(),
        patch: None,
        seed: manifest.seed,
        pairs: manifest.pairs,
        early_stop: false,
        warmups: manifest.warmups,
        cpus: (0..machine.cpus.min(CPUS_MAX) as usize).collect(),
        fifo: false,
        lost_max: 1.0,
        disturbed_code: manifest.disturbed_code,
        are_boots: false,
    }
}

fn program_start(
    path: &Path,
    start: &KitStart<'_>,
    metrics: &[Metric],
    manifest: &KitManifest,
) -> Result<ProgramStart, UserError> {
    let code = manifest.disturbed_code;
    let said_disturbed = code.is_some_and(|code| i32::from(code) == start.exit_code);
    if start.exit_code != 0 && !said_disturbed {
        let why = format!(
            "this start of '{}' ended with exit code {}",
            start.side.as_str(),
            start.exit_code
        );
        return Err(in_line(path, start.line, &why));
    }
    let output = StartOutput {
        stdout: &start.stdout,
        stderr: &start.stderr,
        wall_s: start.wall_s / f64::from(manifest.runs_in_start()),
        cpu_s: start.cpu_s() / f64::from(manifest.runs_in_start()),
    };
    let values = metrics.iter().map(|metric| extract_values(metric, &output));
    let values = match said_disturbed {
        true => Ok(Vec::new()),
        false => values.collect::<Result<_, _>>(),
    };
    Ok(ProgramStart {
        side: start.side,
        pair: start.number,
        fate: match (start.is_warmup, said_disturbed) {
            (true, _) => StartFate::WarmUp,
            (false, true) => StartFate::SaidDisturbed,
            (false, false) => StartFate::Kept,
        },
        wall_s: output.wall_s,
        cpu_s: output.cpu_s,
        lost: None,
        values: values.map_err(UserError::wrap::<ExtractError>(format!(
            "{}, the start of '{}' at line {}",
            path.display(),
            start.side.as_str(),
            start.line
        )))?,
    })
}

/// Reads lines of `perf stat -x,`: the count, its unit and the event come first.
fn event_counts(lines: &[(ExperimentSide, &str)]) -> Vec<EventCounts> {
    let mut events: BTreeMap<&str, [Option<f64>; 2]> = BTreeMap::new();
    for (side, line) in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let [count, _, name, ..] = fields.as_slice() else {
            continue;
        };
        if let Ok(count) = count.parse() {
            events.entry(name).or_default()[*side as usize] = Some(count);
        }
    }
    let counts = events
        .into_iter()
        .map(|(name, [before, after])| EventCounts {
            name: name.to_owned(),
            before,
            after,
        });
    counts.collect()
}
