//! Commands that answer from debug information.

use super::{OutputRow, fill_line};

/// A file, and a type in it.
const FILES: [(&str, &str); 6] = [
    ("vmlinux", "dentry"),
    ("new/queue", "queue"),
    ("pool/pool", "net::Pool"),
    ("stats/stats", "Stats<*>"),
    ("bench/bench", "counters"),
    ("hostile/hostile", "*owned*"),
];

/// Rows of every file.
const EACH: &[&str] = &[
    "show {file} {type}",
    "show {file} {type} --json",
    "show {file} {type} --expand",
    "show {file} {type} --hex --show-decl-info",
    "show {file} {type} --reorganize --show-reorg-steps",
    "show {file} {type} --pahole-version 1.30 --all",
    "show {file} {type} --color always",
    "show {file} {type} --cacheline-size 32",
    "show {file} --sizes --sort=size --size-min 64",
    "show {file} --packable",
    "show {file} --holes 2 --structs --sizes",
    "show {file} no_such_type",
];

const SPECIAL: &[&str] = &[
    "show vmlinux mm_struct pcpu_chunk tcp_sock",
    "show vmlinux --btf mm_struct",
    "show vmlinux --btf mm_struct --json",
    "show vmlinux --contains spinlock --recursive --size-max 256",
    "show vmlinux --prefix-filter tcp_ --exclude tcp_s --nr-methods",
    "show vmlinux --unions --sizes --lines-min 2",
    "show new/queue",
    "show new/queue --json",
    "show ./nothing queue",
    "show rules.toml",
    "diff old/queue new/queue",
    "diff old/queue new/queue --json",
    "diff old/queue new/queue --color always",
    "diff old/queue new/queue --html page.html --csv tables",
    "diff old/queue new/queue queue --verbose",
    "diff old/queue new/queue --all --sort size",
    "diff old/queue new/queue --exit-code --status changed",
    "diff old/queue new/queue --profile new.relayout",
    "diff old/queue new/queue --profile new.relayout --json",
    "diff old/queue pool/pool",
    "diff old/queue pool/pool --json",
    "diff old/queue hostile/hostile",
    "diff old/queue nothing",
    "diff vmlinux vmlinux dentry --all",
    "diff vmlinux new/queue --status added --affected",
    "check --config rules.toml old/queue",
    "check --config rules.toml new/queue",
    "check --config rules.toml new/queue --json",
    "check --config rules.toml new/queue --sarif",
    "check --config rules.toml new/queue --format text --color always",
    "check --config rules.toml new/queue --baseline old/queue",
    "check --config rules.toml new/queue --baseline old/queue --json",
    "check --config rules.toml new/queue --bisect",
    "check --config rules.toml old/queue new/queue pool/pool",
    "check --config rules.toml old/queue --emit static-assert",
    "check --config rules.toml old/queue --emit kernel",
    "check --config rules.toml new/queue --update --profile new.relayout && check --config rules.toml old/queue \
     && check --config rules.toml old/queue --json",
    "check --config rules.toml new/queue --update --profile new.relayout --min-share 60",
    "check --config rules.toml new/queue --profile new.relayout",
    "check --config rules.toml nothing",
    "check --config nothing.toml new/queue",
    "check --config machine.json new/queue",
    "check --config rules.toml --header new/queue.h --compile-commands compile_commands.json",
    "check --config rules.toml --header new/queue.h --compile-commands compile_commands.json --json",
    "check --config kernel-rules.toml vmlinux",
    "check --config kernel-rules.toml vmlinux --json",
    "check --config kernel-rules.toml vmlinux --sarif",
    "check --config kernel-rules.toml vmlinux --btf",
    "check --config kernel-rules.toml vmlinux --update --profile kernel.relayout",
    "check --config kernel-rules.toml vmlinux --emit kernel",
];

/// Rows of commands that read debug information.
pub fn build_rows() -> Vec<OutputRow> {
    let each = FILES.iter().flat_map(|(file, name)| {
        EACH.iter()
            .map(move |line| fill_line(line, &[("file", file), ("type", name)]))
    });
    let special = SPECIAL.iter().map(|&line| line.to_owned());
    each.chain(special).map(OutputRow::command).collect()
}
