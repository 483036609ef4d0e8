//! Every decoder, on any bytes: it answers or refuses, in bounded time and memory, and never
//! panics.
//!
//! Each function of [`targets`] is one target. They run in two ways:
//!
//! - `cargo test --release --manifest-path fuzz/Cargo.toml` (part of `./test`) runs each on its
//!   seeds, cut off everywhere, on what was written to do harm ([`hostile`]), on what is kept in
//!   `corpus/`, and on random changes of all, for a few seconds.
//!   `FUZZ_SECONDS` and `FUZZ_SEED` make it longer and different. An input that fails is written to
//!   `artifacts/`.
//! - `cargo run --release --manifest-path fuzz/Cargo.toml --example seeds` writes seeds and hostile
//!   inputs to `corpus/`, and `cargo +nightly fuzz run --features libfuzzer TARGET` starts from
//!   there. `scripts/fuzz.sh SECONDS` does so for all targets, and keeps their inputs in `work/`.
//!
//! An input that failed once goes to `corpus/TARGET/` with the fix.

pub mod hostile;
pub mod memory;
pub mod mutate;
pub mod seeds;
pub mod targets;
