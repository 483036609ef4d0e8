//! The types of one file, each named type once.
//!
//! A kernel repeats `struct task_struct` in hundreds of units. Evidence from two functions can only
//! agree if both name the same [`TypeId`], so every named aggregate is represented by the first
//! definition that was met of its name and size.

use std::sync::{RwLock, RwLockReadGuard};

use gimli::constants as dw;
use relayout_layout::dwarf::{DieOffset, DwarfFile, DwarfTypes};
use relayout_layout::{Type, TypeId, Types};
use rustc_hash::FxHashMap;

use super::die;
use super::shape;

/// Typedefs, qualifiers and pointers followed before giving up.
const CHAIN_MAX: usize = 32;

/// Types by entry and by name; shared between threads.
pub struct TypeStore<'f, 'a> {
    file: &'f DwarfFile<'a>,
    inner: RwLock<Inner<'f, 'a>>,
}

struct Inner<'f, 'a> {
    types: DwarfTypes<'f, 'a>,
    named: FxHashMap<(String, u64), TypeId>,
    by_name: FxHashMap<String, Option<TypeId>>,
    by_die: FxHashMap<DieOffset, Option<TypeId>>,
    canonical: FxHashMap<TypeId, TypeId>,
}

/// What a chain of typedefs and qualifiers ends in.
enum End {
    Pointer(Option<DieOffset>),
    Declared(String),
    Other {
        die: DieOffset,
        key: Option<(String, u64)>,
    },
}

impl<'f, 'a> TypeStore<'f, 'a> {
    /// An empty store over `file`.
    pub fn new(file: &'f DwarfFile<'a>) -> Self {
        let inner = Inner {
            types: DwarfTypes::new(file),
            named: FxHashMap::default(),
            by_name: FxHashMap::default(),
            by_die: FxHashMap::default(),
            canonical: FxHashMap::default(),
        };
        Self {
            file,
            inner: RwLock::new(inner),
        }
    }

    /// The arena. Hold the result briefly: loading waits for it.
    pub fn types(&self) -> impl std::ops::Deref<Target = Types> + '_ {
        TypesGuard(self.read())
    }

    /// A copy of the arena with everything loaded so far.
    pub fn into_types(self) -> Types {
        self.read().types.types().clone()
    }

    /// The type of an entry, behind typedefs and qualifiers.
    pub fn load(&self, die: DieOffset) -> Option<TypeId> {
        if let Some(known) = self.read().by_die.get(&die) {
            return *known;
        }
        let loaded = match self.end(die)? {
            End::Declared(name) => self.named(&name),
            End::Other {
                key: Some(key),
                die,
            } => {
                let known = self.read().named.get(&key).copied();
                known.or_else(|| self.load_entry(die))
            }
            End::Pointer(_) | End::Other { .. } => self.load_entry(die),
        };
        self.write().by_die.insert(die, loaded);
        loaded
    }

    /// What a pointer-typed entry points to; `None` if it is no pointer, or one to void.
    pub fn pointee(&self, die: DieOffset) -> Option<TypeId> {
        match self.end(die)? {
            End::Pointer(target) => self.load(target?),
            _ => None,
        }
    }

    /// The complete struct, union or class of that name.
    pub fn named(&self, name: &str) -> Option<TypeId> {
        if let Some(known) = self.read().by_name.get(name) {
            return *known;
        }
        let definitions = self.file.find_types(name).iter().take(CHAIN_MAX);
        let found = definitions.copied().find_map(|die| match self.end(die)? {
            End::Other {
                key: Some((found, _)),
                die,
            } if found == name => self.load_entry(die),
            _ => None,
        });
        self.write().by_name.insert(name.to_owned(), found);
        found
    }

    /// The representative of a type of the arena: declarations are completed, repeated definitions
    /// fall together. An anonymous aggregate is represented by the typedef that names it.
    pub fn canonical(&self, ty: TypeId) -> TypeId {
        let (key, named) = {
            let inner = self.read();
            if let Some(known) = inner.canonical.get(&ty) {
                return *known;
            }
            identity(inner.types.types(), ty)
        };
        let found = match named {
            None => key,
            Some((name, None)) => self.named(&name).unwrap_or(key),
            Some((name, Some(size))) => *self.write().named.entry((name, size)).or_insert(key),
        };
        self.write().canonical.insert(ty, found);
        found
    }

    /// What the pointer stored at `offset` of a `ty` points to.
    pub fn loaded(&self, ty: TypeId, offset: u64) -> Option<TypeId> {
        let target = {
            let inner = self.read();
            let types = inner.types.types();
            let target = |part: shape::Part| match types.get(types.strip(part.ty)) {
                Type::Pointer { target, .. } if part.offset == 0 => *target,
                _ => None,
            };
            shape::parts(types, ty, offset)
                .into_iter()
                .find_map(target)?
        };
        Some(self.canonical(target))
    }

    /// Whether an `inner` lies at `offset` of `outer`.
    pub fn contains(&self, outer: TypeId, offset: u64, inner: TypeId) -> bool {
        let parts = shape::parts(&self.types(), outer, offset);
        let inner = self.canonical(inner);
        parts
            .iter()
            .any(|p| p.offset == 0 && self.canonical(p.ty) == inner)
    }

    /// The innermost array element that holds `offset`, and the offset in it; `ty` itself if that
    /// place is in no array.
    pub fn element(&self, ty: TypeId, offset: u64) -> Option<(TypeId, u64)> {
        let parts = shape::parts(&self.types(), ty, offset);
        let part = parts.iter().rev().find(|p| p.element).or(parts.first())?;
        Some((self.canonical(part.ty), part.offset))
    }

    fn read(&self) -> RwLockReadGuard<'_, Inner<'f, 'a>> {
        self.inner
            .read()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Inner<'f, 'a>> {
        self.inner
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn load_entry(&self, die: DieOffset) -> Option<TypeId> {
        let ty = self.write().types.load(die).ok()?;
        Some(self.canonical(ty))
    }

    /// Follows typedefs and qualifiers from `die` without loading anything.
    fn end(&self, die: DieOffset) -> Option<End> {
        let mut at = die;
        let mut alias = None;
        for _ in 0..CHAIN_MAX {
            let (unit, entry) = die::entry(self.file, at)?;
            let target = die::reference(unit, &entry, dw::DW_AT_type);
            match entry.tag() {
                dw::DW_TAG_typedef => {
                    alias = Some(at);
                    at = target?;
                }
                dw::DW_TAG_const_type
                | dw::DW_TAG_volatile_type
                | dw::DW_TAG_restrict_type
                | dw::DW_TAG_atomic_type => at = target?,
                dw::DW_TAG_pointer_type | dw::DW_TAG_reference_type => {
                    return Some(End::Pointer(target));
                }
                dw::DW_TAG_structure_type | dw::DW_TAG_union_type | dw::DW_TAG_class_type => {
                    let mut name = die::name_of(self.file, at);
                    if name.is_none() {
                        at = alias.unwrap_or(at);
                        name = die::name_of(self.file, at);
                    }
                    let name = name.map(str::to_owned);
                    if entry.has_attr(dw::DW_AT_declaration) {
                        return Some(End::Declared(name?));
                    }
                    let size = entry.attr_value(dw::DW_AT_byte_size)?.udata_value()?;
                    return Some(End::Other {
                        die: at,
                        key: name.map(|n| (n, size)),
                    });
                }
                _ => return Some(End::Other { die: at, key: None }),
            }
        }
        None
    }
}

/// The type without qualifiers, and its name and size (`None`: a declaration) if it is an aggregate
/// with a name of its own or a typedef's.
fn identity(types: &Types, ty: TypeId) -> (TypeId, Option<(String, Option<u64>)>) {
    let mut at = ty;
    let mut alias: Option<(TypeId, &String)> = None;
    for _ in 0..CHAIN_MAX {
        match types.get(at) {
            Type::Typedef {
                name,
                target: Some(target),
                ..
            } => {
                alias = Some((at, name));
                at = *target;
            }
            Type::Qualified {
                target: Some(target),
                ..
            } => at = *target,
            Type::Aggregate(a) => {
                let size = a.complete.then_some(a.size);
                return match (&a.name, alias) {
                    (Some(name), _) => (at, Some((name.clone(), size))),
                    (None, Some((alias, name))) => (alias, Some((name.clone(), size))),
                    (None, None) => (at, None),
                };
            }
            _ => break,
        }
    }
    (at, None)
}

/// Access to the arena under the store's lock.
struct TypesGuard<'s, 'f, 'a>(RwLockReadGuard<'s, Inner<'f, 'a>>);

impl std::ops::Deref for TypesGuard<'_, '_, '_> {
    type Target = Types;

    fn deref(&self) -> &Types {
        self.0.types.types()
    }
}
