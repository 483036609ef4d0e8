//! Explanation of an object's type: the opinions of the instructions that accessed the object.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use relayout_layout::{Aggregate, Type, TypeArena, TypeId};
use relayout_profile::{AccessKind, Addr, Profile, SiteId};

use crate::evidence::{EvidenceTrust, TypeEvidence};
use crate::objects::{ObjectId, ResolvedObject};
use crate::resolution::Resolution;
use crate::types::shape;

/// Agreement of an instruction's own evidence with the type that an object was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OpinionVerdict {
    /// The instruction names the same type, or a type that the object has at that offset.
    Same,
    /// The instruction names another type, or another offset.
    Other,
    /// The instruction names a number or a pointer, which identifies no member.
    Scalar,
    /// The instruction names nothing.
    Nothing,
}

/// Opinion of one instruction about an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SiteOpinion {
    /// Agreement with the object's type.
    pub verdict: OpinionVerdict,
    /// Type that the instruction names; empty if it names none.
    pub type_name: String,
    /// Bytes from the start of that type to the access.
    pub offset: i64,
    /// Trust in the opinion; `None` if the instruction names no type.
    pub trust: Option<EvidenceTrust>,
}

/// Opinions of all instructions that accessed some objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TypeExplanation {
    /// Objects, ascending.
    pub objects: Vec<ObjectId>,
    /// Opinions with their numbers of accesses: contradicting ones first, then the most frequent.
    pub opinions: Vec<CountedOpinion>,
}

/// Opinion of one instruction, with its number of accesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedOpinion {
    /// Index into the profile's sites.
    pub site: SiteId,
    /// The instruction stores.
    pub writes: bool,
    /// Opinion of the instruction.
    pub opinion: SiteOpinion,
    /// Counted accesses to the objects.
    pub accesses: u64,
}

impl Resolution {
    /// Collects the opinions of all instructions in `profile`, of which this resolution was made,
    /// that accessed `objects`.
    ///
    /// # Panics
    /// Panics if the ids or the profile belong to another resolution.
    pub fn explain(&self, profile: &Profile, objects: &BTreeSet<ObjectId>) -> TypeExplanation {
        let mut heard: BTreeMap<(SiteId, bool, SiteOpinion), u64> = BTreeMap::new();
        let mut count_opinion = |run, addr, site, access, count| {
            let id = self.object_id_at(run, addr);
            let Some(id) = id.filter(|id| objects.contains(id)) else {
                return;
            };
            let writes = access != AccessKind::Read;
            let opinion = self.opinion(self.object(id), addr, site, writes);
            *heard.entry((site, writes, opinion)).or_default() += count;
        };
        for row in &profile.counts {
            count_opinion(row.run, row.addr, row.site, row.access, row.count);
        }
        // Lines that moved too rarely to be counted have conflicts only.
        for row in &profile.conflicts {
            count_opinion(row.run, row.addr, row.site, row.access, 0);
        }
        let heard = heard.into_iter();
        let mut heard: Vec<CountedOpinion> = heard
            .map(|((site, writes, opinion), accesses)| CountedOpinion {
                site,
                writes,
                opinion,
                accesses,
            })
            .collect();
        heard.sort_by_key(|h| {
            (
                h.opinion.verdict != OpinionVerdict::Other,
                Reverse(h.accesses),
                h.site,
            )
        });
        TypeExplanation {
            objects: objects.iter().copied().collect(),
            opinions: heard,
        }
    }

    /// Returns the opinion of the instruction of `site` about an access to `object` at `addr`.
    ///
    /// # Panics
    /// Panics if the profile has no such site.
    pub fn opinion(
        &self,
        object: &ResolvedObject,
        addr: Addr,
        site: SiteId,
        writes: bool,
    ) -> SiteOpinion {
        let Some(evidence) = self.evidence(object.run, site).evidence(writes) else {
            return SiteOpinion {
                verdict: OpinionVerdict::Nothing,
                type_name: String::new(),
                offset: 0,
                trust: None,
            };
        };
        SiteOpinion {
            verdict: self.verdict(object, addr, &evidence),
            type_name: self.types().name_of(evidence.ty),
            offset: evidence.offset,
            trust: Some(evidence.trust),
        }
    }

    fn verdict(
        &self,
        object: &ResolvedObject,
        addr: Addr,
        evidence: &TypeEvidence,
    ) -> OpinionVerdict {
        let types = self.types();
        if types.aggregate(evidence.ty).is_none() {
            return OpinionVerdict::Scalar;
        }
        let offset = addr.wrapping_sub(object.base);
        let start = offset.checked_add_signed(evidence.offset.wrapping_neg());
        let parts = start.map(|start| shape::parts_at(types, object.ty, start));
        let is_there = parts.is_some_and(|parts| {
            { parts.iter() }.any(|p| p.offset == 0 && is_same_type(types, p.ty, evidence.ty))
        });
        if is_there {
            OpinionVerdict::Same
        } else {
            OpinionVerdict::Other
        }
    }
}

/// Returns true for the same type, and for one of the same name and size, since units repeat
/// definitions.
fn is_same_type(types: &TypeArena, a: TypeId, b: TypeId) -> bool {
    let (a, b) = (types.strip_qualifiers(a), types.strip_qualifiers(b));
    if a == b || types.strip_typedefs(a) == types.strip_typedefs(b) {
        return true;
    }
    let (Some(x), Some(y)) = (types.aggregate(a), types.aggregate(b)) else {
        return false;
    };
    let name = |aggregate: &Aggregate, ty| match (&aggregate.name, types.get(ty)) {
        (Some(tag), _) => Some(tag.clone()),
        (None, Type::Typedef { name, .. }) => Some(name.clone()),
        _ => None,
    };
    x.size == y.size && name(x, a).is_some_and(|a| Some(a) == name(y, b))
}
