//! The five cases of `cases/`: the layouts of the programs, and the loop over them.
//!
//! No test measures what the hardware makes of the layouts.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use relayout_testkit::{require_built, require_cpus, require_programs};

/// A program, its layout, and the offsets that the mails give.
const OFFSETS: [(&str, &str); 11] = [
    (
        "pcpu_chunk-bad",
        "pcpu_chunk 136 free_bytes 16 chunk_md 20 base_addr 56",
    ),
    (
        "pcpu_chunk-good",
        "pcpu_chunk 192 free_bytes 16 chunk_md 20 base_addr 64",
    ),
    (
        "mm_struct-bad",
        "mm_struct 352 write_protect_seq 104 mmap_lock.count 128 mmap_lock.owner 136",
    ),
    (
        "mm_struct-good",
        "mm_struct 344 write_protect_seq 248 mmap_lock.count 120 mmap_lock.owner 128",
    ),
    (
        "call_single_data-bad",
        "call_single_data 32 align 8 address modulo 64 48 flags 24",
    ),
    (
        "call_single_data-good",
        "call_single_data 32 align 32 address modulo 64 0 flags 24",
    ),
    (
        "mem_cgroup-bad",
        "mem_cgroup 2624 vmstats_percpu 1304 vmstats 1344",
    ),
    (
        "mem_cgroup-good",
        "mem_cgroup 2624 vmstats_percpu 2520 vmstats 1280",
    ),
    (
        "optimistic_spin_node-bad",
        "optimistic_spin_node 24 next 0 locked 16 cpu 20",
    ),
    (
        "optimistic_spin_node-good",
        "optimistic_spin_node 128 next 0 locked 16 cpu 64",
    ),
    (
        "optimistic_spin_node-checked",
        "optimistic_spin_node 128 next 0 locked 16 cpu 64",
    ),
];

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases")
}

/// Builds all programs of a folder with a Makefile.
pub fn build_programs(folder: &Path) -> tempfile::TempDir {
    let out = tempfile::tempdir().unwrap();
    let mut make = Command::new("make");
    make.arg("-s").arg("-C").arg(folder);
    make.arg(format!("OUT={}", out.path().display()));
    let made = make.output().unwrap();
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    out
}

pub fn run(program: &Path, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).output().unwrap()
}

pub fn words_of_output(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn programs_have_the_kernels_layouts_and_right_results() {
    require_programs(&["make", "cc"]);
    let out = build_programs(&cases());
    for (name, offsets) in OFFSETS {
        let program = out.path().join(name);
        assert_eq!(
            words_of_output(&run(&program, &["--layout"]).stdout),
            offsets,
            "{name}"
        );
        for mix in ["roles", "xadd", "both"] {
            let mut arguments = vec!["--iterations", "20000"];
            match (name.split_once('-').unwrap().0, mix) {
                ("mm_struct", _) | ("mem_cgroup", "roles" | "both") => {
                    arguments.extend(["--mix", mix]);
                }
                (_, "roles") => {}
                _ => continue,
            }
            let ended = run(&program, &arguments);
            assert!(
                ended.status.success()
                    && words_of_output(&ended.stdout).ends_with("results are right"),
                "{name} {arguments:?}: {ended:?}"
            );
        }
        for bad in [
            ["--threads", "1025"],
            ["--cpus", "0"],
            ["--mix", "none"],
            ["--seconds", "x"],
        ] {
            let ended = run(&program, &bad);
            assert_eq!(ended.status.code(), Some(2), "{name} {bad:?}: {ended:?}");
        }
    }
}

#[test]
fn the_loop_runs_by_itself() {
    let relayout = Path::new(env!("CARGO_BIN_EXE_relayout"));
    require_programs(&["make", "cc", "python3", "patch"]);
    require_cpus(2);
    require_built(&relayout.with_file_name("librelayout_rt.so"), "relayout-rt");
    let mut loops = Command::new(cases().join("run"));
    loops.arg("--relayout").arg(relayout);
    // Not what this machine has at the moment: a busy one cannot be probed.
    let machine = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/machine.json");
    loops.args(["--machine", machine]);
    loops.args(["--seconds", "0.15", "--budget", "4"]);
    let ended = loops.output().unwrap();
    assert!(
        ended.status.success(),
        "{}{}",
        String::from_utf8_lossy(&ended.stdout),
        String::from_utf8_lossy(&ended.stderr)
    );
}
