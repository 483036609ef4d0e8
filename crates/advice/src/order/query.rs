//! Names to look for in source code, by a struct's layout.

use relayout_layout::abi::StructShape;
use relayout_layout::{Aggregate, Type, TypeArena, TypeId};
use relayout_patch::OrderQuery;

/// Structs at offset 0 inside of each other that are followed.
const NESTING_MAX: usize = 16;
/// Start of the names of marks of cache line groups, which
/// [`LineGroups`](relayout_search::LineGroups) keeps.
const LINE_GROUP_MARK: &str = "__cacheline_group_";

/// Names of a struct, of its members, and of what is at offset 0.
#[derive(Clone, Debug, Default)]
pub struct OrderNames {
    /// Names as the source has them.
    pub query: OrderQuery,
    /// First member of a struct type.
    pub first_struct: Option<String>,
    /// True if the first member is a base class.
    pub is_base_first: bool,
    /// Atoms that mark borders: arrays without elements, but the last member.
    pub markers: Vec<usize>,
}

impl OrderNames {
    /// Reads the names of `aggregate`, whose atoms are `shape`.
    pub fn new(types: &TypeArena, aggregate: &Aggregate, shape: &StructShape) -> Self {
        let members = shape.atoms.iter().flat_map(|atom| atom.names.clone());
        let first_atom = shape.atoms.first();
        let first = aggregate.members.first();
        let query = OrderQuery {
            tag: shape.name.clone(),
            typedef_names: Vec::new(),
            members: members.collect(),
            first_members: first_atom.map_or(Vec::new(), |atom| atom.names.clone()),
            first_types: first.map_or(Vec::new(), |first| types_at_start(types, first.ty)),
        };
        Self {
            query,
            first_struct: relayout_search::pinned_first_member(types, aggregate),
            is_base_first: first.is_some_and(|first| first.is_base),
            markers: marker_atoms(types, aggregate, shape),
        }
    }
}

/// Returns the names of the types at offset 0 of a type, from outside inwards: tags and typedefs of
/// structs.
fn types_at_start(types: &TypeArena, id: TypeId) -> Vec<String> {
    let (mut names, mut next) = (Vec::new(), Some(id));
    for _ in 0..NESTING_MAX {
        let Some(id) = next else { break };
        next = match types.get(id) {
            Type::Typedef { name, target, .. } => {
                let is_struct = types.aggregate(id).is_some();
                names.extend(is_struct.then(|| name.clone()));
                *target
            }
            Type::Aggregate(aggregate) => {
                names.extend(aggregate.name.clone());
                aggregate.members.first().map(|member| member.ty)
            }
            _ => None,
        };
    }
    names.dedup();
    names
}

/// Returns the atoms that are arrays without elements, but for the last.
fn marker_atoms(types: &TypeArena, aggregate: &Aggregate, shape: &StructShape) -> Vec<usize> {
    let is_empty_array = |index: usize| {
        let member = shape.atoms[index].members.start;
        let ty = aggregate.members.get(member).map(|member| member.ty);
        ty.is_some_and(|ty| matches!(types.get(types.strip_typedefs(ty)), Type::Array { .. }))
    };
    let count = shape.atoms.len().saturating_sub(1);
    (0..count)
        .filter(|index| shape.atoms[*index].size == 0 && is_empty_array(*index))
        .filter(|index| !shape.atoms[*index].name.starts_with(LINE_GROUP_MARK))
        .collect()
}
