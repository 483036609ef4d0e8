//! All structs and unions of the cached kernel, byte for byte.

use std::sync::{Mutex, PoisonError};

use crate::common::Place;
use crate::peer;

/// Types that are meant to differ.
const DIFFERENCES: &str = include_str!("differences.txt");

#[test]
fn all_types_from_dwarf() {
    check("", "-F dwarf");
}

#[test]
fn all_types_from_btf() {
    check("--btf", "-F btf");
}

#[test]
fn all_types_expanded_from_dwarf() {
    check("--expand", "-F dwarf -E");
}

#[test]
fn all_types_expanded_from_btf() {
    check("--expand --btf", "-F btf -E");
}

#[test]
fn sizes() {
    check("--sizes", "-F dwarf -s");
}

/// One pahole at a time: each takes 3 GB.
static PAHOLE: Mutex<()> = Mutex::new(());

#[track_caller]
fn check(ours: &str, theirs: &str) {
    let _only = PAHOLE.lock().unwrap_or_else(PoisonError::into_inner);
    peer::require_pahole();
    let allowed = differences(theirs);
    let vmlinux = relayout_testkit::vmlinux();
    peer::check(&Place::new(), &vmlinux, ours, theirs, &allowed);
}

/// Those listed for pahole with these options.
fn differences(theirs: &str) -> Vec<&'static str> {
    let rows = DIFFERENCES.lines().filter(|line| !line.starts_with('#'));
    let row = |line: &'static str| line.split_once(':').expect("OPTIONS: TYPE");
    let rows = rows.map(row).filter(|(options, _)| *options == theirs);
    rows.map(|(_, head)| head.trim()).collect()
}
