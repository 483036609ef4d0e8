//! Rows of array elements in the table of members.
//!
//! `done[0]` to `done[3]` have a row each where different contexts use them. Neighbours that the
//! same contexts use alike are one row, `name[0..20]`, so that an array of bytes does not fill the
//! table. An array with one row keeps the name of the path, `name[]`.

use std::collections::BTreeMap;

use relayout_layout::ArrayElement;
use relayout_profile::Addr;

use super::members::MemberCounts;
use crate::identify::AccessTarget;
use crate::names::MemberKey;

/// Rows of one path at most. More would hide the other members, and are one row.
const ROWS_MAX: usize = 256;

/// Elements that a row is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RowElements {
    /// Path with `[]` for each array.
    path: String,
    /// First and last index in each array of the path, outermost first.
    indices: Vec<(u64, u64)>,
    /// Number of elements of each dimension but the first, by array.
    inner_counts: Vec<Vec<u64>>,
}

impl RowElements {
    /// Returns the element at a target; `None` for members that are no elements.
    pub fn at_target(target: &AccessTarget, addr: Addr) -> Option<Self> {
        match target {
            AccessTarget::Member { object, member } => {
                // Where the object is the only element that its type has, its array tells the
                // index.
                let own_index = |element: &ArrayElement| {
                    let array = object.array?;
                    let is_whole = element.array_offset == 0 && element.count <= 1;
                    is_whole.then(|| array.index_of(addr)).flatten()
                };
                let index = |element: &ArrayElement| own_index(element).unwrap_or(element.index);
                (!member.elements.is_empty()).then(|| Self {
                    path: member.path.clone(),
                    indices: { member.elements.iter() }
                        .map(|element| (index(element), index(element)))
                        .collect(),
                    inner_counts: { member.elements.iter() }
                        .map(|element| element.inner_counts.clone())
                        .collect(),
                })
            }
            AccessTarget::Scalar(object) => {
                let index = object.array?.index_of(addr)?;
                Some(Self {
                    path: format!("{}[]", object.variable.as_deref().unwrap_or_default()),
                    indices: vec![(index, index)],
                    inner_counts: vec![Vec::new()],
                })
            }
            AccessTarget::Unresolved(_) => None,
        }
    }

    /// Returns the elements of both if they are neighbours in one array and in no other differ.
    fn joined(&self, behind: &Self) -> Option<Self> {
        if self.path != behind.path || self.indices.len() != behind.indices.len() {
            return None;
        }
        let mut joined = self.clone();
        let mut differing = { joined.indices.iter_mut().zip(&behind.indices) }
            .filter(|(own, other)| *own != *other);
        let (own, other) = differing.next()?;
        let are_neighbours = own.1.checked_add(1) == Some(other.0);
        own.1 = other.1;
        let is_only = differing.next().is_none();
        (are_neighbours && is_only).then_some(joined)
    }

    /// Returns the path with indices: `lists[2].counts[0..3]`.
    fn name(&self) -> String {
        let mut parts = self.path.split("[]");
        let mut name = parts.next().unwrap_or_default().to_owned();
        let mut arrays = self.indices.iter().zip(&self.inner_counts);
        for part in parts {
            if let Some((&(first, last), inner_counts)) = arrays.next() {
                name.push_str(&index_range(first, last, inner_counts));
            }
            name.push_str(part);
        }
        name
    }
}

/// Returns `[2]`, `[0..3]`, or `[0][1]..[1][0]` in an array of two dimensions.
fn index_range(first: u64, last: u64, inner_counts: &[u64]) -> String {
    let element = ArrayElement {
        array_offset: 0,
        stride: 1,
        count: 0,
        inner_counts: inner_counts.to_vec(),
        index: first,
    };
    match (first == last, inner_counts.is_empty()) {
        (true, _) => element.index_words(first),
        (false, true) => format!("[{first}..{last}]"),
        (false, false) => {
            let [first, last] = [first, last].map(|index| element.index_words(index));
            format!("{first}..{last}")
        }
    }
}

/// A row of the table of members.
pub(super) struct MemberRow {
    pub key: MemberKey,
    pub elements: Option<RowElements>,
    pub counts: MemberCounts,
    /// Path with indices, where the path has several rows.
    pub name: Option<String>,
}

/// Joins rows of elements that are used alike, names the others by their indices, and returns all
/// in the order of their offsets.
pub(super) fn join_element_rows(rows: Vec<MemberRow>) -> Vec<MemberRow> {
    let mut joined = join_rows(rows, MemberCounts::are_alike);
    let count_by_path = |rows: &[MemberRow]| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for elements in rows.iter().filter_map(|row| row.elements.as_ref()) {
            *counts.entry(elements.path.clone()).or_default() += 1;
        }
        counts
    };
    let counts = count_by_path(&joined);
    if counts.values().any(|count| *count > ROWS_MAX) {
        let is_long = |row: &MemberRow| {
            { row.elements.as_ref() }.is_some_and(|elements| counts[&elements.path] > ROWS_MAX)
        };
        let (long, short): (Vec<MemberRow>, Vec<MemberRow>) = joined.into_iter().partition(is_long);
        joined = short;
        joined.extend(one_row_for_each_path(long));
        joined.sort_by(|a, b| a.key.cmp(&b.key));
    }
    let counts = count_by_path(&joined);
    for row in &mut joined {
        let several = { row.elements.as_ref() }.filter(|elements| counts[&elements.path] > 1);
        if let Some(elements) = several {
            row.name = Some(elements.name());
        }
    }
    joined
}

fn join_rows(
    rows: Vec<MemberRow>,
    are_alike: impl Fn(&MemberCounts, &MemberCounts) -> bool,
) -> Vec<MemberRow> {
    let mut joined: Vec<MemberRow> = Vec::new();
    let mut last_of_path: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows {
        let Some(elements) = &row.elements else {
            joined.push(row);
            continue;
        };
        let last = last_of_path
            .get(&elements.path)
            .map(|last| &mut joined[*last]);
        let both = last.and_then(|last| {
            let together = last.elements.as_ref()?.joined(elements)?;
            are_alike(&last.counts, &row.counts).then_some((last, together))
        });
        match both {
            Some((last, together)) => {
                last.elements = Some(together);
                last.add(row);
            }
            None => {
                last_of_path.insert(elements.path.clone(), joined.len());
                joined.push(row);
            }
        }
    }
    joined
}

fn one_row_for_each_path(rows: Vec<MemberRow>) -> Vec<MemberRow> {
    let mut by_path: BTreeMap<String, MemberRow> = BTreeMap::new();
    for row in rows {
        let path =
            { row.elements.as_ref() }.map_or(String::new(), |elements| elements.path.clone());
        match by_path.get_mut(&path) {
            Some(first) => first.add(row),
            None => {
                by_path.insert(path, row);
            }
        }
    }
    by_path.into_values().collect()
}

impl MemberRow {
    /// Adds the counts of a row behind it, and its bytes.
    fn add(&mut self, behind: Self) {
        let end = |key: &MemberKey| key.0.saturating_add_unsigned(key.1);
        let last = end(&self.key).max(end(&behind.key));
        self.key.1 = last.abs_diff(self.key.0);
        self.counts.add(behind.counts);
    }
}
