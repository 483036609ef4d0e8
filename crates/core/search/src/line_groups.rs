//! Cache line groups: members between `__cacheline_group_begin(NAME)` and `_end(NAME)`.
//!
//! Linux has them since 6.8. The marks are members without bytes, and code elsewhere asserts which
//! members a group has and how large it is. So the marks are fences: a candidate moves no member
//! into a group or out of one.

use std::collections::BTreeSet;

use relayout_layout::abi::StructShape;

const BEGIN: &str = "__cacheline_group_begin__";
const END: &str = "__cacheline_group_end__";

/// Group of a struct's members.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LineGroup {
    name: String,
    /// Atom of the mark at the start.
    begin: usize,
    /// Atom of the mark at the end.
    end: usize,
}

/// Cache line groups of a struct.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineGroups {
    groups: Vec<LineGroup>,
    /// Atoms between two neighbouring marks, or beyond the first and last one; with the marks, each
    /// by itself.
    sections: Vec<Vec<usize>>,
}

/// Member that enters or leaves a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupCrossing {
    /// Name of the member.
    pub member: String,
    /// Name of the group.
    pub group: String,
    /// True if the member leaves the group.
    pub leaves: bool,
}

impl LineGroups {
    /// Groups of a struct with both marks, in the order of their first marks.
    pub fn from_shape(shape: &StructShape) -> Self {
        let atoms = || {
            shape
                .atoms
                .iter()
                .enumerate()
                .filter(|(_, atom)| atom.size == 0)
        };
        let groups = atoms().filter_map(|(begin, atom)| {
            let name = atom.name.strip_prefix(BEGIN)?;
            let (end, _) = atoms().find(|(_, atom)| atom.name.strip_prefix(END) == Some(name))?;
            let name = name.to_owned();
            (begin < end).then_some(LineGroup { name, begin, end })
        });
        let groups: Vec<LineGroup> = groups.collect();
        let mut sections = vec![Vec::new()];
        for atom in 0..shape.atoms.len() {
            if groups
                .iter()
                .any(|group| [group.begin, group.end].contains(&atom))
            {
                sections.extend([vec![atom], Vec::new()]);
            } else if let Some(section) = sections.last_mut() {
                section.push(atom);
            }
        }
        Self { groups, sections }
    }

    /// Returns true if the struct has no groups.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Names of the groups.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.groups.iter().map(|group| group.name.as_str())
    }

    /// Returns true if every group has the same members in `order`, a permutation of the atoms.
    pub(crate) fn are_kept(&self, order: &[usize]) -> bool {
        self.groups.iter().all(|group| {
            let now = members_between(order, group);
            now.len() == group.end - group.begin - 1
                && now
                    .iter()
                    .all(|atom| (group.begin..group.end).contains(atom))
        })
    }

    /// Returns the members that enter or leave a group in `order`, a permutation of the atoms of
    /// `shape`.
    pub fn crossings(&self, shape: &StructShape, order: &[usize]) -> Vec<GroupCrossing> {
        let mut found = Vec::new();
        for group in &self.groups {
            let now: BTreeSet<usize> = members_between(order, group).iter().copied().collect();
            let was: BTreeSet<usize> = (group.begin + 1..group.end).collect();
            let crossing = |leaves| {
                move |atom: &usize| GroupCrossing {
                    member: shape.atoms[*atom].name.clone(),
                    group: group.name.clone(),
                    leaves,
                }
            };
            found.extend(was.difference(&now).map(crossing(true)));
            found.extend(now.difference(&was).map(crossing(false)));
        }
        found
    }

    /// The atoms in `order` as far as no atom passes a mark: between two marks are those of today,
    /// in that order.
    pub(crate) fn confine(&self, order: &[usize]) -> Vec<usize> {
        let mut place = vec![0; order.len()];
        for (index, atom) in order.iter().enumerate() {
            place[*atom] = index;
        }
        let mut confined = self.sections.clone();
        for section in &mut confined {
            section.sort_by_key(|atom| place[*atom]);
        }
        confined.concat()
    }
}

/// Atoms between the marks of a group in `order`; nothing if the marks are exchanged.
fn members_between<'o>(order: &'o [usize], group: &LineGroup) -> &'o [usize] {
    let place = |mark| order.iter().position(|atom| *atom == mark);
    match (place(group.begin), place(group.end)) {
        (Some(begin), Some(end)) if begin < end => &order[begin + 1..end],
        _ => &[],
    }
}
