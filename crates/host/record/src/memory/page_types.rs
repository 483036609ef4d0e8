//! Types of pages, from their descriptors.

mod by_flag;
mod inverted_bit;
mod typed_value;

use self::by_flag::FlaggedTypes;
use self::inverted_bit::InvertedBits;
use self::typed_value::TypedValues;
use super::lookup::{KernelLookup, MissingItem};
use super::paging::GuestMemory;

/// Type of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageType {
    /// The page is part of a slab.
    Slab,
    /// The page is a page table.
    Table,
    /// The page is free.
    Free,
    /// The page has another type.
    Other,
    /// The page has no type: it is mapped, or the kernel uses it as it likes.
    Untyped,
}

/// Form in which this kernel's descriptors tell the type.
pub enum PageTypes {
    /// A flag for slabs, inverted bits for other types (up to 6.9).
    ByFlag(FlaggedTypes),
    /// Inverted bits for all types (6.10 and 6.11).
    InvertedBit(InvertedBits),
    /// A value in the top byte (6.12 and later).
    TypedValue(TypedValues),
}

impl PageTypes {
    /// Chooses the form that the debug information has. `PG_slab` alone tells nothing: it is the
    /// number of a flag, or an inverted bit.
    pub fn find(lookup: &mut KernelLookup<'_, '_>) -> Result<Self, MissingItem> {
        if let Ok(types) = TypedValues::find(lookup) {
            return Ok(Self::TypedValue(types));
        }
        if let Ok(types) = InvertedBits::find(lookup) {
            return Ok(Self::InvertedBit(types));
        }
        FlaggedTypes::find(lookup).map(Self::ByFlag)
    }

    /// Returns the type of the page with the descriptor `head`, the first one of a compound page.
    pub fn type_of(&self, memory: &GuestMemory<'_>, head: u64) -> Option<PageType> {
        match self {
            Self::ByFlag(types) => types.type_of(memory, head),
            Self::InvertedBit(types) => types.type_of(memory, head),
            Self::TypedValue(types) => types.type_of(memory, head),
        }
    }
}
