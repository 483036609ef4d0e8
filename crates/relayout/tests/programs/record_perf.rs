//! `relayout record perf`: files of perf that are written here, of real programs; and perf's own of
//! events that are none of memory.

#[path = "../../../core/perf-data/tests/perf/builder/mod.rs"]
mod perf;

use std::collections::HashMap;
use std::process::Command;

use crate::common::{Place, start};
use perf::{File, LOAD_HITM, STORE, Sample};

/// One member read by a thread, another written by the other.
const SOURCE: &str = "
struct counters { long hits; long spare; long misses; } stats __attribute__((aligned(64)));
long read_hits(void) { return stats.hits; }
void write_misses(long n) { stats.misses = n; }
int main(void) { write_misses(1); return read_hits(); }
";
const FLAGS: &[&str] = &[
    "-g",
    "-O1",
    "-fno-inline",
    "-fcf-protection=none",
    "-fpie",
    "-pie",
    "-Wl,--build-id=0x000102030405060708090a0b0c0d0e0f10111213",
];
/// Load address that the kernel would choose.
const BIAS: u64 = 0x5555_5555_4000;

/// Addresses of symbols as linked.
fn symbols(place: &Place) -> HashMap<String, u64> {
    let output = Command::new("nm")
        .arg(place.path("bench"))
        .output()
        .expect("nm (package binutils)");
    let text = String::from_utf8(output.stdout).unwrap();
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let address = u64::from_str_radix(words.next()?, 16).ok()?;
        Some((words.nth(1)?.to_owned(), address))
    };
    text.lines().filter_map(line).collect()
}

/// File that `perf mem record ./bench` would write if the two functions ran in two threads.
fn recording(place: &Place, build_id_start: u8) -> File {
    place.compile("bench", SOURCE, FLAGS);
    let at = symbols(place);
    let mut id: [u8; 20] = std::array::from_fn(|n| n as u8);
    id[0] = build_id_start;
    let path = place.path("bench").display().to_string();
    let mut file = File::pebs();
    file.comm(100, 100, "bench", true, 0);
    let text = at["read_hits"] & !0xfff;
    file.mmap2_build_id(100, (BIAS + text, 0x1000, text), &path, &id);
    let data = at["stats"] & !0xfff;
    file.mmap2_build_id(100, (BIAS + data, 0x1000, data - 0x1000), &path, &id);
    for n in 0..100 {
        let base = Sample {
            time_ns: 1000 + n,
            period: 1000,
            ..Sample::default()
        };
        let (pc, addr) = (BIAS + at["read_hits"], BIAS + at["stats"]);
        file.sample(Sample {
            pc,
            addr,
            source: LOAD_HITM,
            ..base
        });
        let (pc, addr) = (BIAS + at["write_misses"], BIAS + at["stats"] + 16);
        file.sample(Sample {
            event: 1,
            tid: 101,
            cpu: 1,
            pc,
            addr,
            source: STORE,
            ..base
        });
    }
    file
}

#[test]
fn a_program_is_found_by_type_and_members() {
    let place = Place::new();
    let file = recording(&place, 0);
    place.write("perf.data", file.bytes());
    let ended = place.run(&["record", "perf", "perf.data", "-o", "out"]);
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""));
    assert!(
        ended
            .stdout
            .starts_with("out: 200 samples of [DIR]/bench, by 2 threads: 2 instructions"),
        "{}",
        ended.stdout
    );

    let text = place.run(&["report", "out", "--all"]);
    assert_eq!(text.code, Some(0), "{}", text.stderr);
    for words in [
        "estimated from rates of samples",
        "hardware told of 100000 transfers",
        "Estimated from rates of sampled accesses, not counted.",
        "counters",
        "hits",
        "misses",
        "read_hits",
        "write_misses",
    ] {
        assert!(text.stdout.contains(words), "{words}: {}", text.stdout);
    }
    let json = place.run(&["report", "out", "--json"]).stdout;
    for words in [
        "\"estimated\": true",
        "\"hitm_observed\": 100000",
        "\"kind\": \"false-sharing\"",
        "\"type\": \"counters\"",
        // Half of 100000 * 100000 / 200000, which 8-byte accesses show to be false.
        "\"read_transfers\": 50000",
        "\"false_lifetime\": 50000",
        "\"function\": \"read_hits\"",
    ] {
        assert!(json.contains(words), "{words}: {json}");
    }
    // An existing profile is not replaced unasked.
    let again = place.run(&["record", "perf", "perf.data", "-o", "out"]);
    assert_eq!(again.code, Some(2));
    assert!(again.stderr.contains("--force"), "{}", again.stderr);
    assert_eq!(
        place
            .run(&["record", "perf", "perf.data", "-o", "out", "--force"])
            .code,
        Some(0)
    );
}

#[test]
fn another_build_is_not_taken_for_the_recorded_one() {
    let place = Place::new();
    let file = recording(&place, 0xff);
    place.write("perf.data", file.bytes());
    let ended = place.run(&["record", "perf", "perf.data", "-o", "out"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        ended.stderr.contains(
            "files that are of another build than was mapped, and are not used: [DIR]/bench"
        ),
        "{}",
        ended.stderr
    );
    let report = place.run(&["report", "out", "--all"]);
    assert_eq!(report.code, Some(2));
    assert!(
        report.stderr.contains("of another build"),
        "{}",
        report.stderr
    );
}

#[test]
fn layouts_are_not_replayed() {
    let place = Place::new();
    let file = recording(&place, 0);
    place.write("perf.data", file.bytes());
    assert_eq!(
        place
            .run(&["record", "perf", "perf.data", "-o", "out"])
            .code,
        Some(0)
    );
    let ended = place.run(&["advise", "out", "counters", "--all", "--layouts"]);
    let why = "no accesses to counters were recorded in order, so no layout can be judged";
    assert!(ended.stdout.contains(why), "{}", ended.stdout);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

#[test]
fn bad_files() {
    let place = Place::new();
    let file = recording(&place, 0);
    place.write("text", "hello\n");
    place.write("empty", "");
    place.write("head", &file.bytes()[..50]);
    let refuses = |name: &str, message: &str| {
        place.refuses(
            &format!("record perf {name} -o out"),
            2,
            &format!("relayout: {name}{message}"),
        );
    };
    refuses(
        "text",
        ": not a perf.data file: it begins with hello\\n, not with PERFILE2",
    );
    refuses(
        "empty",
        ": not a perf.data file: it begins with nothing, not with PERFILE2",
    );
    refuses(
        "head",
        ": the file ends inside of its header (offset 0); was perf cut off? record it again",
    );
    place.refuses(
        "record perf nowhere -o out",
        2,
        "relayout: cannot open nowhere: No such file or directory (os error 2)",
    );
    // A part of the samples, and a note.
    let whole = file.bytes();
    place.write("cut", &whole[..whole.len() / 2]);
    let ended = place.run(&["record", "perf", "cut", "-o", "of-cut"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("note: the file ends too early"),
        "{}",
        ended.stderr
    );
    // No sample, and the place where it ends.
    let field = |at: usize| u64::from_le_bytes(whole[at..at + 8].try_into().unwrap());
    let (early, end) = (field(40) + 8, field(40) + field(48));
    place.write("early", &whole[..early as usize]);
    refuses(
        "early",
        &format!(
            ": the file ends too early ({early} of {end} bytes that its header names), before its first memory \
             sample; copy it again, or record it again and let perf come to its end"
        ),
    );
    let mut spe = File::spe();
    spe.attrs.truncate(1);
    let auxtrace = [spe.u64(64), vec![0; 32]].concat();
    spe.record(71, 0, &auxtrace).records.extend([0; 64]);
    place.write("spe", spe.bytes());
    refuses(
        "spe",
        ": the file holds 64 bytes of undecoded trace and no memory samples. Make samples of it first: \
         perf inject --itrace=M -i FILE -o SAMPLES",
    );
    place.write("perf.data", file.bytes());
    place.refuses(
        "record perf perf.data -o out2 --pid 7",
        2,
        "relayout: perf.data: no memory sample of process 7; there are some of 100 (bench, 200 samples)",
    );
    place.refuses(
        "record perf perf.data -o out2 --kernel",
        2,
        "relayout: perf.data: none of the 200 memory samples is of a kernel address: leave out --kernel",
    );
}

/// Real files of perf, plain, compressed and from a pipe, of events that say nothing of memory.
#[test]
fn perf_of_other_events() {
    relayout_testkit::require_programs(&["perf"]);
    let place = Place::new();
    let record = |name: &str, options: &str| {
        let mut command = Command::new("perf");
        command
            .args(["record", "-q", "-o"])
            .arg(place.path(name))
            .args(options.split(' '));
        command.args(["--", "true"]).env("HOME", place.path("tmp"));
        start(&mut command).wait().unwrap().success()
    };
    assert!(
        record("faults", "-e page-faults -c 1 -d"),
        "perf may not record: lower kernel.perf_event_paranoid to 2"
    );
    let refuses = |name: &str, events: &str| {
        let message = format!(
            "relayout: {name}: no sample says what it did to which address: the events are {events}. \
             Record with `perf mem record` or `perf c2c record`"
        );
        place.refuses(&format!("record perf {name} -o out"), 2, &message);
    };
    // Addresses of faults, of which nothing more is known.
    refuses("faults", "page-faults");
    assert!(
        record("several", "-e page-faults,minor-faults -c 1"),
        "two events"
    );
    refuses("several", "page-faults, minor-faults");
    assert!(
        record("compressed", "-z -e page-faults -c 1 -d"),
        "perf without zstd"
    );
    refuses("compressed", "page-faults");
}
