//! Splitting of structs into atoms.
use std::cmp::Ordering;
use std::ops::Range;

use super::infer::explain_layout;
use super::infer::hypothesis::MemberFacts;
use crate::abi::error::AbiError;
use crate::abi::layout::{ClassHead, StructShape};
use crate::abi::sizes::AbiEngine;
use crate::abi::target::is_valid_align;
use crate::{Aggregate, AggregateKind, Member};

/// Largest size in bytes. No machine has larger objects, and offsets in bits stay far below 2^64.
const SIZE_MAX: u64 = 1 << 46;

/// Most members that are searched for names inside anonymous structs and unions. Damaged debug
/// information can nest billions.
const NAMES_MAX: usize = 1 << 14;

impl AbiEngine<'_> {
    /// Splits a struct into atoms whose declared order results in the compiled offsets and size.
    ///
    /// Alignments come from the debug information and the types of the members. A member at a lower
    /// offset is packed. A member at a higher offset is aligned by hand or follows an unnamed
    /// bitfield. The explanation with the fewest attributes wins: [`StructShape::attributes`].
    ///
    /// # Errors
    /// Declarations, unions, Rust enums, C++ classes with virtual bases or with bases that debug
    /// information does not describe well enough, members without a size, members out of order, and
    /// gaps that no rule of C explains.
    pub fn shape(&self, aggregate: &Aggregate) -> Result<StructShape, AbiError> {
        if aggregate.kind == AggregateKind::Union && aggregate.complete {
            return Err(AbiError::NotAStruct {
                name: aggregate.name.clone().unwrap_or_default(),
                kind: aggregate.kind,
            });
        }
        self.shape_at(aggregate, 0)
    }

    /// Shape of a struct or a union. All atoms of a union begin at 0.
    pub(super) fn shape_at(
        &self,
        aggregate: &Aggregate,
        depth: u32,
    ) -> Result<StructShape, AbiError> {
        self.refuse_unsupported(aggregate)?;
        let (head, padded_end) = self.class_head(aggregate, depth)?;
        let own = &aggregate.members[head.member_count..];
        let members: Result<Vec<MemberFacts>, AbiError> = own
            .iter()
            .map(|member| self.member_facts(aggregate, member, depth))
            .collect();
        let runs = atom_runs(own, aggregate.kind == AggregateKind::Union);
        let members = members?;
        let explain_from =
            |end| explain_layout(self, aggregate, ClassHead { end, ..head }, &members, &runs);
        let mut shape = match head.end == padded_end {
            true => explain_from(head.end)?,
            false => {
                choose_by_attributes(aggregate, explain_from(head.end), explain_from(padded_end))?
            }
        };
        if let Some((last, others)) = shape.atoms.split_last_mut() {
            last.flexible &= aggregate.kind == AggregateKind::Struct;
            others.iter_mut().for_each(|atom| atom.flexible = false);
        }
        Ok(shape)
    }

    fn refuse_unsupported(&self, aggregate: &Aggregate) -> Result<(), AbiError> {
        let name = aggregate.name.clone().unwrap_or_default();
        if !aggregate.complete {
            return Err(AbiError::Incomplete { name });
        }
        if aggregate.variants.is_some() {
            return Err(AbiError::Variants { name });
        }
        if self.has_virtual_base(aggregate) {
            return Err(AbiError::Virtual { name });
        }
        if aggregate.size > SIZE_MAX {
            let size = aggregate.size;
            return Err(AbiError::Huge { name, size });
        }
        Ok(())
    }

    /// Facts about one member, before its offset is explained.
    fn member_facts(
        &self,
        aggregate: &Aggregate,
        member: &Member,
        depth: u32,
    ) -> Result<MemberFacts, AbiError> {
        let name = || aggregate.name.clone().unwrap_or_default();
        let member_name = || member.name.clone().unwrap_or_default();
        let unknown = || AbiError::UnknownSize {
            name: name(),
            member: member_name(),
        };
        let size = self.size_of(member.ty).ok_or_else(unknown)?;
        let natural = self.align_at(member.ty, depth + 1).ok_or_else(unknown)?;
        let in_object = match member.bits {
            Some(bits) => bits
                .offset_bits
                .checked_add(bits.size_bits)
                .is_some_and(|end| end <= aggregate.size * 8),
            None => member
                .offset
                .checked_add(size)
                .is_some_and(|end| end <= aggregate.size),
        };
        if !in_object {
            return Err(AbiError::Overlap {
                name: name(),
                member: member_name(),
                offset: member.offset,
            });
        }
        if let Some(bits) = member.bits
            && (bits.size_bits > size * 8 || bits.size_bits == 0)
        {
            return Err(AbiError::Wide {
                name: name(),
                member: member_name(),
                width_bits: bits.size_bits,
            });
        }
        let (mut names, mut left) = (Vec::new(), NAMES_MAX);
        self.collect_names(member, 0, &mut names, &mut left);
        Ok(MemberFacts {
            names,
            tag: self.types.anonymous_tag(member),
            size,
            natural_align: natural,
            offset: member.offset,
            bits: member.bits,
            declared_align: member.declared_align.filter(is_valid_align),
            flexible: self.is_flexible(member.ty),
            anonymous: member.is_anonymous(),
            arrays: self.array_levels(member.ty),
        })
    }

    /// Adds the names that address a member: its own, or those inside an anonymous one.
    fn collect_names(
        &self,
        member: &Member,
        depth: u32,
        found: &mut Vec<String>,
        left: &mut usize,
    ) {
        *left = left.saturating_sub(1);
        if let Some(name) = &member.name {
            found.push(name.clone());
        } else if let Some(inner) = self.aggregate(member.ty)
            && depth < 16
        {
            for member in &inner.members {
                if *left > 0 {
                    self.collect_names(member, depth + 1, found, left);
                }
            }
        }
    }
}

/// Shape with members in the padding of the last base class, or behind that padding.
fn choose_by_attributes(
    aggregate: &Aggregate,
    inside: Result<StructShape, AbiError>,
    behind: Result<StructShape, AbiError>,
) -> Result<StructShape, AbiError> {
    match (inside, behind) {
        // A single atom has no order that the padding could change.
        (Ok(shape), Ok(_)) if shape.atoms.len() < 2 => Ok(shape),
        (Ok(inside), Ok(behind)) => {
            let count = |shape: &StructShape| shape.attributes().len();
            match count(&inside).cmp(&count(&behind)) {
                Ordering::Less => Ok(inside),
                Ordering::Greater => Ok(behind),
                Ordering::Equal => Err(AbiError::Base {
                    name: aggregate.name.clone().unwrap_or_default(),
                    base: "whose padding may hold members".to_owned(),
                    why: "the debug information does not tell whether it may",
                }),
            }
        }
        (Ok(shape), Err(_)) | (Err(_), Ok(shape)) => Ok(shape),
        (Err(e), Err(_)) => Err(e),
    }
}

/// Members of each atom: runs of bitfields, and every other member by itself.
fn atom_runs(members: &[Member], is_union: bool) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (index, member) in members.iter().enumerate() {
        match runs.last_mut() {
            Some(run)
                if !is_union && member.bits.is_some() && members[run.end - 1].bits.is_some() =>
            {
                run.end = index + 1;
            }
            _ => runs.push(index..index + 1),
        }
    }
    runs
}
