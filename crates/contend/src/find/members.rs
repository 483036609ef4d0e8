//! The members of a group, with what was seen of each.

use std::collections::{BTreeMap, BTreeSet};

use relayout_profile::Access;

use crate::finding::Member;
use crate::group::{self, Group};
use crate::identify::Place;

/// What is gathered about one member.
#[derive(Default)]
struct Gathered {
    reads: u64,
    writes: u64,
    silent: Option<u64>,
    contexts: BTreeSet<u16>,
    writers: BTreeSet<u16>,
    transfers: u64,
}

pub(super) fn members(group: &Group) -> Vec<Member> {
    let mut members: BTreeMap<(i64, u64, String), Gathered> = BTreeMap::new();
    for count in &group.counts {
        let Some(key) = member_key(group, count.place, count.row.addr) else {
            continue;
        };
        let member = members.entry(key).or_default();
        member.contexts.insert(count.row.context);
        if count.row.access != Access::Write {
            member.reads += count.row.count;
        }
        if count.row.access != Access::Read {
            member.writes += count.row.count;
            member.writers.insert(count.row.context);
            if let Some(silent) = count.row.silent {
                *member.silent.get_or_insert(0) += silent;
            }
        }
        // A member that is only read has no silent stores, where they would have been seen.
        if count.row.silent.is_some() {
            member.silent.get_or_insert(0);
        }
    }
    for conflict in &group.conflicts {
        let Some(key) = member_key(group, conflict.here, conflict.row.addr) else {
            continue;
        };
        let member = members.entry(key).or_default();
        member.transfers += group::tally(conflict.row).transfers();
        member.contexts.insert(conflict.row.context);
    }
    members
        .into_iter()
        .map(|((offset, size, name), gathered)| Member {
            name,
            offset,
            size,
            reads: gathered.reads,
            writes: gathered.writes,
            silent_writes: gathered.silent,
            contexts: gathered.contexts.len() as u32,
            writers: gathered.writers.len() as u32,
            transfers: gathered.transfers,
        })
        .collect()
}

/// Offset, size and name of what an access touched. A hole has no bounds of its own, so it is
/// named by the byte.
fn member_key(group: &Group, place: &Place, addr: u64) -> Option<(i64, u64, String)> {
    match place {
        Place::Member { object, member } if member.path.is_empty() => {
            Some((addr.wrapping_sub(object.base) as i64, 1, String::new()))
        }
        Place::Member { member, .. } => {
            Some((member.offset as i64, member.size, member.path.clone()))
        }
        // Each variable of a line of scalars is a member, at its distance from the one that gave
        // the line its name.
        Place::Scalar(object) => {
            let line = addr - addr % group.line_bytes;
            let offset = object.base.wrapping_sub(line) as i64 + group.line_offset;
            Some((
                offset,
                object.bytes,
                object.variable.clone().unwrap_or_default(),
            ))
        }
        Place::Unresolved(_) => None,
    }
}
