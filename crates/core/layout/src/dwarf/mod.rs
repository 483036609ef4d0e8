//! Reader of DWARF: an index of a file's types, variables and functions, and a lazy loader of
//! types.
//!
//! [`DwarfFile`] reads the top-level entries of every unit once, in parallel, and keeps names,
//! addresses and offsets. Bodies of functions are skipped. [`DwarfTypeLoader`] then loads types
//! with what they hold by value into a [`TypeArena`](crate::TypeArena).
//!
//! ```no_run
//! # fn main() -> Result<(), relayout_layout::Error> {
//! # let bytes: Vec<u8> = Vec::new();
//! use relayout_layout::dwarf::{DwarfFile, DwarfTypeLoader};
//! let file = DwarfFile::parse(&bytes)?;
//! let mut types = DwarfTypeLoader::new(&file);
//! if let Some(&die) = file.find_types("rw_semaphore").first() {
//!     let id = types.load(die)?;
//!     let size = types.types().size_of(id);
//! }
//! # Ok(())
//! # }
//! ```

mod abbrev;
mod companions;
mod declared_line;
mod descriptors;
mod die;
mod distinct;
mod entry;
mod file;
mod forms;
mod image;
mod index;
mod kept_index;
mod language;
mod member;
mod memory;
mod methods;
mod names;
mod non_aggregates;
mod parts;
mod scan;
mod scopes;
mod sections;
mod split;
mod supplementary;
mod symbols;
mod template_names;
mod types;
mod unit_names;
mod variants;

pub use companions::{
    CompanionFiles, HexBytes, MissingCompanion, NoCompanions, SplitUnit, SupplementaryLink,
};
pub use die::{DieOffset, Reader};
pub use file::DwarfFile;
pub(crate) use file::TypePlace;
pub use image::{ImportSlot, TlsSegment};
pub use index::{FunctionRange, GlobalVariable};
pub use language::{LanguageUnits, UnitLanguage};
pub use scopes::ScopeId;
pub use sections::SectionStore;
pub use symbols::{ElfSymbol, SymbolKind};
pub use types::DwarfTypeLoader;
pub use unit_names::TypeDefinition;
