//! What type a memory operand accesses, by the instruction and the code around it.

pub mod code;
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
pub use program::Program;
pub use sites::SiteEvidence;
pub use value::{Pointer, Trust, Value};
