//! Accessed members of a group.

use std::collections::{BTreeMap, BTreeSet};

use relayout_profile::{AccessKind, Addr, ContextId};

use super::element_rows::{MemberRow, RowElements, join_element_rows};
use crate::finding::FindingMember;
use crate::group::{self, LineGroup};
use crate::identify::{AccessTarget, TargetObject};
use crate::names::{MemberKey, member_key};

/// Counts of one member.
#[derive(Default)]
pub(super) struct MemberCounts {
    reads: u64,
    writes: u64,
    silent: Option<u64>,
    contexts: BTreeSet<ContextId>,
    writers: BTreeSet<ContextId>,
    transfers: u64,
}

impl MemberCounts {
    pub fn add(&mut self, other: Self) {
        self.reads = self.reads.saturating_add(other.reads);
        self.writes = self.writes.saturating_add(other.writes);
        self.silent = match (self.silent, other.silent) {
            (None, None) => None,
            (own, silent) => Some(own.unwrap_or(0).saturating_add(silent.unwrap_or(0))),
        };
        self.contexts.extend(other.contexts);
        self.writers.extend(other.writers);
        self.transfers = self.transfers.saturating_add(other.transfers);
    }

    /// Returns true if the same contexts use both; of several contexts, most of them.
    pub fn are_alike(&self, other: &Self) -> bool {
        let share_most = |own: &BTreeSet<ContextId>, others: &BTreeSet<ContextId>| {
            let common = own.intersection(others).count();
            own == others || common > 1 && 2 * common >= own.union(others).count()
        };
        share_most(&self.contexts, &other.contexts) && share_most(&self.writers, &other.writers)
    }
}

/// Member and element of a row.
type RowKey = (MemberKey, Option<RowElements>);

pub(super) fn accessed_members(group: &LineGroup) -> Vec<FindingMember> {
    // Each variable of a line of scalars is a member, at its distance from the variable that gave the
    // line its name.
    let key = |target: &AccessTarget, addr: Addr| -> Option<RowKey> {
        let line = addr.align_down(group.line_bytes);
        // Elements of a joined finding lie on several lines.
        let offset = |object: &TargetObject| match object.array {
            Some(array) => object.base.wrapping_sub(array.base) as i64,
            None => object.base.wrapping_sub(line) as i64 + group.line_offset,
        };
        let key = member_key(target, addr, offset)?;
        Some((key, RowElements::at_target(target, addr)))
    };
    let mut members: BTreeMap<RowKey, MemberCounts> = BTreeMap::new();
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
    let rows = members
        .into_iter()
        .map(|((key, elements), counts)| MemberRow {
            key,
            elements,
            counts,
            name: None,
        });
    { join_element_rows(rows.collect()).into_iter() }
        .map(|row| {
            let ((offset, size, path), counts) = (row.key, row.counts);
            FindingMember {
                name: row.name.unwrap_or_else(|| path.clone()),
                path,
                offset,
                size,
                reads: counts.reads,
                writes: counts.writes,
                silent_writes: counts.silent,
                context_ids: counts.contexts.into_iter().collect(),
                writer_ids: counts.writers.into_iter().collect(),
                transfers: counts.transfers,
            }
        })
        .collect()
}
