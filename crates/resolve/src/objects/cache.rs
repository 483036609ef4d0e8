//! What type a slab cache holds.
//!
//! The kernel names caches as it likes (`filp` holds `struct file`). A name leads to a type only if
//! the sizes agree to the byte; else the evidence of all slots decides together.

use relayout_layout::TypeId;
use rustc_hash::FxHashMap;

use super::vote::{Shapes, Votes, Winner, elect};
use crate::evidence::Program;

/// Endings of cache names that the type's name lacks.
const CACHE_ENDINGS: [&str; 6] = ["_cachep", "_cache", "_jar", "_slab", "_head_cache", "_pool"];
/// Endings of type names that the cache's name lacks.
const TYPE_ENDINGS: [&str; 5] = ["", "_struct", "_info", "_node", "_sock"];

/// Part of the votes that must agree before the evidence names a cache's type.
const AGREEMENT_MIN: f64 = 0.5;

/// A cache's type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CacheType {
    /// Its type.
    pub ty: TypeId,
    /// Bytes from the slot's start to the object.
    pub offset: u64,
    /// The votes, in a slot that starts at 0; `None` if name and size decided.
    pub elected: Option<Winner>,
}

/// Whether slots of the cache hold whatever fits.
pub fn is_general_purpose(cache: &str) -> bool {
    cache.contains("kmalloc")
}

/// The type of a cache of one purpose. `votes` are those of all slots, relative to their starts.
pub fn type_of(
    program: &Program<'_, '_>,
    shapes: &mut dyn Shapes,
    cache: &str,
    object_bytes: u64,
    votes: &Votes,
) -> Option<CacheType> {
    if let Some(ty) = by_name(program, cache, object_bytes) {
        return Some(CacheType {
            ty,
            offset: 0,
            elected: None,
        });
    }
    if let Some(ty) = cut_short(program, cache, votes) {
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

/// The struct that the cache's name suggests, if it has exactly the size of the cache's objects.
fn by_name(program: &Program<'_, '_>, cache: &str, object_bytes: u64) -> Option<TypeId> {
    let stems =
        std::iter::once(cache).chain(CACHE_ENDINGS.iter().filter_map(|e| cache.strip_suffix(e)));
    let names = stems.flat_map(|stem| TYPE_ENDINGS.iter().map(move |e| format!("{stem}{e}")));
    { names }.find_map(|name| {
        let ty = program.store.named(&name)?;
        (program.store.types().size_of(ty) == Some(object_bytes)).then_some(ty)
    })
}

/// The struct that has the cache's very name, if the evidence says so too. Its objects may be
/// shorter than the type: the kernel leaves out what the CPU lacks at the end of `task_struct`.
fn cut_short(program: &Program<'_, '_>, cache: &str, votes: &Votes) -> Option<TypeId> {
    let ty = program.store.named(cache)?;
    let total: f64 = votes.values().sum();
    let agrees = votes.get(&(0, ty)).copied().unwrap_or(0.0);
    (agrees > AGREEMENT_MIN * total).then_some(ty)
}

/// Types as an election sees them, with what was found out kept.
pub struct StoreShapes<'p, 'f, 'a> {
    program: &'p Program<'f, 'a>,
    contains: FxHashMap<(TypeId, u64, TypeId), bool>,
}

impl<'p, 'f, 'a> StoreShapes<'p, 'f, 'a> {
    /// Nothing found out yet.
    pub fn new(program: &'p Program<'f, 'a>) -> Self {
        Self {
            program,
            contains: FxHashMap::default(),
        }
    }
}

impl Shapes for StoreShapes<'_, '_, '_> {
    fn size_of(&self, ty: TypeId) -> Option<u64> {
        self.program.store.types().size_of(ty)
    }

    fn contains(&mut self, outer: TypeId, offset: u64, inner: TypeId) -> bool {
        let program = self.program;
        *self
            .contains
            .entry((outer, offset, inner))
            .or_insert_with(|| program.store.contains(outer, offset, inner))
    }

    fn is_open_ended(&self, ty: TypeId) -> bool {
        crate::types::shape::has_flexible_tail(&self.program.store.types(), ty)
    }
}
