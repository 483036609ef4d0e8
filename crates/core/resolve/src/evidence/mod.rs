//! Evidence about memory operands: the type that an instruction accesses, by its function's code
//! and debug information.

mod calls;
pub mod code;
mod facts;
pub mod flow;
pub mod knowledge;
pub mod program;
mod site_evidence;
pub mod sites;
mod state;
mod value;
pub mod variables;
mod walk;

pub use flow::AnalysedFunction;
pub use knowledge::{
    CallEffect, FramePlace, LocalVariable, OperandEvidence, OperandQuery, TypeEvidence,
    TypeKnowledge, ValueHome, VariableFact,
};
pub use program::{AnalysedProgram, FileView};
pub(crate) use site_evidence::SiteCode;
pub use site_evidence::SiteEvidence;
pub use sites::SiteTable;
pub use value::{AbstractValue, EvidenceTrust, TypedPointer, Via};
pub use variables::{FrameVariable, FunctionVariables};
