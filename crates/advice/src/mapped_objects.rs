//! Objects of a type that a guest finds by a name, so that its members can be said to lie elsewhere there.

use std::collections::BTreeSet;

use relayout_profile::{Addr, CoherenceEvent, RunId};
use relayout_resolve::{ObjectKind, ResolvedObject};

use crate::ResolvedProfile;
use crate::gathered::GatheredType;
use crate::objects::members_of_subject;

/// Beginning of the names of slab caches that objects of all types share.
const SHARED_CACHES: &str = "kmalloc-";
/// Chunks of per-cpu memory, which a guest's memory tells by themselves.
const CHUNK_TYPE: &str = "pcpu_chunk";

/// Objects of one kind that hold the type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MappedObjects {
    /// Slab cache or variable that has them; `None` for a type whose objects need no name.
    pub place: Option<String>,
    /// Type of the whole objects, without tag.
    pub holder: String,
    /// Bytes of a whole object.
    pub holder_bytes: u32,
    /// Offset of the type in it.
    pub offset: u32,
}

impl MappedObjects {
    /// Returns the objects that `object` belongs to, with the type at `offset` in it; `None` if a guest does not find it.
    fn of_object(
        resolved: &ResolvedProfile<'_>,
        object: &ResolvedObject,
        offset: u64,
    ) -> Option<Self> {
        let place = match &object.kind {
            _ if object.type_name == CHUNK_TYPE => None,
            ObjectKind::Slab { cache } if !cache.starts_with(SHARED_CACHES) => Some(cache),
            // Of an array, a guest finds the first element only.
            ObjectKind::Global { symbol } | ObjectKind::PerCpu { symbol, .. }
                if object.array.is_none() =>
            {
                Some(symbol)
            }
            _ => return None,
        };
        let holder_bytes = resolved.resolution.types().size_of(object.ty)?;
        Some(Self {
            place: place.cloned(),
            holder: object.type_name.clone(),
            holder_bytes: u32::try_from(holder_bytes).ok()?,
            offset: u32::try_from(offset).ok()?,
        })
    }
}

/// Objects of a type, by whether a guest finds them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TypeMapping {
    /// Those that it finds.
    pub mapped: BTreeSet<MappedObjects>,
    /// Part of the type's recorded transfers that is on others.
    pub unmapped_share: f64,
}

impl TypeMapping {
    /// Looks where the objects of a type are.
    pub fn find(resolved: &ResolvedProfile<'_>, gathered: &GatheredType<'_>) -> Self {
        let mut mapped = BTreeSet::new();
        let mut starts: Vec<(RunId, Addr, bool)> = Vec::new();
        for (object, offset, _) in members_of_subject(resolved, &gathered.advised_subject) {
            let objects = MappedObjects::of_object(resolved, object, offset);
            starts.push((object.run, object.base + offset, objects.is_some()));
            mapped.extend(objects);
        }
        starts.sort_unstable();
        Self {
            mapped,
            unmapped_share: unmapped_share(resolved, &starts, gathered.aggregate.size),
        }
    }
}

/// Returns the part of the transfers on objects of `size` bytes that is on objects that are not mapped. `starts` has the
/// objects in order, with true for those that are.
fn unmapped_share(
    resolved: &ResolvedProfile<'_>,
    starts: &[(RunId, Addr, bool)],
    size: u64,
) -> f64 {
    let (mut all, mut unmapped) = (0, 0);
    for row in &resolved.profile.conflicts {
        let behind = starts.partition_point(|(run, base, _)| (*run, *base) <= (row.run, row.addr));
        let Some((run, base, is_mapped)) = behind.checked_sub(1).map(|at| starts[at]) else {
            continue;
        };
        let is_inside = run == row.run && row.addr - base < size;
        if is_inside && row.transfer != CoherenceEvent::Upgrade {
            all += row.count;
            unmapped += if is_mapped { 0 } else { row.count };
        }
    }
    unmapped as f64 / all.max(1) as f64
}
