//! What type a memory operand accesses, by the instruction and the code around it.

pub mod code;
pub mod flow;
pub mod program;
pub mod sites;
mod state;
mod value;
pub mod variables;

pub use flow::{Evidence, Function};
pub use program::Program;
pub use sites::SiteEvidence;
pub use value::{Pointer, Trust, Value};
