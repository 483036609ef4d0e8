//! Resolution of addresses: from (pc, address) to (object, type, member path).
//!
//! Two sources are joined. The *address* tells the kind of memory: a variable of the image, a slot
//! of a slab cache, a page descriptor. The *instruction* tells the type that its operand points
//! into, by the debug information and by following pointers through the function ([`evidence`]).
//! Where the address alone does not name a type, the instructions that accessed the same memory
//! vote on it. The elected type then holds for every access to the object, including those of
//! instructions without evidence.
//!
//! This crate opens no file: [`resolve`] takes parsed debug files ([`DebugImages`]) and a profile.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use relayout_layout::dwarf::DwarfFile;
//! use relayout_profile::Profile;
//! use relayout_resolve::{AddressOwner, DebugImages, Options, resolve};
//!
//! let bytes = std::fs::read("vmlinux")?;
//! let debug_file = DwarfFile::parse(&bytes)?;
//! let profile = Profile::default();
//! let images = DebugImages::from_modules(&profile, &debug_file, |_| None);
//! let resolution = resolve(&profile, &images, Options::default())?;
//! for row in &profile.conflicts {
//!     let owner = resolution.address_owner(row.run, row.addr, row.size.into());
//!     if let AddressOwner::Member { object, path } = owner {
//!         println!("{}.{}", resolution.object(object).type_name, path.path);
//!     }
//! }
//! # Ok(())
//! # }
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

mod access;
mod callers;
mod error;
pub mod evidence;
mod explain;
mod images;
pub mod insn;
mod kept;
mod objects;
mod operation;
mod owner;
mod resolution;
mod share;
mod source;
pub mod types;

pub use error::Error;
pub use explain::{CountedOpinion, OpinionVerdict, SiteOpinion, TypeExplanation};
pub use images::{DebugImages, FileId, LinkedAddress, modules_used};
pub use kept::{KeptDamage, KeptEvidence};
pub use objects::{ArrayExtent, ObjectId, ObjectKind, ResolvedObject, StackVariable, VoteCounts};
pub use operation::SiteOperations;
pub use owner::{AddressOwner, UnresolvedClass};
pub use resolution::{Options, Resolution, resolve, resolve_with};
pub use share::ResolvedShare;
pub use source::{SourceFrame, SourceMap, SourceMaps, SourcePlace, readable_name};
