//! Objects whose type and place are certain: variables of the image, static per-cpu variables and
//! page descriptors.

use relayout_layout::{Type, TypeId, Types};
use relayout_profile::{RangeKind, RangeRow};

use super::{Object, ObjectKind, VoteCounts};
use crate::evidence::Program;
use crate::types::Variable;

/// Arrays of arrays unwrapped before giving up.
const DIMENSIONS_MAX: usize = 16;

/// The object at `addr`, which lies in `range`. `page` is the type of page descriptors.
pub fn object(
    program: &Program<'_, '_>,
    range: &RangeRow,
    addr: u64,
    page: Option<TypeId>,
) -> Option<Object> {
    match range.kind {
        RangeKind::Image => {
            let variable = program.globals.image(&program.store, addr)?;
            let kind = ObjectKind::Global {
                symbol: variable.name.to_owned(),
            };
            element(program, range.run, addr, &variable, addr, kind)
        }
        RangeKind::PerCpu => {
            let offset = addr
                .checked_sub(range.first)?
                .checked_add(u64::from(range.stride))?;
            let variable = program.globals.per_cpu(&program.store, offset)?;
            let kind = ObjectKind::PerCpu {
                symbol: variable.name.to_owned(),
                cpu: range.id,
            };
            element(program, range.run, addr, &variable, offset, kind)
        }
        RangeKind::PageArray => {
            let ty = page?;
            let bytes = program.store.types().size_of(ty).filter(|&b| b > 0)?;
            // The array covers frame 0, so that its start is a multiple of nothing; the range's
            // is where the first descriptor lies.
            let base = range.start + (addr - range.start) / bytes * bytes;
            Some(certain(
                range.run,
                base,
                bytes,
                ty,
                name(&program.store.types(), ty),
                ObjectKind::Page,
            ))
        }
        _ => None,
    }
}

/// The variable itself, or the array element of it that holds `at`, which is `addr` in the
/// variable's own address space.
fn element(
    program: &Program<'_, '_>,
    run: u16,
    addr: u64,
    variable: &Variable<'_>,
    at: u64,
    kind: ObjectKind,
) -> Option<Object> {
    let types = program.store.types();
    let mut ty = variable.ty?;
    let mut bytes = variable.bytes;
    let mut offset = at - variable.start;
    for _ in 0..DIMENSIONS_MAX {
        let Type::Array { element, .. } = types.get(types.strip(ty)) else {
            break;
        };
        let size = types.size_of(*element).filter(|&s| s > 0)?;
        ty = *element;
        bytes = size;
        offset %= size;
    }
    let name = match types.aggregate(ty) {
        Some(a) if a.name.is_none() && !matches!(types.get(ty), Type::Typedef { .. }) => {
            format!("typeof({})", variable.name)
        }
        _ => name(&types, ty),
    };
    drop(types);
    let ty = program.store.canonical(ty);
    Some(certain(run, addr - offset, bytes, ty, name, kind))
}

fn certain(
    run: u16,
    base: u64,
    bytes: u64,
    ty: TypeId,
    type_name: String,
    kind: ObjectKind,
) -> Object {
    Object {
        run,
        base,
        bytes,
        type_name,
        ty,
        kind,
        confidence: 1.0,
        votes: VoteCounts::default(),
    }
}

/// Name of a type: the tag, the typedef of an anonymous aggregate, or a scalar's own.
pub fn name(types: &Types, ty: TypeId) -> String {
    if let Some(tag) = types.aggregate(ty).and_then(|a| a.name.clone()) {
        return tag;
    }
    let mut at = ty;
    for _ in 0..DIMENSIONS_MAX {
        match types.get(at) {
            Type::Qualified {
                target: Some(target),
                ..
            } => at = *target,
            _ => break,
        }
    }
    types.name_of(at)
}
