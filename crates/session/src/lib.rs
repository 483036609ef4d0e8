//! From a recorded profile to findings, advice and patches.
//!
//! This is the library behind the command: it opens profiles and debug files, ranks contended cache
//! lines, searches better layouts, predicts their gain, and writes and compiles patches. It has no
//! flags and prints nothing. Steps and warnings go to a
//! [`RecordingProgress`](relayout_messages::RecordingProgress); documents and text are made by
//! `relayout-report`.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use relayout_session::{//!     ResolvedNames, rank_findings, with_resolved_profile, //!};
//! use relayout_messages::{SilentProgress, UserError};
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
pub mod compare;
mod debug_images;
mod declarations;
pub mod diff;
mod explain;
mod findings;
mod judgement;
mod kept_programs;
pub mod kit;
mod logged_command;
mod machine;
mod misplaced_paths;
mod names;
mod production;
mod profile_cache;
mod progress;
pub mod record;
mod recorded_traffic;
mod resolution_cache;
mod resolved_profile;
mod shell_word;
pub mod show;
mod source_files;
mod subject_layouts;
pub mod suite;
pub mod survey;
pub mod tune;
mod type_files;
pub mod verify;

pub use declarations::MemberDeclarations;
pub use explain::{ExplainedFinding, ExplainedInstruction, explain_finding};
pub use findings::{rank_findings, recorded_name};
pub use judgement::{
    FindingSaving, LayoutOutlook, TypeJudgement, TypeJudgements, deciding_type, finding_saving,
    judge_findings, judged_type_name, layout_outlook, run_judgements, sort_by_saving,
};
pub use relayout_probe::MachineIdentity;

pub use machine::{ProbedMachine, pair_coefficient_or_measured};
pub use misplaced_paths::{verify_debug_path, verify_profile_path};
pub use names::{ResolvedNames, is_library_file};
pub use production::{ProductionBuild, ProductionPlacement};
pub use profile_cache::{FindingsQuestion, ProfileCache, ProfileQuestion, RankedProfile};
pub use recorded_traffic::{
    NamedTraffic, ProfileTraffic, RecordedOperations, RecordingExtent, complete_recordings,
    read_named_traffic,
};
pub use resolved_profile::{ResolvedProfile, with_resolved_profile, with_verified_profile};
pub use shell_word::shell_word;
pub use source_files::{SourceFile, read_source_file, read_source_files};
pub use subject_layouts::{SubjectLayout, SubjectMember, read_subject_layouts};
pub use type_files::{debug_places, type_names_of, with_both_types, with_types};
