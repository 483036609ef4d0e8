//! Inputs of all commands: programs, their recordings, and texts. Each is made once and then kept.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};

use super::damaged_profiles;
use super::folder_files::{copy_entry, remove_folder};
use super::kept_folder::KeptFolder;
use super::perf_samples::{BUILD_ID, write_perf_samples};

/// Files of the repository, and the inputs that are copies of them.
const COPIED_FILES: [(&str, &str); 18] = [
    ("crates/relayout/tests/data/machine.json", "machine.json"),
    ("crates/relayout/tests/data/queue.c", "old/queue.c"),
    ("crates/relayout/tests/data/queue.c", "new/queue.c"),
    ("xtask/inputs/old-queue.h", "old/queue.h"),
    ("xtask/inputs/new-queue.h", "new/queue.h"),
    ("collectors/compiled/include/relayout.h", "old/relayout.h"),
    ("collectors/compiled/include/relayout.h", "new/relayout.h"),
    ("crates/relayout/tests/data/cxx/pool.cc", "pool/pool.cc"),
    ("crates/relayout/tests/data/cxx/pool.h", "pool/pool.h"),
    ("crates/relayout/tests/data/cxx/threads.h", "pool/threads.h"),
    ("crates/relayout/tests/data/rust/stats.rs", "stats/stats.rs"),
    ("xtask/inputs/bench.c", "bench/bench.c"),
    ("xtask/inputs/hostile.c", "hostile/hostile.c"),
    ("xtask/inputs/rules.toml", "rules.toml"),
    ("xtask/inputs/kernel-rules.toml", "kernel-rules.toml"),
    ("xtask/inputs/queue-layout.txt", "queue-layout.txt"),
    ("xtask/inputs/recordings.toml", "recordings.toml"),
    (
        "xtask/inputs/compile_commands.json",
        "compile_commands.json",
    ),
];

/// Inputs that shell commands make, in this order, in the folder of inputs. `$relayout` is the build under test.
const RECIPES: [InputRecipe; 15] = [
    InputRecipe::new("vmlinux", "ln -s \"$(readlink -f \"$RELAYOUT_CACHE/kernel/current/vmlinux\")\" vmlinux"),
    InputRecipe::new("linux", "ln -s \"$(readlink -f \"$RELAYOUT_CACHE/source/current\")\" linux"),
    InputRecipe::new(
        "kernel.relayout",
        "$relayout record kernel --workload stat-one -o kernel.relayout",
    ),
    InputRecipe::new(
        "mntns.relayout",
        "$relayout record kernel --workload mntns -o mntns.relayout",
    ),
    InputRecipe::new(
        "old.relayout",
        "(cd old && $relayout cc -- gcc -O1 -g -I. queue.c -o queue -pthread) &&
         $relayout record run --values --repeat 4 -o old.relayout -- old/queue",
    ),
    InputRecipe::new(
        "new.relayout",
        "(cd new && $relayout cc -- gcc -O1 -g -I. queue.c -o queue -pthread &&
         gcc -O2 -g -I. -DRELAYOUT_OFF queue.c -o plain -pthread) &&
         $relayout record run --values --repeat 4 -o new.relayout -- new/queue",
    ),
    InputRecipe::new(
        "pool.relayout",
        "(cd pool && $relayout c++ -- g++ -g -O1 -std=c++17 -pthread pool.cc -o pool) &&
         $relayout record run --yield 50 -o pool.relayout -- pool/pool 20000",
    ),
    InputRecipe::new(
        "stats.relayout",
        "(cd stats && RUSTC_BOOTSTRAP=1 rustc $($relayout cc --relayout-rustflags) -O -Cdebuginfo=2 \
         --edition 2021 --check-cfg 'cfg(repaired)' stats.rs -o stats) &&
         $relayout record run --yield 50 -o stats.relayout -- stats/stats 20000",
    ),
    InputRecipe::new(
        "samples.relayout",
        "$relayout record perf perf.data -o samples.relayout",
    ),
    InputRecipe::new(
        "hostile.relayout",
        "$relayout record run -o hostile.relayout -- hostile/hostile",
    ),
    InputRecipe::new("suite.recordings", "$relayout suite recordings.toml -o suite.recordings || true"),
    InputRecipe::new(
        "gain.json",
        "$relayout verify --before 'echo rate: 1000' --after 'echo rate: 1500' --shell --runs 12 --seed 1 \
         --metric 'rate=regex:^rate: ([0-9]+)' --save gain.json",
    ),
    InputRecipe::new(
        "loss.json",
        "$relayout verify --before 'echo rate: 1500' --after 'echo rate: 1000' --shell --runs 12 --seed 1 \
         --metric 'rate=regex:^rate: ([0-9]+)' --save loss.json || test -s loss.json",
    ),
    InputRecipe::new(
        "measured.txt",
        "$relayout advise new.relayout queue --json >advice.json &&
         printf '#!/bin/sh\\necho rate: 1000\\n' >slow && sed s/1000/1500/ slow >fast && chmod +x slow fast &&
         $relayout verify --before ./slow --after ./fast -m 'rate=regex:^rate: ([0-9]+)' -n 6 \
         --advice advice.json --recorded new.relayout old.relayout --export kit && kit/run measured.txt",
    ),
    InputRecipe::new(
        "tuned",
        "mkdir -p tune && cp new/queue.c new/relayout.h tune/ && cp new/queue.h tune/ &&
         printf '#!/bin/sh\\n${CC:-gcc} -O1 -g -I. queue.c -o queue -pthread\\n' >tune/build &&
         chmod +x tune/build && cd tune && git init --quiet --initial-branch=main && git add . &&
         git -c user.name=A -c user.email=a@localhost commit --quiet -m first && cd .. &&
         $relayout tune --source tune --build ./build --bench ./queue -m 'cost,lower=regex:cost:.(.*)' -n 6 \
         --state tuned",
    ),
];

/// Name that a compiler takes, and the hostile text that takes its place, of the same length.
const PLACEHOLDER: &str = "a_name_that_no_other_string_holds";
/// Sets the title of the terminal, colours it, turns the direction of writing around, and ends a tag and a comment.
const HOSTILE: &str = "\x1b]0;owned\x07\x1b[31m\u{202e}\r\u{9b}2J/*<b>&'`";

/// An input, and the shell commands that make it.
struct InputRecipe {
    /// Last file or folder that the commands make.
    product: &'static str,
    script: &'static str,
}

impl InputRecipe {
    const fn new(product: &'static str, script: &'static str) -> Self {
        Self { product, script }
    }
}

/// Makes the inputs that are missing. Those that exist stay as they are, whichever build made them.
///
/// # Errors
/// A program is missing or fails.
pub fn make_missing_inputs(folder: &KeptFolder) -> anyhow::Result<()> {
    let inputs = folder.inputs();
    let cache = inputs.with_file_name("recording-cache");
    for (source, copy) in COPIED_FILES {
        let path = inputs.join(copy);
        if !path.exists() {
            fs::create_dir_all(path.parent().unwrap_or(&inputs))?;
            copy_entry(Path::new(source), &path)?;
        }
    }
    remove_folder(&cache)?;
    folder.make_cache(&cache)?;
    for recipe in &RECIPES {
        if fs::symlink_metadata(inputs.join(recipe.product)).is_ok() {
            continue;
        }
        eprintln!("making {}", recipe.product);
        match recipe.product {
            "samples.relayout" => make_perf_samples(&inputs, &cache, folder)?,
            "hostile.relayout" => make_hostile_program(&inputs, &cache, folder)?,
            _ => {}
        }
        run_script(recipe.script, &inputs, &cache, folder)
            .with_context(|| recipe.product.to_owned())?;
    }
    remove_folder(&cache)?;
    damaged_profiles::make_damaged_profiles(&inputs)
}

fn run_script(
    script: &str,
    inputs: &Path,
    cache: &Path,
    folder: &KeptFolder,
) -> anyhow::Result<()> {
    let mut command = Command::new("sh");
    command
        .args(["-euc", script])
        .current_dir(inputs)
        .env("relayout", folder.relayout())
        .env("RELAYOUT_CACHE", cache);
    let status = command.status().context("cannot start sh")?;
    ensure!(status.success(), "{status}: {script}");
    Ok(())
}

fn make_perf_samples(inputs: &Path, cache: &Path, folder: &KeptFolder) -> anyhow::Result<()> {
    let script = format!(
        "cd bench && gcc -g -O1 -fno-inline -fcf-protection=none -fpie -pie -Wl,--build-id=0x{BUILD_ID} \
         bench.c -o bench"
    );
    run_script(&script, inputs, cache, folder)?;
    write_perf_samples(&inputs.join("bench/bench"), &inputs.join("perf.data"))
}

/// Compiles the program for recording, and puts the hostile name into its debug information.
fn make_hostile_program(inputs: &Path, cache: &Path, folder: &KeptFolder) -> anyhow::Result<()> {
    let script = "cd hostile && $relayout cc -- gcc -g -O1 hostile.c -o hostile -pthread";
    run_script(script, inputs, cache, folder)?;
    let program = inputs.join("hostile/hostile");
    let mut bytes = fs::read(&program)?;
    let padding = "_".repeat(PLACEHOLDER.len() - HOSTILE.len());
    let name = format!("{HOSTILE}{padding}");
    let position = |bytes: &[u8]| {
        bytes
            .windows(PLACEHOLDER.len())
            .position(|window| window == PLACEHOLDER.as_bytes())
    };
    while let Some(start) = position(&bytes) {
        bytes[start..start + name.len()].copy_from_slice(name.as_bytes());
    }
    fs::write(&program, bytes).context("hostile/hostile")
}

#[cfg(test)]
mod tests {
    use super::{HOSTILE, PLACEHOLDER};

    #[test]
    fn the_hostile_name_fits() {
        assert!(HOSTILE.len() <= PLACEHOLDER.len());
    }
}
