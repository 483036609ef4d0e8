//! Laws of the comparison on made-up structs that are laid out as in C.

use std::collections::BTreeSet;

use proptest::prelude::*;
use relayout_diff::{
    DiffStatus, LayoutDiff, MemberMove, MoveCause, PlacedMember, TypeDiffDetail, TypeLayout,
};
use relayout_layout::{Aggregate, BitRange, Member, Type, TypeArena, TypeId};

/// Struct in the source.
#[derive(Clone, Debug)]
struct StructSource {
    members: Vec<MadeMember>,
    align: u64,
}

#[derive(Clone, Debug)]
enum MadeMember {
    /// Name and size in bytes.
    Scalar(u8, u64),
    /// Name and width in bits, in a unit of 4 bytes.
    Bits(u8, u64),
    /// Names and sizes of scalars that share their bytes.
    Union(Vec<(u8, u64)>),
}

fn made() -> impl Strategy<Value = MadeMember> {
    let size = prop::sample::select(vec![1u64, 2, 4, 8, 24, 64]);
    prop_oneof![
        4 => (any::<u8>(), size.clone()).prop_map(|(name, size)| MadeMember::Scalar(name, size)),
        2 => (any::<u8>(), 1u64..32).prop_map(|(name, bits)| MadeMember::Bits(name, bits)),
        1 => prop::collection::vec((any::<u8>(), size), 1..4).prop_map(MadeMember::Union),
    ]
}

fn source() -> impl Strategy<Value = StructSource> {
    let align = prop::sample::select(vec![8u64, 64]);
    (prop::collection::vec(made(), 1..30), align)
        .prop_map(|(members, align)| StructSource { members, align })
}

/// Two structs that share most of their members.
fn pair() -> impl Strategy<Value = (StructSource, StructSource)> {
    (source(), source(), any::<prop::sample::Index>()).prop_map(|(old, other, at)| {
        let mut new = old.clone();
        let at = at.index(new.members.len());
        let moved = new.members.remove(at);
        new.members.extend(other.members.into_iter().take(3));
        if other.align == 64 {
            new.members.insert(at / 2, moved);
        }
        let middle = new.members.len() / 2;
        new.members
            .rotate_left(if other.align == 64 { 0 } else { middle });
        (old, new)
    })
}

/// Types and members of a struct that is being laid out.
#[derive(Default)]
struct LayoutBuilder {
    types: TypeArena,
    members: Vec<Member>,
    bits: u64,
}

impl LayoutBuilder {
    fn scalar(&mut self, name: u8, size: u64) -> Member {
        let align = if size.is_power_of_two() {
            size.min(8)
        } else {
            8
        };
        let offset = self.bits.div_ceil(8).next_multiple_of(align);
        self.bits = (offset + size) * 8;
        Member {
            name: Some(format!("m{name}")),
            is_base: false,
            ty: self.base(size),
            offset,
            bits: None,
            declared_align: None,
            decl: None,
        }
    }

    fn base(&mut self, size: u64) -> TypeId {
        self.types.add(Type::Base {
            name: format!("s{size}"),
            size,
        })
    }

    fn add(&mut self, made: &MadeMember) {
        let member = match made {
            MadeMember::Scalar(name, size) => self.scalar(*name, *size),
            MadeMember::Bits(name, bits) => self.bitfield(*name, *bits),
            MadeMember::Union(alternatives) => self.union(alternatives),
        };
        self.members.push(member);
    }

    fn bitfield(&mut self, name: u8, bits: u64) -> Member {
        let start = if self.bits / 32 == (self.bits + bits - 1) / 32 {
            self.bits
        } else {
            self.bits.next_multiple_of(32)
        };
        self.bits = start + bits;
        Member {
            name: Some(format!("m{name}")),
            is_base: false,
            ty: self.base(4),
            offset: start / 32 * 4,
            bits: Some(BitRange {
                offset_bits: start,
                size_bits: bits,
            }),
            declared_align: None,
            decl: None,
        }
    }

    fn union(&mut self, alternatives: &[(u8, u64)]) -> Member {
        let size = alternatives
            .iter()
            .map(|(_, size)| *size)
            .max()
            .unwrap_or(0);
        let mut place = self.scalar(0, size.next_multiple_of(8));
        let members = alternatives
            .iter()
            .map(|(name, size)| Member {
                name: Some(format!("m{name}")),
                is_base: false,
                ty: self.base(*size),
                offset: 0,
                ..place.clone()
            })
            .collect();
        place.name = None;
        place.ty = self.types.add(Type::Aggregate(Aggregate {
            kind: relayout_layout::AggregateKind::Union,
            size: size.next_multiple_of(8),
            members,
            complete: true,
            ..Aggregate::default()
        }));
        place
    }
}

fn shape(source: &StructSource) -> TypeLayout {
    let mut layout = LayoutBuilder::default();
    for made in &source.members {
        layout.add(made);
    }
    let id = layout.types.add(Type::Aggregate(Aggregate {
        name: Some("s".to_owned()),
        size: layout.bits.div_ceil(8).next_multiple_of(source.align),
        members: layout.members,
        complete: true,
        ..Aggregate::default()
    }));
    TypeLayout::from_type(&layout.types, id).expect("a complete struct with a name")
}

fn fields<'s>(
    old: &'s TypeLayout,
    new: &'s TypeLayout,
    member: &MemberMove,
) -> Option<(&'s PlacedMember, &'s PlacedMember)> {
    Some((&old.members[member.old?], &new.members[member.new?]))
}

/// Paths and first bits of the members that only one of the layouts has.
fn only(
    shape: &TypeLayout,
    indices: impl Iterator<Item = Option<usize>>,
) -> BTreeSet<(String, u64)> {
    let fields = indices.flatten().map(|index| &shape.members[index]);
    fields
        .map(|field| (field.path.to_string(), field.start_bits()))
        .collect()
}

/// Pairs of one kind, by the first bits of both members in both layouts.
fn pairs(
    old: &TypeLayout,
    new: &TypeLayout,
    detail: &TypeDiffDetail,
    together: bool,
    mirrored: bool,
) -> BTreeSet<[(u64, u64); 2]> {
    let place = |member: usize| {
        let (old, new) = fields(old, new, &detail.members[member]).expect("pairs are in both");
        let (old, new) = (old.start_bits(), new.start_bits());
        if mirrored { (new, old) } else { (old, new) }
    };
    let wanted = detail.pairs.iter().filter(|pair| pair.together == together);
    wanted
        .map(|pair| {
            let mut places = [place(pair.first), place(pair.second)];
            places.sort_unstable();
            places
        })
        .collect()
}

proptest! {
    #[test]
    fn nothing_differs_from_itself(source in source()) {
        let shape = shape(&source);
        let diff = LayoutDiff::compare(vec![shape.clone()], vec![shape.clone()]);
        prop_assert_eq!(diff.types[0].status, DiffStatus::Same);
        let detail = TypeDiffDetail::compare(&shape, &shape, 64);
        prop_assert!(detail.members.iter().all(|member| member.cause == MoveCause::Stayed));
        prop_assert!(detail.pushes.is_empty() && detail.gaps.is_empty() && detail.pairs.is_empty());
    }

    #[test]
    fn the_other_way_round_is_the_mirror((old, new) in pair()) {
        let (old, new) = (shape(&old), shape(&new));
        let (there, back) = (TypeDiffDetail::compare(&old, &new, 64), TypeDiffDetail::compare(&new, &old, 64));
        let came = |detail: &TypeDiffDetail, shape: &TypeLayout| {
            only(shape, detail.members.iter().filter(|m| m.cause == MoveCause::Added).map(|m| m.new))
        };
        let left = |detail: &TypeDiffDetail, shape: &TypeLayout| {
            only(shape, detail.members.iter().filter(|m| m.cause == MoveCause::Removed).map(|m| m.old))
        };
        prop_assert_eq!(came(&there, &new), left(&back, &new));
        prop_assert_eq!(left(&there, &old), came(&back, &old));
        let reordered = |detail: &TypeDiffDetail| {
            detail.members.iter().filter(|member| member.cause == MoveCause::Reordered).count()
        };
        prop_assert_eq!(reordered(&there), reordered(&back));
        for together in [true, false] {
            prop_assert_eq!(
                pairs(&old, &new, &there, together, false),
                pairs(&new, &old, &back, !together, true)
            );
        }
        let status = |old: &TypeLayout, new: &TypeLayout| {
            LayoutDiff::compare(vec![old.clone()], vec![new.clone()]).types[0].status
        };
        prop_assert_eq!(status(&old, &new), status(&new, &old));
    }

    #[test]
    fn pushes_add_up_to_the_move((old, new) in pair()) {
        let (old, new) = (shape(&old), shape(&new));
        let detail = TypeDiffDetail::compare(&old, &new, 64);
        for member in &detail.members {
            let Some((before, after)) = fields(&old, &new, member) else { continue };
            let moved = after.start_bits() as i64 - before.start_bits() as i64;
            match member.cause {
                MoveCause::Stayed => prop_assert_eq!(moved, 0),
                MoveCause::Pushed(_) => {
                    let pushed: i64 = detail.pushes_of(member).iter().map(|push| push.moved_bits).sum();
                    prop_assert_eq!(pushed, moved, "{}", after.path);
                    prop_assert!(moved != 0);
                }
                MoveCause::Reordered => {}
                MoveCause::Added | MoveCause::Removed => prop_assert!(false, "is in both"),
            }
        }
    }

    #[test]
    fn every_bit_is_a_member_or_a_gap(source in source()) {
        let shape = shape(&source);
        let covered = |bit: u64| {
            let field = shape.members.iter().any(|f| (f.start_bits()..f.end_bits()).contains(&bit));
            let gap = shape.gaps.iter().any(|g| (g.start_bits..g.end_bits()).contains(&bit));
            (field, gap)
        };
        for bit in 0..shape.size * 8 {
            let (field, gap) = covered(bit);
            // Bytes of a union that no alternative has are padding of the union, and a gap too.
            prop_assert!(field != gap, "bit {bit}");
        }
    }
}
