//! All structs and unions of cached kernels, byte for byte, as both releases of pahole print them.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::common::{self, Place};
use crate::peer::{self, PaholeProgram};

/// Types that are meant to differ.
const DIFFERENCES: &str = include_str!("differences.txt");

/// Memory that pahole takes to read a kernel.
const PAHOLE_KIB: u64 = 3 << 20;
/// Of those that wait for memory, one at a time runs.
static PAHOLE: Mutex<()> = Mutex::new(());

/// Tests of one kernel, by its folder in the cache.
macro_rules! kernel {
    ($module:ident, $kernel:literal $(, #[$ignore:meta])?) => {
        mod $module {
            use super::{PaholeProgram, check};

            #[test]
            $(#[$ignore])?
            fn dwarf() {
                check($kernel, PaholeProgram::Older, "-F dwarf");
                check($kernel, PaholeProgram::Newer, "-F dwarf");
            }

            #[test]
            $(#[$ignore])?
            fn btf() {
                check($kernel, PaholeProgram::Older, "-F btf");
                check($kernel, PaholeProgram::Newer, "-F btf");
            }

            #[test]
            $(#[$ignore])?
            fn dwarf_expanded() {
                check($kernel, PaholeProgram::Older, "-F dwarf -E");
                check($kernel, PaholeProgram::Newer, "-F dwarf -E");
            }

            #[test]
            $(#[$ignore])?
            fn btf_expanded() {
                check($kernel, PaholeProgram::Older, "-F btf -E");
                check($kernel, PaholeProgram::Newer, "-F btf -E");
            }
        }
    };
}

kernel!(kernel_6_1, "current");
kernel!(
    kernel_6_12,
    "6.12",
    #[ignore = "needs a further kernel: scripts/setup.sh --kernel 6.12"]
);
kernel!(
    kernel_newest,
    "newest",
    #[ignore = "needs a further kernel: scripts/setup.sh --kernel newest"]
);
kernel!(
    kernel_6_12_arm64,
    "6.12-arm64",
    #[ignore = "needs an arm64 kernel: scripts/setup.sh --arm64"]
);
kernel!(
    kernel_newest_arm64,
    "newest-arm64",
    #[ignore = "needs an arm64 kernel: scripts/setup.sh --kernel newest-arm64"]
);

/// Options that select types or add to their text; those that BTF has what they need for, from BTF, which pahole reads at once.
#[test]
fn options() {
    for options in [
        "-F btf -B 1",
        "-F btf -y pcpu_",
        "-F btf -x a -s",
        "-F dwarf -X mm/ -s",
        "-F dwarf -m",
        "-F dwarf -I -y s",
    ] {
        check("current", PaholeProgram::Newer, options);
    }
}

/// A sample of them: a run of pahole reads all of the kernel, which takes ten seconds.
#[test]
fn options_of_older_pahole() {
    for options in ["-F dwarf -B 1", "-F dwarf -I -y s", "-F btf -x a -s"] {
        check("current", PaholeProgram::Older, options);
    }
}

/// pahole packs by another method: it shrinks the types of bitfields, and leaves out alignments. Of the structs that both
/// list, more than five times as many get at most pahole's size as get a larger one. pahole 1.30 does not end.
#[test]
fn packable_structs() {
    let vmlinux = vmlinux("current");
    let place = Place::new();
    let sizes = |text: String| -> HashMap<String, u64> {
        let rows = text
            .lines()
            .map(|line| line.split('\t').collect::<Vec<_>>());
        rows.map(|row| (row[0].to_owned(), row[2].parse().expect("a size")))
            .collect()
    };
    let words = format!("show -P {}", vmlinux.display());
    let ours = sizes(common::text(&place, &words));
    let theirs = sizes(peer::pahole(PaholeProgram::Older, &vmlinux, "-F dwarf -P"));
    let (mut at_most, mut larger) = (0, 0);
    for (name, their) in &theirs {
        match ours.get(name) {
            Some(our) if our <= their => at_most += 1,
            Some(_) => larger += 1,
            None => {}
        }
    }
    let all = theirs.len();
    println!("{all} structs of pahole; of ours {at_most} at most as large, {larger} larger");
    assert!(at_most > 5 * larger && at_most + larger > all * 4 / 5);
}

#[test]
fn sizes() {
    check("current", PaholeProgram::Older, "-F dwarf -s");
    check("current", PaholeProgram::Newer, "-F dwarf -s");
}

#[track_caller]
fn check(kernel: &str, program: PaholeProgram, theirs: &str) {
    let _turn = wait_for_memory();
    let vmlinux = vmlinux(kernel);
    let allowed = differences(kernel, program, theirs);
    let ours = theirs.replace("-F dwarf", "").replace("-F btf", "--btf");
    let place = Place::new();
    match (kernel, theirs.contains("dwarf")) {
        // Without Rust, which the BTF has not either: pahole does not read it whole.
        ("newest" | "newest-arm64", true) => {
            let theirs = format!("{theirs} --lang_exclude=rust");
            let printed =
                peer::check_contained(&place, &vmlinux, program, &ours, &theirs, &allowed);
            assert!(printed > 1000, "pahole printed {printed} types");
        }
        _ => peer::check_with(&place, &vmlinux, program, &ours, theirs, &allowed),
    }
}

/// Returns at once where two of pahole have room, and otherwise waits until no other one runs.
fn wait_for_memory() -> Option<MutexGuard<'static, ()>> {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap();
    let available = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:")?.strip_suffix("kB"))
        .and_then(|kib| kib.trim().parse::<u64>().ok());
    let has_room = available.is_some_and(|kib| kib >= 2 * PAHOLE_KIB);
    (!has_room).then(|| PAHOLE.lock().unwrap_or_else(PoisonError::into_inner))
}

#[track_caller]
fn vmlinux(kernel: &str) -> PathBuf {
    match kernel {
        "current" => relayout_testkit::vmlinux(),
        _ => relayout_testkit::further_vmlinux(kernel),
    }
}

/// Those listed for the kernel, the release and the options.
fn differences(kernel: &str, program: PaholeProgram, theirs: &str) -> Vec<&'static str> {
    let rows = DIFFERENCES
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    let row = |line: &'static str| line.split_once(": ").expect("KERNEL RELEASE OPTIONS: TYPE");
    let wanted = format!("{kernel} {} {theirs}", program.release());
    let rows = rows.map(row).filter(|(place, _)| *place == wanted);
    rows.map(|(_, head)| head.trim()).collect()
}
