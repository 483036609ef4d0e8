//! Which attributes and unnamed bits bring a run of bitfields to its place.

use std::ops::Range;

use super::{FILL_BYTES_MAX, Known, Reading, blank};
use crate::abi::{Abi, AbiError, Atom, Bitfield};

/// The run, placed from bit `cursor` on where it was compiled to be, and how many attributes that
/// takes.
pub(super) fn explain(
    abi: &Abi<'_>,
    name: &str,
    run: Range<usize>,
    known: &[Known],
    mut cursor: u64,
    reading: Reading,
) -> Result<(Atom, u32), AbiError> {
    let mut atom = blank(run, known);
    let mut cost = 0;
    for one in known {
        let Some(range) = one.bits else { continue };
        let seen = range.offset_bits;
        let member = || one.names.first().cloned().unwrap_or_default();
        if seen < cursor {
            return Err(AbiError::Overlap {
                name: name.to_owned(),
                member: member(),
                offset: seen / 8,
            });
        }
        let blank = Bitfield {
            width_bits: range.size_bits,
            unit_bits: one.size * 8,
            align_bits: one.natural * 8,
            named: !one.anonymous,
            member: true,
            type_packed: reading.type_packed,
            packed: false,
            aligned: 0,
        };
        let fits = |fields: &[Bitfield]| ends_at(fields, cursor) == Some(seen);
        let lower = |fields: &Vec<Bitfield>| {
            let aligns = fields.iter().map(|field| field.align(1, true));
            aligns.max().unwrap_or(1) <= reading.align_max
        };
        let found = tries(abi, &blank, one, cursor, seen, reading)
            .into_iter()
            .find(|fields| fits(fields) && lower(fields));
        let found = found.ok_or_else(|| AbiError::Unexplained {
            name: name.to_owned(),
            member: member(),
            bytes: (seen - cursor) / 8,
        })?;
        let unnamed = u32::from(found.len() > 1);
        let last = found.last().map_or(0, |field| {
            u32::from(field.packed) + u32::from(field.aligned > 0)
        });
        cost += unnamed + last;
        for field in &found {
            atom.align = atom
                .align
                .max(field.align(1, abi.target.unnamed_bits_align));
        }
        atom.bits.extend(found);
        cursor = seen + range.size_bits;
    }
    if let (Some(first), Some(last)) = (known[0].bits, known[known.len() - 1].bits) {
        atom.offset = first.offset_bits / 8;
        let end = (last.offset_bits + last.size_bits).div_ceil(8);
        atom.size = end - atom.offset;
    }
    Ok((atom, cost))
}

/// First bit of the last of some fields placed from `cursor` on.
fn ends_at(fields: &[Bitfield], mut cursor: u64) -> Option<u64> {
    let (last, unnamed) = fields.split_last()?;
    for field in unnamed {
        cursor = field.place(cursor, 1) + field.width_bits;
    }
    Some(last.place(cursor, 1))
}

/// What to try, what the debug information says first, then by cost: the field, with unnamed ones
/// in front of it.
fn tries(
    abi: &Abi<'_>,
    blank: &Bitfield,
    known: &Known,
    cursor: u64,
    seen: u64,
    reading: Reading,
) -> Vec<Vec<Bitfield>> {
    let plain = || blank.clone();
    let packed = || Bitfield {
        packed: true,
        ..blank.clone()
    };
    let aligned = |align| Bitfield {
        aligned: align,
        ..blank.clone()
    };
    let mut tries = Vec::new();
    if let Some(declared) = known.declared {
        tries.push(vec![aligned(declared)]);
    }
    tries.push(vec![plain()]);
    if !reading.type_packed {
        tries.push(vec![packed()]);
    }
    // A unit for the unnamed ones that an unsigned integer has.
    let natural = abi.target.integer_align(known.size) * 8 == blank.align_bits;
    let unit = if natural && known.size <= 8 {
        blank.unit_bits
    } else {
        8
    };
    let align = abi.target.integer_align(unit / 8) * 8;
    let zero = Bitfield::unnamed(0, unit, align, reading.type_packed);
    let zero = || vec![zero.clone(), plain()];
    // `:0` is not packed, so that it would align the struct where unnamed ones do.
    if !reading.type_packed {
        tries.push(zero());
    }
    if seen - cursor <= FILL_BYTES_MAX * 8 {
        let fill = fill_bits(cursor, seen, unit, align, reading.type_packed);
        let with = |field| fill.iter().cloned().chain([field]).collect();
        tries.push(with(plain()));
        if !reading.type_packed {
            tries.push(with(packed()));
        }
    }
    tries.push(zero());
    tries.extend((1..17).map(|shift| vec![aligned(1 << shift)]));
    tries
}

/// Unnamed fields that take exactly the bits from `cursor` to `seen`, as few as can be.
fn fill_bits(cursor: u64, seen: u64, unit: u64, align: u64, type_packed: bool) -> Vec<Bitfield> {
    let field = |width| Bitfield::unnamed(width, unit, align, type_packed);
    let mut fields = Vec::new();
    let mut at = cursor;
    while at < seen {
        let whole = field((seen - at).min(unit));
        let next = match whole.place(at, 1) == at {
            true => whole,
            false => field((at.next_multiple_of(align) - at).min(seen - at)),
        };
        at += next.width_bits;
        fields.push(next);
    }
    fields
}
