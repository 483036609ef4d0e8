//! Data sets: whole, counted once, and not believed when they are damaged.

mod orders;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use relayout_contend::{
    AccessMeeting, FindingSubject, MemberTraffic, RecordingTraffic, SiteSource, SubjectTraffic,
};
use relayout_fleet::FleetError;
use relayout_fleet::add::ProfileAdder;
use relayout_fleet::answer::FleetAnswer;
use relayout_fleet::compact::compact;
use relayout_fleet::data_set::DataSet;
use relayout_fleet::day::Day;
use relayout_fleet::engine::{EngineSettings, QueryEngine};
use relayout_fleet::forget::{ForgottenEntries, forget};
use relayout_fleet::questions::{RecordingSelection, top_members, where_used};
use relayout_layout::MemberSpan;
use relayout_profile::{AccessKind, ProfileMeta, SiteId};
use relayout_session::{NamedTraffic, ProfileTraffic, RecordedOperations, RecordingExtent};

const DAY: Day = Day(20_784);
/// A name that is no address as it is.
const FOLDER: &str = "fleet of ünits, 100% [*]";

/// Returns the traffic of a profile with recordings of these seeds. In each, `job.lock` has 60 transfers, `job.data` 30
/// and `ticks` 10.
fn traffic(release: &str, seeds: &[u64]) -> NamedTraffic {
    let recordings = seeds.iter().map(|seed| RecordedOperations {
        profile: PathBuf::from("/recordings/a.relayout"),
        extent: RecordingExtent {
            seed: *seed,
            accesses: 1000,
            wall_ns: 5,
        },
        operations: 10.0,
        operations_per_second: None,
        traffic: recorded(),
    });
    let source = |function: &str| SiteSource {
        function: Some(function.to_owned()),
        file: Some("src/job.c".to_owned()),
        line: Some(7),
        inlined: None,
    };
    NamedTraffic {
        traffic: ProfileTraffic {
            meta: ProfileMeta {
                target: "kernel".to_owned(),
                workload: "mntns".to_owned(),
                release: release.to_owned(),
                build_id: format!("id-{release}"),
                machine: "x86_64".to_owned(),
                contexts: 4,
                ..ProfileMeta::default()
            },
            line_bytes: 64,
            names: Default::default(),
            recordings: recordings.collect(),
            incomplete: 0,
        },
        sites: BTreeMap::from([(SiteId(0), source("take")), (SiteId(1), source("give"))]),
        layouts: Vec::new(),
    }
}

fn recorded() -> RecordingTraffic {
    let member = |path: &str, offset| MemberSpan {
        path: path.to_owned(),
        offset,
        size: 8,
    };
    let sum = |transfers| MemberTraffic {
        transfers,
        reads: 2 * transfers,
        writes: transfers,
        contexts: Default::default(),
    };
    let meeting = AccessMeeting {
        member: "lock".to_owned(),
        site: SiteId(0),
        access: AccessKind::ReadWrite,
        other_member: "data".to_owned(),
        other_site: SiteId(1),
        other_access: AccessKind::Write,
    };
    let job = SubjectTraffic {
        transfers: 90,
        members: BTreeMap::from([(member("lock", 0), sum(60)), (member("data", 8), sum(30))]),
        pairs: BTreeMap::new(),
        meetings: BTreeMap::from([(meeting, 60)]),
    };
    let ticks = SubjectTraffic {
        transfers: 10,
        members: BTreeMap::from([(member("ticks", 0), sum(10))]),
        ..SubjectTraffic::default()
    };
    let job_type = FindingSubject::Type {
        name: "job".to_owned(),
    };
    let variable = FindingSubject::Scalar {
        name: "ticks".to_owned(),
    };
    RecordingTraffic {
        transfers: 100,
        subjects: BTreeMap::from([(job_type, job), (variable, ticks)]),
    }
}

struct TestSet {
    folder: tempfile::TempDir,
}

impl TestSet {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    fn address(&self) -> String {
        self.folder.path().join(FOLDER).display().to_string()
    }

    async fn add(&self, named: &NamedTraffic) -> usize {
        let set = DataSet::open_or_create(&self.address())
            .await
            .expect("a data set");
        let mut adder = ProfileAdder::new(&set).await.expect("an adder");
        adder.add_traffic(named, DAY).await.expect("it is added")
    }

    async fn set(&self) -> DataSet {
        DataSet::open(&self.address()).await.expect("a data set")
    }

    async fn engine(&self) -> Result<QueryEngine, FleetError> {
        QueryEngine::open(&self.set().await, &EngineSettings::default()).await
    }

    async fn top(&self) -> Vec<(String, f64, i64)> {
        let engine = self.engine().await.expect("an engine");
        let answer = top_members(&engine, &RecordingSelection::default(), 10).await;
        rows_of(&answer.expect("an answer"))
    }

    fn files(&self, table: &str) -> Vec<PathBuf> {
        let mut files = Vec::new();
        collect(&self.folder.path().join(FOLDER).join(table), &mut files);
        files
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => collect(&path, files),
            false => files.push(path),
        }
    }
}

fn rows_of(answer: &FleetAnswer) -> Vec<(String, f64, i64)> {
    let rows = answer.tables[0].json_rows().expect("rows");
    let row = |row: &relayout_report::documents::fleet::FleetRow| {
        (
            row["member"].as_str().expect("a name").to_owned(),
            row["mean_share"].as_f64().expect("a share"),
            row["recordings"].as_i64().expect("a count"),
        )
    };
    rows.iter().map(row).collect()
}

fn expected(recordings: i64) -> Vec<(String, f64, i64)> {
    [("job.lock", 0.6), ("job.data", 0.3), ("ticks", 0.1)]
        .map(|(name, share)| (name.to_owned(), share, recordings))
        .to_vec()
}

#[track_caller]
fn assert_close(found: &[(String, f64, i64)], expect: &[(String, f64, i64)]) {
    assert_eq!(found.len(), expect.len(), "{found:?}");
    for (a, b) in found.iter().zip(expect) {
        assert_eq!((&a.0, a.2), (&b.0, b.2), "{found:?}");
        assert!((a.1 - b.1).abs() < 1e-9, "{found:?}");
    }
}

#[tokio::test]
async fn a_profile_that_is_added_twice_changes_nothing() {
    let test = TestSet::new();
    assert_eq!(test.add(&traffic("6.1", &[1, 2])).await, 2);
    let before = test.files("members");
    assert_eq!(test.add(&traffic("6.1", &[1, 2])).await, 0);
    assert_eq!(test.files("members"), before);
    // A profile that shares a recording adds the other one.
    assert_eq!(test.add(&traffic("6.1", &[2, 3])).await, 1);
    assert_close(&test.top().await, &expected(3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn commands_that_add_at_once_count_each_recording_once() {
    let test = TestSet::new();
    let set = DataSet::open_or_create(&test.address())
        .await
        .expect("a data set");
    let seeds: [&[u64]; 6] = [&[1, 2], &[2, 3], &[1, 2, 3], &[1, 2], &[2, 3], &[1, 2, 3]];
    let additions = seeds.map(|seeds| {
        let (set, named) = (&set, traffic("6.1", seeds));
        async move {
            let mut adder = ProfileAdder::new(set).await.expect("an adder");
            adder.add_traffic(&named, DAY).await.expect("it is added")
        }
    });
    let added: Vec<usize> = futures::future::join_all(additions).await;
    // None of them saw what the others were about to add.
    assert!(added.iter().sum::<usize>() > 3, "{added:?}");
    assert_close(&test.top().await, &expected(3));
    compact(&set, &EngineSettings::default())
        .await
        .expect("compact");
    assert_close(&test.top().await, &expected(3));
}

#[tokio::test]
async fn joined_files_give_the_same_answers() {
    let test = TestSet::new();
    for seed in 0..8 {
        test.add(&traffic("6.1", &[seed])).await;
    }
    test.add(&traffic("6.12", &[1])).await;
    let before = test.top().await;
    let places = |answer: FleetAnswer| answer.tables[0].json_rows().expect("rows");
    let select = RecordingSelection::default();
    let engine = test.engine().await.expect("an engine");
    let where_before = places(
        where_used(&engine, "give", &select, 5)
            .await
            .expect("places"),
    );
    let done = compact(&test.set().await, &EngineSettings::default())
        .await
        .expect("compact");
    assert_eq!((done.files_before, done.files_now), (36, 4));
    assert_eq!(test.top().await, before);
    let engine = test.engine().await.expect("an engine");
    let where_after = places(
        where_used(&engine, "give", &select, 5)
            .await
            .expect("places"),
    );
    assert_eq!(where_after, where_before);
    // Joined recordings are known, and nothing is left to join.
    assert_eq!(test.add(&traffic("6.1", &[3])).await, 0);
    let again = compact(&test.set().await, &EngineSettings::default())
        .await
        .expect("compact");
    assert_eq!(again.days.len(), 0);
}

#[tokio::test]
async fn a_joining_that_was_interrupted_counts_nothing_twice() {
    let test = TestSet::new();
    test.add(&traffic("6.1", &[1])).await;
    test.add(&traffic("6.1", &[2])).await;
    let folder = test.folder.path().join(FOLDER);
    let kept = test.folder.path().join("before");
    copy_all(&folder, &kept);
    compact(&test.set().await, &EngineSettings::default())
        .await
        .expect("compact");
    // The joined files are written, and the old ones are not removed.
    copy_all(&kept, &folder);
    assert_close(&test.top().await, &expected(2));
    compact(&test.set().await, &EngineSettings::default())
        .await
        .expect("compact");
    assert_eq!(test.files("entries").len(), 1);
    assert_close(&test.top().await, &expected(2));
}

#[tokio::test]
async fn a_recording_that_two_days_have_stays_when_both_are_joined() {
    let test = TestSet::new();
    let set = DataSet::open_or_create(&test.address())
        .await
        .expect("a data set");
    // Neither sees what the other is about to add.
    let first = ProfileAdder::new(&set).await.expect("an adder");
    let second = ProfileAdder::new(&set).await.expect("an adder");
    let next_day = Day(DAY.0 + 1);
    for (mut adder, day, profiles) in [
        (first, DAY, [[1, 2], [3, 4]]),
        (second, next_day, [[4, 5], [6, 7]]),
    ] {
        for seeds in profiles {
            let named = traffic("6.1", &seeds);
            adder.add_traffic(&named, day).await.expect("it is added");
        }
    }
    assert_close(&test.top().await, &expected(7));
    compact(&set, &EngineSettings::default())
        .await
        .expect("compact");
    assert_eq!(test.files("entries").len(), 2);
    assert_close(&test.top().await, &expected(7));
}

fn copy_all(from: &Path, to: &Path) {
    let mut files = Vec::new();
    collect(from, &mut files);
    for file in files {
        let target = to.join(file.strip_prefix(from).expect("inside"));
        fs::create_dir_all(target.parent().expect("a folder")).expect("a folder");
        fs::copy(&file, target).expect("a copy");
    }
}

#[tokio::test]
async fn files_of_no_entry_do_not_count_and_are_removed_when_they_are_old() {
    let test = TestSet::new();
    test.add(&traffic("6.1", &[1])).await;
    test.add(&traffic("6.1", &[2])).await;
    // As if the second command had been killed before its end.
    let entry = test.files("entries").pop().expect("an entry");
    fs::remove_file(entry).expect("removed");
    assert_close(&test.top().await, &expected(1));
    let set = test.set().await;
    let young = compact(&set, &EngineSettings::default())
        .await
        .expect("compact");
    assert_eq!(young.left_over.len(), 0);
    for file in test.files("members") {
        let two_days = std::time::Duration::from_secs(2 * 24 * 60 * 60);
        let file = fs::File::options().write(true).open(file).expect("a file");
        file.set_modified(std::time::SystemTime::now() - two_days)
            .expect("a time");
    }
    let old = compact(&set, &EngineSettings::default())
        .await
        .expect("compact");
    assert_eq!(old.left_over.len(), 1, "{:?}", old.left_over);
    assert_close(&test.top().await, &expected(1));
}

#[tokio::test]
async fn damaged_files_are_named_and_written_again() {
    let test = TestSet::new();
    test.add(&traffic("6.1", &[1])).await;
    test.add(&traffic("6.1", &[2])).await;
    let file = test.files("members").pop().expect("a file");
    let whole = fs::read(&file).expect("bytes");
    fs::write(&file, &whole[..whole.len() / 2]).expect("cut");
    let error = test.engine().await.err().expect("an error").full_text();
    let name = file
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    assert!(
        error.contains(&name) && error.contains("--entry"),
        "{error}"
    );
    // Half of the length was kept, so it is written again.
    assert_eq!(
        test.add(&traffic("6.1", &[1])).await + test.add(&traffic("6.1", &[2])).await,
        1
    );
    assert_close(&test.top().await, &expected(2));

    // As long as before, with other bytes.
    let mut other = whole.clone();
    for byte in &mut other[4..whole.len() - 8] {
        *byte ^= 0x5a;
    }
    fs::write(&file, &other).expect("other bytes");
    let engine = test.engine().await.expect("an engine");
    let error = top_members(&engine, &RecordingSelection::default(), 10).await;
    let error = error.expect_err("an error").full_text();
    assert!(error.contains(&name), "{error}");

    fs::remove_file(&file).expect("removed");
    let error = test.engine().await.err().expect("an error").full_text();
    assert!(error.contains("missing"), "{error}");
}

#[tokio::test]
async fn recordings_are_forgotten_by_day() {
    let test = TestSet::new();
    let set = DataSet::open_or_create(&test.address())
        .await
        .expect("a data set");
    let mut adder = ProfileAdder::new(&set).await.expect("an adder");
    adder
        .add_traffic(&traffic("6.1", &[1]), Day(DAY.0 - 1))
        .await
        .expect("added");
    adder
        .add_traffic(&traffic("6.1", &[2]), DAY)
        .await
        .expect("added");
    let old = ForgottenEntries {
        before: Some(DAY),
        ..ForgottenEntries::default()
    };
    let entries = old.find(&set).await.expect("entries");
    assert_eq!(entries.len(), 1);
    forget(&set, &entries).await.expect("forgotten");
    assert_close(&test.top().await, &expected(1));
    assert_eq!(test.files("members").len(), 1);
    let unknown = ForgottenEntries {
        names: ["none".to_owned()].into(),
        ..ForgottenEntries::default()
    };
    assert!(unknown.find(&set).await.is_err());
}

#[tokio::test]
async fn other_folders_and_newer_formats_are_refused() {
    let test = TestSet::new();
    let refuse = async || {
        let opened = DataSet::open_or_create(&test.address()).await;
        opened.expect_err("an error").full_text()
    };
    let opened = DataSet::open(&test.address()).await;
    let error = opened.expect_err("an error").full_text();
    assert!(
        error.contains("is no data set; `relayout fleet add"),
        "{error}"
    );
    let folder = test.folder.path().join(FOLDER);
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("thesis.tex"), "x").expect("a file");
    assert!(refuse().await.contains("other files (thesis.tex)"));
    for (mark, expect) in [
        (r#"{"kind":"relayout-fleet","format":3}"#, "has format 3"),
        (r#"{"kind":"relayout-fleet","format":0}"#, "its format is 0"),
        (r#"{"kind":"lake","format":1}"#, "its kind is"),
        ("not JSON", "no mark"),
    ] {
        fs::write(folder.join("fleet.json"), mark).expect("a mark");
        let error = refuse().await;
        assert!(error.contains(expect), "{error}");
    }
}

#[tokio::test]
async fn entries_that_point_elsewhere_are_refused() {
    let test = TestSet::new();
    test.add(&traffic("6.1", &[1])).await;
    let entry = test.files("entries").pop().expect("an entry");
    let text = fs::read_to_string(&entry).expect("text");
    for path in [
        "members/../../../etc/passwd",
        "/etc/passwd",
        "entries/x.json",
        "members//x",
    ] {
        let start = text.find("members/date=").expect("a path");
        let end = start + text[start..].find('"').expect("its end");
        fs::write(&entry, format!("{}{path}{}", &text[..start], &text[end..])).expect("written");
        let error = test.engine().await.err().expect("an error").full_text();
        assert!(error.contains("is no file of rows"), "{error}");
    }
}

#[tokio::test]
async fn queries_change_nothing() {
    let test = TestSet::new();
    test.add(&traffic("6.1", &[1])).await;
    let engine = test.engine().await.expect("an engine");
    let target = test.folder.path().join("out.parquet");
    for query in [
        "CREATE TABLE copy AS SELECT * FROM members",
        &format!("COPY members TO '{}'", target.display()),
        "INSERT INTO members SELECT * FROM members",
        "DROP TABLE members",
        "SET datafusion.execution.batch_size = 1",
        "CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '/etc/passwd'",
    ] {
        assert!(engine.query(query).await.is_err(), "{query}");
    }
    assert!(!target.exists());
    for (query, expect) in [
        ("SELECT * FROM nothing", "nothing"),
        ("SELEC 1", "SELEC"),
        ("SELECT missing FROM members", "missing"),
    ] {
        let error = engine.query(query).await.expect_err(query).full_text();
        assert!(error.contains(expect), "{error}");
    }
    let rows = engine
        .query("SELECT type, share_sum FROM costs ORDER BY share_sum DESC")
        .await;
    assert_eq!(
        rows.expect("rows")
            .iter()
            .map(|batch| batch.num_rows())
            .sum::<usize>(),
        3
    );
}

#[tokio::test]
async fn a_query_beyond_its_memory_spills_or_says_so() {
    let test = TestSet::new();
    for seed in 0..40 {
        test.add(&traffic("6.1", &[seed])).await;
    }
    let settings = EngineSettings {
        memory_bytes: 1_000_000,
        ..EngineSettings::default()
    };
    let engine = QueryEngine::open(&test.set().await, &settings)
        .await
        .expect("an engine");
    let query = "SELECT a.recording, COUNT(*) FROM members a, members b, members c GROUP BY a.recording, b.recording, \
                 c.recording ORDER BY 2";
    match engine.query(query).await {
        Ok(rows) => assert_eq!(rows.iter().map(|b| b.num_rows()).sum::<usize>(), 64_000),
        Err(error) => assert!(
            error.full_text().contains("--memory"),
            "{}",
            error.full_text()
        ),
    }
}

/// The command writes a query and a question to files of both kinds; queries to Parquet failed once, as two files beside
/// the target had one name.
#[tokio::test]
async fn the_command_writes_files() {
    let test = TestSet::new();
    test.add(&traffic("6.1", &[1])).await;
    let folder = test.folder.path();
    let query = "SELECT member, transfers FROM members ORDER BY transfers DESC";
    for words in [&["sql", query][..], &["top"]] {
        let (command, rest) = words.split_first().expect("a command");
        for format in ["csv", "parquet"] {
            let file = folder.join(format!("{command}.{format}"));
            let ended = Command::new(env!("CARGO_BIN_EXE_relayout-fleet"))
                .args([*command, &test.address()])
                .args(rest)
                .args(["--format", format, "--output"])
                .arg(&file)
                .output()
                .expect("it runs");
            assert!(ended.status.success(), "{ended:?}");
            let bytes = fs::read(&file).expect("a file");
            match format {
                "csv" => {
                    let text = String::from_utf8(bytes).expect("text");
                    assert_eq!(text.lines().count(), 4, "{text}");
                }
                _ => {
                    let builder = ParquetRecordBatchReaderBuilder::try_new(
                        fs::File::open(&file).expect("a file"),
                    );
                    let rows = builder
                        .expect("Parquet")
                        .metadata()
                        .file_metadata()
                        .num_rows();
                    assert_eq!(rows, 3);
                }
            }
        }
    }
    let left: Vec<_> = { fs::read_dir(folder).expect("a folder") }
        .map(|entry| entry.expect("an entry").file_name())
        .filter(|name| name.to_string_lossy().contains("partial"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}
