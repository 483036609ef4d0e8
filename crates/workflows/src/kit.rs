//! A kit measures a change on a machine that has no relayout: both builds, the benchmark, and a
//! script that needs a shell. Its result comes back, is judged as `verify` judges, and is held
//! beside what was predicted and counted for the change.
//!
//! ```text
//! KIT/run         the script
//! KIT/kit.sh      its settings and commands
//! KIT/kit.json    what the kit is about; the result repeats it
//! KIT/plan        order of the starts, of programs
//! KIT/before/     both builds; of kernels, what goes below /
//! KIT/after/
//! KIT/bench/      program that measures kernels, if it is a file
//! ```

mod evidence;
mod export;
mod export_kernels;
mod files;
mod import;
mod ledger;
mod manifest;
#[cfg(test)]
mod tests;

pub use evidence::{KitEvidence, PredictedChange, PredictedGain};
pub use export::{ExportedKit, KitRequest, export_kit};
pub use export_kernels::{KernelKitRequest, export_kernel_kit};
pub use import::{EventCounts, ImportedResult, KitMachine, import_result};
pub use ledger::{Agreement, LedgerEntry, add_to_ledger, read_ledger};
pub use manifest::{KitKernels, KitManifest};
