//! Commands that answer from other inputs, refuse theirs, or describe themselves.

use super::OutputRow;

/// All commands that have a help of their own.
const DESCRIBED: [&str; 23] = [
    "record",
    "record kernel",
    "record run",
    "record perf",
    "report",
    "view",
    "show",
    "diff",
    "advise",
    "what-if",
    "check",
    "compare",
    "tune",
    "suite",
    "fleet",
    "verify",
    "verify kernel",
    "probe",
    "doctor",
    "setup",
    "completions",
    "man",
    "cc",
];

const LINES: &[&str] = &[
    "record kernel --workload list",
    "record kernel --workload no_such_workload",
    "record run no_such_program",
    "record run -o new.relayout -- new/queue",
    "record perf perf.data -o imported && report imported",
    "record perf perf.data --pid 7",
    "record perf rules.toml",
    "verify --load gain.json",
    "verify --load gain.json --json",
    "verify --load gain.json --margin 60",
    "verify --load gain.json --html page.html --csv tables",
    "verify --load gain.json --color always",
    "verify --load loss.json",
    "verify --load loss.json --json",
    "verify --load rules.toml",
    "verify --metric list",
    "verify --import measured.txt",
    "verify --import measured.txt --json",
    "verify --import measured.txt --html page.html --csv tables",
    "verify --import measured.txt --ledger ledger.jsonl && verify --ledger ledger.jsonl && verify --ledger ledger.jsonl --json",
    "verify --import rules.toml",
    "verify kernel --source new --patch rules.toml --workload mntns",
    "suite recordings.toml --list",
    "suite recordings.toml --list --json -o suite.recordings",
    "suite recordings.toml -o suite.recordings",
    "suite recordings.toml -o suite.recordings --json",
    "suite recordings.toml --list --shard 2/2",
    "suite rules.toml",
    "tune --source ../../inputs/tune --build ./build --bench ./queue -m cost,lower=regex:cost:.(.*) -n 6 --state tuned",
    "tune --source ../../inputs/tune --build ./build --bench ./queue -m cost,lower=regex:cost:.(.*) -n 6 --state tuned --json",
    "tune --source ../../inputs/tune --build ./build --bench ./queue -m cost,lower=regex:cost:.(.*) -n 6 --state tuned \
     --html page.html --csv tables",
    "tune --source new --build false --bench ./queue",
    "probe --machines",
    "probe --machines --json",
    "doctor",
    "doctor --json",
    "setup --kernel",
    "completions bash",
    "completions zsh",
    "completions fish",
    "completions elvish",
    "man pages",
    "cc --relayout-help",
    "cc --relayout-rustflags",
    "cc -static new/queue.c",
    "c++ -m32 pool/pool.cc",
    "--help",
    "--version",
    "no-such-command",
    "report",
    "report --no-such-option",
    "--color sometimes report new.relayout",
    "COLUMNS=60 report -h",
];

/// Rows of all other commands.
pub fn other_rows() -> Vec<OutputRow> {
    let help = DESCRIBED.iter().map(|command| format!("help {command}"));
    let lines = LINES.iter().map(|&line| line.to_owned());
    help.chain(lines).map(OutputRow::command).collect()
}
