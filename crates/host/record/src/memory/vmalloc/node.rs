//! Areas by node: each of `vmap_nodes` has the busy areas of some stretches of vmalloc space (6.9
//! and later).

use crate::memory::list::follow_list;
use crate::memory::lookup::{KernelLookup, MissingItem};
use crate::memory::paging::GuestMemory;

/// Most nodes looked at: kernels have at most 128.
const NODES_MAX: u32 = 4096;
/// Most areas looked at. Damaged lists can give each node the same long list.
const AREAS_MAX: usize = 200_000;

/// The array of nodes.
pub struct AreaNodes {
    /// Address of the pointer to the first one.
    nodes: u64,
    /// Address of their number.
    count: u64,
    node_bytes: u64,
    /// Offset of the head of a node's list.
    busy_head: u64,
}

impl AreaNodes {
    pub fn find(lookup: &mut KernelLookup<'_, '_>) -> Result<Self, MissingItem> {
        Ok(Self {
            nodes: lookup.symbol("vmap_nodes")?,
            count: lookup.symbol("nr_vmap_nodes")?,
            node_bytes: lookup.type_bytes("vmap_node")?,
            busy_head: lookup.member("vmap_node", "busy")? + lookup.member("rb_list", "head")?,
        })
    }

    /// Returns the areas, whose node in a list is at `node_offset`.
    pub fn areas(&self, memory: &GuestMemory<'_>, node_offset: u64) -> Vec<u64> {
        let first_node = memory.read_u64(self.nodes);
        let count = memory.read_u32(self.count).unwrap_or(0).min(NODES_MAX);
        let mut areas = Vec::new();
        for number in 0..u64::from(count) {
            let Some(node) = first_node.filter(|_| areas.len() < AREAS_MAX) else {
                break;
            };
            let node = node.wrapping_add(number * self.node_bytes);
            let head = node.wrapping_add(self.busy_head);
            let first = head.wrapping_sub(node_offset);
            areas.extend(follow_list(memory, first, node_offset, head));
        }
        areas
    }
}
