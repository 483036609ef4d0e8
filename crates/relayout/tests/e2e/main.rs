//! The whole path on the stock kernel in the cache: record, report, advise, and everything that can
//! go wrong on the way.
//!
//! Without a kernel or QEMU in the cache each test says so and passes; with `CI=true` or
//! `RELAYOUT_E2E=1` it fails. One QEMU runs at a time.

mod cases;
#[path = "../common/mod.rs"]
mod common;
mod failures;
mod full_disk;
mod programs;
mod stand;
