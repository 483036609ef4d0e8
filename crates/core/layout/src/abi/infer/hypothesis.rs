//! Facts about a member, and hypotheses that explain its offset.
use std::ops::Range;

use crate::BitRange;
use crate::abi::arrays::ArrayLevel;
use crate::abi::bitfield::Bitfield;
use crate::abi::layout::LayoutAtom;
use crate::abi::sizes::AbiEngine;

/// Most bytes of unnamed bitfields that explain one gap.
pub(super) const FILL_BYTES_MAX: u64 = 512;

/// Power of two of the usual cache line size in bytes.
const LINE_SHIFT: u32 = 6;

/// Compiled offset of a member, and properties of its type.
pub(in crate::abi) struct MemberFacts {
    /// Name of the member, or names inside an anonymous one.
    pub names: Vec<String>,
    /// See [`LayoutAtom::tag`].
    pub tag: Option<String>,
    /// Size in bytes; for a bitfield, of its type.
    pub size: u64,
    /// Alignment of its type in bytes.
    pub natural_align: u64,
    /// Compiled offset in bytes.
    pub offset: u64,
    /// Compiled bits of a bitfield.
    pub bits: Option<BitRange>,
    /// Declared alignment in bytes, where the debug information has one.
    pub declared_align: Option<u64>,
    /// See [`LayoutAtom::flexible`].
    pub flexible: bool,
    /// True for a member without a name.
    pub anonymous: bool,
    /// See [`LayoutAtom::arrays`].
    pub arrays: Vec<ArrayLevel>,
}

/// Assumption about the packing of a whole type.
#[derive(Clone, Copy)]
pub(super) struct PackingHypothesis {
    pub(super) type_packed: bool,
    /// Most alignment of a member in bytes.
    pub(super) align_max: u64,
    /// True if the debug information contains all alignments made by hand, so that a missing one
    /// was not made.
    pub(super) alignments_recorded: bool,
}

/// Alignments above `natural` that the source may demand: a cache line first, as the most likely
/// one, then from the smallest on.
pub(super) fn higher_aligns(natural: u64) -> impl Iterator<Item = u64> {
    let shifts = [LINE_SHIFT].into_iter().chain(1..17);
    let aligns = shifts.map(|shift| 1u64 << shift);
    aligns.filter(move |align| *align > natural)
}

/// Unnamed bitfields that take so many bytes from the next byte on, at any offset.
pub(super) fn unnamed_fill(abi: &AbiEngine<'_>, bytes: u64, type_packed: bool) -> Vec<Bitfield> {
    let align_bits = abi.target.integer_align(1) * 8;
    let field = |width_bits| Bitfield::unnamed(width_bits, 8, align_bits, type_packed);
    // The first bitfield would begin inside a byte in a packed struct.
    let mut fields = vec![field(0)];
    fields.extend((0..bytes).map(|_| field(8)));
    fields
}

/// Atom without an explanation of its offset.
pub(super) fn unexplained_atom(run: Range<usize>, run_facts: &[MemberFacts]) -> LayoutAtom {
    let names: Vec<String> = run_facts
        .iter()
        .flat_map(|facts| facts.names.iter().cloned())
        .collect();
    LayoutAtom {
        members: run,
        name: names.first().cloned().unwrap_or_default(),
        names,
        tag: run_facts[0].tag.clone(),
        offset: run_facts[0].offset,
        size: 0,
        align: 1,
        flexible: false,
        arrays: Vec::new(),
        align_on_type: false,
        type_packed: false,
        packed: false,
        explicit_align: 1,
        unnamed_before: Vec::new(),
        bitfields: Vec::new(),
    }
}
