//! Taking a struct apart: which rules explain the offsets that the compiler chose.

use std::ops::Range;

use super::place::{end_bits, place_atom, place_field};
use super::{Abi, AbiError, Atom, Bitfield, Shape};
use crate::{Aggregate, AggregateKind, Member};

impl Abi<'_> {
    /// Takes a struct apart so that laying its atoms out in their own order gives the offsets and
    /// the size that it has.
    ///
    /// Alignments come from the debug information and the members' types; what sits lower is
    /// packed, what sits higher was aligned by hand (or follows an unnamed bitfield, which debug
    /// information leaves out: see [`Shape::unexplained`]).
    ///
    /// # Errors
    /// For declarations, unions, members without a size, and members out of order.
    pub fn shape(&self, aggregate: &Aggregate) -> Result<Shape, AbiError> {
        self.shape_at(aggregate, 0)
    }

    pub(super) fn shape_at(&self, aggregate: &Aggregate, depth: u32) -> Result<Shape, AbiError> {
        let name = aggregate.name.clone().unwrap_or_default();
        if !aggregate.complete {
            return Err(AbiError::Incomplete { name });
        }
        if aggregate.kind == AggregateKind::Union {
            return Err(AbiError::NotAStruct {
                name,
                kind: aggregate.kind,
            });
        }
        let natural = self.guess(aggregate, false, depth)?;
        if reproduces(&natural, aggregate) {
            return Ok(natural);
        }
        let packed = self.guess(aggregate, true, depth)?;
        if reproduces(&packed, aggregate) {
            return Ok(packed);
        }
        let misplaced = natural
            .atoms
            .iter()
            .filter(|atom| atom.bits.is_empty() && !atom.offset.is_multiple_of(atom.align))
            .count();
        fit(if misplaced > 1 { packed } else { natural }, aggregate)
    }

    /// The shape as it would be if the struct were (not) packed, whatever the offsets say.
    fn guess(&self, aggregate: &Aggregate, packed: bool, depth: u32) -> Result<Shape, AbiError> {
        let mut atoms = Vec::new();
        for run in runs(&aggregate.members) {
            atoms.push(self.atom(aggregate, run, packed, depth)?);
        }
        if let Some((last, others)) = atoms.split_last_mut() {
            last.flexible &= aggregate.kind == AggregateKind::Struct;
            others.iter_mut().for_each(|atom| atom.flexible = false);
        }
        Ok(Shape {
            name: aggregate.name.clone().unwrap_or_default(),
            atoms,
            type_align: aggregate
                .declared_align
                .filter(|align| align.is_power_of_two())
                .unwrap_or(1),
            packed,
            unexplained: false,
            tail_gap: 0,
        })
    }

    fn atom(
        &self,
        aggregate: &Aggregate,
        run: Range<usize>,
        packed: bool,
        depth: u32,
    ) -> Result<Atom, AbiError> {
        let members = &aggregate.members[run.clone()];
        let names: Vec<String> = members
            .iter()
            .flat_map(|member| self.names(member, 0))
            .collect();
        let mut atom = Atom {
            name: names.first().cloned().unwrap_or_default(),
            names,
            members: run,
            offset: members[0].offset,
            size: 0,
            align: 1,
            flexible: false,
            gap_before: 0,
            bits: Vec::new(),
        };
        for member in members {
            let unknown = || AbiError::UnknownSize {
                name: aggregate.name.clone().unwrap_or_default(),
                member: member.name.clone().unwrap_or_default(),
            };
            let size = self.size_of(member.ty).ok_or_else(unknown)?;
            let natural = self.align_at(member.ty, depth + 1).ok_or_else(unknown)?;
            let declared = member
                .declared_align
                .filter(|align| align.is_power_of_two());
            let lowest = if packed { 1 } else { natural };
            atom.align = atom.align.max(match declared {
                Some(declared) if packed && !member.offset.is_multiple_of(declared) => 1,
                Some(declared) => declared,
                None => lowest,
            });
            match member.bits {
                Some(bits) if size > 0 => {
                    atom.bits.push(Bitfield {
                        width_bits: bits.size_bits,
                        unit_bits: size * 8,
                        align_bits: natural * 8,
                        crosses: packed,
                        gap_bits: 0,
                        fresh_unit: false,
                    });
                }
                _ => {
                    atom.size = size;
                    atom.flexible = self.is_flexible(member.ty);
                }
            }
        }
        if let (Some(first), Some(last)) = (members[0].bits, members[members.len() - 1].bits) {
            atom.offset = first.offset_bits / 8;
            let end = (last.offset_bits + last.size_bits).div_ceil(8);
            atom.size = end.saturating_sub(atom.offset);
        }
        Ok(atom)
    }

    /// Names by which a member can be addressed: its own, or those inside an anonymous one.
    fn names(&self, member: &Member, depth: u32) -> Vec<String> {
        if let Some(name) = &member.name {
            return vec![name.clone()];
        }
        match self.aggregate(member.ty) {
            Some(inner) if depth < 16 => inner
                .members
                .iter()
                .flat_map(|member| self.names(member, depth + 1))
                .collect(),
            _ => Vec::new(),
        }
    }
}

/// The members in the pieces that move as one.
fn runs(members: &[Member]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (index, member) in members.iter().enumerate() {
        match runs.last_mut() {
            Some(run) if member.bits.is_some() && members[run.end - 1].bits.is_some() => {
                run.end = index + 1;
            }
            _ => runs.push(index..index + 1),
        }
    }
    runs
}

/// Whether the shape, in its own order, gives what was compiled.
pub(super) fn reproduces(shape: &Shape, aggregate: &Aggregate) -> bool {
    let layout = shape.lay_out(&shape.current());
    layout.size == aggregate.size
        && shape.atoms.iter().zip(&layout.places).all(|(atom, place)| {
            let members = &aggregate.members[atom.members.clone()];
            if atom.bits.is_empty() {
                return place.offset == members[0].offset;
            }
            members
                .iter()
                .zip(&place.bits)
                .all(|(member, first)| member.bits.is_some_and(|bits| bits.offset_bits == *first))
        })
}

/// Adjusts a guess, atom by atom, until it gives the offsets and the size that were compiled.
fn fit(mut shape: Shape, aggregate: &Aggregate) -> Result<Shape, AbiError> {
    let mut cursor_bits = 0;
    let mut explained = true;
    for atom in &mut shape.atoms {
        let members = &aggregate.members[atom.members.clone()];
        explained &= match atom.is_bitfields() {
            true => fit_bitfields(atom, members, cursor_bits),
            false => fit_member(atom, cursor_bits),
        }
        .ok_or_else(|| AbiError::Overlap {
            name: shape.name.clone(),
            member: atom.name.clone(),
            offset: atom.offset,
        })?;
        cursor_bits = end_bits(atom, &place_atom(atom, cursor_bits, 1));
    }
    shape.unexplained = !explained;
    fit_end(&mut shape, cursor_bits.div_ceil(8), aggregate.size)?;
    Ok(shape)
}

/// Finds the alignment that takes a member where it is; whether a rule explains it, `None` if
/// nothing can.
fn fit_member(atom: &mut Atom, cursor_bits: u64) -> Option<bool> {
    let start = cursor_bits.div_ceil(8);
    if start > atom.offset {
        return None;
    }
    if start.next_multiple_of(atom.align) == atom.offset {
        return Some(true);
    }
    let lower = (0..atom.align.trailing_zeros())
        .rev()
        .map(|shift| 1 << shift);
    let higher = (atom.align.trailing_zeros() + 1..13).map(|shift| 1 << shift);
    let fits = |align: &u64| start.next_multiple_of(*align) == atom.offset;
    match lower.chain(higher).find(fits) {
        Some(align) => {
            atom.align = align;
            Some(true)
        }
        None => {
            if !atom.offset.is_multiple_of(atom.align) {
                atom.align = 1;
            }
            atom.gap_before = atom.offset - start;
            Some(false)
        }
    }
}

/// Explains the places of bitfields by unnamed bits in front of them.
fn fit_bitfields(atom: &mut Atom, members: &[Member], cursor_bits: u64) -> Option<bool> {
    let mut cursor = cursor_bits;
    for (field, member) in atom.bits.iter_mut().zip(members) {
        let seen = member.bits?.offset_bits;
        if seen < cursor {
            return None;
        }
        if place_field(field, cursor) != seen {
            let span = (seen % field.align_bits + field.width_bits).div_ceil(field.align_bits);
            field.crosses |= span > field.unit_bits / field.align_bits;
            field.fresh_unit = cursor.next_multiple_of(field.unit_bits) == seen;
            if !field.fresh_unit {
                field.gap_bits = seen - cursor;
            }
        }
        cursor = seen + field.width_bits;
    }
    Some(true)
}

/// Explains the size: a lower alignment (packed), a higher one (by attribute), or bytes left over.
fn fit_end(shape: &mut Shape, end: u64, size: u64) -> Result<(), AbiError> {
    if end > size {
        let last = shape.atoms.last();
        return Err(AbiError::Overlap {
            name: shape.name.clone(),
            member: last.map(|atom| atom.name.clone()).unwrap_or_default(),
            offset: last.map_or(0, |atom| atom.offset),
        });
    }
    let align = shape.lay_out(&shape.current()).align;
    if end.next_multiple_of(align) == size {
        return Ok(());
    }
    if end.next_multiple_of(align) > size {
        // The type is packed around members that happen to be aligned.
        shape.type_align = 1;
        let align = 1 << size.trailing_zeros().min(12);
        shape
            .atoms
            .iter_mut()
            .for_each(|atom| atom.align = atom.align.min(align));
        let lowered = shape.lay_out(&shape.current());
        if lowered.size != size {
            shape.atoms.iter_mut().for_each(|atom| atom.align = 1);
        }
    } else {
        let higher = (align.trailing_zeros() + 1..13).map(|shift| 1u64 << shift);
        if let Some(found) = higher
            .into_iter()
            .find(|align| end.next_multiple_of(*align) == size)
        {
            shape.type_align = found;
            return Ok(());
        }
    }
    let laid = shape.lay_out(&shape.current());
    if laid.size != size {
        shape.tail_gap = size - end;
        shape.unexplained = true;
    }
    Ok(())
}
