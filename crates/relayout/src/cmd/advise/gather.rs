//! The recorded objects of a type: by themselves, and inside objects of other types.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use relayout_contend::TraceIndex;
use relayout_layout::{Aggregate, AggregateKind, Type, TypeId, Types};
use relayout_profile::{ConflictRow, RangeKind, RangeRow, Transfer};
use relayout_resolve::{Object, ObjectKind};
use relayout_search::{Home, Instance};

use super::rows::{Place, rows};
use crate::input::Input;

/// Aggregates nest; more than this is damaged debug information.
const DEPTH_MAX: u32 = 32;
/// Elements of an array that are looked into.
const ELEMENTS_MAX: u64 = 64;

/// What the profile holds of a type.
pub struct Found<'a> {
    pub aggregate: &'a Aggregate,
    pub instances: Vec<Instance>,
    /// Bytes of an element of its flexible array; 0 if it has none.
    pub tail_element_bytes: u64,
    pub objects: u64,
    pub memory: Memory,
}

/// What the size of a type has an effect on, beside its own objects.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// Types that hold it by value, with how many such objects were seen.
    pub inside: BTreeMap<String, u64>,
    /// Objects that each CPU has one of.
    pub per_cpu: u64,
    /// By slab cache: objects in a slab as recorded.
    pub per_slab: BTreeMap<String, u64>,
}

impl Memory {
    fn new(input: &Input<'_>, found: &[(&Object, u64, TypeId)]) -> Self {
        let types = input.resolution.types();
        let mut memory = Self::default();
        for (object, _, ty) in found {
            if types.strip(object.ty) != *ty {
                *memory.inside.entry(object.type_name.clone()).or_default() += 1;
            }
            let per_cpu = matches!(object.kind, ObjectKind::PerCpu { .. });
            memory.per_cpu += u64::from(per_cpu);
        }
        for row in &input.profile.ranges {
            if row.kind == RangeKind::Slab && row.stride > 0 {
                let count = row.bytes / u64::from(row.stride);
                let most = memory.per_slab.entry(row.owner.clone()).or_default();
                *most = count.max(*most);
            }
        }
        memory
    }
}

/// A type or variable with transfers on it.
pub struct Contended {
    /// What to call it: a struct's tag, else the variable or the type.
    pub name: String,
    /// Read and write transfers on all its objects.
    pub transfers: u64,
    /// Why its members cannot be laid out again, if they cannot.
    pub skipped: Option<String>,
}

/// Everything known that has transfers, most first.
pub fn contended(input: &Input<'_>) -> Vec<Contended> {
    let types = input.resolution.types();
    let mut by_name: BTreeMap<(String, Option<String>), u64> = BTreeMap::new();
    let transfers = |row: &&ConflictRow| row.transfer != Transfer::Upgrade;
    for row in input.profile.conflicts.iter().filter(transfers) {
        if let Some(object) = input.resolution.object_at(row.run, row.addr) {
            *by_name.entry(named(types, object)).or_default() += row.count;
        }
    }
    let mut ranked: Vec<Contended> = (by_name.into_iter())
        .map(|((name, skipped), transfers)| Contended {
            name,
            transfers,
            skipped,
        })
        .collect();
    ranked.sort_by_key(|one| std::cmp::Reverse(one.transfers));
    ranked
}

/// What to call an object, and why its type has no order to change, if so.
fn named(types: &Types, object: &Object) -> (String, Option<String>) {
    let of = &object.type_name;
    // Of an allocated array, the elements are laid out again.
    let element = match types.get(types.strip(object.ty)) {
        Type::Array { element, .. } if is_allocated(object) => *element,
        _ => object.ty,
    };
    match types.aggregate(element) {
        Some(Aggregate {
            kind: AggregateKind::Union,
            ..
        }) => (bare(of).to_owned(), Some("a union".to_owned())),
        Some(aggregate) if aggregate.complete && aggregate.name.is_some() => {
            (aggregate.name.clone().unwrap_or_default(), None)
        }
        Some(_) => (symbol(object), Some("a struct without a tag".to_owned())),
        None => (symbol(object), Some(format!("not a struct but {of}"))),
    }
}

fn is_allocated(object: &Object) -> bool {
    matches!(object.kind, ObjectKind::Heap { .. })
}

fn symbol(object: &Object) -> String {
    match &object.kind {
        ObjectKind::Global { symbol }
        | ObjectKind::PerCpu { symbol, .. }
        | ObjectKind::ThreadLocal { symbol, .. } => symbol.clone(),
        _ => object.type_name.clone(),
    }
}

/// All objects of `name`; `None` if there are none.
pub fn objects<'a>(input: &Input<'a>, name: &str) -> Option<Found<'a>> {
    let types = input.resolution.types();
    let mut inside: BTreeMap<TypeId, Vec<(u64, TypeId)>> = BTreeMap::new();
    let mut found: Vec<(&Object, u64, TypeId)> = Vec::new();
    for object in input.resolution.objects() {
        let places = inside.entry(object.ty).or_insert_with(|| {
            let mut places = Vec::new();
            collect(types, object.ty, name, 0, 0, &mut places);
            places
        });
        found.extend(places.iter().map(|(offset, ty)| (object, *offset, *ty)));
    }
    let aggregate = types.aggregate(found.first()?.2)?;
    let index = TraceIndex::new(input.profile);
    let slabs = Slabs::new(&input.profile.ranges);
    let tail_element_bytes = tail_element_bytes(types, aggregate);
    let places = found.iter().map(|(object, offset, ty)| {
        let base = object.base + offset;
        // Only an object of the type itself, not an element of an array, may go on past its end.
        let own = types.strip(object.ty) == *ty && *offset == 0;
        Place {
            run: object.run,
            base,
            bytes: if own {
                object.bytes.max(aggregate.size)
            } else {
                aggregate.size
            },
            home: slabs.home(object.run, base),
        }
    });
    let rows = rows(places.collect(), aggregate.size, input.line_bytes);
    let instances = rows
        .par_iter()
        .flat_map_iter(|row| row.instances(&index))
        .collect();
    Some(Found {
        aggregate,
        instances,
        tail_element_bytes,
        objects: found.len() as u64,
        memory: Memory::new(input, &found),
    })
}

/// Names of the structs that objects are, or have inside.
pub fn names(input: &Input<'_>) -> BTreeSet<String> {
    let types = input.resolution.types();
    let mut left: Vec<TypeId> = { input.resolution.objects().iter() }
        .map(|object| object.ty)
        .collect();
    let (mut seen, mut names) = (BTreeSet::new(), BTreeSet::new());
    while let Some(id) = left.pop().map(|id| types.strip(id)) {
        if !seen.insert(id) {
            continue;
        }
        match types.get(id) {
            Type::Aggregate(aggregate) => {
                names.extend(aggregate.name.clone().filter(|_| aggregate.complete));
                left.extend(aggregate.members.iter().map(|member| member.ty));
            }
            Type::Array { element, .. } => left.push(*element),
            _ => {}
        }
    }
    names
}

fn bare(name: &str) -> &str {
    name.trim_start_matches("struct ")
}

/// Where structs called `name` lie in a type, by offset.
pub fn collect(
    types: &Types,
    id: TypeId,
    name: &str,
    at: u64,
    depth: u32,
    places: &mut Vec<(u64, TypeId)>,
) {
    if depth > DEPTH_MAX {
        return;
    }
    let id = types.strip(id);
    match types.get(id) {
        Type::Aggregate(aggregate)
            if aggregate.complete && aggregate.name.as_deref() == Some(name) =>
        {
            places.push((at, id));
        }
        Type::Aggregate(aggregate) => {
            for member in &aggregate.members {
                collect(
                    types,
                    member.ty,
                    name,
                    at + member.offset,
                    depth + 1,
                    places,
                );
            }
        }
        Type::Array { element, counts } => {
            let count: u64 = counts.iter().map(|count| count.unwrap_or(0)).product();
            let Some(size) = types.size_of(*element) else {
                return;
            };
            for nth in 0..count.min(ELEMENTS_MAX) {
                let before = places.len();
                collect(types, *element, name, at + nth * size, depth + 1, places);
                if places.len() == before {
                    return;
                }
            }
        }
        _ => {}
    }
}

fn tail_element_bytes(types: &Types, aggregate: &Aggregate) -> u64 {
    let Some(last) = aggregate.members.last() else {
        return 0;
    };
    match types.get(types.strip(last.ty)) {
        Type::Array { element, counts } if matches!(counts.first(), Some(None | Some(0))) => {
            types.size_of(*element).unwrap_or(0)
        }
        _ => 0,
    }
}

/// The profile's slab pages, by run and address.
struct Slabs<'p> {
    rows: Vec<&'p RangeRow>,
}

impl<'p> Slabs<'p> {
    fn new(ranges: &'p [RangeRow]) -> Self {
        let mut rows: Vec<&RangeRow> = ranges
            .iter()
            .filter(|row| row.kind == RangeKind::Slab && row.stride > 0)
            .collect();
        rows.sort_by_key(|row| (row.run, row.start));
        Self { rows }
    }

    /// The slot that starts at `base`; anything else stays where it is.
    fn home(&self, run: u16, base: u64) -> Home {
        let after = self
            .rows
            .partition_point(|row| (row.run, row.start) <= (run, base));
        let row = after.checked_sub(1).map(|last| self.rows[last]);
        let holds = |row: &&RangeRow| {
            row.run == run
                && base >= row.first
                && base - row.start < row.bytes
                && (base - row.first).is_multiple_of(u64::from(row.stride))
        };
        match row.filter(holds) {
            Some(row) => Home::Slab {
                cache: row.owner.clone(),
                first: row.first,
                stride: row.stride,
                object_bytes: row.object_bytes,
            },
            None => Home::Fixed,
        }
    }
}
