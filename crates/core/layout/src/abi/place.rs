//! Placement of atoms one after the other.
use crate::abi::layout::{
    AtomArrangement, AtomPlace, Hole, LayoutAtom, PaddingMember, StructLayout, StructShape,
};
use crate::{Aggregate, BitRange};

impl StructShape {
    /// Order of declaration without added alignments. [`lay_out`](Self::lay_out) of it returns the
    /// compiled offsets.
    pub fn current_arrangement(&self) -> AtomArrangement {
        AtomArrangement {
            order: (0..self.atoms.len()).collect(),
            align: vec![1; self.atoms.len()],
            type_align: 1,
            spreads: Vec::new(),
            run_align: 1,
        }
    }

    /// Offsets, size and holes of an arrangement.
    ///
    /// # Panics
    /// `arrangement.order` is not a permutation of the atoms, or an alignment is no power of two.
    pub fn lay_out(&self, arrangement: &AtomArrangement) -> StructLayout {
        self.lay_out_padded(arrangement, &[])
    }

    /// Layout of an arrangement with added members between the atoms. Added members have no entry
    /// in [`StructLayout::places`].
    ///
    /// # Panics
    /// Same as [`lay_out`](Self::lay_out).
    pub fn lay_out_padded(
        &self,
        arrangement: &AtomArrangement,
        pads: &[PaddingMember],
    ) -> StructLayout {
        let mut places = vec![AtomPlace::default(); self.atoms.len()];
        let mut cursor_bits = self.head.end * 8;
        let mut end_bits = cursor_bits;
        let mut align = (self.head.align.max(self.type_align)).max(arrangement.type_align);
        let end_of_pads = |at: usize, mut cursor_bits: u64| {
            for pad in pads.iter().filter(|pad| pad.position == at) {
                let first = cursor_bits.div_ceil(8).next_multiple_of(pad.align.max(1));
                cursor_bits = (first + pad.size) * 8;
            }
            cursor_bits
        };
        align = pads.iter().map(|pad| pad.align).fold(align, u64::max);
        for (at, &index) in arrangement.order.iter().enumerate() {
            cursor_bits = end_of_pads(at, cursor_bits);
            let spread = { arrangement.spreads.iter() }.find(|spread| spread.atom == index);
            let atom = match spread {
                Some(spread) => &spread.widen(&self.atoms[index]),
                None => &self.atoms[index],
            };
            let (mut place, after) = place_atom(atom, cursor_bits, arrangement.align[index]);
            if let Some(spread) = spread {
                place.element_starts.clone_from(&spread.starts);
                place.element_bytes = spread.element_bytes;
            }
            end_bits = end_bits.max(after);
            cursor_bits = if self.is_union { 0 } else { after };
            align = align.max(atom.align_with(arrangement.align[index], self.unnamed_bits_align));
            places[index] = place;
        }
        cursor_bits = end_of_pads(arrangement.order.len(), cursor_bits);
        end_bits = end_bits.max(cursor_bits);
        let members_end = end_bits.div_ceil(8);
        let mut tail_bits = cursor_bits;
        for field in &self.tail {
            tail_bits = field.first_bit_from(tail_bits, 1) + field.width_bits;
            align = align.max(field.required_align(1, self.unnamed_bits_align));
        }
        end_bits = end_bits.max(tail_bits);
        let size = end_bits.div_ceil(8).next_multiple_of(align);
        let holes = find_holes(&places, &arrangement.order, self.head.end);
        StructLayout {
            places,
            size,
            align,
            holes,
            padding: size - members_end,
            run_align: arrangement.run_align,
        }
    }

    /// Aggregate as the source would declare it: members in the new order at the new offsets.
    ///
    /// `self` is the shape of `aggregate`, and `layout` the result of [`lay_out`](Self::lay_out)
    /// for `arrangement`.
    pub fn apply_arrangement(
        &self,
        aggregate: &Aggregate,
        arrangement: &AtomArrangement,
        layout: &StructLayout,
    ) -> Aggregate {
        let mut members = Vec::with_capacity(aggregate.members.len());
        members.extend_from_slice(&aggregate.members[..self.head.member_count]);
        for &index in &arrangement.order {
            let atom = &self.atoms[index];
            let place = &layout.places[index];
            let mut fields = atom.bitfields.iter().filter(|field| field.is_member);
            for (nth, old) in aggregate.members[atom.members.clone()].iter().enumerate() {
                let mut member = old.clone();
                if nth == 0 && arrangement.align[index] > atom.align {
                    member.declared_align = Some(arrangement.align[index]);
                }
                match (fields.next(), place.bitfield_starts.get(nth)) {
                    (Some(field), Some(&first)) => {
                        member.offset = first / field.unit_bits * (field.unit_bits / 8);
                        member.bits = Some(BitRange {
                            offset_bits: first,
                            size_bits: field.width_bits,
                        });
                    }
                    _ => member.offset = place.offset,
                }
                members.push(member);
            }
        }
        // GCC marks a struct as aligned by attribute also if only a member is.
        let forced = |atom: &LayoutAtom, align: &u64| *align > atom.align;
        let attribute = aggregate.declared_align.is_some()
            || arrangement.type_align > 1
            || (self.atoms.iter().zip(&arrangement.align)).any(|(atom, align)| forced(atom, align));
        let declared_align = attribute.then_some(layout.align);
        Aggregate {
            size: layout.size,
            members,
            declared_align,
            ..aggregate.clone()
        }
    }
}

impl LayoutAtom {
    /// Alignment in bytes that the atom demands of its struct, if `forced` to some alignment.
    pub(super) fn align_with(&self, forced: u64, unnamed_bits_align: bool) -> u64 {
        let fields = self.unnamed_before.iter().chain(&self.bitfields);
        let unnamed = fields.map(|field| field.required_align(1, unnamed_bits_align));
        self.place_align(forced).max(unnamed.max().unwrap_or(1))
    }

    /// Alignment of the atom's first byte.
    fn place_align(&self, forced: u64) -> u64 {
        match self.align_on_type && self.type_packed {
            true => self.align,
            false => self.align.max(forced),
        }
    }
}

/// Places one atom at or behind bit `cursor`, aligned to at least `forced` bytes. Also returns the
/// first free bit behind it. Bitfields end inside a byte, where only another bitfield may go on.
pub(super) fn place_atom(atom: &LayoutAtom, mut cursor: u64, forced: u64) -> (AtomPlace, u64) {
    for field in &atom.unnamed_before {
        cursor = field.first_bit_from(cursor, 1) + field.width_bits;
    }
    if atom.bitfields.is_empty() {
        let align = atom.place_align(forced);
        let offset = cursor.div_ceil(8).next_multiple_of(align);
        let size = match atom.align_on_type {
            true => atom.size.next_multiple_of(forced),
            false => atom.size,
        };
        let end = offset + size;
        let place = AtomPlace {
            offset,
            end,
            ..AtomPlace::default()
        };
        return (place, end * 8);
    }
    let mut forced = forced;
    let mut bits = Vec::with_capacity(atom.bitfields.len());
    for field in &atom.bitfields {
        let first = match field.is_named {
            true => field.first_bit_from(cursor, std::mem::replace(&mut forced, 1)),
            false => field.first_bit_from(cursor, 1),
        };
        if field.is_member {
            bits.push(first);
        }
        cursor = first + field.width_bits;
    }
    let offset = bits.first().map_or(cursor, |first| *first) / 8;
    let place = AtomPlace {
        offset,
        end: cursor.div_ceil(8),
        bitfield_starts: bits,
        ..AtomPlace::default()
    };
    (place, cursor)
}

fn find_holes(places: &[AtomPlace], order: &[usize], mut end: u64) -> Vec<Hole> {
    let mut holes = Vec::new();
    for &index in order {
        let place = &places[index];
        if place.offset > end {
            holes.push(Hole {
                offset: end,
                size: place.offset - end,
            });
        }
        end = end.max(place.end);
    }
    holes
}
