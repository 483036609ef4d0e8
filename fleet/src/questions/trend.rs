//! A member over the builds: its cost, and the changes of its layout between them.

use std::collections::{BTreeMap, BTreeSet};

use relayout_layout::word_lists::word_list;

use super::cells::QueryRows;
use super::layout_rows::{BuildKey, KeptLayout, read_layouts};
use super::member_names::{NamedMember, find_member, is_within};
use super::selected_recordings::SelectedRecordings;
use super::selection::quote;
use super::trend_steps::{FollowedMember, layout_step};
use super::{RecordingSelection, compare_versions};
use crate::FleetError;
use crate::answer::{AnswerColumn, AnswerTable, FleetAnswer};
use crate::engine::QueryEngine;
use crate::rows::CellValue;
use crate::tables::ColumnKind::{Integer, Number, Text};

const COLUMNS: [AnswerColumn; 9] = [
    ("release", Text),
    ("build_id", Text),
    ("first_date", Text),
    ("recordings", Integer),
    ("member", Text),
    ("mean_share", Number),
    ("offset", Integer),
    ("line", Integer),
    ("layout_change", Text),
];

/// Workloads that are listed in a note.
const LISTED_MAX: usize = 6;

/// Workload with its CPUs: what is compared between builds.
type WorkloadKey = (String, i64);

/// A build with its recordings.
#[derive(Clone, Debug, Default)]
struct RecordedBuild {
    key: BuildKey,
    first_date: String,
    /// Recordings by workload.
    recordings: BTreeMap<WorkloadKey, i64>,
    /// Sums of shares of the members of the type, by path and workload.
    shares: BTreeMap<String, BTreeMap<WorkloadKey, f64>>,
    /// Offsets of the members, by path.
    offsets: BTreeMap<String, i64>,
}

/// Returns the cost of a member in each build, in the order of the releases. The builds are compared by the workloads
/// that all of them recorded.
///
/// # Errors
/// A query fails, no recording or several members have the name, no recording is selected, or recordings of several
/// orders are.
pub async fn member_trend(
    engine: &QueryEngine,
    name: &str,
    selection: &RecordingSelection,
) -> Result<FleetAnswer, FleetError> {
    let member = find_member(engine, name).await?;
    let recordings = SelectedRecordings::count(engine, selection).await?;
    let builds = read_builds(engine, &member, selection).await?;
    let layouts = match member.type_name.as_str() {
        "" => BTreeMap::new(),
        type_name => read_layouts(engine, type_name).await?,
    };
    let mut notes = Vec::new();
    let workloads = compared_workloads(&builds, &mut notes);
    let names = follow_names(&builds, &layouts, &member.member);
    let mut rows = Vec::new();
    let mut before: Option<(&RecordedBuild, &FollowedMember)> = None;
    for (build, followed) in builds.iter().zip(&names) {
        let change = match before {
            Some((old, old_name)) => layout_step(
                layouts.get(&old.key),
                layouts.get(&build.key),
                old_name,
                followed,
            ),
            None => String::new(),
        };
        rows.push(build_cells(
            build,
            followed,
            &member,
            &workloads,
            layouts.get(&build.key),
            change,
        ));
        before = Some((build, followed));
    }
    Ok(recordings.note_order(FleetAnswer {
        question: format!("trend {name}"),
        notes,
        tables: vec![AnswerTable::from_rows("builds", &COLUMNS, &rows)?],
    }))
}

async fn read_builds(
    engine: &QueryEngine,
    member: &NamedMember,
    selection: &RecordingSelection,
) -> Result<Vec<RecordedBuild>, FleetError> {
    let selected = selection.condition();
    let owner = format!(
        "type = {} AND variable = {}",
        quote(&member.type_name),
        quote(&member.variable)
    );
    let recordings = format!(
        "SELECT target, release, build_id, workload, cpus, MIN(date) AS first_date, COUNT(*) AS recordings \
         FROM recordings WHERE TRUE{selected} GROUP BY target, release, build_id, workload, cpus"
    );
    let shares = format!(
        "SELECT target, release, build_id, workload, cpus, member, SUM(share) AS share_sum, \
         MIN(offset_bytes) AS offset_bytes FROM members WHERE {owner}{selected} \
         GROUP BY target, release, build_id, workload, cpus, member"
    );
    let recordings = QueryRows::new(engine.query(&recordings).await?)?;
    let shares = QueryRows::new(engine.query(&shares).await?)?;
    let mut builds: BTreeMap<(String, BuildKey), RecordedBuild> = BTreeMap::new();
    let mut touched: BTreeSet<(String, WorkloadKey)> = BTreeSet::new();
    for row in recordings.iter() {
        let key = (row.text("release"), row.text("build_id"));
        let build = builds.entry((row.text("target"), key.clone())).or_default();
        let date = row.text("first_date");
        if build.first_date.is_empty() || date < build.first_date {
            build.first_date = date;
        }
        build.key = key;
        let workload = (row.text("workload"), row.integer("cpus"));
        build.recordings.insert(workload, row.integer("recordings"));
    }
    for row in shares.iter() {
        let key = (
            row.text("target"),
            (row.text("release"), row.text("build_id")),
        );
        let Some(build) = builds.get_mut(&key) else {
            continue;
        };
        let workload = (row.text("workload"), row.integer("cpus"));
        touched.insert((key.0, workload.clone()));
        let path = row.text("member");
        build
            .offsets
            .insert(path.clone(), row.integer("offset_bytes"));
        build
            .shares
            .entry(path)
            .or_default()
            .insert(workload, row.number("share_sum"));
    }
    // Recordings of other workloads say nothing about the type.
    for ((target, _), build) in &mut builds {
        build
            .recordings
            .retain(|workload, _| touched.contains(&(target.clone(), workload.clone())));
    }
    let mut builds: Vec<RecordedBuild> = builds.into_values().collect();
    builds.retain(|build| !build.recordings.is_empty());
    builds.sort_by(|a, b| {
        compare_versions(&a.key.0, &b.key.0)
            .then_with(|| a.first_date.cmp(&b.first_date))
            .then_with(|| a.key.1.cmp(&b.key.1))
    });
    Ok(builds)
}

/// Returns the workloads that all builds recorded; all, if there is none.
fn compared_workloads(builds: &[RecordedBuild], notes: &mut Vec<String>) -> BTreeSet<WorkloadKey> {
    let all: BTreeSet<WorkloadKey> = builds
        .iter()
        .flat_map(|build| build.recordings.keys().cloned())
        .collect();
    let is_common = |workload: &&WorkloadKey| {
        builds
            .iter()
            .all(|build| build.recordings.contains_key(*workload))
    };
    let common: BTreeSet<WorkloadKey> = all.iter().filter(is_common).cloned().collect();
    if common.is_empty() {
        notes.push(
            "The builds have no workload in common: their shares cannot be compared. --workload selects one."
                .to_owned(),
        );
        return all;
    }
    let words = |(name, cpus): &WorkloadKey| format!("{name} on {cpus}");
    let names: Vec<String> = common.iter().map(words).collect();
    let left_out = match all.len() - common.len() {
        0 => String::new(),
        others => format!("; {others} that some did not are left out"),
    };
    notes.push(format!(
        "Mean share: over recordings, then over the workloads that all builds recorded: {}{left_out}.",
        word_list(&names, LISTED_MAX)
    ));
    common
}

/// Follows a member from the last build that has its name to earlier and later ones.
fn follow_names(
    builds: &[RecordedBuild],
    layouts: &BTreeMap<BuildKey, KeptLayout>,
    path: &str,
) -> Vec<FollowedMember> {
    let has_name = |build: &RecordedBuild| build.shares.keys().any(|own| is_within(own, path));
    let start = builds.iter().rposition(has_name).unwrap_or(0);
    let mut names = vec![FollowedMember::Lost; builds.len()];
    if builds.is_empty() {
        return names;
    }
    names[start] = FollowedMember::Path(path.to_owned());
    let step = |from: usize, to: usize, names: &mut Vec<FollowedMember>| {
        let paths = builds[to].shares.keys().map(String::as_str).collect();
        let [old, new] = [from, to].map(|index| layouts.get(&builds[index].key));
        names[to] = names[from].follow(old, new, &paths);
    };
    for index in (0..start).rev() {
        step(index + 1, index, &mut names);
    }
    for index in start + 1..builds.len() {
        step(index - 1, index, &mut names);
    }
    names
}

fn build_cells(
    build: &RecordedBuild,
    followed: &FollowedMember,
    member: &NamedMember,
    workloads: &BTreeSet<WorkloadKey>,
    kept: Option<&KeptLayout>,
    change: String,
) -> Vec<CellValue> {
    let own = { build.recordings.iter() }.filter(|(workload, _)| workloads.contains(*workload));
    let own: Vec<(&WorkloadKey, i64)> = own.map(|(workload, count)| (workload, *count)).collect();
    let path = followed.path();
    let within: Vec<_> = { build.shares.iter() }
        .filter(|(own, _)| path.is_some_and(|path| is_within(own, path)))
        .map(|(_, shares)| shares)
        .collect();
    let share_of = |(workload, count): &(&WorkloadKey, i64)| {
        let sums = within.iter().filter_map(|shares| shares.get(*workload));
        sums.sum::<f64>() / *count as f64
    };
    let mean = own.iter().map(share_of).sum::<f64>() / own.len().max(1) as f64;
    let offset = path.and_then(|path| {
        let placed = kept.and_then(|kept| followed.offset_in(kept));
        build.offsets.get(path).copied().or(placed)
    });
    let line_bytes = kept.map_or(64, |kept| kept.line_bytes.max(1)) as i64;
    let optional = |value: Option<i64>| value.map_or(CellValue::Missing, CellValue::Integer);
    let name = path.map(|path| {
        let renamed = NamedMember {
            member: path.to_owned(),
            ..member.clone()
        };
        renamed.full_name()
    });
    vec![
        CellValue::Text(build.key.0.clone()),
        CellValue::Text(build.key.1.chars().take(12).collect()),
        CellValue::Text(build.first_date.clone()),
        CellValue::Integer(own.iter().map(|(_, count)| count).sum()),
        name.map_or(CellValue::Missing, CellValue::Text),
        path.map_or(CellValue::Missing, |_| CellValue::share(mean)),
        optional(offset),
        optional(offset.map(|offset| offset.div_euclid(line_bytes))),
        CellValue::Text(change),
    ]
}
