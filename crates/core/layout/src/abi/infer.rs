//! Which attributes explain the offsets that the compiler chose: the fewest.
//!
//! Three readings are tried: no packing of the type; `packed` on the type; and members packed one
//! by one, where the type is aligned to less than they are. Each places the members one after the
//! other, and where the next one is not where it should be, takes the cheapest attribute that
//! brings it there.

mod bitfields;
mod members;

use std::ops::Range;

use super::class_head::ClassHead;
use super::place::place_atom;
use super::shape::is_valid_align;
use super::{AbiEngine, AbiError, Bitfield, LayoutAtom, StructShape};
use crate::{Aggregate, AggregateKind, BitRange};

/// Most bytes of unnamed bitfields that are taken to explain one gap.
const FILL_BYTES_MAX: u64 = 512;

/// Power of two of the cache line that most code is written for, in bytes.
const LINE_SHIFT: u32 = 6;

/// What a type's declared alignment costs a reading that contradicts it: more than `packed` and
/// `aligned` together.
const CONTRADICTION: u32 = 3;

/// What is known of a member beside where it is.
pub(super) struct MemberFacts {
    /// Its name, or those inside an anonymous one.
    pub names: Vec<String>,
    /// Bytes; of a bitfield, its type's.
    pub size: u64,
    /// Alignment of its type in bytes.
    pub natural_align: u64,
    /// As compiled.
    pub offset: u64,
    /// As compiled.
    pub bits: Option<BitRange>,
    /// Alignment that the debug information gives it.
    pub declared_align: Option<u64>,
    /// See [`Atom::flexible`].
    pub flexible: bool,
    /// Has no name.
    pub anonymous: bool,
}

/// How a whole type is read.
#[derive(Clone, Copy)]
struct PackingHypothesis {
    type_packed: bool,
    /// No member may be aligned to more bytes.
    align_max: u64,
    /// Whether the debug information gives all alignments made by hand, so that one which is not
    /// there was not made.
    alignments_recorded: bool,
}

/// A reading that explains all, and how many attributes it takes.
struct ExplainedShape {
    shape: StructShape,
    cost: u32,
}

/// The explanation with the fewest attributes.
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
    // Equal costs: `packed` on the type is more usual than attributes on members.
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
        // Bytes of virtual base classes, whose places are not constant.
        return Err(AbiError::Virtual { name: shape.name });
    }
    Ok(ExplainedShape { shape, cost })
}

/// Explains the size, and the alignment that the debug information gives the type.
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
    // GCC for ARM does not record alignments, so this comes before unnamed bits in any case.
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

/// Alignments that somebody may have asked for, beside one that is there anyway: a cache line
/// before all others, since that is what it mostly is; then the smallest.
fn higher_aligns(natural: u64) -> impl Iterator<Item = u64> {
    let shifts = [LINE_SHIFT].into_iter().chain(1..17);
    let aligns = shifts.map(|shift| 1u64 << shift);
    aligns.filter(move |align| *align > natural)
}

/// Unnamed bitfields that take so many bytes from the next byte on, wherever they go.
fn unnamed_fill(abi: &AbiEngine<'_>, bytes: u64, type_packed: bool) -> Vec<Bitfield> {
    let align_bits = abi.target.integer_align(1) * 8;
    let field = |width_bits| Bitfield::unnamed(width_bits, 8, align_bits, type_packed);
    // In a packed struct the first would begin inside a byte.
    let mut fields = vec![field(0)];
    fields.extend((0..bytes).map(|_| field(8)));
    fields
}

/// An atom of which nothing is explained yet.
fn unexplained_atom(run: Range<usize>, run_facts: &[MemberFacts]) -> LayoutAtom {
    let names: Vec<String> = run_facts
        .iter()
        .flat_map(|facts| facts.names.iter().cloned())
        .collect();
    LayoutAtom {
        members: run,
        name: names.first().cloned().unwrap_or_default(),
        names,
        offset: run_facts[0].offset,
        size: 0,
        align: 1,
        flexible: false,
        align_on_type: false,
        type_packed: false,
        packed: false,
        explicit_align: 1,
        unnamed_before: Vec::new(),
        bitfields: Vec::new(),
    }
}
