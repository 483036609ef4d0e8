//! A layout as a list of members, one per line: `name`, or `name @64` to align it.
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
//! other, and the members of an anonymous struct or union, move as one: any of their names stands
//! for all. Every member has to be named.

use relayout_layout::abi::{Arrangement, Shape};

/// What is wrong with a list of members. Lines are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// The type has no such member.
    #[error("line {line}: struct {type_name} has no member '{name}'")]
    NoMember {
        /// Line.
        line: usize,
        /// Type.
        type_name: String,
        /// Name.
        name: String,
    },
    /// Named again, when something else stands between.
    #[error("line {line}: '{name}' (with what moves as one with it) has been placed already")]
    Again {
        /// Line.
        line: usize,
        /// Name.
        name: String,
    },
    /// Not an alignment.
    #[error("line {line}: '{text}' is no alignment: a power of two up to 4096, as in '@64'")]
    Alignment {
        /// Line.
        line: usize,
        /// What is there.
        text: String,
    },
    /// More than a name and an alignment.
    #[error("line {line}: '{text}' is more than a member and its alignment")]
    Trailing {
        /// Line.
        line: usize,
        /// What is there.
        text: String,
    },
    /// Members that are not in the list.
    #[error("these members of struct {type_name} are not in the list: {}", names.join(", "))]
    Missing {
        /// Type.
        type_name: String,
        /// Names.
        names: Vec<String>,
    },
    /// A flexible array has to stay last.
    #[error("'{name}' ends in an array of unknown length and has to stay last")]
    NotLast {
        /// Name.
        name: String,
    },
}

/// Reads a list of members.
///
/// # Errors
/// If it does not name every member exactly once, or a flexible array is not last.
pub fn parse(text: &str, shape: &Shape) -> Result<Arrangement, OrderError> {
    let mut arrangement = shape.current();
    arrangement.order.clear();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if !line.is_empty() {
            read_line(line, number + 1, shape, &mut arrangement)?;
        }
    }
    let placed = |index: &usize| arrangement.order.contains(index);
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
            names: missing,
        });
    }
    let before_last = arrangement
        .order
        .split_last()
        .map_or(&[][..], |(_, before)| before);
    match before_last.iter().find(|atom| shape.atoms[**atom].flexible) {
        Some(atom) => Err(OrderError::NotLast {
            name: shape.atoms[*atom].name.clone(),
        }),
        None => Ok(arrangement),
    }
}

fn read_line(
    text: &str,
    line: usize,
    shape: &Shape,
    arrangement: &mut Arrangement,
) -> Result<(), OrderError> {
    let (name, align) = match text.split_once('@') {
        Some((name, align)) => (name.trim(), read_align(align.trim(), line)?),
        None => (text, 1),
    };
    if name.is_empty() {
        arrangement.type_align = align;
        return Ok(());
    }
    if name.contains(char::is_whitespace) {
        return Err(OrderError::Trailing {
            line,
            text: text.to_owned(),
        });
    }
    let found = shape
        .atoms
        .iter()
        .position(|atom| atom.names.iter().any(|other| other == name));
    let Some(atom) = found else {
        let type_name = shape.name.clone();
        return Err(OrderError::NoMember {
            line,
            type_name,
            name: name.to_owned(),
        });
    };
    let same_run = arrangement.order.last() == Some(&atom) && shape.atoms[atom].names.len() > 1;
    if !same_run && arrangement.order.contains(&atom) {
        return Err(OrderError::Again {
            line,
            name: name.to_owned(),
        });
    }
    if !same_run {
        arrangement.order.push(atom);
    }
    arrangement.align[atom] = arrangement.align[atom].max(align);
    Ok(())
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

/// How few atoms move to get from `from` to `to`, both orders of the same atoms: all but a longest
/// part that keeps its order.
pub(crate) fn moved(from: &[usize], to: &[usize]) -> Vec<usize> {
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
