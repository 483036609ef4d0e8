//! The twins of published programs in `benches/twins/`: their layouts, and their results.

use std::path::{Path, PathBuf};

use relayout_testkit::require_programs;
use serde_json::Value;

use crate::cases::{build_programs, run, words_of_output};

/// A program, its layout, and its access mixes; the offsets of .NET's objects are those of its runtime.
const LAYOUTS: [(&str, &str, &[&str]); 6] = [
    (
        "memory_cache-bad",
        "coherent_state 40 string_entries 8 non_string_entries 16 cache_size 24",
        &["sized", "unsized"],
    ),
    (
        "memory_cache-good",
        "coherent_state 288 string_entries 8 non_string_entries 16 cache_size 160",
        &["sized", "unsized"],
    ),
    ("profile_events-bad", "counter 8 counters 9152", &[]),
    ("profile_events-good", "counter 64 counters 73216", &[]),
    ("spsc_ring-bad", "ring 64 head 0 tail 8", &[]),
    ("spsc_ring-good", "ring 128 head 0 tail 64", &[]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn twins_have_the_published_layouts_and_right_results() {
    require_programs(&["make", "cc"]);
    let out = build_programs(&root().join("benches/twins"));
    for (name, layout, mixes) in LAYOUTS {
        let program = out.path().join(name);
        let described = words_of_output(&run(&program, &["--layout"]).stdout);
        assert_eq!(described, layout, "{name}");
        let default = ["--iterations", "5000", "--threads", "2"];
        let named = mixes
            .iter()
            .map(|mix| [&default[..], &["--mix", mix]].concat());
        for arguments in named.chain([default.to_vec()]) {
            let ended = run(&program, &arguments);
            assert!(
                ended.status.success()
                    && words_of_output(&ended.stdout).ends_with("results are right"),
                "{name} {arguments:?}: {ended:?}"
            );
        }
    }
    let three = run(&out.path().join("spsc_ring-bad"), &["--threads", "3"]);
    assert_eq!(three.status.code(), Some(2), "{three:?}");
}

#[test]
fn the_kit_for_real_cores_says_what_it_measured_and_what_it_cannot_tell() {
    require_programs(&["make", "cc", "bash", "awk"]);
    let kit = tempfile::tempdir().unwrap();
    for file in ["real-cores.sh", "lib/real-cores.awk"] {
        let source = root().join("scripts").join(file);
        std::fs::copy(&source, kit.path().join(source.file_name().unwrap())).unwrap();
    }
    let programs = build_programs(&root().join("benches/twins"));
    std::os::unix::fs::symlink(programs.path(), kit.path().join("programs")).unwrap();
    let out = kit.path().join("out");
    let arguments = ["--seconds", "0.1", "--limit", "2", out.to_str().unwrap()];
    let ended = run(&kit.path().join("real-cores.sh"), &arguments);
    assert!(ended.status.success(), "{ended:?}");

    let text = std::fs::read(out.join("result.json")).unwrap();
    let result: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(result["schema"], "relayout/real-cores/1");
    let cpus = std::thread::available_parallelism().unwrap().get();
    assert_eq!(result["machine"]["cpus"], cpus);
    let starts = result["starts"].as_array().unwrap();
    assert!(!starts.is_empty());
    for start in starts {
        // A busy machine disturbs starts; these have no result.
        let rate = &start["result"]["mops"];
        assert_eq!(start["exit_code"] == 0, rate.is_number(), "{start}");
    }
    let page = std::fs::read_to_string(out.join("result.md")).unwrap();
    assert!(
        page.contains("What this machine cannot tell:\n- "),
        "{page}"
    );
    assert!(page.contains("\n| memory_cache | good | 1 | "), "{page}");
}
