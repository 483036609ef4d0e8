//! Better layouts of a type: candidates within the rules of C, scored by replaying the recorded
//! accesses.
//!
//! [`advise()`] tries every move of one member and of two, the best third change after those, every
//! alignment of a member or of the type to the cache line, and rewrites that place all accessed
//! members at once. A candidate must
//! be legal C and must not bring members together that were never recorded together. The advice
//! holds the ranked candidates, the Pareto front (transfers, bytes, members moved) and a proven
//! lower bound for all layouts. Layouts of the user are scored in the same way: see
//! [`order::parse`].
//!
//! The crate takes values and returns values: no files, no processes, no terminal. The same input
//! gives the same output, for any number of threads.
//!
//! A layout goes through these types: an arrangement of atoms becomes a proposal with its changes,
//! a candidate with its offsets, a [`ScoredLayout`] after replay, and a [`RankedLayout`] beside all
//! others.
//!
//! ```
//! use relayout_layout::abi::StructShape;
//! use relayout_search::order::{self, MemberOrder, OrderError};
//!
//! /// A layout of the user's, in which `base_addr` starts a cache line.
//! fn user_layout(shape: &StructShape) -> Result<MemberOrder, OrderError> {
//!     order::parse("free_bytes\nbound_map\nbase_addr @64\n", shape)
//! }
//! ```

#![cfg_attr(
    not(test),
    deny(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        clippy::print_stderr,
        clippy::print_stdout
    )
)]

mod advice;
mod advise;
mod array_uses;
mod candidate;
pub mod change;
mod constraint;
mod coverage;
mod draft_estimates;
mod heap;
mod held_out;
mod interval;
mod judged_parts;
mod last_stores;
mod line_groups;
mod mapping;
mod options;
pub mod order;
mod order_rules;
mod other_build;
mod pair_transfers;
mod pareto_front;
mod places;
mod recommend;
mod rewrite;
mod rust_fields;
mod score;
mod slab;
mod source_blocks;
mod store_guard;
mod subject;
mod worst_build;

pub use advice::{
    AdviceVerdict, ComparedBy, LayoutAdvice, RankedLayout, ScoredLayout, SimulatedRatio,
    SkippedCandidates, UserLayout,
};
pub use advise::advise;
pub use change::LayoutChange;
pub use constraint::{AdviceRefusal, pinned_first_member, refusal};
pub use heap::malloc_class;
pub use interval::ChangeInterval;
pub use judged_parts::{JudgedPart, JudgedParts};
pub use line_groups::{GroupCrossing, LineGroups};
pub use mapping::{OffsetMapping, moved_stretches};
pub use options::Options;
pub use order_rules::{BrokenRule, OrderBorder, OrderRules, SizeRule};
pub use other_build::{VariantScore, score_in_build};
pub use places::{PlaceChanges, PlacedTallies};
pub use recommend::{EditSize, Recommendation, RecommendationRules, recommend};
pub use rewrite::TransferBound;
pub use rust_fields::{RustFieldRules, may_be_compiler_ordered};
pub use score::{EventsPerOperation, MemoryCost, waits_by_stretch};
pub use store_guard::{GuardedAdvice, advise_with_guards, guard_stores};
pub use subject::{AccessingCode, AdviceSubject, ObjectHome, RecordedInstance, RowObject};
