//! Opens what `relayout-advice` decides about, and keeps what it found.
//!
//! This is what a program that uses relayout starts with: it opens profiles, debug files and source trees, resolves
//! recorded objects, keeps answers in the user's cache, and writes and compiles patches. It has no flags and prints
//! nothing. Steps and warnings go to a [`RecordingProgress`](relayout_messages::RecordingProgress); documents and text
//! are made by `relayout-report`.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use relayout_advice::{ResolvedNames, rank_findings};
//! use relayout_messages::{SilentProgress, UserError};
//! use relayout_session::with_resolved_profile;
//!
//! with_resolved_profile(Path::new("out.relayout"), &[], &SilentProgress, |resolved, images| {
//!     let names = ResolvedNames::new(resolved, images);
//!     for finding in rank_findings(resolved, &names, None).findings {
//!         println!("{} {}", finding.subject.type_name(), finding.tally.transfers());
//!     }
//!     Ok::<(), UserError>(())
//! })?;
//! # Ok::<(), UserError>(())
//! ```

pub mod advise;
pub mod check;
mod debug_images;
mod declarations;
pub mod diff;
mod explain;
mod kept_judgements;
mod kept_programs;
mod machine;
mod misplaced_paths;
mod production;
mod profile_cache;
pub mod record;
mod recorded_traffic;
mod resolution_cache;
mod resolved_profile;
pub mod show;
mod source_files;
mod subject_layouts;
pub mod survey;
mod type_files;
mod waiting;

pub use debug_images::main_debug_path;
pub use declarations::MemberDeclarations;
pub use explain::{ExplainedFinding, ExplainedInstruction, explain_finding};
pub use kept_judgements::run_judgements;
pub use kept_programs::build_id_of_file;
pub use machine::{
    find_simulated_machine, is_known_machine, pair_coefficient_or_measured, read_machine,
    unknown_machine,
};
pub use misplaced_paths::{verify_debug_path, verify_profile_path};
pub use production::{ProductionBuild, ProductionPlacement};
pub use profile_cache::{FindingsQuestion, ProfileCache, ProfileQuestion, RankedProfile};
pub use recorded_traffic::{
    NamedTraffic, ProfileTraffic, RecordedOperations, RecordingExtent, complete_recordings,
    read_named_traffic,
};
pub use resolved_profile::{
    read_profile, resolve_read_profile, with_resolved_profile, with_verified_profile,
};
pub use source_files::{SourceFile, read_source_file, read_source_files};
pub use subject_layouts::{SubjectLayout, read_subject_layouts};
pub use type_files::{debug_places, type_names_of, with_both_types, with_types};
pub use waiting::{name_program_rates, name_rates};
