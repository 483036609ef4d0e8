//! The kernel's linked lists.

use super::paging::GuestMemory;

/// Most entries followed: the lists are the guest's, and may be broken.
const ENTRIES_MAX: usize = 100_000;

/// The structs behind `first` on a circular list whose node is at `node` in each, up to `end` (the
/// address of the node or head at which it closes).
pub fn follow_list(memory: &GuestMemory<'_>, first: u64, node_offset: u64, end: u64) -> Vec<u64> {
    let mut entries = Vec::new();
    let mut node = first.wrapping_add(node_offset);
    while let Some(next) = memory.read_u64(node) {
        if next == end || next == first.wrapping_add(node_offset) || entries.len() >= ENTRIES_MAX {
            break;
        }
        entries.push(next.wrapping_sub(node_offset));
        node = next;
    }
    entries
}
