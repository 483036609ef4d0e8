//! Rules for layouts that follow from code that relies on the order.

use relayout_layout::abi::{LayoutAtom, StructShape};
use relayout_patch::{AssertedSize, BorderSide, OrderFact, OrderReliance, RangeBorder};
use relayout_search::{OrderBorder, SizeRule};

use super::{BorderReason, FirstMember, FirstMemberPin, OrderEvidence, OrderNames, SourceUses};

impl OrderEvidence {
    /// Evidence of the layout alone.
    pub fn from_layout(names: &OrderNames, shape: &StructShape) -> Self {
        let first_member = names.first_struct.clone().map(|name| FirstMember {
            name,
            pin: match names.is_base_first {
                true => FirstMemberPin::BaseClass,
                false => FirstMemberPin::NotSearched,
            },
        });
        let mut evidence = Self {
            first_member,
            ..Self::default()
        };
        for &atom in &names.markers {
            let name = shape.atoms[atom].name.clone();
            let border = OrderBorder {
                position: atom,
                holds_before: false,
                holds_after: true,
            };
            evidence.push_border(border, BorderReason::Marker(name.clone()));
            evidence.markers.push(name);
        }
        evidence
    }

    /// Evidence of the layout and of the uses in a source tree.
    pub fn from_uses(names: &OrderNames, shape: &StructShape, uses: SourceUses) -> Self {
        let SourceUses {
            search,
            facts,
            macros,
        } = uses;
        let (undecided, facts): (Vec<OrderFact>, Vec<OrderFact>) = { facts.into_iter() }
            .partition(|fact| matches!(fact.reliance, OrderReliance::Undecided { .. }));
        let mut evidence = Self {
            search: Some(search),
            undecided,
            ..Self::from_layout(names, shape)
        };
        let atoms = AtomNames { shape, macros };
        let mut first_fact = None;
        for fact in facts {
            if !atoms.matters(&fact) {
                continue;
            }
            let index = evidence.facts.len();
            evidence.apply_fact(&atoms, &fact, index);
            let is_about_first = matches!(
                fact.reliance,
                OrderReliance::FirstMember(_) | OrderReliance::Initializer { .. }
            );
            first_fact = first_fact.or(is_about_first.then_some(index));
            evidence.facts.push(fact);
        }
        let first_name = { names.first_struct.clone() }
            .or_else(|| shape.atoms.first().map(|atom| atom.name.clone()));
        evidence.first_member = match (evidence.first_member.take(), first_fact, first_name) {
            (Some(first), _, _) if first.pin == FirstMemberPin::BaseClass => Some(first),
            (_, Some(fact), Some(name)) => Some(FirstMember {
                name,
                pin: FirstMemberPin::Fact(fact),
            }),
            (_, None, Some(name)) => Some(FirstMember {
                name,
                pin: FirstMemberPin::Free,
            }),
            (_, _, None) => None,
        };
        evidence
    }

    fn push_border(&mut self, border: OrderBorder, reason: BorderReason) {
        if !self.rules.borders.contains(&border) {
            self.rules.borders.push(border);
            self.border_reasons.push(reason);
        }
    }

    /// Adds the rules of a fact, which gets `index`.
    fn apply_fact(&mut self, atoms: &AtomNames<'_>, fact: &OrderFact, index: usize) {
        match &fact.reliance {
            OrderReliance::Range { borders, .. } => {
                for border in borders.iter().flat_map(|border| atoms.borders(border)) {
                    self.push_border(border, BorderReason::Fact(index));
                }
            }
            OrderReliance::DefinitionBorder { before, after, .. } => {
                if let Some(border) = atoms.definition_border(before, after) {
                    self.push_border(border, BorderReason::Fact(index));
                }
            }
            OrderReliance::Assertion { members, size } => {
                let atoms = members.iter().filter_map(|member| atoms.atom(member));
                let names = atoms.map(|(atom, _)| atom);
                for atom in names.collect::<Vec<_>>() {
                    self.pin(&atom, index);
                }
                self.rules.size = self.rules.size.max(size_rule(*size));
            }
            OrderReliance::OffsetLimit { member, below, .. } => {
                let atom = atoms.atom_index(member);
                let limits = atom.map(|(atom, _)| (atom, *below));
                self.rules.offset_limits.extend(limits);
            }
            // The first member stays; other values by position are warned of with the patch.
            OrderReliance::Initializer { .. }
            | OrderReliance::FirstMember(_)
            | OrderReliance::Randomized
            | OrderReliance::Undecided { .. } => {}
        }
    }

    fn pin(&mut self, member: &str, fact: usize) {
        if !self.pinned.iter().any(|(pinned, _)| pinned == member) {
            self.pinned.push((member.to_owned(), fact));
        }
    }
}

fn size_rule(size: Option<AssertedSize>) -> SizeRule {
    match size {
        Some(AssertedSize::Exact) => SizeRule::Exact,
        Some(AssertedSize::Limit) => SizeRule::NoGrowth,
        None => SizeRule::Any,
    }
}

/// Atoms by the names that source code has for them.
struct AtomNames<'a> {
    shape: &'a StructShape,
    /// Macros that stand for paths into members: name and path.
    macros: Vec<(String, String)>,
}

impl AtomNames<'_> {
    /// Returns the atom that a path begins with, and true if the path is the whole atom.
    fn atom_index(&self, path: &str) -> Option<(usize, bool)> {
        let first = path.split(['.', '[']).next().unwrap_or(path);
        let named = |name: &str| {
            let atoms = self.shape.atoms.iter();
            atoms.clone().position(|atom| atom.is_called(name))
        };
        if let Some(atom) = named(first) {
            let is_whole = self.shape.atoms[atom].names == [path];
            return Some((atom, is_whole));
        }
        let (_, expanded) = self.macros.iter().find(|(name, _)| name == first)?;
        let atom = named(expanded.split('.').next().unwrap_or(expanded))?;
        Some((atom, self.shape.atoms[atom].names == [expanded.as_str()]))
    }

    /// Returns the name of the atom that a path begins with.
    fn atom(&self, path: &str) -> Option<(String, bool)> {
        let (atom, is_whole) = self.atom_index(path)?;
        Some((self.shape.atoms[atom].name.clone(), is_whole))
    }

    /// Returns the borders between atoms that keep a border. Nothing passes an atom that a border
    /// goes through.
    fn borders(&self, border: &RangeBorder) -> Vec<OrderBorder> {
        let Some((atom, is_whole)) = self.atom_index(&border.member) else {
            return Vec::new();
        };
        let before = OrderBorder {
            position: atom,
            holds_before: false,
            holds_after: true,
        };
        let after = OrderBorder {
            position: atom + 1,
            holds_before: true,
            holds_after: false,
        };
        match (is_whole, border.side) {
            (true, BorderSide::Before) => vec![before],
            (true, BorderSide::After) => vec![after],
            (false, _) => vec![before, after],
        }
    }

    /// Returns the border between the members before and after it; `None` unless this build has
    /// members on both sides.
    fn definition_border(&self, before: &[String], after: &[String]) -> Option<OrderBorder> {
        let has_any =
            |atom: &LayoutAtom, names: &[String]| { names.iter() }.any(|name| atom.is_called(name));
        let atoms = || self.shape.atoms.iter();
        let position = atoms().position(|atom| has_any(atom, after))?;
        let has_before = { atoms().take(position) }.any(|atom| has_any(atom, before));
        has_before.then_some(OrderBorder {
            position,
            holds_before: false,
            holds_after: false,
        })
    }

    /// Returns true if a fact is about a member that this build has, or about the whole struct.
    fn matters(&self, fact: &OrderFact) -> bool {
        match &fact.reliance {
            OrderReliance::Range { borders, .. } => {
                { borders.iter() }.any(|border| self.atom_index(&border.member).is_some())
            }
            OrderReliance::DefinitionBorder { before, after, .. } => {
                self.definition_border(before, after).is_some()
            }
            OrderReliance::Assertion { members, size } => {
                size.is_some() || { members.iter() }.any(|member| self.atom(member).is_some())
            }
            OrderReliance::OffsetLimit { member, below, .. } => {
                let has_reach =
                    { self.shape.atoms.iter() }.any(|atom| atom.offset + atom.size >= *below);
                has_reach && self.atom(member).is_some()
            }
            _ => true,
        }
    }
}
