//! Layouts as lists of members, one per line: `name`, or `name @64` to align it.
//!
//! ```text
//! # struct pcpu_chunk, as accepted upstream
//! list
//! free_bytes
//! bound_map
//! base_addr @64
//! ```
//!
//! `#` starts a comment. A line `@64` alone aligns the type. Bitfields that stand next to each
//! other move as one, and so do the members of an anonymous struct or union: any of their names
//! stands for all. The list must name every member. An unnamed member of a tagged struct is also
//! called by its tag: `struct freelist_counters`.

use relayout_layout::abi::{
    AtomArrangement, ElementSpread, LayoutAtom, PaddingMember, StructShape,
};
use relayout_layout::suggestions;
use relayout_layout::word_lists::word_list;
use relayout_messages::UserFacingError;

/// Error in a list of members. Lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// The type has no such member.
    #[error(
        "line {line}: struct {type_name} has no member '{name}'{}",
        suggestions::suggestion_suffix(close)
    )]
    NoMember {
        /// Line.
        line: usize,
        /// Type.
        type_name: String,
        /// Name.
        name: String,
        /// Names of members that may be meant.
        close: Vec<String>,
    },
    /// A member is named twice, with another between.
    #[error(
        "line {line}: '{name}', or a member that moves with it, is listed already; {LIST_ONCE}"
    )]
    Again {
        /// Line.
        line: usize,
        /// Name.
        name: String,
    },
    /// The text behind `@` is not an alignment.
    #[error("line {line}: '{text}' is not an alignment; {POWER_OF_TWO}")]
    Alignment {
        /// Line.
        line: usize,
        /// Text in its place.
        text: String,
    },
    /// The line has more than a name and an alignment.
    #[error("line {line}: '{text}' is more than a member and its alignment; {MEMBER_A_LINE}")]
    Trailing {
        /// Line.
        line: usize,
        /// Text in its place.
        text: String,
    },
    /// The list lacks members.
    #[error(
        "these members of struct {type_name} are not in the list: {}{}",
        word_list(names, NAMES_SHOWN),
        in_last_clause(misspelt)
    )]
    Missing {
        /// Type.
        type_name: String,
        /// Names.
        names: Vec<String>,
        /// Question about a new member that may be a misspelt name of them, with its line.
        misspelt: Option<String>,
    },
    /// A flexible array has to stay last.
    #[error("'{name}' ends in an array of unknown length and has to stay last")]
    NotLast {
        /// Name.
        name: String,
    },
}

/// Remedies, each at the end of a message.
const LIST_ONCE: &str = "list every member once";
const POWER_OF_TWO: &str = "write a power of two up to 4096, as in '@64'";
const MEMBER_A_LINE: &str = "write one member on a line";

fn in_last_clause(remedy: &Option<String>) -> String {
    remedy
        .as_ref()
        .map_or(String::new(), |remedy| format!("; {remedy}"))
}

impl OrderError {
    /// Returns the remedy, which stands behind the last semicolon of the message.
    pub fn remedy(&self) -> Option<String> {
        let remedy = match self {
            Self::Again { .. } => LIST_ONCE,
            Self::Alignment { .. } => POWER_OF_TWO,
            Self::Trailing { .. } => MEMBER_A_LINE,
            Self::Missing { misspelt, .. } => return misspelt.clone(),
            Self::NoMember { close, .. } => return relayout_messages::close_names(close),
            Self::NotLast { .. } => return None,
        };
        Some(remedy.to_owned())
    }
}

impl UserFacingError for OrderError {
    fn user_remedy(&self) -> Option<String> {
        self.remedy()
    }
}

/// Maximum number of names in a message.
const NAMES_SHOWN: usize = 12;

/// A line of a layout: a member, several that move as one, or a new member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderEntry {
    /// Line in the text, from 1.
    pub line: usize,
    /// Name of the member; several for bitfields and for the members of an anonymous struct.
    pub names: Vec<String>,
    /// Alignment attribute of the member in bytes; 1 for none.
    pub align: u64,
    /// Size and alignment of the member's type in bytes, for a member that the type does not have;
    /// `None` if unknown, so that only existing members may be named.
    pub extent: Option<(u64, u64)>,
}

/// A layout by the user: an order with alignments, and new members that nothing accesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberOrder {
    /// Order and alignments by the atoms of the type's shape.
    pub arrangement: AtomArrangement,
    /// New members.
    pub pads: Vec<PaddingMember>,
}

/// Parses a list of members.
///
/// # Errors
/// If the list does not name every member exactly once, or if a flexible array is not last.
pub fn parse(text: &str, shape: &StructShape) -> Result<MemberOrder, OrderError> {
    OrderList::parse(text)?.arrange(shape)
}

/// A list of members as written, for any type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderList {
    /// Members, in order.
    pub entries: Vec<OrderEntry>,
    /// Alignment attribute of the type in bytes; 1 for none.
    pub type_align: u64,
}

impl OrderList {
    /// Parses a list whose type is not known yet.
    ///
    /// # Errors
    /// A line is more than a member and its alignment.
    pub fn parse(text: &str) -> Result<Self, OrderError> {
        parse_lines(text)
    }

    /// Builds the order of the type `shape`.
    ///
    /// # Errors
    /// The same as [`parse`].
    pub fn arrange(&self, shape: &StructShape) -> Result<MemberOrder, OrderError> {
        arrange_entries(&self.entries, self.type_align, shape)
    }
}

fn parse_lines(text: &str) -> Result<OrderList, OrderError> {
    let mut entries = Vec::new();
    let mut type_align = 1;
    for (number, line) in text.lines().enumerate() {
        let (number, line) = (
            number + 1,
            line.split('#').next().unwrap_or_default().trim(),
        );
        let (name, align) = match line.split_once('@') {
            Some((name, align)) => (name.trim(), read_align(align.trim(), number)?),
            None => (line, 1),
        };
        match name.is_empty() {
            true if align > 1 => type_align = align,
            true => {}
            false if name.contains(char::is_whitespace) => {
                return Err(OrderError::Trailing {
                    line: number,
                    text: line.to_owned(),
                });
            }
            false => entries.push(OrderEntry {
                line: number,
                names: vec![name.to_owned()],
                align,
                extent: None,
            }),
        }
    }
    Ok(OrderList {
        entries,
        type_align,
    })
}

/// Builds the order of `entries`. `type_align` is the alignment attribute of the type in bytes, 1
/// for none.
///
/// # Errors
/// The same as [`parse`].
pub fn arrange_entries(
    entries: &[OrderEntry],
    type_align: u64,
    shape: &StructShape,
) -> Result<MemberOrder, OrderError> {
    let mut order = MemberOrder {
        arrangement: shape.current_arrangement(),
        pads: Vec::new(),
    };
    order.arrangement.order.clear();
    order.arrangement.type_align = type_align;
    for entry in entries {
        order.add(entry, shape)?;
    }
    let placed = |index: &usize| order.arrangement.order.contains(index);
    let mut missing = Vec::new();
    for (index, atom) in shape.atoms.iter().enumerate() {
        match placed(&index) {
            true => {}
            // A marker without bytes and without a name cannot be named.
            false if atom.names.is_empty() => missing.push(format!("(unnamed, {})", atom.offset)),
            false => missing.push(atom.name.clone()),
        }
    }
    if !missing.is_empty() {
        return Err(OrderError::Missing {
            type_name: shape.name.clone(),
            misspelt: misspelt_member(entries, shape, &missing),
            names: missing,
        });
    }
    let (last, before_last) = match order.arrangement.order.split_last() {
        Some((last, before)) => (Some(*last), before),
        None => (None, &[][..]),
    };
    let behind = order
        .pads
        .iter()
        .any(|pad| pad.position == order.arrangement.order.len());
    let flexible = |atom: &&usize| shape.atoms[**atom].flexible;
    let not_last = before_last.iter().find(flexible).copied();
    match not_last.or(last.filter(|last| behind && flexible(&last))) {
        Some(atom) => Err(OrderError::NotLast {
            name: shape.atoms[atom].name.clone(),
        }),
        None => Ok(order),
    }
}

/// Names the first new member that is like a missing one.
fn misspelt_member(
    entries: &[OrderEntry],
    shape: &StructShape,
    missing: &[String],
) -> Option<String> {
    let is_known = |name: &&String| shape.atoms.iter().any(|atom| atom.is_called(name));
    let new = entries
        .iter()
        .filter(|entry| !entry.names.iter().any(|name| is_known(&name)))
        .filter_map(|entry| Some((entry.line, entry.names.first()?)));
    let mut meant = new.filter_map(|(line, name)| {
        let similar = suggestions::similar_names(missing.iter().map(String::as_str), name);
        let member = similar.into_iter().next()?;
        Some(format!("line {line} has '{name}', is '{member}' meant?"))
    });
    meant.next()
}

impl MemberOrder {
    fn add(&mut self, entry: &OrderEntry, shape: &StructShape) -> Result<(), OrderError> {
        let line = entry.line;
        let named = |name: &String| {
            let has = |atom: &LayoutAtom| atom.is_called(name);
            shape.atoms.iter().position(has)
        };
        let name = entry.names.first().cloned().unwrap_or_default();
        let Some(atom) = entry.names.iter().find_map(named) else {
            let Some((bytes, align)) = entry.extent else {
                return Err(OrderError::NoMember {
                    line,
                    type_name: shape.name.clone(),
                    close: suggestions::similar_members(shape, &name),
                    name,
                });
            };
            self.pads.push(PaddingMember {
                position: self.arrangement.order.len(),
                size: bytes,
                align: align.max(entry.align),
            });
            return Ok(());
        };
        let order = &mut self.arrangement.order;
        let same_run = order.last() == Some(&atom) && shape.atoms[atom].names.len() > 1;
        if !same_run && order.contains(&atom) {
            return Err(OrderError::Again { line, name });
        }
        if !same_run {
            order.push(atom);
        }
        let align = &mut self.arrangement.align[atom];
        *align = entry.align.max(*align);
        Ok(())
    }
}

fn read_align(text: &str, line: usize) -> Result<u64, OrderError> {
    match text.parse::<u64>() {
        Ok(align) if align.is_power_of_two() && align <= 4096 => Ok(align),
        _ => Err(OrderError::Alignment {
            line,
            text: text.to_owned(),
        }),
    }
}

/// Returns the fewest atoms that have to move to get from `from` to `to`, two orders of the same
/// atoms. The others are a longest part that keeps its order.
pub(crate) fn moved_atoms(from: &[usize], to: &[usize]) -> Vec<usize> {
    let mut rank = vec![0; from.len()];
    for (place, atom) in from.iter().enumerate() {
        rank[*atom] = place;
    }
    // Longest increasing subsequence; structs have at most some hundred members.
    let mut best: Vec<(usize, Option<usize>)> = Vec::with_capacity(to.len());
    for (at, atom) in to.iter().enumerate() {
        let before = (0..at).filter(|other| rank[to[*other]] < rank[*atom]);
        let longest = before.max_by_key(|other| (best[*other].0, std::cmp::Reverse(*other)));
        best.push((longest.map_or(0, |other| best[other].0) + 1, longest));
    }
    let mut stays = vec![false; to.len()];
    let mut at = (0..to.len()).max_by_key(|at| (best[*at].0, std::cmp::Reverse(*at)));
    while let Some(place) = at {
        stays[place] = true;
        at = best[place].1;
    }
    to.iter()
        .zip(stays)
        .filter(|(_, stays)| !stays)
        .map(|(atom, _)| *atom)
        .collect()
}

impl MemberOrder {
    /// Order without new members.
    pub fn from_arrangement(arrangement: AtomArrangement) -> Self {
        Self {
            arrangement,
            pads: Vec::new(),
        }
    }

    /// Carries the order over to `to`, the same type in another build; `self` is by the atoms of
    /// `from`. Members that `to` lacks are left out. Members that only `to` has come behind the
    /// same member as they do there today. New members are carried over if both builds have as many
    /// members.
    pub fn carry_over(&self, from: &StructShape, to: &StructShape) -> Self {
        let counterparts = atom_counterparts(from, to);
        let mut arrangement = to.current_arrangement();
        let mut order: Vec<usize> = Vec::new();
        for atom in self
            .arrangement
            .order
            .iter()
            .filter_map(|atom| counterparts[*atom])
        {
            if !order.contains(&atom) {
                order.push(atom);
            }
        }
        for own in 0..to.atoms.len() {
            if !order.contains(&own) {
                let before = own.checked_sub(1);
                let place = before.and_then(|before| order.iter().position(|atom| *atom == before));
                order.insert(place.map_or(0, |place| place + 1), own);
            }
        }
        // A flexible array stays last.
        order.sort_by_key(|atom| to.atoms[*atom].flexible);
        arrangement.order = order;
        arrangement.type_align = self.arrangement.type_align;
        for (atom, align) in self.arrangement.align.iter().enumerate() {
            if let Some(there) = counterparts[atom] {
                arrangement.align[there] = *align;
            }
        }
        arrangement.run_align = self.arrangement.run_align;
        for spread in &self.arrangement.spreads {
            let there = counterparts[spread.atom];
            let is_same = |atom: &usize| to.atoms[*atom].arrays == from.atoms[spread.atom].arrays;
            arrangement
                .spreads
                .extend(there.filter(is_same).map(|atom| ElementSpread {
                    atom,
                    ..spread.clone()
                }));
        }
        let same = from.atoms.len() == to.atoms.len();
        Self {
            arrangement,
            pads: if same { self.pads.clone() } else { Vec::new() },
        }
    }
}

/// Returns, for each atom of `from`, the atom of `to` that has one of its names.
pub(crate) fn atom_counterparts(from: &StructShape, to: &StructShape) -> Vec<Option<usize>> {
    let there = |atom: &LayoutAtom| {
        let shares = |other: &LayoutAtom| atom.names.iter().any(|name| other.names.contains(name));
        to.atoms.iter().position(shares)
    };
    from.atoms.iter().map(there).collect()
}
