//! Advice with what lies outside of a profile: layout files, source trees, builds, other recordings, and patches.
//!
//! `relayout-advice` decides. [`advise_types`] opens what it asks for, and edits the source.

mod advised;
mod compile_test;
mod layout_files;
mod order_uses;
mod patch;
mod rust_sources;
mod save;

pub use advised::{AdviceRequest, AdviceRun, PatchedType, advise_types};
pub use compile_test::{CompileTest, CompileVerdict};
pub use layout_files::read_layout_files;
pub use patch::{CommentToReview, EditedCandidate, PatchOutcome, PatchReach, WrittenPatch};
pub use save::{HARDWARE_SCRIPT, rejected_path, write_hardware_script, write_mails};
