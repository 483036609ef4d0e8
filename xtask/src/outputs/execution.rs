//! Runs commands, and writes what each prints and each file that it writes.

use std::fs;
use std::path::Path;
use std::process::Output;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::Context as _;

use super::folder_files::{read_files, remove_folder};
use super::kept_folder::{KeptFolder, RunFolder};
use super::masks::OutputMasks;
use super::rows::{CommandWords, OutputRow};
use super::screens::view_screens;

/// Runs all rows, as many at a time as this process may use CPUs. Each gets a folder below `written`. Returns the
/// number of files there.
///
/// # Errors
/// A program cannot be started, or a file cannot be written. An exit code is an output and no error.
pub fn run_rows(
    folder: &KeptFolder,
    rows: &[OutputRow],
    masks: &OutputMasks,
    written: &Path,
) -> anyhow::Result<usize> {
    let next = AtomicUsize::new(0);
    let run_next = || {
        let mut count = 0;
        while let Some(row) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outputs = written.join(row.name());
            remove_folder(&outputs)?;
            fs::create_dir_all(&outputs)?;
            count +=
                run_row(folder, row, masks, &outputs).with_context(|| row.line().to_owned())?;
        }
        Ok(count)
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let started: Vec<_> = (0..workers).map(|_| scope.spawn(run_next)).collect();
        let joined = started
            .into_iter()
            .map(|worker| worker.join().expect("a worker does not panic"));
        joined.sum()
    })
}

/// Runs the commands of a row one after the other in one folder, with one cache. Returns the number of outputs.
fn run_row(
    folder: &KeptFolder,
    row: &OutputRow,
    masks: &OutputMasks,
    outputs: &Path,
) -> anyhow::Result<usize> {
    let words: Vec<&str> = row.line().split(' ').collect();
    let run = folder.make_run(&row.name(), &words)?;
    for (number, command) in (1..).zip(row.commands()) {
        let write = |name: &str, bytes: &[u8]| {
            fs::write(outputs.join(format!("{number}.{name}")), masks.mask(bytes))
        };
        if let Some(size) = command.terminal() {
            for (name, screen) in view_screens(&run, &command, size)? {
                write(&format!("{name}.screen"), screen.as_bytes())?;
            }
            continue;
        }
        let ended = end_command(&run, &command)?;
        write("exit", exit_words(&ended).as_bytes())?;
        write("stdout", &ended.stdout)?;
        write("stderr", &masks.mask_errors(&ended.stderr))?;
    }
    copy_written_files(&run, masks, outputs)?;
    run.remove()?;
    Ok(read_files(outputs)?.len())
}

fn end_command(run: &RunFolder<'_>, command: &CommandWords<'_>) -> anyhow::Result<Output> {
    let mut program = run.relayout(&command.words, command.variables.iter().copied());
    program
        .output()
        .context("cannot start timeout (package coreutils)")
}

fn exit_words(ended: &Output) -> String {
    match ended.status.code() {
        Some(code) => format!("{code}\n"),
        None => format!("{}\n", ended.status),
    }
}

/// Copies each file of the run that is no unchanged input.
fn copy_written_files(
    run: &RunFolder<'_>,
    masks: &OutputMasks,
    outputs: &Path,
) -> anyhow::Result<()> {
    for (name, bytes) in read_files(&run.path)? {
        let is_input = fs::read(run.inputs().join(&name)).is_ok_and(|input| input == bytes);
        if !is_input {
            let path = outputs.join("files").join(name);
            fs::create_dir_all(path.parent().unwrap_or(outputs))?;
            fs::write(path, masks.mask(&bytes))?;
        }
    }
    Ok(())
}
