//! Jobs of a suite: one recording each.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use relayout_files::fnv1a;

/// Name of the stock kernel in jobs.
const STOCK: &str = "stock";
/// Words of `record kernel` and `record run`.
const RECORDER_WORDS: usize = 2;

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
        names: &JobNames,
        options: &RecordingOptions<'_>,
    ) -> Self {
        let name = kernel.map_or(STOCK.to_owned(), |kernel| names.file_name(kernel));
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
        names: &JobNames,
        options: &RecordingOptions<'_>,
    ) -> Self {
        let mut words = words(&["record", "run"]);
        push_options(&mut words, options);
        Self {
            id: format!("program/{}/seed-{}", names.file_name(name), options.seed),
            words,
            command: command.to_vec(),
            directory: Some(directory.to_owned()),
        }
    }

    /// Returns the words behind `relayout` that record into `profile`.
    pub fn recording_words(&self, profile: &Path) -> Vec<String> {
        let (recorder, options) = self.words.split_at(RECORDER_WORDS.min(self.words.len()));
        let mut words = recorder.to_vec();
        words.extend(["--force".to_owned(), "-o".to_owned()]);
        words.push(profile.display().to_string());
        // Options of a kernel may end with `--` and arguments of QEMU.
        words.extend(options.iter().cloned());
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

/// Names of files for the names of kernels, or of programs. Different names have different files.
#[derive(Debug, Default)]
pub(super) struct JobNames {
    by_name: BTreeMap<String, String>,
}

impl JobNames {
    /// Gives each of the kernels a name: the last part of its path.
    pub(super) fn of_kernels<'n>(kernels: impl Iterator<Item = &'n str>) -> Self {
        Self::distinct(kernels, |kernel| {
            let path = Path::new(kernel);
            let last = path.file_name().unwrap_or(path.as_os_str());
            file_name(&last.to_string_lossy())
        })
    }

    /// Gives each of the programs a name.
    pub(super) fn of_programs<'n>(programs: impl Iterator<Item = &'n str>) -> Self {
        Self::distinct(programs, file_name)
    }

    /// Names that would share a file get a number, but for the one that is the name of the file. So
    /// a name without others like it stays as it is.
    fn distinct<'n>(
        names: impl Iterator<Item = &'n str>,
        short_name: impl Fn(&str) -> String,
    ) -> Self {
        let mut by_file: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for name in names {
            by_file.entry(short_name(name)).or_default().insert(name);
        }
        let mut by_name = BTreeMap::new();
        for (file, names) in by_file {
            let is_shared = names.len() > 1;
            for name in names {
                let numbered = match is_shared && name != file {
                    true => format!("{file}-{:08x}", fnv1a(name.as_bytes()) as u32),
                    false => file.clone(),
                };
                by_name.insert(name.to_owned(), numbered);
            }
        }
        Self { by_name }
    }

    fn file_name(&self, name: &str) -> String {
        let known = self.by_name.get(name);
        known.map_or_else(|| file_name(name), String::clone)
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
    fn different_names_have_different_files() {
        let names = JobNames::of_programs(["a/b", "a_b", "a b", "c d", ".e"].into_iter());
        let files = ["a/b", "a_b", "a b", "c d", ".e"].map(|name| names.file_name(name));
        assert_eq!(files.iter().collect::<BTreeSet<_>>().len(), files.len());
        assert_eq!([&*files[1], &*files[3], &*files[4]], ["a_b", "c_d", "e"]);
        let kernels = ["x/linux", "y/linux", "6.1"];
        let names = JobNames::of_kernels(kernels.into_iter());
        let files = kernels.map(|name| names.file_name(name));
        assert!(
            files[0].starts_with("linux-") && files[0] != files[1],
            "{files:?}"
        );
        assert_eq!(files[2], "6.1");
    }

    #[test]
    fn recordings_of_programs_end_with_the_command() {
        let command = words(&["./server", "-n", "3"]);
        let options = RecordingOptions {
            seed: 5,
            limit_s: Some(2),
            more: &words(&["--values"]),
        };
        let job = SuiteJob::of_program(
            "s",
            &command,
            Path::new("d"),
            &JobNames::default(),
            &options,
        );
        let expect = "record run --force -o p --seed 5 --time-limit 2 --values -- ./server -n 3";
        assert_eq!(job.recording_words(Path::new("p")).join(" "), expect);
    }
}
