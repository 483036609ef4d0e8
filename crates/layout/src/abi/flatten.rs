//! Anonymous structs taken apart, where that changes nothing.

use super::Abi;
use crate::{Aggregate, AggregateKind, Type};

/// Anonymous structs in anonymous structs: more is damaged debug information.
const DEPTH_MAX: u32 = 8;

impl Abi<'_> {
    /// `aggregate` with the members of its anonymous structs as its own, if they then lie where they do.
    ///
    /// The kernel wraps what `randstruct` may shuffle into one (`mm_struct`, `task_struct`), so that
    /// nothing but the whole could be moved. `None` where there is none, or where offsets or the size
    /// would be others.
    pub fn flattened(&self, aggregate: &Aggregate) -> Option<Aggregate> {
        let mut flat = aggregate.clone();
        for _ in 0..DEPTH_MAX {
            match self.one_level(&flat) {
                Some(next) => flat = next,
                None => break,
            }
        }
        if flat.members.len() == aggregate.members.len() {
            return None;
        }
        let shape = self.shape(&flat).ok()?;
        let layout = shape.lay_out(&shape.current());
        let atoms = shape.atoms.iter().zip(&layout.places);
        let same = layout.size == aggregate.size
            && layout.align
                == self
                    .shape(aggregate)
                    .map(|own| own.lay_out(&own.current()).align)
                    .ok()?;
        let in_place = |(atom, place): (&super::Atom, &super::Place)| atom.offset == place.offset;
        (same && atoms.into_iter().all(in_place)).then_some(flat)
    }

    fn one_level(&self, aggregate: &Aggregate) -> Option<Aggregate> {
        let mut flat = aggregate.clone();
        flat.members.clear();
        let mut found = false;
        for member in &aggregate.members {
            let inner = match self.types.get(self.types.strip(member.ty)) {
                Type::Aggregate(inner) if member.name.is_none() && member.bits.is_none() => inner,
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
            found = true;
            for own in &inner.members {
                let mut own = own.clone();
                own.offset = own.offset.checked_add(member.offset)?;
                if let Some(bits) = &mut own.bits {
                    bits.offset_bits = bits.offset_bits.checked_add(member.offset * 8)?;
                }
                flat.members.push(own);
            }
        }
        found.then_some(flat)
    }
}
