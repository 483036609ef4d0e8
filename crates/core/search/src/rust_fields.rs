//! Layouts that Rust source can express.
//!
//! The compiler orders the fields of a struct without `#[repr(C)]` itself, and a field has no
//! alignment of its own. So a change is a wrapper type around a field, an alignment of the whole
//! type, or `#[repr(C)]` with an order of the fields. A proposal made by the rules of C becomes the
//! nearest of these.
//!
//! rustc sorts fields by the number of bytes that both their alignment and their size are a
//! multiple of (`univariant` in `rustc_abi`): fields without bytes first, then from the largest
//! such number to the smallest, equal ones in their order of declaration or by their niches. So a
//! wrapper of 64 bytes goes in front of a counter. A field with a niche (`bool`, `Box`) limits the
//! number to the largest alignment of a field, and may be at either end of the fields with the same
//! number. Debug information has no niches: the rule that gives the compiled order is taken. So the
//! lines of wrapped fields and the size are exact, and fields beside a niche may change places.

use std::cmp::Reverse;

use relayout_layout::abi::{AtomArrangement, PaddingMember, StructLayout, StructShape};

use crate::change::{LayoutChange, LayoutProposal};

/// Rules for layouts of a Rust struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RustFieldRules {
    /// True if the source has `#[repr(C)]`, so that fields are laid out as declared.
    pub is_repr_c: bool,
    /// Alignment and smallest size in bytes of the type that wraps a field.
    pub wrapper_bytes: u64,
    /// Size of a cache line in bytes.
    pub line_bytes: u64,
}

/// Size in lines up to which an order without an alignment of the type is no remedy: where an
/// allocator puts the next object, other fields share a line.
const UNALIGNED_LINES: u64 = 2;

/// Number by which the compiler sorts a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SortRule {
    /// The largest power of two that divides alignment and size.
    Unlimited,
    /// The same, up to the largest alignment of a field.
    UpToAlignment,
}

impl RustFieldRules {
    /// Returns the layout with some fields wrapped: indexes into [`StructShape::atoms`].
    pub fn lay_out_wrapped(&self, shape: &StructShape, wrapped: &[usize]) -> StructLayout {
        let mut arrangement = shape.current_arrangement();
        for atom in wrapped {
            arrangement.align[*atom] = self.wrapper_bytes;
        }
        let plain = LayoutProposal {
            arrangement,
            pads: Vec::new(),
            changes: Vec::new(),
        };
        let proposal = self.express(shape, plain.clone()).unwrap_or(plain);
        shape.lay_out_padded(&proposal.arrangement, &proposal.pads)
    }

    /// Returns the proposal as Rust source can express it; `None` if it cannot.
    pub(crate) fn express(
        &self,
        shape: &StructShape,
        proposal: LayoutProposal,
    ) -> Option<LayoutProposal> {
        if !proposal.pads.is_empty() {
            return None;
        }
        let LayoutProposal {
            mut arrangement, ..
        } = proposal;
        let mut wrapped = Vec::new();
        for (atom, align) in arrangement.align.iter_mut().enumerate() {
            let is_wrapped = *align > shape.atoms[atom].align && shape.atoms[atom].size > 0;
            *align = if is_wrapped { self.wrapper_bytes } else { 1 };
            wrapped.extend(is_wrapped.then_some(atom));
        }
        let is_declared_order = arrangement.order.is_sorted();
        let mut changes = Vec::new();
        if self.is_repr_c {
            changes = LayoutChange::leading_to(shape, &arrangement);
        } else {
            match is_declared_order {
                true => arrangement.order = compiler_order(shape, &arrangement),
                false => {
                    let order = arrangement.order.clone();
                    changes.push(LayoutChange::FixOrder { order });
                    let size = shape.lay_out(&arrangement).size;
                    if wrapped.is_empty() && size <= UNALIGNED_LINES * self.line_bytes {
                        arrangement.type_align = arrangement.type_align.max(self.line_bytes);
                    }
                }
            }
            let in_order = AtomArrangement {
                order: (0..shape.atoms.len()).collect(),
                ..arrangement.clone()
            };
            changes.extend(LayoutChange::leading_to(shape, &in_order));
        }
        Some(LayoutProposal {
            pads: self.wrapper_ends(&arrangement.order, &wrapped),
            arrangement,
            changes,
        })
    }

    /// Returns the ends of wrappers: the field behind begins at a multiple of their alignment.
    fn wrapper_ends(&self, order: &[usize], wrapped: &[usize]) -> Vec<PaddingMember> {
        let positions = order.iter().enumerate();
        positions
            .filter(|(_, atom)| wrapped.contains(atom))
            .map(|(position, _)| PaddingMember {
                position: position + 1,
                size: 0,
                align: self.wrapper_bytes,
            })
            .collect()
    }
}

/// Returns the order that the compiler gives to the fields with the alignments of `arrangement`.
///
/// If no rule gives today's order, wrapped fields go in front, and the others stay in today's.
fn compiler_order(shape: &StructShape, arrangement: &AtomArrangement) -> Vec<usize> {
    let today = shape.current_arrangement();
    let rules = [SortRule::Unlimited, SortRule::UpToAlignment];
    let rule = { rules.into_iter() }.find(|rule| rule.sort(shape, &today).is_sorted());
    match rule {
        Some(rule) => rule.sort(shape, arrangement),
        None => {
            let mut order = today.order;
            order.sort_by_key(|atom| arrangement.align[*atom] == 1);
            order
        }
    }
}

/// Returns true if the compiler may have chosen today's order of the fields.
///
/// Fields of `#[repr(C)]` usually have another order, but may have this one by chance.
pub fn may_be_compiler_ordered(shape: &StructShape) -> bool {
    let today = shape.current_arrangement();
    let rules = [SortRule::Unlimited, SortRule::UpToAlignment];
    { rules.into_iter() }.any(|rule| rule.sort(shape, &today).is_sorted())
}

impl SortRule {
    /// Returns the atoms in the compiler's order.
    fn sort(self, shape: &StructShape, arrangement: &AtomArrangement) -> Vec<usize> {
        let align_of = |atom: usize| shape.atoms[atom].align.max(arrangement.align[atom]).max(1);
        let count = shape.atoms.len();
        let align_max = (0..count).map(align_of).max().unwrap_or(1);
        let key = |atom: &usize| {
            let align = align_of(*atom);
            let size = shape.atoms[*atom].size.next_multiple_of(align);
            let shared = size.max(align).trailing_zeros();
            let shared = match self {
                Self::Unlimited => shared,
                Self::UpToAlignment => shared.min(align_max.trailing_zeros()),
            };
            (shape.atoms[*atom].size > 0, Reverse(shared))
        };
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(key);
        order
    }
}

#[cfg(test)]
mod tests {
    use relayout_layout::abi::AbiEngine;
    use relayout_layout::{Aggregate, Member, Type, TypeArena};

    use super::*;

    /// Shape of a struct of numbers with these sizes, in the order of the compiler.
    fn shape(sizes: &[u64]) -> StructShape {
        let mut types = TypeArena::default();
        let (mut members, mut offset) = (Vec::new(), 0_u64);
        for (index, size) in sizes.iter().enumerate() {
            let name = format!("u{}", size * 8);
            let byte = types.add(Type::Base {
                name,
                size: 8.min(*size),
            });
            let ty = match *size {
                0..=8 => byte,
                _ => types.add(Type::Array {
                    element: byte,
                    counts: vec![Some(size / 8)],
                }),
            };
            members.push(Member::new(format!("f{index}"), ty, offset));
            offset += size;
        }
        let aggregate = Aggregate {
            name: Some("S".to_owned()),
            size: offset.next_multiple_of(8),
            members,
            complete: true,
            ..Aggregate::default()
        };
        AbiEngine::new(&types).shape(&aggregate).expect("a shape")
    }

    fn wrapped(shape: &StructShape, atoms: &[usize]) -> LayoutProposal {
        let mut arrangement = shape.current_arrangement();
        atoms.iter().for_each(|atom| arrangement.align[*atom] = 64);
        let proposal = LayoutProposal {
            arrangement,
            pads: Vec::new(),
            changes: Vec::new(),
        };
        let rules = RustFieldRules {
            is_repr_c: false,
            wrapper_bytes: 64,
            line_bytes: 64,
        };
        rules.express(shape, proposal).expect("no padding")
    }

    fn check(sizes: &[u64], atoms: &[usize], offsets: &[u64], size: u64) {
        let shape = shape(sizes);
        let proposal = wrapped(&shape, atoms);
        let layout = shape.lay_out_padded(&proposal.arrangement, &proposal.pads);
        let found: Vec<u64> = layout.places.iter().map(|place| place.offset).collect();
        assert_eq!(
            (found.as_slice(), layout.size),
            (offsets, size),
            "{sizes:?}"
        );
    }

    #[test]
    fn wrapped_fields_go_in_front_and_fill_their_lines() {
        check(&[8, 8, 8], &[2], &[64, 72, 0], 128);
        check(&[8, 8, 8], &[0, 2], &[0, 128, 64], 192);
        check(&[8, 4, 1], &[1], &[64, 0, 72], 128);
    }

    #[test]
    fn a_field_of_a_larger_power_of_two_stays_in_front() {
        check(&[128, 8, 8], &[1], &[0, 128, 192], 256);
    }

    #[test]
    fn a_niche_limits_the_power_of_two() {
        // `8, 16` is no order of sizes, so one of them has a niche.
        check(&[8, 16, 8], &[2], &[80, 64, 0], 128);
    }

    #[test]
    fn another_order_needs_repr_c() {
        let shape = shape(&[8, 8, 8]);
        let mut arrangement = shape.current_arrangement();
        arrangement.order = vec![2, 0, 1];
        let proposal = LayoutProposal {
            arrangement,
            pads: Vec::new(),
            changes: Vec::new(),
        };
        let mut rules = RustFieldRules {
            is_repr_c: false,
            wrapper_bytes: 64,
            line_bytes: 64,
        };
        let changes = |rules: RustFieldRules| {
            let expressed = rules.express(&shape, proposal.clone());
            expressed.map(|expressed| expressed.changes)
        };
        let order = vec![2, 0, 1];
        let fixed = vec![
            LayoutChange::FixOrder { order },
            LayoutChange::AlignType { to: 64 },
        ];
        assert_eq!(changes(rules), Some(fixed));
        rules.is_repr_c = true;
        let moves = vec![LayoutChange::Move {
            atom: 2,
            after: None,
        }];
        assert_eq!(changes(rules), Some(moves));
    }
}
