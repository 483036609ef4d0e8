//! The types of all files, each named type once.
//!
//! A kernel repeats `struct task_struct` in hundreds of units, and a program those of its libraries'
//! headers in several files. Evidence from two functions can only agree if both name the same
//! [`TypeId`], so every named aggregate is represented by the first definition that was met of its
//! scope, name and size.

use std::sync::{RwLock, RwLockReadGuard};

use gimli::constants as dw;
use relayout_layout::dwarf::{DieOffset, DwarfFile, DwarfTypeLoader};
use relayout_layout::{Type, TypeArena, TypeId};
use rustc_hash::FxHashMap;

use super::shape;
use super::{buffers, die};
use crate::images::{DebugImages, FileId};

/// Typedefs, qualifiers and pointers followed before giving up.
const CHAIN_MAX: usize = 32;

/// An entry of one of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileDie {
    /// The file.
    pub file: FileId,
    /// The entry in it.
    pub offset: DieOffset,
}

/// Types by entry and by name; shared between threads.
pub struct TypeStore<'f, 'a> {
    files: Vec<&'f DwarfFile<'a>>,
    inner: RwLock<TypeTables<'f, 'a>>,
}

struct TypeTables<'f, 'a> {
    /// All types; lent to the loader of a file while that one loads.
    arena: TypeArena,
    /// One for each file.
    loaders: Vec<DwarfTypeLoader<'f, 'a>>,
    named: FxHashMap<TypeNameKey, TypeId>,
    by_name: FxHashMap<String, Option<TypeId>>,
    by_die: FxHashMap<FileDie, Option<TypeId>>,
    canonical: FxHashMap<TypeId, TypeId>,
    /// Arrays that no file declares.
    arrays: FxHashMap<(TypeId, u64), TypeId>,
}

/// What tells complete aggregates apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct TypeNameKey {
    scope: Option<String>,
    name: String,
    size: u64,
}

/// What a chain of typedefs and qualifiers ends in.
enum TypeChainEnd {
    Pointer(Option<FileDie>),
    Declared(String),
    Other {
        die: FileDie,
        key: Option<TypeNameKey>,
    },
}

impl<'f, 'a> TypeStore<'f, 'a> {
    /// An empty store over the files of `images`.
    pub fn new(images: &DebugImages<'f, 'a>) -> Self {
        let files = images.files().to_vec();
        let inner = TypeTables {
            arena: TypeArena::new(),
            loaders: files
                .iter()
                .map(|file| DwarfTypeLoader::new(file))
                .collect(),
            named: FxHashMap::default(),
            by_name: FxHashMap::default(),
            by_die: FxHashMap::default(),
            canonical: FxHashMap::default(),
            arrays: FxHashMap::default(),
        };
        Self {
            files,
            inner: RwLock::new(inner),
        }
    }

    /// The arena. Hold the result briefly: loading waits for it.
    pub fn types(&self) -> impl std::ops::Deref<Target = TypeArena> + '_ {
        TypesGuard(self.read_tables())
    }

    /// The arena with everything loaded so far.
    pub fn into_types(self) -> TypeArena {
        let inner = self.inner.into_inner();
        inner
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .arena
    }

    /// The type of an entry, behind typedefs and qualifiers.
    pub fn load(&self, die: FileDie) -> Option<TypeId> {
        if let Some(known) = self.read_tables().by_die.get(&die) {
            return *known;
        }
        let loaded = match self.chain_end(die)? {
            TypeChainEnd::Declared(name) => self.find_named(&name),
            TypeChainEnd::Other {
                key: Some(key),
                die,
            } => {
                let known = self.read_tables().named.get(&key).copied();
                known.or_else(|| self.load_entry(die))
            }
            TypeChainEnd::Pointer(_) | TypeChainEnd::Other { .. } => self.load_entry(die),
        };
        self.write_tables().by_die.insert(die, loaded);
        loaded
    }

    /// The type of an entry as it stands there, of which [`entries`](Self::entries) tells.
    pub fn load_at_entry(&self, die: FileDie) -> Option<TypeId> {
        self.load_entry(die)
    }

    /// The entry of each type that is loaded, the first of those that have it. Types that no file
    /// declares have none.
    pub fn entries(&self) -> FxHashMap<TypeId, FileDie> {
        let inner = self.read_tables();
        let mut entries: FxHashMap<TypeId, FileDie> = FxHashMap::default();
        for (file, loader) in inner.loaders.iter().enumerate() {
            let file = FileId(file as u16);
            for (offset, ty) in loader.entries() {
                let die = FileDie { file, offset };
                let first = entries.entry(ty).or_insert(die);
                *first = die.min(*first);
            }
        }
        entries
    }

    /// What a pointer-typed entry points to; `None` if it is no pointer, or one to void.
    pub fn pointee(&self, die: FileDie) -> Option<TypeId> {
        match self.chain_end(die)? {
            TypeChainEnd::Pointer(target) => self.load(target?),
            _ => None,
        }
    }

    /// The complete struct, union or class of that name, in the first file that has one.
    pub fn find_named(&self, name: &str) -> Option<TypeId> {
        if let Some(known) = self.read_tables().by_name.get(name) {
            return *known;
        }
        let definitions = self
            .files
            .iter()
            .enumerate()
            .flat_map(|(file, debug_file)| {
                let file = FileId(file as u16);
                let dies = debug_file.find_types(name).iter().take(CHAIN_MAX);
                dies.map(move |&offset| FileDie { file, offset })
            });
        let found = { definitions }.find_map(|die| match self.chain_end(die)? {
            TypeChainEnd::Other {
                key: Some(found),
                die,
            } if found.name == name => self.load_entry(die),
            _ => None,
        });
        self.write_tables().by_name.insert(name.to_owned(), found);
        found
    }

    /// The representative of a type of the arena: declarations are completed, repeated definitions
    /// fall together. An anonymous aggregate is represented by the typedef that names it.
    pub fn canonical(&self, ty: TypeId) -> TypeId {
        let (key, named) = {
            let inner = self.read_tables();
            if let Some(known) = inner.canonical.get(&ty) {
                return *known;
            }
            type_identity(&inner.arena, ty)
        };
        let found = match named {
            TypeIdentity::Unnamed => key,
            TypeIdentity::Declared(name) => self.find_named(&name).unwrap_or(key),
            TypeIdentity::Complete(name) => *self.write_tables().named.entry(name).or_insert(key),
        };
        self.write_tables().canonical.insert(ty, found);
        found
    }

    /// The type of `count` elements of `ty`; the same for the same.
    pub fn array_of(&self, ty: TypeId, count: u64) -> TypeId {
        let mut inner = self.write_tables();
        let inner = &mut *inner;
        *inner.arrays.entry((ty, count)).or_insert_with(|| {
            inner.arena.add(Type::Array {
                element: ty,
                counts: vec![Some(count)],
            })
        })
    }

    /// What the pointer stored at `offset` of a `ty` points to.
    pub fn pointee_at(&self, ty: TypeId, offset: u64) -> Option<TypeId> {
        let target = {
            let inner = self.read_tables();
            let types = &inner.arena;
            let target = |part: shape::TypePart| match types.get(types.strip_typedefs(part.ty)) {
                Type::Pointer { target, .. } if part.offset == 0 => *target,
                _ => None,
            };
            shape::parts_at(types, ty, offset)
                .into_iter()
                .find_map(target)?
        };
        Some(self.canonical(target))
    }

    /// What a function of that type returns a pointer to.
    pub fn returned_pointee(&self, function: TypeId) -> Option<TypeId> {
        let target = {
            let inner = self.read_tables();
            let types = &inner.arena;
            let Type::Function {
                result: Some(result),
                ..
            } = types.get(types.strip_typedefs(function))
            else {
                return None;
            };
            match types.get(types.strip_typedefs(*result)) {
                Type::Pointer { target, .. } => (*target)?,
                _ => return None,
            }
        };
        Some(self.canonical(target))
    }

    /// Whether an `inner` lies at `offset` of `outer`.
    pub fn contains(&self, outer: TypeId, offset: u64, inner: TypeId) -> bool {
        let parts = shape::parts_at(&self.types(), outer, offset);
        let inner = self.canonical(inner);
        parts
            .iter()
            .any(|p| p.offset == 0 && self.canonical(p.ty) == inner)
    }

    /// What a pointer to `offset` of a `ty` points to, and the offset in it, once it was moved by an
    /// unknown multiple of `stride` bytes.
    ///
    /// That is the outermost whose size divides the stride: the `ty` itself, as an element of an array
    /// of them, or an element of an array in it. A stride that fits none is the sum of several, if the
    /// innermost elements are multiples of it; of 1, nothing is known.
    pub fn element_at(&self, ty: TypeId, offset: i64, stride: u32) -> Option<(TypeId, i64)> {
        let stride = u64::from(stride.max(1));
        let types = self.types();
        let size_of = |ty| types.size_of(ty).filter(|&size| size > 0);
        let size = size_of(ty)?;
        if stride > 1 && stride.is_multiple_of(size) {
            let offset = offset.rem_euclid(i64::try_from(size).ok()?);
            return Some((ty, offset));
        }
        let offset = u64::try_from(offset).ok()?;
        let parts = shape::parts_at(&types, ty, offset);
        let elements = || parts.iter().filter(|part| part.element);
        let fits =
            |part: &&shape::TypePart| size_of(part.ty).is_some_and(|e| stride.is_multiple_of(e));
        let sum =
            |part: &&shape::TypePart| size_of(part.ty).is_some_and(|e| e.is_multiple_of(stride));
        let exact = elements().find(fits).filter(|_| stride > 1);
        let part = match exact.or_else(|| elements().next_back().filter(sum)) {
            Some(part) => *part,
            // Or one in such an array after all, by an index counted from another number than 0.
            None if stride == 1 && !shape::has_array(&types, ty) => *parts.first()?,
            None => return None,
        };
        drop(types);
        Some((self.canonical(part.ty), i64::try_from(part.offset).ok()?))
    }

    fn read_tables(&self) -> RwLockReadGuard<'_, TypeTables<'f, 'a>> {
        self.inner
            .read()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn write_tables(&self) -> std::sync::RwLockWriteGuard<'_, TypeTables<'f, 'a>> {
        self.inner
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn load_entry(&self, die: FileDie) -> Option<TypeId> {
        let ty = self.write_tables().load(die)?;
        Some(self.canonical(ty))
    }

    /// Follows typedefs and qualifiers from `die` without loading anything.
    fn chain_end(&self, die: FileDie) -> Option<TypeChainEnd> {
        let file = self.files.get(usize::from(die.file.0))?;
        let in_file = |offset| FileDie { offset, ..die };
        let mut at = die.offset;
        let mut alias = None;
        for _ in 0..CHAIN_MAX {
            let (_, entry) = die::read_entry(file, at)?;
            let target = die::reference(file, at, &entry, dw::DW_AT_type);
            match entry.tag() {
                dw::DW_TAG_typedef => {
                    alias = Some(at);
                    at = target?;
                }
                dw::DW_TAG_const_type
                | dw::DW_TAG_volatile_type
                | dw::DW_TAG_restrict_type
                | dw::DW_TAG_atomic_type => at = target?,
                dw::DW_TAG_pointer_type
                | dw::DW_TAG_reference_type
                | dw::DW_TAG_rvalue_reference_type => {
                    return Some(TypeChainEnd::Pointer(target.map(in_file)));
                }
                dw::DW_TAG_structure_type | dw::DW_TAG_union_type | dw::DW_TAG_class_type => {
                    if let Some(unit) = die::reference(file, at, &entry, dw::DW_AT_signature) {
                        at = unit;
                        continue;
                    }
                    let mut name = die::name_of(file, at);
                    if name.is_none() {
                        at = alias.unwrap_or(at);
                        name = die::name_of(file, at);
                    }
                    let name = name.map(str::to_owned);
                    if entry.has_attr(dw::DW_AT_declaration) {
                        return Some(TypeChainEnd::Declared(name?));
                    }
                    let size = entry.attr_value(dw::DW_AT_byte_size)?.udata_value()?;
                    let scope = file.scope_of(at).filter(|_| Some(at) != alias);
                    let scope = scope.map(|scope| file.scope_path(scope));
                    return Some(TypeChainEnd::Other {
                        die: in_file(at),
                        key: name.map(|name| TypeNameKey { scope, name, size }),
                    });
                }
                _ => {
                    return Some(TypeChainEnd::Other {
                        die: in_file(at),
                        key: None,
                    });
                }
            }
        }
        None
    }
}

impl TypeTables<'_, '_> {
    fn load(&mut self, die: FileDie) -> Option<TypeId> {
        let loader = self.loaders.get_mut(usize::from(die.file.0))?;
        let first = self.arena.len();
        std::mem::swap(loader.types_mut(), &mut self.arena);
        let loaded = loader.load(die.offset);
        fill_buffers(loader, first);
        std::mem::swap(loader.types_mut(), &mut self.arena);
        loaded.ok()
    }
}

/// Gives buffers among the types from index `first` on the objects that they hold. Those bring types of
/// their own, buffers among them.
fn fill_buffers(loader: &mut DwarfTypeLoader<'_, '_>, first: usize) {
    let mut first = first;
    for _ in 0..CHAIN_MAX {
        let buffers = buffers::find_buffers(loader.types(), first);
        if buffers.is_empty() {
            return;
        }
        first = loader.types().len();
        for buffer in buffers {
            let candidates = buffer.candidates(loader.file()).into_iter();
            let held = { candidates }.find_map(|die| {
                let ty = loader.load(die).ok()?;
                let fits = loader.types().size_of(ty)? == buffer.bytes;
                fits.then_some(ty)
            });
            if let Some(ty) = held {
                buffer.fill(loader.types_mut(), ty);
            }
        }
    }
}

/// What an aggregate of the arena is called.
enum TypeIdentity {
    /// Nothing, or it is no aggregate.
    Unnamed,
    /// It is a mere declaration.
    Declared(String),
    /// It is complete.
    Complete(TypeNameKey),
}

/// The type without qualifiers, and what it is called, by a name of its own or a typedef's.
fn type_identity(types: &TypeArena, ty: TypeId) -> (TypeId, TypeIdentity) {
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
                let named = |name: &String| match a.complete {
                    false => TypeIdentity::Declared(name.clone()),
                    true => TypeIdentity::Complete(TypeNameKey {
                        // A typedef's own scope is not in the arena.
                        scope: a.scope.clone().filter(|_| a.name.is_some()),
                        name: name.clone(),
                        size: a.size,
                    }),
                };
                return match (&a.name, alias) {
                    (Some(name), _) => (at, named(name)),
                    (None, Some((alias, name))) => (alias, named(name)),
                    (None, None) => (at, TypeIdentity::Unnamed),
                };
            }
            Type::Base { name, size } => {
                let (scope, name, size) = (None, name.clone(), *size);
                return (
                    at,
                    TypeIdentity::Complete(TypeNameKey { scope, name, size }),
                );
            }
            _ => break,
        }
    }
    (at, TypeIdentity::Unnamed)
}

/// Access to the arena under the store's lock.
struct TypesGuard<'s, 'f, 'a>(RwLockReadGuard<'s, TypeTables<'f, 'a>>);

impl std::ops::Deref for TypesGuard<'_, '_, '_> {
    type Target = TypeArena;

    fn deref(&self) -> &TypeArena {
        &self.0.arena
    }
}
