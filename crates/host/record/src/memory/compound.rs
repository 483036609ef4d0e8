//! Compound pages: several pages with one use, described by the descriptor of the first.

mod by_mask;
mod by_pointer;

use super::frames::PageFrames;
use super::lookup::{KernelLookup, MissingItem};
use super::paging::GuestMemory;

/// Largest order that is believed: the kernel's largest is below.
const ORDER_MAX: u32 = 11;

/// The first page of a compound page, as this kernel's descriptors name it.
enum HeadForm {
    /// `page.compound_head`: the address of the first descriptor, plus 1.
    ByPointer { offset: u64 },
    /// `page.compound_info`: that address, or a mask for the address of the descriptor itself.
    ByMask { offset: u64 },
}

/// Reads compound pages.
pub struct CompoundPages {
    head: HeadForm,
    /// Offset of the order from the first descriptor, in its low byte; `None` if this kernel keeps
    /// it elsewhere.
    order: Option<u64>,
    descriptor_bytes: u64,
}

impl CompoundPages {
    /// Chooses the form that the debug information has.
    pub fn find(lookup: &mut KernelLookup<'_, '_>) -> Result<Self, MissingItem> {
        let descriptor_bytes = lookup.type_bytes("page")?;
        let head = match lookup.member("page", "compound_head") {
            Ok(offset) => HeadForm::ByPointer { offset },
            Err(missing) => match lookup.member("page", "compound_info") {
                Ok(offset) => HeadForm::ByMask { offset },
                Err(_) => return Err(missing),
            },
        };
        // The second page's descriptor has the order, as a member of the page or of the folio.
        let in_page = lookup.member("page", "compound_order").ok();
        let order = in_page.map(|offset| descriptor_bytes + offset).or_else(|| {
            lookup
                .first_member("folio", &["_folio_order", "_flags_1"])
                .ok()
        });
        Ok(Self {
            head,
            order,
            descriptor_bytes,
        })
    }

    /// Size of a descriptor.
    pub fn descriptor_bytes(&self) -> u64 {
        self.descriptor_bytes
    }

    /// Returns the descriptor that describes a page: of a compound page, that of its first page.
    pub fn head(
        &self,
        memory: &GuestMemory<'_>,
        frames: &PageFrames,
        descriptor: u64,
    ) -> Option<u64> {
        match self.head {
            HeadForm::ByPointer { offset } => by_pointer::head(memory, offset, descriptor),
            HeadForm::ByMask { offset } => by_mask::head(memory, frames, offset, descriptor),
        }
    }

    /// Order of the compound page at `head`; 0 if it is not one.
    pub fn order(&self, memory: &GuestMemory<'_>, frames: &PageFrames, head: u64) -> u32 {
        let next = head.wrapping_add(self.descriptor_bytes);
        let is_tail = self.head(memory, frames, next) == Some(head);
        let order = self.order.filter(|_| is_tail);
        let order = order.and_then(|offset| memory.read_u32(head.wrapping_add(offset)));
        order.map_or(0, |order| (order & 0xff).min(ORDER_MAX))
    }
}
