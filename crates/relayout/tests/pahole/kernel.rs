//! All structs and unions of the cached kernel, byte for byte.

use std::path::PathBuf;

use relayout_host::Cache;

use crate::common::Place;
use crate::peer;

#[test]
fn all_types_from_dwarf() {
    check("", "-F dwarf");
}

#[test]
fn all_types_from_btf() {
    check("--btf", "-F btf");
}

fn check(ours: &str, theirs: &str) {
    if let Some(vmlinux) = vmlinux() {
        peer::check(&Place::new(), &vmlinux, ours, theirs);
    }
}

fn vmlinux() -> Option<PathBuf> {
    let found = Cache::locate().and_then(|cache| cache.debug());
    if found.is_none() {
        peer::missing("no vmlinux in the cache: run scripts/setup.sh");
    }
    found.filter(|_| peer::is_installed())
}
