//! From (pc, address) to (object, type, member path).
//!
//! Two sources are joined. The *address* says what memory it is: a variable of the image, a slot of
//! a slab cache, a page descriptor. The *instruction* says what its operand points into: the type
//! of its base register, from the debug information and from following pointers through the
//! function ([`evidence`]). Where the address alone does not name a type, the instructions that
//! touched the same memory vote on it ([`objects`]), and the winner types every access to the
//! object, those whose instruction tells nothing included.
//!
//! Nothing here opens a file: [`resolve`] takes parsed debug files ([`Images`]) and a profile.

mod access;
mod callers;
mod error;
pub mod evidence;
mod explain;
mod images;
pub mod insn;
mod kept;
mod objects;
mod owner;
mod resolution;
mod share;
mod source;
pub mod types;

pub use error::Error;
pub use explain::{CountedOpinion, OpinionVerdict, SiteOpinion, TypeExplanation};
pub use images::{DebugImages, FileId, LinkedAddress, modules_used};
pub use kept::{KeptDamage, KeptEvidence};
pub use objects::{ObjectId, ObjectKind, ResolvedObject, VoteCounts};
pub use owner::{AddressOwner, UnresolvedClass};
pub use resolution::{Options, Resolution, resolve, resolve_with};
pub use share::ResolvedShare;
pub use source::{SourceFrame, SourceMap, SourceMaps, SourcePlace};
