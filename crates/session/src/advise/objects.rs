//! The recorded objects of a type: whole objects, and parts of objects of other types.

use relayout_profile::Addr;
use relayout_profile::RunId;
use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use relayout_contend::TraceIndex;
use relayout_layout::{Aggregate, AggregateKind, Type, TypeArena, TypeId};
use relayout_profile::{CoherenceEvent, ConflictRow, RangeKind, RangeRow};
use relayout_resolve::{ObjectKind, ResolvedObject};
use relayout_search::{ObjectHome, RecordedInstance};

use super::doubts::TypeConfidence;
use super::object_rows::{ObjectPlace, group_into_rows};
use crate::ResolvedProfile;

/// Deepest nesting of aggregates; more than this is damaged debug information.
const NESTING_MAX: u32 = 32;
/// Elements of an array that are searched for structs.
const ELEMENTS_MAX: u64 = 64;

/// Objects of a type in a profile, with their recorded accesses.
pub(super) struct TypeObjects<'a> {
    pub aggregate: &'a Aggregate,
    pub instances: Vec<RecordedInstance>,
    /// Bytes of an element of the flexible array; 0 without one.
    pub tail_element_bytes: u64,
    /// Number of objects.
    pub count: u64,
    /// Number of objects with transfers.
    pub contended: usize,
    pub confidence: TypeConfidence,
    pub size_effects: SizeEffects,
}

/// Memory that the size of a type affects, besides its own objects.
#[derive(Clone, Debug, Default)]
pub struct SizeEffects {
    /// Types that hold it by value, with the number of such objects.
    pub holder_counts: BTreeMap<String, u64>,
    /// Objects of which each CPU has one.
    pub per_cpu_objects: u64,
    /// Objects in a slab as recorded, by slab cache.
    pub objects_per_slab: BTreeMap<String, u64>,
}

impl SizeEffects {
    fn new(resolved: &ResolvedProfile<'_>, members: &[(&ResolvedObject, u64, TypeId)]) -> Self {
        let types = resolved.resolution.types();
        let mut effects = Self::default();
        for (object, _, type_id) in members {
            if types.strip_typedefs(object.ty) != *type_id {
                *effects
                    .holder_counts
                    .entry(object.type_name.clone())
                    .or_default() += 1;
            }
            let is_per_cpu = matches!(object.kind, ObjectKind::PerCpu { .. });
            effects.per_cpu_objects += u64::from(is_per_cpu);
        }
        for row in &resolved.profile.ranges {
            if row.kind == RangeKind::Slab && row.stride > 0 {
                let count = row.bytes / u64::from(row.stride);
                let most = effects
                    .objects_per_slab
                    .entry(row.owner.clone())
                    .or_default();
                *most = count.max(*most);
            }
        }
        effects
    }
}

/// A type or variable with transfers.
#[derive(Clone, Debug)]
pub struct ContendedType {
    /// Tag of the struct, or else name of the variable or type.
    pub name: String,
    /// Read and write transfers on all its objects.
    pub transfers: u64,
    /// Reason why its members cannot be laid out again.
    pub skip_reason: Option<String>,
}

/// Returns the types and variables with transfers, most transfers first.
pub(super) fn rank_contended_types(resolved: &ResolvedProfile<'_>) -> Vec<ContendedType> {
    let types = resolved.resolution.types();
    let mut by_name: BTreeMap<(String, Option<String>), u64> = BTreeMap::new();
    let is_transfer = |row: &&ConflictRow| row.transfer != CoherenceEvent::Upgrade;
    for row in resolved.profile.conflicts.iter().filter(is_transfer) {
        if let Some(object) = resolved.resolution.object_at(row.run, row.addr) {
            *by_name.entry(name_and_obstacle(types, object)).or_default() += row.count;
        }
    }
    let mut ranked: Vec<ContendedType> = (by_name.into_iter())
        .map(|((name, skip_reason), transfers)| ContendedType {
            name,
            transfers,
            skip_reason,
        })
        .collect();
    ranked.sort_by_key(|contended| std::cmp::Reverse(contended.transfers));
    ranked
}

/// Returns the name of an object, and the reason why its type has no order to change.
fn name_and_obstacle(types: &TypeArena, object: &ResolvedObject) -> (String, Option<String>) {
    let type_name = &object.type_name;
    // The elements of an allocated array are laid out again.
    let element = match types.get(types.strip_typedefs(object.ty)) {
        Type::Array { element, .. } if is_allocated(object) => *element,
        _ => object.ty,
    };
    match types.aggregate(element) {
        Some(Aggregate {
            kind: AggregateKind::Union,
            ..
        }) => (
            strip_struct_tag(type_name).to_owned(),
            Some("a union".to_owned()),
        ),
        Some(aggregate) if aggregate.complete && aggregate.name.is_some() => {
            (aggregate.name.clone().unwrap_or_default(), None)
        }
        Some(_) => (
            symbol_or_type_name(object),
            Some("a struct without a tag".to_owned()),
        ),
        None => (
            symbol_or_type_name(object),
            Some(format!("not a struct but {type_name}")),
        ),
    }
}

fn is_allocated(object: &ResolvedObject) -> bool {
    matches!(object.kind, ObjectKind::Heap { .. })
}

fn symbol_or_type_name(object: &ResolvedObject) -> String {
    match &object.kind {
        ObjectKind::Global { symbol }
        | ObjectKind::PerCpu { symbol, .. }
        | ObjectKind::ThreadLocal { symbol, .. } => symbol.clone(),
        _ => object.type_name.clone(),
    }
}

/// Returns all objects of the struct `name`; `None` if there are none.
pub(super) fn find_objects<'a>(
    resolved: &ResolvedProfile<'a>,
    name: &str,
) -> Option<TypeObjects<'a>> {
    let types = resolved.resolution.types();
    let mut offsets_by_type: BTreeMap<TypeId, Vec<(u64, TypeId)>> = BTreeMap::new();
    let mut members: Vec<(&ResolvedObject, u64, TypeId)> = Vec::new();
    for object in resolved.resolution.objects() {
        let offsets = offsets_by_type
            .entry(object.ty)
            .or_insert_with(|| struct_offsets(types, object.ty, name));
        members.extend(
            offsets
                .iter()
                .map(|(offset, type_id)| (object, *offset, *type_id)),
        );
    }
    let aggregate = types.aggregate(members.first()?.2)?;
    let index = TraceIndex::new(resolved.profile);
    let slabs = SlabRanges::new(&resolved.profile.ranges);
    let tail_element_bytes = tail_element_bytes(types, aggregate);
    let places = members.iter().map(|(object, offset, type_id)| {
        let base = object.base + *offset;
        // Only an object of the type itself, not an element of an array, may extend past its end.
        let is_whole_object = types.strip_typedefs(object.ty) == *type_id && *offset == 0;
        ObjectPlace {
            run: object.run,
            base,
            bytes: if is_whole_object {
                object.bytes.max(aggregate.size)
            } else {
                aggregate.size
            },
            home: slabs.slab_home(object.run, base),
        }
    });
    let object_rows = group_into_rows(places.collect(), aggregate.size, resolved.line_bytes);
    let instances = object_rows
        .par_iter()
        .flat_map_iter(|row| row.instances(&index, &resolved.profile.meta))
        .collect();
    Some(TypeObjects {
        aggregate,
        instances,
        tail_element_bytes,
        count: members.len() as u64,
        contended: contended_objects(resolved, &members, aggregate.size),
        confidence: TypeConfidence::new(members.iter().map(|(object, ..)| *object)),
        size_effects: SizeEffects::new(resolved, &members),
    })
}

/// Returns the number of objects of `size` bytes with transfers.
fn contended_objects(
    resolved: &ResolvedProfile<'_>,
    members: &[(&ResolvedObject, u64, TypeId)],
    size: u64,
) -> usize {
    let mut starts: Vec<(RunId, Addr)> = { members.iter() }
        .map(|(object, offset, _)| (object.run, object.base + *offset))
        .collect();
    starts.sort_unstable();
    let is_transfer = |row: &&ConflictRow| row.transfer != CoherenceEvent::Upgrade;
    let rows = resolved.profile.conflicts.iter().filter(is_transfer);
    let owners = rows.filter_map(|row| {
        let behind = starts.partition_point(|start| *start <= (row.run, row.addr));
        let start = starts[behind.checked_sub(1)?];
        (start.0 == row.run && row.addr - start.1 < size).then_some(start)
    });
    owners.collect::<BTreeSet<_>>().len()
}

/// Returns the names of all structs in the profile, including those inside of others.
pub(crate) fn struct_names(resolved: &ResolvedProfile<'_>) -> BTreeSet<String> {
    let types = resolved.resolution.types();
    let mut unvisited: Vec<TypeId> = resolved
        .resolution
        .objects()
        .iter()
        .map(|object| object.ty)
        .collect();
    let (mut seen, mut names) = (BTreeSet::new(), BTreeSet::new());
    while let Some(id) = unvisited.pop().map(|id| types.strip_typedefs(id)) {
        if !seen.insert(id) {
            continue;
        }
        match types.get(id) {
            Type::Aggregate(aggregate) => {
                names.extend(aggregate.name.clone().filter(|_| aggregate.complete));
                unvisited.extend(aggregate.members.iter().map(|member| member.ty));
            }
            Type::Array { element, .. } => unvisited.push(*element),
            _ => {}
        }
    }
    names
}

fn strip_struct_tag(name: &str) -> &str {
    name.trim_start_matches("struct ")
}

/// Returns the offsets of the structs called `name` in a type, and their definitions.
pub fn struct_offsets(types: &TypeArena, id: TypeId, name: &str) -> Vec<(u64, TypeId)> {
    let mut offsets = Vec::new();
    collect_offsets(types, id, name, 0, 0, &mut offsets);
    offsets
}

fn collect_offsets(
    types: &TypeArena,
    id: TypeId,
    name: &str,
    base_offset: u64,
    depth: u32,
    offsets: &mut Vec<(u64, TypeId)>,
) {
    if depth > NESTING_MAX {
        return;
    }
    let id = types.strip_typedefs(id);
    match types.get(id) {
        Type::Aggregate(aggregate)
            if aggregate.complete && aggregate.name.as_deref() == Some(name) =>
        {
            offsets.push((base_offset, id));
        }
        Type::Aggregate(aggregate) => {
            for member in &aggregate.members {
                collect_offsets(
                    types,
                    member.ty,
                    name,
                    base_offset + member.offset,
                    depth + 1,
                    offsets,
                );
            }
        }
        Type::Array { element, counts } => {
            let count: u64 = counts.iter().map(|count| count.unwrap_or(0)).product();
            let Some(size) = types.size_of(*element) else {
                return;
            };
            for index in 0..count.min(ELEMENTS_MAX) {
                let count_before = offsets.len();
                collect_offsets(
                    types,
                    *element,
                    name,
                    base_offset + index * size,
                    depth + 1,
                    offsets,
                );
                if offsets.len() == count_before {
                    return;
                }
            }
        }
        _ => {}
    }
}

fn tail_element_bytes(types: &TypeArena, aggregate: &Aggregate) -> u64 {
    let Some(last) = aggregate.members.last() else {
        return 0;
    };
    match types.get(types.strip_typedefs(last.ty)) {
        Type::Array { element, counts } if matches!(counts.first(), Some(None | Some(0))) => {
            types.size_of(*element).unwrap_or(0)
        }
        _ => 0,
    }
}

/// Slab pages of the profile, by run and address.
struct SlabRanges<'p> {
    rows: Vec<&'p RangeRow>,
}

impl<'p> SlabRanges<'p> {
    fn new(ranges: &'p [RangeRow]) -> Self {
        let mut rows: Vec<&RangeRow> = ranges
            .iter()
            .filter(|row| row.kind == RangeKind::Slab && row.stride > 0)
            .collect();
        rows.sort_by_key(|row| (row.run, row.start));
        Self { rows }
    }

    /// Returns the slab slot that starts at `base`, or a fixed place.
    fn slab_home(&self, run: RunId, base: Addr) -> ObjectHome {
        let next_row = self
            .rows
            .partition_point(|row| (row.run, row.start) <= (run, base));
        let row = next_row.checked_sub(1).map(|last| self.rows[last]);
        let holds = |row: &&RangeRow| {
            row.run == run
                && base >= row.first
                && base - row.start < row.bytes
                && (base - row.first).is_multiple_of(u64::from(row.stride))
        };
        match row.filter(holds) {
            Some(row) => ObjectHome::Slab {
                cache: row.owner.clone(),
                first: row.first,
                stride: row.stride,
                object_bytes: row.object_bytes,
            },
            None => ObjectHome::Fixed,
        }
    }
}
