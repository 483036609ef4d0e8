//! Attributes and unnamed bits that explain the offsets of a run of bitfields.
use std::ops::Range;

use super::hypothesis::{FILL_BYTES_MAX, MemberFacts, PackingHypothesis, unexplained_atom};
use crate::abi::bitfield::Bitfield;
use crate::abi::error::AbiError;
use crate::abi::layout::LayoutAtom;
use crate::abi::sizes::AbiEngine;

/// Atom of the run at its compiled offset, placed from bit `cursor` on, and the number of
/// attributes that it needs.
pub(super) fn explain_bitfields(
    abi: &AbiEngine<'_>,
    name: &str,
    run: Range<usize>,
    run_facts: &[MemberFacts],
    mut cursor: u64,
    hypothesis: PackingHypothesis,
) -> Result<(LayoutAtom, u32), AbiError> {
    let mut atom = unexplained_atom(run, run_facts);
    let mut cost = 0;
    for facts in run_facts {
        let Some(range) = facts.bits else { continue };
        let compiled_bit = range.offset_bits;
        let member = || facts.names.first().cloned().unwrap_or_default();
        if compiled_bit < cursor {
            return Err(AbiError::Overlap {
                name: name.to_owned(),
                member: member(),
                offset: compiled_bit / 8,
            });
        }
        let plain_field = Bitfield {
            width_bits: range.size_bits,
            unit_bits: facts.size * 8,
            align_bits: facts.natural_align * 8,
            is_named: !facts.anonymous,
            is_member: true,
            type_packed: hypothesis.type_packed,
            packed: false,
            explicit_align: 0,
        };
        let fits = |fields: &[Bitfield]| start_of_last(fields, cursor) == Some(compiled_bit);
        let lower = |fields: &Vec<Bitfield>| {
            let aligns = fields.iter().map(|field| field.required_align(1, true));
            aligns.max().unwrap_or(1) <= hypothesis.align_max
        };
        let found = bitfield_attempts(abi, &plain_field, facts, cursor, compiled_bit, hypothesis)
            .into_iter()
            .find(|fields| fits(fields) && lower(fields));
        let found = found.ok_or_else(|| AbiError::Unexplained {
            name: name.to_owned(),
            member: member(),
            bytes: (compiled_bit - cursor) / 8,
        })?;
        let unnamed = u32::from(found.len() > 1);
        let last = found.last().map_or(0, |field| {
            u32::from(field.packed) + u32::from(field.explicit_align > 0)
        });
        cost += unnamed + last;
        for field in &found {
            atom.align = atom
                .align
                .max(field.required_align(1, abi.target.unnamed_bits_align));
        }
        atom.bitfields.extend(found);
        cursor = compiled_bit + range.size_bits;
    }
    if let (Some(first), Some(last)) = (run_facts[0].bits, run_facts[run_facts.len() - 1].bits) {
        atom.offset = first.offset_bits / 8;
        let end = (last.offset_bits + last.size_bits).div_ceil(8);
        atom.size = end - atom.offset;
    }
    Ok((atom, cost))
}

/// First bit of the last of some bitfields that are placed from `cursor` on.
fn start_of_last(fields: &[Bitfield], mut cursor: u64) -> Option<u64> {
    let (last, unnamed) = fields.split_last()?;
    for field in unnamed {
        cursor = field.first_bit_from(cursor, 1) + field.width_bits;
    }
    Some(last.first_bit_from(cursor, 1))
}

/// Bitfield with unnamed ones in front of it, in the order of trial: the declared alignment first,
/// then by cost.
fn bitfield_attempts(
    abi: &AbiEngine<'_>,
    plain_field: &Bitfield,
    facts: &MemberFacts,
    cursor: u64,
    compiled_bit: u64,
    hypothesis: PackingHypothesis,
) -> Vec<Vec<Bitfield>> {
    let plain = || plain_field.clone();
    let packed = || Bitfield {
        packed: true,
        ..plain_field.clone()
    };
    let aligned = |align| Bitfield {
        explicit_align: align,
        ..plain_field.clone()
    };
    let mut attempts = Vec::new();
    if let Some(declared) = facts.declared_align {
        attempts.push(vec![aligned(declared)]);
    }
    attempts.push(vec![plain()]);
    if !hypothesis.type_packed {
        attempts.push(vec![packed()]);
    }
    // Unnamed bitfields have a unit that an unsigned integer has.
    let natural = abi.target.integer_align(facts.size) * 8 == plain_field.align_bits;
    let unit = if natural && facts.size <= 8 {
        plain_field.unit_bits
    } else {
        8
    };
    let align = abi.target.integer_align(unit / 8) * 8;
    let zero = Bitfield::unnamed(0, unit, align, hypothesis.type_packed);
    let zero = || vec![zero.clone(), plain()];
    // `:0` is not packed, so it would align the struct where unnamed bitfields do.
    if !hypothesis.type_packed {
        attempts.push(zero());
    }
    if compiled_bit - cursor <= FILL_BYTES_MAX * 8 {
        let fill = unnamed_bits_between(cursor, compiled_bit, unit, align, hypothesis.type_packed);
        let with = |field| fill.iter().cloned().chain([field]).collect();
        attempts.push(with(plain()));
        if !hypothesis.type_packed {
            attempts.push(with(packed()));
        }
    }
    attempts.push(zero());
    attempts.extend((1..17).map(|shift| vec![aligned(1 << shift)]));
    attempts
}

/// Fewest unnamed bitfields that take exactly the bits from `cursor` to `compiled_bit`.
fn unnamed_bits_between(
    cursor: u64,
    seen: u64,
    unit: u64,
    align: u64,
    type_packed: bool,
) -> Vec<Bitfield> {
    let field = |width| Bitfield::unnamed(width, unit, align, type_packed);
    let mut fields = Vec::new();
    let mut at = cursor;
    while at < seen {
        let whole = field((seen - at).min(unit));
        let next = match whole.first_bit_from(at, 1) == at {
            true => whole,
            false => field((at.next_multiple_of(align) - at).min(seen - at)),
        };
        at += next.width_bits;
        fields.push(next);
    }
    fields
}
