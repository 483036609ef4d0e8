//! A file as `perf mem record` writes it, of a program on this machine: few machines have the hardware for a real one.

#[path = "../../../crates/core/perf-data/tests/perf/builder/mod.rs"]
mod builder;

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};

use builder::{File, LOAD_HITM, STORE, Sample};

/// Load address that the kernel would choose.
const BIAS: u64 = 0x5555_5555_4000;
/// Number of samples of each of the two instructions.
const SAMPLES: u64 = 100;
/// Build id that `recipes.rs` links the program with.
pub const BUILD_ID: &str = "000102030405060708090a0b0c0d0e0f10111213";

/// Writes samples of `read_hits()` in one thread and `write_misses()` in another, which access the variable `stats`.
///
/// # Errors
/// The program cannot be read by nm, or the file cannot be written.
pub fn write_perf_samples(program: &Path, output: &Path) -> anyhow::Result<()> {
    let symbols = read_symbols(program)?;
    let address = |name: &str| {
        symbols
            .get(name)
            .copied()
            .with_context(|| format!("{name} in {}", program.display()))
    };
    let (reader, writer, stats) = (
        address("read_hits")?,
        address("write_misses")?,
        address("stats")?,
    );
    let build_id: [u8; 20] = std::array::from_fn(|index| index as u8);
    let path = program.display().to_string();
    let mut file = File::pebs();
    file.comm(100, 100, "bench", true, 0);
    let (text, data) = (reader & !0xfff, stats & !0xfff);
    file.mmap2_build_id(100, (BIAS + text, 0x1000, text), &path, &build_id);
    file.mmap2_build_id(100, (BIAS + data, 0x1000, data - 0x1000), &path, &build_id);
    for number in 0..SAMPLES {
        let sample = Sample {
            time_ns: 1000 + number,
            period: 1000,
            ..Sample::default()
        };
        file.sample(Sample {
            pc: BIAS + reader,
            addr: BIAS + stats,
            source: LOAD_HITM,
            ..sample
        });
        file.sample(Sample {
            event: 1,
            tid: 101,
            cpu: 1,
            pc: BIAS + writer,
            addr: BIAS + stats + 16,
            source: STORE,
            ..sample
        });
    }
    fs::write(output, file.bytes()).with_context(|| output.display().to_string())
}

/// Addresses of symbols as linked.
fn read_symbols(program: &Path) -> anyhow::Result<HashMap<String, u64>> {
    let mut command = Command::new("nm");
    let ended = command
        .arg(program)
        .output()
        .context("cannot start nm (package binutils)")?;
    ensure!(
        ended.status.success(),
        "nm {}: {}",
        program.display(),
        String::from_utf8_lossy(&ended.stderr)
    );
    let symbol = |line: &str| {
        let mut words = line.split_whitespace();
        let address = u64::from_str_radix(words.next()?, 16).ok()?;
        Some((words.nth(1)?.to_owned(), address))
    };
    let text = String::from_utf8_lossy(&ended.stdout);
    Ok(text.lines().filter_map(symbol).collect())
}
