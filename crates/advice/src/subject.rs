//! Subjects of advice: types and arrays, by the names that a report prints.
//!
//! A layout belongs to a type. `report` also names variables (`w`), types without a tag
//! (`worker_t`), unions, and arrays of scalars (`counters`, `unsigned long [8]`). All of these lead
//! to a type whose size and alignment decide which lines its objects share.

use std::collections::{BTreeMap, BTreeSet};

use relayout_contend::strip_type_tag;
use relayout_layout::known_names::{KnownName, NameMatch, list_meant};
use relayout_layout::{Aggregate, AggregateKind, Member, Type, TypeArena, TypeId, TypePattern};
use relayout_messages::UserError;
use relayout_resolve::{ResolvedObject, StackVariable};

use super::gathered::GatheredType;
use super::objects::{is_complete_and_called, known_structs, struct_names};
use crate::ResolvedProfile;

/// Deepest chain of typedefs; more is damaged debug information.
const TYPEDEFS_MAX: usize = 64;

/// A type, or an array of scalars, that advice is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AdvisedSubject {
    /// A struct, union or class with a tag.
    Tagged {
        /// `struct`, `union` or `class`.
        keyword: &'static str,
        /// Its tag, with its scope and its template arguments.
        tag: String,
    },
    /// A struct or union without a tag, by its typedef.
    Typedef {
        /// Name of the typedef.
        name: String,
    },
    /// A struct or union without any name, by the variable that is declared with it.
    Variable {
        /// Name of the variable.
        name: String,
    },
    /// An array of numbers or pointers.
    Scalars {
        /// Name of the variable; the type of an allocated array.
        name: String,
        /// Type of an element.
        element: String,
        /// Place of the declaration, if the variable is local.
        local: Option<LocalDeclaration>,
    },
}

/// Function and file that declare a local variable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LocalDeclaration {
    /// Name of the function.
    pub function: String,
    /// File in the debug information; empty if it is not known.
    pub file: String,
    /// Line, counted from 1; 0 if it is not known.
    pub line: u32,
}

impl LocalDeclaration {
    fn of_variable(variable: &StackVariable) -> Self {
        let declared = variable.declared.as_ref();
        Self {
            function: variable.function.clone(),
            file: declared.map(|line| line.file.clone()).unwrap_or_default(),
            line: declared.map_or(0, |line| line.line),
        }
    }
}

impl AdvisedSubject {
    /// Returns the subject of an object: the type of its elements where it is an array, and what
    /// they hold where they are wrappers of a standard library.
    pub(super) fn of_object(types: &TypeArena, object: &ResolvedObject) -> Self {
        let element = element_type(types, object);
        let element = types.type_outside_libraries(element).unwrap_or(element);
        let shown_name = || match object.variable() {
            Some(variable) => variable.to_owned(),
            None => object.type_name.clone(),
        };
        let local = object.kind.stack_variable();
        let aggregate = types.aggregate(element).filter(|_| local.is_none());
        let Some(aggregate) = aggregate else {
            return Self::Scalars {
                name: shown_name(),
                element: match local {
                    Some(_) => object.type_name.clone(),
                    None => types.name_of(types.strip_qualifiers(element)),
                },
                local: local.map(LocalDeclaration::of_variable),
            };
        };
        match (aggregate.readable_name(), typedef_name(types, element)) {
            (Some(tag), _) => Self::tagged(aggregate.kind, &tag),
            (None, Some(name)) => Self::Typedef { name },
            (None, None) => Self::Variable { name: shown_name() },
        }
    }

    /// Returns the struct called `name`; [`with_keyword`](Self::with_keyword) corrects the kind.
    pub(super) fn from_tag(name: &str) -> Self {
        Self::tagged(AggregateKind::Struct, name)
    }

    /// Returns the subject with the keyword of its definition.
    pub(super) fn with_keyword(self, kind: AggregateKind) -> Self {
        match self {
            Self::Tagged { tag, .. } => Self::tagged(kind, &tag),
            other => other,
        }
    }

    fn tagged(kind: AggregateKind, tag: &str) -> Self {
        Self::Tagged {
            keyword: kind.keyword(),
            tag: tag.to_owned(),
        }
    }

    /// Returns the name: the tag, the typedef or the variable. The source has the declaration under
    /// it.
    pub fn name(&self) -> &str {
        match self {
            Self::Tagged { tag, .. } => tag,
            Self::Typedef { name } | Self::Variable { name } | Self::Scalars { name, .. } => name,
        }
    }

    /// Returns the words for a heading: `struct worker`, `worker_t`, `counters (array of long)`.
    pub fn title(&self) -> String {
        match self {
            Self::Tagged { keyword, tag } => format!("{keyword} {tag}"),
            Self::Typedef { name } => name.clone(),
            Self::Variable { name } => format!("{name} (a type without a name)"),
            Self::Scalars {
                name,
                element,
                local: Some(local),
            } => format!("{name} of {} (array of {element})", local.function),
            Self::Scalars { name, element, .. } if name.contains(element.as_str()) => name.clone(),
            Self::Scalars { name, element, .. } => format!("{name} (array of {element})"),
        }
    }

    /// Returns true if objects, and not types, tell what belongs to it.
    pub(super) fn is_of_objects(&self) -> bool {
        matches!(self, Self::Variable { .. } | Self::Scalars { .. })
    }

    /// Returns true if a type is the subject.
    pub(super) fn is_type(&self, types: &TypeArena, id: TypeId) -> bool {
        match self {
            Self::Tagged { tag, .. } => { types.aggregate(id) }
                .is_some_and(|aggregate| is_complete_and_called(aggregate, tag)),
            Self::Typedef { name } => {
                types
                    .aggregate(id)
                    .is_some_and(|aggregate| aggregate.name.is_none())
                    && typedef_name(types, id).as_ref() == Some(name)
            }
            Self::Variable { .. } | Self::Scalars { .. } => false,
        }
    }
}

/// Returns the subject that a user names: a tag, a typedef, a variable, a type as a report prints it,
/// or a part of exactly one of these names. `None` if there is none.
///
/// # Errors
/// The name means several structs.
pub(super) fn find_subject(
    resolved: &ResolvedProfile<'_>,
    pattern: &TypePattern,
) -> Result<Option<AdvisedSubject>, UserError> {
    let subjects = named_subjects(resolved);
    let named = { subjects.iter() }.map(|(name, subject)| KnownName::printed(name, subject));
    let structs = known_structs(resolved).filter_map(|known| {
        let subject = subjects.get(&*known.printed)?;
        Some(known.with_meaning(subject))
    });
    let known: Vec<KnownName<'_, &AdvisedSubject>> = named.chain(structs).collect();
    let inline = resolved.resolution.types().inline_namespaces();
    match pattern.find_known(&known, inline) {
        NameMatch::Unique(subject) => Ok(Some(subject.clone())),
        NameMatch::Several(found) => {
            let names: BTreeSet<&str> = found.into_iter().map(AdvisedSubject::name).collect();
            Err(UserError::ambiguous_name(
                pattern.bare_name(),
                &list_meant(&names),
            ))
        }
        NameMatch::Unknown => Ok(None),
    }
}

/// Returns all names that lead to a subject.
pub(super) fn named_subjects(resolved: &ResolvedProfile<'_>) -> BTreeMap<String, AdvisedSubject> {
    let types = resolved.resolution.types();
    let mut names: BTreeMap<String, AdvisedSubject> = BTreeMap::new();
    for object in resolved.resolution.objects() {
        let subject = AdvisedSubject::of_object(types, object);
        for name in [Some(object.type_name.as_str()), object.variable()] {
            let Some(name) = name else { continue };
            let is_own = !matches!(subject, AdvisedSubject::Scalars { .. });
            // A variable's name stands for the variable even if an allocation is called like it.
            if is_own || !names.contains_key(name) {
                names.insert(strip_type_tag(name).to_owned(), subject.clone());
            }
        }
    }
    // A tag comes before a variable of the same name.
    for tag in struct_names(resolved) {
        let tagged = AdvisedSubject::tagged(AggregateKind::Struct, &tag);
        match names.get(&tag) {
            Some(AdvisedSubject::Tagged { tag: known, .. }) if *known == tag => {}
            _ => {
                names.insert(tag, tagged);
            }
        }
    }
    names
}

/// Returns the names that lead to a gathered type: its own, those of arrays and variables of it, and
/// those of wrappers around it.
pub(crate) fn subject_names(
    resolved: &ResolvedProfile<'_>,
    gathered: &GatheredType<'_>,
) -> BTreeSet<String> {
    let subjects = named_subjects(resolved).into_iter();
    // The kind of a subject is that of its first object: the tag tells.
    let is_same = |subject: &AdvisedSubject| match (subject, &gathered.advised_subject) {
        (AdvisedSubject::Tagged { tag, .. }, AdvisedSubject::Tagged { tag: own, .. }) => tag == own,
        (subject, own) => subject == own,
    };
    subjects
        .filter(|(_, subject)| is_same(subject))
        .map(|(name, _)| name)
        .chain([gathered.name.clone()])
        .collect()
}

/// Returns the type of an object's elements.
pub(super) fn element_type(types: &TypeArena, object: &ResolvedObject) -> TypeId {
    match types.get(types.strip_typedefs(object.ty)) {
        Type::Array { element, .. } => *element,
        _ => object.ty,
    }
}

/// Returns the typedef closest to the type without a name.
fn typedef_name(types: &TypeArena, id: TypeId) -> Option<String> {
    let (mut at, mut name) = (id, None);
    for _ in 0..TYPEDEFS_MAX {
        match types.get(at) {
            Type::Typedef {
                name: typedef,
                target: Some(target),
                ..
            } => {
                name = Some(typedef.clone());
                at = *target;
            }
            Type::Qualified {
                target: Some(target),
                ..
            } => at = *target,
            _ => break,
        }
    }
    name.map(|name| name.to_string())
}

/// Returns a struct that has a union, or a scalar, as its only member: what can be changed of it is
/// its size and alignment as an element.
pub(super) fn as_single_member(
    types: &TypeArena,
    subject: &AdvisedSubject,
    id: TypeId,
) -> Option<Aggregate> {
    let size = types.size_of(id).filter(|size| *size > 0)?;
    let inner = types.aggregate(id);
    Some(Aggregate {
        kind: AggregateKind::Struct,
        name: Some(subject.name().to_owned()),
        size,
        declared_align: inner.and_then(|aggregate| aggregate.declared_align),
        members: vec![Member::new(subject.name(), id, 0)],
        decl: inner.and_then(|aggregate| aggregate.decl.clone()),
        complete: true,
        ..Aggregate::default()
    })
}
