//! A layout over all recordings that can replay it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use relayout_advice::{
    LayoutEdits, LayoutFile, ProbedMachine, score_given_layouts, verify_layout_files,
};
use relayout_layout::TypePattern;
use relayout_messages::{RecordingProgress, UserError};
use relayout_session::advise::read_layout_files;
use relayout_session::{complete_recordings, read_machine, with_verified_profile};

use super::RecordingSelection;
use super::cells::QueryRows;
use super::member_names::{parse_name, unknown_name};
use super::selected_recordings::SelectedRecordings;
use super::selection::quote;
use crate::FleetError;
use crate::add::read_meta;
use crate::answer::{AnswerColumn, AnswerTable, FleetAnswer};
use crate::engine::QueryEngine;
use crate::recording_id::RecordingId;
use crate::rows::{CellValue, TableRow, recording_identity};
use crate::tables::ColumnKind::{Integer, Number, Text};

const COLUMNS: [AnswerColumn; 10] = [
    ("layout", Text),
    ("workload", Text),
    ("cpus", Integer),
    ("release", Text),
    ("recordings", Integer),
    ("type_share", Number),
    ("transfers", Integer),
    ("with_layout", Integer),
    ("change", Number),
    ("saved_share", Number),
];
const LEFT_OUT: [AnswerColumn; 2] = [("profile", Text), ("reason", Text)];

/// Layouts to score.
#[derive(Clone, Debug)]
pub struct PayingLayouts {
    /// Type that is laid out.
    pub type_name: String,
    /// Files with layouts.
    pub files: Vec<PathBuf>,
    /// Debug files to use instead of those that the profiles name.
    pub debug: Vec<PathBuf>,
}

/// A profile with transfers on the type.
struct ReplayedProfile {
    path: PathBuf,
    workload: String,
    cpus: i64,
    release: String,
    recordings: BTreeSet<RecordingId>,
    type_share_sum: f64,
}

/// Transfers of a type in a profile: today, and with each layout.
struct ReplayedTransfers {
    today: u64,
    with_layouts: Vec<(String, u64)>,
}

/// Replays each profile with transfers on a type with given layouts of it. The profiles are read where they were when they
/// were added; those that are gone or changed are listed with the reason.
///
/// # Errors
/// A layout file has no layout of the type, no recording is selected or recordings of several orders are, nothing has the
/// type, or no profile can be replayed.
pub async fn score_over_recordings(
    engine: &QueryEngine,
    layouts: &PayingLayouts,
    selection: &RecordingSelection,
    progress: &dyn RecordingProgress,
) -> Result<FleetAnswer, FleetError> {
    let files = read_layout_files(&layouts.type_name, &layouts.files)?;
    let machine = read_machine(None, None, None)?;
    let pattern = parse_name(&layouts.type_name)?;
    let recordings = SelectedRecordings::count(engine, selection).await?;
    let profiles = profiles_with_type(engine, &pattern, selection).await?;
    if profiles.is_empty() {
        return Err(unknown_name(engine, &pattern).await?);
    }
    let mut rows = Vec::new();
    let mut left_out: Vec<(PathBuf, String)> = Vec::new();
    for (index, profile) in profiles.iter().enumerate() {
        progress.step(&format!(
            "profile {} of {}: {}",
            index + 1,
            profiles.len(),
            profile.path.display()
        ));
        match replay(profile, layouts, &files, &machine, progress) {
            Ok(replayed) => rows.extend(replayed_rows(profile, &replayed)),
            Err(reason) => left_out.push((profile.path.clone(), reason)),
        }
    }
    if let (true, Some((_, reason))) = (rows.is_empty(), left_out.first()) {
        return Err(FleetError::NothingReplayed {
            type_name: layouts.type_name.clone(),
            reason: reason.clone(),
        });
    }
    Ok(recordings.note_order(answer(layouts, &rows, &left_out)?))
}

async fn profiles_with_type(
    engine: &QueryEngine,
    pattern: &TypePattern,
    selection: &RecordingSelection,
) -> Result<Vec<ReplayedProfile>, FleetError> {
    let query = format!(
        "SELECT r.profile, r.workload, r.cpus, r.release, r.recording, m.type_share FROM recordings r JOIN \
         (SELECT recording, SUM(share) AS type_share FROM members WHERE type = {}{} AND transfers > 0 \
         GROUP BY recording) m ON r.recording = m.recording",
        quote(pattern.bare_name()),
        selection.condition()
    );
    let found = QueryRows::new(engine.query(&query).await?)?;
    let mut profiles: BTreeMap<String, ReplayedProfile> = BTreeMap::new();
    for row in found.iter() {
        let path = row.text("profile");
        let profile = profiles
            .entry(path.clone())
            .or_insert_with(|| ReplayedProfile {
                path: path.into(),
                workload: row.text("workload"),
                cpus: row.integer("cpus"),
                release: row.text("release"),
                recordings: BTreeSet::new(),
                type_share_sum: 0.0,
            });
        profile
            .recordings
            .extend(row.text("recording").parse::<RecordingId>());
        profile.type_share_sum += row.number("type_share");
    }
    Ok(profiles.into_values().collect())
}

fn replay(
    profile: &ReplayedProfile,
    layouts: &PayingLayouts,
    files: &[LayoutFile],
    machine: &ProbedMachine,
    progress: &dyn RecordingProgress,
) -> Result<ReplayedTransfers, String> {
    verify_same_recordings(&profile.path, &profile.recordings)?;
    let type_name = &layouts.type_name;
    let replayed = with_verified_profile(
        &profile.path,
        &layouts.debug,
        progress,
        |images| verify_layout_files(images, type_name, files),
        |resolved, _| {
            let edits = LayoutEdits::default();
            let (searched, _) = score_given_layouts(resolved, type_name, files, &edits, machine)?;
            Ok::<_, UserError>(match &searched.outcome {
                Err(refusal) => Err(refusal.to_string()),
                Ok(advice) => Ok(ReplayedTransfers {
                    today: advice.current.tally.transfers(),
                    with_layouts: { advice.user_layouts.iter() }
                        .map(|ranked| {
                            let name = ranked.scored.name.clone().unwrap_or_default();
                            (name, ranked.scored.tally.transfers())
                        })
                        .collect(),
                }),
            })
        },
    );
    replayed.map_err(|error| error.chain_text())?
}

/// Rejects a path where another profile is by now.
fn verify_same_recordings(profile: &Path, added: &BTreeSet<RecordingId>) -> Result<(), String> {
    if !profile.exists() {
        return Err("it is not there any more".to_owned());
    }
    let meta = read_meta(profile).map_err(|error| error.full_text())?;
    let extents = complete_recordings(&meta);
    let held: BTreeSet<RecordingId> = extents
        .iter()
        .map(|extent| recording_identity(&meta, extent))
        .collect();
    match added.is_subset(&held) {
        true => Ok(()),
        false => Err("it holds other recordings than when it was added".to_owned()),
    }
}

fn replayed_rows(profile: &ReplayedProfile, replayed: &ReplayedTransfers) -> Vec<TableRow> {
    let recordings = profile.recordings.len();
    let type_share = profile.type_share_sum / recordings.max(1) as f64;
    let row = |(name, transfers): &(String, u64)| {
        let change = *transfers as f64 / replayed.today.max(1) as f64 - 1.0;
        let change = if replayed.today == 0 { 0.0 } else { change };
        vec![
            CellValue::text(name),
            CellValue::text(&profile.workload),
            CellValue::Integer(profile.cpus),
            CellValue::text(&profile.release),
            CellValue::count(recordings as u64),
            CellValue::share(type_share),
            CellValue::count(replayed.today),
            CellValue::count(*transfers),
            CellValue::Number(change),
            CellValue::share(0.0 - change * type_share),
        ]
    };
    replayed.with_layouts.iter().map(row).collect()
}

fn answer(
    layouts: &PayingLayouts,
    rows: &[TableRow],
    left_out: &[(PathBuf, String)],
) -> Result<FleetAnswer, FleetError> {
    let left_out_rows = left_out.iter().map(|(path, reason)| {
        vec![
            CellValue::Text(path.display().to_string()),
            CellValue::text(reason),
        ]
    });
    let left_out_rows: Vec<_> = left_out_rows.collect();
    let mut tables = vec![AnswerTable::from_rows("replayed", &COLUMNS, rows)?];
    if !left_out_rows.is_empty() {
        tables.push(AnswerTable::from_rows(
            "left_out",
            &LEFT_OUT,
            &left_out_rows,
        )?);
    }
    let mut notes = summaries(rows);
    notes.push(
        "Changes are of replayed transfers, a prediction: `relayout verify` measures a layout. Saved share: a part of all \
         transfers of the recording."
            .to_owned(),
    );
    let files = layouts
        .files
        .iter()
        .map(|file| format!(" --layout {}", file.display()));
    Ok(FleetAnswer {
        question: format!("pays {}{}", layouts.type_name, files.collect::<String>()),
        notes,
        tables,
    })
}

/// Returns a sentence for each layout: on how many profiles it saves transfers, on how many it adds some.
fn summaries(rows: &[TableRow]) -> Vec<String> {
    let mut by_layout: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    let mut saved: BTreeMap<&str, f64> = BTreeMap::new();
    for row in rows {
        let [
            CellValue::Text(name),
            ..,
            CellValue::Number(change),
            CellValue::Number(share),
        ] = &row[..]
        else {
            continue;
        };
        let counts = by_layout.entry(name).or_default();
        let side = if *change < 0.0 {
            0
        } else if *change > 0.0 {
            1
        } else {
            2
        };
        counts[side] += 1;
        *saved.entry(name).or_default() += share;
    }
    { by_layout.iter() }
        .map(|(name, [fewer, more, same])| {
            let profiles = fewer + more + same;
            format!(
                "{name}: fewer transfers in {fewer} of {profiles} profiles, more in {more}, as many in {same}; it saves \
                 {:.2}% of all transfers in the mean.",
                100.0 * saved[name] / profiles as f64
            )
        })
        .collect()
}
