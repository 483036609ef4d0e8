//! A program that is built, recorded and reported on: what is shared is found by type, members,
//! place of allocation and variable, wherever the system mapped it.

use std::fs;
use std::path::PathBuf;

use crate::common::programs::recording_place;
use crate::common::{Ended, Place};
use serde_json::Value;

/// Two threads begin together, store to two members of one allocation and to two variables, and
/// hand the processor over now and then, so that they meet whatever else the machine does.
const SOURCE: &str = "
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

struct work {
	unsigned long produced;
	unsigned long consumed;
	unsigned long limit;
};

unsigned long started __attribute__((aligned(64)));
unsigned long ended;
static struct work *work;
static pthread_barrier_t both;

static struct work *work_new(void)
{
	struct work *new = aligned_alloc(64, 64);

	new->limit = 100000;
	return new;
}

static void *produce(void *unused)
{
	pthread_barrier_wait(&both);
	for (unsigned long i = 0; i < work->limit; i++) {
		work->produced++;
		started++;
		if (i % 64 == 0)
			sched_yield();
	}
	return unused;
}

static void *consume(void *unused)
{
	pthread_barrier_wait(&both);
	for (unsigned long i = 0; i < work->limit; i++) {
		work->consumed++;
		ended++;
		if (i % 64 == 0)
			sched_yield();
	}
	return unused;
}

int main(void)
{
	pthread_t one, other;

	work = work_new();
	pthread_barrier_init(&both, 0, 2);
	pthread_create(&one, 0, produce, 0);
	pthread_create(&other, 0, consume, 0);
	pthread_join(one, 0);
	pthread_join(other, 0);
	return work->produced != work->consumed;
}
";

/// A folder with the program and its recording.
fn recorded() -> Place {
    let place = recording_place();
    place.write("work.c", SOURCE);
    run_successfully(
        &place,
        "cc -O2 -fno-toplevel-reorder -g -pthread -o work work.c",
    );
    run_successfully(&place, "record run -o work.relayout -- ./work");
    place.compile(
        "native",
        SOURCE,
        &["-O2", "-fno-toplevel-reorder", "-g", "-pthread"],
    );
    place
}

/// Runs the command with the environment's own programs.
fn run_successfully(place: &Place, arguments: &str) -> Ended {
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let mut command = place.relayout(&arguments);
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    let ended = place.ended(&mut command);
    assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
    ended
}

#[test]
fn types_members_allocations_and_variables_are_named() {
    let place = recorded();
    let report = run_successfully(
        &place,
        "report work.relayout --top 0 --json --production native",
    );
    let report: Value = serde_json::from_str(&report.stdout).unwrap();
    assert_eq!(report["machine"]["target"], "program");
    let share = report["resolved_share"].as_f64().unwrap();
    assert!(share > 0.9, "{share}: {}", report["unresolved"]);
    let findings = report["findings"].as_array().unwrap();
    let finding_of = |name: &str| {
        let found = findings.iter().find(|f| f["type"] == name);
        found.unwrap_or_else(|| panic!("no {name} among {findings:#?}"))
    };
    let work = finding_of("work");
    // `limit` is only read, beside counters that others store to.
    let kind = work["kind"].as_str().unwrap();
    assert!(["read-mostly", "false-sharing"].contains(&kind), "{kind}");
    let members = work["members"].as_array().unwrap();
    for name in ["produced", "consumed"] {
        let member = members.iter().find(|m| m["name"] == name).unwrap();
        assert!(member["writes"].as_u64() > Some(0), "{member}");
    }
    let allocated = work["allocated"].as_object().unwrap();
    let by: Vec<&String> = allocated.keys().collect();
    assert!(
        by.len() == 1 && by[0].contains("aligned_alloc in"),
        "{by:?}"
    );
    let (name, other) = match findings.iter().any(|f| f["type"] == "started") {
        true => ("started", "ended"),
        false => ("ended", "started"),
    };
    let variable = finding_of(name);
    let same_line = variable["production"]["same_line"].as_array().unwrap();
    assert!(same_line.iter().any(|name| name == other), "{same_line:?}");
}

#[test]
fn words_are_a_program_s() {
    let place = recorded();
    let report = run_successfully(&place, "report work.relayout --all").stdout;
    for words in [
        "Thr.",
        "Allocated: aligned_alloc in",
        "--production FILE",
        "work.c:",
    ] {
        assert!(report.contains(words), "{words} is not in\n{report}");
    }
    let advice = run_successfully(&place, "advise work.relayout work --all --layouts").stdout;
    assert!(advice.contains("struct work: 1 object"), "{advice}");
    // It lies well where the two members are apart.
    assert!(advice.contains("to 64 bytes"), "{advice}");
}

#[test]
fn a_finding_is_explained() {
    let place = recorded();
    let report = run_successfully(&place, "report work.relayout --json").stdout;
    let report: Value = serde_json::from_str(&report).unwrap();
    // Where the machine is busy, the variable that the program waits for comes before it.
    let findings = report["findings"].as_array().unwrap();
    let is_work = |finding: &&Value| finding["type"] == "work";
    let rank = findings.iter().find(is_work).expect("a finding")["rank"].to_string();
    let explain = format!("report work.relayout --explain {rank}");
    let text = run_successfully(&place, &explain).stdout;
    for words in [
        &format!("#{rank} work: 1 object"),
        "allocation aligned_alloc in",
        "say the same by themselves",
    ] {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }
    let json = run_successfully(&place, &format!("{explain} --json")).stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["schema"], "relayout/explain/1");
    assert_eq!(json["type"], "work");
    assert!(json["objects_total"].as_u64().unwrap() > 0);
    let instructions = json["instructions"].as_array().unwrap();
    assert!(
        instructions
            .iter()
            .any(|row| row["says"] == "same" && row["accesses"].as_u64() > Some(0))
    );
    let ended = place.run(&["report", "work.relayout", "--explain", "9999"]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("no finding of rank 9999"),
        "{}",
        ended.stderr
    );
}

#[test]
fn what_was_kept_makes_no_difference() {
    let place = recorded();
    let report = || run_successfully(&place, "report work.relayout --json").stdout;
    let first = report();
    let kept = kept_files(&place);
    assert!(!kept.is_empty(), "a file is kept");
    for path in &kept {
        let bytes = fs::read(path).unwrap();
        // A kept file is read if nothing that was made from it is there.
        kept.iter().filter(|other| *other != path).for_each(remove);
        assert_eq!(report(), first);
        assert_eq!(fs::read(path).unwrap(), bytes, "nothing was new");
        // What is damaged is found out again.
        kept.iter().filter(|other| *other != path).for_each(remove);
        fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        assert_eq!(report(), first, "{}", path.display());
        assert_eq!(fs::read(path).unwrap(), bytes, "{}", path.display());
    }
    kept.iter().for_each(remove);
    let mut without = place.relayout(&["report", "work.relayout", "--json"]);
    let ended = place.ended(without.env("RELAYOUT_NO_CACHE", "1"));
    assert_eq!(ended.stdout, first);
    assert_eq!(kept_files(&place), Vec::<PathBuf>::new());
}

/// A bit that changes in any kept file is noticed: what was kept of it is computed again.
#[test]
fn kept_files_that_rot_are_not_printed() {
    let place = recorded();
    // A search, whose judgement is kept; the explanations of findings; and the report itself.
    let commands = [
        "report work.relayout --by saving",
        "report work.relayout",
        "report work.relayout --explain 1",
    ];
    let texts = || commands.map(|words| run_successfully(&place, words).stdout);
    texts();
    let expect = texts();
    let whole: Vec<(PathBuf, Vec<u8>)> = { kept_files(&place).into_iter() }
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    for extension in ["report", "findings", "judged", "kept"] {
        let is_of = |path: &PathBuf| path.extension().is_some_and(|found| found == extension);
        assert!(whole.iter().any(|(path, _)| is_of(path)), "no {extension}");
    }
    for (path, bytes) in &whole {
        let is_digit = |at: &usize| bytes[*at].is_ascii_digit();
        let digit = (bytes.len() / 2..bytes.len()).find(is_digit).unwrap_or(0);
        for at in [0, digit, bytes.len() - 1] {
            let mut rotten = bytes.clone();
            rotten[at] ^= 1;
            // What was made from it would be printed instead.
            let is_made_from_it = |other: &PathBuf| {
                let rank = |path: &PathBuf| match path.extension().and_then(|ext| ext.to_str()) {
                    Some("kept") => 0,
                    Some("judged" | "findings") => 1,
                    _ => 2,
                };
                rank(other) > rank(path)
            };
            for (other, bytes) in &whole {
                match is_made_from_it(other) {
                    true => remove(other),
                    false => fs::write(other, bytes).unwrap(),
                }
            }
            fs::write(path, rotten).unwrap();
            assert_eq!(texts(), expect, "byte {at} of {}", path.display());
        }
    }
}

/// Files that a report keeps, the text that it prints again among them.
fn kept_files(place: &Place) -> Vec<PathBuf> {
    let files = fs::read_dir(place.path("cache/resolved")).unwrap();
    files.map(|file| file.unwrap().path()).collect()
}

/// Removes a kept file; a report that found another one may not have made it.
fn remove(path: &PathBuf) {
    if path.exists() {
        fs::remove_file(path).unwrap();
    }
}
