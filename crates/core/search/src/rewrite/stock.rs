//! The accessed members as items that are put on lines.

use relayout_layout::abi::{StructLayout, StructShape};

use super::partition::{self, ItemLines, LineItem};
use super::pieces::AccessedPieces;
use super::recency_table::PieceSet;

/// Accessed atoms as items.
pub(super) struct ItemStock {
    pub items: Vec<LineItem>,
    /// Atoms by item.
    pub atoms: Vec<Vec<usize>>,
    /// Whole lines that atoms larger than a line fill by themselves.
    pub fixed: Vec<PieceSet>,
}

impl ItemStock {
    /// Makes an item of every accessed atom, and one of the first `kept` atoms.
    pub fn new(
        shape: &StructShape,
        current: &StructLayout,
        pieces: &AccessedPieces,
        kept: usize,
        line: u64,
    ) -> Self {
        let mut stock = Self {
            items: Vec::new(),
            atoms: Vec::new(),
            fixed: Vec::new(),
        };
        let mut groups: Vec<Vec<usize>> = Vec::new();
        groups.extend((kept > 0).then(|| (0..kept).collect()));
        let accessed = |atom: &usize| pieces.pieces.iter().any(|piece| piece.atom == *atom);
        groups.extend(
            (kept..shape.atoms.len())
                .filter(accessed)
                .map(|atom| vec![atom]),
        );
        for (nth, atoms) in groups.into_iter().enumerate() {
            stock.add_item(shape, current, pieces, atoms, nth == 0 && kept > 0, line);
        }
        stock
    }

    /// Adds atoms that follow each other in the compiled layout as one item.
    fn add_item(
        &mut self,
        shape: &StructShape,
        current: &StructLayout,
        pieces: &AccessedPieces,
        atoms: Vec<usize>,
        first: bool,
        line: u64,
    ) {
        let places = atoms.iter().map(|atom| &current.places[*atom]);
        let start = places.clone().map(|place| place.offset).min().unwrap_or(0);
        let end = places.map(|place| place.end).max().unwrap_or(0);
        let align = atoms.iter().map(|atom| shape.atoms[*atom].align).max();
        let part = |from: u64, to: u64| {
            let pieces_of = |atom: &usize| pieces.pieces_of_atom(*atom, start + from..start + to);
            atoms.iter().fold(0, |set, atom| set | pieces_of(atom))
        };
        let length = end - start;
        // The last line of a large atom has room for others.
        let whole = length.saturating_sub(1) / line * line;
        let lines = (0..whole).step_by(line as usize);
        self.fixed.extend(lines.map(|from| part(from, from + line)));
        self.items.push(LineItem {
            set: part(whole, length),
            bytes: length - whole,
            align: align.unwrap_or(1).min(line),
            first: first || whole > 0,
        });
        self.atoms.push(atoms);
    }

    /// Returns the items by line of `layout`, if objects start a line.
    pub fn lines_of(&self, layout: &StructLayout, line: u64) -> ItemLines {
        let last_line = |item: usize| {
            let ends = self.atoms[item].iter().map(|atom| layout.places[*atom].end);
            (ends.max().unwrap_or(0).max(1) - 1) / line
        };
        let mut order: Vec<usize> = (0..self.items.len()).collect();
        order.sort_by_key(|item| last_line(*item));
        let mut lines: ItemLines = Vec::new();
        for item in order {
            // An item that crosses a line today may not fit with the others on its last line.
            let joins = lines.last().is_some_and(|on| {
                let mut with = on.clone();
                with.push(item);
                last_line(on[0]) == last_line(item)
                    && partition::fit_on_line(&self.items, &with, line)
            });
            match lines.last_mut().filter(|_| joins) {
                Some(on) => on.push(item),
                None => lines.push(vec![item]),
            }
        }
        lines
    }

    /// Returns the items by line for these sets of pieces; `None` if a line would cut an item or an
    /// item does not fit.
    pub fn lines_from(&self, sets: &[PieceSet], line: u64) -> Option<ItemLines> {
        let mut lines: ItemLines = vec![Vec::new(); sets.len()];
        for (index, item) in self.items.iter().enumerate() {
            let holds = |set: &PieceSet| item.set & set == item.set;
            lines[sets.iter().position(holds)?].push(index);
        }
        lines.retain(|on| !on.is_empty());
        let fit = |on: &Vec<usize>| partition::fit_on_line(&self.items, on, line);
        lines.iter().all(fit).then_some(lines)
    }
}
