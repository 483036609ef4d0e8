//! Order of a struct's members with fewer and smaller holes.

use super::layout::{AtomArrangement, StructLayout, StructShape};

/// One member that was moved into a hole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackingMove {
    /// Name of the moved member.
    pub member: String,
    /// Name of the member that it followed; `None` if it was the first.
    pub from_after: Option<String>,
    /// Name of the member that it follows now; `None` if it is the first.
    pub to_after: Option<String>,
    /// Arrangement after the move.
    pub arrangement: AtomArrangement,
}

impl StructShape {
    /// Moves members into holes, one at a time, as long as the struct or the sum of its holes gets smaller. Each move is
    /// the best of all that fill a part of a hole: the smallest struct, then the fewest bytes in holes, then the first
    /// hole, then the last member. A union, and a struct without holes, keep their order.
    pub fn pack(&self) -> Vec<PackingMove> {
        let mut moves = Vec::new();
        let mut arrangement = self.current_arrangement();
        let mut cost = packing_cost(&self.lay_out(&arrangement));
        while let Some((best_cost, from, to)) = self.best_move(&arrangement, cost) {
            let name = |at: usize| self.atoms[arrangement.order[at]].name.clone();
            let (member, from_after) = (name(from), from.checked_sub(1).map(name));
            let before_target = if from < to { to } else { to.wrapping_sub(1) };
            let to_after = (to > 0).then(|| name(before_target));
            arrangement = moved(&arrangement, from, to);
            cost = best_cost;
            moves.push(PackingMove {
                member,
                from_after,
                to_after,
                arrangement: arrangement.clone(),
            });
        }
        moves
    }

    /// Returns the cost of the best move that lowers it, with the positions of the atom before and after.
    fn best_move(
        &self,
        arrangement: &AtomArrangement,
        cost: (u64, u64),
    ) -> Option<((u64, u64), usize, usize)> {
        let layout = self.lay_out(arrangement);
        let mut best = None;
        let mut best_cost = cost;
        for (hole, room) in self.holes_behind(arrangement, &layout) {
            for from in (0..arrangement.order.len()).rev() {
                let atom = &self.atoms[arrangement.order[from]];
                let fits = atom.size <= room && atom.size > 0 && !atom.flexible;
                let to = if from <= hole { hole } else { hole + 1 };
                if !fits || from == to {
                    continue;
                }
                let found = packing_cost(&self.lay_out(&moved(arrangement, from, to)));
                if found < best_cost {
                    best_cost = found;
                    best = Some((found, from, to));
                }
            }
        }
        best
    }

    /// Returns the position of each atom with a hole behind it, and the bytes of the hole.
    fn holes_behind(
        &self,
        arrangement: &AtomArrangement,
        layout: &StructLayout,
    ) -> Vec<(usize, u64)> {
        if self.is_union {
            return Vec::new();
        }
        let places = arrangement.order.iter().map(|atom| &layout.places[*atom]);
        let places: Vec<_> = places.collect();
        let pairs = places.windows(2).enumerate();
        pairs
            .map(|(at, pair)| (at, pair[1].offset.saturating_sub(pair[0].end)))
            .filter(|(_, room)| *room > 0)
            .collect()
    }
}

/// Size, then bytes in holes.
fn packing_cost(layout: &StructLayout) -> (u64, u64) {
    (layout.size, layout.holes.iter().map(|hole| hole.size).sum())
}

fn moved(arrangement: &AtomArrangement, from: usize, to: usize) -> AtomArrangement {
    let mut moved = arrangement.clone();
    let atom = moved.order.remove(from);
    moved.order.insert(to, atom);
    moved
}

#[cfg(test)]
mod tests {
    use crate::abi::AbiEngine;
    use crate::{Aggregate, Member, Type, TypeArena};

    fn shape(sizes: &[u64]) -> crate::abi::StructShape {
        let mut types = TypeArena::new();
        let (mut members, mut offset, mut align) = (Vec::new(), 0u64, 1);
        for (at, &size) in sizes.iter().enumerate() {
            let name = format!("m{at}");
            let ty = types.add(Type::Base {
                name: format!("t{size}"),
                size,
            });
            offset = offset.next_multiple_of(size);
            members.push(Member::new(&name, ty, offset));
            offset += size;
            align = align.max(size);
        }
        let aggregate = Aggregate {
            size: offset.next_multiple_of(align),
            members,
            complete: true,
            ..Aggregate::default()
        };
        AbiEngine::new(&types)
            .shape(&aggregate)
            .expect("a plain struct")
    }

    #[test]
    fn last_member_that_fits_moves_into_the_hole() {
        let shape = shape(&[4, 8, 4, 8, 2]);
        let moves = shape.pack();
        let words: Vec<String> = { moves.iter() }
            .map(|step| format!("{} {:?} {:?}", step.member, step.from_after, step.to_after))
            .collect();
        assert_eq!(words, [r#"m2 Some("m1") Some("m0")"#]);
        assert_eq!(shape.lay_out(&moves[0].arrangement).size, 32);
    }

    #[test]
    fn packing_never_grows_a_struct_and_ends() {
        for sizes in [
            &[1u64, 8, 1, 8, 1, 4, 2][..],
            &[8, 8, 8],
            &[1, 2, 4, 8, 1, 2, 4, 8],
            &[1],
        ] {
            let shape = shape(sizes);
            let today = shape.lay_out(&shape.current_arrangement()).size;
            let packed = shape.pack();
            let size = packed
                .last()
                .map_or(today, |step| shape.lay_out(&step.arrangement).size);
            let sum: u64 = sizes.iter().sum();
            assert!(size <= today && size >= sum, "{sizes:?}: {today} to {size}");
            assert!(size < sum + 8, "{sizes:?}: {size}");
        }
    }
}
