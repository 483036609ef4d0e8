//! Checks of the repository's own rules that no compiler lint covers.
//!
//! ```text
//! cargo run --release -p xtask -- names            # prints every figure beside its limit
//! cargo run --release -p xtask -- names --check    # exit code 1 where a limit is broken
//! cargo run --release -p xtask -- names --list     # also prints each place that counts against a limit
//! ```
//!
//! The source is parsed with `syn`; nothing is matched by pattern. `xtask outputs` compares what two builds print
//! ([`outputs`]).

mod docs;
mod figures;
mod outputs;
mod skips;
mod source;
mod statements;
mod tokens;
mod types;

use std::path::Path;
use std::process::ExitCode;

use anyhow::bail;

use figures::Figures;

const USAGE: &str = "cargo run -p xtask -- names [--check] [--list] [FOLDER]";

fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((name, options)) if name == "names" => count_names(options),
        Some((name, options)) if name == "outputs" => outputs::run(options),
        _ => bail!("usage: {USAGE}\n       {}", outputs::USAGE),
    }
}

/// Prints the figures of the naming rules.
fn count_names(arguments: &[String]) -> anyhow::Result<ExitCode> {
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let folder = arguments
        .iter()
        .find(|argument| !argument.starts_with("--"));
    let files = source::read_files(Path::new(folder.map_or(".", String::as_str)))?;
    let figures = Figures::measure(&files);
    print!("{}", figures.table());
    if has("--list") {
        print!("{}", figures.offences());
    }
    Ok(match has("--check") && figures.is_broken() {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}
