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

mod advise;
pub mod change;
mod checked;
mod constraint;
mod coverage;
mod draft;
mod elsewhere;
mod front;
mod held_out;
mod interval;
mod mapping;
pub mod order;
mod pairs;
mod random;
mod rewrite;
mod score;
mod slab;
mod subject;
mod worst;

pub use advise::{Advice, Given, LeftOut, Options, Scored, Verdict, advise};
pub use change::Change;
pub use checked::{Checked, checked, with_checks};
pub use constraint::{Refusal, pinned_first, refusal};
pub use elsewhere::{Elsewhere, elsewhere};
pub use interval::Interval;
pub use rewrite::Bound;
pub use score::{Memory, PerOperation, waits_by_stretch};
pub use subject::{Code, Home, Instance, Subject};
