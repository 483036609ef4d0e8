//! Facts about a member, and hypotheses that explain its offset.
use std::ops::Range;

use crate::BitRange;
use crate::abi::bitfield::Bitfield;
use crate::abi::layout::LayoutAtom;
use crate::abi::sizes::AbiEngine;

/// Most bytes of unnamed bitfields that are taken to explain one gap.
pub(super) const FILL_BYTES_MAX: u64 = 512;

/// Power of two of the cache line that most code is written for, in bytes.
const LINE_SHIFT: u32 = 6;

/// What is known of a member beside where it is.
pub(in crate::abi) struct MemberFacts {
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
pub(super) struct PackingHypothesis {
    pub(super) type_packed: bool,
    /// No member may be aligned to more bytes.
    pub(super) align_max: u64,
    /// Whether the debug information gives all alignments made by hand, so that one which is not
    /// there was not made.
    pub(super) alignments_recorded: bool,
}

/// Alignments that somebody may have asked for, beside one that is there anyway: a cache line
/// before all others, since that is what it mostly is; then the smallest.
pub(super) fn higher_aligns(natural: u64) -> impl Iterator<Item = u64> {
    let shifts = [LINE_SHIFT].into_iter().chain(1..17);
    let aligns = shifts.map(|shift| 1u64 << shift);
    aligns.filter(move |align| *align > natural)
}

/// Unnamed bitfields that take so many bytes from the next byte on, wherever they go.
pub(super) fn unnamed_fill(abi: &AbiEngine<'_>, bytes: u64, type_packed: bool) -> Vec<Bitfield> {
    let align_bits = abi.target.integer_align(1) * 8;
    let field = |width_bits| Bitfield::unnamed(width_bits, 8, align_bits, type_packed);
    // In a packed struct the first would begin inside a byte.
    let mut fields = vec![field(0)];
    fields.extend((0..bytes).map(|_| field(8)));
    fields
}

/// An atom of which nothing is explained yet.
pub(super) fn unexplained_atom(run: Range<usize>, run_facts: &[MemberFacts]) -> LayoutAtom {
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
