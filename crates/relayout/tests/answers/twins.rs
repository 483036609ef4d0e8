//! The twins of published programs in `benches/twins/`: their layouts, and their results.

use std::path::Path;

use relayout_testkit::require_programs;

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

#[test]
fn twins_have_the_published_layouts_and_right_results() {
    require_programs(&["make", "cc"]);
    let twins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/twins");
    let out = build_programs(&twins);
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
