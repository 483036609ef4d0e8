//! Members that belong together by the source: those on consecutive lines.
//!
//! A blank line, a comment and a directive each leave lines between two declarations. What stands
//! without such a line between is read as a block, so that of two equal layouts the one that cuts
//! fewer blocks is easier to accept.

use relayout_layout::Aggregate;
use relayout_layout::abi::{AtomArrangement, StructShape};

/// Neighbouring atoms of today's layout that the source declares on consecutive lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SourceBlocks {
    /// By atom: whether it stands directly below the atom before it.
    continues: Vec<bool>,
}

impl SourceBlocks {
    /// Reads the blocks from the lines of declaration in the debug information.
    pub fn new(aggregate: &Aggregate, shape: &StructShape) -> Self {
        let line_of_member = |member: usize| {
            let declaration = aggregate.members.get(member)?.decl.as_ref()?;
            Some(declaration.line)
        };
        let mut continues = vec![false; shape.atoms.len()];
        for (atom, pair) in shape.atoms.windows(2).enumerate() {
            let above = pair[0].members.clone().last().and_then(line_of_member);
            let below = pair[1].members.clone().next().and_then(line_of_member);
            continues[atom + 1] = match (above, below) {
                (Some(above), Some(below)) => below <= above + 1 && above <= below,
                _ => false,
            };
        }
        Self { continues }
    }

    /// Returns the number of neighbours within a block that are no neighbours in `arrangement`.
    pub fn cuts(&self, arrangement: &AtomArrangement) -> usize {
        let pairs = arrangement.order.windows(2);
        let together = pairs
            .filter(|pair| pair[1] == pair[0] + 1 && self.continues[pair[1]])
            .count();
        let today = self
            .continues
            .iter()
            .filter(|continues| **continues)
            .count();
        today - together
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_is_a_pair_that_is_no_longer_together() {
        // a b c | d e
        let blocks = SourceBlocks {
            continues: vec![false, true, true, false, true],
        };
        let cuts = |order: [usize; 5]| {
            blocks.cuts(&AtomArrangement {
                order: order.to_vec(),
                align: vec![1; 5],
                type_align: 1,
                spreads: Vec::new(),
                run_align: 1,
            })
        };
        assert_eq!(cuts([0, 1, 2, 3, 4]), 0);
        assert_eq!(cuts([3, 4, 0, 1, 2]), 0);
        assert_eq!(cuts([0, 1, 3, 2, 4]), 2);
        assert_eq!(cuts([0, 2, 3, 4, 1]), 2);
    }
}
