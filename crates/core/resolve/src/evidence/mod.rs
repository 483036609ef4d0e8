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

pub use flow::AnalysedFunction;
pub use knowledge::{
    CallEffect, LocalVariable, TypeEvidence, TypeKnowledge, ValueHome, VariableFact,
};
pub use program::{AnalysedProgram, FileView};
pub(crate) use sites::SiteCode;
pub use sites::{SiteEvidence, SiteTable};
pub use value::{AbstractValue, EvidenceTrust, TypedPointer, Via};
