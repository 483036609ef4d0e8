//! Offsets of atoms, as the ABI engine gives them, without the rest of a layout.
//!
//! A search estimates hundreds of thousands of orders, and needs only offsets, size and alignment
//! of each. A run of bitfields is placed as a member of its size and alignment, which may be wrong
//! by some bytes in another order; the engine lays out what is replayed.

use relayout_layout::abi::{AtomArrangement, LayoutAtom, StructLayout, StructShape};
use rustc_hash::FxHashMap;

use crate::places::PhaseSet;

/// Size and alignment of a placed type, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PlacedExtent {
    pub size: u64,
    pub align: u64,
}

impl From<&StructLayout> for PlacedExtent {
    fn from(layout: &StructLayout) -> Self {
        Self {
            size: layout.size,
            align: layout.align,
        }
    }
}

/// Places atoms as the ABI engine does, but computes only their offsets.
pub(crate) struct AtomPlacer<'a> {
    shape: &'a StructShape,
    /// Size and alignment by atom; `None` where a layout depends on more than those.
    plain: Option<Vec<(u64, u64)>>,
    /// Alignment of the type without forced alignments.
    align: u64,
    offsets: Vec<u64>,
    phases: FxHashMap<PlacedExtent, PhaseSet>,
}

impl<'a> AtomPlacer<'a> {
    pub fn new(shape: &'a StructShape, current: &StructLayout) -> Self {
        let size_and_align = |atom: &LayoutAtom| (atom.size, atom.align.max(1));
        let mut placer = Self {
            shape,
            plain: Some(shape.atoms.iter().map(size_and_align).collect()),
            align: current.align.max(1),
            offsets: vec![0; shape.atoms.len()],
            phases: FxHashMap::default(),
        };
        let extent = placer.place_arrangement(&shape.current_arrangement());
        let places = current.places.iter().zip(&placer.offsets);
        let is_same = extent.size == current.size
            && places.into_iter().all(|(place, at)| place.offset == *at);
        if !is_same {
            placer.plain = None;
        }
        placer
    }

    /// Offsets by atom after the last placement.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// Sets the offsets.
    pub fn place_arrangement(&mut self, arrangement: &AtomArrangement) -> PlacedExtent {
        let forces_group = { arrangement.align.iter().zip(&self.shape.atoms) }
            .any(|(align, atom)| *align > atom.align && atom.names.len() != 1);
        let Some(plain) = self.plain.as_ref().filter(|_| !forces_group) else {
            return self.place_by_engine(arrangement);
        };
        let mut end = 0u64;
        let mut type_align = self.align.max(arrangement.type_align);
        for &atom in &arrangement.order {
            let (bytes, own_align) = plain[atom];
            let align = own_align.max(arrangement.align[atom]);
            type_align = type_align.max(align);
            // Alignments are powers of two.
            let offset = (end + align - 1) & !(align - 1);
            self.offsets[atom] = offset;
            end = offset + bytes;
        }
        PlacedExtent {
            size: end.next_multiple_of(type_align),
            align: type_align,
        }
    }

    fn place_by_engine(&mut self, arrangement: &AtomArrangement) -> PlacedExtent {
        let layout = self.shape.lay_out(arrangement);
        let places = layout.places.iter().zip(&mut self.offsets);
        places.for_each(|(place, offset)| *offset = place.offset);
        PlacedExtent {
            size: layout.size,
            align: layout.align,
        }
    }

    /// Returns the `phases` of the extent, computed once.
    pub fn phases(
        &mut self,
        extent: PlacedExtent,
        phases: &dyn Fn(PlacedExtent) -> PhaseSet,
    ) -> PhaseSet {
        *{ self.phases.entry(extent) }.or_insert_with(|| phases(extent))
    }
}
