//! perf itself reads the files that the tests write, and says the same of them.

use std::process::Command;

use relayout_perf_data::decode;

use crate::builder::*;

/// Returns what perf prints about a file.
pub fn perf(arguments: &[&str], file: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("perf.data");
    std::fs::write(&path, file).unwrap();
    let output = Command::new("perf")
        .args(arguments)
        .arg("-i")
        .arg(&path)
        .env("HOME", folder.path())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}: {errors}{text}", output.status);
    text
}

/// One line for each sample: thread, event, address, data source, weight, instruction.
#[track_caller]
fn check(mut file: File, weight: bool) {
    ping_pong(&mut file, 4);
    let fields = if weight {
        "tid,event,addr,data_src,weight,ip"
    } else {
        "tid,event,addr,data_src,ip"
    };
    let theirs = perf(&["script", "-F", fields], &file.bytes());
    let ours = decode(&file.bytes()).unwrap();
    let theirs: Vec<&str> = theirs
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    assert_eq!(theirs.len(), ours.samples.len(), "{theirs:#?}");
    let mut samples = ours.samples.clone();
    samples.sort_by_key(|sample| sample.time_ns);
    for (line, sample) in theirs.iter().zip(&samples) {
        let name = &ours.events[sample.event as usize].name;
        for word in [
            format!(" {} ", sample.tid),
            format!("{name}:"),
            format!(" {:x} ", sample.addr),
            format!(" {:x} ", sample.source.0),
            format!("{:x} ", sample.pc),
        ] {
            assert!(format!(" {line} ").contains(&word), "{word:?} in {line}");
        }
        let words: Vec<&str> = line
            .split(['|', ' '])
            .filter(|word| !word.is_empty())
            .collect();
        let says = |word: &str| words.contains(&word);
        assert_eq!(sample.source.is_load(), says("LOAD"), "{line}");
        assert_eq!(sample.source.is_store(), says("STORE"), "{line}");
        assert_eq!(sample.source.is_hitm(), says("HitM"), "{line}");
        if weight {
            assert!(says(&sample.weight.to_string()), "{line}");
        }
    }
}

#[test]
fn perf_script_reads_the_same() {
    relayout_testkit::require_programs(&["perf"]);
    check(File::pebs(), true);
    check(File::ibs(), true);
}

/// `perf c2c` finds the line, with as many HITMs.
#[test]
fn perf_c2c_finds_the_same_line() {
    relayout_testkit::require_programs(&["perf"]);
    let mut file = File::pebs();
    // Of code in a file, perf asks addr2line, and ends with a broken pipe if that ended before.
    ping_pong_in(&mut file, "//anon", 50);
    let report = perf(&["c2c", "report", "--stdio", "--stats"], &file.bytes());
    let says = |label: &str| {
        let line = report
            .lines()
            .find(|line| line.trim_start().starts_with(label));
        line.and_then(|line| line.rsplit(':').next()?.trim().parse::<usize>().ok())
    };
    let ours = decode(&file.bytes()).unwrap().samples;
    let count =
        |of: fn(&relayout_perf_data::MemorySample) -> bool| ours.iter().filter(|s| of(s)).count();
    assert_eq!(
        says("Load Operations"),
        Some(count(|s| s.source.is_load())),
        "{report}"
    );
    assert_eq!(
        says("Store Operations"),
        Some(count(|s| s.source.is_store())),
        "{report}"
    );
    assert_eq!(
        says("Load Local HITM"),
        Some(count(|s| s.source.is_hitm())),
        "{report}"
    );
}
