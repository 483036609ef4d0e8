//! Areas in a maple tree: a B-tree by addresses, whose nodes lie at multiples of 256 bytes. The low bits of a pointer
//! to a node have its kind.

use super::MAPPINGS_MAX;
use crate::memory::lookup::{KernelLookup, MissingItem};
use crate::memory::paging::GuestMemory;

/// Bits of a pointer that are no part of the node's address.
const NODE_BITS: u64 = 0xff;
/// Bits of a pointer that have the node's kind.
const KIND_AT: u32 = 3;
const KIND_MASK: u64 = 0xf;
/// Kinds of nodes: with values, with further nodes, and with the gaps between their values, too.
const LEAF: u64 = 1;
const RANGE: u64 = 2;
const RANGE_WITH_GAPS: u64 = 3;
/// Low bits of a pointer to a node, and the last value with them that is none (XArray).
const TAG_MASK: u64 = 3;
const NODE_TAG: u64 = 2;
const RESERVED_MAX: u64 = 4096;
/// Levels of a tree, at most: a node has ten entries, or sixteen.
const LEVELS_MAX: u32 = 16;
/// Nodes of a tree that are read, at most.
const NODES_MAX: usize = 16_384;

/// Places of the entries of a kind of node.
struct NodeForm {
    /// Last addresses of the entries, but for the last entry.
    pivots: u64,
    /// Entries.
    slots: u64,
    slot_count: u64,
}

/// Offsets of the tree's root, and of its nodes' parts.
pub struct MapleAreas {
    root: u64,
    range: NodeForm,
    range_with_gaps: NodeForm,
}

/// Node that is to be read.
struct PendingNode {
    pointer: u64,
    /// Last address that it has entries for.
    last: u64,
    level: u32,
}

impl NodeForm {
    fn find(lookup: &mut KernelLookup<'_, '_>, name: &str) -> Result<Self, MissingItem> {
        let word = size_of::<u64>() as u64;
        Ok(Self {
            pivots: lookup.member(name, "pivot")?,
            slots: lookup.member(name, "slot")?,
            slot_count: lookup.member_bytes(name, "slot")? / word,
        })
    }
}

impl MapleAreas {
    /// Looks up the offsets.
    pub fn find(lookup: &mut KernelLookup<'_, '_>) -> Result<Self, MissingItem> {
        let tree = lookup.member("mm_struct", "mm_mt")?;
        Ok(Self {
            root: tree + lookup.member("maple_tree", "ma_root")?,
            range: NodeForm::find(lookup, "maple_range_64")?,
            range_with_gaps: NodeForm::find(lookup, "maple_arange_64")?,
        })
    }

    /// Returns the areas of an address space.
    pub fn areas(&self, memory: &GuestMemory<'_>, space: u64) -> Vec<u64> {
        let root = memory.read_u64(space.wrapping_add(self.root));
        let mut areas = Vec::new();
        let mut nodes_read = 0;
        let mut pending: Vec<PendingNode> = { root.filter(|&root| is_node(root)) }
            .map(|pointer| PendingNode {
                pointer,
                last: u64::MAX,
                level: 0,
            })
            .into_iter()
            .collect();
        while let Some(node) = pending.pop() {
            nodes_read += 1;
            if nodes_read > NODES_MAX || areas.len() > MAPPINGS_MAX || node.level > LEVELS_MAX {
                break;
            }
            self.read_node(memory, &node, &mut pending, &mut areas);
        }
        areas
    }

    /// Reads the entries of a node up to its last address. Behind that are entries of former times.
    fn read_node(
        &self,
        memory: &GuestMemory<'_>,
        node: &PendingNode,
        pending: &mut Vec<PendingNode>,
        areas: &mut Vec<u64>,
    ) {
        let (address, kind) = (
            node.pointer & !NODE_BITS,
            node.pointer >> KIND_AT & KIND_MASK,
        );
        let form = match kind {
            LEAF | RANGE => &self.range,
            RANGE_WITH_GAPS => &self.range_with_gaps,
            // Others have no pivots, and address spaces have none of them.
            _ => return,
        };
        let word =
            |start: u64, index: u64| memory.read_u64(address.wrapping_add(start + index * 8));
        for index in 0..form.slot_count {
            let is_last_slot = index + 1 == form.slot_count;
            let pivot = match is_last_slot {
                true => Some(node.last),
                false => word(form.pivots, index),
            };
            let Some((pivot, entry)) = pivot.zip(word(form.slots, index)) else {
                return;
            };
            // A pivot of 0 behind the first stands for the end.
            let last = match (pivot, index) {
                (0, 1..) => node.last,
                (pivot, _) => pivot.min(node.last),
            };
            match kind {
                LEAF if entry > RESERVED_MAX && entry & TAG_MASK == 0 => areas.push(entry),
                RANGE | RANGE_WITH_GAPS if is_node_pointer(entry) => pending.push(PendingNode {
                    pointer: entry,
                    last,
                    level: node.level + 1,
                }),
                _ => {}
            }
            if last == node.last {
                return;
            }
        }
    }
}

/// Returns whether the entry at a tree's root is a node.
fn is_node(root: u64) -> bool {
    root & TAG_MASK == NODE_TAG && root > RESERVED_MAX
}

/// Returns whether an entry of an inner node can be a node.
fn is_node_pointer(entry: u64) -> bool {
    entry > RESERVED_MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::paging::{PagingLevels, PhysicalLayout};

    /// Address of the image, which is mapped without page tables.
    const IMAGE: u64 = 0xffff_ffff_8000_0000;
    const AREAS: MapleAreas = MapleAreas {
        root: 8,
        range: NodeForm {
            pivots: 8,
            slots: 128,
            slot_count: 16,
        },
        range_with_gaps: NodeForm {
            pivots: 8,
            slots: 80,
            slot_count: 10,
        },
    };

    fn areas(words: &[(u64, u64)]) -> Vec<u64> {
        let mut bytes = vec![0u8; 0x4000];
        for &(at, word) in words {
            bytes[at as usize..][..8].copy_from_slice(&word.to_le_bytes());
        }
        let layout = PhysicalLayout::for_q35(bytes.len() as u64);
        let memory = GuestMemory::new_x86(&bytes, IMAGE, layout, PagingLevels::Four);
        let mut areas = AREAS.areas(&memory, IMAGE);
        areas.sort_unstable();
        areas
    }

    fn node(at: u64, kind: u64) -> u64 {
        (IMAGE + at) | (kind << KIND_AT) | NODE_TAG
    }

    #[test]
    fn entries_of_former_times_do_not_count() {
        let (first, second, gone) = (IMAGE + 0x2000, IMAGE + 0x2100, IMAGE + 0x2200);
        let leaf = [
            (0x8, node(0x1000, LEAF)),
            // Nothing up to 0xfff, an area up to 0x1fff, nothing up to 0x4fff, an area up to 0x5fff, and nothing behind.
            (0x1008, 0xfff),
            (0x1010, 0x1fff),
            (0x1018, 0x4fff),
            (0x1020, 0x5fff),
            (0x1028, 0),
            (0x1088, first),
            (0x1098, second),
            (0x10a8, gone),
        ];
        assert_eq!(areas(&leaf), [first, second]);
    }

    #[test]
    fn nodes_lead_to_nodes() {
        let (first, second, beyond) = (IMAGE + 0x2000, IMAGE + 0x2100, IMAGE + 0x2200);
        let tree = [
            (0x8, node(0x1000, RANGE_WITH_GAPS)),
            (0x1008, 0x4fff),
            (0x1010, 0),
            (0x1050, node(0x1100, LEAF)),
            (0x1058, node(0x1200, LEAF)),
            (0x1108, 0x1fff),
            (0x1110, 0x4fff),
            (0x1118, 0x6fff),
            (0x1180, first),
            (0x1190, beyond),
            (0x1208, 0x6fff),
            (0x1210, 0),
            (0x1280, second),
        ];
        assert_eq!(areas(&tree), [first, second]);
    }

    #[test]
    fn broken_trees_end() {
        assert_eq!(areas(&[]), Vec::<u64>::new());
        assert_eq!(areas(&[(0x8, node(0x3ff8, LEAF))]), Vec::<u64>::new());
        let endless: Vec<_> = (0..10)
            .map(|slot| (0x1050 + 8 * slot, node(0x1000, RANGE_WITH_GAPS)))
            .chain((1..10).map(|pivot| (0x1000 + 8 * pivot, pivot)))
            .chain([(0x8, node(0x1000, RANGE_WITH_GAPS))])
            .collect();
        assert_eq!(areas(&endless), Vec::<u64>::new());
    }
}
