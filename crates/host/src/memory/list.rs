//! The kernel's linked lists.

use super::paging::GuestMemory;

/// Most entries followed: the lists are the guest's, and may be broken.
const ENTRIES_MAX: usize = 100_000;

/// The structs behind `first` on a circular list whose node is at `node` in each, up to `end` (the
/// address of the node or head at which it closes).
pub fn follow(memory: &GuestMemory<'_>, first: u64, node: u64, end: u64) -> Vec<u64> {
    let mut found = Vec::new();
    let mut at = first.wrapping_add(node);
    while let Some(next) = memory.u64(at) {
        if next == end || next == first.wrapping_add(node) || found.len() >= ENTRIES_MAX {
            break;
        }
        found.push(next.wrapping_sub(node));
        at = next;
    }
    found
}
