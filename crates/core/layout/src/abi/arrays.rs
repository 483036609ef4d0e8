//! Arrays that fill a member, and their elements at other distances.

use super::layout::{AtomPlace, LayoutAtom};
use super::sizes::AbiEngine;
use crate::{Aggregate, Type, TypeId};

/// Deepest nesting of arrays and of the structs around them; more is damaged debug information.
const LEVELS_MAX: usize = 16;

/// Array that fills a member from its first byte to its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ArrayLevel {
    /// Bytes from one element to the next.
    pub stride: u64,
    /// Number of elements, at least two.
    pub count: u64,
}

/// Member that is an array, with its elements at other distances.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ElementSpread {
    /// Index into [`StructShape::atoms`](super::StructShape::atoms).
    pub atom: usize,
    /// First byte of each element from the start of the member, ascending.
    pub starts: Vec<u64>,
    /// Bytes of an element.
    pub element_bytes: u64,
    /// Size of the member in bytes.
    pub size: u64,
    /// Alignment of the member in bytes.
    pub align: u64,
}

impl ElementSpread {
    /// Returns the elements of a level of `atom` with `stride` bytes from one to the next, and the
    /// first at a multiple of `align`.
    ///
    /// ```
    /// use relayout_layout::abi::{ArrayLevel, ElementSpread};
    ///
    /// let level = ArrayLevel { stride: 8, count: 4 };
    /// let spread = ElementSpread::with_stride(2, level, 64, 64);
    /// assert_eq!((&spread.starts[..], spread.size), (&[0, 64, 128, 192][..], 256));
    /// ```
    pub fn with_stride(atom: usize, level: ArrayLevel, stride: u64, align: u64) -> Self {
        Self {
            atom,
            starts: (0..level.count).map(|index| index * stride).collect(),
            element_bytes: level.stride,
            size: level.count.saturating_mul(stride),
            align,
        }
    }

    /// Returns `atom` with the size and alignment of the spread.
    pub(super) fn widen(&self, atom: &LayoutAtom) -> LayoutAtom {
        LayoutAtom {
            size: self.size,
            align: atom.align.max(self.align),
            ..atom.clone()
        }
    }
}

impl AtomPlace {
    /// Returns the offset, from the start of the struct, of the byte at `distance` from the start
    /// of the member as compiled.
    ///
    /// ```
    /// use relayout_layout::abi::AtomPlace;
    ///
    /// let compiled = AtomPlace { offset: 16, end: 32, ..AtomPlace::default() };
    /// assert_eq!(compiled.byte_at(9), 25);
    /// let spread = AtomPlace { element_bytes: 8, element_starts: vec![0, 64], ..compiled };
    /// assert_eq!(spread.byte_at(9), 16 + 64 + 1);
    /// ```
    pub fn byte_at(&self, distance: u64) -> u64 {
        let element = distance.checked_div(self.element_bytes).unwrap_or(0);
        let index = usize::try_from(element).unwrap_or(usize::MAX);
        let inside = match self.element_starts.get(index) {
            Some(start) => start + distance % self.element_bytes,
            None => distance,
        };
        self.offset + inside
    }
}

impl AbiEngine<'_> {
    /// Returns the arrays that fill a type, from the outermost inwards. A struct around an array
    /// that fills it, as `std::array` is, is passed through.
    pub(super) fn array_levels(&self, id: TypeId) -> Vec<ArrayLevel> {
        let mut levels = Vec::new();
        let (mut at, mut outer_count) = (id, 1u64);
        for _ in 0..LEVELS_MAX {
            at = self.types.strip_typedefs(at);
            match self.types.get(at) {
                Type::Array { element, counts } => {
                    let Some(stride) = self.size_of(*element).filter(|stride| *stride > 0) else {
                        break;
                    };
                    let counts: Vec<u64> = counts.iter().map(|count| count.unwrap_or(0)).collect();
                    for (dimension, count) in counts.iter().enumerate() {
                        outer_count = outer_count.saturating_mul(*count);
                        let inner = counts[dimension + 1..].iter().copied();
                        levels.push(ArrayLevel {
                            stride: inner.fold(stride, u64::saturating_mul),
                            count: outer_count,
                        });
                    }
                    at = *element;
                }
                Type::Aggregate(aggregate) => match only_member(self, aggregate) {
                    Some(member) => at = member,
                    None => break,
                },
                _ => break,
            }
        }
        levels.retain(|level| level.count > 1 && level.stride > 0);
        levels.dedup();
        levels
    }
}

/// Returns the type of the only member or base class of a struct, if it fills the struct.
fn only_member(abi: &AbiEngine<'_>, aggregate: &Aggregate) -> Option<TypeId> {
    let mut filled = aggregate.members.iter().filter(|member| {
        let bytes = abi.size_of(member.ty).unwrap_or(0);
        member.bits.is_none() && bytes > 0
    });
    let member = filled.next()?;
    let fills = member.offset == 0 && abi.size_of(member.ty) == Some(aggregate.size);
    (fills && filled.next().is_none() && aggregate.variants.is_none()).then_some(member.ty)
}
