//! Kernels whose memory has other forms than the default one's: typed page types, masks of compound
//! pages, areas by node, sheaves, per-cpu variables in the image.

use serde_json::json;

use crate::stand::Stand;

/// Least part of the transfers that have a name.
const RESOLVED_MIN: f64 = 0.95;
const WORKLOADS: [&str; 4] = ["mntns", "mmap1", "stat", "pipe"];

#[track_caller]
fn check_kernel(kernel: &str) {
    let stand = Stand::new();
    let image = format!("kernel/{kernel}/vmlinuz");
    relayout_testkit::require_file(&image, &stand.cache.join(&image));
    for workload in WORKLOADS {
        stand.record(&format!("--force --kernel {kernel} --workload {workload}"));
        let report = stand.report();
        assert_eq!(report["left_out_readers"], json!([]), "{workload}");
        let share = report["resolved_share"].as_f64().expect("a number");
        assert!(
            share >= RESOLVED_MIN,
            "{workload}: resolved {share}: {}",
            report["unresolved"]
        );
    }
}

#[test]
#[ignore = "needs a further kernel: scripts/setup.sh --kernel 6.12"]
fn the_kernel_6_12_is_resolved() {
    check_kernel("6.12");
}

#[test]
#[ignore = "needs a further kernel: scripts/setup.sh --kernel newest"]
fn the_newest_kernel_is_resolved() {
    check_kernel("newest");
}
