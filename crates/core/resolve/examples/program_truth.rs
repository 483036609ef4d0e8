//! Compares resolution with programs that write down their own objects.
//!
//!     cargo run --release -p relayout-resolve --example program_truth [-- OPTIONS]
//!
//! Compiles the programs of `tests/truth/programs` with gcc and clang at -O0, -O2 and -O3 and
//! executes each instruction by instruction. Prints the distinct accesses (instruction and member)
//! to the programs' objects, the share that the instruction alone types, and the share of right
//! answers; then the same of the final resolution.
//!
//!     --only WORD       programs, compilers and levels whose name contains WORD
//!     --words           list the wrong answers, and the accesses without an answer
//!     --recorded DIR    also use recordings by the command in DIR (target/release), compiled in
//!                       and by qemu-user

#[path = "../tests/truth/mod.rs"]
mod truth;

use std::path::{Path, PathBuf};
use std::process::Command;

use relayout_layout::dwarf::DwarfFile;
use relayout_profile::Profile;
use relayout_resolve::{DebugImages, Options, resolve};
use truth::build::{self, CLANG, Compiler, GCC, PROGRAMS};
use truth::score::{Score, Scores, score};
use truth::{Failure, Truth, trace};

const LEVELS: [&str; 3] = ["-O0", "-O2", "-O3"];

#[derive(Default)]
struct TruthArguments {
    only: Option<String>,
    words: bool,
    recorded: Option<PathBuf>,
}

/// Row of the table.
#[derive(Default)]
struct TruthRow {
    evidence: Score,
    resolved: Score,
    transfers: u64,
    resolved_transfers: u64,
}

fn main() -> Result<(), Failure> {
    let arguments = parse_arguments()?;
    let folder = tempfile::tempdir()?;
    println!(
        "{:<34} {:>8} {:>9} {:>7} {:>6} {:>7}   {:>8} {:>9} {:>6} {:>7}",
        "", "accesses", "by insn", "right", "wrong", "", "resolved", "right", "wrong", "share"
    );
    let ways: &[TraceSource] = match &arguments.recorded {
        Some(_) => &[TraceSource::Steps, TraceSource::Compiled, TraceSource::Qemu],
        None => &[TraceSource::Steps],
    };
    for way in ways {
        for compiler in [GCC, CLANG] {
            for level in LEVELS {
                let mut row = TruthRow::default();
                for source in PROGRAMS {
                    let name = format!("{} {} {level} {source}", way.name(), compiler.c);
                    if arguments
                        .only
                        .as_ref()
                        .is_some_and(|only| !name.contains(only.as_str()))
                    {
                        continue;
                    }
                    let scored =
                        score_program(&arguments, *way, folder.path(), compiler, level, source);
                    let (scores, transfers) = match scored {
                        Ok(found) => found,
                        Err(error) => {
                            println!("{name}: {error}");
                            continue;
                        }
                    };
                    if arguments.words {
                        print_row(&name, &scores, transfers);
                        scores.wrong.iter().for_each(|line| println!("  {line}"));
                        scores
                            .silent
                            .iter()
                            .for_each(|line| println!("  silent: {line}"));
                    }
                    row.evidence.add(scores.evidence);
                    row.resolved.add(scores.resolved);
                    row.transfers += transfers.0;
                    row.resolved_transfers += transfers.1;
                }
                let name = format!("{} {} {level}", way.name(), compiler.c);
                let TruthRow {
                    evidence, resolved, ..
                } = row;
                let scores = Scores {
                    evidence,
                    resolved,
                    ..Scores::default()
                };
                print_row(&name, &scores, (row.transfers, row.resolved_transfers));
            }
        }
    }
    Ok(())
}

fn parse_arguments() -> Result<TruthArguments, Failure> {
    let mut arguments = TruthArguments::default();
    let mut rest = std::env::args().skip(1);
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--words" => arguments.words = true,
            "--only" => arguments.only = rest.next(),
            "--recorded" => arguments.recorded = rest.next().map(PathBuf::from),
            other => return Err(format!("unknown argument {other}; see the file's head").into()),
        }
    }
    Ok(arguments)
}

fn print_row(name: &str, scores: &Scores, transfers: (u64, u64)) {
    let Scores {
        evidence: e,
        resolved: r,
        ..
    } = scores;
    let share = match transfers.0 {
        0 => String::new(),
        all => format!("{:.3}", transfers.1 as f64 / all as f64),
    };
    println!(
        "{name:<34} {:>8} {:>9} {:>7} {:>6} {:>6.1}%   {:>8} {:>9} {:>6} {share:>7}",
        e.asked,
        e.answered,
        e.right,
        e.wrong(),
        100.0 * e.rate(),
        r.answered,
        r.right,
        r.wrong(),
    );
}

/// Source of the accesses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TraceSource {
    Steps,
    Compiled,
    Qemu,
}

impl TraceSource {
    fn name(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::Compiled => "compiled-in",
            Self::Qemu => "qemu-user",
        }
    }
}

fn score_program(
    arguments: &TruthArguments,
    way: TraceSource,
    folder: &Path,
    compiler: Compiler,
    level: &str,
    source: &str,
) -> Result<(Scores, (u64, u64)), Failure> {
    let command = arguments.recorded.as_ref().map(|dir| dir.join("relayout"));
    let command = command.unwrap_or_default().to_string_lossy().into_owned();
    let wrap: Vec<&str> = match way {
        TraceSource::Compiled if source.ends_with(".cc") => vec![&command, "c++", "--"],
        TraceSource::Compiled => vec![&command, "cc", "--"],
        _ => Vec::new(),
    };
    let program = build::build(folder, compiler, &wrap, level, source)?;
    let bytes = std::fs::read(&program)?;
    let file = DwarfFile::parse(&bytes)?;
    let (truth, profile) = match way {
        TraceSource::Steps => trace::run(&program, &file)?,
        TraceSource::Compiled => record(&command, &program, &["--counts", "all"])?,
        TraceSource::Qemu => record(&command, &program, &["--with", "qemu"])?,
    };
    let images = DebugImages::from_modules(&profile, &file, |_| None);
    let resolution = resolve(&profile, &images, Options::default())?;
    let share = resolution.resolved_share(&profile);
    let scores = score(&truth, &profile, &resolution);
    Ok((scores, (share.transfers, share.resolved)))
}

fn record(command: &str, program: &Path, with: &[&str]) -> Result<(Truth, Profile), Failure> {
    let words = program.with_extension("truth");
    let out = program.with_extension("relayout");
    let _ = std::fs::remove_dir_all(&out);
    let mut record = Command::new(command);
    record.env("TRUTH_FILE", &words).args(["record", "run"]);
    record.args(with).arg("-o").arg(&out).arg("--").arg(program);
    build::run_to_success(&mut record)?;
    let profile = relayout_profile::store::read(&out)?;
    Ok((Truth::parse(&std::fs::read_to_string(&words)?)?, profile))
}
