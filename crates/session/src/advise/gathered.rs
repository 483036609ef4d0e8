//! A type with its recorded objects.

use std::borrow::Cow;

use relayout_layout::abi::{AbiEngine, StructLayout, StructShape};
use relayout_layout::{Aggregate, suggestions};
use relayout_search::{AdviceSubject, Options, RecordedInstance, refusal};

use super::doubts::TypeConfidence;
use super::objects::{SizeEffects, find_objects, struct_names};
use super::order::{OrderEvidence, OrderNames};
use crate::{Error, ResolvedProfile};

/// A struct with its recorded objects and accesses.
pub struct GatheredType<'a> {
    /// Tag of the struct.
    pub name: String,
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
    /// Bytes of an element of the flexible array; 0 without one.
    pub tail_element_bytes: u64,
    /// Code that relies on the order of the members.
    pub order: OrderEvidence,
    /// Names by which such code is found.
    pub(super) order_names: OrderNames,
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
        let offset = match instance.elements {
            2.. => offset % instance.stride.max(1),
            _ => offset,
        };
        let holds = |range: std::ops::Range<u64>| range.contains(&u64::from(offset));
        layout
            .places
            .iter()
            .position(|place| holds(place.offset..place.end))
    }

    /// Returns `options` with the pinned members of this type.
    pub(super) fn pinned_options(&self, options: &Options) -> Options {
        Options {
            keep: { self.pinned.iter().cloned() }
                .chain(self.order.pinned_members())
                .collect(),
            order_rules: self.order.rules.clone(),
            ..options.clone()
        }
    }

    /// Returns the reason why no layout of the type can be searched.
    pub(super) fn skip_reason(&self, line_bytes: u32) -> Option<String> {
        let refusal = refusal(&self.subject(line_bytes, &[]));
        let is_single = self.shape.atoms.len() < 2;
        refusal
            .map(|refusal| refusal.to_string())
            .or_else(|| is_single.then(|| "it has one member".to_owned()))
    }
}

/// Gathers the objects and accesses of the struct `name`; the members `pinned` stay at their
/// offsets.
///
/// # Errors
/// The profile has no object of the struct, or the struct lacks a pinned member.
pub fn gather_type<'a>(
    resolved: &ResolvedProfile<'a>,
    name: &str,
    pinned: &[String],
) -> Result<GatheredType<'a>, Error> {
    let types = resolved.resolution.types();
    let tag = name.trim_start_matches("struct ").trim();
    let step = format!("gathering accesses to {tag}");
    resolved.progress.step(&step);
    let Some(objects) = find_objects(resolved, tag) else {
        let names = struct_names(resolved);
        let similar = suggestions::similar_names(names.iter().map(String::as_str), tag);
        return Err(Error::NoObject {
            name: tag.to_owned(),
            suggestion: suggestions::suggestion_suffix(&similar),
        });
    };
    let abi = AbiEngine::new(types);
    let aggregate = match abi.flatten_anonymous(objects.aggregate) {
        Some(flattened) => Cow::Owned(flattened),
        None => Cow::Borrowed(objects.aggregate),
    };
    let shape = abi.shape(&aggregate)?;
    let order_names = OrderNames::new(types, &aggregate, &shape);
    for member in pinned {
        if !shape.atoms.iter().any(|atom| atom.is_called(member)) {
            return Err(Error::NoMember {
                name: tag.to_owned(),
                member: member.clone(),
                suggestion: suggestions::suggestion_suffix(&suggestions::similar_members(
                    &shape, member,
                )),
            });
        }
    }
    let order = OrderEvidence::from_layout(&order_names, &shape);
    Ok(GatheredType {
        name: tag.to_owned(),
        aggregate,
        shape,
        instances: objects.instances,
        objects: objects.count,
        contended_objects: objects.contended,
        confidence: objects.confidence,
        size_effects: objects.size_effects,
        tail_element_bytes: objects.tail_element_bytes,
        order,
        order_names,
        pinned: pinned.to_vec(),
    })
}
