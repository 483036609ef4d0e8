//! Selection of the hot members in a profile.
//!
//! A cache line of a type is hot if its transfers reach a given fraction of all transfers in the
//! profile. The default fraction is [`LINE_SHARE_MIN`]. A member is hot if it lies on a hot line
//! and has at least [`MEMBER_SHARE_MIN`] of the line's accesses or transfers.

use std::collections::BTreeMap;

use crate::RecordedHotMember;

/// Minimum fraction of all transfers for a hot cache line.
pub const LINE_SHARE_MIN: f64 = 0.01;
/// Minimum fraction of a hot line's accesses or transfers for a hot member.
pub const MEMBER_SHARE_MIN: f64 = 0.01;

/// Contended cache line of a type in a profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContendedLine {
    /// Name of the type, without `struct` or another keyword.
    pub type_name: String,
    /// Offset of the line's start from the object's first byte, in bytes. The offset is negative if
    /// the object begins inside the line.
    pub line_offset: i64,
    /// Size of a cache line in bytes.
    pub line_bytes: u64,
    /// Transfers of the line as a fraction of all transfers in the profile.
    pub share: f64,
    /// Members on the line. In an array, the path has `[]` for the element at `offset`.
    pub members: Vec<RecordedHotMember>,
}

/// Hot members of a type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HotTypeMembers {
    /// Name of the type, without `struct` or another keyword.
    pub name: String,
    /// Offset of the object's start within its cache line, in bytes.
    pub phase: u64,
    /// Members in the order of their offsets.
    pub members: Vec<RecordedHotMember>,
}

/// Hot members, grouped by type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HotSelection {
    /// Types in the order of their names.
    pub types: Vec<HotTypeMembers>,
    /// Types with hot lines whose objects begin at different offsets within a line. Their member
    /// offsets do not tell which members share a cache line.
    pub unsteady: Vec<String>,
}

/// Selects the hot members. Lines at the same offset of a type count together; they can come from
/// several profiles, or from a type and a variable of the type.
pub fn select_hot(lines: &[ContendedLine], line_share_min: f64) -> HotSelection {
    let mut by_type: BTreeMap<&str, Vec<&ContendedLine>> = BTreeMap::new();
    let is_hot = |line: &&ContendedLine| line.share >= line_share_min && line.line_bytes > 0;
    for line in lines.iter().filter(is_hot) {
        by_type.entry(&line.type_name).or_default().push(line);
    }
    let mut hot = HotSelection::default();
    for (name, lines) in by_type {
        let phase = |line: &ContendedLine| {
            line.line_offset
                .wrapping_neg()
                .rem_euclid(line.line_bytes.max(1) as i64) as u64
        };
        let members = hot_members(&lines);
        match lines.first().map(|first| phase(first)) {
            _ if members.is_empty() => {}
            Some(first) if lines.iter().all(|line| phase(line) == first) => {
                hot.types.push(HotTypeMembers {
                    name: name.to_owned(),
                    phase: first,
                    members,
                });
            }
            _ => hot.unsteady.push(name.to_owned()),
        }
    }
    hot
}

fn hot_members(lines: &[&ContendedLine]) -> Vec<RecordedHotMember> {
    let mut found: BTreeMap<(u64, String), RecordedHotMember> = BTreeMap::new();
    for line in lines {
        let accesses = |member: &RecordedHotMember| member.reads.saturating_add(member.writes);
        let total = |count: &dyn Fn(&RecordedHotMember) -> u64| {
            let counts = line.members.iter().map(count);
            counts.fold(0u64, u64::saturating_add) as f64
        };
        let all_accesses = total(&accesses);
        let all_transfers = total(&|member| member.transfers);
        for member in &line.members {
            let takes_part = accesses(member) as f64 >= MEMBER_SHARE_MIN * all_accesses
                || member.transfers as f64 >= MEMBER_SHARE_MIN * all_transfers;
            // A hole has no name.
            if member.path.is_empty() || !takes_part {
                continue;
            }
            let place = (member.offset, member.path.clone());
            let known = found.entry(place).or_insert_with(|| RecordedHotMember {
                path: member.path.clone(),
                offset: member.offset,
                size: member.size,
                ..RecordedHotMember::default()
            });
            known.reads = known.reads.saturating_add(member.reads);
            known.writes = known.writes.saturating_add(member.writes);
            known.transfers = known.transfers.saturating_add(member.transfers);
            known.contexts = known.contexts.max(member.contexts);
        }
    }
    found.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::{ContendedLine, select_hot};
    use crate::RecordedHotMember;

    fn member(
        path: &str,
        offset: u64,
        (reads, writes, transfers): (u64, u64, u64),
    ) -> RecordedHotMember {
        RecordedHotMember {
            path: path.to_owned(),
            offset,
            size: 8,
            reads,
            writes,
            contexts: 4,
            transfers,
        }
    }

    fn line(
        name: &str,
        line_offset: i64,
        share: f64,
        members: &[RecordedHotMember],
    ) -> ContendedLine {
        ContendedLine {
            type_name: name.to_owned(),
            line_offset,
            line_bytes: 64,
            share,
            members: members.to_vec(),
        }
    }

    /// Compares the selection with `type@phase: member member` lines, then the unsteady types.
    #[track_caller]
    fn check(lines: &[ContendedLine], expect: &str) {
        let hot = select_hot(lines, 0.01);
        let mut words = Vec::new();
        for hot_type in &hot.types {
            let members = hot_type.members.iter().map(|member| {
                let accesses = member.reads + member.writes;
                format!(" {}:{accesses}", member.path)
            });
            words.push(format!(
                "{}@{}{}",
                hot_type.name,
                hot_type.phase,
                members.collect::<String>()
            ));
        }
        words.extend(hot.unsteady.iter().map(|name| format!("{name}?")));
        assert_eq!(words.join(", "), expect);
    }

    #[test]
    fn members_that_take_part_in_a_hot_line() {
        let members = [
            member("often", 64, (900, 85, 0)),
            member("seldom", 72, (9, 0, 0)),
            member("waits", 80, (5, 0, 50)),
            member("", 88, (500, 500, 0)),
        ];
        check(&[line("mm", 64, 0.01, &members)], "mm@0 often:985 waits:5");
        check(&[line("mm", 64, 0.0099, &members)], "");
    }

    #[test]
    fn the_same_place_counts_together() {
        let here = [member("a", 0, (10, 0, 1))];
        let lines = [line("rq", 0, 0.5, &here), line("rq", 0, 0.1, &here)];
        check(&lines, "rq@0 a:20");
    }

    #[test]
    fn objects_that_do_not_begin_on_a_line() {
        let here = [member("a", 40, (10, 0, 1))];
        check(&[line("node", -32, 0.5, &here)], "node@32 a:10");
        check(&[line("node", 32, 0.5, &here)], "node@32 a:10");
        let lines = [line("node", -32, 0.5, &here), line("node", 0, 0.5, &here)];
        check(&lines, "node?");
        check(&[line("node", i64::MIN, 0.5, &here)], "node@0 a:10");
    }
}
