//! Types that must not be changed, and members that have to stay in place.

use relayout_layout::{Aggregate, Type, TypeArena, TypeId};

use crate::subject::AdviceSubject;

/// Reason for offering no layout for a type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdviceRefusal {
    /// User programs depend on the layout.
    #[error("{name} is declared in {file}: user programs depend on its layout")]
    Uapi {
        /// Name of the type.
        name: String,
        /// Header.
        file: String,
    },
    /// A packed struct is a format for wire, disk or hardware.
    #[error("{name} is packed: its layout is a format that others read")]
    Packed {
        /// Name of the type.
        name: String,
    },
    /// No accesses were recorded.
    #[error("no accesses to {name} were recorded in order, so no layout can be judged")]
    NoEvidence {
        /// Name of the type.
        name: String,
    },
}

/// Returns the reason if no layout may be offered: the type must not be changed, or no accesses to
/// it were recorded.
pub fn refusal(subject: &AdviceSubject<'_>) -> Option<AdviceRefusal> {
    let name = match subject.shape.name.as_str() {
        "" => "an unnamed type".to_owned(),
        name => name.to_owned(),
    };
    let file = subject
        .aggregate
        .decl
        .as_ref()
        .map(|decl| decl.file.as_str())
        .unwrap_or_default();
    if file.contains("include/uapi/") || file.contains("include/generated/uapi/") {
        return Some(AdviceRefusal::Uapi {
            name,
            file: file.to_owned(),
        });
    }
    if subject.shape.packed {
        return Some(AdviceRefusal::Packed { name });
    }
    let mut traces = subject.instances.iter().map(|instance| &instance.trace);
    let nothing = traces.all(|trace| trace.accesses.is_empty());
    nothing.then_some(AdviceRefusal::NoEvidence { name })
}

/// Returns the name of the first member if it has to stay first: C code embeds one type in another
/// by a struct at offset 0, and casts between them.
pub fn pinned_first_member(types: &TypeArena, aggregate: &Aggregate) -> Option<String> {
    let first = aggregate.members.first()?;
    if !is_struct(types, first.ty) {
        return None;
    }
    first.name.clone().or_else(|| types.anonymous_tag(first))
}

fn is_struct(types: &TypeArena, id: TypeId) -> bool {
    matches!(types.get(types.strip_typedefs(id)), Type::Aggregate(_))
}
