//! Objects whose type and address are certain: variables of the files, per-cpu and thread-local
//! variables, page descriptors, and objects that the program named.

use relayout_layout::{Aggregate, Type, TypeArena, TypeId};
use relayout_profile::{Addr, RangeKind, RangeRow, RunId};

use super::{ArrayExtent, ObjectKind, ResolvedObject, VoteCounts};
use crate::evidence::AnalysedProgram;
use crate::images::{DebugImages, FileId};
use crate::types::{ProgramVariable, shape};

/// Nested arrays unwrapped, at most.
const DIMENSIONS_MAX: usize = 16;

/// Inputs of finding certain objects.
pub struct CertainObjects<'p, 'f, 'a> {
    /// Types and variables of the files.
    pub program: &'p AnalysedProgram<'f, 'a>,
    /// Addresses of the files in each run.
    pub images: &'p DebugImages<'f, 'a>,
    /// Type of page descriptors.
    pub page: Option<TypeId>,
}

impl CertainObjects<'_, '_, '_> {
    /// Returns the object at `addr` in `run`, which lies in `range`. In a program, an address in no
    /// range may be in a mapped file.
    pub fn object_at(
        &self,
        run: RunId,
        addr: Addr,
        range: Option<&RangeRow>,
    ) -> Option<ResolvedObject> {
        let program = self.program;
        let Some(range) = range else {
            return self
                .images
                .is_program()
                .then(|| self.global_object(run, addr))?;
        };
        match range.kind {
            RangeKind::Image => self.global_object(run, addr),
            RangeKind::PerCpu => {
                let offset = offset_in_template(range, addr);
                // A kernel's module has an allocation of its own.
                let file = match range.owner.as_str() {
                    "" => FileId::MAIN,
                    module => self.images.file_by_path(run, module)?,
                };
                let globals = program.file_view(file).globals();
                let variable = globals.per_cpu_variable(&program.store, offset)?;
                let kind = ObjectKind::PerCpu {
                    symbol: globals.name_of(&variable).to_owned(),
                    cpu: range.id,
                };
                element_object(program, run, addr, &variable, offset, kind)
            }
            RangeKind::Tls => {
                let file = self.images.file_by_path(run, &range.owner)?;
                let offset = offset_in_template(range, addr);
                let globals = program.file_view(file).globals();
                let variable = globals.thread_local_variable(&program.store, offset)?;
                let kind = ObjectKind::ThreadLocal {
                    symbol: globals.name_of(&variable).to_owned(),
                    context: range.id,
                };
                element_object(program, run, addr, &variable, offset, kind)
            }
            RangeKind::Named => self.named_object(range, addr),
            RangeKind::PageArray => self.page_descriptor(range, addr),
            _ => None,
        }
    }

    fn global_object(&self, run: RunId, addr: Addr) -> Option<ResolvedObject> {
        let at = self.images.locate(run, addr.0)?;
        let globals = self.program.file_view(at.file).globals();
        let variable = globals.image_variable(&self.program.store, at.address)?;
        let kind = ObjectKind::Global {
            symbol: globals.name_of(&variable).to_owned(),
        };
        element_object(self.program, run, addr, &variable, at.address, kind)
    }

    /// Returns an object that the program named by its type's name, as spelt in the source: `struct
    /// item`, `ns::Pool`.
    fn named_object(&self, range: &RangeRow, addr: Addr) -> Option<ResolvedObject> {
        let store = &self.program.store;
        let ty = store.find_named(plain_name(&range.owner))?;
        let size = store.types().size_of(ty).filter(|&size| size > 0)?;
        let (base, bytes) = match u64::from(range.stride) {
            // A single object is longer than its type by its flexible array.
            0 if shape::has_flexible_tail(&store.types(), ty) => (range.start, range.bytes),
            0 => (range.start, size),
            stride => (range.start + (addr - range.start) / stride * stride, size),
        };
        let name = object_type_name(&store.types(), ty);
        let object = certain_object(range.run, base, bytes, ty, name, ObjectKind::Named);
        (addr - base < bytes).then_some(object)
    }

    fn page_descriptor(&self, range: &RangeRow, addr: Addr) -> Option<ResolvedObject> {
        let types = self.program.store.types();
        let ty = self.page?;
        let bytes = types.size_of(ty).filter(|&b| b > 0)?;
        // The array begins with the descriptor of frame 0, so its start has no alignment; the range
        // starts at the first descriptor.
        let base = range.start + (addr - range.start) / bytes * bytes;
        let name = object_type_name(&types, ty);
        Some(certain_object(
            range.run,
            base,
            bytes,
            ty,
            name,
            ObjectKind::Page,
        ))
    }
}

/// Returns the offset of `addr` in the variables' own address space, of which `range` is a copy.
/// If that space is a section of an image, its addresses may be above those of the copy.
fn offset_in_template(range: &RangeRow, addr: Addr) -> u64 {
    { addr.0 }
        .wrapping_sub(range.first.0)
        .wrapping_add(u64::from(range.stride))
}

/// Returns a type's name without keyword and scopes.
fn plain_name(name: &str) -> &str {
    let name = name.trim();
    let keywords = ["struct ", "union ", "class "];
    let name = { keywords.iter() }
        .find_map(|keyword| name.strip_prefix(keyword))
        .unwrap_or(name);
    let end = name.find('<').unwrap_or(name.len());
    let start = name[..end].rfind("::").map_or(0, |at| at + 2);
    name[start..].trim()
}

/// Returns the variable itself, or the array element that holds `at`, which is `addr` in the
/// variable's own address space.
fn element_object(
    program: &AnalysedProgram<'_, '_>,
    kernel: RunId,
    addr: Addr,
    variable: &ProgramVariable<'_>,
    at: u64,
    kind: ObjectKind,
) -> Option<ResolvedObject> {
    let types = program.store.types();
    let mut ty = variable.ty?;
    let mut bytes = variable.bytes;
    let offset_in_variable = at - variable.start;
    let mut at = offset_in_variable;
    for _ in 0..DIMENSIONS_MAX {
        let Type::Array { element, .. } = types.get(types.strip_typedefs(ty)) else {
            break;
        };
        let size = types.size_of(*element).filter(|&s| s > 0)?;
        ty = *element;
        bytes = size;
        at %= size;
    }
    let name = match types.aggregate(ty) {
        Some(a) if a.name.is_none() && !matches!(types.get(ty), Type::Typedef { .. }) => {
            format!("typeof({})", kind.variable().unwrap_or_default())
        }
        _ => object_type_name(&types, ty),
    };
    drop(types);
    let ty = program.store.canonical(ty);
    let first = addr - offset_in_variable;
    Some(ResolvedObject {
        array: ArrayExtent::of_elements(first, bytes, variable.bytes),
        ..certain_object(kernel, addr - at, bytes, ty, name, kind)
    })
}

/// Returns an object whose type and place are known.
pub(super) fn certain_object(
    run: RunId,
    base: Addr,
    bytes: u64,
    ty: TypeId,
    type_name: String,
    kind: ObjectKind,
) -> ResolvedObject {
    ResolvedObject {
        run,
        base,
        bytes,
        type_name,
        ty,
        kind,
        confidence: 1.0,
        votes: VoteCounts::default(),
        rival: None,
        array: None,
    }
}

/// Returns the name of a type: the tag with its scope, the typedef of an anonymous aggregate, or the name of a
/// scalar.
pub fn object_type_name(types: &TypeArena, ty: TypeId) -> String {
    if let Some(name) = types.aggregate(ty).and_then(Aggregate::readable_name) {
        return name;
    }
    let named_array = array_levels(types, ty).and_then(|levels| {
        let name = match element_name(types, levels.element) {
            Some(name) => name,
            None if levels.depth > 1 => types.name_of(levels.element),
            None => return None,
        };
        Some(format!("{name} {}", levels.counts))
    });
    named_array.unwrap_or_else(|| types.name_of(types.strip_qualifiers(ty)))
}

/// Array, of arrays perhaps.
struct ArrayLevels {
    /// Type of the innermost elements.
    element: TypeId,
    /// Numbers of elements as in C, the outermost first: `[4][2]`.
    counts: String,
    depth: usize,
}

/// Returns the levels of an array; `None` for other types, and where a number of elements is not known.
fn array_levels(types: &TypeArena, ty: TypeId) -> Option<ArrayLevels> {
    let mut levels = ArrayLevels {
        element: ty,
        counts: String::new(),
        depth: 0,
    };
    while let Type::Array { element, counts } = types.get(types.strip_typedefs(levels.element))
        && levels.depth < DIMENSIONS_MAX
    {
        for count in counts {
            levels.counts.push_str(&format!("[{}]", (*count)?));
        }
        levels.element = *element;
        levels.depth += 1;
    }
    (levels.depth > 0).then_some(levels)
}

/// Returns the name of the elements of an array, if they are aggregates, or pointers to aggregates that have a
/// scope.
fn element_name(types: &TypeArena, element: TypeId) -> Option<String> {
    if let Some(aggregate) = types.aggregate(element) {
        return aggregate.readable_name();
    }
    let Type::Pointer {
        target: Some(target),
        sigil: "*",
        ..
    } = types.get(types.strip_typedefs(element))
    else {
        return None;
    };
    let pointed = { types.aggregate(*target) }.filter(|pointed| pointed.scope.is_some())?;
    Some(format!("{} *", pointed.readable_name()?))
}
