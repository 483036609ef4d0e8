//! Objects of a type that a guest finds by a name, so that its members can be said to lie elsewhere there.

use std::collections::BTreeSet;

use relayout_profile::{Addr, CoherenceEvent, RunId};
use relayout_resolve::{ArrayExtent, ObjectKind, ResolvedObject};

use crate::ResolvedProfile;
use crate::gathered::GatheredType;
use crate::objects::members_of_subject;

/// Beginning of the names of slab caches that objects of all types share.
const SHARED_CACHES: &str = "kmalloc-";
/// Chunks of per-cpu memory, which a guest's memory tells by themselves.
const CHUNK_TYPE: &str = "pcpu_chunk";

/// Objects that are mapped by their addresses, at most: those with the most transfers.
const ADDRESSED_MAX: usize = 1024;

/// Objects of one kind that hold the type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MappedObjects {
    /// Slab cache or variable that has them, or the address of one as `0xffff888004a2c000`; `None` for a type whose objects
    /// need no name.
    pub place: Option<String>,
    /// Type of the whole objects, without tag; in a program the bytes and number of those of an array: `192*16`.
    pub holder: String,
    /// Bytes of a whole object.
    pub holder_bytes: u32,
    /// Offset of the type in it.
    pub offset: u32,
    /// Their places follow their size: they are in slabs, or in arrays of a program.
    pub follows_size: bool,
}

impl MappedObjects {
    /// Returns the objects at a place, which hold the type at `offset`; `None` if they are too large.
    fn at(
        resolved: &ResolvedProfile<'_>,
        object: &ResolvedObject,
        offset: u64,
        place: Option<String>,
    ) -> Option<Self> {
        let holder_bytes = resolved.resolution.types().size_of(object.ty)?;
        Some(Self {
            place,
            holder: object.type_name.clone(),
            holder_bytes: u32::try_from(holder_bytes).ok()?,
            offset: u32::try_from(offset).ok()?,
            follows_size: matches!(object.kind, ObjectKind::Slab { .. })
                || object.type_name == CHUNK_TYPE,
        })
    }

    /// Returns the objects of `bytes` bytes that lie in one array with that at `start` in a program; `None` if they are too large.
    fn in_program(object: &ResolvedObject, start: Addr, bytes: u64) -> Option<Self> {
        let has_object = |array: &ArrayExtent| {
            let within = start.0.checked_sub(array.base.0);
            array.stride == bytes
                && within.is_some_and(|at| at.is_multiple_of(bytes) && at / bytes < array.count)
        };
        let (first, count) = match object.array.filter(has_object) {
            Some(array) => (array.base, array.count),
            None => (start, 1),
        };
        Some(Self {
            place: Some(format!("{:#x}", first.0)),
            holder: format!("{bytes}*{count}"),
            holder_bytes: u32::try_from(bytes).ok()?,
            offset: 0,
            follows_size: true,
        })
    }
}

/// Returns the name of the place where a guest finds an object in any of its boots; `None` if it has none.
fn named_place(object: &ResolvedObject) -> Option<Option<String>> {
    match &object.kind {
        _ if object.type_name == CHUNK_TYPE => Some(None),
        ObjectKind::Slab { cache } if !cache.starts_with(SHARED_CACHES) => {
            Some(Some(cache.clone()))
        }
        // Of an array, the name is that of the first element.
        ObjectKind::Global { symbol } | ObjectKind::PerCpu { symbol, .. }
            if object.array.is_none() =>
        {
            Some(Some(symbol.clone()))
        }
        _ => None,
    }
}

/// Objects of a type, by how a guest finds them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TypeMapping {
    /// By a name.
    pub named: BTreeSet<MappedObjects>,
    /// By their addresses, which are the same in each window of the recorded guest only; most transfers first.
    pub addressed: Vec<MappedObjects>,
    /// Part of the type's recorded transfers on objects that have no name.
    pub unnamed_share: f64,
    /// Part on those that are not mapped by an address either.
    pub unmapped_share: f64,
}

impl TypeMapping {
    /// Looks where the objects of a type are.
    pub fn find(resolved: &ResolvedProfile<'_>, gathered: &GatheredType<'_>) -> Self {
        let mut members = members_of_subject(resolved, &gathered.advised_subject);
        members.sort_by_key(|(object, offset, _)| (object.run, object.base + *offset));
        let starts: Vec<(RunId, Addr)> = { members.iter() }
            .map(|(object, offset, _)| (object.run, object.base + *offset))
            .collect();
        let transfers = transfers_by_object(resolved, &starts, gathered.aggregate.size);
        let is_program = resolved.profile.meta.target == "program";
        let mut mapping = Self::default();
        let mut unnamed = Vec::new();
        for ((object, offset, _), transfers) in members.into_iter().zip(&transfers) {
            match named_place(object).filter(|_| !is_program) {
                Some(place) => {
                    let named = MappedObjects::at(resolved, object, offset, place);
                    mapping.named.extend(named);
                }
                None => unnamed.push((*transfers, object, offset)),
            }
        }
        unnamed.sort_by_key(|(transfers, ..)| std::cmp::Reverse(*transfers));
        let all = transfers.iter().sum::<u64>().max(1) as f64;
        let share = |objects: &[(u64, _, _)]| {
            objects
                .iter()
                .map(|(transfers, ..)| *transfers)
                .sum::<u64>() as f64
                / all
        };
        mapping.unnamed_share = share(&unnamed);
        mapping.unmapped_share = share(unnamed.get(ADDRESSED_MAX..).unwrap_or_default());
        let addressed =
            { unnamed.into_iter().take(ADDRESSED_MAX) }.filter(|(transfers, ..)| *transfers > 0);
        let size = gathered.aggregate.size;
        let objects = addressed.filter_map(|(_, object, offset)| match is_program {
            true => MappedObjects::in_program(object, object.base + offset, size),
            false => {
                let place = Some(format!("{:#x}", object.base.0));
                MappedObjects::at(resolved, object, offset, place)
            }
        });
        // Elements of one array have one place, and so has an object in each of the repeats, which start from one snapshot.
        let mut known = BTreeSet::new();
        mapping.addressed = objects
            .filter(|objects| known.insert(objects.clone()))
            .collect();
        mapping
    }
}

/// Returns the transfers on each object of `size` bytes, by the starts of all, which are in order.
fn transfers_by_object(
    resolved: &ResolvedProfile<'_>,
    starts: &[(RunId, Addr)],
    size: u64,
) -> Vec<u64> {
    let mut transfers = vec![0; starts.len()];
    for row in &resolved.profile.conflicts {
        let behind = starts.partition_point(|start| *start <= (row.run, row.addr));
        let Some(index) = behind.checked_sub(1) else {
            continue;
        };
        let (run, base) = starts[index];
        let is_inside = run == row.run && row.addr - base < size;
        if is_inside && row.transfer != CoherenceEvent::Upgrade {
            transfers[index] += row.count;
        }
    }
    transfers
}
