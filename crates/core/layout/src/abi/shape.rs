//! Taking a struct apart: its members as atoms, with what is known of their types.
use std::cmp::Ordering;
use std::ops::Range;

use super::infer::explain_layout;
use super::infer::hypothesis::MemberFacts;
use crate::abi::error::AbiError;
use crate::abi::layout::{ClassHead, StructShape};
use crate::abi::sizes::AbiEngine;
use crate::abi::target::is_valid_align;
use crate::{Aggregate, AggregateKind, Member};

/// Larger objects exist on no machine; offsets in bits stay far below 2^64.
const SIZE_MAX: u64 = 1 << 46;

/// Members looked at for names inside anonymous structs and unions: damaged debug information can nest
/// them so that there are billions.
const NAMES_MAX: usize = 1 << 14;

impl AbiEngine<'_> {
    /// Takes a struct apart so that laying its atoms out in their own order gives the offsets and
    /// the size that it has.
    ///
    /// Alignments come from the debug information and the members' types; what sits lower is
    /// packed, what sits higher was aligned by hand or follows an unnamed bitfield. Of all
    /// explanations the one with the fewest attributes is taken: [`Shape::attributes`].
    ///
    /// # Errors
    /// For declarations, unions, Rust enums, C++ classes with virtual bases or with bases of which
    /// the rules do not tell enough, members without a size, members out of order, and gaps that
    /// no rule of C explains.
    pub fn shape(&self, aggregate: &Aggregate) -> Result<StructShape, AbiError> {
        if aggregate.kind == AggregateKind::Union && aggregate.complete {
            return Err(AbiError::NotAStruct {
                name: aggregate.name.clone().unwrap_or_default(),
                kind: aggregate.kind,
            });
        }
        self.shape_at(aggregate, 0)
    }

    /// The same also for unions, whose atoms all begin at 0.
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
        if self.has_virtual_base(aggregate, 0) {
            return Err(AbiError::Virtual { name });
        }
        if aggregate.size > SIZE_MAX {
            let size = aggregate.size;
            return Err(AbiError::Huge { name, size });
        }
        Ok(())
    }

    /// What is known of one member before its place is looked at.
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
            size,
            natural_align: natural,
            offset: member.offset,
            bits: member.bits,
            declared_align: member.declared_align.filter(is_valid_align),
            flexible: self.is_flexible(member.ty),
            anonymous: member.name.is_none(),
        })
    }

    /// Names by which a member can be addressed: its own, or those inside an anonymous one.
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

/// With members in the padding of the last base class, or behind it.
fn choose_by_attributes(
    aggregate: &Aggregate,
    inside: Result<StructShape, AbiError>,
    behind: Result<StructShape, AbiError>,
) -> Result<StructShape, AbiError> {
    match (inside, behind) {
        // Nothing can come before what there is one of.
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

/// The members in the pieces that move as one: runs of bitfields, and all others by themselves.
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
