//! The whole path on the stock kernel in the cache: record, report, advise, and everything that can
//! go wrong on the way.
//!
//! The tests need a kernel and QEMU in the cache. Two guests run at a time.

mod cases;
mod clock;
#[path = "../common/mod.rs"]
mod common;
mod counter;
mod disks;
mod failures;
mod full_disk;
mod kernels;
mod locks;
mod modules;
mod programs;
mod simulated;
mod simulated_programs;
mod snapshots;
mod stand;
