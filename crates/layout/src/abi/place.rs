//! Placing atoms one after the other.

use super::{Arrangement, Atom, Bitfield, Hole, Layout, Place, Shape};
use crate::{Aggregate, BitRange};

impl Shape {
    /// The order of declaration, nothing forced: [`lay_out`](Self::lay_out) of it gives the
    /// offsets that were compiled.
    pub fn current(&self) -> Arrangement {
        Arrangement {
            order: (0..self.atoms.len()).collect(),
            align: vec![1; self.atoms.len()],
            type_align: 1,
        }
    }

    /// Offsets, size and holes of an arrangement.
    ///
    /// # Panics
    /// If `arrangement.order` is not a permutation of the atoms, or an alignment is 0.
    pub fn lay_out(&self, arrangement: &Arrangement) -> Layout {
        let mut places = vec![
            Place {
                offset: 0,
                end: 0,
                bits: Vec::new()
            };
            self.atoms.len()
        ];
        let mut cursor_bits = 0;
        let mut align = self.type_align.max(arrangement.type_align);
        for &index in &arrangement.order {
            let atom = &self.atoms[index];
            let place = place_atom(atom, cursor_bits, arrangement.align[index]);
            cursor_bits = end_bits(atom, &place);
            align = align.max(atom.align).max(arrangement.align[index]);
            places[index] = place;
        }
        let end = cursor_bits.div_ceil(8);
        let size = (end + self.tail_gap).next_multiple_of(align);
        let holes = holes(&places, &arrangement.order);
        Layout {
            places,
            size,
            align,
            holes,
            padding: size - end,
        }
    }

    /// The aggregate as it would be declared: members in the new order at the new offsets.
    ///
    /// `aggregate` is the one that this shape was taken from, `layout` what
    /// [`lay_out`](Self::lay_out) made of `arrangement`.
    pub fn apply(
        &self,
        aggregate: &Aggregate,
        arrangement: &Arrangement,
        layout: &Layout,
    ) -> Aggregate {
        let mut members = Vec::with_capacity(aggregate.members.len());
        for &index in &arrangement.order {
            let atom = &self.atoms[index];
            let place = &layout.places[index];
            for (nth, old) in aggregate.members[atom.members.clone()].iter().enumerate() {
                let mut member = old.clone();
                if nth == 0 && arrangement.align[index] > atom.align {
                    member.declared_align = Some(arrangement.align[index]);
                }
                match (atom.bits.get(nth), place.bits.get(nth)) {
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
        // GCC marks a struct as aligned by attribute also when only a member is.
        let forced = |atom: &Atom, align: &u64| *align > atom.align;
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

/// Places one atom at or after bit `cursor_bits`, aligned to at least `forced` bytes.
pub(super) fn place_atom(atom: &Atom, cursor_bits: u64, forced: u64) -> Place {
    if atom.bits.is_empty() {
        let start = cursor_bits.div_ceil(8) + atom.gap_before;
        let offset = start.next_multiple_of(atom.align.max(forced));
        return Place {
            offset,
            end: offset + atom.size,
            bits: Vec::new(),
        };
    }
    let mut cursor = cursor_bits + atom.gap_before * 8;
    if forced > 1 {
        cursor = cursor.next_multiple_of(forced * 8);
    }
    let mut bits = Vec::with_capacity(atom.bits.len());
    for field in &atom.bits {
        let first = place_field(field, cursor);
        bits.push(first);
        cursor = first + field.width_bits;
    }
    let offset = bits.first().map_or(cursor, |first| *first) / 8;
    Place {
        offset,
        end: cursor.div_ceil(8),
        bits,
    }
}

/// First bit of a bitfield placed at or after `cursor`.
///
/// A field may not span more units of its type's alignment than the type does
/// (`excess_unit_span` in GCC's stor-layout.c).
pub(super) fn place_field(field: &Bitfield, cursor: u64) -> u64 {
    let mut first = cursor;
    if field.fresh_unit {
        first = first.next_multiple_of(field.unit_bits);
    }
    first += field.gap_bits;
    let span = (first % field.align_bits + field.width_bits).div_ceil(field.align_bits);
    if !field.crosses && span > field.unit_bits / field.align_bits {
        first = first.next_multiple_of(field.align_bits);
    }
    first
}

/// The first free bit after an atom: bitfields end inside a byte, and only another bitfield may
/// go on there (which is in the same atom, or follows it in another order).
pub(super) fn end_bits(atom: &Atom, place: &Place) -> u64 {
    match (atom.bits.last(), place.bits.last()) {
        (Some(field), Some(first)) => first + field.width_bits,
        _ => place.end * 8,
    }
}

fn holes(places: &[Place], order: &[usize]) -> Vec<Hole> {
    let mut holes = Vec::new();
    let mut end = 0;
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
