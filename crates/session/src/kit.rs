//! A kit measures a change on a machine that has no relayout: both builds, the benchmark, and a
//! script that needs a shell. Its result comes back, is judged as `verify` judges, and is held
//! beside what was predicted and counted for the change.
//!
//! ```text
//! KIT/run         the script
//! KIT/kit.sh      its settings and commands
//! KIT/kit.json    what the kit is about; the result repeats it
//! KIT/plan        order of the starts
//! KIT/before/     both builds
//! KIT/after/
//! ```

mod error;
mod evidence;
mod export;
mod import;
mod ledger;
mod manifest;
mod result_text;

pub use error::KitError;
pub use evidence::{CountedChange, KitEvidence, PredictedChange};
pub use export::{ExportedKit, KitRequest, export_kit};
pub use import::{EventCounts, ImportedResult, KitMachine, import_result};
pub use ledger::{Agreement, LedgerEntry, add_to_ledger, read_ledger};
pub use manifest::KitManifest;
