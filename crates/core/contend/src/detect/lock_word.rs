//! A lock word beside data: contexts that try to take the lock take the line from its holder.
//!
//! The member must lie in a type that is known to be a lock, since an atomic counter is not one;
//! a locked instruction must have taken such a lock on that line; and several contexts must have used the lock of
//! one object, since a lock that one context alone takes is data like any other. The store that releases the
//! lock need not be locked: a spinlock's is a plain store, and a context that reads the data loses
//! the line to it. Most transfers must be between the lock and members that are not part of a lock.

use std::collections::BTreeSet;

use relayout_profile::{AccessKind, Addr, ContextId, Profile, RunId, Site, SiteId};
use rustc_hash::FxHashMap;

use super::DetectContext;
use super::group_replays::{self, ReplayedPart};
use crate::finding::FindingKind;
use crate::group::{LineGroup, ResolvedConflict, object_at};
use crate::identify::AccessTarget;
use crate::lock_types::lock_type_of;
use crate::remedy::{Remedy, ReplayComparison};
use crate::replay::{CoherenceTally, RecordedPlacement, replay};

/// Nothing is advised where less than one in this many transfers was logged in order.
const LOGGED_PART: u64 = 20;
/// One in this many events of a lock, at least, is of the contexts beside the one that uses it most.
const USER_PART: u64 = 100;

pub(super) fn detect(
    group: &LineGroup,
    tally: &CoherenceTally,
    context: &DetectContext,
) -> Option<FindingKind> {
    if !is_shared_lock(group) {
        return None;
    }
    let taken_types = taken_locks(group, context.profile);
    let between_lock_and_data: u64 = group
        .conflicts
        .iter()
        .filter(|conflict| {
            match (
                lock_at_target(conflict.here),
                lock_at_target(conflict.there),
            ) {
                (Some(lock), None) => taken_types.contains(lock) && is_member(conflict.there),
                (None, Some(lock)) => taken_types.contains(lock) && is_member(conflict.here),
                _ => false,
            }
        })
        .map(|conflict| crate::group::row_tally(conflict.row).transfers())
        .sum();
    super::is_majority(between_lock_and_data, tally.transfers()).then_some(FindingKind::LockWord)
}

/// Returns true if several contexts used the locks of one object. One that did so in less than a hundredth of the
/// events, as the one that made the lock, does not count.
fn is_shared_lock(group: &LineGroup<'_>) -> bool {
    let mut events: FxHashMap<(RunId, Addr), FxHashMap<ContextId, u64>> = FxHashMap::default();
    for ResolvedConflict { row, here, there } in &group.conflicts {
        for (place, context) in [(here, row.context), (there, row.other_context)] {
            if let Some(object) = object_at(place).filter(|_| lock_at_target(place).is_some()) {
                let by_context = events.entry((row.run, object.base)).or_default();
                *by_context.entry(context).or_default() += row.count;
            }
        }
    }
    events.values().any(|by_context| {
        let all: u64 = by_context.values().sum();
        let most = by_context.values().max().copied().unwrap_or(0);
        (all - most) * USER_PART >= all
    })
}

/// Returns the types of the locks that were taken: a locked instruction accessed them.
fn taken_locks<'a>(group: &LineGroup<'a>, profile: &Profile) -> BTreeSet<&'a str> {
    let locked = |site: SiteId, access| {
        // A call that reads and writes stands for a locked instruction.
        access == AccessKind::ReadWrite
            && (profile.is_call(site) || profile.sites.get(site.index()).is_some_and(is_locked))
    };
    let sides = group
        .conflicts
        .iter()
        .flat_map(|ResolvedConflict { row, here, there }| {
            [
                (*here, row.site, row.access),
                (*there, row.other_site, row.other_access),
            ]
        });
    sides
        .filter(|(_, site, access)| locked(*site, *access))
        .filter_map(|(place, ..)| lock_at_target(place))
        .collect()
}

fn lock_at_target(place: &AccessTarget) -> Option<&str> {
    match place {
        AccessTarget::Member { member, .. } => lock_type_of(member),
        _ => None,
    }
}

fn is_member(place: &AccessTarget) -> bool {
    matches!(place, AccessTarget::Member { .. })
}

/// Advises whether the lock should be apart from its data, by replay of the recorded mix. A context
/// that spins on the lock takes the line from its holder; but a context that gets the lock gets the
/// data with it if they lie together.
pub(super) fn remedy(
    group: &LineGroup,
    tally: &CoherenceTally,
    context: &DetectContext,
) -> Option<Remedy> {
    let places = group
        .conflicts
        .iter()
        .flat_map(|conflict| [conflict.here, conflict.there]);
    let words: BTreeSet<(u32, u32)> = places
        .filter_map(|place| match place {
            AccessTarget::Member { member, .. } => lock_type_of(member).map(|_| member),
            _ => None,
        })
        .filter_map(|member| {
            let end = member.offset.checked_add(member.size)?;
            Some((u32::try_from(member.offset).ok()?, u32::try_from(end).ok()?))
        })
        .collect();
    let line = context.line_bytes as u32;
    let is_lock = |offset: u32| {
        words
            .iter()
            .any(|(start, end)| (*start..*end).contains(&offset))
    };
    let replayed = context.replays.transfers_by_way(
        group,
        ReplayedPart::Lines,
        [
            &|trace| replay(trace, trace.phase(line), &RecordedPlacement, line),
            &|trace| {
                let apart = group_replays::place_apart(trace, line, is_lock);
                replay(trace, trace.phase(line), &apart, line)
            },
        ],
    );
    let replayed = ReplayComparison::from(replayed?);
    if replayed.today.saturating_mul(LOGGED_PART) < tally.transfers() {
        return None;
    }
    Some(Remedy::Lock {
        apart: replayed.helps(),
        replayed,
    })
}

/// Returns true for an addition by a locked x86 instruction: of a constant, a register or 1. For
/// calls it is unknown and taken as true.
pub(super) fn is_locked_addition(profile: &Profile, site: SiteId, access: AccessKind) -> bool {
    /// Extension of the opcode in the ModRM byte.
    fn opcode_extension(modrm: u8) -> u8 {
        modrm >> 3 & 7
    }
    if profile.is_call(site) {
        return access == AccessKind::ReadWrite;
    }
    let Some(site) = profile
        .sites
        .get(site.index())
        .filter(|_| access == AccessKind::ReadWrite)
    else {
        return false;
    };
    match opcode(site) {
        (true, [0x00 | 0x01 | 0x28 | 0x29, ..] | [0x0f, 0xc0 | 0xc1, ..]) => true,
        (true, [0xfe | 0xff, modrm, ..]) => matches!(opcode_extension(*modrm), 0 | 1),
        (true, [0x80 | 0x81 | 0x83, modrm, ..]) => matches!(opcode_extension(*modrm), 0 | 5),
        _ => false,
    }
}

/// Returns true for an x86 instruction with a lock prefix, or an exchange with memory, which locks
/// by itself.
fn is_locked(site: &Site) -> bool {
    let (locked, rest) = opcode(site);
    locked || matches!(rest, [0x86 | 0x87, ..])
}

/// Returns whether an x86 instruction has a lock prefix, and its bytes without prefixes.
fn opcode(site: &Site) -> (bool, &[u8]) {
    const LOCK: u8 = 0xf0;
    let prefix = |byte: &&u8| {
        matches!(
            **byte,
            LOCK | 0xf2 | 0xf3 | 0x2e | 0x36 | 0x3e | 0x26 | 0x64 | 0x65 | 0x66 | 0x67
        )
    };
    let count = site.bytes.iter().take_while(prefix).count();
    let (prefixes, rest) = site.bytes.split_at(count);
    let rest = match rest {
        [0x40..=0x4f, rest @ ..] => rest,
        rest => rest,
    };
    (prefixes.contains(&LOCK), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expect: bool) {
        assert_eq!(
            is_locked(&Site {
                pc: 0,
                bytes: bytes.to_vec()
            }),
            expect,
            "{bytes:x?}"
        );
    }

    #[test]
    fn sums() {
        let check = |bytes: &[u8], expect: bool| {
            let site = Site {
                pc: 0,
                bytes: bytes.to_vec(),
            };
            let profile = Profile {
                sites: vec![site],
                ..Profile::default()
            };
            assert_eq!(
                is_locked_addition(&profile, SiteId(0), AccessKind::ReadWrite),
                expect,
                "{bytes:x?}"
            );
        };
        check(&[0xf0, 0x48, 0xff, 0x07], true); // lock incq (%rdi)
        check(&[0xf0, 0xff, 0x0f], true); // lock decl (%rdi)
        check(&[0xf0, 0x48, 0x01, 0x07], true); // lock add %rax,(%rdi)
        check(&[0xf0, 0x48, 0x83, 0x2f, 0x08], true); // lock subq $8,(%rdi)
        check(&[0xf0, 0x0f, 0xc1, 0x07], true); // lock xadd %eax,(%rdi)
        check(&[0xf0, 0x80, 0x0f, 0x01], false); // lock orb $1,(%rdi)
        check(&[0xf0, 0x0f, 0xb1, 0x17], false); // lock cmpxchg %edx,(%rdi)
        check(&[0xf0, 0x48, 0x0f, 0xab, 0x07], false); // lock bts %rax,(%rdi)
        check(&[0x48, 0xff, 0x07], false); // incq (%rdi)
        check(&[], true); // a call
    }

    #[test]
    fn locked_instructions() {
        check(&[0xf0, 0x0f, 0xb1, 0x17], true); // lock cmpxchg %edx,(%rdi)
        check(&[0x3e, 0xf0, 0x48, 0x0f, 0xc1, 0x07], true); // ds lock xadd %rax,(%rdi)
        check(&[0x48, 0x87, 0x07], true); // xchg %rax,(%rdi)
        check(&[0x87, 0x07], true); // xchg %eax,(%rdi)
        check(&[0x48, 0xff, 0x07], false); // incq (%rdi)
        check(&[0x0f, 0xb1, 0x17], false); // cmpxchg without lock
        check(&[], false);
    }
}
