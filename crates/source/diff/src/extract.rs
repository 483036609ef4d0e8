//! Extraction of a type's layout from the arena that the type was loaded into.

use relayout_layout::{
    Aggregate, AggregateKind, BitRange, Member, NESTING_MAX, Type, TypeArena, TypeId,
    canonical_type,
};

use crate::fingerprint::FingerprintCache;
use crate::gaps::find_gaps;
use crate::member_name::canonical_member;
use crate::type_layout::{HeldType, PlacedMember, TypeKey, TypeLayout, TypeTag};

/// Most members of one type that are compared. Anonymous types in damaged debug information can
/// repeat each other without end.
const MEMBERS_MAX: usize = 1 << 16;
/// Most members of one type that are visited, including those without size.
const VISITS_MAX: usize = 2 * MEMBERS_MAX;

impl TypeLayout {
    /// Layout of the struct, union or class at `id`, or of the one without a tag that the typedef
    /// at `id` names. `None` for other types, types without name, and declarations without members.
    pub fn from_type(types: &TypeArena, id: TypeId) -> Option<Self> {
        let (key, aggregate) = named_aggregate(types, id)?;
        let mut walk = MemberCollector {
            types,
            visits: 0,
            fingerprints: FingerprintCache::new(types),
            members: Vec::new(),
        };
        walk.collect_members(aggregate, 0, "", 0);
        let fingerprint = walk.fingerprints.fingerprint(id);
        let fields = walk.members;
        Some(Self {
            kind: aggregate.kind,
            size: aggregate.size,
            declared_align: aggregate.declared_align,
            decl: aggregate.decl.clone(),
            gaps: find_gaps(&fields, aggregate),
            key,
            members: fields,
            fingerprint,
        })
    }
}

/// Complete aggregate at `id` with the key that finds it in another file.
fn named_aggregate(types: &TypeArena, id: TypeId) -> Option<(TypeKey, &Aggregate)> {
    let aggregate = types.aggregate(id).filter(|found| found.complete)?;
    let (tag, name) = match &aggregate.name {
        Some(name) if aggregate.kind == AggregateKind::Union => (TypeTag::Union, name.as_str()),
        Some(name) => (TypeTag::Struct, name.as_str()),
        None => (TypeTag::Typedef, typedef_name(types, id)?),
    };
    let scope = aggregate
        .scope
        .as_deref()
        .filter(|_| tag != TypeTag::Typedef)
        .map(|scope| canonical_type(scope).into());
    let name = if name.contains('<') {
        canonical_type(name).into()
    } else {
        name.into()
    };
    Some((TypeKey { tag, scope, name }, aggregate))
}

/// Innermost typedef between `id` and the type that it names.
fn typedef_name(types: &TypeArena, id: TypeId) -> Option<&str> {
    let mut found = None;
    let mut at = id;
    for _ in 0..NESTING_MAX {
        match types.get(at) {
            Type::Typedef { name, target, .. } => {
                found = Some(name.as_str());
                at = (*target)?;
            }
            Type::Qualified { target, .. } => at = (*target)?,
            _ => break,
        }
    }
    found
}

struct MemberCollector<'t> {
    types: &'t TypeArena,
    visits: usize,
    fingerprints: FingerprintCache<'t>,
    members: Vec<PlacedMember>,
}

impl MemberCollector<'_> {
    fn collect_members(&mut self, aggregate: &Aggregate, base: u64, prefix: &str, depth: u32) {
        if depth > NESTING_MAX {
            return;
        }
        let variants = aggregate.variants.iter();
        let variants = variants.flat_map(|all| {
            let alternatives = all.variants.iter().map(|variant| &variant.member);
            all.discriminant.iter().chain(alternatives)
        });
        for member in aggregate.members.iter().chain(variants) {
            self.visits += 1;
            let fits = self.members.len() < MEMBERS_MAX && self.visits < VISITS_MAX;
            if fits && !self.is_group_name(aggregate, member) {
                self.collect_member(member, base, prefix, depth);
            }
        }
    }

    /// Returns true if `member` only names the members of an anonymous struct beside it in a union,
    /// as the kernel's `struct_group()` does. They are collected once, without the name.
    fn is_group_name(&mut self, aggregate: &Aggregate, member: &Member) -> bool {
        if aggregate.kind != AggregateKind::Union || member.name.is_none() {
            return false;
        }
        let is_untagged_struct = |types: &TypeArena, id| {
            let found = types.aggregate(id);
            found.is_some_and(|found| {
                found.complete && found.name.is_none() && found.kind == AggregateKind::Struct
            })
        };
        if !is_untagged_struct(self.types, member.ty) {
            return false;
        }
        let layout = self.fingerprints.fingerprint(member.ty);
        aggregate.members.iter().any(|other| {
            other.name.is_none()
                && other.offset == member.offset
                && is_untagged_struct(self.types, other.ty)
                && self.fingerprints.fingerprint(other.ty) == layout
        })
    }

    fn collect_member(&mut self, member: &Member, base: u64, prefix: &str, depth: u32) {
        let offset = base.saturating_add(member.offset);
        let (element, is_array) = self.array_element(member.ty);
        let inline = match self.types.aggregate(element) {
            Some(found)
                if found.complete
                    && (member.is_anonymous()
                        || named_aggregate(self.types, element).is_none()) =>
            {
                Some(found)
            }
            _ => None,
        };
        let path = self.member_path(member, element, prefix);
        match inline {
            Some(inner) if member.bits.is_none() => {
                let before = self.members.len();
                let prefix = match (&member.name, is_array) {
                    (None, _) => prefix.to_owned(),
                    (Some(_), false) => format!("{path}."),
                    (Some(_), true) => format!("{path}[]."),
                };
                if is_array {
                    self.push_member(member, base, path.clone());
                }
                self.collect_members(inner, offset, &prefix, depth + 1);
                if self.members.len() == before && member.name.is_some() {
                    self.push_member(member, base, path);
                }
            }
            _ => self.push_member(member, base, path),
        }
    }

    fn member_path(&self, member: &Member, element: TypeId, prefix: &str) -> String {
        let name = match &member.name {
            Some(name) => canonical_member(name).into_owned(),
            None => named_aggregate(self.types, element)
                .map_or_else(|| "(unnamed)".to_owned(), |(key, _)| key.qualified()),
        };
        format!("{prefix}{name}")
    }

    /// Innermost element type of an array, and true; for other types the type itself, and false.
    fn array_element(&self, id: TypeId) -> (TypeId, bool) {
        let mut at = id;
        let mut is_array = false;
        for _ in 0..NESTING_MAX {
            match self.types.get(self.types.strip_typedefs(at)) {
                Type::Array { element, .. } => {
                    at = *element;
                    is_array = true;
                }
                _ => break,
            }
        }
        (at, is_array)
    }

    fn push_member(&mut self, member: &Member, base: u64, path: String) {
        let known = self.types.size_of(member.ty);
        let (offset, size, bits) = match member.bits {
            Some(bits) => {
                let first = base.saturating_mul(8).saturating_add(bits.offset_bits);
                let end = first.saturating_add(bits.size_bits);
                let moved = BitRange {
                    offset_bits: first,
                    ..bits
                };
                (first / 8, end.div_ceil(8) - first / 8, Some(moved))
            }
            None => {
                let offset = base.saturating_add(member.offset);
                (offset, known.unwrap_or(0), None)
            }
        };
        let (element, _) = self.array_element(member.ty);
        let holds = named_aggregate(self.types, element).map(|(key, inner)| (key, inner.size));
        let holds = holds
            .filter(|_| bits.is_none())
            .map(|(key, size)| HeldType {
                key,
                fingerprint: self.fingerprints.fingerprint(element),
                size,
            });
        self.members.push(PlacedMember {
            path: path.into(),
            offset,
            size,
            type_unknown: known.is_none(),
            bits,
            type_name: canonical_type(&self.types.name_of(member.ty)).into(),
            held_type: holds,
        });
    }
}
