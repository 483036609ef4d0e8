//! Makes a large data set from a real one: each recording many times, with other counts, seeds, days and builds.
//!
//! ```sh
//! cargo run --release --example vary -- fleet/ large/ 100000000
//! ```
//!
//! A copy has the rows of a real recording. Its counts are multiplied by factors between 0.8 and 1.2, one for each row; its
//! identity and seed are new; it belongs to one of 40 builds and 365 days. Everything comes from a fixed seed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::{
    ArrayRef, AsArray as _, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray,
};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use relayout_fleet::FleetError;
use relayout_fleet::data_set::DataSet;
use relayout_fleet::day::Day;
use relayout_fleet::engine::{EngineSettings, QueryEngine};
use relayout_fleet::entry::{RowFile, SetEntry, text_hash};
use relayout_fleet::recording_id::RecordingId;
use relayout_fleet::rows::{parquet_bytes, table_batch};
use relayout_fleet::tables::DataTable;

const BUILDS: u64 = 40;
const DAYS: u64 = 365;
/// Copies in one entry: as many as a day's joined file may have.
const COPIES_IN_ENTRY: u64 = 100;

/// Rows of a recording, by table.
type RecordingRows = BTreeMap<DataTable, RecordBatch>;

#[tokio::main]
async fn main() -> Result<(), FleetError> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [source, target, rows] = &words[..] else {
        return Err(FleetError::Usage(
            "give a data set, a new one, and a number of rows"
                .to_owned()
                .into(),
        ));
    };
    let wanted: u64 = rows
        .parse()
        .map_err(|_| FleetError::Usage(format!("{rows} is no number").into()))?;
    let source = DataSet::open(source).await?;
    let engine = QueryEngine::open(&source, &EngineSettings::default()).await?;
    let recordings = read_recordings(&engine).await?;
    let layouts = vary_layouts(&read_layouts(&engine).await?);
    let target = DataSet::open_or_create(target).await?;
    let mut written = 0;
    let mut copy = 0;
    while written < wanted {
        let copies: Vec<RecordingRows> = (copy..copy + COPIES_IN_ENTRY)
            .map(|copy| vary(&recordings[copy as usize % recordings.len()], copy))
            .collect();
        // One entry has the layouts of all builds.
        let layouts = layouts.slice(0, if copy == 0 { layouts.num_rows() } else { 0 });
        written += write_entry(&target, &copies, &layouts, copy).await?;
        copy += COPIES_IN_ENTRY;
        eprintln!("{written} rows, {copy} recordings");
    }
    Ok(())
}

/// Reads the layouts of each build.
async fn read_layouts(engine: &QueryEngine) -> Result<Vec<RecordBatch>, FleetError> {
    let builds = texts(
        &engine
            .query("SELECT DISTINCT build_id FROM layouts ORDER BY build_id")
            .await?,
    );
    let columns: Vec<_> = { DataTable::Layouts.columns().into_iter() }
        .map(|column| column.name)
        .collect();
    let mut layouts = Vec::new();
    for build in builds {
        let query = format!(
            "SELECT DISTINCT {} FROM layouts WHERE build_id = '{build}' ORDER BY type, position",
            columns.join(", ")
        );
        layouts.push(plain(DataTable::Layouts, &engine.query(&query).await?)?);
    }
    Ok(layouts)
}

/// Gives each new build the layouts of a real one: the later half has those of the later real ones.
fn vary_layouts(layouts: &[RecordBatch]) -> RecordBatch {
    let of_build = |build: u64| {
        let rows = &layouts[build as usize * layouts.len() / BUILDS as usize];
        let schema = rows.schema();
        let columns = { rows.columns().iter().zip(schema.fields()) }
            .map(|(column, field)| build_column(column, field.name(), build, rows.num_rows()))
            .collect();
        RecordBatch::try_new(rows.schema(), columns).expect("columns of the same types")
    };
    let batches: Vec<RecordBatch> = (0..BUILDS).map(of_build).collect();
    concat_batches(&DataTable::Layouts.schema(), &batches).expect("batches of one schema")
}

/// Returns the first column of a query as texts.
fn texts(batches: &[RecordBatch]) -> Vec<String> {
    let of_batch = |batch: &RecordBatch| {
        let column = cast(batch.column(0), &DataType::Utf8).expect("text");
        let texts = column
            .as_string::<i32>()
            .iter()
            .flatten()
            .map(str::to_owned);
        texts.collect::<Vec<_>>()
    };
    batches.iter().flat_map(of_batch).collect()
}

async fn read_recordings(engine: &QueryEngine) -> Result<Vec<RecordingRows>, FleetError> {
    let ids = texts(
        &engine
            .query("SELECT recording FROM recordings ORDER BY recording")
            .await?,
    );
    let mut recordings = Vec::new();
    for id in ids {
        let mut rows = RecordingRows::new();
        for table in [
            DataTable::Recordings,
            DataTable::Members,
            DataTable::Meetings,
        ] {
            let columns: Vec<_> = table
                .columns()
                .into_iter()
                .map(|column| column.name)
                .collect();
            let query = format!(
                "SELECT {} FROM {} WHERE recording = '{id}' ORDER BY {}",
                columns.join(", "),
                table.name(),
                table.sort_columns().join(", ")
            );
            rows.insert(table, plain(table, &engine.query(&query).await?)?);
        }
        recordings.push(rows);
    }
    Ok(recordings)
}

/// Returns batches of a query as one with the types of the table.
fn plain(table: DataTable, batches: &[RecordBatch]) -> Result<RecordBatch, FleetError> {
    let schema = table.schema();
    let batches = { batches.iter() }
        .map(|batch| table_batch(table, batch))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(concat_batches(&schema, &batches)?)
}

fn vary(recording: &RecordingRows, copy: u64) -> RecordingRows {
    { recording.iter() }
        .map(|(table, rows)| (*table, vary_table(rows, copy)))
        .collect()
}

fn vary_table(rows: &RecordBatch, copy: u64) -> RecordBatch {
    let random = |salt: u64| text_hash([copy.to_string().as_str(), salt.to_string().as_str()]);
    let build = random(1) % BUILDS;
    let day = Day(20_500 + (random(2) % DAYS) as i32);
    let mut factors = RandomNumbers(random(3) | 1);
    let count = rows.num_rows();
    let factors: Vec<f64> = (0..count).map(|_| 0.8 + 0.4 * factors.draw()).collect();
    let schema = rows.schema();
    let columns = { rows.columns().iter().zip(schema.fields()) }
        .map(|(column, field)| -> ArrayRef {
            let text = |value: String| Arc::new(StringArray::from(vec![value; count])) as ArrayRef;
            match field.name().as_str() {
                "recording" => text(format!("{:016x}", random(4))),
                "build_id" | "release" => build_column(column, field.name(), build, count),
                "date" => Arc::new(Date32Array::from(vec![day.0; count])),
                "seed" => Arc::new(Int64Array::from(vec![copy as i64; count])),
                "transfers" | "reads" | "writes" => scaled_counts(column, &factors),
                "share" => scaled_shares(column, &factors),
                _ => Arc::clone(column),
            }
        })
        .collect();
    RecordBatch::try_new(rows.schema(), columns).expect("columns of the same types")
}

/// Returns a column of the rows of a new build: its id and release are new.
fn build_column(column: &ArrayRef, name: &str, build: u64, rows: usize) -> ArrayRef {
    let text = |value: String| Arc::new(StringArray::from(vec![value; rows])) as ArrayRef;
    match name {
        "build_id" => text(format!("{:016x}", text_hash([build.to_string().as_str()]))),
        "release" => text(format!("{}.{}", 5 + build / 20, build % 20)),
        _ => Arc::clone(column),
    }
}

fn scaled_counts(column: &ArrayRef, factors: &[f64]) -> ArrayRef {
    let counts = column.as_primitive::<Int64Type>();
    let scaled = counts.values().iter().zip(factors);
    Arc::new(Int64Array::from_iter_values(
        scaled.map(|(count, factor)| (*count as f64 * factor) as i64),
    ))
}

fn scaled_shares(column: &ArrayRef, factors: &[f64]) -> ArrayRef {
    let shares = column.as_primitive::<Float64Type>();
    let scaled = shares.values().iter().zip(factors);
    Arc::new(Float64Array::from_iter_values(
        scaled.map(|(share, factor)| share * factor),
    ))
}

/// Numbers between 0 and 1, by xorshift.
struct RandomNumbers(u64);

impl RandomNumbers {
    fn draw(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Writes copies as an entry, sorted as `compact` sorts, and returns the number of rows.
async fn write_entry(
    set: &DataSet,
    copies: &[RecordingRows],
    layouts: &RecordBatch,
    first: u64,
) -> Result<u64, FleetError> {
    let name = format!("varied-{first}");
    let mut entry = SetEntry {
        name: name.clone(),
        // The days of its rows differ; this one is only the entry's.
        date: Day(20_500).to_string(),
        recordings: BTreeSet::new(),
        files: Vec::new(),
    };
    let mut rows = 0;
    for table in DataTable::ALL {
        let batches: Vec<&RecordBatch> = match table {
            DataTable::Layouts => vec![layouts],
            _ => copies.iter().map(|copy| &copy[&table]).collect(),
        };
        let batch = sorted(table, &concat_batches(&table.schema(), batches)?)?;
        if table == DataTable::Recordings {
            let ids = batch
                .column_by_name("recording")
                .expect("the table has it")
                .as_string::<i32>();
            entry
                .recordings
                .extend(ids.iter().flatten().flat_map(str::parse::<RecordingId>));
        }
        let bytes = parquet_bytes(&batch)?;
        rows += batch.num_rows() as u64;
        let file = RowFile {
            table: table.name().to_owned(),
            path: format!("{}/{name}.parquet", table.name()),
            bytes: bytes.len() as u64,
            rows: batch.num_rows() as u64,
        };
        set.write(&file.path, bytes).await?;
        entry.files.push(file);
    }
    set.write_entry(&entry).await?;
    Ok(rows)
}

fn sorted(table: DataTable, batch: &RecordBatch) -> Result<RecordBatch, FleetError> {
    use arrow::compute::{SortColumn, lexsort_to_indices, take_record_batch};
    let columns = table.sort_columns().iter().map(|name| SortColumn {
        values: Arc::clone(
            batch
                .column_by_name(name)
                .expect("the table has its sort columns"),
        ),
        options: None,
    });
    let order = lexsort_to_indices(&columns.collect::<Vec<_>>(), None)?;
    Ok(take_record_batch(batch, &order)?)
}
