//! Layout advice, in stages with a type each.
//!
//! ```text
//! ContendedType    a type with transfers, or the reason why it has no order to change: ContendedVariable
//!                  if the findings of a variable say what to do
//! GatheredType     its recorded objects and accesses
//! SearchedType     candidate layouts, scored by replay
//! AdvisedType      with guarded stores, scores in other scenarios, and predicted gains
//! PatchedType      with the edit of the source
//! ```
//!
//! [`advise_types`] runs them all. [`score_layouts`] scores given layouts only.

mod accesses;
mod advised;
mod advised_type;
mod compile_test;
mod configuration;
mod crowded;
mod curves;
mod doubts;
mod forbidden;
mod gains;
mod gathered;
mod guards;
mod inner_types;
mod layout_edits;
mod layout_files;
mod layout_pool;
mod line_changes;
mod object_rows;
mod objects;
mod order;
mod patch;
mod quick_search;
mod recommended;
mod rust_struct;
mod save;
mod scenarios;
mod searched;
mod subject;
mod variables;
mod what_if;

pub use accesses::MemberAccesses;
pub use advised::{AdviceRequest, AdviceRun, PatchedType, advise_types};
pub use advised_type::AdvisedType;
pub use compile_test::{CompileTest, CompileVerdict};
pub use crowded::CrowdedLayouts;
pub use curves::{CurveRequest, predict_curves};
pub use doubts::AdviceDoubt;
pub use forbidden::ForbiddenLayout;
pub use gains::predict_gains;
pub use gathered::{GatheredType, element_instructions, gather_type};
pub use guards::{GuardAdvice, GuardableStore, StoreCounts};
pub use inner_types::{InnerType, inner_types};
pub use layout_edits::{LayoutEdits, MemberBytes, MemberMove, MovePosition};
pub use layout_files::{LayoutFile, read_layout_files, verify_layout_files};
pub use layout_pool::LayoutPool;
pub use line_changes::{LineChange, NamedUses, line_changes};
pub use objects::{ContendedType, SizeEffects, struct_offsets};
pub(crate) use objects::{known_structs, struct_names};
pub use order::{BorderReason, FirstMember, FirstMemberPin, OrderEvidence, SourceSearch};
pub use patch::{CommentToReview, EditedCandidate, PatchOutcome, PatchReach, WrittenPatch};
pub(crate) use quick_search::judge_quickly;
pub use recommended::{LayoutChoice, PoolLayout, RecommendationLimits};
pub use save::{HARDWARE_SCRIPT, rejected_path, write_hardware_script, write_mails};
pub use scenarios::{OtherScenario, ScenarioKind, ScenarioScores};
pub use searched::{SearchedType, score_layouts};
pub use subject::AdvisedSubject;
pub(crate) use subject::subject_names;
pub use variables::ContendedVariable;
pub use what_if::score_given_layouts;
