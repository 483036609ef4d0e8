//! What type a memory operand accesses, by the instruction and the code around it.

mod calls;
pub mod code;
mod facts;
pub mod flow;
pub mod knowledge;
pub mod program;
pub mod sites;
mod state;
mod value;
pub mod variables;
mod walk;

pub use flow::Function;
pub use knowledge::{Call, Evidence, Fact, Home, Knowledge, Local};
pub use program::{Program, View};
pub(crate) use sites::SiteCode;
pub use sites::{SiteEvidence, Sites};
pub use value::{Pointer, Trust, Value, Via};
