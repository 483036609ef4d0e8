//! Finished steps of a run, each with its result, in a file that only grows.
//!
//! A run asks for its steps in an order that depends on the results alone. So a run that was killed
//! starts from the beginning, takes the results of finished steps from the journal, and goes on with
//! the first step that is not in it.
//!
//! ```text
//! {"step":"base-0/record","seconds":3.1,"result":[...]}
//! {"step":"change-1/build","seconds":0.8,"result":{"Ok":null}}
//! ```

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use relayout_files::cannot;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use relayout_messages::UserError;

/// Remedy for a journal that cannot be used.
const RESTART: &str = "begin again with --restart";

/// Finished steps of a run.
#[derive(Debug)]
pub(super) struct StepJournal {
    path: PathBuf,
    file: File,
    steps: BTreeMap<String, FinishedStep>,
    /// Seconds that the steps took which this process asked for.
    asked_seconds: f64,
}

#[derive(Debug, Serialize, Deserialize)]
struct FinishedStep {
    step: String,
    /// Time that the step took.
    seconds: f64,
    result: serde_json::Value,
}

impl StepJournal {
    /// Opens the journal at `path`, or begins it. A last line that was not written to its end is
    /// removed.
    ///
    /// # Errors
    /// The file cannot be read or written, or a line is no step.
    pub(super) fn open(path: &Path) -> Result<Self, UserError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path).map_err(cannot("open", path))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(cannot("read", path))?;
        let complete_bytes = { bytes.iter() }
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |end| end + 1);
        file.set_len(complete_bytes as u64)
            .and_then(|()| file.seek(SeekFrom::End(0)))
            .map_err(cannot("write", path))?;
        let mut steps = BTreeMap::new();
        let lines = bytes[..complete_bytes].split(|&byte| byte == b'\n');
        for (index, line) in lines.enumerate().filter(|(_, line)| !line.is_empty()) {
            let step: FinishedStep =
                serde_json::from_slice(line).map_err(|cause: serde_json::Error| {
                    let place = format!("{}, line {}", path.display(), index + 1);
                    UserError::input(format!("{place}, is no step of a run"))
                        .with_remedy(RESTART)
                        .caused_by(cause)
                })?;
            steps.insert(step.step.clone(), step);
        }
        Ok(Self {
            path: path.to_owned(),
            file,
            steps,
            asked_seconds: 0.0,
        })
    }

    /// Returns the result of the step `name` from the journal, or else runs it and adds its result.
    ///
    /// # Errors
    /// The step fails, which leaves no trace in the journal, or its result cannot be written or is
    /// not of this type.
    pub(super) fn run_step<T: Serialize + DeserializeOwned>(
        &mut self,
        name: &str,
        run: impl FnOnce() -> Result<T, UserError>,
    ) -> Result<T, UserError> {
        if let Some(finished) = self.steps.get(name) {
            self.asked_seconds += finished.seconds;
            return T::deserialize(&finished.result).map_err(|cause| {
                UserError::input(format!(
                    "{} has a result of another version of relayout for the step {name}",
                    self.path.display()
                ))
                .with_remedy(RESTART)
                .caused_by(cause)
            });
        }
        let begun = Instant::now();
        let result = run()?;
        let step = FinishedStep {
            step: name.to_owned(),
            seconds: begun.elapsed().as_secs_f64(),
            result: serde_json::to_value(&result)?,
        };
        self.append(step)?;
        Ok(result)
    }

    fn append(&mut self, step: FinishedStep) -> Result<(), UserError> {
        let line = serde_json::to_string(&step)? + "\n";
        let written = { self.file.write_all(line.as_bytes()) }.and_then(|()| self.file.sync_data());
        written.map_err(cannot("write", &self.path))?;
        self.asked_seconds += step.seconds;
        self.steps.insert(step.step.clone(), step);
        Ok(())
    }

    /// Number of finished steps.
    pub(super) fn finished(&self) -> usize {
        self.steps.len()
    }

    /// Returns the seconds that the steps took which were asked for so far. A limit is so reached at
    /// the same place when a run goes on.
    pub(super) fn seconds(&self) -> f64 {
        self.asked_seconds
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn time_is_that_of_the_steps_so_far() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("journal");
        let lines = "{\"step\":\"a\",\"seconds\":2.0,\"result\":1}\n{\"step\":\"b\",\"seconds\":3.0,\"result\":2}\n";
        fs::write(&path, lines).expect("it is written");
        let mut journal = StepJournal::open(&path).expect("it is read");
        assert_eq!(journal.seconds(), 0.0);
        assert_eq!(run(&mut journal, "a", 7), 1);
        assert_eq!(journal.seconds(), 2.0);
    }

    fn run(journal: &mut StepJournal, step: &str, result: u32) -> u32 {
        journal.run_step(step, || Ok(result)).expect("it runs")
    }

    #[test]
    fn finished_steps_are_not_run_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("journal");
        let mut journal = StepJournal::open(&path).expect("it opens");
        assert_eq!(run(&mut journal, "a", 1), 1);
        assert_eq!(run(&mut journal, "a", 2), 1);
        drop(journal);
        let mut journal = StepJournal::open(&path).expect("it opens");
        assert_eq!(run(&mut journal, "a", 3), 1);
        assert_eq!(run(&mut journal, "b", 4), 4);
        assert!(journal.steps.contains_key("b") && !journal.steps.contains_key("c"));
    }

    #[test]
    fn torn_lines_are_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("journal");
        let mut journal = StepJournal::open(&path).expect("it opens");
        run(&mut journal, "a", 1);
        let whole = fs::read(&path).expect("it is there");
        run(&mut journal, "b", 2);
        let both = fs::read(&path).expect("it is there");
        for torn_bytes in whole.len()..both.len() {
            fs::write(&path, &both[..torn_bytes]).expect("written");
            let mut journal = StepJournal::open(&path).expect("it opens");
            assert!(journal.steps.contains_key("a") && !journal.steps.contains_key("b"));
            run(&mut journal, "b", 2);
            let text = fs::read_to_string(&path).expect("it is there");
            assert_eq!(text.lines().count(), 2, "{text}");
        }
    }

    #[test]
    fn failed_steps_leave_no_trace() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("journal");
        let mut journal = StepJournal::open(&path).expect("it opens");
        let failed = journal.run_step("a", || Err::<u32, _>(UserError::interrupted()));
        assert!(failed.is_err());
        assert_eq!(run(&mut journal, "a", 2), 2);
    }

    #[test]
    fn foreign_lines_are_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("journal");
        fs::write(&path, "\n{}\n").expect("written");
        let error = StepJournal::open(&path).expect_err("line 2 is no step");
        assert!(error.to_string().contains("line 2"), "{error}");
    }
}
