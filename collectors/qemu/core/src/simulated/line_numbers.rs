//! Numbers of the lines that a CPU accesses, by address.
//!
//! A line of the kernel is known by its address. One of a program is known by its address in the kernel's
//! direct map, so that programs that share memory share its lines, with the kernel, too. Pages of the recorded program
//! whose objects are said to lie elsewhere are known by the program's addresses: neighbours in these are none in the
//! direct map.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::sync::atomic::Ordering::Relaxed;

use relayout_machine::{IndexTable, LineNumber};

use super::SimulatedGuest;
use crate::api;
use crate::callbacks::{FIXMAP, KERNEL};

/// Bits of an address within its page.
const PAGE_BITS: u32 = 12;

/// Where pages of the program that a CPU executes are, as its accesses showed.
#[derive(Default)]
pub struct ProgramPages {
    /// Address of each page in the direct map, by the number of the page in the program's addresses.
    ///
    /// The table keeps all pages. If two pages shared a slot, accesses to them in turns would never be ordered.
    pages: RefCell<IndexTable<u64>>,
    /// Changes of page tables that all CPUs heard of when the pages were last looked at.
    changes: Cell<u64>,
}

impl ProgramPages {
    /// Returns where the byte at an address of the program is in the direct map; `None` if its page is unknown.
    fn find(&self, vaddr: u64) -> Option<u64> {
        let place = self.pages.borrow().get(vaddr >> PAGE_BITS)?;
        Some(place + vaddr % (1 << PAGE_BITS))
    }

    /// Notes where the byte at an address of the program is in the direct map.
    fn note(&self, vaddr: u64, place: u64) {
        let page = place & !((1 << PAGE_BITS) - 1);
        *{ self.pages.borrow_mut() }.get_or_insert(vaddr >> PAGE_BITS, page) = page;
    }

    /// Forgets all pages: the CPU's page tables, or what it knows of them, changed.
    pub fn forget(&self) {
        self.pages.borrow_mut().clear();
    }

    /// Forgets all pages if page tables have changed since, of which all CPUs hear.
    fn follow(&self, changes: u64) -> &Self {
        if self.changes.replace(changes) != changes {
            self.forget();
        }
        self
    }
}

impl SimulatedGuest {
    /// Returns the line of an address that CPU `n` is about to access; `None` for what is no memory that CPUs
    /// share, and for pages of a program that it has not accessed yet.
    pub fn line_before(&self, n: usize, vaddr: u64) -> Option<LineNumber> {
        let address = match vaddr {
            ..KERNEL if self.has_moved_page(n, vaddr) => vaddr,
            ..KERNEL => self.program_pages(n).find(vaddr)?,
            FIXMAP.. => return None,
            _ => vaddr,
        };
        Some(self.moved_bytes.line_of(address))
    }

    /// Returns the line of an address that CPU `n` has accessed, in the callback of that access.
    pub fn line_after(&self, n: usize, info: u32, vaddr: u64) -> Option<LineNumber> {
        let known = self.line_before(n, vaddr);
        if known.is_some() || vaddr >= KERNEL {
            return known;
        }
        let start = self.options.direct_map;
        let place = start.wrapping_add(physical_address(info, vaddr)?);
        self.program_pages(n).note(vaddr, place);
        Some(self.moved_bytes.line_of(place))
    }

    /// Returns true if stores of CPU `n` to the byte at an address are left out where they change nothing. Only within a callback
    /// that reads registers.
    pub fn checks_stores(&self, n: usize, vaddr: u64) -> bool {
        self.moved_bytes.is_checked(vaddr) && (vaddr >= KERNEL || self.executes_program(n))
    }

    /// Returns true for a page of the recorded program with moved objects, if CPU `n` executes that program. Only within a
    /// callback that reads registers.
    fn has_moved_page(&self, n: usize, vaddr: u64) -> bool {
        self.moved_bytes.has_page(vaddr) && self.executes_program(n)
    }

    /// Returns true if objects of the recorded program are said to lie elsewhere.
    pub fn has_moved_program(&self) -> bool {
        self.options.program.is_some() && self.options.lines.is_some()
    }

    fn program_pages(&self, n: usize) -> &ProgramPages {
        self.seats[n]
            .program_pages
            .follow(self.page_changes.load(Relaxed))
    }
}

/// Returns the physical address of an access, in its callback; `None` for that of a device.
fn physical_address(info: u32, vaddr: u64) -> Option<u64> {
    // SAFETY: in the callback of the access; the answer is valid until the next call.
    unsafe {
        let address = api::qemu_plugin_get_hwaddr(info, vaddr);
        if address.is_null() || api::qemu_plugin_hwaddr_is_io(address) {
            return None;
        }
        Some(api::qemu_plugin_hwaddr_phys_addr(address))
    }
}

/// Forgets where pages of programs are, and which program it is, before an instruction that
/// [changes](super::decoded_instruction::PageChange) them for its CPU.
pub extern "C" fn on_changed_pages(vcpu: std::ffi::c_uint, _data: *mut c_void) {
    if let Some(seat) = super::guest().and_then(|guest| guest.seats.get(vcpu as usize)) {
        seat.program_pages.forget();
        seat.executes_program.set(None);
    }
}

/// The same for all CPUs.
pub extern "C" fn on_pages_changed_for_all(_vcpu: std::ffi::c_uint, _data: *mut c_void) {
    if let Some(guest) = super::guest() {
        guest.page_changes.fetch_add(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIRECT_MAP: u64 = 0xffff_8880_0000_0000;

    #[test]
    fn pages_are_known_until_they_change() {
        let pages = ProgramPages::default();
        assert_eq!(pages.find(0x40_1234), None);
        pages.note(0x40_1238, DIRECT_MAP + 0x7_7238);
        assert_eq!(pages.find(0x40_1fff), Some(DIRECT_MAP + 0x7_7fff));
        assert_eq!(pages.find(0x40_2000), None);
        pages.forget();
        assert_eq!(pages.find(0x40_1234), None);
        pages.note(0x40_1238, DIRECT_MAP);
        assert!(pages.follow(0).find(0x40_1234).is_some());
        assert_eq!(pages.follow(1).find(0x40_1234), None);
    }

    /// Stacks of threads are often a power of two apart.
    #[test]
    fn pages_keep_each_other() {
        let pages = ProgramPages::default();
        let distant = (0..40).map(|bit| 0x40_1000 ^ (1 << (PAGE_BITS + bit % 32)));
        let all: Vec<u64> = distant.chain((0..3000).map(|n| n << 20)).collect();
        for (&vaddr, place) in all.iter().zip(1..) {
            pages.note(vaddr, DIRECT_MAP + (place << PAGE_BITS));
        }
        assert!(all.iter().all(|&vaddr| pages.find(vaddr).is_some()));
    }
}
