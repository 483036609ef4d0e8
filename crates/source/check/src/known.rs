//! Where the members of a type were at another time: what a change is told from.

use std::collections::HashSet;

use relayout_layout::{TypeArena, TypeId};

use crate::members::{self, MatchedMember};

/// A type as it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownType {
    /// With the scope: `net::Socket`.
    pub name: String,
    /// `sizeof` in bytes.
    pub size: u64,
    /// Its members in order of declaration, and those inside the members that matter; a member
    /// comes before what is in it.
    pub members: Vec<KnownMember>,
}

/// A member as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownMember {
    /// From the type: `mmap_lock.owner`.
    pub path: String,
    /// From the start of the type.
    pub first_bit: u64,
    /// 0 where it is not known.
    pub size_bits: u64,
}

impl KnownType {
    /// The type as it is now, with what is inside the members on the way to each of `paths`.
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

    /// Adds those of `members` that are not known yet.
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

    /// The member of this path.
    pub(crate) fn member(&self, path: &str) -> Option<&KnownMember> {
        self.members.iter().find(|member| member.path == path)
    }

    /// The members directly in `outer`, which is a path; of the type itself, if it is empty.
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
    /// Offset of its first byte.
    pub fn offset(&self) -> u64 {
        self.first_bit / 8
    }

    /// The place where it is now, as it is known.
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

/// What the last member of a path is in: `mmap_lock` of `mmap_lock.owner`.
fn parent_path(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(outer, _)| outer)
}
