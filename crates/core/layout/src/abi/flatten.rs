//! Flattening of anonymous structs, where that changes no offset.
use crate::abi::sizes::AbiEngine;
use crate::{Aggregate, AggregateGaps, AggregateKind, Member, Type};

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

    /// Copy of `aggregate` without its outermost anonymous structs; `None` if it has none.
    ///
    /// A dissolved struct ended at a multiple of its alignment. What follows it gets that alignment if
    /// it owes its offset to it, or is an array of unknown length, which stays behind the others when
    /// they move.
    fn flatten_level(&self, aggregate: &Aggregate) -> Option<Aggregate> {
        let mut flat = aggregate.clone();
        flat.members.clear();
        let mut has_anonymous = false;
        let mut dissolved_end: Option<DissolvedEnd> = None;
        for member in &aggregate.members {
            let follows = { dissolved_end.take() }.filter(|end| end.offset == member.offset);
            let mut members = vec![member.clone()];
            if let Some((inner, align)) = self.dissolvable_struct(member) {
                has_anonymous = true;
                let outside = inner
                    .members
                    .iter()
                    .map(|inner| member_outside(inner, member));
                members = outside.collect::<Option<_>>()?;
                let gaps = AggregateGaps::from_aggregate(self.types, inner);
                dissolved_end = Some(DissolvedEnd {
                    offset: member.offset.saturating_add(inner.size),
                    align,
                    is_padded: gaps.padding > 0 || gaps.bit_padding > 0,
                });
            }
            if let (Some(end), Some(first)) = (follows, members.first_mut()) {
                first.declared_align = self.align_behind(first, &end);
            }
            flat.members.extend(members);
        }
        has_anonymous.then_some(flat)
    }

    /// Declared alignment of a member behind a dissolved struct.
    fn align_behind(&self, member: &Member, end: &DissolvedEnd) -> Option<u64> {
        let stays = end.is_padded || self.types.storage_size(member) == 0;
        let own = member.declared_align.or(self.align_at(member.ty, 0));
        let raised = own.is_some_and(|own| own < end.align) && member.bits.is_none();
        match stays && raised {
            true => Some(end.align),
            false => member.declared_align,
        }
    }

    /// Returns the anonymous struct that `member` is, with its alignment, if that is the alignment
    /// that its members demand. GCC records an alignment for each struct with an aligned member, as
    /// it does where the source has an attribute.
    fn dissolvable_struct(&self, member: &Member) -> Option<(&Aggregate, u64)> {
        let inner = match self.types.get(self.types.strip_typedefs(member.ty)) {
            Type::Aggregate(inner) if member.is_anonymous() => inner,
            _ => return None,
        };
        if inner.kind == AggregateKind::Union || inner.name.is_some() {
            return None;
        }
        let without_attribute = Aggregate {
            declared_align: None,
            ..inner.clone()
        };
        let demanded = self.aggregate_align(&without_attribute, 0)?;
        let recorded = [member.declared_align, inner.declared_align];
        let is_demanded = recorded
            .into_iter()
            .flatten()
            .all(|align| align <= demanded);
        is_demanded.then_some((inner, demanded))
    }
}

/// The end of an anonymous struct whose members became those of the struct around it.
struct DissolvedEnd {
    /// Offset behind it.
    offset: u64,
    /// Its alignment in bytes.
    align: u64,
    /// True if bytes were behind its last member.
    is_padded: bool,
}

/// Copy of a member of the anonymous struct `outer`, with offsets relative to the struct around that.
fn member_outside(inner: &Member, outer: &Member) -> Option<Member> {
    let mut moved = inner.clone();
    moved.offset = moved.offset.checked_add(outer.offset)?;
    if let Some(bits) = &mut moved.bits {
        let outer_bits = outer.offset.checked_mul(8)?;
        bits.offset_bits = bits.offset_bits.checked_add(outer_bits)?;
    }
    Some(moved)
}
