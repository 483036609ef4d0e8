//! Members on lines: annealing over the contents of lines, then descent.

use relayout_statistics::random::{RandomSequence, XorShift64};
use rustc_hash::FxHashMap;

use super::pieces::AccessedPieces;
use super::recency_table::{LineRows, PieceSet};

/// Annealing steps for each item.
const STEPS_PER_ITEM: usize = 600;
/// Minimum and maximum number of annealing steps.
const STEPS: std::ops::RangeInclusive<usize> = 2_000..=40_000;
/// Number of starts.
const STARTS: u64 = 3;
/// Worth of a line less, in transfers: less than any transfer.
const LINE_WEIGHT: f64 = 1e-3;

/// Members that stay together on a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LineItem {
    /// Accessed pieces of the item.
    pub set: PieceSet,
    /// Bytes that the item takes on the line.
    pub bytes: u64,
    /// Alignment in bytes.
    pub align: u64,
    /// True if the item has to come first on its line.
    pub first: bool,
}

/// Contents of lines, by indices of items.
pub(super) type ItemLines = Vec<Vec<usize>>;

/// Costs of sets, each computed once.
pub(super) struct SetCosts<'a> {
    pieces: &'a AccessedPieces,
    by_set: FxHashMap<PieceSet, u64>,
    line: LineRows,
    /// Rows of the table that may still be visited.
    budget: u64,
}

impl<'a> SetCosts<'a> {
    pub fn new(pieces: &'a AccessedPieces, budget: u64) -> Self {
        Self {
            pieces,
            by_set: FxHashMap::default(),
            line: LineRows::default(),
            budget,
        }
    }

    /// Returns the transfers on a line that holds `set`.
    pub fn line_cost(&mut self, set: PieceSet) -> u64 {
        if set == 0 {
            return 0;
        }
        if let Some(cost) = self.by_set.get(&set) {
            return *cost;
        }
        let rows = self.pieces.table.rows() as u64 * u64::from(set.count_ones()) + 64;
        self.budget = self.budget.saturating_sub(rows);
        let cost = self.pieces.table.cost(set, &mut self.line);
        self.by_set.insert(set, cost);
        cost
    }

    /// Returns true if the budget is used up.
    pub fn is_spent(&self) -> bool {
        self.budget == 0
    }

    /// Returns the transfers of all lines.
    pub fn total(&mut self, lines: &[PieceSet]) -> u64 {
        lines.iter().map(|set| self.line_cost(*set)).sum()
    }
}

/// Returns true if the items `on` fit on a line of `line_bytes`, the most aligned first.
pub(super) fn fit_on_line(items: &[LineItem], on: &[usize], line_bytes: u64) -> bool {
    if on.iter().filter(|item| items[**item].first).count() > 1 {
        return false;
    }
    pack_order(items, on).into_iter().fold(0, |end: u64, item| {
        end.next_multiple_of(items[item].align.max(1)) + items[item].bytes
    }) <= line_bytes
}

/// Sorts the items of a line so that they leave no holes; otherwise they stay in the given order.
pub(super) fn pack_order(items: &[LineItem], on: &[usize]) -> Vec<usize> {
    let mut order = on.to_vec();
    order.sort_by_key(|item| (!items[*item].first, std::cmp::Reverse(items[*item].align)));
    order
}

/// Returns the set of pieces on a line.
pub(super) fn pieces_of_items(items: &[LineItem], on: &[usize]) -> PieceSet {
    on.iter().fold(0, |set, item| set | items[*item].set)
}

/// An assignment of items to lines that changes step by step.
struct LineAssignment<'a, 'c> {
    items: &'a [LineItem],
    line_bytes: u64,
    lines: ItemLines,
    costs: &'a mut SetCosts<'c>,
}

/// A step: an item goes to another line, and possibly another item takes its place.
#[derive(Clone, Copy)]
struct AssignmentStep {
    item: usize,
    from: usize,
    to: usize,
    back: Option<usize>,
}

impl LineAssignment<'_, '_> {
    fn cost(&mut self, line: usize) -> f64 {
        let set = pieces_of_items(self.items, &self.lines[line]);
        let used = !self.lines[line].is_empty();
        self.costs.line_cost(set) as f64 + if used { LINE_WEIGHT } else { 0.0 }
    }

    /// Returns the change of the cost and the two lines after the step; `None` if an item does not
    /// fit.
    fn try_step(&mut self, step: AssignmentStep) -> Option<(f64, Vec<usize>, Vec<usize>)> {
        let mut from = self.lines[step.from].clone();
        from.retain(|item| *item != step.item);
        let mut to = self.lines[step.to].clone();
        to.push(step.item);
        if let Some(back) = step.back {
            to.retain(|item| *item != back);
            from.push(back);
        }
        if !fit_on_line(self.items, &to, self.line_bytes)
            || !fit_on_line(self.items, &from, self.line_bytes)
        {
            return None;
        }
        let before = self.cost(step.from) + self.cost(step.to);
        let sets = [&from, &to].map(|on| (pieces_of_items(self.items, on), on.is_empty()));
        let after: f64 = sets
            .iter()
            .map(|(set, empty)| {
                self.costs.line_cost(*set) as f64 + if *empty { 0.0 } else { LINE_WEIGHT }
            })
            .sum();
        Some((after - before, from, to))
    }

    fn random_step(&self, random: &mut XorShift64) -> AssignmentStep {
        let item = random.below(self.items.len());
        let holds = |on: &Vec<usize>| on.contains(&item);
        let from = self.lines.iter().position(holds).unwrap_or(0);
        let to = random.below(self.lines.len());
        let there = &self.lines[to];
        let swap = !there.is_empty() && random.below(2) == 0;
        let back = swap.then(|| there[random.below(there.len())]);
        AssignmentStep {
            item,
            from,
            to,
            back,
        }
    }

    fn apply(&mut self, step: AssignmentStep, from: Vec<usize>, to: Vec<usize>) {
        self.lines[step.from] = from;
        self.lines[step.to] = to;
    }

    fn anneal(&mut self, random: &mut XorShift64) {
        let steps = (self.items.len() * STEPS_PER_ITEM).clamp(*STEPS.start(), *STEPS.end());
        // The first steps show the size of changes.
        let mut sum = 0.0;
        let mut count = 0u32;
        for _ in 0..100 {
            let step = self.random_step(random);
            if step.from != step.to
                && let Some((change, ..)) = self.try_step(step)
                && change > LINE_WEIGHT * 2.0
            {
                sum += change;
                count += 1;
            }
        }
        let mut heat = if count > 0 {
            sum / f64::from(count) / 2.0
        } else {
            return;
        };
        let cooling = (LINE_WEIGHT / heat).min(0.5).powf(1.0 / steps as f64);
        for _ in 0..steps {
            heat *= cooling;
            let step = self.random_step(random);
            if step.from == step.to || self.costs.is_spent() {
                continue;
            }
            if let Some((change, from, to)) = self.try_step(step)
                && (change <= 0.0 || random.unit() < (-change / heat).exp())
            {
                self.apply(step, from, to);
            }
        }
    }

    /// Takes every step that lowers the cost, until there is none.
    fn descend(&mut self) {
        let mut improved = true;
        while improved && !self.costs.is_spent() {
            improved = false;
            for item in 0..self.items.len() {
                improved |= self.improve(item);
            }
        }
    }

    fn improve(&mut self, item: usize) -> bool {
        let Some(from) = self.lines.iter().position(|on| on.contains(&item)) else {
            return false;
        };
        for to in (0..self.lines.len()).filter(|to| *to != from) {
            let mut backs = vec![None];
            backs.extend(self.lines[to].iter().copied().map(Some));
            for back in backs {
                let step = AssignmentStep {
                    item,
                    from,
                    to,
                    back,
                };
                if let Some((change, left, right)) = self.try_step(step)
                    && change < -LINE_WEIGHT / 2.0
                {
                    self.apply(step, left, right);
                    return true;
                }
            }
        }
        false
    }

    fn total(&mut self) -> f64 {
        (0..self.lines.len()).map(|line| self.cost(line)).sum()
    }
}

/// Searches for the best contents of lines from `start` on, with as many lines as needed.
pub(super) fn assign_lines(
    items: &[LineItem],
    start: &ItemLines,
    line_bytes: u64,
    costs: &mut SetCosts<'_>,
) -> ItemLines {
    // All accessed members may have to stay, as the pointer to virtual functions of a class.
    if items.is_empty() {
        return ItemLines::new();
    }
    let mut lines = start.clone();
    // At most one line for each item is needed.
    lines.resize(items.len().max(start.len()), Vec::new());
    let mut state = LineAssignment {
        items,
        line_bytes,
        lines,
        costs,
    };
    state.descend();
    let mut best = (state.total(), state.lines.clone());
    for seed in 1..=STARTS {
        let mut random = XorShift64::new(seed);
        state.lines = best.1.clone();
        state.anneal(&mut random);
        state.descend();
        let total = state.total();
        if total < best.0 {
            best = (total, state.lines.clone());
        }
    }
    best.1.retain(|on| !on.is_empty());
    best.1
}

/// Joins lines step by step: each time the two lines that cost least together. The result starts
/// with the given lines.
pub(super) fn join_lines(
    items: &[LineItem],
    lines: &ItemLines,
    line_bytes: u64,
    costs: &mut SetCosts<'_>,
) -> Vec<ItemLines> {
    let mut joined = vec![lines.clone()];
    while let Some(last) = joined.last() {
        let mut best: Option<(i128, ItemLines)> = None;
        for a in 0..last.len() {
            for b in a + 1..last.len() {
                let both: Vec<usize> = last[a].iter().chain(&last[b]).copied().collect();
                if !fit_on_line(items, &both, line_bytes) {
                    continue;
                }
                let line_cost = |costs: &mut SetCosts<'_>, on: &[usize]| {
                    i128::from(costs.line_cost(pieces_of_items(items, on)))
                };
                let more = line_cost(costs, &both)
                    - line_cost(costs, &last[a])
                    - line_cost(costs, &last[b]);
                if best.as_ref().is_none_or(|(least, _)| more < *least) {
                    let mut next = last.clone();
                    next.swap_remove(b);
                    next[a] = both;
                    best = Some((more, next));
                }
            }
        }
        match best {
            Some((_, next)) => joined.push(next),
            None => break,
        }
    }
    joined
}
