//! Jobs of a suite: one recording each.

use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Name of the stock kernel in jobs.
const STOCK: &str = "stock";

/// One recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuiteJob {
    /// Name, which is the path of its files in the suite's folder: `kernel/6.12/mntns/4cpus/seed-3`.
    pub id: String,
    /// Words behind `relayout`, without the output: `record kernel --workload mntns ...`.
    pub words: Vec<String>,
    /// Program and its arguments, which are the last words.
    pub command: Vec<String>,
    /// Folder to run in; `None` for kernels.
    pub directory: Option<PathBuf>,
}

/// Options that kernels and programs have.
pub(super) struct RecordingOptions<'o> {
    pub(super) seed: u64,
    /// Seconds after which the recording fails.
    pub(super) limit_s: Option<u32>,
    /// More options, as the file has them.
    pub(super) more: &'o [String],
}

impl SuiteJob {
    pub(super) fn of_kernel(
        kernel: Option<&str>,
        workload: &str,
        cpus: u16,
        options: &RecordingOptions<'_>,
    ) -> Self {
        let name = kernel.map_or(STOCK.to_owned(), |kernel| {
            let path = Path::new(kernel);
            let last = path.file_name().unwrap_or(path.as_os_str());
            file_name(&last.to_string_lossy())
        });
        let mut words = words(&["record", "kernel", "--workload", workload]);
        words.extend(["--cpus".to_owned(), cpus.to_string()]);
        if let Some(kernel) = kernel {
            words.extend(["--kernel".to_owned(), kernel.to_owned()]);
        }
        push_options(&mut words, options);
        Self {
            id: format!(
                "kernel/{name}/{}/{cpus}cpus/seed-{}",
                file_name(workload),
                options.seed
            ),
            words,
            command: Vec::new(),
            directory: None,
        }
    }

    pub(super) fn of_program(
        name: &str,
        command: &[String],
        directory: &Path,
        options: &RecordingOptions<'_>,
    ) -> Self {
        let mut words = words(&["record", "run"]);
        push_options(&mut words, options);
        Self {
            id: format!("program/{}/seed-{}", file_name(name), options.seed),
            words,
            command: command.to_vec(),
            directory: Some(directory.to_owned()),
        }
    }

    /// Returns the words behind `relayout` that record into `profile`.
    pub fn recording_words(&self, profile: &Path) -> Vec<String> {
        let mut words = self.words.clone();
        words.extend(["--force".to_owned(), "-o".to_owned()]);
        words.push(profile.display().to_string());
        if !self.command.is_empty() {
            words.push("--".to_owned());
            words.extend(self.command.iter().cloned());
        }
        words
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

fn push_options(words: &mut Vec<String>, options: &RecordingOptions<'_>) {
    words.extend(["--seed".to_owned(), options.seed.to_string()]);
    if let Some(seconds) = options.limit_s {
        words.extend(["--time-limit".to_owned(), seconds.to_string()]);
    }
    words.extend(options.more.iter().cloned());
}

/// Returns a name of a file for a name of a kernel, workload or program.
fn file_name(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    let name: String = { name.chars() }
        .map(|c| if is_plain(c) { c } else { '_' })
        .collect();
    match name.trim_start_matches('.') {
        "" => "_".to_owned(),
        name => name.to_owned(),
    }
}

/// Part of the jobs: every N-th one, from the K-th.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobShard {
    number: usize,
    of: usize,
}

impl JobShard {
    /// True for jobs of the part, by their position from 0.
    pub fn has(self, position: usize) -> bool {
        position % self.of == self.number - 1
    }
}

impl FromStr for JobShard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/');
        let numbers = parts.and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            _ => Err("it is K/N with K from 1 to N: 2/8".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_part_the_jobs() {
        let shards: Vec<JobShard> = ["1/3", "2/3", "3/3"]
            .map(|text| text.parse().unwrap())
            .into();
        for position in 0..10 {
            let holders = shards.iter().filter(|shard| shard.has(position)).count();
            assert_eq!(holders, 1);
        }
        for wrong in ["", "0/3", "4/3", "1", "1/0", "-1/3", "a/b"] {
            assert!(wrong.parse::<JobShard>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_stay_in_the_folder() {
        for (name, expect) in [
            ("../x", "_x"),
            ("..", "_"),
            ("a b/c", "a_b_c"),
            ("6.1", "6.1"),
        ] {
            assert_eq!(file_name(name), expect);
        }
    }

    #[test]
    fn recordings_of_programs_end_with_the_command() {
        let command = words(&["./server", "-n", "3"]);
        let options = RecordingOptions {
            seed: 5,
            limit_s: Some(2),
            more: &words(&["--values"]),
        };
        let job = SuiteJob::of_program("s", &command, Path::new("d"), &options);
        let expect = "record run --seed 5 --time-limit 2 --values --force -o p -- ./server -n 3";
        assert_eq!(job.recording_words(Path::new("p")).join(" "), expect);
    }
}
