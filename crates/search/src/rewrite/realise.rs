//! Contents of lines as orders of members with alignments.

use relayout_layout::abi::{Arrangement, Layout, Shape};

use super::partition::{Lines, packed};
use super::stock::Stock;
use crate::coverage::Coverage;

/// What orders are made of.
pub(super) struct Ground<'a> {
    pub shape: &'a Shape,
    pub current: &'a Layout,
    pub coverage: &'a Coverage,
    pub stock: &'a Stock,
    /// Atoms at the start that stay.
    pub kept: usize,
    /// Bytes of a line.
    pub line: u64,
}

/// How the lines are kept apart.
#[derive(Clone, Copy)]
struct Style {
    /// Members that are not accessed go where there is room on a line.
    fill: bool,
    /// Each line starts with an aligned member.
    align: bool,
    /// The type is aligned to the line.
    align_type: bool,
}

const STYLES: [Style; 4] = [
    Style {
        fill: true,
        align: false,
        align_type: false,
    },
    Style {
        fill: true,
        align: true,
        align_type: false,
    },
    Style {
        fill: true,
        align: false,
        align_type: true,
    },
    Style {
        fill: false,
        align: true,
        align_type: false,
    },
];

/// An order that is being written.
struct Draft {
    arrangement: Arrangement,
    /// First free byte.
    end: u64,
}

impl Ground<'_> {
    /// Every plan in every style, and for each line of a plan the order that only gathers its
    /// members.
    pub fn realise(&self, plans: &[Lines]) -> Vec<Arrangement> {
        let mut all = Vec::new();
        for lines in plans {
            all.extend(STYLES.map(|style| self.order(lines, style)));
            all.extend(lines.iter().flat_map(|on| self.gathered(on)));
        }
        all
    }

    fn order(&self, lines: &Lines, style: Style) -> Arrangement {
        let mut draft = Draft {
            arrangement: self.shape.current(),
            end: 0,
        };
        draft.arrangement.order.clear();
        if style.align_type {
            draft.arrangement.type_align = self.line;
        }
        let (mut cold, mut unknown) = self.others();
        for (nth, on) in self.in_order(lines).into_iter().enumerate() {
            for (place, atom) in self.in_line(on).into_iter().enumerate() {
                let starts = nth > 0 && place == 0 && !draft.end.is_multiple_of(self.line);
                if starts && style.align {
                    draft.arrangement.align[atom] = self.line;
                }
                self.put(&mut draft, atom);
            }
            if style.fill {
                let limit = draft.end.next_multiple_of(self.line);
                cold.retain(|atom| {
                    let fits = self.end_with(&draft, *atom) <= limit;
                    if fits {
                        self.put(&mut draft, *atom);
                    }
                    !fits
                });
            }
        }
        cold.append(&mut unknown);
        for atom in cold {
            self.put(&mut draft, atom);
        }
        draft.arrangement
    }

    /// As their first members are today; what stays at the start is on the first.
    fn in_order<'l>(&self, lines: &'l Lines) -> Vec<&'l Vec<usize>> {
        let first_atom = |item: &usize| self.stock.atoms[*item][0];
        let mut lines: Vec<&Vec<usize>> = lines.iter().collect();
        lines.sort_by_key(|on| on.iter().map(first_atom).min());
        let stays = |on: &&Vec<usize>| self.kept > 0 && on.iter().any(|item| first_atom(item) == 0);
        if let Some(first) = lines.iter().position(stays) {
            lines[..=first].rotate_right(1);
        }
        lines
    }

    /// Today's order, but for the members of one line: together behind the others, or where the first
    /// of them is, with the next member on a line of its own.
    fn gathered(&self, on: &[usize]) -> Vec<Arrangement> {
        let members = self.in_line(on);
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
        let at = |place: usize, own: bool, next: bool| {
            let mut arrangement = self.shape.current();
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
            at(last, false, false),
            at(last, true, false),
            at(before, true, true),
            at(before, false, true),
        ]
    }

    fn end_with(&self, draft: &Draft, atom: usize) -> u64 {
        let (of, place) = (&self.shape.atoms[atom], &self.current.places[atom]);
        let align = of.align.max(draft.arrangement.align[atom]).max(1);
        draft.end.next_multiple_of(align) + (place.end - place.offset)
    }

    fn put(&self, draft: &mut Draft, atom: usize) {
        draft.end = self.end_with(draft, atom);
        draft.arrangement.order.push(atom);
    }

    /// The atoms of a line: in today's order if they fit so, else without holes.
    fn in_line(&self, on: &[usize]) -> Vec<usize> {
        let items = &self.stock.items;
        let mut today = on.to_vec();
        today.sort_by_key(|item| (!items[*item].first, self.stock.atoms[*item][0]));
        let end = today.iter().fold(0u64, |end, item| {
            end.next_multiple_of(items[*item].align.max(1)) + items[*item].bytes
        });
        let order = match end <= self.line {
            true => today,
            false => packed(items, &today),
        };
        let atoms = order.into_iter().map(|item| &self.stock.atoms[item]);
        atoms.flatten().copied().collect()
    }

    /// The other atoms in today's order: those known not to be accessed, then those of which nothing
    /// is known, with what has to stay last.
    fn others(&self) -> (Vec<usize>, Vec<usize>) {
        let placed: Vec<usize> = self.stock.atoms.iter().flatten().copied().collect();
        (0..self.shape.atoms.len())
            .filter(|atom| !placed.contains(atom))
            .partition(|atom| {
                let own = &self.shape.atoms[*atom];
                self.coverage.recorded[*atom] && !own.flexible && own.size > 0
            })
    }
}
