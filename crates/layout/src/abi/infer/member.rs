//! Which attributes bring a member that is no bitfield to its place.

use std::ops::Range;

use super::{FILL_BYTES_MAX, Known, Reading, aligned_higher, blank, fill_bytes};
use crate::abi::{Abi, AbiError, Atom};

/// One explanation of a member's place.
#[derive(Clone, Copy)]
struct Try {
    packed: bool,
    /// Bytes; 1: none.
    aligned: u64,
    /// Unnamed bitfields in front of it.
    fill: bool,
}

impl Try {
    fn cost(self) -> u32 {
        u32::from(self.packed) + u32::from(self.aligned > 1) + u32::from(self.fill)
    }
}

/// The atom, placed at or after bit `cursor` where it was compiled to be, and how many attributes
/// that takes.
pub(super) fn explain(
    abi: &Abi<'_>,
    name: &str,
    run: Range<usize>,
    known: &Known,
    cursor: u64,
    reading: Reading,
) -> Result<(Atom, u32), AbiError> {
    let mut atom = blank(run, std::slice::from_ref(known));
    let start = cursor.div_ceil(8);
    if start > known.offset {
        return Err(AbiError::Overlap {
            name: name.to_owned(),
            member: atom.name,
            offset: known.offset,
        });
    }
    let gap = known.offset - start;
    let align = |one: Try| match reading.type_packed || one.packed {
        true => one.aligned,
        false => one.aligned.max(known.natural),
    };
    let fits = |one: &Try| {
        let align = align(*one);
        let there = match one.fill {
            true => gap <= FILL_BYTES_MAX && known.offset.is_multiple_of(align),
            false => start.next_multiple_of(align) == known.offset,
        };
        // The attribute of an anonymous member is its type's, and pads it.
        let possible = !known.anonymous
            || known.size.is_multiple_of(one.aligned) && !reading.type_packed
            || one.aligned == 1;
        there && possible && align <= reading.align_max
    };
    let found = tries(known, reading).into_iter().find(fits);
    let found = found.ok_or_else(|| AbiError::Unexplained {
        name: name.to_owned(),
        member: atom.name.clone(),
        bytes: gap,
    })?;
    atom.size = known.size;
    atom.align = align(found);
    atom.flexible = known.flexible;
    atom.align_on_type = known.anonymous && !found.packed;
    atom.type_packed = reading.type_packed;
    atom.packed = found.packed;
    atom.aligned = found.aligned;
    if found.fill {
        atom.before = fill_bytes(abi, gap, reading.type_packed);
    }
    Ok((atom, found.cost()))
}

/// What to try, what the debug information says first, then by cost.
fn tries(known: &Known, reading: Reading) -> Vec<Try> {
    let plain = Try {
        packed: false,
        aligned: 1,
        fill: false,
    };
    let fill = |one: Try| Try { fill: true, ..one };
    let packed = Try {
        packed: true,
        ..plain
    };
    let natural = if reading.type_packed {
        1
    } else {
        known.natural
    };
    let aligned = |align| Try {
        aligned: align,
        ..plain
    };
    let mut tries = Vec::new();
    if let Some(declared) = known.declared {
        // What is declared may come from the type of the member, or from that it is packed.
        let said = match declared {
            _ if declared == natural => plain,
            _ if declared > natural => aligned(declared),
            _ => Try {
                aligned: declared,
                ..packed
            },
        };
        tries.extend([said, fill(said)]);
    }
    tries.push(plain);
    if natural > 1 {
        tries.push(packed);
    }
    let higher = aligned_higher(natural).map(aligned);
    if reading.recorded {
        tries.push(fill(plain));
        tries.extend(higher);
    } else {
        tries.extend(higher);
        tries.push(fill(plain));
    }
    if natural > 1 {
        let lower = (1..natural.trailing_zeros()).rev();
        tries.extend(lower.map(|shift| Try {
            aligned: 1 << shift,
            ..packed
        }));
        tries.push(fill(packed));
    }
    tries
}
