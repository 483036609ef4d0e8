//! Profiles imported from files of perf that are written byte by byte.

#[path = "../../../perf-data/tests/perf/builder/mod.rs"]
mod builder;
mod damage;
mod import;
