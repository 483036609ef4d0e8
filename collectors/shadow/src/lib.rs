//! The online coherence shadow that relayout's collectors share.
//!
//! A collector calls [`ShadowMemory::access`] for every data access of a context (a CPU or a
//! thread). The shadow keeps, per cache line, who holds a copy and who wrote which bytes, as a MESI
//! machine with infinite caches would; it counts coherence events by the pair of accesses behind
//! them, counts accesses by granule and site where a line is written and shared, and logs the
//! ordered accesses around lines that prove hot.
//!
//! `no_std`, no I/O, no global allocator: the collector brings memory and a place to append to
//! through [`CollectorHost`]. Lines that one context has to itself cost one load and one compare.
//!
//! What the terms mean is in `docs/glossary.md`; how records leave is in [`wire`].
#![cfg_attr(not(test), no_std)]

mod arena;
mod burst;
mod context;
mod context_set;
pub mod control;
mod detail;
mod detail_hit;
mod fast_path;
mod host;
mod log;
mod page;
mod pair;
mod pair_watching;
mod past;
mod record_buffer;
mod shadow;
mod table;
mod visit;
pub mod wire;

pub use context::ShadowContext;
pub use host::{
    AccessFacts, AccessKind, AccessValue, CollectorHost, PAIR_PERIOD, ShadowConfig, StoreEffect,
};
pub use shadow::ShadowMemory;

/// Bytes of a cache line.
pub const LINE_BYTES: usize = 64;
/// Bytes of a page of the shadow (not of the machine's MMU).
pub const PAGE_BYTES: usize = 4096;
/// Lines of a page.
pub const LINES_PER_PAGE: usize = PAGE_BYTES / LINE_BYTES;
/// Bytes of a region: what is logged in order once a line in it is hot.
pub const REGION_BYTES: usize = 512;
/// Regions of a page.
pub const REGIONS_PER_PAGE: usize = PAGE_BYTES / REGION_BYTES;
/// Most contexts that can be told apart.
pub const CONTEXTS_MAX: usize = 1024;
/// Contexts that threads of programs get before one gets the context of a thread that has ended, so
/// that the accesses of two threads stay apart. Each takes memory and a file.
pub const FRESH_CONTEXTS: usize = 48;
