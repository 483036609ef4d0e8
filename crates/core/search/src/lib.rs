//! What would be better: other layouts of a type, scored by replaying its recorded accesses.
//!
//! [`advise()`] tries every move of one member and of two, every alignment of a member to the cache line
//! or of the type, and rewrites that decide for all accessed members at once, within what C allows and
//! what was recorded. It keeps those that nothing beats in transfers, bytes and members moved, and
//! says how far from the best possible they are. A layout of the user's is scored the same way: see
//! [`order::parse`].
//!
//! Values in, values out: no files, no processes, no terminal. The same input gives the same
//! output, whatever the number of threads.

mod advice;
mod advise;
mod candidate;
pub mod change;
mod constraint;
mod coverage;
mod held_out;
mod interval;
mod mapping;
mod options;
pub mod order;
mod other_build;
mod pair_transfers;
mod pareto_front;
mod rewrite;
mod score;
mod slab;
mod store_guard;
mod subject;
mod worst_build;

pub use advice::{
    AdviceVerdict, LayoutAdvice, RankedLayout, ScoredLayout, SkippedCandidates, UserLayout,
};
pub use advise::advise;
pub use change::LayoutChange;
pub use constraint::{AdviceRefusal, pinned_first_member, refusal};
pub use interval::ChangeInterval;
pub use options::Options;
pub use other_build::{VariantScore, score_in_build};
pub use rewrite::TransferBound;
pub use score::{EventsPerOperation, MemoryCost, waits_by_stretch};
pub use store_guard::{GuardedAdvice, advise_with_guards, guard_stores};
pub use subject::{AccessingCode, AdviceSubject, ObjectHome, RecordedInstance};
