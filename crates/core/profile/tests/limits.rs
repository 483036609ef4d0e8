//! A small file may hold very many rows. What a profile takes in memory is bounded before it is
//! decoded.

use std::sync::Arc;

use crate::common::sample;
use bytes::Bytes;
use parquet::basic::{Compression, Encoding, Type as PhysicalType};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::file::metadata::{
    ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use relayout_profile::{
    BurstRow, ConflictRow, CountRow, FormatError, LineRow, PairRow, Profile, ProfileFiles,
    RangeRow, RegionRow, VisitRow, WaitRow, decode, decode_within, encode,
};

/// Peak memory that no refusal may need: the buffers of this test binary are far below.
const PEAK_MAX_MB: u64 = 600;

#[test]
fn hundreds_of_millions_of_repeated_rows_are_refused() {
    let files = with_repeated_rows("lines", 300_000_000, "");
    assert!(files["lines.parquet"].len() < 10_000, "a small file");
    check_error(
        files,
        "lines.parquet is too large to read: with its 300000000 rows the profile needs 26.40 GB of \
         memory, and at most 1.07 GB are allowed",
    );
    check_error(
        with_repeated_rows("bursts", 200_000_000, ""),
        "bursts.parquet is too large to read",
    );
    check_peak();
}

#[test]
fn repeated_rows_within_the_bound_are_read() {
    let profile = decode(with_repeated_rows("lines", 500_000, "")).expect("a valid profile");
    assert_eq!(profile.lines.len(), 500_000);
    assert!(profile.lines.iter().all(|row| *row == profile.lines[0]));
    check_peak();
}

#[test]
fn a_repeated_text_counts_in_every_row() {
    let files = with_repeated_rows("ranges", 100_000, &"x".repeat(100_000));
    let error = chain(&decode_within(files, 64 << 20).expect_err("10 GB of text"));
    assert!(
        error.contains(
            "ranges.parquet is too large to read: the texts of column `owner` need more than the \
             0.07 GB"
        ),
        "{error}"
    );
    check_peak();
}

/// The bound is the caller's, for those who know the profile.
#[test]
fn the_bound_may_be_moved() {
    let files = encode(&sample()).expect("a valid profile");
    assert_eq!(
        decode_within(files.clone(), 1 << 20).expect("small"),
        sample()
    );
    let error = chain(&decode_within(files, 100).expect_err("more than 100 bytes"));
    assert!(error.contains("too large to read"), "{error}");
}

/// Page headers and Snappy both say how large a page becomes.
#[test]
fn a_page_that_claims_to_become_huge_is_refused() {
    let claimed = [0xff, 0xff, 0xff, 0xff, 0x07, 0x00];
    let files = with_columns("lines", 10, |column| {
        let page = dictionary_page(column, "");
        let Page::DictionaryPage {
            num_values,
            encoding,
            is_sorted,
            ..
        } = page
        else {
            unreachable!("made above");
        };
        let buf = Bytes::copy_from_slice(&claimed);
        let page = Page::DictionaryPage {
            buf,
            num_values,
            encoding,
            is_sorted,
        };
        (
            Compression::SNAPPY,
            vec![CompressedPage::new(page, i32::MAX as usize)],
        )
    });
    check_error(files, "2147483647 bytes compressed to 6");
    check_peak();
}

/// The library decodes the first value even of none.
#[test]
fn delta_coded_values_that_are_not_there_are_refused() {
    let files = with_columns("lines", 10, |column| {
        // Blocks of 128 values in 4 parts, no values, and a first value.
        let page = Page::DataPage {
            buf: Bytes::from_static(&[0x80, 0x01, 0x04, 0x00, 0x00]),
            num_values: 10,
            encoding: Encoding::DELTA_BINARY_PACKED,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let pages = [dictionary_page(column, ""), page].map(|page| {
            let bytes = page.buffer().len();
            CompressedPage::new(page, bytes)
        });
        (Compression::UNCOMPRESSED, pages.into())
    });
    check_error(files, "10 delta-coded values whose header says otherwise");
}

/// Row groups that share their bytes would decode a small file thousands of times.
#[test]
fn row_groups_with_the_same_bytes_are_refused() {
    let mut files = with_repeated_rows("lines", 1000, "");
    let bytes = Bytes::from(files["lines.parquet"].clone());
    let metadata = ParquetMetaDataReader::new()
        .parse_and_finish(&bytes)
        .expect("just written");
    let group = metadata.row_group(0).clone();
    let mut file = metadata.file_metadata().clone();
    file = parquet::file::metadata::FileMetaData::new(
        file.version(),
        1_000_000,
        None,
        None,
        file.schema_descr_ptr(),
        None,
    );
    let forged = ParquetMetaData::new(file, vec![group; 1000]);
    let mut forged_bytes = bytes.to_vec();
    ParquetMetaDataWriter::new(&mut forged_bytes, &forged)
        .finish()
        .expect("a footer");
    files.insert("lines.parquet".to_owned(), forged_bytes);
    forge(&mut files, "lines", 1_000_000);
    check_error(files, "lines.parquet is corrupt: the columns claim");
}

#[test]
fn the_documentation_states_the_bytes_of_a_row() {
    let docs = include_str!("../../../../docs/profile-format.md");
    for (table, bytes) in [
        ("lines", size_of::<LineRow>()),
        ("counts", size_of::<CountRow>()),
        ("conflicts", size_of::<ConflictRow>()),
        ("pairs", size_of::<PairRow>()),
        ("waits", size_of::<WaitRow>()),
        ("bursts", size_of::<BurstRow>()),
        ("visits", size_of::<VisitRow>()),
        ("regions", size_of::<RegionRow>()),
        ("ranges", size_of::<RangeRow>()),
    ] {
        let row = format!("| `{table}` | {bytes} |\n");
        assert!(docs.contains(&row), "{row}");
    }
}

#[track_caller]
fn check_error(files: ProfileFiles, expect: &str) {
    let error = chain(&decode(files).expect_err(expect));
    assert!(error.contains(expect), "{error}");
}

fn chain(error: &FormatError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[track_caller]
fn check_peak() {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .expect("VmHWM");
    let peak_kb: u64 = peak
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .expect("a number");
    assert!(peak_kb / 1024 < PEAK_MAX_MB, "{} MB", peak_kb / 1024);
}

/// A profile whose `table` has `rows` times the same row, as one run in each column.
fn with_repeated_rows(table: &str, rows: u64, owner: &str) -> ProfileFiles {
    with_columns(table, rows, |column| {
        let pages = [dictionary_page(column, owner), data_page(column, rows)];
        let pages = pages.into_iter().map(|page| {
            let bytes = page.buffer().len();
            CompressedPage::new(page, bytes)
        });
        (Compression::UNCOMPRESSED, pages.collect())
    })
}

/// A profile whose `table` has the pages that `pages` makes for each column.
fn with_columns(
    table: &str,
    rows: u64,
    pages: impl Fn(&ColumnDescPtr) -> (Compression, Vec<CompressedPage>),
) -> ProfileFiles {
    let sample = sample();
    // The other tables are empty, so that the rows need refer to nothing but a run and a context.
    let profile = Profile {
        meta: sample.meta,
        sites: sample.sites,
        ..Profile::default()
    };
    let mut files = encode(&profile).expect("a valid profile");
    let name = format!("{table}.parquet");
    let empty = Bytes::from(files[&name].clone());
    let metadata = ParquetMetaDataReader::new()
        .parse_and_finish(&empty)
        .expect("written");
    let schema = metadata.file_metadata().schema_descr_ptr();
    let properties = Arc::new(WriterProperties::builder().build());
    let root = schema.root_schema_ptr();
    let mut writer = SerializedFileWriter::new(Vec::new(), root, properties).expect("a writer");
    let mut group = writer.next_row_group().expect("a row group");
    for column in schema.columns() {
        let (compression, pages) = pages(column);
        let (bytes, close) = column_chunk(column, rows, compression, pages);
        group.append_column(&bytes, close).expect("a column");
    }
    group.close().expect("a row group");
    files.insert(name, writer.into_inner().expect("a file"));
    forge(&mut files, table, rows);
    files
}

fn column_chunk(
    column: &ColumnDescPtr,
    rows: u64,
    compression: Compression,
    pages: Vec<CompressedPage>,
) -> (Bytes, ColumnCloseResult) {
    let mut sink = TrackedWrite::new(Vec::new());
    let mut writer = SerializedPageWriter::new(&mut sink);
    let mut data_offset = 0;
    for page in pages {
        data_offset = writer.write_page(page).expect("a page").offset;
    }
    let bytes = Bytes::from(sink.into_inner().expect("the pages"));
    let metadata = ColumnChunkMetaData::builder(Arc::clone(column))
        .set_compression(compression)
        .set_num_values(rows as i64)
        .set_total_compressed_size(bytes.len() as i64)
        .set_total_uncompressed_size(bytes.len() as i64)
        .set_dictionary_page_offset(Some(0))
        .set_data_page_offset(data_offset as i64)
        .build()
        .expect("metadata");
    let close = ColumnCloseResult {
        bytes_written: bytes.len() as u64,
        rows_written: rows,
        metadata,
        bloom_filter: None,
        column_index: None,
        offset_index: None,
    };
    (bytes, close)
}

/// A dictionary of one value that a valid row may have.
fn dictionary_page(column: &ColumnDescPtr, owner: &str) -> Page {
    let text = |text: &str| [&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat();
    let value = match (column.physical_type(), column.name()) {
        (PhysicalType::INT32, "size") => 8_u32.to_le_bytes().to_vec(),
        (PhysicalType::INT32, _) => vec![0; 4],
        (PhysicalType::INT64, _) => vec![0; 8],
        (_, "kind") => text("slab"),
        (_, "access") => text("read"),
        _ => text(owner),
    };
    Page::DictionaryPage {
        buf: value.into(),
        num_values: 1,
        encoding: Encoding::PLAIN,
        is_sorted: false,
    }
}

/// One run of `rows` values, all the first of the dictionary.
fn data_page(column: &ColumnDescPtr, rows: u64) -> Page {
    let run = |value: u8| [varint(rows << 1), vec![value]].concat();
    let mut buf = Vec::new();
    if column.max_def_level() > 0 {
        let levels = run(1);
        buf.extend((levels.len() as u32).to_le_bytes());
        buf.extend(levels);
    }
    buf.push(1); // bits of an index
    buf.extend(run(0));
    Page::DataPage {
        buf: buf.into(),
        num_values: rows as u32,
        encoding: Encoding::RLE_DICTIONARY,
        def_level_encoding: Encoding::RLE,
        rep_level_encoding: Encoding::RLE,
        statistics: None,
    }
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// Makes `meta.json` agree with the changed table.
fn forge(files: &mut ProfileFiles, table: &str, rows: u64) {
    let mut meta: serde_json::Value = serde_json::from_slice(&files["meta.json"]).expect("JSON");
    let bytes = &files[&format!("{table}.parquet")];
    meta["tables"][table]["rows"] = rows.into();
    meta["tables"][table]["bytes"] = bytes.len().into();
    meta["tables"][table]["crc32"] = crc32fast::hash(bytes).into();
    files.insert("meta.json".to_owned(), meta.to_string().into_bytes());
}
