//! Rows of the recordings of a profile.

use std::collections::{BTreeMap, BTreeSet};

use relayout_contend::{AccessMeeting, FindingSubject, MemberTraffic, SiteSource};
use relayout_diff::TypeLayout;
use relayout_layout::MemberSpan;
use relayout_profile::{ProfileMeta, SiteId};
use relayout_report::documents::report::access_key;
use relayout_session::{NamedTraffic, RecordedOperations, RecordingExtent};
use relayout_workflows::compare::ComparedWorkload;

use super::{CellValue, TableRow};
use crate::day::Day;
use crate::entry::text_hash;
use crate::recording_id::RecordingId;
use crate::tables::DataTable;

/// Share of a recording's transfers that a type or variable needs, so that its layout is kept.
const LAYOUT_SHARE_MIN: f64 = 0.001;

/// Rows of a profile, by table.
#[derive(Clone, Debug, Default)]
pub struct ProfileRows {
    /// Identities of the recordings.
    pub recordings: BTreeSet<RecordingId>,
    rows: BTreeMap<DataTable, Vec<TableRow>>,
}

impl ProfileRows {
    /// Makes the rows of the recordings of a profile that are not `known` yet.
    pub fn new(named: &NamedTraffic, day: Day, known: &BTreeSet<RecordingId>) -> Self {
        let mut made = Self::default();
        for recording in &named.traffic.recordings {
            let identity = recording_identity(&named.traffic.meta, &recording.extent);
            if known.contains(&identity) || !made.recordings.insert(identity) {
                continue;
            }
            let origin = origin_cells(named, recording, identity, day);
            made.add_recording(named, recording, &origin);
        }
        if !made.recordings.is_empty() {
            made.add_layouts(named, day);
        }
        made
    }

    /// Returns the rows of a table, sorted by its sort columns.
    pub fn sorted(&self, table: DataTable) -> Vec<TableRow> {
        let columns = table.columns();
        let indices: Vec<usize> = { table.sort_columns().iter() }
            .filter_map(|name| columns.iter().position(|column| column.name == *name))
            .collect();
        let key = |row: &TableRow| -> Vec<(String, i64)> {
            let cell = |index: &usize| match &row[*index] {
                CellValue::Text(text) => (text.clone(), 0),
                CellValue::Integer(number) => (String::new(), *number),
                CellValue::Number(_) | CellValue::Missing => (String::new(), 0),
            };
            indices.iter().map(cell).collect()
        };
        let mut rows = self.rows.get(&table).cloned().unwrap_or_default();
        rows.sort_by_cached_key(key);
        rows
    }

    fn add(&mut self, table: DataTable, row: TableRow) {
        self.rows.entry(table).or_default().push(row);
    }

    fn add_recording(
        &mut self,
        named: &NamedTraffic,
        recording: &RecordedOperations,
        origin: &TableRow,
    ) {
        let extent = recording.extent;
        let profile = std::path::absolute(&recording.profile);
        let profile = profile.unwrap_or_else(|_| recording.profile.clone());
        let own = vec![
            CellValue::count(extent.seed),
            CellValue::count(extent.accesses),
            CellValue::count(extent.wall_ns),
            { recording.operations_per_second }.map_or(CellValue::Missing, CellValue::Number),
            CellValue::text(&named.traffic.meta.tool_version),
            CellValue::Text(profile.display().to_string()),
        ];
        self.add(DataTable::Recordings, [&origin[..], &own].concat());
        let all = recording.traffic.transfers;
        for (subject, traffic) in &recording.traffic.subjects {
            for (member, (place, sum)) in members_by_path(&traffic.members) {
                let cells = member_cells(place, &sum, all);
                let row = [&origin[..], &subject_cells(subject, member), &cells].concat();
                self.add(DataTable::Members, row);
            }
            for (meeting, transfers) in &traffic.meetings {
                let cells = meeting_cells(meeting, *transfers, &named.sites);
                let member = subject_cells(subject, &meeting.member);
                self.add(DataTable::Meetings, [&origin[..], &member, &cells].concat());
            }
        }
    }

    fn add_layouts(&mut self, named: &NamedTraffic, day: Day) {
        let meta = &named.traffic.meta;
        let mut added: BTreeSet<&str> = BTreeSet::new();
        for (subject, layout) in &named.layouts {
            let name = type_of(subject);
            let is_hot = { named.traffic.recordings.iter() }.any(|recording| {
                let own = recording.traffic.subjects.get(subject);
                let share =
                    |transfers| transfers as f64 / recording.traffic.transfers.max(1) as f64;
                own.is_some_and(|traffic| share(traffic.transfers) >= LAYOUT_SHARE_MIN)
            });
            if !is_hot || name.is_empty() || !added.insert(name) {
                continue;
            }
            let head = [
                day.cell(),
                CellValue::text(&meta.target),
                CellValue::text(&meta.build_id),
                CellValue::text(&meta.release),
                CellValue::count(named.traffic.line_bytes.into()),
                CellValue::text(name),
                CellValue::count(layout.size),
            ];
            for row in layout_cells(layout) {
                self.add(DataTable::Layouts, [&head[..], &row].concat());
            }
        }
    }
}

/// Returns the identity of a recording: the same in each profile that holds it.
pub fn recording_identity(meta: &ProfileMeta, extent: &RecordingExtent) -> RecordingId {
    let RecordingExtent {
        seed,
        accesses,
        wall_ns,
    } = *extent;
    let numbers = [u64::from(meta.contexts), seed, accesses, wall_ns].map(|n| n.to_string());
    let words = [
        &meta.build_id,
        &meta.release,
        &meta.target,
        &meta.workload,
        &meta.collector,
    ];
    // The host's order has no words here, so that identities are those of before there was another.
    let machine = meta.simulated_machine.as_ref().map(ToString::to_string);
    let parts = words.into_iter().chain(&numbers).chain(&machine);
    RecordingId(text_hash(parts.map(String::as_str)))
}

fn origin_cells(
    named: &NamedTraffic,
    recording: &RecordedOperations,
    identity: RecordingId,
    day: Day,
) -> TableRow {
    let meta = &named.traffic.meta;
    let operations = match recording.operations {
        operations if operations > 0.0 => CellValue::Number(operations),
        _ => CellValue::Missing,
    };
    vec![
        CellValue::Text(identity.to_string()),
        day.cell(),
        CellValue::text(&meta.target),
        CellValue::text(&meta.build_id),
        CellValue::text(&meta.release),
        CellValue::text(&meta.machine),
        CellValue::text(&meta.collector),
        CellValue::Text(meta.order_words()),
        CellValue::Text(ComparedWorkload::from_meta(meta).name),
        CellValue::count(meta.contexts.into()),
        CellValue::count(named.traffic.line_bytes.into()),
        operations,
        CellValue::count(recording.traffic.transfers),
    ]
}

/// Returns the type of a subject; empty for a variable without.
fn type_of(subject: &FindingSubject) -> &str {
    match subject.has_members() {
        true => subject.type_name(),
        false => "",
    }
}

fn subject_cells(subject: &FindingSubject, path: &str) -> TableRow {
    let variable = subject.variable().unwrap_or_default();
    // A variable without members has its own name as path.
    let path = match subject {
        FindingSubject::Scalar { name } | FindingSubject::Local { name, .. } if name == path => "",
        _ => path,
    };
    let names = [type_of(subject), variable, path];
    let key = text_hash(names) as i64;
    let cells = names.map(CellValue::text).into_iter();
    cells.chain([CellValue::Integer(key)]).collect()
}

/// Joins members of one path, which elements of arrays have at several offsets. The place is that with
/// most transfers.
fn members_by_path(
    members: &BTreeMap<MemberSpan, MemberTraffic>,
) -> BTreeMap<&str, (&MemberSpan, MemberTraffic)> {
    let mut joined: BTreeMap<&str, (&MemberSpan, u64, MemberTraffic)> = BTreeMap::new();
    for (member, traffic) in members {
        let held = { joined.entry(&member.path) }
            .or_insert_with(|| (member, traffic.transfers, MemberTraffic::default()));
        if traffic.transfers > held.1 {
            (held.0, held.1) = (member, traffic.transfers);
        }
        held.2.add(traffic);
    }
    let without_most = |(path, (member, _, sum))| (path, (member, sum));
    joined.into_iter().map(without_most).collect()
}

fn member_cells(place: &MemberSpan, sum: &MemberTraffic, all: u64) -> TableRow {
    vec![
        CellValue::count(place.offset),
        CellValue::count(place.size),
        CellValue::count(sum.transfers),
        CellValue::Number(sum.transfers as f64 / all.max(1) as f64),
        CellValue::count(sum.reads),
        CellValue::count(sum.writes),
        CellValue::count(sum.contexts.len() as u64),
    ]
}

fn meeting_cells(
    meeting: &AccessMeeting,
    transfers: u64,
    sites: &BTreeMap<SiteId, SiteSource>,
) -> TableRow {
    let source_cells = |site| {
        let source = sites.get(site).cloned().unwrap_or_default();
        [
            CellValue::optional_text(source.function.as_deref()),
            CellValue::optional_text(source.inlined.as_deref()),
            CellValue::optional_text(source.file.as_deref()),
            source
                .line
                .map_or(CellValue::Missing, |line| CellValue::count(line.into())),
        ]
    };
    let mut cells = vec![CellValue::text(access_key(meeting.access))];
    cells.extend(source_cells(&meeting.site));
    cells.push(CellValue::text(&meeting.other_member));
    cells.push(CellValue::text(access_key(meeting.other_access)));
    cells.extend(source_cells(&meeting.other_site));
    cells.push(CellValue::count(transfers));
    cells
}

fn layout_cells(layout: &TypeLayout) -> impl Iterator<Item = TableRow> + '_ {
    let bits = |value: Option<u64>| value.map_or(CellValue::Missing, CellValue::count);
    { layout.members.iter().enumerate() }.map(move |(position, member)| {
        vec![
            CellValue::count(position as u64),
            CellValue::text(&member.path),
            CellValue::count(member.offset),
            CellValue::count(member.size),
            bits(member.bits.map(|range| range.offset_bits)),
            bits(member.bits.map(|range| range.size_bits)),
            CellValue::text(&member.type_name),
        ]
    })
}
