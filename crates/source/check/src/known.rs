//! Earlier layouts of types, for the comparison with the current layout.

use std::collections::HashSet;

use relayout_layout::{TypeArena, TypeId};

use crate::members::{self, MatchedMember};

/// Earlier layout of a type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownType {
    /// Name of the type with its scope: `net::Socket`.
    pub name: String,
    /// `sizeof` of the type in bytes.
    pub size: u64,
    /// Members in order of declaration, and the inner members that matter. A member comes before
    /// the members inside it.
    pub members: Vec<KnownMember>,
}

/// Earlier position of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownMember {
    /// Path from the type: `mmap_lock.owner`.
    pub path: String,
    /// Offset of the first bit from the start of the type.
    pub first_bit: u64,
    /// Size in bits; 0 if unknown.
    pub size_bits: u64,
}

impl KnownType {
    /// Takes the current layout of the type, with the inner members on the way to each of `paths`.
    pub(crate) fn from_definition(
        types: &TypeArena,
        id: TypeId,
        name: &str,
        paths: &[String],
    ) -> Self {
        let mut members = Vec::new();
        collect_members(types, &members::whole_type(id), paths, &mut members);
        Self {
            name: name.to_owned(),
            size: types.size_of(id).unwrap_or(0),
            members,
        }
    }

    /// Adds the `members` that are not in the list yet.
    pub(crate) fn add_missing_members(&mut self, members: Vec<KnownMember>) {
        let known: HashSet<String> = self
            .members
            .iter()
            .map(|member| member.path.clone())
            .collect();
        let new = members.into_iter();
        self.members
            .extend(new.filter(|member| !known.contains(&member.path)));
    }

    /// Returns the member at this path.
    pub(crate) fn member(&self, path: &str) -> Option<&KnownMember> {
        self.members.iter().find(|member| member.path == path)
    }

    /// Returns the direct members of `outer`, a path. An empty path means the type itself.
    pub(crate) fn directly_in<'k>(
        &'k self,
        outer: &'k str,
    ) -> impl Iterator<Item = &'k KnownMember> {
        self.members
            .iter()
            .filter(move |member| parent_path(&member.path) == outer)
    }
}

impl KnownMember {
    /// Offset of the member's first byte from the start of the type.
    pub fn offset(&self) -> u64 {
        self.first_bit / 8
    }

    /// Takes the current position of the member.
    pub(crate) fn from_match(place: &MatchedMember) -> Self {
        Self {
            path: place.path.clone(),
            first_bit: place.first_bit,
            size_bits: place.size_bits,
        }
    }
}

fn collect_members(
    types: &TypeArena,
    outer: &MatchedMember,
    paths: &[String],
    found: &mut Vec<KnownMember>,
) {
    for child in members::direct_members(types, outer) {
        if found.len() > members::MEMBERS_MAX {
            return;
        }
        found.push(KnownMember::from_match(&child));
        let on_the_way = |path: &&String| {
            let rest = path.strip_prefix(child.path.as_str());
            rest.is_some_and(|rest| rest.starts_with('.'))
        };
        let further: Vec<String> = paths.iter().filter(on_the_way).cloned().collect();
        if !further.is_empty() {
            collect_members(types, &child, &further, found);
        }
    }
}

/// Path of the member that contains the last component: `mmap_lock` for `mmap_lock.owner`.
fn parent_path(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(outer, _)| outer)
}
