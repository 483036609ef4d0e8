//! The recorded objects of a type: whole objects, and parts of objects of other types.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use relayout_contend::{TraceIndex, TypeConfidence};
use relayout_layout::known_names::KnownName;
use relayout_layout::{Aggregate, AggregateKind, SourceLine, Type, TypeArena, TypeId};
use relayout_patch::source_language;
use relayout_profile::{Addr, CoherenceEvent, ConflictRow, RangeKind, RangeRow, RunId};
use relayout_resolve::{ObjectKind, ResolvedObject};
use relayout_search::{ObjectHome, RecordedInstance};

use super::object_rows::{ObjectPlace, group_into_rows};
use super::subject::{AdvisedSubject, as_single_member, element_type};
use crate::ResolvedProfile;

/// Deepest nesting of aggregates; more than this is damaged debug information.
const NESTING_MAX: u64 = 32;
/// Elements of an array that are searched for structs.
const ELEMENTS_MAX: u64 = 64;

/// Alignment in bytes that `malloc` gives on 64-bit machines (`MALLOC_ALIGNMENT`). Recorded
/// allocations show where it is less.
const MALLOC_ALIGN: u32 = 16;
/// Alignment of pages in bytes, and the largest that an address shows of a call that is told one.
const PAGE_ALIGN: u32 = 4096;
/// Functions that are told an alignment.
const ALIGNED_ALLOCATORS: [&str; 5] = [
    "aligned_alloc",
    "posix_memalign",
    "memalign",
    "valloc",
    "pvalloc",
];

/// Objects of a type in a profile, with their recorded accesses.
pub(super) struct TypeObjects<'a> {
    pub aggregate: Cow<'a, Aggregate>,
    /// Kind of the type; a struct for scalars.
    pub kind: AggregateKind,
    /// True for a union or a scalar, which has no order of members.
    pub is_whole: bool,
    pub instances: Vec<RecordedInstance>,
    /// Bytes of an element of the flexible array; 0 without one.
    pub tail_element_bytes: u64,
    /// Number of objects.
    pub count: u64,
    /// Number of objects with transfers.
    pub contended: usize,
    pub confidence: TypeConfidence,
    pub size_effects: SizeEffects,
    /// Allocation calls of the objects, as `calloc in main (hp.c:19)`.
    pub allocation_calls: BTreeSet<String>,
    /// True if the program named some of the objects by `relayout_object()`.
    pub has_named: bool,
}

/// Memory that the size of a type affects, besides its own objects.
#[derive(Clone, Debug, Default)]
pub struct SizeEffects {
    /// Types that hold it by value, with the number of such objects.
    pub holder_counts: BTreeMap<String, u64>,
    /// Elements of the arrays that the objects are in, accessed or not.
    pub array_elements: u64,
    /// Objects of which each CPU has one.
    pub per_cpu_objects: u64,
    /// Objects in a slab as recorded, by slab cache.
    pub objects_per_slab: BTreeMap<String, u64>,
}

impl SizeEffects {
    fn new(resolved: &ResolvedProfile<'_>, members: &[(&ResolvedObject, u64, TypeId)]) -> Self {
        let types = resolved.resolution.types();
        let mut effects = Self::default();
        let arrays = members.iter().filter_map(|(object, _, type_id)| {
            let element = types.strip_typedefs(element_type(types, object));
            let array = object
                .array
                .filter(|_| element == types.strip_typedefs(*type_id))?;
            Some(((object.run, array.base), array.count))
        });
        let arrays: BTreeMap<(RunId, Addr), u64> = arrays.collect();
        effects.array_elements = arrays.values().sum();
        for (object, _, type_id) in members {
            let element = element_type(types, object);
            if types.strip_typedefs(element) != types.strip_typedefs(*type_id) {
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
    /// Type, or array of scalars.
    pub subject: AdvisedSubject,
    /// Tag of the struct, or else name of the typedef, variable or type.
    pub name: String,
    /// Read and write transfers on all its objects.
    pub transfers: u64,
    /// Reason why its members cannot be laid out again.
    pub skip_reason: Option<String>,
}

/// Returns the types and variables with transfers: in simulated time those first for which contexts stood still longest, else
/// those with the most transfers.
pub(super) fn rank_contended_types(resolved: &ResolvedProfile<'_>) -> Vec<ContendedType> {
    let types = resolved.resolution.types();
    // Waiting in picoseconds, and transfers.
    let mut by_name: BTreeMap<(AdvisedSubject, Option<String>), (u64, u64)> = BTreeMap::new();
    let is_transfer = |row: &&ConflictRow| row.transfer != CoherenceEvent::Upgrade;
    for row in resolved.profile.conflicts.iter().filter(is_transfer) {
        if let Some(object) = resolved.resolution.object_at(row.run, row.addr) {
            by_name
                .entry(subject_and_obstacle(types, object))
                .or_default()
                .1 += row.count;
        }
    }
    for row in &resolved.profile.waits {
        let object = resolved.resolution.object_at(row.run, row.addr);
        let known = object.and_then(|object| by_name.get_mut(&subject_and_obstacle(types, object)));
        if let Some((wait_ps, _)) = known {
            *wait_ps = wait_ps.saturating_add(row.wait_ps);
        }
    }
    let mut weighed: Vec<_> = by_name.into_iter().collect();
    weighed.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
    { weighed.into_iter() }
        .map(|((subject, skip_reason), (_, transfers))| ContendedType {
            name: subject.name().to_owned(),
            subject,
            transfers,
            skip_reason,
        })
        .collect()
}

/// Returns the subject of an object, and the reason why no change of it can help.
fn subject_and_obstacle(
    types: &TypeArena,
    object: &ResolvedObject,
) -> (AdvisedSubject, Option<String>) {
    let subject = AdvisedSubject::of_object(types, object);
    let is_lone_scalar =
        matches!(subject, AdvisedSubject::Scalars { .. }) && object.array.is_none();
    let has_no_layout = is_lone_scalar || object.is_text();
    let mut obstacle = has_no_layout.then(|| format!("not a struct but {}", object.type_name));
    let element = element_type(types, object);
    let is_struct = types.aggregate(element).is_some() && object.kind.stack_variable().is_none();
    if is_struct && types.type_outside_libraries(element).is_none() {
        obstacle = Some("a type of the standard library".to_owned());
    }
    (subject, obstacle)
}

/// Returns all objects of the subject; `None` if there are none.
pub(super) fn find_objects<'a>(
    resolved: &ResolvedProfile<'a>,
    subject: &AdvisedSubject,
) -> Option<TypeObjects<'a>> {
    let types = resolved.resolution.types();
    let members = members_of_subject(resolved, subject);
    let first_type = members.first()?.2;
    let aggregate = types
        .aggregate(first_type)
        .filter(|aggregate| aggregate.kind != AggregateKind::Union);
    let is_whole = aggregate.is_none();
    let kind = types
        .aggregate(first_type)
        .map_or(AggregateKind::Struct, |found| found.kind);
    let aggregate = match aggregate {
        Some(aggregate) => Cow::Borrowed(aggregate),
        None => Cow::Owned(as_single_member(types, subject, first_type)?),
    };
    let index = TraceIndex::new(resolved.profile);
    let slabs = SlabRanges::new(&resolved.profile.ranges);
    let allocations = HeapAllocations::new(resolved);
    let tail_element_bytes = tail_element_bytes(types, &aggregate);
    let is_own = |object: &ResolvedObject, type_id| {
        types.strip_typedefs(object.ty) == types.strip_typedefs(type_id)
    };
    let places = members.iter().map(|(object, offset, type_id)| {
        let base = object.base + *offset;
        // Only an object of the type itself, not an element of an array, may extend past its end.
        let is_whole_object = is_own(object, *type_id) && *offset == 0;
        ObjectPlace {
            run: object.run,
            base,
            bytes: if is_whole_object {
                object.bytes.max(aggregate.size)
            } else {
                aggregate.size
            },
            home: { allocations.heap_home((*object, *type_id), base, aggregate.decl.as_ref()) }
                .unwrap_or_else(|| slabs.slab_home(object.run, base)),
            whole: whole_object(types, object, *type_id),
            array: object.array.filter(|array| array.stride == aggregate.size),
        }
    });
    let object_rows = group_into_rows(places.collect(), aggregate.size, resolved.line_bytes);
    let instances = object_rows
        .par_iter()
        .flat_map_iter(|row| row.instances(&index, &resolved.profile.meta))
        .collect();
    Some(TypeObjects {
        instances,
        tail_element_bytes,
        count: members.len() as u64,
        contended: contended_objects(resolved, &members, aggregate.size),
        confidence: TypeConfidence::from_percents(
            { members.iter() }.map(|(object, ..)| object.confidence_percent()),
        ),
        size_effects: SizeEffects::new(resolved, &members),
        has_named: { members.iter() }.any(|(object, ..)| object.kind == ObjectKind::Named),
        allocation_calls: { members.iter() }
            .filter_map(|(object, ..)| match &object.kind {
                ObjectKind::Heap { site, .. } if !site.is_empty() => Some(site.clone()),
                _ => None,
            })
            .collect(),
        aggregate,
        kind,
        is_whole,
    })
}

/// Returns the objects that hold the subject, with its offset in them and its type.
pub(crate) fn members_of_subject<'r>(
    resolved: &ResolvedProfile<'r>,
    subject: &AdvisedSubject,
) -> Vec<(&'r ResolvedObject, u64, TypeId)> {
    let types = resolved.resolution.types();
    let mut offsets_by_type: BTreeMap<TypeId, Vec<(u64, TypeId)>> = BTreeMap::new();
    let mut members = Vec::new();
    let is_wanted = |id| subject.is_type(types, id);
    for object in resolved.resolution.objects() {
        if subject.is_of_objects() {
            if AdvisedSubject::of_object(types, object) == *subject {
                members.extend(elements_of_object(types, object));
            }
            continue;
        }
        let offsets = offsets_by_type.entry(object.ty).or_insert_with(|| {
            let mut offsets = Vec::new();
            collect_offsets(types, object.ty, &is_wanted, [0, 0], &mut offsets);
            offsets
        });
        members.extend(
            offsets
                .iter()
                .map(|(offset, type_id)| (object, *offset, *type_id)),
        );
    }
    members
}

/// Returns an object, or its elements where it is an array, with their offsets and type.
fn elements_of_object<'o>(
    types: &TypeArena,
    object: &'o ResolvedObject,
) -> Vec<(&'o ResolvedObject, u64, TypeId)> {
    let element = element_type(types, object);
    match types.size_of(element) {
        Some(stride @ 1..) if element != object.ty => { 0..object.bytes / stride }
            .take(ELEMENTS_MAX as usize)
            .map(|index| (object, index * stride, element))
            .collect(),
        _ => vec![(object, 0, element)],
    }
}

/// Returns the first byte of the variable, allocation or array that an object of a type is, or is an
/// element of; `None` if it is a part of an object of another type.
fn whole_object(types: &TypeArena, object: &ResolvedObject, type_id: TypeId) -> Option<Addr> {
    let element = types.strip_typedefs(element_type(types, object));
    let is_element = element == types.strip_typedefs(type_id);
    is_element.then(|| object.array.map_or(object.base, |array| array.base))
}

/// Memory of allocators in a program.
struct HeapAllocations<'r, 'a> {
    resolved: &'r ResolvedProfile<'a>,
    /// Alignment in bytes that the allocator gives to any allocation.
    align: u32,
    /// Alignment that calls gave which were told one, by their site.
    told: BTreeMap<&'r str, u32>,
}

impl<'r, 'a> HeapAllocations<'r, 'a> {
    fn new(resolved: &'r ResolvedProfile<'a>) -> Self {
        let alignment = |addr: Addr, most: u32| 1 << addr.0.trailing_zeros().min(most);
        let heap = { resolved.profile.ranges.iter() }.filter(|row| row.kind == RangeKind::Heap);
        let given = heap.map(|row| alignment(row.start, MALLOC_ALIGN.trailing_zeros()));
        let mut told: BTreeMap<&str, u32> = BTreeMap::new();
        for object in resolved.resolution.objects() {
            let ObjectKind::Heap { site, .. } = &object.kind else {
                continue;
            };
            if is_told_alignment(site) {
                // The alignment that was asked for is not recorded: the addresses tell.
                let first = object.array.map_or(object.base, |array| array.base);
                let seen = alignment(first, PAGE_ALIGN.trailing_zeros());
                let least = told.entry(site).or_insert(seen);
                *least = seen.min(*least);
            }
        }
        Self {
            resolved,
            align: given.min().unwrap_or(MALLOC_ALIGN),
            told,
        }
    }

    /// Returns the home of an object at `base`, of a type, in the memory of an allocator; `None` for
    /// other objects. Memory of a program without a description comes from an allocator too.
    fn heap_home(
        &self,
        (object, type_id): (&ResolvedObject, TypeId),
        base: Addr,
        declared: Option<&SourceLine>,
    ) -> Option<ObjectHome> {
        let is_program = self.resolved.profile.meta.target == "program";
        let site = match &object.kind {
            ObjectKind::Heap { site, .. } => site.as_str(),
            ObjectKind::Memory | ObjectKind::Named if is_program => "",
            _ => return None,
        };
        let types = self.resolved.resolution.types();
        let is_element = whole_object(types, object, type_id).is_some();
        let (first, count) = match object.array.filter(|_| is_element) {
            Some(array) => (array.base, array.count),
            None => (base, 1),
        };
        let is_rust = declared
            .is_some_and(|place| source_language(&place.file, "").compiler_orders_members());
        // Where the program takes objects from, it has to give what their type declares.
        let is_own = object.kind == ObjectKind::Named;
        let follows_type = is_rust || is_own || site.starts_with("operator new");
        // Pages are mapped where they begin. A part of an object begins where that does.
        let is_mapped =
            object.kind == ObjectKind::Memory && object.base.is_multiple_of(u64::from(PAGE_ALIGN));
        let holder_align = match follows_type && !is_element {
            true => u32::try_from(types.align_of(object.ty)).unwrap_or(1),
            false => 1,
        };
        let align = match self.told.get(site) {
            Some(told) => *told,
            None if is_mapped => PAGE_ALIGN,
            None => self.align.max(holder_align),
        };
        Some(ObjectHome::Heap {
            first,
            align,
            count,
            follows_type,
        })
    }
}

/// Returns true for an allocation site whose function is told an alignment.
fn is_told_alignment(site: &str) -> bool {
    ALIGNED_ALLOCATORS.contains(&site.split(" in ").next().unwrap_or_default())
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

/// Returns the readable names of all structs in the profile, including those inside of others.
pub(crate) fn struct_names(resolved: &ResolvedProfile<'_>) -> BTreeSet<String> {
    let types = resolved.resolution.types();
    let structs = recorded_structs(resolved).into_iter();
    structs
        .filter_map(|id| types.aggregate(id)?.readable_name())
        .collect()
}

/// Returns all structs in the profile by their readable names.
pub(crate) fn known_structs<'r>(
    resolved: &ResolvedProfile<'r>,
) -> impl Iterator<Item = KnownName<'r, String>> {
    let types = resolved.resolution.types();
    let objects = resolved.resolution.objects().iter();
    let whole: BTreeSet<TypeId> = objects
        .map(|object| types.strip_typedefs(element_type(types, object)))
        .collect();
    recorded_structs(resolved)
        .into_iter()
        .filter_map(move |id| {
            let definition = types.aggregate(id)?;
            let name = definition.readable_name()?;
            Some(KnownName {
                definition: Some(definition),
                is_whole: whole.contains(&id),
                ..KnownName::printed(name.clone(), name)
            })
        })
}

/// Returns what the struct with the readable name `name` holds by value, by its readable name, if it is
/// a wrapper of a standard library. `None` for other structs; `Some(None)` where it holds no struct of
/// the user.
pub(super) fn struct_in_wrapper(
    resolved: &ResolvedProfile<'_>,
    name: &str,
) -> Option<Option<String>> {
    let types = resolved.resolution.types();
    let is_called = |id: &TypeId| {
        { types.aggregate(*id) }.is_some_and(|aggregate| is_complete_and_called(aggregate, name))
    };
    let id = recorded_structs(resolved).into_iter().find(is_called)?;
    let held = types.type_outside_libraries(id);
    (held != Some(id)).then(|| types.aggregate(held?)?.readable_name())
}

/// Returns all structs in the profile that have a name.
fn recorded_structs(resolved: &ResolvedProfile<'_>) -> Vec<TypeId> {
    let types = resolved.resolution.types();
    let mut unvisited: Vec<TypeId> = resolved
        .resolution
        .objects()
        .iter()
        .map(|object| object.ty)
        .collect();
    let (mut seen, mut structs) = (BTreeSet::new(), Vec::new());
    while let Some(id) = unvisited.pop().map(|id| types.strip_typedefs(id)) {
        if !seen.insert(id) {
            continue;
        }
        match types.get(id) {
            Type::Aggregate(aggregate) => {
                let is_named = aggregate.complete && aggregate.name.is_some();
                structs.extend(Some(id).filter(|_| is_named));
                unvisited.extend(aggregate.members.iter().map(|member| member.ty));
            }
            Type::Array { element, .. } => unvisited.push(*element),
            _ => {}
        }
    }
    structs
}

/// Returns true for a defined struct with this readable name.
pub(super) fn is_complete_and_called(aggregate: &Aggregate, name: &str) -> bool {
    aggregate.complete && aggregate.readable_name().as_deref() == Some(name)
}

/// Returns the offsets of the structs called `name` in a type, and their definitions.
pub fn struct_offsets(types: &TypeArena, id: TypeId, name: &str) -> Vec<(u64, TypeId)> {
    let mut offsets = Vec::new();
    let is_wanted = |id| {
        types
            .aggregate(id)
            .is_some_and(|aggregate| is_complete_and_called(aggregate, name))
    };
    collect_offsets(types, id, &is_wanted, [0, 0], &mut offsets);
    offsets
}

/// Adds the offsets of the wanted types in the type at `base_offset`, which is `depth` types deep.
fn collect_offsets(
    types: &TypeArena,
    id: TypeId,
    is_wanted: &dyn Fn(TypeId) -> bool,
    [base_offset, depth]: [u64; 2],
    offsets: &mut Vec<(u64, TypeId)>,
) {
    if depth > NESTING_MAX {
        return;
    }
    let named = id;
    let id = types.strip_typedefs(id);
    match types.get(id) {
        Type::Aggregate(_) if is_wanted(named) => offsets.push((base_offset, id)),
        Type::Aggregate(aggregate) => {
            for member in &aggregate.members {
                let inside = [base_offset + member.offset, depth + 1];
                collect_offsets(types, member.ty, is_wanted, inside, offsets);
            }
        }
        Type::Array { element, counts } => {
            let count: u64 = counts.iter().map(|count| count.unwrap_or(0)).product();
            let Some(size) = types.size_of(*element) else {
                return;
            };
            for index in 0..count.min(ELEMENTS_MAX) {
                let count_before = offsets.len();
                let inside = [base_offset + index * size, depth + 1];
                collect_offsets(types, *element, is_wanted, inside, offsets);
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
