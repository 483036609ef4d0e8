//! Attributes that explain the offset of a member that is no bitfield.
use std::ops::Range;

use super::hypothesis::{
    FILL_BYTES_MAX, MemberFacts, PackingHypothesis, higher_aligns, unexplained_atom, unnamed_fill,
};
use crate::abi::error::AbiError;
use crate::abi::layout::LayoutAtom;
use crate::abi::sizes::AbiEngine;

/// Possible explanation of a member's offset.
#[derive(Clone, Copy)]
struct PlacementAttempt {
    packed: bool,
    /// `aligned(N)` on the member in bytes; 1 without.
    aligned: u64,
    /// True with unnamed bitfields in front of the member.
    fill: bool,
}

impl PlacementAttempt {
    fn cost(self) -> u32 {
        u32::from(self.packed) + u32::from(self.aligned > 1) + u32::from(self.fill)
    }
}

/// Atom at its compiled offset, placed at or behind bit `cursor`, and the number of attributes that
/// it needs.
pub(super) fn explain_member(
    abi: &AbiEngine<'_>,
    name: &str,
    run: Range<usize>,
    facts: &MemberFacts,
    cursor: u64,
    hypothesis: PackingHypothesis,
) -> Result<(LayoutAtom, u32), AbiError> {
    let mut atom = unexplained_atom(run, std::slice::from_ref(facts));
    let start = cursor.div_ceil(8);
    if start > facts.offset {
        return Err(AbiError::Overlap {
            name: name.to_owned(),
            member: atom.name,
            offset: facts.offset,
        });
    }
    let gap = facts.offset - start;
    let align = |attempt: PlacementAttempt| match hypothesis.type_packed || attempt.packed {
        true => attempt.aligned,
        false => attempt.aligned.max(facts.natural_align),
    };
    let fits = |attempt: &PlacementAttempt| {
        let align = align(*attempt);
        let at_offset = match attempt.fill {
            true => gap <= FILL_BYTES_MAX && facts.offset.is_multiple_of(align),
            false => start.next_multiple_of(align) == facts.offset,
        };
        // An attribute on an anonymous member applies to its type, and pads it.
        let possible = !facts.anonymous
            || facts.size.is_multiple_of(attempt.aligned) && !hypothesis.type_packed
            || attempt.aligned == 1;
        at_offset && possible && align <= hypothesis.align_max
    };
    let found = member_attempts(facts, hypothesis).into_iter().find(fits);
    let found = found.ok_or_else(|| AbiError::Unexplained {
        name: name.to_owned(),
        member: atom.name.clone(),
        bytes: gap,
    })?;
    atom.size = facts.size;
    atom.align = align(found);
    atom.flexible = facts.flexible;
    atom.arrays.clone_from(&facts.arrays);
    atom.align_on_type = facts.anonymous && !found.packed;
    atom.type_packed = hypothesis.type_packed;
    atom.packed = found.packed;
    atom.explicit_align = found.aligned;
    if found.fill {
        atom.unnamed_before = unnamed_fill(abi, gap, hypothesis.type_packed);
    }
    Ok((atom, found.cost()))
}

/// Explanations in the order of trial: the declared alignment first, then by cost.
fn member_attempts(facts: &MemberFacts, hypothesis: PackingHypothesis) -> Vec<PlacementAttempt> {
    let plain = PlacementAttempt {
        packed: false,
        aligned: 1,
        fill: false,
    };
    let fill = |attempt: PlacementAttempt| PlacementAttempt {
        fill: true,
        ..attempt
    };
    let packed = PlacementAttempt {
        packed: true,
        ..plain
    };
    let natural = if hypothesis.type_packed {
        1
    } else {
        facts.natural_align
    };
    let aligned = |align| PlacementAttempt {
        aligned: align,
        ..plain
    };
    let mut attempts = Vec::new();
    if let Some(declared) = facts.declared_align {
        // A declared alignment may come from the member's type, or from `packed` on the member.
        let declared_attempt = match declared {
            _ if declared == natural => plain,
            _ if declared > natural => aligned(declared),
            _ => PlacementAttempt {
                aligned: declared,
                ..packed
            },
        };
        attempts.extend([declared_attempt, fill(declared_attempt)]);
    }
    attempts.push(plain);
    if natural > 1 {
        attempts.push(packed);
    }
    let higher = higher_aligns(natural).map(aligned);
    if hypothesis.alignments_recorded {
        attempts.push(fill(plain));
        attempts.extend(higher);
    } else {
        attempts.extend(higher);
        attempts.push(fill(plain));
    }
    if natural > 1 {
        let lower = (1..natural.trailing_zeros()).rev();
        attempts.extend(lower.map(|shift| PlacementAttempt {
            aligned: 1 << shift,
            ..packed
        }));
        attempts.push(fill(packed));
    }
    attempts
}
