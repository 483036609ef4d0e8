//! The areas of the kernel's address space: image, direct map, array of page descriptors, vmalloc
//! space.

mod aarch64;
mod x86;

use relayout_profile::{RangeKind, RangeRow, RunId};

use self::aarch64::Aarch64Areas;
use self::x86::X86Areas;
use super::lookup::KernelLookup;
use super::paging::GuestMemory;
use super::{PAGE_BYTES, range_row};
use crate::GuestMachine;

/// Finds the areas of one kernel.
pub struct AreaReader {
    /// First address of the image, and the one past its last.
    image: Option<(u64, u64)>,
    machine: MachineAreas,
}

enum MachineAreas {
    X86(X86Areas),
    Aarch64(Aarch64Areas),
}

/// Starts and sizes of the areas.
pub struct AddressAreas {
    /// Start of the direct map: address of the lowest physical memory.
    pub direct_map: u64,
    /// Bytes of physical memory, holes included.
    pub physical_bytes: u64,
    /// Address of the descriptor of the lowest physical page, if the memory tells.
    pub page_array: Option<u64>,
    /// Start and bytes of vmalloc space.
    pub vmalloc: (u64, u64),
}

impl AreaReader {
    /// Looks up what kernels of all kinds have.
    pub fn find(lookup: &KernelLookup<'_, '_>) -> Self {
        let start = lookup.symbol("_text").ok();
        let image = start.zip(lookup.symbol("_end").ok());
        let machine = match lookup.machine() {
            GuestMachine::X86 => MachineAreas::X86(X86Areas::find(lookup)),
            GuestMachine::Aarch64 => MachineAreas::Aarch64(Aarch64Areas::find(lookup, image)),
        };
        Self { image, machine }
    }

    /// Reads where the areas are. `descriptor_bytes` is the size of a page's descriptor, 0 if it is
    /// not known. `None` if the memory does not say.
    pub fn read(&self, memory: &GuestMemory<'_>, descriptor_bytes: u64) -> Option<AddressAreas> {
        match &self.machine {
            MachineAreas::X86(areas) => areas.read(memory),
            MachineAreas::Aarch64(areas) => areas.read(memory, descriptor_bytes),
        }
    }

    /// The range of the image alone.
    pub fn image_range(&self, run: RunId) -> Option<RangeRow> {
        let (start, end) = self.image?;
        let bytes = end.saturating_sub(start);
        Some(range_row(run, RangeKind::Image, start, bytes))
    }
}

impl AddressAreas {
    /// Ranges of all areas but the image. `descriptor_bytes` is the size of a page's descriptor.
    pub fn ranges(&self, run: RunId, descriptor_bytes: u64) -> Vec<RangeRow> {
        let bytes = self.physical_bytes;
        let array_bytes = bytes / PAGE_BYTES * descriptor_bytes;
        let array = { self.page_array }
            .map(|start| range_row(run, RangeKind::PageArray, start, array_bytes));
        let (vmalloc, vmalloc_bytes) = self.vmalloc;
        let mut ranges = vec![
            range_row(run, RangeKind::DirectMap, self.direct_map, bytes),
            range_row(run, RangeKind::Vmalloc, vmalloc, vmalloc_bytes),
        ];
        ranges.extend(array);
        ranges
    }
}
