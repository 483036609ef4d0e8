//! Steps of a run with a program.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use relayout_advice::{BenchEffect, ChangeRejection, EffectSubject, TrialStage};
use relayout_files::{cannot, write_atomically};
use relayout_measure::ProgramCommand;
use relayout_messages::{ProblemReason, UserError};
use relayout_toolchain::cc::make_compiler_links;
use relayout_verify::judge::{JudgedMetric, JudgingRules};
use relayout_verify::metric::Metric;

use super::count::count_effects;
use super::recorded::RecordedBuild;
use super::repository::TuneRepository;
use super::state::StateFolder;
use super::{TuneSettings, TuneTools, TunedProgram};
use crate::logged_command::{CommandRunner, FailedCommand};
use crate::progress::PrefixedProgress;
use crate::verify::{ComparedPrograms, PatchedBuild, ProgramSettings, judge, measure_programs};
/// Folder of a build for recording, in that of its base or change.
pub(super) const RECORDED_TREE: &str = "recorded";
/// Folder of a build as users have it.
const PLAIN_TREE: &str = "plain";

/// Steps of a run with a program.
pub(super) struct ProgramSteps<'p> {
    pub(super) program: &'p TunedProgram,
    pub(super) settings: &'p TuneSettings,
    pub(super) tools: &'p TuneTools<'p>,
    pub(super) state: &'p StateFolder,
    pub(super) repository: &'p TuneRepository,
}

impl ProgramSteps<'_> {
    /// Builds and tests the source without a change.
    pub(super) fn test_base(&self, folder: &str, commit: &str) -> Result<(), UserError> {
        let built = self.build_plain(folder, commit, None)?;
        built.map_err(|failed| failed.of_base("build"))?;
        let tested = self.test(folder)?;
        self.remove_plain(folder)?;
        tested.map_err(|failed| failed.of_base("test"))
    }

    /// Builds a commit, with a patch or without, as users have it.
    pub(super) fn build_plain(
        &self,
        folder: &str,
        commit: &str,
        patch: Option<&Path>,
    ) -> Result<Result<(), FailedCommand>, UserError> {
        let source = self.export(folder, PLAIN_TREE, commit, patch)?;
        let command = ProgramCommand::for_shell(&self.program.build);
        self.run(&command, &source, &self.log(folder, "build"))
    }

    /// Runs the test command in what [`build_plain`](Self::build_plain) built.
    pub(super) fn test(&self, folder: &str) -> Result<Result<(), FailedCommand>, UserError> {
        let Some(test) = &self.program.test else {
            return Ok(Ok(()));
        };
        let source = self.tree(folder, PLAIN_TREE).join(self.repository.prefix());
        let command = ProgramCommand::for_shell(test);
        self.run(&command, &source, &self.log(folder, "test"))
    }

    /// Removes what [`build_plain`](Self::build_plain) built.
    pub(super) fn remove_plain(&self, folder: &str) -> Result<(), UserError> {
        super::state::remove_if_there(&self.tree(folder, PLAIN_TREE))
    }

    /// Builds a commit for recording and records all benchmarks. A failure comes with the name of
    /// what failed.
    pub(super) fn record(
        &self,
        folder: &str,
        commit: &str,
        patch: Option<&Path>,
        seeds: &Range<u64>,
    ) -> Result<Result<(), (String, FailedCommand)>, UserError> {
        let source = self.export(folder, RECORDED_TREE, commit, patch)?;
        self.tools
            .progress
            .step(&format!("{folder}: building for recording"));
        let log = self.log(folder, "record-build");
        let runner = self.runner()?;
        if let Err(failed) = runner.run(&self.recording_build()?, &source, &log)? {
            return Ok(Err(("build for recording".to_owned(), failed)));
        }
        let recorded = RecordedBuild::new(self.state, folder);
        for (index, bench) in self.settings.benches().into_iter().enumerate() {
            self.tools
                .progress
                .step(&format!("{folder}: recording {bench}"));
            let log = self.log(folder, &format!("record-{index}"));
            let command = self.recording_command(bench, &recorded.profile(index), seeds)?;
            if let Err(failed) = runner.run(&command, &source, &log)? {
                return Ok(Err((format!("recording of {bench}"), failed)));
            }
        }
        Ok(Ok(()))
    }

    /// Compares the recordings of a change with those of its base.
    pub(super) fn count(
        &self,
        base: &RecordedBuild,
        changed: &RecordedBuild,
        type_name: &str,
    ) -> Result<Vec<BenchEffect>, UserError> {
        let mut effects = Vec::new();
        let progress = PrefixedProgress::quiet(self.tools.progress);
        for (index, bench) in self.settings.benches().into_iter().enumerate() {
            let profiles = [base.profile(index), changed.profile(index)];
            effects.extend(count_effects(profiles, bench, type_name, &progress)?);
        }
        Ok(effects)
    }

    /// Measures a benchmark of a commit without and with the patch, on this machine.
    pub(super) fn measure(
        &self,
        folder: &str,
        index: usize,
        commit: &str,
        patch: &Path,
        seed: u64,
    ) -> Result<Vec<BenchEffect>, UserError> {
        self.repository.check_out(commit)?;
        let bench = self.settings.benches()[index];
        self.tools
            .progress
            .step(&format!("{folder}: measuring {bench}"));
        let measure_error = |cause: UserError| {
            UserError::input(format!("cannot measure '{bench}'")).caused_by(cause)
        };
        let metrics = Metric::parse_all(&self.program.metrics).map_err(|error| {
            let given = self.program.metrics.join(", ");
            let sentence = format!("--metric is {given}; {error}");
            ProblemReason::from_sentence(sentence, error.remedy().map(str::to_owned))
        })?;
        let settings = ProgramSettings {
            programs: ComparedPrograms::Patch(PatchedBuild {
                patch: patch.to_owned(),
                build: self.program.build.clone(),
                bench: bench.to_owned(),
                source: self.repository.source(),
            }),
            shell: self.program.shell,
            metrics,
            pairs: self.settings.pairs,
            budget: None,
            early_stop: true,
            warmups: 1,
            pin: None,
            fifo: false,
            lost_max: 0.03,
            disturbed_code: None,
            time_limit: Some(Duration::from_secs(self.program.limit_s)),
            seed: Some(seed),
        };
        let rules = JudgingRules {
            margin: self.settings.margin,
        };
        let save = self.state.join(&format!("{folder}/measure-{index}.json"));
        let (progress, interrupt) = (self.tools.progress, self.tools.interrupt);
        let measured = measure_programs(&settings, &rules, Some(&save), progress, interrupt)
            .map_err(measure_error)?;
        measured
            .save_error
            .map_or(Ok(()), Err)
            .map_err(measure_error)?;
        let outcome = judge(&measured.runs, &rules).outcome;
        let effect = |metric: &JudgedMetric| measured_effect(bench, metric, outcome.pairs);
        Ok(outcome.metrics.iter().map(effect).collect())
    }

    fn export(
        &self,
        folder: &str,
        tree: &str,
        commit: &str,
        patch: Option<&Path>,
    ) -> Result<PathBuf, UserError> {
        let path = self.state.join(folder);
        fs::create_dir_all(&path).map_err(cannot("create", &path))?;
        self.repository.export(&path.join(tree), commit, patch)
    }

    fn tree(&self, folder: &str, tree: &str) -> PathBuf {
        self.state.join(folder).join(tree)
    }

    fn log(&self, folder: &str, name: &str) -> PathBuf {
        self.state.join(&format!("{folder}/{name}.log"))
    }

    fn runner(&self) -> Result<CommandRunner, UserError> {
        let limit = Duration::from_secs(self.program.limit_s);
        CommandRunner::new(self.tools.interrupt, Some(limit))
    }

    fn run(
        &self,
        command: &ProgramCommand,
        dir: &Path,
        log: &Path,
    ) -> Result<Result<(), FailedCommand>, UserError> {
        self.runner()?.run(command, dir, log)
    }

    /// Returns the build command with relayout as the compiler: for make also where the makefile
    /// names another one.
    fn recording_build(&self) -> Result<ProgramCommand, UserError> {
        if let Some(build) = &self.program.record_build {
            return Ok(ProgramCommand::for_shell(build));
        }
        // One word each: cmake and meson run the first word of more.
        let links = make_compiler_links(&self.tools.relayout, self.state.path())?;
        let links = links.iter().map(|link| link.display().to_string());
        let compilers: Vec<(&str, String)> = ["CC", "CXX"].into_iter().zip(links).collect();
        let escaped = |(name, value): &(&str, String)| {
            let value = value
                .replace('\\', "\\\\")
                .replace(' ', "\\ ")
                .replace('$', "$$");
            format!(" {name}={value}")
        };
        let make_flags: String = compilers.iter().map(escaped).collect();
        let mut command = ProgramCommand::for_shell(&self.program.build);
        let named = compilers.into_iter();
        let named = named.map(|(name, value)| (name.to_owned(), value));
        command.environment.extend(named);
        command
            .environment
            .push(("MAKEFLAGS".to_owned(), format!(" --{make_flags}")));
        Ok(command)
    }

    fn recording_command(
        &self,
        bench: &str,
        profile: &Path,
        seeds: &Range<u64>,
    ) -> Result<ProgramCommand, UserError> {
        let bench = match self.program.shell {
            true => ProgramCommand::for_shell(bench),
            false => ProgramCommand::parse(bench)?,
        };
        let mut words = vec![self.tools.relayout.display().to_string()];
        words.extend(["record", "run", "--force", "--seed"].map(str::to_owned));
        words.extend([
            seeds.start.to_string(),
            "--repeat".to_owned(),
            (seeds.end - seeds.start).to_string(),
        ]);
        words.extend([
            "-o".to_owned(),
            profile.display().to_string(),
            "--".to_owned(),
        ]);
        words.extend(bench.words);
        Ok(ProgramCommand {
            text: format!("relayout record run -- {}", bench.text),
            words,
            environment: bench.environment,
        })
    }
}

impl FailedCommand {
    /// Makes it an error: the command fails without any change.
    pub(super) fn of_base(self, what: &str) -> UserError {
        UserError::input(format!("the {what} fails without any change"))
            .with_remedy(format!("its output is in {}", self.log.display()))
            .caused_by(self.error)
    }
}

/// Makes a failed command the rejection of a change.
pub(super) fn rejected_by(stage: TrialStage, failed: &FailedCommand) -> ChangeRejection {
    ChangeRejection::new(stage, failed.words())
}

/// Writes the patch of a change.
pub(super) fn write_patch(path: &Path, diff: &str) -> Result<(), UserError> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(cannot("create", folder))?;
    Ok(write_atomically(path, diff.as_bytes())?)
}

fn measured_effect(bench: &str, metric: &JudgedMetric, pairs: usize) -> BenchEffect {
    BenchEffect {
        bench: bench.to_owned(),
        subject: EffectSubject::Metric {
            name: metric.description.name.clone(),
            unit: metric.description.unit.clone(),
        },
        judged: metric.judged.clone(),
        is_paired: true,
        samples: pairs,
    }
}
