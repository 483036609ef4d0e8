//! Why an object is taken for what it is: what each instruction that accessed it says by itself.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use relayout_layout::{Aggregate, Type, TypeArena, TypeId};
use relayout_profile::{AccessKind, Profile};

use crate::evidence::{EvidenceTrust, TypeEvidence};
use crate::objects::{ObjectId, ResolvedObject};
use crate::resolution::Resolution;
use crate::types::shape;

/// What an instruction says by itself of an object that it accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OpinionVerdict {
    /// The same type, or one that the object has at that very place.
    Same,
    /// Another type, or another place in it.
    Other,
    /// A number or pointer, of which no member follows.
    Scalar,
    /// Nothing.
    Nothing,
}

/// One instruction's word, with what it says in terms of types.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SiteOpinion {
    /// Whether that agrees.
    pub verdict: OpinionVerdict,
    /// Type that it says; empty where it says nothing.
    pub type_name: String,
    /// Bytes from that type's start to the access.
    pub offset: i64,
    /// How sure; `None` where it says nothing.
    pub trust: Option<EvidenceTrust>,
}

/// What was made of some objects by all instructions that accessed them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TypeExplanation {
    /// The objects, ascending.
    pub objects: Vec<ObjectId>,
    /// What instructions say, each as often as it accessed them; those that say another type first, then
    /// by that number.
    pub opinions: Vec<CountedOpinion>,
}

/// One instruction and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedOpinion {
    /// Index into the profile's sites.
    pub site: u32,
    /// It stores.
    pub writes: bool,
    /// What it says.
    pub opinion: SiteOpinion,
    /// Accesses to the objects that were counted.
    pub accesses: u64,
}

impl Resolution {
    /// Why `objects` are what they are taken for: the word of each instruction in `profile`, which this
    /// was made of, that accessed them.
    ///
    /// # Panics
    /// With ids of another resolution, or another profile.
    pub fn explain(&self, profile: &Profile, objects: &BTreeSet<ObjectId>) -> TypeExplanation {
        let mut heard: BTreeMap<(u32, bool, SiteOpinion), u64> = BTreeMap::new();
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
        // Lines that did not move often enough to be counted have these.
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

    /// What the instruction of `site` says of an access to `object` at `addr`.
    ///
    /// # Panics
    /// With the number of a site that the profile does not have.
    pub fn opinion(
        &self,
        object: &ResolvedObject,
        addr: u64,
        site: u32,
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
        addr: u64,
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

/// The same type, or one of the same name and size: units repeat definitions.
fn is_same_type(types: &TypeArena, a: TypeId, b: TypeId) -> bool {
    let (a, b) = (unqualified(types, a), unqualified(types, b));
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

/// `const volatile restrict _Atomic` in any order, and some to spare.
const QUALIFIERS_MAX: usize = 8;

fn unqualified(types: &TypeArena, mut ty: TypeId) -> TypeId {
    for _ in 0..QUALIFIERS_MAX {
        match types.get(ty) {
            Type::Qualified {
                target: Some(target),
                ..
            } => ty = *target,
            _ => break,
        }
    }
    ty
}
