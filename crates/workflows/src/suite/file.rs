//! The file that describes a suite.
//!
//! ```toml
//! [[kernel]]
//! kernels = ["6.1", "6.12"]
//! workloads = ["mntns", "stat-one"]
//! cpus = [2, 4]
//! seeds = 8
//!
//! [[program]]
//! name = "server"
//! command = ["./server", "exchange", "2000000"]
//! seeds = [1, 2, 3]
//! ```

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use relayout_files::{cannot, read_regular_text};
use relayout_messages::{ProblemReason, UserError};
use serde::Deserialize;

use super::jobs::{JobNames, RecordingOptions, SuiteJob};

/// Jobs of a suite at most, so that a wrong number is an error.
const JOBS_MAX: usize = 100_000;
/// CPUs of a guest without `cpus`.
const CPUS: u16 = 4;
/// CPUs of a guest that can be asked for.
const CPUS_RANGE: std::ops::RangeInclusive<u16> = 1..=1024;

/// Tells what is wrong with the words of a recording behind `relayout`, if anything is.
pub type WordsVerifier = fn(&[String]) -> Result<(), String>;

/// A suite as its file describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteFile {
    /// Kernels under QEMU.
    #[serde(default)]
    kernel: Vec<KernelTable>,
    /// Programs.
    #[serde(default)]
    program: Vec<ProgramTable>,
}

/// Recordings of all kernels in all workloads with all numbers of CPUs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct KernelTable {
    /// Names and folders, as `relayout record kernel --kernel` takes them; empty for the stock
    /// kernel.
    #[serde(default)]
    kernels: Vec<String>,
    workloads: Vec<String>,
    #[serde(default)]
    cpus: Vec<u16>,
    #[serde(default)]
    seeds: Seeds,
    /// More options of `relayout record kernel`.
    #[serde(default)]
    options: Vec<String>,
    /// Seconds.
    time_limit: Option<u32>,
}

/// Recordings of one program.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ProgramTable {
    name: String,
    command: Vec<String>,
    /// Folder to run in, from that of the file.
    directory: Option<PathBuf>,
    #[serde(default)]
    seeds: Seeds,
    /// More options of `relayout record run`.
    #[serde(default)]
    options: Vec<String>,
    /// Seconds.
    time_limit: Option<u32>,
}

/// A number of seeds, from 1, or the seeds.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "a number of seeds, or a list of seeds")]
enum Seeds {
    Count(u32),
    List(Vec<u64>),
}

impl Default for Seeds {
    fn default() -> Self {
        Self::Count(1)
    }
}

impl SuiteFile {
    /// Reads the jobs that the file describes, in its order: kernels before workloads before CPUs
    /// before seeds.
    ///
    /// `verify_words` tells what is wrong with the words of a recording behind `relayout`.
    ///
    /// # Errors
    /// The file cannot be read, or describes no suite, or a recording has wrong options.
    pub fn read_jobs(path: &Path, verify_words: WordsVerifier) -> Result<Vec<SuiteJob>, UserError> {
        if !path.exists() {
            let message = format!("there is no {}", path.display());
            return Err(UserError::input(message)
                .with_remedy("`relayout suite --help` shows what it has to say"));
        }
        let text = read_regular_text(path).map_err(cannot("read", path))?;
        let invalid = |place: Option<(usize, usize)>, why: ProblemReason| {
            let place = place.map_or(String::new(), |(line, column)| format!(":{line}:{column}"));
            let problem = format!("{}{place}: {}", path.display(), why.problem);
            UserError::from(ProblemReason { problem, ..why })
        };
        let suite: Self = toml::from_str(&text).map_err(|error| {
            let place = error.span().map(|span| line_and_column(&text, span.start));
            invalid(place, error.message().replace('\n', ", ").into())
        })?;
        let folder = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        suite
            .jobs(folder.unwrap_or(Path::new(".")), verify_words)
            .map_err(|why| invalid(None, why))
    }

    fn jobs(&self, folder: &Path, verify: WordsVerifier) -> Result<Vec<SuiteJob>, ProblemReason> {
        let mut jobs = Vec::new();
        let kernels = { self.kernel.iter() }.flat_map(|table| &table.kernels);
        let names = JobNames::of_kernels(kernels.map(String::as_str));
        for table in &self.kernel {
            let first = jobs.len();
            table.add_jobs(&names, &mut jobs)?;
            verify_first(&jobs[first..], &table.options, verify)?;
        }
        let names = JobNames::of_programs(self.program.iter().map(|table| &*table.name));
        for table in &self.program {
            let first = jobs.len();
            table.add_jobs(folder, &names, &mut jobs)?;
            if table.options.iter().any(|option| option == "--") {
                let problem = format!("the options of the program '{}' have '--'", table.name);
                return Err(ProblemReason::new(problem).with_remedy("its words are in `command`"));
            }
            verify_first(&jobs[first..], &table.options, verify)?;
        }
        if jobs.is_empty() {
            return Err(ProblemReason::new("it describes no recording")
                .with_remedy("add a [[kernel]] or [[program]] table (docs/suite.md)"));
        }
        let mut known = BTreeSet::new();
        match jobs.iter().find(|job| !known.insert(&job.id)) {
            Some(twice) => Err(format!("it describes the job '{}' twice", twice.id).into()),
            None => Ok(jobs),
        }
    }
}

impl KernelTable {
    fn add_jobs(&self, names: &JobNames, jobs: &mut Vec<SuiteJob>) -> Result<(), ProblemReason> {
        let kernels: Vec<Option<&str>> = match self.kernels.as_slice() {
            [] => vec![None],
            kernels => kernels.iter().map(|kernel| Some(kernel.as_str())).collect(),
        };
        let cpus = match self.cpus.as_slice() {
            [] => &[CPUS],
            cpus => cpus,
        };
        if let Some(wrong) = cpus.iter().find(|cpus| !CPUS_RANGE.contains(cpus)) {
            return Err(format!("cpus = {wrong}: a guest has 1 to 1024 CPUs").into());
        }
        for workload in &self.workloads {
            relayout_record::find_workload(workload)
                .map_err(|error| ProblemReason::from_sentence(error.to_string(), error.remedy()))?;
        }
        let seeds = self.seeds.values()?;
        for &kernel in &kernels {
            for workload in &self.workloads {
                for &cpus in cpus {
                    for &seed in &seeds {
                        let options = RecordingOptions {
                            seed,
                            limit_s: self.time_limit,
                            more: &self.options,
                        };
                        push_job(
                            jobs,
                            SuiteJob::of_kernel(kernel, workload, cpus, names, &options),
                        )?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl ProgramTable {
    fn add_jobs(
        &self,
        folder: &Path,
        names: &JobNames,
        jobs: &mut Vec<SuiteJob>,
    ) -> Result<(), ProblemReason> {
        if self.command.first().is_none_or(String::is_empty) {
            let problem = format!("the command of the program '{}' is empty", self.name);
            return Err(ProblemReason::new(problem).with_remedy("it is a list of words"));
        }
        let directory = match &self.directory {
            Some(directory) => folder.join(directory),
            None => folder.to_owned(),
        };
        for seed in self.seeds.values()? {
            let options = RecordingOptions {
                seed,
                limit_s: self.time_limit,
                more: &self.options,
            };
            let job = SuiteJob::of_program(&self.name, &self.command, &directory, names, &options);
            push_job(jobs, job)?;
        }
        Ok(())
    }
}

impl Seeds {
    fn values(&self) -> Result<Vec<u64>, ProblemReason> {
        let seeds = match self {
            Self::Count(count) => (1..=u64::from(*count)).take(JOBS_MAX + 1).collect(),
            Self::List(seeds) => seeds.clone(),
        };
        match seeds.is_empty() {
            true => {
                Err(ProblemReason::new("seeds is empty").with_remedy("each recording needs a seed"))
            }
            false => Ok(seeds),
        }
    }
}

/// Verifies the words of a table's first job. The others differ from them in what was verified.
fn verify_first(
    jobs: &[SuiteJob],
    options: &[String],
    verify: WordsVerifier,
) -> Result<(), ProblemReason> {
    let Some(job) = jobs.first() else {
        return Ok(());
    };
    verify(&job.recording_words(Path::new("profile")))
        .map_err(|why| format!("options = {options:?}: {why}").into())
}

fn push_job(jobs: &mut Vec<SuiteJob>, job: SuiteJob) -> Result<(), ProblemReason> {
    if jobs.len() == JOBS_MAX {
        let problem = format!("it describes more than {JOBS_MAX} recordings");
        return Err(ProblemReason::new(problem).with_remedy("split it into several files"));
    }
    jobs.push(job);
    Ok(())
}

/// Returns the line and the column of a byte, from 1.
fn line_and_column(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    (
        before.matches('\n').count() + 1,
        before[line_start..].chars().count() + 1,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn jobs(text: &str) -> Result<Vec<String>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("suite.toml");
        std::fs::write(&path, text).unwrap();
        let verify = |words: &[String]| match words.contains(&"--wrong".to_owned()) {
            true => Err("no such option".to_owned()),
            false => Ok(()),
        };
        let jobs = SuiteFile::read_jobs(&path, verify).map_err(|error| {
            let shown = folder.path().display().to_string();
            error.to_string().replace(&format!("{shown}/"), "")
        })?;
        Ok(jobs.into_iter().map(|job| job.id).collect())
    }

    #[test]
    fn a_matrix_has_an_order() {
        let text = "[[kernel]]\nkernels = [\"6.1\", \"trees/linux-next/\"]\nworkloads = [\"mntns\"]\ncpus = [2, \
                    4]\nseeds = 2\n\n[[program]]\nname = \"server\"\ncommand = [\"./server\"]\nseeds = [7]\n";
        let expect = [
            "kernel/6.1/mntns/2cpus/seed-1",
            "kernel/6.1/mntns/2cpus/seed-2",
            "kernel/6.1/mntns/4cpus/seed-1",
            "kernel/6.1/mntns/4cpus/seed-2",
            "kernel/linux-next/mntns/2cpus/seed-1",
            "kernel/linux-next/mntns/2cpus/seed-2",
            "kernel/linux-next/mntns/4cpus/seed-1",
            "kernel/linux-next/mntns/4cpus/seed-2",
            "program/server/seed-7",
        ];
        assert_eq!(jobs(text).unwrap(), expect);
    }

    #[test]
    fn names_that_share_a_file_are_told_apart() {
        let program = |name: &str| format!("[[program]]\nname = \"{name}\"\ncommand = [\"a\"]\n");
        let found = jobs(&(program("a/b") + &program("a_b"))).unwrap();
        assert_eq!(found[1], "program/a_b/seed-1");
        assert!(found[0].starts_with("program/a_b-"), "{found:?}");
        let twice = jobs(&(program("a_b") + &program("a_b"))).unwrap_err();
        assert_eq!(
            twice,
            "suite.toml: it describes the job 'program/a_b/seed-1' twice"
        );
    }

    #[test]
    fn wrong_options_are_named() {
        let program = |options: &str| {
            let text = "[[program]]\nname = \"a\"\ncommand = [\"a\"]\n";
            jobs(&format!("{text}options = {options}\n"))
        };
        let kernel = |options: &str| {
            jobs(&format!(
                "[[kernel]]\nworkloads = [\"mntns\"]\noptions = {options}\n"
            ))
        };
        let expect = "suite.toml: options = [\"--wrong\"]: no such option";
        assert_eq!(kernel("[\"--wrong\"]").unwrap_err(), expect);
        assert!(kernel("[\"--\", \"-numa\", \"node\"]").is_ok());
        let error = program("[\"--\", \"./b\"]").unwrap_err();
        assert!(
            error.ends_with("have '--'; its words are in `command`"),
            "{error}"
        );
    }

    #[test]
    fn defects_are_named() {
        let kernel = |rest: &str| jobs(&format!("[[kernel]]\n{rest}")).unwrap_err();
        assert_eq!(
            kernel("worklods = []\n"),
            "suite.toml:2:1: unknown field `worklods`, expected one of `kernels`, `workloads`, `cpus`, `seeds`, \
             `options`, `time-limit`"
        );
        assert_eq!(
            kernel("workloads = [\"mntns\"]\nseeds = \"3\"\n"),
            "suite.toml:3:9: a number of seeds, or a list of seeds"
        );
        assert_eq!(
            kernel("workloads = [\"mntns\", \"mntns\"]\n"),
            "suite.toml: it describes the job 'kernel/stock/mntns/4cpus/seed-1' twice"
        );
        assert_eq!(
            kernel("workloads = [\"mntns\"]\nseeds = 4000000000\n"),
            "suite.toml: it describes more than 100000 recordings; split it into several files"
        );
        assert_eq!(
            kernel("workloads = [\"mntns\"]\ncpus = [0]\n"),
            "suite.toml: cpus = 0: a guest has 1 to 1024 CPUs"
        );
        let empty = "suite.toml: it describes no recording; add a [[kernel]] or [[program]] table (docs/suite.md)";
        assert_eq!(jobs("").unwrap_err(), empty);
        assert_eq!(kernel("workloads = []\n"), empty);
    }
}
