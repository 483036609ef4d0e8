//! Recordings of different orders: told apart, never added up or compared, and those of older data sets.

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use relayout_fleet::answer::AnswerTable;
use relayout_fleet::questions::{PayingLayouts, member_trend, score_over_recordings};
use relayout_fleet::rows::parquet_bytes;
use relayout_messages::SilentProgress;
use relayout_profile::SimulatedMachineName;
use relayout_report::Document as _;

use super::*;

const SIMULATED: &str = "sapphire-rapids-2s (pack)";
const NOTE: &str = "Order of accesses: sapphire-rapids-2s (pack), simulated.";

/// Returns the traffic of a profile as [`traffic`], in the time of a simulated machine.
fn simulated_traffic(release: &str, seeds: &[u64]) -> NamedTraffic {
    let mut named = traffic(release, seeds);
    named.traffic.meta.simulated_machine = Some(SimulatedMachineName {
        key: "sapphire-rapids-2s".to_owned(),
        placement: "pack".to_owned(),
        ..SimulatedMachineName::default()
    });
    for recording in &mut named.traffic.recordings {
        recording.operations_per_second = Some(2e9);
    }
    named
}

fn of_order(order: &str) -> RecordingSelection {
    RecordingSelection {
        order: Some(order.to_owned()),
        ..RecordingSelection::default()
    }
}

/// Returns the answers of `top`, `trend` and `where`.
async fn ask(
    test: &TestSet,
    selection: &RecordingSelection,
) -> [Result<FleetAnswer, FleetError>; 3] {
    let engine = test.engine().await.expect("an engine");
    [
        top_members(&engine, selection, 10).await,
        member_trend(&engine, "job.lock", selection).await,
        where_used(&engine, "job.lock", selection, 10).await,
    ]
}

/// Returns the error of `pays` for a layout of `job`: the profile is at no path.
async fn pays_error(test: &TestSet, selection: &RecordingSelection) -> String {
    let layout = test.folder.path().join("layout.txt");
    fs::write(&layout, "struct job {\n\tlong data;\n\tlong lock;\n};\n").expect("a layout");
    let layouts = PayingLayouts {
        type_name: "job".to_owned(),
        files: vec![layout],
        debug: Vec::new(),
    };
    let engine = test.engine().await.expect("an engine");
    let answer = score_over_recordings(&engine, &layouts, selection, &SilentProgress).await;
    answer.expect_err("an error").full_text()
}

#[track_caller]
fn assert_refused(error: &str) {
    let found = "`host` in 2, `sapphire-rapids-2s (pack)` in 1";
    assert!(
        error.contains(found) && error.ends_with("--order ORDER"),
        "{error}"
    );
}

/// Returns the values of a column of text.
async fn texts(test: &TestSet, query: &str) -> Vec<String> {
    let engine = test.engine().await.expect("an engine");
    let batches = engine.query(query).await.expect("rows");
    let table = AnswerTable {
        name: "rows".to_owned(),
        batches,
    };
    let rows = table.json_rows().expect("rows");
    let text = |value: Option<&serde_json::Value>| value?.as_str().map(str::to_owned);
    { rows.iter() }
        .map(|row| text(row.values().next()).expect("text"))
        .collect()
}

#[tokio::test]
async fn recordings_of_several_orders_are_refused() {
    let test = TestSet::new();
    test.add(&traffic("6.1", &[1, 2])).await;
    // It differs from the first one in nothing but the order.
    assert_eq!(test.add(&simulated_traffic("6.1", &[1])).await, 1);
    let all = RecordingSelection::default();
    for answer in ask(&test, &all).await {
        assert_refused(&answer.expect_err("an error").full_text());
    }
    assert_refused(&pays_error(&test, &all).await);
    let by_order = "SELECT access_order || ': ' || transfers FROM costs WHERE member = 'lock' ORDER BY access_order";
    assert_eq!(
        texts(&test, by_order).await,
        ["host: 120", "sapphire-rapids-2s (pack): 60"]
    );
}

#[tokio::test]
async fn an_order_is_chosen_and_named() {
    let test = TestSet::new();
    test.add(&traffic("6.1", &[1, 2])).await;
    test.add(&simulated_traffic("6.1", &[1])).await;
    test.add(&simulated_traffic("6.12", &[1])).await;
    for (order, recordings, has_note) in [("host", 2, false), (SIMULATED, 2, true)] {
        for answer in ask(&test, &of_order(order)).await {
            let notes = answer.expect("an answer").notes;
            assert_eq!(notes.iter().any(|note| note == NOTE), has_note, "{notes:?}");
        }
        let [top, ..] = ask(&test, &of_order(order)).await;
        assert_close(&rows_of(&top.expect("an answer")), &expected(recordings));
        let error = pays_error(&test, &of_order(order)).await;
        assert!(error.contains("not there any more"), "{error}");
    }
    let with_release = RecordingSelection {
        release: Some("6.12".to_owned()),
        ..RecordingSelection::default()
    };
    let [top, ..] = ask(&test, &with_release).await;
    assert_eq!(top.expect("one order is left").notes[0], NOTE);
    for answer in ask(&test, &of_order("rome-2s (pack)")).await {
        let error = answer.expect_err("an error").full_text();
        assert!(error.contains("no recording is selected"), "{error}");
    }
}

/// Makes the data set one of format 1, which has no columns for the order and for rates.
async fn make_older(test: &TestSet) {
    let set = test.set().await;
    let folder = test.folder.path().join(FOLDER);
    for mut entry in set.read_entries().await.expect("entries") {
        let files = entry.files.iter_mut();
        for file in files.filter(|file| file.table != "layouts") {
            let path = folder.join(&file.path);
            let rows = fs::File::open(&path).expect("a file");
            let reader = ParquetRecordBatchReaderBuilder::try_new(rows).expect("Parquet");
            let batches = reader
                .build()
                .expect("a reader")
                .collect::<Result<Vec<_>, _>>();
            let [mut batch] = <[_; 1]>::try_from(batches.expect("rows"))
                .unwrap_or_else(|batches| panic!("{}: {} batches", path.display(), batches.len()));
            for name in ["access_order", "operations_per_second"] {
                if let Ok(column) = batch.schema().index_of(name) {
                    batch.remove_column(column);
                }
            }
            let bytes = parquet_bytes(&batch).expect("Parquet");
            file.bytes = bytes.len() as u64;
            fs::write(path, bytes).expect("written");
        }
        set.write_entry(&entry).await.expect("an entry");
    }
    let mark = "{\"kind\":\"relayout-fleet\",\"format\":1}\n";
    fs::write(folder.join("fleet.json"), mark).expect("a mark");
}

#[tokio::test]
async fn recordings_of_an_older_data_set_have_the_order_of_the_host() {
    let test = TestSet::new();
    test.add(&traffic("6.1", &[1])).await;
    test.add(&traffic("6.1", &[2])).await;
    let answers = async |selection: RecordingSelection| {
        let answers = ask(&test, &selection).await;
        answers.map(|answer| {
            let document = answer.expect("an answer").document("fleet", 2);
            document.expect("a document").to_json().expect("JSON")
        })
    };
    let all = RecordingSelection::default;
    let before = answers(all()).await;
    make_older(&test).await;
    let orders =
        "SELECT access_order FROM recordings UNION ALL SELECT DISTINCT access_order FROM members";
    assert_eq!(texts(&test, orders).await, ["host"; 3]);
    assert_eq!(answers(all()).await, before);
    assert_eq!(answers(of_order("host")).await, before);

    // What is added is told apart, by this format alone.
    assert_eq!(test.add(&traffic("6.1", &[2])).await, 0);
    assert_eq!(test.add(&simulated_traffic("6.1", &[2])).await, 1);
    let mark = fs::read_to_string(test.folder.path().join(FOLDER).join("fleet.json"));
    assert!(mark.expect("a mark").contains("\"format\":3"));
    for answer in ask(&test, &all()).await {
        assert_refused(&answer.expect_err("an error").full_text());
    }
    assert_eq!(answers(of_order("host")).await, before);

    let set = test.set().await;
    compact(&set, &EngineSettings::default())
        .await
        .expect("compact");
    assert_eq!(test.files("entries").len(), 1);
    assert_eq!(answers(of_order("host")).await, before);
    let [top, ..] = ask(&test, &of_order(SIMULATED)).await;
    assert_close(&rows_of(&top.expect("an answer")), &expected(1));
}

#[tokio::test]
async fn the_command_takes_and_prints_an_order() {
    let test = TestSet::new();
    test.add(&traffic("6.1", &[1, 2])).await;
    test.add(&simulated_traffic("6.1", &[1])).await;
    let run = |options: &[&str]| {
        let ended = Command::new(env!("CARGO_BIN_EXE_relayout-fleet"))
            .args(["top", &test.address()])
            .args(options)
            .output()
            .expect("it runs");
        let [out, error] = [ended.stdout, ended.stderr].map(String::from_utf8);
        (
            ended.status.code(),
            out.expect("text"),
            error.expect("text"),
        )
    };
    let (code, out, error) = run(&[]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert_refused(error.trim_end());
    for format in ["table", "json"] {
        let (code, out, error) = run(&["--order", SIMULATED, "--format", format]);
        assert_eq!((code, error.as_str()), (Some(0), ""));
        assert!(out.contains(NOTE), "{out}");
        let (_, out, _) = run(&["--order", "host", "--format", format]);
        assert!(!out.contains("Order of accesses"), "{out}");
    }
}

#[tokio::test]
async fn recordings_in_simulated_time_have_rates() {
    let test = TestSet::new();
    test.add(&traffic("6.1", &[1])).await;
    test.add(&simulated_traffic("6.1", &[1])).await;
    let query = "SELECT access_order || ' ' || COALESCE(CAST(operations_per_second AS BIGINT), 0) AS rate FROM recordings \
                 ORDER BY rate";
    assert_eq!(
        texts(&test, query).await,
        ["host 0", "sapphire-rapids-2s (pack) 2000000000"]
    );
}
