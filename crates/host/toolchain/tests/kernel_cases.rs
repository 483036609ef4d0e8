//! The patches of `cases/kernel`: that they apply to the source that scripts/setup.sh fetches,
//! which is what `verify kernel` looks at before it copies or builds anything.
//!
//! Needed: the kernel source (scripts/setup.sh).

use std::path::Path;

use relayout_files::CacheFolder;
use relayout_toolchain::kernel_build::{KernelBuilder, KernelPatch};

/// Patch, and whether the source has it already.
const PATCHES: &[(&str, bool)] = &[
    ("pcpu_chunk", false),
    ("mm_struct", false),
    ("call_single_data", true),
    ("optimistic_spin_node", false),
];

#[test]
fn they_apply() {
    let source = relayout_testkit::kernel_source();
    let folder = tempfile::tempdir().unwrap();
    let cache = CacheFolder::new(folder.path().to_owned());
    let builder = KernelBuilder::open(&cache, &source, None, 1).unwrap();
    let patches = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../cases/kernel");
    for &(name, is_in) in PATCHES {
        for reverse in [false, true] {
            let path = patches.join(format!("{name}.patch"));
            let patch = KernelPatch::read(&path, reverse).unwrap();
            let applies = builder.patched_files(&patch);
            assert_eq!(applies.is_ok(), reverse == is_in, "{name} {applies:?}");
        }
    }
}
