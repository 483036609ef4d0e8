//! The two commands, and the two trees that they run in.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use relayout_host::measure::{ProgramCommand, ProgramLaunch, ProgramStarter, SourceTrees};
use relayout_host::{Error, InterruptFlag, RecordingProgress as _};
use relayout_verify::plan::ExperimentSide;

use super::Args;
use super::experiment::or_interrupted;
use crate::progress::TerminalProgress;

/// What is started for each side.
pub(super) struct ComparedSides {
    commands: [ProgramCommand; 2],
    trees: Option<SourceTrees>,
    dirs: [Option<PathBuf>; 2],
    /// Holds the trees, and so goes after them.
    _starter: Option<ProgramStarter>,
}

impl ComparedSides {
    pub(super) fn command(&self, side: ExperimentSide) -> &ProgramCommand {
        &self.commands[side as usize]
    }

    /// Where it is started, if not here.
    pub(super) fn dir(&self, side: ExperimentSide) -> Option<&Path> {
        self.dirs[side as usize].as_deref()
    }

    /// Things to tell.
    pub(super) fn notes(&self) -> Vec<String> {
        self.trees
            .as_ref()
            .map(|trees| trees.notes.clone())
            .unwrap_or_default()
    }
}

/// Reads the commands; with a patch, makes the trees and builds both.
pub(super) fn prepare_sides(
    args: &Args,
    interrupt: InterruptFlag,
    progress: &TerminalProgress,
) -> anyhow::Result<ComparedSides> {
    if let (Some(before), Some(after)) = (&args.before, &args.after) {
        return Ok(ComparedSides {
            commands: [parse_command(args, before)?, parse_command(args, after)?],
            trees: None,
            dirs: [None, None],
            _starter: None,
        });
    }
    let (Some(patch), Some(build), Some(bench)) = (&args.patch, &args.build, &args.bench) else {
        anyhow::bail!(
            "there is nothing to compare; give --before CMD and --after CMD, or --patch FILE, --build \
             CMD and --bench CMD"
        );
    };
    let bench = parse_command(args, bench)?;
    let starter = ProgramStarter::new(interrupt)?;
    progress.step("making two copies of the source");
    let source = args.source.as_deref().unwrap_or(Path::new("."));
    let trees = SourceTrees::create(source, patch, starter.dir());
    let trees = trees.map_err(Error::Measure);
    let trees = or_interrupted(trees, interrupt)?;
    let dirs = [trees.unpatched(), trees.patched()];
    for (side, dir) in ExperimentSide::ALL.into_iter().zip(&dirs) {
        progress.step(&format!("building '{}'", side.as_str()));
        let built = starter.run(&ProgramLaunch {
            command: &ProgramCommand::for_shell(build),
            dir: Some(dir),
            schedule: None,
            time_limit: None,
            disturbed_code: None,
        });
        let built = or_interrupted(built.map_err(Error::Measure), interrupt);
        built.with_context(|| format!("cannot build '{}'", side.as_str()))?;
    }
    Ok(ComparedSides {
        commands: [bench.clone(), bench],
        trees: Some(trees),
        dirs: dirs.map(Some),
        _starter: Some(starter),
    })
}

fn parse_command(args: &Args, text: &str) -> Result<ProgramCommand, Error> {
    match args.shell {
        true => Ok(ProgramCommand::for_shell(text)),
        false => ProgramCommand::parse(text).map_err(Error::Measure),
    }
}
