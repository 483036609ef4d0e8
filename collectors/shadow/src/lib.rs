//! The online coherence shadow that relayout's collectors share.
//!
//! `no_std`, no allocation through the global allocator, no I/O: the collector brings memory and
//! a place to append to.
#![cfg_attr(not(test), no_std)]

pub mod wire;
