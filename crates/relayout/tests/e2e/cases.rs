//! Known cases are found in recordings of the workloads that show them.

use serde_json::Value;

use crate::stand::Stand;

/// The member order that fixed `pcpu_chunk` upstream.
const ACCEPTED: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/layouts/pcpu_chunk-accepted.txt"
);

/// All members, by name, of findings for which `wanted` holds.
fn members(report: &Value, wanted: impl Fn(&Value) -> bool) -> Vec<String> {
    let findings = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|f| wanted(f));
    let members = findings.flat_map(|f| f["members"].as_array().unwrap());
    members
        .map(|m| m["name"].as_str().unwrap().to_owned())
        .collect()
}

fn goes_through(finding: &Value, name: &str) -> bool {
    finding["types_path"]
        .as_array()
        .unwrap()
        .iter()
        .any(|t| t == name)
}

#[track_caller]
fn check_resolved(report: &Value) {
    let share = report["resolved_share"].as_f64().unwrap();
    assert!(
        (0.70..=1.0).contains(&share),
        "resolved {share}: {}",
        report["unresolved"]
    );
}

#[track_caller]
fn check_has(members: &[String], wanted: &[&str]) {
    for name in wanted {
        assert!(
            members.iter().any(|m| m == name),
            "{name} is not in {members:?}"
        );
    }
}

/// Commit 3a6358c0dbe6 ("percpu-internal/pcpu_chunk: re-layout pcpu_chunk structure to reduce false
/// sharing"): readers of `base_addr` against the allocator's writes of `free_bytes` and `chunk_md`.
#[test]
fn mntns_shows_pcpu_chunk_and_what_its_fix_does() {
    let stand = Stand::new();
    stand.record("--workload mntns");
    let report = stand.report();
    check_resolved(&report);
    assert_eq!(report["runs"][0]["complete"], true);
    let each = relayout_record::find_workload("mntns").unwrap().iterations;
    assert_eq!(report["runs"][0]["operations"], 4 * each);

    let first = report["findings"].as_array().unwrap().iter().take(10);
    let finding = first.clone().find(|f| f["type"] == "pcpu_chunk").unwrap();
    // Inwards to the member with the most transfers, which is not always the same one.
    let path = finding["types_path"].as_array().unwrap();
    assert_eq!(path[0], "pcpu_chunk");
    let inner = ["list_head", "pcpu_block_md"];
    assert!(
        path[1..].iter().all(|t| inner.iter().any(|i| t == i)),
        "{path:?}"
    );
    let names = members(&report, |f| f == finding);
    check_has(&names, &["base_addr"]);
    assert!(
        names
            .iter()
            .any(|n| n == "free_bytes" || n.starts_with("chunk_md.")),
        "{names:?}"
    );

    let function = |side: &Value| side["function"].as_str().unwrap_or_default().to_owned();
    let opposed = finding["pairs"].as_array().unwrap().iter().any(|pair| {
        let sides = [function(&pair["here"]), function(&pair["there"])];
        sides
            .iter()
            .any(|f| f == "pcpu_alloc" || f == "free_percpu")
            && sides
                .iter()
                .any(|f| f == "pcpu_alloc_area" || f == "pcpu_free_area")
    });
    assert!(opposed, "{}", finding["pairs"]);

    check_accepted_layout(&stand);
}

fn check_accepted_layout(stand: &Stand) {
    let advice = stand.json(&format!("advise out --json pcpu_chunk --layout {ACCEPTED}"));
    let advised = &advice["types"][0];
    assert_eq!(advised["name"], "pcpu_chunk");
    let (today, given) = (&advised["current"], &advised["given"][0]);
    assert_eq!((&today["size"], &given["size"]), (&136.into(), &192.into()));
    let false_sharing = |layout: &Value| layout["false_first_touch"].as_u64().unwrap();
    assert!(false_sharing(today) > 0, "{today}");
    assert!(
        false_sharing(given) * 10 < false_sharing(today) * 7,
        "{given} against {today}"
    );

    let what_if = stand.json(&format!(
        "what-if out pcpu_chunk --json --layout {ACCEPTED}"
    ));
    assert_eq!(what_if["current"]["transfers"], today["transfers"]);
    assert_eq!(what_if["given"]["transfers"], given["transfers"]);
}

#[test]
fn mmap1_shows_mmap_lock_and_its_spin_nodes() {
    let stand = Stand::new();
    stand.record("--workload mmap1 --iterations 400");
    let report = stand.report();
    check_resolved(&report);
    let lock = members(&report, |f| {
        f["type"] == "mm_struct" && goes_through(f, "rw_semaphore")
    });
    check_has(
        &lock,
        &["mmap_lock.count.counter", "mmap_lock.owner.counter"],
    );
    let nodes = members(&report, |f| f["type"] == "optimistic_spin_node");
    check_has(&nodes, &["cpu"]);
    assert!(
        nodes.iter().any(|n| n == "next" || n == "locked"),
        "{nodes:?}"
    );
}

#[test]
fn tlb_shows_call_single_data() {
    let stand = Stand::new();
    stand.record("--workload tlb --iterations 150");
    let report = stand.report();
    check_resolved(&report);
    let names = members(&report, |f| goes_through(f, "__call_single_data"));
    assert!(names.iter().any(|n| n.ends_with("llist.next")), "{names:?}");
}

#[test]
fn page_fault2_shows_page_counter() {
    let stand = Stand::new();
    stand.record("--workload page_fault2 --iterations 2000");
    let report = stand.report();
    check_resolved(&report);
    let names = members(&report, |f| goes_through(f, "page_counter"));
    assert!(
        names.iter().any(|n| n.ends_with("usage.counter")),
        "{names:?}"
    );
}

/// The same members contend in simulated time, in windows of 2 ms.
#[test]
fn known_findings_in_simulated_time() {
    let mut stand = Stand::new();
    stand.keep_snapshots();
    let check = |workload: &str, type_name: &str, wanted: &[&str]| {
        stand.record(&format!(
            "--force --memory 512M --workload {workload} --machine sapphire-rapids-2s --simulate 2ms"
        ));
        let report = stand.report();
        let names = members(&report, |f| goes_through(f, type_name));
        for member in wanted {
            let is_member = |name: &String| name.ends_with(member);
            assert!(names.iter().any(is_member), "{member} is not in {names:?}");
        }
    };
    check("mntns", "pcpu_chunk", &["base_addr", "free_bytes"]);
    check("mmap1", "mm_struct", &["mmap_lock.count.counter"]);
    check("fcopy", "optimistic_spin_node", &["cpu", "next", "locked"]);
    check("stat-one", "dentry", &["d_lockref.lock_count"]);
    check("tlb", "__call_single_data", &["llist.next"]);
    check("page_fault2", "page_counter", &["usage.counter"]);
}

/// The older plugin interface does not show values: silent stores are unknown, not zero.
#[test]
fn older_qemu_records_without_values() {
    let stand = Stand::new();
    let qemu = stand.cache.join("qemu/api1/qemu-system-x86_64");
    relayout_testkit::require_file("QEMU with the older plugin interface", &qemu);
    stand.record(&format!(
        "--workload mntns --iterations 20 --qemu {}",
        qemu.display()
    ));
    let report = stand.report();
    check_resolved(&report);
    assert_eq!(report["machine"]["values_seen"], false);
    assert!(
        report["machine"]["collector"]
            .as_str()
            .unwrap()
            .contains("interface 1")
    );
    let findings = report["findings"].as_array().unwrap();
    let members = || {
        findings
            .iter()
            .flat_map(|f| f["members"].as_array().unwrap())
    };
    assert!(members().count() > 0);
    assert!(members().all(|m| m["silent_writes"].is_null()));
}

/// Large machines have many possible CPUs, each with memory of its own.
#[test]
#[ignore = "takes a minute: the kernel makes room for 250 CPUs"]
fn guest_with_room_for_more_cpus() {
    let stand = Stand::new();
    stand.record("--workload mntns --cpus 2 --iterations 40 -- -smp 2,maxcpus=250");
    let report = stand.report();
    assert_eq!(report["machine"]["contexts"], 2);
    check_resolved(&report);
}

#[test]
fn guest_with_cpus_of_qemus_arguments() {
    let stand = Stand::new();
    stand.record("--force --workload mntns --cpus 2 --iterations 40 -- -smp 3");
    let report = stand.report();
    assert_eq!(
        report["machine"]["contexts"], 3,
        "QEMU's arguments say more"
    );
    check_resolved(&report);
}
