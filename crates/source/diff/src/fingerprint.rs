//! Fingerprints of layouts: numbers that are equal if two types and all types inside them have the
//! same layout.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};

use relayout_layout::{
    Aggregate, AggregateKind, Member, NESTING_MAX, Type, TypeArena, TypeId, element_count,
};
use rustc_hash::{FxHashMap, FxHasher};

use crate::member_name::canonical_member;

/// Most members of a type that are taken out of anonymous structs. Damaged debug information repeats
/// them without end.
const FLAT_MEMBERS_MAX: usize = 1 << 16;

/// Members of a type with those of its anonymous structs as its own: they are no less its members.
struct FlatMembers<'t> {
    types: &'t TypeArena,
    found: Vec<Cow<'t, Member>>,
    /// Members that were looked at, including anonymous structs without members.
    visits: usize,
}

impl<'t> FlatMembers<'t> {
    fn new(types: &'t TypeArena) -> Self {
        Self {
            types,
            found: Vec::new(),
            visits: 0,
        }
    }

    /// Adds the members of an aggregate that begins `base` bytes from the start of the type.
    fn add_aggregate(&mut self, aggregate: &'t Aggregate, base: u64, depth: u32) {
        for member in &aggregate.members {
            self.visits += 1;
            let offset = base.saturating_add(member.offset);
            let inner = (self.types.aggregate(member.ty))
                .filter(|_| member.is_anonymous() && self.visits <= FLAT_MEMBERS_MAX)
                .filter(|inner| inner.kind == AggregateKind::Struct && inner.variants.is_none());
            match inner {
                Some(inner) if depth < NESTING_MAX => self.add_aggregate(inner, offset, depth + 1),
                _ => self.found.push(moved(member, base)),
            }
        }
    }
}

/// The member `base` bytes further from the start.
fn moved(member: &Member, base: u64) -> Cow<'_, Member> {
    if base == 0 {
        return Cow::Borrowed(member);
    }
    let mut member = member.clone();
    member.offset = member.offset.saturating_add(base);
    if let Some(bits) = &mut member.bits {
        let base_bits = base.saturating_mul(8);
        bits.offset_bits = bits.offset_bits.saturating_add(base_bits);
    }
    Cow::Owned(member)
}

/// Fingerprints of the types of one arena, each computed once.
pub(super) struct FingerprintCache<'t> {
    types: &'t TypeArena,
    fingerprints: FxHashMap<TypeId, u64>,
}

impl<'t> FingerprintCache<'t> {
    pub(super) fn new(types: &'t TypeArena) -> Self {
        Self {
            types,
            fingerprints: FxHashMap::default(),
        }
    }

    /// Fingerprint of the names of members, offsets and sizes, down to the scalars. Names of types
    /// do not count: compilers spell them differently, and `int` in the place of `unsigned int`
    /// moves nothing.
    pub(super) fn fingerprint(&mut self, id: TypeId) -> u64 {
        self.fingerprint_at(id, 0)
    }

    fn fingerprint_at(&mut self, id: TypeId, depth: u32) -> u64 {
        let id = self.types.strip_typedefs(id);
        if depth > NESTING_MAX {
            return 0;
        }
        if let Some(fingerprint) = self.fingerprints.get(&id) {
            return *fingerprint;
        }
        let mut hash = FxHasher::default();
        match self.types.get(id) {
            Type::Array { element, counts } => {
                element_count(counts).hash(&mut hash);
                self.fingerprint_at(*element, depth + 1).hash(&mut hash);
            }
            Type::Aggregate(aggregate) => self.hash_aggregate(aggregate, depth, &mut hash),
            _ => self.types.size_of(id).unwrap_or(0).hash(&mut hash),
        }
        let fingerprint = hash.finish();
        self.fingerprints.insert(id, fingerprint);
        fingerprint
    }

    fn hash_aggregate(&mut self, aggregate: &Aggregate, depth: u32, hash: &mut FxHasher) {
        (aggregate.size, aggregate.complete).hash(hash);
        let mut members = FlatMembers::new(self.types);
        members.add_aggregate(aggregate, 0, 0);
        for member in &members.found {
            self.hash_member(member, depth, hash);
        }
        for variant in aggregate
            .variants
            .iter()
            .flat_map(|variants| &variants.variants)
        {
            variant.discriminant.hash(hash);
            self.hash_member(&variant.member, depth, hash);
        }
    }

    fn hash_member(&mut self, member: &Member, depth: u32, hash: &mut FxHasher) {
        member.name.as_deref().map(canonical_member).hash(hash);
        match member.bits {
            // The storage unit of a bitfield differs between compilers; the bits do not.
            Some(bits) => bits.hash(hash),
            None => {
                member.offset.hash(hash);
                self.fingerprint_at(member.ty, depth + 1).hash(hash);
            }
        }
    }
}
