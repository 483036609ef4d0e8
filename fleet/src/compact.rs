//! Joining the files of each day, and removing what no entry lists.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use futures::StreamExt as _;
use object_store::buffered::BufWriter;
use parquet::arrow::AsyncArrowWriter;

use crate::FleetError;
use crate::add::entry_name;
use crate::counted::{CountedEntries, StoredSizes};
use crate::data_set::DataSet;
use crate::engine::{EngineSettings, QueryEngine};
use crate::entry::{RowFile, SetEntry};
use crate::forget::forget;
use crate::recording_id::RecordingId;
use crate::rows::{table_batch, writer_properties};
use crate::tables::DataTable;

/// Age from which a file of no entry is left over: no command runs for so long.
const LEFT_OVER_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// Outcome of joining.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompactedSet {
    /// Days that were joined, with the number of their entries before.
    pub days: BTreeMap<String, usize>,
    /// Files before.
    pub files_before: usize,
    /// Files now.
    pub files_now: usize,
    /// Files that interrupted commands had left, which were removed.
    pub left_over: Vec<String>,
}

/// Joins the files of each day into one for each table, sorted so that queries read little of them. Queries that run
/// meanwhile count each recording once. A day with one entry stays as it is.
///
/// # Errors
/// A file is damaged, or the store fails. What was joined until then stays joined.
pub async fn compact(set: &DataSet, settings: &EngineSettings) -> Result<CompactedSet, FleetError> {
    let counted = CountedEntries::choose(set.read_entries().await?);
    let sizes = StoredSizes::list(set).await?;
    let mut done = CompactedSet {
        files_before: sizes.files(),
        ..CompactedSet::default()
    };
    let mut days: BTreeMap<String, CountedEntries> = BTreeMap::new();
    for (entry, repeated) in counted.entries {
        days.entry(entry.date.clone())
            .or_default()
            .entries
            .push((entry, repeated));
    }
    forget(set, &counted.superseded).await?;
    for (day, counted) in days {
        let is_joined = counted.entries.len() == 1 && counted.entries[0].1.is_empty();
        if !is_joined {
            for (entry, _) in &counted.entries {
                sizes.verify(entry)?;
            }
            join_day(set, &day, &counted, settings).await?;
            done.days.insert(day, counted.entries.len());
        }
    }
    done.left_over = remove_left_over(set).await?;
    done.files_now = StoredSizes::list(set).await?.files();
    Ok(done)
}

async fn join_day(
    set: &DataSet,
    day: &str,
    counted: &CountedEntries,
    settings: &EngineSettings,
) -> Result<(), FleetError> {
    let engine = QueryEngine::open_entries(set, counted, settings).await?;
    // Those that count in another entry keep their rows there.
    let recordings: BTreeSet<RecordingId> = { counted.entries.iter() }
        .flat_map(|(entry, repeated)| entry.recordings.difference(repeated))
        .copied()
        .collect();
    let name = format!("day-{day}-{}", entry_name(&recordings));
    let mut files = Vec::new();
    for table in DataTable::ALL {
        files.push(join_table(set, &engine, table, day, &name).await?);
    }
    let joined = SetEntry {
        name,
        date: day.to_owned(),
        recordings,
        files,
    };
    // Another command may have removed some of them meanwhile, which must not come back.
    if let Err(error) = engine.verify_unchanged().await {
        let files = joined.files.iter().map(|file| file.path.clone());
        set.remove(files.collect()).await?;
        return Err(error);
    }
    set.write_entry(&joined).await?;
    // The joined recordings are those of no single entry, so no old file is a new one.
    let old: Vec<SetEntry> = { counted.entries.iter() }
        .map(|(entry, _)| entry.clone())
        .collect();
    forget(set, &old).await
}

async fn join_table(
    set: &DataSet,
    engine: &QueryEngine,
    table: DataTable,
    day: &str,
    name: &str,
) -> Result<RowFile, FleetError> {
    let path = format!("{}/date={day}/{name}.parquet", table.name());
    let store = std::sync::Arc::clone(&set.address.store);
    let output = BufWriter::new(store, set.address.path(&path));
    let properties = writer_properties();
    let mut writer = AsyncArrowWriter::try_new(output, table.schema(), Some(properties))?;
    let mut rows = engine.stream(&joined_rows(table)).await?;
    let mut count = 0;
    while let Some(batch) = rows.next().await {
        let batch = batch.map_err(|error| engine.query_error(error))?;
        count += batch.num_rows() as u64;
        writer.write(&table_batch(table, &batch)?).await?;
    }
    writer.finish().await?;
    Ok(RowFile {
        table: table.name().to_owned(),
        bytes: writer.bytes_written() as u64,
        rows: count,
        path,
    })
}

/// Returns the query of the rows of a joined file, in their order.
fn joined_rows(table: DataTable) -> String {
    let columns: Vec<&str> = table
        .columns()
        .into_iter()
        .map(|column| column.name)
        .collect();
    let order = table.sort_columns().join(", ");
    if table != DataTable::Layouts {
        return format!(
            "SELECT {} FROM {} ORDER BY {order}",
            columns.join(", "),
            table.name()
        );
    }
    // A build has each layout in every profile: the first day's is kept.
    let others: Vec<&str> = { columns.iter().copied() }
        .filter(|name| *name != "date")
        .collect();
    let others = others.join(", ");
    format!("SELECT MIN(date) AS date, {others} FROM layouts GROUP BY {others} ORDER BY {order}")
}

/// Removes the files of no entry that are older than a day.
async fn remove_left_over(set: &DataSet) -> Result<Vec<String>, FleetError> {
    let entries = set.read_entries().await?;
    let listed: BTreeSet<&str> = { entries.iter() }
        .flat_map(|entry| entry.files.iter().map(|file| file.path.as_str()))
        .collect();
    let newest = SystemTime::now() - LEFT_OVER_AGE;
    let mut left_over = Vec::new();
    for table in DataTable::ALL {
        let old = set.list_older(table.name(), newest).await?;
        left_over.extend(
            old.into_iter()
                .filter(|path| !listed.contains(path.as_str())),
        );
    }
    set.remove(left_over.clone()).await?;
    Ok(left_over)
}
