//! Types of slab caches.
//!
//! A cache may have any name: `filp` holds `struct file`. A name leads to a type only if the sizes
//! agree to the byte. Otherwise the evidence of all slots decides together.

use std::hash::{Hash, Hasher};

use relayout_layout::{Type, TypeId};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use super::vote::{ElectedType, ScalarFit, TypeShapes, Votes, elect};
use crate::evidence::AnalysedProgram;
use crate::types::shape;

/// Endings of cache names that the type's name lacks.
const CACHE_ENDINGS: [&str; 6] = ["_cachep", "_cache", "_jar", "_slab", "_head_cache", "_pool"];
/// Endings of type names that the cache's name lacks.
const TYPE_ENDINGS: [&str; 5] = ["", "_struct", "_info", "_node", "_sock"];

/// Types of caches whose names do not lead to them, from the kernel's `kmem_cache_create` calls and
/// `struct proto`.
const KNOWN: [(&str, &str); 24] = [
    ("TCP", "tcp_sock"),
    ("UDP", "udp_sock"),
    ("UNIX", "unix_sock"),
    ("UNIX-STREAM", "unix_sock"),
    ("bdev_cache", "bdev_inode"),
    ("blkdev_ioc", "io_context"),
    ("ep_head", "epitems_head"),
    ("eventpoll_epi", "epitem"),
    ("eventpoll_pwq", "eppoll_entry"),
    ("ext4_extent_status", "extent_status"),
    ("fasync_cache", "fasync_struct"),
    ("file_lock_ctx", "file_lock_context"),
    ("filp", "file"),
    ("jbd2_journal_head", "journal_head"),
    ("mbcache", "mb_cache_entry"),
    ("mnt_cache", "mount"),
    ("numa_policy", "mempolicy"),
    ("posix_timers_cache", "k_itimer"),
    ("radix_tree_node", "xa_node"),
    ("shared_policy_node", "sp_node"),
    ("skbuff_fclone_cache", "sk_buff_fclones"),
    ("skbuff_head_cache", "sk_buff"),
    ("sock_inode_cache", "socket_alloc"),
    ("uid_cache", "user_struct"),
];

/// Fraction of the votes that must agree before the evidence names a cache's type.
const AGREEMENT_MIN: f64 = 0.5;

/// Type of a cache's objects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CacheType {
    /// Type of the objects.
    pub ty: TypeId,
    /// Bytes from the start of a slot to the object.
    pub offset: u64,
    /// Result of the vote, in a slot that starts at 0; `None` if name and size decided.
    pub elected: Option<ElectedType>,
}

/// Returns true if the cache serves allocations of any type.
pub fn is_general_purpose(cache: &str) -> bool {
    cache.contains("kmalloc")
}

/// Returns the type of a cache of one purpose. `votes` are those of all slots, relative to their
/// starts.
pub fn cache_type(
    program: &AnalysedProgram<'_, '_>,
    shapes: &mut dyn TypeShapes,
    cache: &str,
    object_bytes: u64,
    votes: &Votes,
) -> Option<CacheType> {
    let by_name = type_by_name(program, cache, object_bytes);
    if let Some(ty) = by_name.or_else(|| type_of_cut_name(program, cache, votes)) {
        return Some(CacheType {
            ty,
            offset: 0,
            elected: None,
        });
    }
    let winners = elect(shapes, 0, object_bytes, votes);
    let best = winners
        .into_iter()
        .max_by(|a, b| a.support.total_cmp(&b.support))?;
    let total: f64 = votes.values().sum();
    let agrees = best.support >= AGREEMENT_MIN * total;
    agrees.then_some(CacheType {
        ty: best.ty,
        offset: best.base,
        elected: Some(best),
    })
}

/// Returns the struct that the cache's name suggests, if it has the size of the cache's objects.
fn type_by_name(
    program: &AnalysedProgram<'_, '_>,
    cache: &str,
    object_bytes: u64,
) -> Option<TypeId> {
    let known = KNOWN.iter().filter(|known| known.0 == cache);
    let known = known.map(|known| known.1.to_owned());
    let stems =
        std::iter::once(cache).chain(CACHE_ENDINGS.iter().filter_map(|e| cache.strip_suffix(e)));
    let names = stems.flat_map(|stem| TYPE_ENDINGS.iter().map(move |e| format!("{stem}{e}")));
    { known.chain(names) }.find_map(|name| {
        let ty = program.store.find_named(&name)?;
        let types = program.store.types();
        let bytes = types.size_of(ty)?;
        // `struct pid` ends in an array without a length, and the cache has room for some elements.
        let open = bytes < object_bytes && shape::has_flexible_tail(&types, ty);
        (bytes == object_bytes || open).then_some(ty)
    })
}

/// Returns the struct with exactly the cache's name, if the evidence agrees: for the struct itself,
/// or for parts of it at their offsets. Its objects may be shorter than the type: the kernel leaves
/// out the end of `task_struct` if the CPU lacks the feature.
fn type_of_cut_name(
    program: &AnalysedProgram<'_, '_>,
    cache: &str,
    votes: &Votes,
) -> Option<TypeId> {
    let ty = program.store.find_named(cache)?;
    let total: f64 = votes.values().sum();
    let is_part = |base: u64, part: TypeId| match base {
        0 if part == ty => true,
        _ => program.store.contains(ty, base, part),
    };
    let agrees: f64 = { votes.iter() }
        .filter(|((base, part), _)| is_part(*base, *part))
        .map(|(_, weight)| weight)
        .sum();
    (agrees > AGREEMENT_MIN * total).then_some(ty)
}

/// Shapes of the store's types, with answers cached for an election.
pub struct StoreShapes<'p, 'f, 'a> {
    program: &'p AnalysedProgram<'f, 'a>,
    /// See [`ObjectBallot::longer_owners`](super::ballot::ObjectBallot::longer_owners).
    longer_owners: FxHashSet<TypeId>,
    contains: FxHashMap<(TypeId, u64, TypeId), bool>,
    scalar_fits: FxHashMap<(TypeId, u64, TypeId), ScalarFit>,
    ranks: FxHashMap<TypeId, u64>,
}

impl<'p, 'f, 'a> StoreShapes<'p, 'f, 'a> {
    /// Makes shapes with an empty cache. `longer_owners` are the types that end in an array of one
    /// element, of which an object has more.
    pub fn new(program: &'p AnalysedProgram<'f, 'a>, longer_owners: FxHashSet<TypeId>) -> Self {
        Self {
            program,
            longer_owners,
            contains: FxHashMap::default(),
            scalar_fits: FxHashMap::default(),
            ranks: FxHashMap::default(),
        }
    }
}

impl TypeShapes for StoreShapes<'_, '_, '_> {
    fn size_of(&self, ty: TypeId) -> Option<u64> {
        self.program.store.types().size_of(ty)
    }

    fn contains(&mut self, outer: TypeId, offset: u64, inner: TypeId) -> bool {
        let program = self.program;
        *self
            .contains
            .entry((outer, offset, inner))
            .or_insert_with(|| {
                let offset = shape::offset_in_declared(&program.store.types(), outer, offset);
                program.store.contains(outer, offset, inner)
            })
    }

    fn rank(&mut self, ty: TypeId) -> u64 {
        let program = self.program;
        *self.ranks.entry(ty).or_insert_with(|| {
            let types = program.store.types();
            let mut hasher = FxHasher::default();
            (types.name_of(ty), types.size_of(ty)).hash(&mut hasher);
            hasher.finish()
        })
    }

    fn is_mere_array(&self, ty: TypeId) -> bool {
        shape::is_mere_array(&self.program.store.types(), ty)
    }

    fn is_open_ended(&self, ty: TypeId, bytes: u64) -> bool {
        let types = self.program.store.types();
        let size = types.size_of(ty).filter(|&size| size > 0);
        // An array of such structs would fill the memory.
        let is_array = |size| bytes.is_multiple_of(size) && !self.longer_owners.contains(&ty);
        let is_longer = || size.is_some_and(|size| bytes > size && !is_array(size));
        shape::has_flexible_tail(&types, ty)
            || is_longer() && shape::short_tail(&types, ty).is_some()
    }

    fn scalar_fit(&mut self, outer: TypeId, offset: u64, scalar: TypeId) -> ScalarFit {
        let program = self.program;
        *self
            .scalar_fits
            .entry((outer, offset, scalar))
            .or_insert_with(|| scalar_fit(program, outer, offset, scalar))
    }
}

/// Returns the agreement of an access to a `scalar` with what `outer` has at `offset`.
fn scalar_fit(
    program: &AnalysedProgram<'_, '_>,
    outer: TypeId,
    offset: u64,
    scalar: TypeId,
) -> ScalarFit {
    let same = program.store.canonical(scalar);
    let types = program.store.types();
    let offset = shape::offset_in_declared(&types, outer, offset);
    let parts = shape::parts_and_alternatives_at(&types, outer, offset);
    let innermost = |part: &&shape::TypePart| {
        let inner = types.get(types.strip_typedefs(part.ty));
        !matches!(inner, Type::Aggregate(_) | Type::Array { .. })
    };
    let is_pointer = |ty| matches!(types.get(types.strip_typedefs(ty)), Type::Pointer { .. });
    let leaves: Vec<(shape::TypePart, Option<u64>)> = { parts.iter().filter(innermost) }
        .map(|part| (*part, types.size_of(part.ty)))
        .collect();
    let scalar_bytes = types.size_of(scalar);
    let both_pointers = |ty| is_pointer(ty) && is_pointer(scalar);
    let pointers = leaves
        .iter()
        .any(|(part, _)| part.offset == 0 && both_pointers(part.ty));
    drop(types);
    let is_same = |ty| program.store.canonical(ty) == same;
    if pointers
        || leaves
            .iter()
            .any(|(part, _)| part.offset == 0 && is_same(part.ty))
    {
        return ScalarFit::Member;
    }
    let is_possible = |(part, bytes): &(shape::TypePart, Option<u64>)| {
        *bytes <= Some(1) || part.offset == 0 && *bytes == scalar_bytes
    };
    match leaves.is_empty() || scalar_bytes <= Some(1) || leaves.iter().any(is_possible) {
        true => ScalarFit::Possible,
        false => ScalarFit::Contradiction,
    }
}
