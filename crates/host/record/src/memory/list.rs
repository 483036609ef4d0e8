//! The kernel's linked lists.

use super::paging::GuestMemory;

/// Most entries followed: the lists are the guest's, and may be broken.
const ENTRIES_MAX: usize = 100_000;

/// Returns the structs behind `first` on a circular list whose node is at `node_offset` in each, up to
/// `end` (the address of the node or head at which it closes). A broken list that closes elsewhere
/// ends after the second round at the latest.
pub fn follow_list(memory: &GuestMemory<'_>, first: u64, node_offset: u64, end: u64) -> Vec<u64> {
    let mut entries = Vec::new();
    let start = first.wrapping_add(node_offset);
    let mut node = start;
    // Brent's search for a cycle: a node of each power of two is awaited.
    let (mut awaited, mut awaited_until) = (node, 1);
    while let Some(next) = memory.read_u64(node) {
        if [end, start, awaited].contains(&next) || entries.len() >= ENTRIES_MAX {
            break;
        }
        entries.push(next.wrapping_sub(node_offset));
        node = next;
        if entries.len() == awaited_until {
            (awaited, awaited_until) = (node, 2 * awaited_until);
        }
    }
    entries
}
