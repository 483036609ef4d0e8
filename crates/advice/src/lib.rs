//! From a resolved profile to findings, candidate layouts and a recommendation.
//!
//! This crate decides: which lines contend most, which layouts are worth showing, which one is recommended, and why not.
//! It opens no file and starts no process. `relayout-session` opens profiles, debug files and source trees for it.
//!
//! Advice has stages with a type each:
//!
//! ```text
//! ContendedType    a type with transfers, or the reason why it has no order to change: ContendedVariable
//!                  if the findings of a variable say what to do
//! GatheredType     its recorded objects and accesses
//! SearchedType     candidate layouts, scored by replay
//! AdvisedType      with guarded stores, scores in other scenarios, predicted gains, and doubts
//! ```
//!
//! [`gather_types`], [`search_types`] and [`predict_changes`] run them. [`score_layouts`] scores given layouts only.

#![cfg_attr(
    not(test),
    deny(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        clippy::print_stderr,
        clippy::print_stdout
    )
)]

mod accesses;
mod advised_type;
mod configuration;
mod crowded;
mod doubts;
mod experiment;
mod findings;
mod forbidden;
mod freed_lines;
mod gains;
mod gathered;
mod guards;
mod inner_types;
mod judgement;
mod layout_edits;
mod layout_files;
mod layout_pool;
mod line_changes;
mod machine;
mod mapped_objects;
mod names;
mod object_rows;
mod objects;
mod order;
mod quick_search;
mod recommended;
mod resolved_profile;
mod rust_struct;
mod scenarios;
mod search_request;
mod searched;
mod simulated_layouts;
mod stages;
mod subject;
mod variables;
mod waiting;
mod what_if;

pub use accesses::MemberAccesses;
pub use advised_type::AdvisedType;
pub use configuration::{ConfigurationBuild, shape_in_catalog};
pub use crowded::CrowdedLayouts;
pub use doubts::AdviceDoubt;
pub use experiment::{
    BenchEffect, ChangeRejection, EffectSubject, LayoutExperiment, LayoutOutcome, LayoutTrial,
    TrialRules, TrialStage, TriedLayout, effects_of,
};
pub use findings::{rank_findings, recorded_member, recorded_name, recorded_names};
pub use forbidden::ForbiddenLayout;
pub use freed_lines::{FindingLines, FreedLine};
pub use gains::predict_gains;
pub use gathered::{GatheredType, element_instructions, gather_type};
pub use guards::{GuardAdvice, GuardableStore, StoreCounts};
pub use inner_types::{InnerType, inner_types};
pub use judgement::{
    FindingSaving, LayoutOutlook, TypeJudgement, TypeJudgements, advised_judgements, deciding_type,
    finding_saving, judged_type_name, layout_outlook, sort_by_saving,
};
pub use layout_edits::{LayoutEdits, MemberBytes, MemberMove, MovePosition};
pub use layout_files::{LayoutFile, is_standard_input, verify_layout_files};
pub use layout_pool::LayoutPool;
pub use line_changes::{LineChange, NamedUses, line_changes, placement_reason};
pub use machine::ProbedMachine;
pub use mapped_objects::{MappedObjects, TypeMapping};
pub use names::{ResolvedNames, is_library_file};
pub use objects::{ContendedType, SizeEffects, struct_offsets};
pub use order::{
    BorderReason, FirstMember, FirstMemberPin, OrderEvidence, OrderNames, SourceSearch, SourceUses,
};
pub use quick_search::judge_findings;
pub use recommended::{LayoutChoice, PoolLayout, RecommendationLimits};
pub use resolved_profile::{LINE_BYTES_DEFAULT, ResolvedProfile};
pub use rust_struct::{RustSourceFacts, RustStructRules};
pub use scenarios::{OtherScenario, ScenarioKind, ScenarioScores, add_workload_scores};
pub use search_request::SearchRequest;
pub use searched::{SearchedType, score_layouts};
pub use simulated_layouts::{
    CheckedLayout, LayoutSimulated, LayoutSimulator, MostWaited, ProposedLayout, SimulatedChange,
    SimulatedPoint, SimulatedType, SimulatedWindow, simulate_best,
};
pub use stages::{gather_types, predict_changes, search_types};
pub use subject::{AdvisedSubject, LocalDeclaration};
pub use variables::{ContendedVariable, split_advised_variables};
pub use waiting::{LockWaiting, NamedWaiting, WaitedLine, WaitedObject, WaitedSite, name_waiting};
pub use what_if::score_given_layouts;
