//! The two commands of an experiment, and the source trees that they run in.

use std::path::{Path, PathBuf};

use relayout_files::InterruptFlag;
use relayout_measure::{ProgramCommand, ProgramLaunch, ProgramStarter, SourceTrees};
use relayout_messages::UserError;
use relayout_verify::plan::ExperimentSide;

use super::interrupted::or_interrupted;
use super::{ExperimentProgress, ProgramSettings};

/// The two programs of an experiment.
#[derive(Clone, Debug)]
pub enum ComparedPrograms {
    /// Two commands.
    Commands {
        /// Command without the change.
        before: String,
        /// Command with the change.
        after: String,
    },
    /// A source without and with a patch.
    Patch(PatchedBuild),
}

/// A source tree that is built without and with a patch.
#[derive(Clone, Debug)]
pub struct PatchedBuild {
    /// Patch.
    pub patch: PathBuf,
    /// Command that builds.
    pub build: String,
    /// Command that is measured.
    pub bench: String,
    /// Source tree, of which two copies are made.
    pub source: PathBuf,
}

/// Commands and folders of both sides.
pub(crate) struct ComparedSides {
    commands: [ProgramCommand; 2],
    trees: Option<SourceTrees>,
    dirs: [Option<PathBuf>; 2],
    /// Owns the folder of the trees, so it is dropped after them.
    _starter: Option<ProgramStarter>,
}

impl ComparedSides {
    pub(crate) fn command(&self, side: ExperimentSide) -> &ProgramCommand {
        &self.commands[side as usize]
    }

    /// Folder to start in; `None` for the current one.
    pub(crate) fn dir(&self, side: ExperimentSide) -> Option<&Path> {
        self.dirs[side as usize].as_deref()
    }

    /// Notes about the copied source.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.trees
            .as_ref()
            .map(|trees| trees.notes.clone())
            .unwrap_or_default()
    }
}

/// Prepares both sides: for a patch, builds two copies of the source.
pub(crate) fn prepare_sides(
    settings: &ProgramSettings,
    interrupt: InterruptFlag,
    progress: &dyn ExperimentProgress,
) -> Result<ComparedSides, UserError> {
    let parse = |text: &str| parse_command(text, settings.shell);
    let patched = match &settings.programs {
        ComparedPrograms::Commands { before, after } => {
            return Ok(ComparedSides {
                commands: [parse(before)?, parse(after)?],
                trees: None,
                dirs: [None, None],
                _starter: None,
            });
        }
        ComparedPrograms::Patch(patched) => patched,
    };
    let bench = parse(&patched.bench)?;
    let starter = ProgramStarter::new(interrupt)?;
    progress.step("making two copies of the source");
    let trees = SourceTrees::create(&patched.source, &patched.patch, starter.dir());
    let trees = or_interrupted(trees, interrupt)?;
    let dirs = [trees.unpatched(), trees.patched()];
    for (side, dir) in ExperimentSide::ALL.into_iter().zip(&dirs) {
        progress.step(&format!("building '{}'", side.as_str()));
        let built = starter.run(&ProgramLaunch {
            command: &ProgramCommand::for_shell(&patched.build),
            dir: Some(dir),
            schedule: None,
            time_limit: None,
            disturbed_code: None,
        });
        let message = format!("cannot build '{}'", side.as_str());
        or_interrupted(built, interrupt).map_err(UserError::wrap::<UserError>(message))?;
    }
    Ok(ComparedSides {
        commands: [bench.clone(), bench],
        trees: Some(trees),
        dirs: dirs.map(Some),
        _starter: Some(starter),
    })
}

fn parse_command(text: &str, shell: bool) -> Result<ProgramCommand, UserError> {
    match shell {
        true => Ok(ProgramCommand::for_shell(text)),
        false => Ok(ProgramCommand::parse(text)?),
    }
}
