//! Hot members of the compared types: their places in both builds, and the pairs that share a line
//! in one build only.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use relayout_advice::{ResolvedNames, rank_findings, recorded_member};
use relayout_check::RecordedHotMember;
use relayout_contend::Findings;
use relayout_diff::{DiffStatus, LayoutDiff, TypeDiff, TypeLayout, entries_named, lines_overlap};
use relayout_layout::catalog::TypeCatalog;
use relayout_layout::{
    ArrayElements, LocatedMember, TypeArena, TypeId, canonical_type, readable_type_name,
};
use relayout_messages::{RecordingProgress, UserError};

use crate::with_resolved_profile;

/// Hot members of a type that are compared, most transfers first.
const MEMBERS_MAX: usize = 256;

/// Traffic of a type in a profile.
#[derive(Clone, Debug)]
pub struct HotTypeTraffic {
    /// Name of the type.
    pub name: String,
    /// Read and write transfers on its lines.
    pub transfers: u64,
    /// Fraction of all transfers in the profile.
    pub share: f64,
    /// Bytes into a line at which objects with transfers began, if all began at one.
    pub phase: Option<u64>,
    /// Members on its contended lines, most transfers first.
    pub members: Vec<RecordedHotMember>,
}

/// A hot member in both builds.
#[derive(Clone, Debug)]
pub struct HotMove {
    /// The member.
    pub member: RecordedHotMember,
    /// The member's path without a last part that says nothing more: `mmap_lock.owner`.
    pub short: String,
    /// Place in the old build.
    pub old: LocatedMember,
    /// Place in the new build.
    pub new: LocatedMember,
}

/// Two hot members that share a line in one build only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HotPair {
    /// Index of the hotter member in [`HotDiff::moves`].
    pub first: usize,
    /// Index of the other member.
    pub second: usize,
    /// They share a line in the new build, not in the old one.
    pub together: bool,
    /// The first line that they share or shared.
    pub line: u64,
    /// Accesses to the member that has fewer; 0 if neither is stored to, since reads alone move no
    /// line.
    pub heat: u64,
}

/// Hot members of a type whose layout changed.
#[derive(Clone, Debug)]
pub struct HotDiff {
    /// Transfers of the type in the profile.
    pub transfers: u64,
    /// Fraction of all transfers in the profile.
    pub share: f64,
    /// Bytes into a line at which objects with transfers began, if all began at one.
    pub phase: Option<u64>,
    /// Members that both builds have, most transfers first.
    pub moves: Vec<HotMove>,
    /// Pairs that changed, the hottest first.
    pub pairs: Vec<HotPair>,
    /// Members that only the old build has, most transfers first.
    pub gone: Vec<RecordedHotMember>,
}

/// Reads a profile's hot types, most transfers first.
///
/// # Errors
/// Those of [`with_resolved_profile`].
pub(super) fn read_hot_types(
    profile: &Path,
    debug: &[PathBuf],
    progress: &dyn RecordingProgress,
) -> Result<Vec<HotTypeTraffic>, UserError> {
    with_resolved_profile(profile, debug, progress, |resolved, images| {
        let names = ResolvedNames::new(resolved, images);
        Ok(hot_types(&rank_findings(resolved, &names, None)))
    })
}

fn hot_types(findings: &Findings) -> Vec<HotTypeTraffic> {
    let mut types: BTreeMap<&str, HotTypeTraffic> = BTreeMap::new();
    let mut members: BTreeMap<(&str, String, u64), RecordedHotMember> = BTreeMap::new();
    for finding in &findings.findings {
        let name = finding.subject.type_name();
        let phase = finding.phase();
        let found = types.entry(name).or_insert_with(|| HotTypeTraffic {
            name: name.to_owned(),
            transfers: 0,
            share: 0.0,
            phase,
            members: Vec::new(),
        });
        found.transfers += finding.tally.transfers();
        found.share += finding.share;
        found.phase = found.phase.filter(|known| Some(*known) == phase);
        for member in finding.members.iter().filter_map(recorded_member) {
            if !member.path.is_empty() {
                let hot = members
                    .entry((name, member.path.clone(), member.offset))
                    .or_insert_with(|| RecordedHotMember {
                        reads: 0,
                        writes: 0,
                        transfers: 0,
                        ..member.clone()
                    });
                hot.reads += member.reads;
                hot.writes += member.writes;
                hot.transfers += member.transfers;
                hot.contexts = hot.contexts.max(member.contexts);
            }
        }
    }
    for ((name, _, _), member) in members {
        if let Some(found) = types.get_mut(name) {
            found.members.push(member);
        }
    }
    let mut types: Vec<HotTypeTraffic> = types.into_values().collect();
    for found in &mut types {
        found
            .members
            .sort_by_key(|member| std::cmp::Reverse((member.transfers, accesses(member))));
        found.members.truncate(MEMBERS_MAX);
    }
    types.sort_by_key(|found| std::cmp::Reverse(found.transfers));
    types
}

/// Loads and stores; what does both counts twice.
fn accesses(member: &RecordedHotMember) -> u64 {
    member.reads.saturating_add(member.writes)
}

/// Finds the hot members of the changed types in both builds, by index in [`LayoutDiff::types`].
///
/// # Errors
/// Malformed debug information.
pub(super) fn compare_hot_types(
    files: &ComparedFiles<'_, '_, '_>,
    diff: &LayoutDiff,
    hot: &[HotTypeTraffic],
) -> Result<BTreeMap<usize, HotDiff>, UserError> {
    let mut found = BTreeMap::new();
    if hot.is_empty() {
        return Ok(found);
    }
    for (index, type_diff) in diff.types.iter().enumerate() {
        let shape = diff.layout(type_diff);
        let printed = readable_type_name(shape.key.scope.as_deref(), &shape.key.name);
        let printed = canonical_type(&printed);
        let named = || hot.iter().find(|hot| canonical_type(&hot.name) == printed);
        if let (DiffStatus::Changed, Some(hot)) = (type_diff.status, named())
            && let Some(hot) = files.compare(diff, type_diff, hot)?
        {
            found.insert(index, hot);
        }
    }
    Ok(found)
}

/// Both files.
pub struct ComparedFiles<'c, 'o, 'n> {
    /// Types of the earlier build.
    pub old: &'c TypeCatalog<'o>,
    /// Types of the later build.
    pub new: &'c TypeCatalog<'n>,
    /// Bytes of a cache line.
    pub line_bytes: u64,
}

impl ComparedFiles<'_, '_, '_> {
    /// Finds the hot members of a type in both builds; `None` if one of them lacks the type.
    ///
    /// # Errors
    /// Malformed debug information.
    pub fn compare(
        &self,
        diff: &LayoutDiff,
        type_diff: &TypeDiff,
        hot: &HotTypeTraffic,
    ) -> Result<Option<HotDiff>, UserError> {
        let Some((before, after)) = diff.both_layouts(type_diff) else {
            return Ok(None);
        };
        let (Some(old), Some(new)) = (load_shape(self.old, before)?, load_shape(self.new, after)?)
        else {
            return Ok(None);
        };
        let mut moves: Vec<HotMove> = (hot.members.iter())
            .filter_map(|member| locate_move(member, &old, &new))
            .collect();
        shorten_names(&mut moves);
        let pairs = changed_pairs(&moves, self.line_bytes);
        let has = |(types, id): &(TypeArena, TypeId), member: &RecordedHotMember| {
            let at = ArrayElements::AtOffset(member.offset);
            types.locate_path(*id, &member.path, at).is_some()
        };
        let gone = hot
            .members
            .iter()
            .filter(|member| has(&old, member) && !has(&new, member));
        Ok(Some(HotDiff {
            transfers: hot.transfers,
            share: hot.share,
            phase: hot.phase,
            moves,
            pairs,
            gone: gone.cloned().collect(),
        }))
    }
}

/// Loads the definition that the layout was made of.
fn load_shape(
    catalog: &TypeCatalog<'_>,
    shape: &TypeLayout,
) -> Result<Option<(TypeArena, TypeId)>, UserError> {
    let loaded = catalog.load(&entries_named(catalog, &shape.key.name))?;
    let is_shape = |id: &&TypeId| {
        TypeLayout::from_type(&loaded.types, **id)
            .is_some_and(|found| found.key == shape.key && found.fingerprint == shape.fingerprint)
    };
    let id = loaded.ids.iter().find(is_shape).copied();
    Ok(id.map(|id| (loaded.types, id)))
}

/// Finds a member in both builds. The recorded build can be either or another: elements of arrays
/// are those at the recorded offset, in the first build that has the member there.
fn locate_move(
    member: &RecordedHotMember,
    (old, old_id): &(TypeArena, TypeId),
    (new, new_id): &(TypeArena, TypeId),
) -> Option<HotMove> {
    let at = ArrayElements::AtOffset(member.offset);
    let found = |found: &LocatedMember| found.offset == member.offset;
    let in_new = new.locate_path(*new_id, &member.path, at).filter(found);
    let in_old = old.locate_path(*old_id, &member.path, at).filter(found);
    let elements = in_new.or(in_old).map(|found| found.elements);
    let elements = ArrayElements::Indices(elements.as_deref().unwrap_or_default());
    Some(HotMove {
        member: member.clone(),
        short: member.path.clone(),
        old: old.locate_path(*old_id, &member.path, elements)?,
        new: new.locate_path(*new_id, &member.path, elements)?,
    })
}

/// Shortens `mmap_lock.owner.counter` to `mmap_lock.owner` where that holds no other hot member.
fn shorten_names(moves: &mut [HotMove]) {
    let paths: Vec<String> = moves
        .iter()
        .map(|hot_move| hot_move.member.path.clone())
        .collect();
    for hot_move in moves {
        let mut path = hot_move.member.path.as_str();
        while let Some((outer, last)) = path.rsplit_once('.') {
            // Names that say what a lock or count is made of, not what is locked or counted.
            let wrapper = matches!(
                last,
                "counter" | "refs" | "sequence" | "val" | "a" | "rlock"
            );
            let inside = |other: &&String| {
                other
                    .strip_prefix(outer)
                    .is_some_and(|rest| rest.starts_with('.'))
            };
            let same = |other: &&String| **other == hot_move.member.path;
            let alone = paths.iter().filter(inside).all(|other| same(&other));
            if !wrapper || !alone {
                break;
            }
            path = outer;
        }
        hot_move.short = path.to_owned();
    }
}

fn changed_pairs(moves: &[HotMove], line_bytes: u64) -> Vec<HotPair> {
    let lines = |place: &LocatedMember| {
        let last = place.offset.saturating_add(place.size.max(1) - 1);
        (place.offset / line_bytes, last / line_bytes)
    };
    let mut found = Vec::new();
    for (first, hot_move) in moves.iter().enumerate() {
        for (second, other) in moves.iter().enumerate().skip(first + 1) {
            let before = (lines(&hot_move.old), lines(&other.old));
            let after = (lines(&hot_move.new), lines(&other.new));
            let together = lines_overlap(after.0, after.1);
            if together == lines_overlap(before.0, before.1) {
                continue;
            }
            let lines_shared = if together { after } else { before };
            let stored = hot_move.member.writes > 0 || other.member.writes > 0;
            let heat = accesses(&hot_move.member).min(accesses(&other.member));
            found.push(HotPair {
                first,
                second,
                together,
                line: lines_shared.0.0.max(lines_shared.1.0),
                heat: if stored { heat } else { 0 },
            });
        }
    }
    found.sort_by_key(|pair| std::cmp::Reverse(pair.heat));
    found
}
