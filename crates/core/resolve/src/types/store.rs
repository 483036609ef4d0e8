//! Types of all files, with each named type once.
//!
//! A kernel repeats `struct task_struct` in hundreds of units, and a program those of its
//! libraries' headers in several files. Evidence from two functions can only agree if both name the
//! same [`TypeId`]. So the first definition of a scope, name and size that is loaded represents
//! every named aggregate.

use std::sync::{OnceLock, RwLock, RwLockReadGuard};

use gimli::constants as dw;
use relayout_layout::dwarf::{DieOffset, DwarfFile, DwarfTypeLoader, TypeDefinition};
use relayout_layout::{DefinitionKind, InlineNamespaces, Type, TypeArena, TypeId};
use rustc_hash::FxHashMap;

use super::shape;
use super::spelled::SpelledNames;
use super::{buffers, die};
use crate::images::{DebugImages, FileId};

/// Typedefs, qualifiers and pointers followed, at most.
const CHAIN_MAX: usize = 32;
/// Definitions of one name that are looked at in a file, at most.
const DEFINITIONS_MAX: usize = 256;

/// Debug information entry of one of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileDie {
    /// File of the entry.
    pub file: FileId,
    /// Offset of the entry in the file.
    pub offset: DieOffset,
}

/// Types by entry and by name, shared between threads.
pub struct TypeStore<'f, 'a> {
    files: Vec<&'f DwarfFile<'a>>,
    /// Made when a spelled name is looked for.
    spelled: OnceLock<SpelledNames<'a>>,
    inner: RwLock<TypeTables<'f, 'a>>,
}

struct TypeTables<'f, 'a> {
    /// All types. A loader borrows them while it loads.
    arena: TypeArena,
    /// Loaders by file.
    loaders: Vec<DwarfTypeLoader<'f, 'a>>,
    named: FxHashMap<TypeNameKey, TypeId>,
    by_name: FxHashMap<String, Option<TypeId>>,
    by_declaration: FxHashMap<DeclaredName, Option<TypeId>>,
    by_die: FxHashMap<FileDie, Option<TypeId>>,
    canonical: FxHashMap<TypeId, TypeId>,
    /// Array types that no file declares.
    arrays: FxHashMap<(TypeId, u64), TypeId>,
}

/// Name of an aggregate that is only declared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct DeclaredName {
    scope: Option<String>,
    name: String,
}

/// Identity of complete aggregates.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct TypeNameKey {
    scope: Option<String>,
    name: String,
    size: u64,
}

/// End of a chain of typedefs and qualifiers.
enum TypeChainEnd {
    Pointer(Option<FileDie>),
    Declared(DeclaredName),
    Other {
        die: FileDie,
        key: Option<TypeNameKey>,
    },
}

impl<'f, 'a> TypeStore<'f, 'a> {
    /// Makes an empty store for the files of `images`.
    pub fn new(images: &DebugImages<'f, 'a>) -> Self {
        let files = images.files().to_vec();
        let inner = TypeTables {
            arena: TypeArena::with_inline_namespaces(inline_namespaces(&files)),
            loaders: files
                .iter()
                .map(|file| DwarfTypeLoader::new(file))
                .collect(),
            named: FxHashMap::default(),
            by_name: FxHashMap::default(),
            by_declaration: FxHashMap::default(),
            by_die: FxHashMap::default(),
            canonical: FxHashMap::default(),
            arrays: FxHashMap::default(),
        };
        Self {
            files,
            spelled: OnceLock::new(),
            inner: RwLock::new(inner),
        }
    }

    /// Returns the arena. Loading waits until the caller drops the result.
    pub fn types(&self) -> impl std::ops::Deref<Target = TypeArena> + '_ {
        TypesGuard(self.read_tables())
    }

    /// Returns the arena with everything loaded so far.
    pub fn into_types(self) -> TypeArena {
        let inner = self.inner.into_inner();
        inner
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .arena
    }

    /// Loads the type of an entry, behind typedefs and qualifiers.
    pub fn load(&self, die: FileDie) -> Option<TypeId> {
        if let Some(known) = self.read_tables().by_die.get(&die) {
            return *known;
        }
        let loaded = match self.chain_end(die)? {
            TypeChainEnd::Declared(declared) => self.find_definition(&declared),
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

    /// Returns the entry of each loaded type, the first one if there are several. Types that no
    /// file declares have none.
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

    /// Returns the target of a pointer-typed entry; `None` if it is no pointer, or one to void.
    pub fn pointee(&self, die: FileDie) -> Option<TypeId> {
        match self.chain_end(die)? {
            TypeChainEnd::Pointer(target) => self.load(target?),
            _ => None,
        }
    }

    /// Returns the complete struct, union or class of this name, from the first file that has one.
    pub fn find_named(&self, name: &str) -> Option<TypeId> {
        if let Some(known) = self.read_tables().by_name.get(name) {
            return *known;
        }
        let found = self.first_definition(name, |_| true);
        self.write_tables().by_name.insert(name.to_owned(), found);
        found
    }

    /// Returns the base type of this name, from the first file that has one.
    pub fn find_base(&self, name: &str) -> Option<TypeId> {
        let files = self.files.iter().enumerate();
        let mut bases = files.filter_map(|(file, debug_file)| {
            let is_base = |found: &TypeDefinition| found.kind == DefinitionKind::Base;
            let found = debug_file.definitions(name).find(is_base)?;
            let file = FileId(file as u16);
            Some(FileDie {
                file,
                offset: found.die,
            })
        });
        bases.find_map(|die| self.load_entry(die))
    }

    /// Returns the type that a name means which the symbol of a function spells, among those whose size fits.
    /// `None` if there is none, or where closures and the like leave several.
    pub fn find_spelled(&self, name: &str, fits: impl Fn(u64) -> bool) -> Option<TypeId> {
        let spelled = self.spelled.get_or_init(|| SpelledNames::new(&self.files));
        let found = spelled.find(&self.files, name, fits).into_iter();
        let mut types = found
            .take(DEFINITIONS_MAX)
            .filter_map(|die| self.load_entry(die));
        let first = types.next()?;
        types.all(|other| other == first).then_some(first)
    }

    /// Returns the complete aggregate of this name and scope, from the first file that has one.
    fn find_definition(&self, declared: &DeclaredName) -> Option<TypeId> {
        if let Some(known) = self.read_tables().by_declaration.get(declared) {
            return *known;
        }
        let found = self.first_definition(&declared.name, |scope| *scope == declared.scope);
        let known = &mut self.write_tables().by_declaration;
        known.insert(declared.clone(), found);
        found
    }

    fn first_definition(
        &self,
        name: &str,
        is_wanted: impl Fn(&Option<String>) -> bool,
    ) -> Option<TypeId> {
        let files = self.files.iter().enumerate();
        let mut definitions = files.flat_map(|(file, debug_file)| {
            let file = FileId(file as u16);
            let dies = debug_file.find_types(name);
            dies.into_iter()
                .take(DEFINITIONS_MAX)
                .map(move |offset| FileDie { file, offset })
        });
        definitions.find_map(|die| match self.chain_end(die)? {
            TypeChainEnd::Other {
                key: Some(found),
                die,
            } if found.name == name && is_wanted(&found.scope) => self.load_entry(die),
            _ => None,
        })
    }

    /// Returns the representative of a type: declarations are completed, and repeated definitions
    /// become one. The typedef of an anonymous aggregate represents it.
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
            TypeIdentity::Declared(declared) => self.find_definition(&declared).unwrap_or(key),
            TypeIdentity::Complete(name) => *self.write_tables().named.entry(name).or_insert(key),
        };
        self.write_tables().canonical.insert(ty, found);
        found
    }

    /// Returns the type of an array of `count` elements of `ty`. Equal arguments give the same
    /// type.
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

    /// Returns the target of the pointer stored at `offset` of a `ty`.
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

    /// Returns the target of the pointer that a function of this type returns.
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

    /// Returns true if an `inner` lies at `offset` of `outer`, or of an alternative of it.
    pub fn contains(&self, outer: TypeId, offset: u64, inner: TypeId) -> bool {
        let parts = shape::parts_and_alternatives_at(&self.types(), outer, offset);
        let inner = self.canonical(inner);
        parts
            .iter()
            .any(|p| p.offset == 0 && self.canonical(p.ty) == inner)
    }

    /// Returns the target of a pointer to `offset` of a `ty`, and the offset in it, after a move by
    /// an unknown multiple of `stride` bytes.
    ///
    /// The target is the outermost type whose size divides the stride: `ty` itself as an element of
    /// an array, or an element of an array in it. A stride that fits none is a sum of strides, if
    /// the innermost elements are multiples of it. A stride of 1 tells nothing. A type that ends in an
    /// array without a length is no element of an array.
    pub fn element_at(&self, ty: TypeId, offset: i64, stride: u32) -> Option<(TypeId, i64)> {
        let stride = u64::from(stride.max(1));
        let types = self.types();
        let size_of = |ty| types.size_of(ty).filter(|&size| size > 0);
        let size = size_of(ty)?;
        let tail_element = tail_element_at(&types, ty, offset, stride);
        if let Some((element, offset)) = tail_element {
            drop(types);
            return Some((self.canonical(element), offset));
        }
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
            // The pointer may be in such an array after all, by an index that does not count from
            // 0.
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

    /// Loads the type of an entry as declared.
    pub fn load_entry(&self, die: FileDie) -> Option<TypeId> {
        let ty = self.write_tables().load(die)?;
        Some(self.canonical(ty))
    }

    /// Follows typedefs and qualifiers from `die` without loading a type.
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
                    let name = name.map(|name| file.name_with_arguments(at, name).into_owned());
                    let scope = file.scope_of(at).filter(|_| Some(at) != alias);
                    let scope = scope.map(|scope| file.scope_path(scope));
                    if entry.has_attr(dw::DW_AT_declaration) {
                        let name = name?;
                        return Some(TypeChainEnd::Declared(DeclaredName { scope, name }));
                    }
                    let size = entry.attr_value(dw::DW_AT_byte_size)?.udata_value()?;
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

/// Inline namespaces of all files.
fn inline_namespaces(files: &[&DwarfFile<'_>]) -> InlineNamespaces {
    let mut all = InlineNamespaces::default();
    files
        .iter()
        .for_each(|file| all.merge(file.inline_namespaces()));
    all
}

/// Gives buffers among the types from index `first` on the objects that they hold. These may bring
/// further buffers.
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

/// Returns the element, and the offset in it, that a pointer to `offset` of a `ty` leads to after a move by
/// multiples of `stride`, if that is an element of the array without a length that the type ends in.
///
/// Such a type is no element of an array itself, so an index into it is one into its last array, also if its
/// start is as long as an element: `log->entries[n]` of `struct log { int size; long entries[]; }`. An index
/// need not count from 0, so the offset may lie before the array. An array of no elements may only mark a
/// place, and one of one element may have no more, so an access must be behind its start, at the distance
/// of its elements.
fn tail_element_at(
    types: &TypeArena,
    ty: TypeId,
    offset: i64,
    stride: u64,
) -> Option<(TypeId, i64)> {
    let tail = shape::open_tail(types, ty)?;
    let size = types.size_of(tail.element).filter(|&size| size > 0)?;
    let from_first = offset.checked_sub(i64::try_from(tail.offset).ok()?)?;
    let in_element = from_first.rem_euclid(i64::try_from(size).ok()?);
    let is_step = match tail.is_certain {
        // A smaller array inside, in front of the last one, has elements of its own.
        true => stride > 1 && stride.is_multiple_of(size) && !is_in_array(types, ty, offset),
        false => stride == size && from_first >= 0,
    };
    is_step.then_some((tail.element, in_element))
}

/// Returns true if an array of the type with a length holds the byte at `offset`.
fn is_in_array(types: &TypeArena, ty: TypeId, offset: i64) -> bool {
    let Ok(offset) = u64::try_from(offset) else {
        return false;
    };
    let parts = shape::parts_at(types, ty, offset);
    let size = types.size_of(ty).unwrap_or(0);
    offset < size && parts.iter().any(|part| part.element)
}

/// Name of an aggregate of the arena.
enum TypeIdentity {
    /// The aggregate has no name, or the type is no aggregate.
    Unnamed,
    /// The aggregate is only declared.
    Declared(DeclaredName),
    /// The aggregate is complete.
    Complete(TypeNameKey),
}

/// Returns the type without qualifiers, and its own name or that of its typedef.
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
                // The arena has no scope for a typedef.
                let scope = a.scope.clone().filter(|_| a.name.is_some());
                let named = |name: &String| {
                    let name = name.clone();
                    match a.complete {
                        false => TypeIdentity::Declared(DeclaredName { scope, name }),
                        true => TypeIdentity::Complete(TypeNameKey {
                            scope,
                            name,
                            size: a.size,
                        }),
                    }
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

/// Read access to the arena, under the store's lock.
struct TypesGuard<'s, 'f, 'a>(RwLockReadGuard<'s, TypeTables<'f, 'a>>);

impl std::ops::Deref for TypesGuard<'_, '_, '_> {
    type Target = TypeArena;

    fn deref(&self) -> &TypeArena {
        &self.0.arena
    }
}
