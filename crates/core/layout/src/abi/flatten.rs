//! Flattening of anonymous structs, where that changes no offset.
use crate::abi::sizes::AbiEngine;
use crate::{Aggregate, AggregateKind, Type};

/// Most anonymous structs inside each other. More is damaged debug information.
const DEPTH_MAX: u32 = 8;

impl AbiEngine<'_> {
    /// Copy of `aggregate` with the members of its anonymous structs as its own. `None` without
    /// anonymous structs, or if a member's offset or the size would change. The members of a tagged
    /// struct stay together: their order is that of the struct's own definition.
    ///
    /// The kernel wraps members that `randstruct` may shuffle into one anonymous struct
    /// (`mm_struct`, `task_struct`), which could otherwise only move as a whole.
    pub fn flatten_anonymous(&self, aggregate: &Aggregate) -> Option<Aggregate> {
        let mut flat = aggregate.clone();
        for _ in 0..DEPTH_MAX {
            match self.flatten_level(&flat) {
                Some(flatter) => flat = flatter,
                None => break,
            }
        }
        if flat.members.len() == aggregate.members.len() {
            return None;
        }
        let shape = self.shape(&flat).ok()?;
        let layout = shape.lay_out(&shape.current_arrangement());
        let atoms = shape.atoms.iter().zip(&layout.places);
        let same = layout.size == aggregate.size
            && layout.align
                == self
                    .shape(aggregate)
                    .map(|own| own.lay_out(&own.current_arrangement()).align)
                    .ok()?;
        let in_place =
            |(atom, place): (&super::LayoutAtom, &super::AtomPlace)| atom.offset == place.offset;
        (same && atoms.into_iter().all(in_place)).then_some(flat)
    }

    fn flatten_level(&self, aggregate: &Aggregate) -> Option<Aggregate> {
        let mut flat = aggregate.clone();
        flat.members.clear();
        let mut has_anonymous = false;
        for member in &aggregate.members {
            let inner = match self.types.get(self.types.strip_typedefs(member.ty)) {
                Type::Aggregate(inner) if member.is_anonymous() => inner,
                _ => {
                    flat.members.push(member.clone());
                    continue;
                }
            };
            if inner.kind == AggregateKind::Union
                || inner.name.is_some()
                || member.declared_align.is_some()
            {
                flat.members.push(member.clone());
                continue;
            }
            has_anonymous = true;
            for inner_member in &inner.members {
                let mut moved = inner_member.clone();
                moved.offset = moved.offset.checked_add(member.offset)?;
                if let Some(bits) = &mut moved.bits {
                    bits.offset_bits = bits.offset_bits.checked_add(member.offset * 8)?;
                }
                flat.members.push(moved);
            }
        }
        has_anonymous.then_some(flat)
    }
}
