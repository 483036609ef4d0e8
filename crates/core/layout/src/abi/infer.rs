//! Search for the fewest attributes that explain the compiled offsets.
//!
//! Three hypotheses are tried: no packing of the type; `packed` on the type; and `packed` on single
//! members, where the type is aligned to less than its members. Each places the members one after
//! the other. If the next member is at another offset than expected, the cheapest attribute that
//! explains the offset is taken.

mod bitfields;
pub(super) mod hypothesis;
mod members;
use std::ops::Range;

use hypothesis::{FILL_BYTES_MAX, MemberFacts, PackingHypothesis, higher_aligns, unnamed_fill};

use crate::abi::error::AbiError;
use crate::abi::layout::{ClassHead, StructShape};
use crate::abi::place::place_atom;
use crate::abi::sizes::AbiEngine;
use crate::abi::target::is_valid_align;
use crate::{Aggregate, AggregateKind};

/// Cost of a hypothesis that contradicts the declared alignment of the type: more than `packed` and
/// `aligned` together.
const CONTRADICTION: u32 = 3;

/// Shape that explains all offsets under one hypothesis, and the number of attributes that it
/// needs.
struct ExplainedShape {
    shape: StructShape,
    cost: u32,
}

/// Shape with the fewest attributes.
pub(super) fn explain_layout(
    abi: &AbiEngine<'_>,
    aggregate: &Aggregate,
    head: ClassHead,
    members: &[MemberFacts],
    runs: &[Range<usize>],
) -> Result<StructShape, AbiError> {
    let natural = PackingHypothesis {
        type_packed: false,
        align_max: u64::MAX,
        alignments_recorded: abi.recorded,
    };
    let first = try_hypothesis(abi, aggregate, head, members, runs, natural);
    if let Ok(ExplainedShape { shape, cost: 0 }) = first {
        return Ok(shape);
    }
    let packed = PackingHypothesis {
        type_packed: true,
        ..natural
    };
    let declared = aggregate.declared_align.filter(is_valid_align);
    let capped = PackingHypothesis {
        align_max: (1 << aggregate.size.trailing_zeros().min(28)).min(declared.unwrap_or(u64::MAX)),
        ..natural
    };
    // Of equal costs, `packed` on the type wins, because attributes on members are less usual.
    let readings = [
        try_hypothesis(abi, aggregate, head, members, runs, packed),
        first,
        try_hypothesis(abi, aggregate, head, members, runs, capped),
    ];
    let mut best: Option<ExplainedShape> = None;
    let mut error = None;
    for reading in readings {
        match reading {
            Ok(found) if best.as_ref().is_none_or(|best| found.cost < best.cost) => {
                best = Some(found);
            }
            Ok(_) => {}
            Err(e) => error = error.or(Some(e)),
        }
    }
    match (best, error) {
        (Some(best), _) => Ok(best.shape),
        (None, error) => Err(error.expect("a reading is explained or has an error")),
    }
}

fn try_hypothesis(
    abi: &AbiEngine<'_>,
    aggregate: &Aggregate,
    head: ClassHead,
    members: &[MemberFacts],
    runs: &[Range<usize>],
    hypothesis: PackingHypothesis,
) -> Result<ExplainedShape, AbiError> {
    let name = aggregate.name.clone().unwrap_or_default();
    let is_union = aggregate.kind == AggregateKind::Union;
    let mut atoms = Vec::with_capacity(runs.len());
    let (mut cursor, mut cost) = (head.end * 8, 0);
    for run in runs {
        let run_facts = &members[run.clone()];
        let run = run.start + head.member_count..run.end + head.member_count;
        let (atom, more) = match run_facts[0].bits {
            Some(_) => {
                bitfields::explain_bitfields(abi, &name, run, run_facts, cursor, hypothesis)?
            }
            None => members::explain_member(abi, &name, run, &run_facts[0], cursor, hypothesis)?,
        };
        cost += more;
        if !is_union {
            (_, cursor) = place_atom(&atom, cursor, 1);
        }
        atoms.push(atom);
    }
    let on_members = atoms
        .iter()
        .any(|atom| atom.packed || atom.bitfields.iter().any(|bits| bits.packed));
    let mut shape = StructShape {
        name,
        head,
        atoms,
        type_align: 1,
        packed: hypothesis.type_packed || on_members,
        type_packed: hypothesis.type_packed,
        is_union,
        tail: Vec::new(),
        unnamed_bits_align: abi.target.unnamed_bits_align,
    };
    cost +=
        u32::from(hypothesis.type_packed) + explain_size(abi, &mut shape, aggregate, hypothesis)?;
    let filled = shape
        .atoms
        .iter()
        .any(|atom| !atom.unnamed_before.is_empty());
    if head.member_count > 0 && (filled || !shape.tail.is_empty() && !shape.is_empty_class()) {
        // Unexplained bytes belong to virtual base classes, whose offsets are not constant.
        return Err(AbiError::Virtual { name: shape.name });
    }
    Ok(ExplainedShape { shape, cost })
}

/// Explains the size, and the declared alignment of the type. Returns the cost.
fn explain_size(
    abi: &AbiEngine<'_>,
    shape: &mut StructShape,
    aggregate: &Aggregate,
    hypothesis: PackingHypothesis,
) -> Result<u32, AbiError> {
    let layout = shape.lay_out(&shape.current_arrangement());
    let end = layout.size - layout.padding;
    let declared = aggregate.declared_align.filter(is_valid_align);
    let mut cost = 0;
    if let Some(declared) = declared
        && declared != layout.align
    {
        cost += if declared > layout.align {
            1
        } else {
            CONTRADICTION
        };
        shape.type_align = declared;
    }
    let align = layout.align.max(shape.type_align);
    let size = aggregate.size;
    if end.next_multiple_of(align) == size {
        return Ok(cost);
    }
    let unexplained = || AbiError::Unexplained {
        name: shape.name.clone(),
        member: "the end".to_owned(),
        bytes: size.saturating_sub(end),
    };
    if end > size || !size.is_multiple_of(align) {
        return Err(unexplained());
    }
    // GCC for ARM does not record alignments, so alignments come before unnamed bits in any case.
    if declared.is_none()
        && let Some(found) =
            higher_aligns(align).find(|candidate| end.next_multiple_of(*candidate) == size)
    {
        shape.type_align = found;
        return Ok(cost + 1);
    }
    if size > FILL_BYTES_MAX && (shape.is_union || size - end > FILL_BYTES_MAX) {
        return Err(unexplained());
    }
    let fill = if shape.is_union { size } else { size - end };
    shape.tail = unnamed_fill(abi, fill, hypothesis.type_packed);
    Ok(cost + 1)
}
