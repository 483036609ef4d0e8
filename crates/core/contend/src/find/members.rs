//! Accessed members of a group.

use std::collections::{BTreeMap, BTreeSet};

use relayout_profile::{AccessKind, Addr, ContextId};

use crate::finding::FindingMember;
use crate::group::{self, LineGroup};
use crate::identify::{AccessTarget, TargetObject};
use crate::names::{MemberKey, member_key};

/// Counts of one member.
#[derive(Default)]
struct MemberCounts {
    reads: u64,
    writes: u64,
    silent: Option<u64>,
    contexts: BTreeSet<ContextId>,
    writers: BTreeSet<ContextId>,
    transfers: u64,
}

pub(super) fn accessed_members(group: &LineGroup) -> Vec<FindingMember> {
    // Each variable of a line of scalars is a member, at its distance from the variable that gave the
    // line its name.
    let key = |target: &AccessTarget, addr: Addr| {
        let line = addr.align_down(group.line_bytes);
        let offset =
            |object: &TargetObject| object.base.wrapping_sub(line) as i64 + group.line_offset;
        member_key(target, addr, offset)
    };
    let mut members: BTreeMap<MemberKey, MemberCounts> = BTreeMap::new();
    for count in &group.counts {
        let Some(key) = key(count.target, count.row.addr) else {
            continue;
        };
        let member = members.entry(key).or_default();
        member.contexts.insert(count.row.context);
        if count.row.access != AccessKind::Write {
            member.reads += count.row.count;
        }
        if count.row.access != AccessKind::Read {
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
        let Some(key) = key(conflict.here, conflict.row.addr) else {
            continue;
        };
        let member = members.entry(key).or_default();
        member.transfers += group::row_tally(conflict.row).transfers();
        member.contexts.insert(conflict.row.context);
    }
    members
        .into_iter()
        .map(|((offset, size, name), gathered)| FindingMember {
            name,
            offset,
            size,
            reads: gathered.reads,
            writes: gathered.writes,
            silent_writes: gathered.silent,
            context_ids: gathered.contexts.into_iter().collect(),
            writer_ids: gathered.writers.into_iter().collect(),
            transfers: gathered.transfers,
        })
        .collect()
}
