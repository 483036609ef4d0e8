//! A type with its recorded objects.

use std::borrow::Cow;
use std::collections::BTreeSet;

use relayout_contend::TypeConfidence;
use relayout_layout::abi::{AbiEngine, StructLayout, StructShape};
use relayout_layout::{Aggregate, TypePattern, suggestions};
use relayout_messages::UserError;
use relayout_patch::{OrderQuery, SpreadElements, source_language};
use relayout_search::{
    AdviceSubject, LayoutChange, Options, RecordedInstance, ScoredLayout, change, refusal,
};

use super::objects::{SizeEffects, TypeObjects, find_objects, struct_in_wrapper};
use super::order::{OrderEvidence, OrderNames, SourceUses};
use super::rust_struct::{RustSourceFacts, RustStructRules};
use super::subject::{AdvisedSubject, find_subject, named_subjects};
use crate::ResolvedProfile;

/// A struct with its recorded objects and accesses.
pub struct GatheredType<'a> {
    /// The type, or array of scalars.
    pub advised_subject: AdvisedSubject,
    /// Tag of the struct, or else name of the typedef or variable.
    pub name: String,
    /// True for a union or a scalar: its size and alignment can be changed, not its order.
    pub is_whole: bool,
    /// Definition, with anonymous structs taken apart where possible.
    pub aggregate: Cow<'a, Aggregate>,
    /// Members as units that move.
    pub shape: StructShape,
    /// Recorded accesses, by object and stretch of time.
    pub instances: Vec<RecordedInstance>,
    /// Number of objects in the profile.
    pub objects: u64,
    /// Number of objects with transfers.
    pub contended_objects: usize,
    /// Confidence in the objects' type.
    pub confidence: TypeConfidence,
    /// Memory that the size of the type affects.
    pub size_effects: SizeEffects,
    /// Allocation calls of the objects, as `calloc in main (hp.c:19)`.
    pub allocation_calls: BTreeSet<String>,
    /// True if the program named some of the objects by `relayout_object()`: it places them itself.
    pub has_named: bool,
    /// Bytes of an element of the flexible array; 0 without one.
    pub tail_element_bytes: u64,
    /// Code that relies on the order of the members.
    pub order: OrderEvidence,
    /// Names by which such code is found.
    pub(super) order_names: OrderNames,
    /// Rules of a Rust struct; `None` for other languages.
    pub(super) rust_struct: Option<RustStructRules>,
    /// Members that the user keeps at their offsets.
    pub pinned: Vec<String>,
}

impl GatheredType<'_> {
    /// Returns the input of a search; `builds` are the type's shapes in other configurations.
    pub fn subject<'s>(&'s self, line_bytes: u32, builds: &'s [StructShape]) -> AdviceSubject<'s> {
        AdviceSubject {
            aggregate: &self.aggregate,
            shape: &self.shape,
            instances: &self.instances,
            tail_element_bytes: self.tail_element_bytes,
            objects: self.objects,
            line_bytes,
            builds,
        }
    }

    /// Returns the atom at `offset` of an instance.
    pub fn atom_at_offset(
        &self,
        layout: &StructLayout,
        instance: &RecordedInstance,
        offset: u32,
    ) -> Option<usize> {
        let offset = element_offset(instance, offset);
        let holds = |range: std::ops::Range<u64>| range.contains(&offset);
        layout
            .places
            .iter()
            .position(|place| holds(place.offset..place.end))
    }

    /// Returns the allocation calls that have to give another alignment for a layout; empty where
    /// they need no change.
    pub fn calls_to_change(&self, scored: &ScoredLayout) -> Vec<String> {
        match (scored.needs_allocation, self.allocation_calls.is_empty()) {
            (false, _) => Vec::new(),
            (true, false) => self.allocation_calls.iter().cloned().collect(),
            (true, true) => vec!["the call that allocates it".to_owned()],
        }
    }

    /// Returns the rules of a Rust struct; `None` for a type of another language.
    pub fn rust_struct(&self) -> Option<&RustStructRules> {
        self.rust_struct.as_ref()
    }

    /// Takes over what the source tree says of a Rust struct.
    pub fn apply_rust_facts(&mut self, facts: &RustSourceFacts) {
        let Some(rules) = self.rust_struct.take() else {
            return;
        };
        let rules = rules.with_source(facts);
        self.order = match rules.fields.is_repr_c {
            true => OrderEvidence::from_layout(&self.order_names, &self.shape),
            false => OrderEvidence::default(),
        };
        self.rust_struct = Some(rules);
    }

    /// Returns the names to look for in a tree of C source for code that relies on the order of the members. `None`
    /// for a Rust struct, and for an array that is laid out as a whole and has no members of its own.
    pub fn order_query(&self) -> Option<&OrderQuery> {
        let has_members = !self.is_whole && self.rust_struct.is_none();
        has_members.then_some(&self.order_names.query)
    }

    /// Takes over the code in a source tree that relies on the order of the members.
    pub fn apply_order_uses(&mut self, uses: SourceUses) {
        self.order = OrderEvidence::from_uses(&self.order_names, &self.shape, uses);
    }

    /// Returns true for a struct of Rust.
    pub fn is_rust(&self) -> bool {
        self.rust_struct.is_some()
    }

    /// Returns true if the compiler orders the members: a Rust struct without `#[repr(C)]`.
    pub fn is_compiler_ordered(&self) -> bool {
        { self.rust_struct.as_ref() }.is_some_and(|rules| !rules.fields.is_repr_c)
    }

    /// Returns `options` with the pinned members of this type.
    pub(super) fn pinned_options(&self, options: &Options) -> Options {
        Options {
            keep: { self.pinned.iter().cloned() }
                .chain(self.order.pinned_members())
                .collect(),
            order_rules: self.order.rules.clone(),
            rust_fields: { self.rust_struct.as_ref() }.map(|rules| rules.fields),
            ..options.clone()
        }
    }

    /// Returns the name under which the source declares the type.
    pub fn declared_name(&self) -> &str {
        let tagged = matches!(self.advised_subject, AdvisedSubject::Tagged { .. });
        let declared = self.aggregate.declared_name().filter(|_| tagged);
        declared.unwrap_or(&self.name)
    }

    /// Returns the name of the type in debug information, with its scope.
    pub fn definition_name(&self) -> String {
        let Aggregate { name, scope, .. } = self.aggregate.as_ref();
        match (&self.advised_subject, name, scope) {
            (AdvisedSubject::Tagged { .. }, Some(name), Some(scope)) => format!("{scope}::{name}"),
            (AdvisedSubject::Tagged { .. }, Some(name), None) => name.clone(),
            _ => self.name.clone(),
        }
    }

    /// Returns the reason why no layout of the type can be searched.
    pub(super) fn skip_reason(&self, line_bytes: u32) -> Option<String> {
        let refusal = refusal(&self.subject(line_bytes, &[]));
        let has_neighbours = self.instances.iter().any(RecordedInstance::is_row);
        let has_array = { self.shape.atoms.iter() }.any(|atom| !atom.arrays.is_empty());
        let is_single = self.shape.atoms.len() < 2 && !has_neighbours && !has_array;
        refusal
            .map(|refusal| refusal.to_string())
            .or_else(|| is_single.then(|| "it has one member and no neighbours".to_owned()))
    }
}

/// Returns what to write for a layout in which the elements of arrays lie elsewhere: a change that
/// reaches further than the definition of the type. `None` for other layouts.
pub fn element_instructions(gathered: &GatheredType<'_>, scored: &ScoredLayout) -> Option<String> {
    let name = |atom: usize| {
        gathered
            .shape
            .atoms
            .get(atom)
            .map_or("", |atom| atom.name.as_str())
    };
    let instructions = scored.changes.iter().filter_map(|change| match *change {
        LayoutChange::SpreadElements {
            atom,
            element_bytes,
            stride,
            align,
        } => Some(spread_words(gathered, name(atom), element_bytes, [stride, align])),
        LayoutChange::RoundRuns {
            atom,
            element_bytes,
            to,
        } => {
            let elements = change::elements_of_lines(element_bytes, to);
            let array = atom.map_or("the array", name);
            Some(format!(
                "where the code divides {array} among threads, round the number of elements of each part \
                 up to a multiple of {elements} ((n + {}) / {elements} * {elements}), and let {array} \
                 begin at a multiple of {to} bytes ({})",
                elements - 1,
                alignment_words(gathered, &gathered.calls_to_change(scored), to)
            ))
        }
        _ => None,
    });
    let instructions: Vec<String> = instructions.collect();
    (!instructions.is_empty()).then(|| instructions.join("; "))
}

/// Returns the declaration of an array whose elements have lines of their own.
fn spread_words(
    gathered: &GatheredType<'_>,
    array: &str,
    element_bytes: u64,
    [stride, align]: [u64; 2],
) -> String {
    let declared = { gathered.aggregate.decl.as_ref() }.map_or("", |decl| decl.file.as_str());
    source_language(declared, "").spread_elements(&SpreadElements {
        array,
        element_bytes,
        stride,
        align,
    })
}

/// Returns the way to align an array; `calls` allocate it, none a variable or a member.
fn alignment_words(gathered: &GatheredType<'_>, calls: &[String], align: u64) -> String {
    let is_rust = gathered.is_rust() || calls.iter().any(|call| call.contains(".rs:"));
    let calls_listed = calls.join(", ");
    match (calls.is_empty(), is_rust) {
        (true, true) => format!("#[repr(align({align}))]"),
        (true, false) => format!("alignas({align})"),
        (false, true) => {
            format!("elements of a type with #[repr(align({align}))], from {calls_listed}")
        }
        (false, false) => format!(
            "aligned_alloc({align}, bytes), operator new[] with std::align_val_t({align}), or an allocator \
             that does, instead of {calls_listed}"
        ),
    }
}

/// Returns the offset in its element of an access to an instance.
pub(super) fn element_offset(instance: &RecordedInstance, offset: u32) -> u64 {
    u64::from(instance.locate(offset).1)
}

/// Returns the objects of a tag, or of what else a report calls so; `None` if there are none.
///
/// # Errors
/// The name means several structs.
fn find_named_objects<'a>(
    resolved: &ResolvedProfile<'a>,
    pattern: &TypePattern,
) -> Result<Option<(AdvisedSubject, TypeObjects<'a>)>, UserError> {
    let tagged = AdvisedSubject::from_tag(pattern.bare_name());
    if let Some(objects) = find_objects(resolved, &tagged) {
        return Ok(Some((tagged.with_keyword(objects.kind), objects)));
    }
    let Some(subject) = find_subject(resolved, pattern)? else {
        return Ok(None);
    };
    let objects = find_objects(resolved, &subject);
    Ok(objects.map(|objects| (subject.with_keyword(objects.kind), objects)))
}

/// Gathers the objects and accesses of `name`, a type or an array as a report prints it; the
/// members `pinned` stay at their offsets.
///
/// # Errors
/// The profile has no object of that name, or several types that it may mean, the type is one of a standard library that holds no type of
/// the user, or the struct lacks a pinned member.
pub fn gather_type<'a>(
    resolved: &ResolvedProfile<'a>,
    name: &str,
    pinned: &[String],
) -> Result<GatheredType<'a>, UserError> {
    let step = format!("gathering accesses to {}", name.trim());
    resolved.progress.step(&step);
    let pattern = TypePattern::parse(name).map_err(UserError::input)?;
    let Some((subject, objects)) = find_named_objects(resolved, &pattern)? else {
        let names = named_subjects(resolved);
        let similar = pattern.similar_printed(names.keys().map(String::as_str));
        return Err(no_object(pattern.bare_name(), &similar));
    };
    let Some(held) = struct_in_wrapper(resolved, subject.name()) else {
        return gather_objects(resolved, &subject, objects, pinned);
    };
    let held = held.map(|name| AdvisedSubject::from_tag(&name));
    let found = held.and_then(|held| Some((find_objects(resolved, &held)?, held)));
    let (objects, held) = found.ok_or_else(|| {
        UserError::input(format!(
            "{} is a type of the standard library, which lays it out, and holds no struct of the program",
            subject.name()
        ))
    })?;
    gather_objects(resolved, &held.with_keyword(objects.kind), objects, pinned)
}

/// Gathers the objects and accesses of a subject that has objects.
///
/// # Errors
/// Those of [`gather_type`].
pub(super) fn gather_subject<'a>(
    resolved: &ResolvedProfile<'a>,
    subject: &AdvisedSubject,
) -> Result<GatheredType<'a>, UserError> {
    let step = format!("gathering accesses to {}", subject.name());
    resolved.progress.step(&step);
    let objects = find_objects(resolved, subject).ok_or_else(|| no_object(subject.name(), &[]))?;
    gather_objects(resolved, subject, objects, &[])
}

fn no_object(name: &str, close: &[String]) -> UserError {
    let message = format!("no object of struct {name} is in the profile");
    let list = "see `relayout report` for those that are";
    UserError::unknown_name(message, close, Some(list))
}

/// Makes the error of a struct that lacks a named member, with members of similar names.
pub(super) fn no_member(tag: &str, member: &str, shape: &StructShape) -> UserError {
    let message = format!("struct {tag} has no member '{member}'");
    UserError::unknown_name(message, &suggestions::similar_members(shape, member), None)
}

fn gather_objects<'a>(
    resolved: &ResolvedProfile<'a>,
    subject: &AdvisedSubject,
    objects: TypeObjects<'a>,
    pinned: &[String],
) -> Result<GatheredType<'a>, UserError> {
    let types = resolved.resolution.types();
    let tag = subject.name();
    let abi = AbiEngine::new(types);
    let aggregate = match abi.flatten_anonymous(&objects.aggregate) {
        Some(flattened) => Cow::Owned(flattened),
        None => objects.aggregate,
    };
    let shape = abi.shape(&aggregate)?;
    let order_names = OrderNames::new(types, &aggregate, &shape);
    for member in pinned {
        if !shape.atoms.iter().any(|atom| atom.is_called(member)) {
            return Err(no_member(tag, member, &shape));
        }
    }
    let rust_struct = { !objects.is_whole }
        .then(|| RustStructRules::from_layout(&aggregate, &shape, resolved.line_bytes))
        .flatten();
    let is_ordered = { rust_struct.as_ref() }.is_none_or(|rules| rules.fields.is_repr_c);
    let order = match objects.is_whole || !is_ordered {
        true => OrderEvidence::default(),
        false => OrderEvidence::from_layout(&order_names, &shape),
    };
    Ok(GatheredType {
        name: tag.to_owned(),
        advised_subject: subject.clone(),
        is_whole: objects.is_whole,
        aggregate,
        shape,
        instances: objects.instances,
        objects: objects.count,
        contended_objects: objects.contended,
        confidence: objects.confidence,
        size_effects: objects.size_effects,
        allocation_calls: objects.allocation_calls,
        has_named: objects.has_named,
        tail_element_bytes: objects.tail_element_bytes,
        order,
        order_names,
        rust_struct,
        pinned: pinned.to_vec(),
    })
}
