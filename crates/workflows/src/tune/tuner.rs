//! Order of the steps of a run.

use std::ops::Range;
use std::path::{Path, PathBuf};

use relayout_advice::{
    BenchEffect, ChangeRejection, LayoutExperiment, LayoutOutcome, LayoutTrial, TrialRules,
    TrialStage, TriedLayout, effects_of,
};
use relayout_messages::UserError;
use relayout_probe::{MachineIdentity, identify_machine};
use relayout_verify::judged_change::ChangeBasis;

use super::journal::StepJournal;
use super::kernel::KernelSteps;
use super::outcome::{
    ChangeFate, ChangeProposal, RankedType, TriedChange, TuneEnding, TuneOutcome, TunedBranch,
    outcome_notes,
};
use super::program::{ProgramSteps, RECORDED_TREE, rejected_by, write_patch};
use super::proposal::{ProposalAnswer, ProposalInputs};
use super::ranking::rank_types;
use super::recorded::RecordedBuild;
use super::repository::{TuneRepository, UserSource};
use super::state::{StateFolder, remove_if_there};
use super::{TuneLimits, TuneSettings, TuneTarget, TuneTools};
use crate::progress::PrefixedProgress;

/// Layouts of one type that are tried.
const ATTEMPTS_MAX: usize = 3;

/// A run to begin, or to go on with.
#[derive(Clone, Debug)]
pub struct TuneRequest {
    /// Settings.
    pub settings: TuneSettings,
    /// Limits.
    pub limits: TuneLimits,
    /// State folder; `None` for one in the cache folder.
    pub state: Option<PathBuf>,
    /// Forgets an earlier run with these settings.
    pub restart: bool,
}

/// Runs the loop until nothing is left or a limit is reached.
///
/// # Errors
/// The source is unfit, a command fails without any change, a file cannot be written, or the user
/// interrupts. The same call goes on where this one stopped.
pub fn tune(request: &TuneRequest, tools: &TuneTools<'_>) -> Result<TuneOutcome, UserError> {
    let settings = &request.settings;
    settings.verify_benches()?;
    let source = UserSource::open(&settings.source)?;
    let state_path = match &request.state {
        Some(path) => path.clone(),
        None => StateFolder::default_path(settings, source.commit())?,
    };
    let is_new = request.restart || !state_path.join("settings.json").exists();
    if is_new {
        source.verify(&settings.branch)?;
    }
    let state = StateFolder::open(&state_path, settings, source.commit(), request.restart)?;
    let mut journal = state.journal()?;
    let repository = TuneRepository::new(state.join("repository"), &source, &settings.branch);
    let finished = journal.finished();
    if finished > 0 {
        tools
            .progress
            .step(&format!("going on after {finished} finished steps"));
        repository.remove_stale_locks()?;
    }
    let first_commit = journal.run_step("repository", || {
        tools.progress.step("copying the source");
        repository.create(&source)
    })?;
    // Measurements of a run that goes on elsewhere would be of two machines.
    let machine = journal.run_step("machine", || Ok(identify_machine()))?;
    if machine != identify_machine() {
        let message = format!(
            "this run was begun on another machine ({}), whose measurements say nothing about this one",
            machine.cpu
        );
        let remedy = "go on there, or begin again with --restart";
        return Err(UserError::input(message).with_remedy(remedy));
    }
    let mut tuner = Tuner {
        request,
        tools,
        state: &state,
        repository: &repository,
        journal,
        machine: machine.clone(),
        base: TuneBase {
            number: 0,
            commit: first_commit.clone(),
            folder: "base-0".to_owned(),
        },
        changes: Vec::new(),
    };
    let (ending, untried) = tuner.run()?;
    let branch = tuner.publish(&source, &first_commit)?;
    let seconds = tuner.journal.seconds();
    Ok(TuneOutcome {
        settings: settings.clone(),
        machine,
        first_commit,
        notes: outcome_notes(settings, &tuner.changes),
        changes: tuner.changes,
        untried,
        ending,
        branch,
        seconds,
        state: state.path().to_owned(),
    })
}

/// Commit that changes are tried on, with its recordings.
struct TuneBase {
    number: usize,
    commit: String,
    /// Folder of the recordings in the state folder.
    folder: String,
}

struct Tuner<'t> {
    request: &'t TuneRequest,
    tools: &'t TuneTools<'t>,
    state: &'t StateFolder,
    repository: &'t TuneRepository,
    journal: StepJournal,
    machine: MachineIdentity,
    base: TuneBase,
    changes: Vec<TriedChange>,
}

/// Steps of what a run improves.
enum TargetSteps<'t> {
    Program(ProgramSteps<'t>),
    Kernel(KernelSteps<'t>),
}

impl<'t> Tuner<'t> {
    /// Tries changes. Returns why it ended, and the types that were not tried.
    fn run(&mut self) -> Result<(TuneEnding, Vec<RankedType>), UserError> {
        loop {
            self.record_base()?;
            let mut ranked = self.rank_base()?;
            ranked.retain(|ranked| !self.is_tried(&ranked.name));
            let mut is_kept = false;
            while !is_kept && !ranked.is_empty() {
                if let Some(limit) = self.reached_limit() {
                    return Ok((limit, ranked));
                }
                is_kept = self.try_type(&ranked.remove(0))?;
            }
            if !is_kept {
                return Ok((TuneEnding::NothingLeft, Vec::new()));
            }
        }
    }

    fn is_tried(&self, name: &str) -> bool {
        self.changes.iter().any(|change| change.ranked.name == name)
    }

    fn reached_limit(&self) -> Option<TuneEnding> {
        let TuneLimits { time_s, changes } = self.request.limits;
        let is_kept = |change: &&TriedChange| matches!(change.fate, ChangeFate::Kept { .. });
        let kept = self.changes.iter().filter(is_kept).count();
        match () {
            () if changes.is_some_and(|most| kept >= most) => Some(TuneEnding::Changes),
            () if time_s.is_some_and(|most| self.journal.seconds() >= most) => {
                Some(TuneEnding::Time)
            }
            () => None,
        }
    }

    fn stop_if_interrupted(&self) -> Result<(), UserError> {
        match self.tools.interrupt.is_set() {
            true => Err(UserError::interrupted()),
            false => Ok(()),
        }
    }

    fn steps(&self) -> TargetSteps<'t> {
        let (settings, tools) = (&self.request.settings, self.tools);
        let (state, repository) = (self.state, self.repository);
        match &settings.target {
            TuneTarget::Program(program) => TargetSteps::Program(ProgramSteps {
                program,
                settings,
                tools,
                state,
                repository,
            }),
            TuneTarget::Kernel(kernel) => TargetSteps::Kernel(KernelSteps {
                kernel,
                settings,
                tools,
                state,
                repository,
            }),
        }
    }

    /// Builds, tests and records the base, unless the change that made it was recorded.
    fn record_base(&mut self) -> Result<(), UserError> {
        self.stop_if_interrupted()?;
        let TuneBase {
            number,
            commit,
            folder,
        } = &self.base;
        let step = |name: &str| format!("base-{number}/{name}");
        let programs = match self.steps() {
            TargetSteps::Kernel(kernels) => {
                let record = || {
                    self.repository.check_out(commit)?;
                    kernels.record(folder, &self.request.settings.seeds())
                };
                return self.journal.run_step(&step("record"), record);
            }
            TargetSteps::Program(_) if *number > 0 => return Ok(()),
            TargetSteps::Program(programs) => programs,
        };
        self.journal.run_step(&step("test"), || {
            self.tools
                .progress
                .step("building and testing without a change");
            programs.test_base(folder, commit)
        })?;
        self.journal.run_step(&step("record"), || {
            let recorded = programs.record(folder, commit, None, &self.request.settings.seeds())?;
            recorded.map_err(|(what, failed)| failed.of_base(&what))
        })
    }

    fn rank_base(&mut self) -> Result<Vec<RankedType>, UserError> {
        self.stop_if_interrupted()?;
        let step = format!("base-{}/types", self.base.number);
        let profile = self.recorded_base().profile(0);
        let progress = self.tools.progress;
        self.journal.run_step(&step, || {
            progress.step("ranking types by what a layout saves");
            rank_types(&profile, &PrefixedProgress::quiet(progress))
        })
    }

    fn recorded_base(&self) -> RecordedBuild {
        RecordedBuild::new(self.state, &self.base.folder)
    }

    /// Tries layouts of a type until one is kept. Returns true if one is.
    fn try_type(&mut self, ranked: &RankedType) -> Result<bool, UserError> {
        let mut diffs: Vec<String> = Vec::new();
        for skipped in 0..ATTEMPTS_MAX {
            let number = self.changes.len() + 1;
            let step = format!("change-{number}/advice-{skipped}");
            let proposal = match self.propose(&step, ranked, skipped)? {
                ProposalAnswer::Exhausted => return Ok(false),
                ProposalAnswer::Refused(reason) => {
                    self.add_refused(number, ranked, reason);
                    return Ok(false);
                }
                ProposalAnswer::Proposed(proposal) => *proposal,
            };
            if diffs.contains(&proposal.diff) {
                continue;
            }
            diffs.push(proposal.diff.clone());
            if self.try_proposal(number, ranked, proposal)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn add_refused(&mut self, number: usize, ranked: &RankedType, reason: String) {
        self.changes.push(TriedChange {
            number,
            ranked: ranked.clone(),
            proposal: None,
            effects: Vec::new(),
            fate: ChangeFate::Rejected(ChangeRejection::new(TrialStage::Advice, reason)),
        });
    }

    fn propose(
        &mut self,
        step: &str,
        ranked: &RankedType,
        skipped: usize,
    ) -> Result<ProposalAnswer, UserError> {
        self.stop_if_interrupted()?;
        let benches = self.request.settings.benches();
        let recorded = self.recorded_base();
        let source = match &self.request.settings.target {
            TuneTarget::Program(_) => recorded
                .folder()
                .join(RECORDED_TREE)
                .join(self.repository.prefix()),
            TuneTarget::Kernel(_) => self.repository.source(),
        };
        let progress = self.tools.progress;
        let inputs = ProposalInputs {
            benches: &benches,
            profiles: &recorded.profiles(benches.len()),
            source: &source,
            writer: self.tools.writer,
            progress: &PrefixedProgress::quiet(progress),
        };
        self.journal.run_step(step, || {
            progress.step(&format!("looking for a layout of {}", ranked.name));
            self.repository.check_out(&self.base.commit)?;
            inputs.propose(&ranked.name, skipped)
        })
    }

    /// Gathers evidence on a proposal, and keeps or rejects it. Returns true if it is kept.
    fn try_proposal(
        &mut self,
        number: usize,
        ranked: &RankedType,
        proposal: ChangeProposal,
    ) -> Result<bool, UserError> {
        let folder = format!("change-{number}");
        let patch = self.write_layout(&folder, &proposal.diff)?;
        let (effects, judged) = match self.apply_patch(&folder, &patch)? {
            Err(rejection) => (Vec::new(), Err(rejection)),
            Ok(()) => self.try_layout(&folder, ranked, &proposal.diff)?,
        };
        let mut change = TriedChange {
            number,
            ranked: ranked.clone(),
            proposal: Some(proposal),
            effects,
            fate: ChangeFate::Kept {
                commit: String::new(),
            },
        };
        change.fate = match judged {
            Ok(()) => ChangeFate::Kept {
                commit: self.commit(&folder, &patch, &change)?,
            },
            Err(rejection) => ChangeFate::Rejected(rejection),
        };
        self.remove_trees(&folder, &change.fate)?;
        let is_kept = matches!(change.fate, ChangeFate::Kept { .. });
        self.changes.push(change);
        Ok(is_kept)
    }

    /// Rejects a patch that git does not apply: the file may be a symbolic link, or of a submodule.
    fn apply_patch(
        &mut self,
        folder: &str,
        patch: &Path,
    ) -> Result<Result<(), ChangeRejection>, UserError> {
        let (repository, commit) = (self.repository, self.base.commit.clone());
        let refused = self.run_step(&format!("{folder}/apply"), || {
            repository.refuse_patch(&commit, patch)
        })?;
        let rejection = |reason| {
            let reason = format!("git does not apply the patch: {reason}");
            ChangeRejection::new(TrialStage::Advice, reason)
        };
        Ok(refused.map_or(Ok(()), |reason| Err(rejection(reason))))
    }

    /// Tries the layout of a patch: what is cheap to know comes first. Returns its effects, and the reason for which it
    /// is not kept.
    fn try_layout(
        &mut self,
        folder: &str,
        ranked: &RankedType,
        diff: &str,
    ) -> Result<(Vec<BenchEffect>, Result<(), ChangeRejection>), UserError> {
        let settings = &self.request.settings;
        let steps = self.steps();
        let layout = TriedLayout {
            type_name: &ranked.name,
            diff,
        };
        let rules = TrialRules {
            counted_type: &ranked.counted,
            main_bench: settings.main_bench(),
            counts_decide: matches!(steps, TargetSteps::Kernel(_)),
        };
        let mut trial = LayoutTrial::new(layout, settings.seeds(), rules);
        let programs = match &steps {
            TargetSteps::Kernel(kernels) => {
                let outcome = self.try_kernel(kernels, folder, ranked, diff)?;
                let kept = judge_kernel(&mut trial, &outcome)?;
                return Ok((trial.into_effects(), kept));
            }
            TargetSteps::Program(programs) => programs,
        };
        let mut kept = trial.run(&mut PatchCounts {
            tuner: self,
            programs,
            folder,
            ranked,
        })?;
        for bench_index in 0..settings.benches().len() {
            if kept.is_err() {
                break;
            }
            kept = trial.run(&mut BenchMeasurement {
                tuner: self,
                programs,
                folder,
                bench_index,
            })?;
        }
        Ok((trial.into_effects(), kept))
    }

    /// Builds, tests and records a program with the patch, and counts; the inner error names the step that failed.
    fn count_program(
        &mut self,
        programs: &ProgramSteps<'_>,
        (folder, patch): (&str, &Path),
        ranked: &RankedType,
        seeds: &Range<u64>,
    ) -> Result<LayoutOutcome, UserError> {
        let commit = self.base.commit.clone();
        let step = |name: &str| format!("{folder}/{name}");
        let progress = self.tools.progress;
        let built = self.run_step(&step("build"), || {
            progress.step(&format!("{folder}, {}: building and testing", ranked.name));
            let built = programs.build_plain(folder, &commit, Some(patch))?;
            Ok(built.map_err(|failed| rejected_by(TrialStage::Build, &failed)))
        })?;
        if let Err(rejection) = built {
            return Ok(Err(rejection));
        }
        let tested = self.run_step(&step("test"), || {
            let tested = programs.test(folder)?;
            Ok(tested.map_err(|failed| rejected_by(TrialStage::Test, &failed)))
        })?;
        if let Err(rejection) = tested {
            return Ok(Err(rejection));
        }
        let recorded = self.run_step(&step("record"), || {
            let recorded = programs.record(folder, &commit, Some(patch), seeds)?;
            Ok(recorded.map_err(|(_, failed)| rejected_by(TrialStage::Count, &failed)))
        })?;
        if let Err(rejection) = recorded {
            return Ok(Err(rejection));
        }
        let (base, changed) = (self.recorded_base(), RecordedBuild::new(self.state, folder));
        let counted = self.run_step(&step("count"), || {
            programs.count(&base, &changed, &ranked.counted)
        })?;
        Ok(Ok(counted))
    }

    /// Builds and boots kernels without and with the patch, and counts. On a machine in simulated time, their rates are
    /// among the effects.
    fn try_kernel(
        &mut self,
        kernels: &KernelSteps<'_>,
        folder: &str,
        ranked: &RankedType,
        diff: &str,
    ) -> Result<LayoutOutcome, UserError> {
        let patch = self.write_layout(folder, diff)?;
        let (repository, progress) = (self.repository, self.tools.progress);
        let commit = self.base.commit.clone();
        let seeds = self.request.settings.seeds();
        self.run_step(&format!("{folder}/count"), || {
            progress.step(&format!(
                "{folder}, {}: building and recording both kernels",
                ranked.name
            ));
            repository.check_out(&commit)?;
            kernels.count(folder, &patch, ranked, seeds.start)
        })
    }

    /// Writes the patch that makes a layout, and returns its path.
    fn write_layout(&self, folder: &str, diff: &str) -> Result<PathBuf, UserError> {
        let patch = self.state.join(&format!("{folder}/change.patch"));
        write_patch(&patch, diff)?;
        Ok(patch)
    }

    fn run_step<T: serde::Serialize + serde::de::DeserializeOwned>(
        &mut self,
        name: &str,
        run: impl FnOnce() -> Result<T, UserError>,
    ) -> Result<T, UserError> {
        self.stop_if_interrupted()?;
        self.journal.run_step(name, run)
    }

    /// Commits a change, which is the next base.
    fn commit(
        &mut self,
        folder: &str,
        patch: &Path,
        change: &TriedChange,
    ) -> Result<String, UserError> {
        let parent = self.base.commit.clone();
        let settings = &self.request.settings;
        let message = self
            .tools
            .writer
            .commit_message(change, settings, &self.machine);
        let commit = self.run_step(&format!("{folder}/commit"), || {
            self.repository.commit_patch(&parent, patch, &message)
        })?;
        let number = self.base.number + 1;
        let earlier = std::mem::replace(
            &mut self.base,
            TuneBase {
                number,
                commit: commit.clone(),
                folder: match self.request.settings.target {
                    TuneTarget::Program(_) => folder.to_owned(),
                    TuneTarget::Kernel(_) => format!("base-{number}"),
                },
            },
        );
        // Its profiles were used for the last time.
        remove_if_there(&self.state.join(&earlier.folder).join(RECORDED_TREE))?;
        Ok(commit)
    }

    /// Removes the builds of a change; a kept one is built for the recordings of the next base.
    fn remove_trees(&self, folder: &str, fate: &ChangeFate) -> Result<(), UserError> {
        if let TargetSteps::Program(programs) = self.steps() {
            programs.remove_plain(folder)?;
            if let ChangeFate::Rejected(_) = fate {
                remove_if_there(&self.state.join(folder).join(RECORDED_TREE))?;
            }
        }
        Ok(())
    }

    /// Puts the branch into the user's repository, if changes are kept.
    fn publish(
        &self,
        source: &UserSource,
        first_commit: &str,
    ) -> Result<Option<TunedBranch>, UserError> {
        if self.base.commit == first_commit {
            return Ok(None);
        }
        let repository = match &source.repository {
            Some((top, _)) => {
                // Not a step of the journal: the user may have removed the branch since then.
                self.repository.publish(top, &self.base.commit)?;
                top.clone()
            }
            None => self.repository.top().to_owned(),
        };
        Ok(Some(TunedBranch {
            name: self.request.settings.branch.clone(),
            commit: self.base.commit.clone(),
            repository,
        }))
    }
}

/// Folder of a layout in the state folder, beside those of others that are tried with it.
fn layout_folder(folder: &str, index: usize) -> String {
    match index {
        0 => folder.to_owned(),
        _ => format!("{folder}-{}", index + 1),
    }
}

/// Judges what boots of kernels told. Rates in simulated time decide where all draws of the machine's rules agree, and counts
/// elsewhere.
fn judge_kernel(
    trial: &mut LayoutTrial<'_>,
    outcome: &LayoutOutcome,
) -> Result<Result<(), ChangeRejection>, UserError> {
    let by_counts = trial.run(&mut EffectsOfBasis::new(ChangeBasis::Counted, outcome))?;
    let by_rates = trial.run(&mut EffectsOfBasis::new(ChangeBasis::Simulated, outcome))?;
    Ok(match by_rates {
        Ok(()) if !trial.has_gain(ChangeBasis::Simulated) => by_counts,
        decided => decided,
    })
}

/// The effects of one basis, of an experiment that is done.
struct EffectsOfBasis {
    basis: ChangeBasis,
    outcome: LayoutOutcome,
}

impl EffectsOfBasis {
    fn new(basis: ChangeBasis, outcome: &LayoutOutcome) -> Self {
        let of_basis = |effects: &Vec<BenchEffect>| {
            let effects = effects_of(effects, basis).into_iter();
            effects.cloned().collect()
        };
        Self {
            basis,
            outcome: outcome.as_ref().map(of_basis).map_err(Clone::clone),
        }
    }
}

impl LayoutExperiment for EffectsOfBasis {
    fn basis(&self) -> ChangeBasis {
        self.basis
    }

    fn run_layouts(
        &mut self,
        _: &[TriedLayout<'_>],
        _: Range<u64>,
    ) -> Result<Vec<LayoutOutcome>, UserError> {
        Ok(vec![self.outcome.clone()])
    }
}

/// Counts transfers of the base and of layouts of a program by recording both.
struct PatchCounts<'a, 't> {
    tuner: &'a mut Tuner<'t>,
    programs: &'a ProgramSteps<'t>,
    folder: &'a str,
    ranked: &'a RankedType,
}

impl LayoutExperiment for PatchCounts<'_, '_> {
    fn basis(&self) -> ChangeBasis {
        ChangeBasis::Counted
    }

    fn run_layouts(
        &mut self,
        layouts: &[TriedLayout<'_>],
        seeds: Range<u64>,
    ) -> Result<Vec<LayoutOutcome>, UserError> {
        let count = |(index, layout): (usize, &TriedLayout<'_>)| {
            let folder = layout_folder(self.folder, index);
            let patch = self.tuner.write_layout(&folder, layout.diff)?;
            let patched = (folder.as_str(), patch.as_path());
            (self.tuner).count_program(self.programs, patched, self.ranked, &seeds)
        };
        layouts.iter().enumerate().map(count).collect()
    }
}

/// Measures one benchmark of the base and of layouts on this machine.
struct BenchMeasurement<'a, 't> {
    tuner: &'a mut Tuner<'t>,
    programs: &'a ProgramSteps<'t>,
    folder: &'a str,
    bench_index: usize,
}

impl LayoutExperiment for BenchMeasurement<'_, '_> {
    fn basis(&self) -> ChangeBasis {
        ChangeBasis::Measured
    }

    fn run_layouts(
        &mut self,
        layouts: &[TriedLayout<'_>],
        seeds: Range<u64>,
    ) -> Result<Vec<LayoutOutcome>, UserError> {
        let (tuner, programs, bench_index) = (&mut *self.tuner, self.programs, self.bench_index);
        let commit = tuner.base.commit.clone();
        let measure = |(index, layout): (usize, &TriedLayout<'_>)| {
            let folder = layout_folder(self.folder, index);
            let patch = tuner.write_layout(&folder, layout.diff)?;
            let measured = tuner.run_step(&format!("{folder}/measure-{bench_index}"), || {
                programs.measure(&folder, bench_index, &commit, &patch, seeds.start)
            })?;
            Ok(Ok(measured))
        };
        layouts.iter().enumerate().map(measure).collect()
    }
}
