//! Rules about the order of members that other code makes: borders that no member may cross,
//! limits of offsets and of the size.

use relayout_layout::abi::{StructLayout, StructShape};

/// Rules that layouts have to obey because other code relies on the order of members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrderRules {
    /// Borders that no member may cross.
    pub borders: Vec<OrderBorder>,
    /// Atoms whose offsets must stay below a number of bytes.
    pub offset_limits: Vec<(usize, u64)>,
    /// Limits of the size.
    pub size: SizeRule,
}

/// A border between two members, by the order as compiled.
///
/// ```
/// use relayout_search::OrderBorder;
///
/// // `memset(p, 0, offsetof(struct s, c))` of `a b | c d`: `c` stays first behind the border.
/// let border = OrderBorder { position: 2, holds_before: false, holds_after: true };
/// assert_eq!(border.legalized(&[0, 3, 2, 1]), [0, 1, 2, 3]);
/// assert_eq!(border.legalized(&[1, 0, 2, 3]), [1, 0, 2, 3]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OrderBorder {
    /// Atoms with a smaller index are in front of the border, the others behind it.
    pub position: usize,
    /// The last atom in front of it stays the last there.
    pub holds_before: bool,
    /// The first atom behind it stays the first there.
    pub holds_after: bool,
}

/// Limit of a type's size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SizeRule {
    /// None.
    #[default]
    Any,
    /// The type must not grow.
    NoGrowth,
    /// The size must stay.
    Exact,
}

/// Rule that a layout breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokenRule {
    /// Index into [`OrderRules::borders`].
    Border(usize),
    /// Index into [`OrderRules::offset_limits`].
    OffsetLimit(usize),
    /// [`OrderRules::size`].
    Size,
}

impl OrderRules {
    /// Returns the first rule that `layout` breaks, which has the atoms in `order`; `current` is
    /// today's layout.
    pub fn broken_by(
        &self,
        order: &[usize],
        layout: &StructLayout,
        current: &StructLayout,
    ) -> Option<BrokenRule> {
        let borders = self.borders.iter();
        let crossed = borders.clone().position(|border| !border.is_kept_by(order));
        let beyond = { self.offset_limits.iter() }.position(|(atom, below)| {
            { layout.places.get(*atom) }.is_some_and(|place| place.offset >= *below)
        });
        let is_size_wrong = match self.size {
            SizeRule::Any => false,
            SizeRule::NoGrowth => layout.size > current.size,
            SizeRule::Exact => layout.size != current.size,
        };
        crossed
            .map(BrokenRule::Border)
            .or(beyond.map(BrokenRule::OffsetLimit))
            .or(is_size_wrong.then_some(BrokenRule::Size))
    }

    /// Returns `order` with each atom on its side of every border, else as it is.
    pub(crate) fn legalized(&self, order: &[usize], shape: &StructShape) -> Vec<usize> {
        let mut order = order.to_vec();
        let fits = |border: &&OrderBorder| border.position <= shape.atoms.len();
        for border in self.borders.iter().filter(fits) {
            order = border.legalized(&order);
        }
        order
    }
}

impl OrderBorder {
    /// Returns true if every atom of `order` is on its side. Offsets would not tell: a mark without
    /// bytes has that of the member behind it.
    fn is_kept_by(&self, order: &[usize]) -> bool {
        let (before, after) = order.split_at(self.position.min(order.len()));
        let last = self.position.checked_sub(1);
        before.iter().all(|atom| *atom < self.position)
            && (!self.holds_before || before.last().copied() == last)
            && (!self.holds_after || after.first().is_none_or(|first| *first == self.position))
    }

    /// Returns `order` with each atom on its side; on a side the order stays.
    pub fn legalized(&self, order: &[usize]) -> Vec<usize> {
        let (mut before, mut after): (Vec<usize>, Vec<usize>) =
            order.iter().partition(|atom| **atom < self.position);
        if self.holds_before
            && let Some(last) = self.position.checked_sub(1)
            && let Some(at) = before.iter().position(|atom| *atom == last)
        {
            before.remove(at);
            before.push(last);
        }
        if self.holds_after
            && let Some(at) = after.iter().position(|atom| *atom == self.position)
        {
            after.remove(at);
            after.insert(0, self.position);
        }
        before.append(&mut after);
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        /// What is legalized keeps the border, whatever the order was, and loses no atom.
        #[test]
        fn legalized_orders_keep_the_border(
            order in proptest::sample::subsequence((0..6).collect::<Vec<usize>>(), 6)
                .prop_shuffle(),
            position in 0..8_usize,
            holds_before: bool,
            holds_after: bool,
        ) {
            let border = OrderBorder { position, holds_before, holds_after };
            let legal = border.legalized(&order);
            let mut sorted = legal.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..6).collect::<Vec<_>>());
            let cut = position.min(6);
            assert!(legal[..cut].iter().all(|atom| *atom < position));
            if holds_before && (1..=6).contains(&position) {
                assert_eq!(legal[position - 1], position - 1);
            }
            if holds_after && position < 6 {
                assert_eq!(legal[position], position);
            }
            assert_eq!(border.legalized(&legal), legal);
            assert!(position > 6 || border.is_kept_by(&legal));
            assert!(border.is_kept_by(&order) == (border.legalized(&order) == order) || position > 6);
        }
    }

    use proptest::strategy::Strategy as _;
}
