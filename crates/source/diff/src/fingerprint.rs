//! Fingerprints of layouts: numbers that are equal if two types and all types inside them have the
//! same layout.

use std::hash::{Hash, Hasher};

use relayout_layout::{Aggregate, Member, NESTING_MAX, Type, TypeArena, TypeId, element_count};
use rustc_hash::{FxHashMap, FxHasher};

use crate::spelling;

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
        for member in &aggregate.members {
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
        member
            .name
            .as_deref()
            .map(spelling::canonical_member)
            .hash(hash);
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
