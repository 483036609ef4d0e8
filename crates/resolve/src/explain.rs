//! Why an object is taken for what it is: what each instruction that accessed it says by itself.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use relayout_layout::{Aggregate, Type, TypeId, Types};
use relayout_profile::{Access, Profile};

use crate::evidence::{Evidence, Trust};
use crate::objects::{Object, ObjectId};
use crate::resolution::Resolution;
use crate::types::shape;

/// What an instruction says by itself of an object that it accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Says {
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
pub struct Opinion {
    /// Whether that agrees.
    pub says: Says,
    /// Type that it says; empty where it says nothing.
    pub type_name: String,
    /// Bytes from that type's start to the access.
    pub offset: i64,
    /// How sure; `None` where it says nothing.
    pub trust: Option<Trust>,
}

/// What was made of some objects by all instructions that accessed them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explanation {
    /// The objects, ascending.
    pub objects: Vec<ObjectId>,
    /// What instructions say, each as often as it accessed them; those that say another type first, then
    /// by that number.
    pub heard: Vec<Heard>,
}

/// One instruction and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// Index into the profile's sites.
    pub site: u32,
    /// It stores.
    pub writes: bool,
    /// What it says.
    pub opinion: Opinion,
    /// Accesses to the objects that were counted.
    pub accesses: u64,
}

impl Resolution {
    /// Why `objects` are what they are taken for: the word of each instruction in `profile`, which this
    /// was made of, that accessed them.
    ///
    /// # Panics
    /// With ids of another resolution, or another profile.
    pub fn explain(&self, profile: &Profile, objects: &BTreeSet<ObjectId>) -> Explanation {
        let mut heard: BTreeMap<(u32, bool, Opinion), u64> = BTreeMap::new();
        let mut hear = |run, addr, site, access, count| {
            let id = self.object_id_at(run, addr);
            let Some(id) = id.filter(|id| objects.contains(id)) else {
                return;
            };
            let writes = access != Access::Read;
            let opinion = self.opinion(self.object(id), addr, site, writes);
            *heard.entry((site, writes, opinion)).or_default() += count;
        };
        for row in &profile.counts {
            hear(row.run, row.addr, row.site, row.access, row.count);
        }
        // Lines that did not move often enough to be counted have these.
        for row in &profile.conflicts {
            hear(row.run, row.addr, row.site, row.access, 0);
        }
        let heard = heard.into_iter();
        let mut heard: Vec<Heard> = heard
            .map(|((site, writes, opinion), accesses)| Heard {
                site,
                writes,
                opinion,
                accesses,
            })
            .collect();
        heard.sort_by_key(|h| (h.opinion.says != Says::Other, Reverse(h.accesses), h.site));
        Explanation {
            objects: objects.iter().copied().collect(),
            heard,
        }
    }

    /// What the instruction of `site` says of an access to `object` at `addr`.
    ///
    /// # Panics
    /// With the number of a site that the profile does not have.
    pub fn opinion(&self, object: &Object, addr: u64, site: u32, writes: bool) -> Opinion {
        let Some(evidence) = self.evidence(object.run, site).of(writes) else {
            return Opinion {
                says: Says::Nothing,
                type_name: String::new(),
                offset: 0,
                trust: None,
            };
        };
        Opinion {
            says: self.says(object, addr, &evidence),
            type_name: self.types().name_of(evidence.ty),
            offset: evidence.offset,
            trust: Some(evidence.trust),
        }
    }

    fn says(&self, object: &Object, addr: u64, evidence: &Evidence) -> Says {
        let types = self.types();
        if types.aggregate(evidence.ty).is_none() {
            return Says::Scalar;
        }
        let offset = addr.wrapping_sub(object.base);
        let start = offset.checked_add_signed(evidence.offset.wrapping_neg());
        let parts = start.map(|start| shape::parts(types, object.ty, start));
        let is_there = parts.is_some_and(|parts| {
            { parts.iter() }.any(|p| p.offset == 0 && same(types, p.ty, evidence.ty))
        });
        if is_there { Says::Same } else { Says::Other }
    }
}

/// The same type, or one of the same name and size: units repeat definitions.
fn same(types: &Types, a: TypeId, b: TypeId) -> bool {
    let (a, b) = (unqualified(types, a), unqualified(types, b));
    if a == b || types.strip(a) == types.strip(b) {
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

fn unqualified(types: &Types, mut ty: TypeId) -> TypeId {
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
