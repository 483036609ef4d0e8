//! Contents of lines as orders of members with alignments.

use relayout_layout::abi::{AtomArrangement, StructLayout, StructShape};

use super::partition::{ItemLines, pack_order};
use super::stock::ItemStock;
use crate::coverage::AtomCoverage;

/// Input of an order of members.
pub(super) struct OrderRealiser<'a> {
    pub shape: &'a StructShape,
    pub current: &'a StructLayout,
    pub coverage: &'a AtomCoverage,
    pub stock: &'a ItemStock,
    /// Number of atoms at the start that stay.
    pub kept: usize,
    /// Size of a line in bytes.
    pub line: u64,
}

/// Ways to keep lines apart.
#[derive(Clone, Copy)]
struct LineStyle {
    /// Members that are not accessed fill the room on a line.
    fill: bool,
    /// Each line starts with an aligned member.
    align: bool,
    /// The type is aligned to the line.
    align_type: bool,
}

const STYLES: [LineStyle; 4] = [
    LineStyle {
        fill: true,
        align: false,
        align_type: false,
    },
    LineStyle {
        fill: true,
        align: true,
        align_type: false,
    },
    LineStyle {
        fill: true,
        align: false,
        align_type: true,
    },
    LineStyle {
        fill: false,
        align: true,
        align_type: false,
    },
];

/// An unfinished order.
struct OrderDraft {
    arrangement: AtomArrangement,
    /// First free byte.
    end: u64,
}

impl OrderRealiser<'_> {
    /// Returns every plan in every style, and for each line of a plan the order that only gathers
    /// its members.
    pub fn realise(&self, plans: &[ItemLines]) -> Vec<AtomArrangement> {
        let mut arrangements = Vec::new();
        for lines in plans {
            arrangements.extend(STYLES.map(|style| self.realise_lines(lines, style)));
            arrangements.extend(lines.iter().flat_map(|on| self.gather_line(on)));
        }
        arrangements
    }

    fn realise_lines(&self, lines: &ItemLines, style: LineStyle) -> AtomArrangement {
        let mut draft = OrderDraft {
            arrangement: self.shape.current_arrangement(),
            end: 0,
        };
        draft.arrangement.order.clear();
        if style.align_type {
            draft.arrangement.type_align = self.line;
        }
        let (mut cold, mut unknown) = self.unplaced_atoms();
        for (nth, on) in self.lines_in_order(lines).into_iter().enumerate() {
            for (place, atom) in self.atoms_on_line(on).into_iter().enumerate() {
                let starts = nth > 0 && place == 0 && !draft.end.is_multiple_of(self.line);
                if starts && style.align {
                    draft.arrangement.align[atom] = self.line;
                }
                self.append(&mut draft, atom);
            }
            if style.fill {
                let limit = draft.end.next_multiple_of(self.line);
                cold.retain(|atom| {
                    let fits = self.end_with(&draft, *atom) <= limit;
                    if fits {
                        self.append(&mut draft, *atom);
                    }
                    !fits
                });
            }
        }
        cold.append(&mut unknown);
        for atom in cold {
            self.append(&mut draft, atom);
        }
        draft.arrangement
    }

    /// Sorts the lines by their first members today; members that stay at the start are on the
    /// first line.
    fn lines_in_order<'l>(&self, lines: &'l ItemLines) -> Vec<&'l Vec<usize>> {
        let first_atom = |item: &usize| self.stock.atoms[*item][0];
        let mut lines: Vec<&Vec<usize>> = lines.iter().collect();
        lines.sort_by_key(|on| on.iter().map(first_atom).min());
        let stays = |on: &&Vec<usize>| self.kept > 0 && on.iter().any(|item| first_atom(item) == 0);
        if let Some(first) = lines.iter().position(stays) {
            lines[..=first].rotate_right(1);
        }
        lines
    }

    /// Returns today's order with the members of one line together: behind the others, or in place
    /// of the first of them, with the next member on its own line.
    fn gather_line(&self, on: &[usize]) -> Vec<AtomArrangement> {
        let members = self.atoms_on_line(on);
        let many = members.len() > self.shape.atoms.len() / 2;
        if many || members.iter().any(|atom| *atom < self.kept) {
            return Vec::new();
        }
        let rest: Vec<usize> = (0..self.shape.atoms.len())
            .filter(|atom| !members.contains(atom))
            .collect();
        let first = members.iter().min().copied().unwrap_or(0);
        let before = rest.iter().filter(|atom| **atom < first).count();
        let fixed = |atom: &&usize| !self.shape.atoms[**atom].flexible;
        let last = rest.iter().filter(fixed).count();
        let arrange_at = |place: usize, own: bool, next: bool| {
            let mut arrangement = self.shape.current_arrangement();
            arrangement.order = rest.clone();
            arrangement
                .order
                .splice(place..place, members.iter().copied());
            if own {
                arrangement.align[members[0]] = self.line;
            }
            if let Some(next) = rest.get(place).filter(|_| next) {
                arrangement.align[*next] = self.line;
            }
            arrangement
        };
        vec![
            arrange_at(last, false, false),
            arrange_at(last, true, false),
            arrange_at(before, true, true),
            arrange_at(before, false, true),
        ]
    }

    fn end_with(&self, draft: &OrderDraft, atom: usize) -> u64 {
        let (member, place) = (&self.shape.atoms[atom], &self.current.places[atom]);
        let align = member.align.max(draft.arrangement.align[atom]).max(1);
        draft.end.next_multiple_of(align) + (place.end - place.offset)
    }

    fn append(&self, draft: &mut OrderDraft, atom: usize) {
        draft.end = self.end_with(draft, atom);
        draft.arrangement.order.push(atom);
    }

    /// Returns the atoms of a line: in today's order if they fit, else in an order without holes.
    fn atoms_on_line(&self, on: &[usize]) -> Vec<usize> {
        let items = &self.stock.items;
        let mut today = on.to_vec();
        today.sort_by_key(|item| (!items[*item].first, self.stock.atoms[*item][0]));
        let end = today.iter().fold(0u64, |end, item| {
            end.next_multiple_of(items[*item].align.max(1)) + items[*item].bytes
        });
        let order = match end <= self.line {
            true => today,
            false => pack_order(items, &today),
        };
        let atoms = order.into_iter().map(|item| &self.stock.atoms[item]);
        atoms.flatten().copied().collect()
    }

    /// Returns the other atoms in today's order: first those that were recorded and never accessed,
    /// then the unrecorded ones and a flexible array.
    fn unplaced_atoms(&self) -> (Vec<usize>, Vec<usize>) {
        let placed: Vec<usize> = self.stock.atoms.iter().flatten().copied().collect();
        (0..self.shape.atoms.len())
            .filter(|atom| !placed.contains(atom))
            .partition(|atom| {
                let own = &self.shape.atoms[*atom];
                self.coverage.recorded[*atom] && !own.flexible && own.size > 0
            })
    }
}
