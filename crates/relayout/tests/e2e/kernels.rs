//! Kernels whose memory has other forms than the default one's: typed page types, masks of compound
//! pages, areas by node, sheaves, per-cpu variables in the image.

use serde_json::{Value, json};

use crate::stand::Stand;

/// Least part of the transfers that have a name, of those on memory that can have one.
const RESOLVED_MIN: f64 = 0.95;
/// The same of arm64 kernels.
const ARM64_RESOLVED_MIN: f64 = 0.90;
const WORKLOADS: [&str; 8] = [
    "mntns",
    "mmap1",
    "stat-one",
    "execl",
    "page_fault2",
    "pipe",
    "tlb",
    "sock",
];

/// A place for recordings of a further kernel.
#[track_caller]
fn stand_with(kernel: &str) -> Stand {
    let stand = Stand::new();
    let image = format!("kernel/{kernel}/vmlinuz");
    relayout_testkit::require_file(&image, &stand.cache.join(&image));
    stand
}

/// Records a workload, and checks that all readers of the guest's memory understood the kernel.
#[track_caller]
fn check_workload(stand: &Stand, words: &str, resolved_min: f64) -> Value {
    stand.record(&format!("--force {words}"));
    let report = stand.report();
    assert_eq!(report["left_out_readers"], json!([]), "{words}");
    let share = &report["resolved_share_without_content"];
    let share = share.as_f64().expect("a number");
    assert!(
        share >= resolved_min,
        "{words}: resolved {share}: {}",
        report["unresolved"]
    );
    report
}

#[track_caller]
fn check_kernel(kernel: &str, resolved_min: f64) {
    let stand = stand_with(kernel);
    for workload in WORKLOADS {
        let words = format!("--kernel {kernel} --workload {workload}");
        check_workload(&stand, &words, resolved_min);
    }
}

/// The lock that 6.1 contends for most is still among the first, and `mm_count` has left its line.
#[test]
fn the_newest_kernel_is_recorded() {
    let stand = stand_with("newest");
    let report = check_workload(&stand, "--kernel newest --workload mmap1", RESOLVED_MIN);
    let findings = report["findings"].as_array().expect("findings");
    let with_member = |name: &str| -> Vec<&Value> {
        let has_it = |finding: &&Value| {
            let members = finding["members"].as_array().into_iter().flatten();
            finding["type"] == "mm_struct" && { members }.any(|member| {
                let found = member["name"].as_str().unwrap_or_default();
                found.starts_with(name)
            })
        };
        findings.iter().filter(has_it).collect()
    };
    let lock = with_member("mmap_lock");
    assert!(lock[0]["rank"].as_u64() <= Some(10), "{:#}", lock[0]);
    let count = with_member("mm_count");
    let shares_its_line = count.iter().any(|finding| lock.contains(finding));
    assert!(!shares_its_line, "{count:#?}");
}

#[test]
#[ignore = "needs 3 minutes"]
fn the_default_kernel_is_resolved() {
    check_kernel("current", RESOLVED_MIN);
}

#[test]
#[ignore = "needs a further kernel: scripts/setup.sh --kernel 5.10"]
fn the_kernel_5_10_is_resolved() {
    check_kernel("5.10", RESOLVED_MIN);
}

#[test]
#[ignore = "needs arm64 kernels: scripts/setup.sh --kernel 5.10-arm64"]
fn the_arm64_kernel_5_10_is_resolved() {
    check_kernel("5.10-arm64", ARM64_RESOLVED_MIN);
}

#[test]
#[ignore = "needs a further kernel: scripts/setup.sh --kernel 6.12"]
fn the_kernel_6_12_is_resolved() {
    check_kernel("6.12", RESOLVED_MIN);
}

#[test]
#[ignore = "needs a further kernel: scripts/setup.sh --kernel newest"]
fn the_newest_kernel_is_resolved() {
    check_kernel("newest", RESOLVED_MIN);
}

#[test]
#[ignore = "needs arm64 kernels: scripts/setup.sh --arm64"]
fn the_arm64_kernel_6_12_is_resolved() {
    check_kernel("6.12-arm64", ARM64_RESOLVED_MIN);
}

#[test]
#[ignore = "needs arm64 kernels: scripts/setup.sh --kernel 6.1-arm64"]
fn the_arm64_kernel_6_1_is_resolved_and_patched() {
    check_kernel("6.1-arm64", ARM64_RESOLVED_MIN);
    check_patch("6.1-arm64");
}

#[test]
#[ignore = "needs arm64 kernels: scripts/setup.sh --kernel newest-arm64"]
fn the_newest_arm64_kernel_is_resolved() {
    check_kernel("newest-arm64", ARM64_RESOLVED_MIN);
}

/// Records `mntns`, and patches `struct pcpu_chunk` in the source of the default kernel, which is of
/// the same version.
#[track_caller]
fn check_patch(kernel: &str) {
    let stand = Stand::new();
    stand.record(&format!("--kernel {kernel} --workload mntns"));
    let source = stand.cache.join("source/current");
    let words = format!(
        "advise out pcpu_chunk --source {} --patch chunk.patch --force",
        source.display()
    );
    let ended = stand.run(&words);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let patch = std::fs::read_to_string(stand.place.path("chunk.patch")).expect("a patch");
    assert!(
        patch.contains("--- a/mm/percpu-internal.h"),
        "{patch}\n{ended:?}"
    );
}

/// A CPU without atomic instructions, and one with 52-bit addresses.
#[test]
#[ignore = "needs arm64 kernels: scripts/setup.sh --kernel newest-arm64"]
fn other_arm64_cpus_are_recorded() {
    for cpu in ["cortex-a72", "max"] {
        let stand = Stand::new();
        let words = "--kernel newest-arm64 --workload mntns --iterations 20";
        stand.record(&format!("{words} -- -cpu {cpu}"));
        let report = stand.report();
        assert_eq!(report["left_out_readers"], json!([]), "{cpu}");
        let share = report["resolved_share"].as_f64().expect("a number");
        assert!(share >= ARM64_RESOLVED_MIN, "{cpu}: resolved {share}");
    }
}
