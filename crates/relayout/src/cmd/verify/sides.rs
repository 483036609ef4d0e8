//! The two commands, and the two trees that they run in.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use relayout_host::measure::{Launch, Starter, Trees, Words};
use relayout_host::{Error, Interrupt, Progress as _};
use relayout_verify::plan::Side;

use super::Args;
use super::experiment::or_interrupted;
use crate::progress::Shown;

/// What is started for each side.
pub(super) struct Sides {
    commands: [Words; 2],
    trees: Option<Trees>,
    dirs: [Option<PathBuf>; 2],
    /// Holds the trees, and so goes after them.
    _starter: Option<Starter>,
}

impl Sides {
    pub(super) fn command(&self, side: Side) -> &Words {
        &self.commands[side as usize]
    }

    /// Where it is started, if not here.
    pub(super) fn dir(&self, side: Side) -> Option<&Path> {
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
pub(super) fn prepare(
    args: &Args,
    interrupt: Interrupt,
    progress: &Shown,
) -> anyhow::Result<Sides> {
    if let (Some(before), Some(after)) = (&args.before, &args.after) {
        return Ok(Sides {
            commands: [words(args, before)?, words(args, after)?],
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
    let bench = words(args, bench)?;
    let starter = Starter::new(interrupt)?;
    progress.step("making two copies of the source");
    let source = args.source.as_deref().unwrap_or(Path::new("."));
    let trees = Trees::make(source, patch, starter.dir());
    let trees = trees.map_err(Error::Measure);
    let trees = or_interrupted(trees, interrupt)?;
    let dirs = [trees.before(), trees.after()];
    for (side, dir) in Side::ALL.into_iter().zip(&dirs) {
        progress.step(&format!("building '{}'", side.as_str()));
        let built = starter.run(&Launch {
            command: &Words::shell(build),
            dir: Some(dir),
            schedule: None,
            time_limit: None,
            disturbed_code: None,
        });
        let built = or_interrupted(built.map_err(Error::Measure), interrupt);
        built.with_context(|| format!("cannot build '{}'", side.as_str()))?;
    }
    Ok(Sides {
        commands: [bench.clone(), bench],
        trees: Some(trees),
        dirs: dirs.map(Some),
        _starter: Some(starter),
    })
}

fn words(args: &Args, text: &str) -> Result<Words, Error> {
    match args.shell {
        true => Ok(Words::shell(text)),
        false => Words::split(text).map_err(Error::Measure),
    }
}
