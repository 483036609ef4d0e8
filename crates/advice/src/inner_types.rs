//! Structs among the members, and base classes, whose own order is worth a search.
//!
//! They move as a whole, or not at all: the order of their members is that of their own type.

use std::collections::{BTreeMap, BTreeSet};

use relayout_layout::{AggregateKind, Member, TypeArena};
use relayout_search::LayoutAdvice;
use serde::{Deserialize, Serialize};

use super::gathered::{GatheredType, element_offset};

/// A member, or a base class, that is a struct.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InnerType {
    /// Member; `None` for a base class.
    pub member: Option<String>,
    /// Name of its struct.
    pub type_name: String,
}

impl InnerType {
    /// Returns the rest of `path`, from the outer type, if it leads into the member. Members of a
    /// base class have no path of their own, so nothing tells that they are in it.
    ///
    /// ```
    /// use relayout_advice::InnerType;
    ///
    /// let inner = InnerType { member: Some("data".to_owned()), type_name: "Stats".to_owned() };
    /// assert_eq!(inner.path_within("data.hits"), Some("hits"));
    /// assert_eq!(inner.path_within("data[2].hits"), Some("hits"));
    /// assert_eq!(inner.path_within("database"), None);
    /// ```
    pub fn path_within<'p>(&self, path: &'p str) -> Option<&'p str> {
        let rest = path.strip_prefix(self.member.as_deref()?)?;
        let rest = match rest.strip_prefix('[') {
            Some(index) => index.split_once(']').map_or("", |(_, rest)| rest),
            None => rest,
        };
        match rest.strip_prefix('.') {
            Some(path) => Some(path),
            None => rest.is_empty().then_some(rest),
        }
    }

    /// Returns `'data' (Stats)`, or `its base class (Meter)`.
    pub fn words(&self) -> String {
        match &self.member {
            Some(member) => format!("'{member}' ({})", self.type_name),
            None => format!("its base class ({})", self.type_name),
        }
    }
}

/// Returns the structs among the members and base classes of which several parts were accessed, if no
/// order of the members helps.
pub fn inner_types(
    gathered: &GatheredType<'_>,
    types: &TypeArena,
    advice: &LayoutAdvice,
) -> Vec<InnerType> {
    if !advice.saves_nothing() {
        return Vec::new();
    }
    let members = &gathered.aggregate.members;
    let mut accessed_offsets: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::new();
    for instance in &gathered.instances {
        for access in &instance.trace.accesses {
            let offset = element_offset(instance, access.offset);
            let holds = |member: &Member| {
                let inside = offset.checked_sub(member.offset);
                inside.is_some_and(|inside| {
                    types.size_of(member.ty).is_some_and(|size| inside < size)
                })
            };
            if let Some(index) = members.iter().position(holds) {
                accessed_offsets.entry(index).or_default().insert(offset);
            }
        }
    }
    accessed_offsets
        .iter()
        .filter(|(_, offsets)| offsets.len() > 1)
        .filter_map(|(index, _)| inner_type(types, &members[*index]))
        .collect()
}

fn inner_type(types: &TypeArena, member: &Member) -> Option<InnerType> {
    let id = types.type_outside_libraries(member.ty)?;
    let inner = types.aggregate(id)?;
    let is_struct = inner.kind != AggregateKind::Union && inner.members.len() > 1;
    Some(InnerType {
        member: member.name.clone(),
        type_name: inner.readable_name().filter(|_| is_struct)?,
    })
}
