//! Source code that relies on the order of a struct's members, and what follows for its layouts.
//!
//! A member that moves across `memset(p, 0, offsetof(struct s, b))` is cleared no longer, or though
//! it must not be. Such code is found in the user's source tree. Without a tree, only the layout
//! itself is evidence: members that are arrays without elements mark borders, and a struct at
//! offset 0 stays there.

mod query;
mod rules;
mod warnings;

pub use query::OrderNames;

use relayout_layout::abi::{StructLayout, StructShape};
use relayout_patch::{OrderFact, OrderReliance};
use relayout_search::{BrokenRule, OrderRules};

/// Evidence about the order of a struct's members, and the rules that follow.
#[derive(Clone, Debug, Default)]
pub struct OrderEvidence {
    /// Search in the source tree; `None` without one.
    pub search: Option<SourceSearch>,
    /// Code that relies on the order, by file and line.
    pub facts: Vec<OrderFact>,
    /// Uses of which the source does not show whether they are of the struct.
    pub undecided: Vec<OrderFact>,
    /// Members at offset 0, if they could move without the evidence.
    pub first_member: Option<FirstMember>,
    /// Members that mark borders: arrays without elements.
    pub markers: Vec<String>,
    /// Members that stay at their offsets, with the indices of the facts that say so.
    pub pinned: Vec<(String, usize)>,
    /// Rules for the search.
    pub rules: OrderRules,
    /// Reasons for [`OrderRules::borders`].
    pub border_reasons: Vec<BorderReason>,
}

/// Search in a source tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceSearch {
    /// Source files of the tree.
    pub files: usize,
    /// Files that name the struct.
    pub naming: usize,
    /// Files that could not be read or are too large.
    pub unread: usize,
}

/// Uses of a struct in a source tree.
#[derive(Clone, Debug, Default)]
pub struct SourceUses {
    /// Extent of the search.
    pub search: SourceSearch,
    /// Code that relies on the order, by file and line.
    pub facts: Vec<OrderFact>,
    /// Macros that stand for paths into members: name and path.
    pub macros: Vec<(String, String)>,
}

/// First member of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstMember {
    /// Name.
    pub name: String,
    /// Reason why it stays first.
    pub pin: FirstMemberPin,
}

/// Reason why the first member stays first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstMemberPin {
    /// No source was searched, and it is a struct, to which code may cast.
    NotSearched,
    /// Code relies on it: index into [`OrderEvidence::facts`].
    Fact(usize),
    /// It is a base class.
    BaseClass,
    /// Nothing was found, so it may move.
    Free,
}

/// Reason for a border.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BorderReason {
    /// Index into [`OrderEvidence::facts`].
    Fact(usize),
    /// A member that is an array without elements.
    Marker(String),
}

impl OrderEvidence {
    /// Returns the first member if it stays first.
    pub fn pinned_first(&self) -> Option<&str> {
        let first = self.first_member.as_ref()?;
        (first.pin != FirstMemberPin::Free).then_some(first.name.as_str())
    }

    /// Returns the members that stay at their offsets.
    pub(super) fn pinned_members(&self) -> impl Iterator<Item = String> {
        let first = self.pinned_first().map(str::to_owned);
        let asserted = self.pinned.iter().map(|(member, _)| member.clone());
        first.into_iter().chain(asserted)
    }

    /// Returns the reason why `layout` of `shape`, with the atoms in `order`, is not safe: file and
    /// line.
    pub fn refusal(
        &self,
        shape: &StructShape,
        order: &[usize],
        layout: &StructLayout,
    ) -> Option<String> {
        let current = shape.lay_out(&shape.current_arrangement());
        let moved = self.pinned.iter().find(|(member, _)| {
            let atoms = shape.atoms.iter().zip(&layout.places);
            let mut named = atoms.filter(|(atom, _)| atom.is_called(member));
            named.any(|(atom, place)| place.offset != atom.offset)
        });
        if let Some((member, fact)) = moved {
            return Some(format!("{} '{member}' would move", self.fact_words(*fact)));
        }
        match self.rules.broken_by(order, layout, &current)? {
            BrokenRule::Border(index) => Some(match self.border_reasons.get(index)? {
                BorderReason::Fact(fact) => format!(
                    "{} a member would cross the border of that range",
                    self.fact_words(*fact)
                ),
                BorderReason::Marker(marker) => {
                    format!("a member would cross '{marker}', which marks a range of members")
                }
            }),
            BrokenRule::OffsetLimit(_) | BrokenRule::Size => {
                let limits = self.facts.iter().position(|fact| {
                    matches!(
                        fact.reliance,
                        OrderReliance::OffsetLimit { .. }
                            | OrderReliance::Assertion { size: Some(_), .. }
                    )
                });
                limits.map(|fact| format!("{} the limit would be passed", self.fact_words(fact)))
            }
        }
    }

    /// Returns the reason why `layout` of `shape` breaks a limit: as [`Self::refusal`], or the code
    /// for which the first member stays.
    pub fn obstacle(
        &self,
        shape: &StructShape,
        order: &[usize],
        layout: &StructLayout,
    ) -> Option<String> {
        let refusal = self.refusal(shape, order, layout);
        refusal.or_else(|| {
            let first = self.first_member.as_ref()?;
            let atom = shape
                .atoms
                .iter()
                .position(|atom| atom.is_called(&first.name))?;
            let stays = layout.places.get(atom)?.offset == shape.atoms[atom].offset;
            match first.pin {
                FirstMemberPin::Fact(fact) if !stays => Some(format!(
                    "{} '{}' stays first",
                    self.fact_words(fact),
                    first.name
                )),
                _ => None,
            }
        })
    }

    /// Returns `file:line: text:` of a fact.
    fn fact_words(&self, index: usize) -> String {
        let fact = self.facts.get(index);
        fact.map_or(String::new(), |fact| {
            format!("{}: {}:", fact.place, fact.text)
        })
    }
}
