//! `record kernel --run`: programs of the user's.

use crate::common::programs::data;
use crate::stand::Stand;
use relayout_testkit::require_programs;

const MARKER_DIR: &str = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../../collectors/guest");

#[test]
fn program_that_fails_is_recorded_to_its_end() {
    let stand = Stand::new();
    let source = "#include <stdio.h>\n\
                  int main(int count, char **words)\n\
                  { printf(\"cannot swim: %s\\n\", words[count - 1]); return 3; }\n";
    stand.place.compile("fails", source, &["-static"]);
    let ended = stand.run("record kernel -o out --run fails --run-arg --deep-water");
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(
        ended.stderr.contains("program exited with status 3"),
        "{ended:?}"
    );
    assert!(
        ended.stderr.contains("\n  cannot swim: --deep-water\n"),
        "{ended:?}"
    );
    assert!(
        ended
            .stderr
            .ends_with("what was recorded until then is in out\n"),
        "{ended:?}"
    );
    stand.check_clean();
    let report = stand.report();
    assert_eq!(report["runs"][0]["complete"], false);
    assert_eq!(report["workload"], "fails --deep-water");
}

#[test]
fn program_with_markers_is_recorded_between_them() {
    let stand = Stand::new();
    let source = "#include <unistd.h>\n\
                  #include \"marker.h\"\n\
                  int main(void) {\n\
                  int ends[2]; char byte = 0;\n\
                  if (pipe(ends)) return 1;\n\
                  MARKER(MARKER_OPERATION);\n\
                  MARKER(MARKER_START);\n\
                  for (int i = 0; i < 10; i++) {\n\
                  if (write(ends[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1) return 1;\n\
                  MARKER(MARKER_OPERATION);\n\
                  }\n\
                  MARKER(MARKER_STOP);\n\
                  MARKER(MARKER_OPERATION);\n\
                  return 0; }\n";
    stand
        .place
        .compile("marked", source, &["-static", MARKER_DIR]);
    let ended = stand.record("--run marked");
    assert!(
        ended.stdout.starts_with("out: marked on 4 CPUs of Linux "),
        "{ended:?}"
    );
    let run = &stand.report()["runs"][0];
    assert_eq!(
        (&run["operations"], &run["complete"]),
        (&10.into(), &true.into()),
        "{run}"
    );
}

#[test]
fn the_report_says_what_the_boot_changes_and_what_is_not_watched() {
    let stand = Stand::new();
    stand
        .place
        .compile("plain", "int main(void) { return 0; }", &["-static"]);
    stand.record("--run plain --quiet --append mitigations=auto");
    let boot = &stand.report()["machine"]["boot"];
    let changes = [
        "no-slab-merging",
        "no-kaslr",
        "no-fast-strings",
        "no-clock-watchdog",
        "no-timer-check",
    ];
    assert_eq!(boot["changes"], serde_json::json!(changes), "{boot}");
    assert_eq!(boot["cpu_model"], "max,la57=off,erms=off,fsrm=off");
    let functions = boot["unwatched_functions"].as_array().unwrap();
    assert!(functions.contains(&"copy_page".into()), "{boot}");
    let text = stand.run("report out").stdout;
    let line = "  boot       no slab merging, no KASLR, no fast strings, no TSC watchdog, no timer \
                check; not watched: user space, page clears and copies, page walks, DMA\n";
    assert!(text.contains(line), "{text}");
}

#[test]
fn program_without_markers_is_recorded_from_exec_to_exit() {
    let stand = Stand::new();
    stand
        .place
        .compile("plain", "int main(void) { return 0; }", &["-static"]);
    stand.record("--run plain --quiet");
    let run = &stand.report()["runs"][0];
    assert_eq!(run["complete"], true);
    assert!(run["accesses"].as_u64().unwrap() > 10_000, "{run}");
}

/// Turns in which a program makes system calls, and then `after` them.
fn working(turns: &str, after: &str) -> String {
    format!(
        "#include <stdio.h>\n#include <unistd.h>\n\
         int main(int count, char **words) {{\n\
         printf(\"warm %s\\n\", words[count - 1]);\n\
         for (long i = 0; {turns}; i++) if (getppid() == 0) return 1;\n\
         {after}\n\
         return 0; }}\n"
    )
}

#[test]
fn dynamic_programs_and_scripts_bring_what_they_need() {
    let stand = Stand::new();
    stand.place.compile(
        "libworth.so",
        "int worth(void) { return 7; }",
        &["-shared", "-fPIC"],
    );
    let source = "#include <stdio.h>\nint worth(void);\n\
                  int main(void) { printf(\"worth %d\\n\", worth()); return 0; }\n";
    let folder = format!("-L{}", stand.place.path("").display());
    let link = [&*folder, "-lworth", "-Wl,-rpath,$ORIGIN"];
    stand.place.compile("dynamic", source, &link);
    stand.place.program(
        "script",
        b"#!/bin/sh\nread -r line <data || exit 4\n[ \"$line\" = kept ] || exit 5\n\
         [ \"$(./dynamic)\" = \"worth 7\" ] || exit 6\n[ \"$1\" = --given ] || exit 7\n",
    );
    stand.place.write("data", "kept\n");
    stand.record("--run script --run-arg --given --file dynamic --file data");
    let report = stand.report();
    assert_eq!(report["workload"], "script --given");
    assert_eq!(report["runs"][0]["complete"], true);
    stand.record("--force --run dynamic");
    assert_eq!(stand.report()["runs"][0]["complete"], true);
}

#[test]
fn a_folder_is_the_guests_root() {
    let stand = Stand::new();
    stand
        .place
        .compile("tool", "int main(void) { return 0; }", &["-static"]);
    std::fs::create_dir_all(stand.place.path("root/opt/bin")).unwrap();
    std::fs::rename(
        stand.place.path("tool"),
        stand.place.path("root/opt/bin/tool"),
    )
    .unwrap();
    std::os::unix::fs::symlink("/opt/bin", stand.place.path("root/bin")).unwrap();
    stand.record("--root root --run /bin/tool");
    assert_eq!(stand.report()["runs"][0]["complete"], true);
}

#[test]
fn windows_are_opened_and_closed_by_time() {
    let stand = Stand::new();
    stand
        .place
        .compile("works", &working("1", ""), &["-static"]);
    stand.record("--run works --after 300ms --for 700ms");
    let run = &stand.report()["runs"][0];
    assert_eq!(run["complete"], true, "{run}");
    let seconds = run["window_wall_ns"].as_f64().unwrap() / 1e9;
    assert!((0.5..20.0).contains(&seconds), "{run}");
    // How many there are depends on what the host does beside it.
    assert!(run["accesses"].as_u64().unwrap() > 10_000, "{run}");
}

#[test]
fn windows_are_opened_and_closed_by_lines() {
    let stand = Stand::new();
    let after = "puts(\"all is done\"); pause();";
    // So many that only a small part is over when the window opens.
    let source = working("i < 200000", after);
    stand.place.compile("works", &source, &["-static"]);
    stand.record("--run works --run-arg up --from-line warm --to-line done");
    let run = &stand.report()["runs"][0];
    assert_eq!(run["complete"], true, "{run}");
    // A system call takes more than ten accesses.
    assert!(run["accesses"].as_u64().unwrap() > 200_000, "{run}");
}

#[test]
fn a_program_that_ends_before_its_window_opens_is_an_error() {
    let stand = Stand::new();
    stand
        .place
        .compile("works", &working("i < 10", ""), &["-static"]);
    let ended = stand.run("record kernel -o out --run works --from-line never");
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(
        ended
            .stderr
            .contains("works ended before its window opened"),
        "{ended:?}"
    );
    stand.check_clean();
}

/// Types, fields, functions and lines of Go are named, and threads of its scheduler are contexts.
#[test]
#[ignore = "needs Go"]
fn programs_of_go_are_named() {
    require_programs(&["go"]);
    let stand = Stand::new();
    let source = data("pool.go");
    let words = ["build", "-o", "pool", source.to_str().expect("a path")];
    let mut build = stand.place.command("go".as_ref(), &words);
    let home = stand.place.path("home");
    build.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    build.env("HOME", home).env("GOFLAGS", "-modcacherw");
    let built = stand.place.ended(&mut build);
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    let ended = stand.run("record run -o out -- ./pool");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let report = stand.json("report out --json --top 0 --type main.pool");
    let finding = &report["findings"][0];
    assert_eq!(finding["type"], "main.pool", "{report:#}");
    let members = finding["members"].as_array().expect("members");
    for name in ["stats.hits", "stats.misses"] {
        assert!(
            members.iter().any(|member| member["name"] == name),
            "{name}: {finding:#}"
        );
    }
    let sites = finding["sites"].as_array().expect("sites");
    let is_own = |site: &serde_json::Value| site["function"] == "main.main.func1";
    assert!(sites.iter().any(is_own), "{finding:#}");
}

/// A program that marks no operations, under QEMU: its threads do different things, and each has a gain of its own. Two
/// that use one line gain by having two, and those that wait for each other have no curve.
#[test]
fn threads_of_a_program_have_curves_of_their_own() {
    let stand = Stand::new();
    let source = "#include <pthread.h>\n\
                  struct shared { volatile long written; long unused[1]; volatile long read; } shared __attribute__((aligned(64)));\n\
                  static pthread_barrier_t ready;\n\
                  static void *reader(void *sum) {\n\
                  pthread_barrier_wait(&ready);\n\
                  for (int i = 0; i < 100000; i++) *(long *)sum += shared.read;\n\
                  return 0; }\n\
                  int main(void) {\n\
                  pthread_t thread; static long sum;\n\
                  pthread_barrier_init(&ready, 0, 2);\n\
                  if (pthread_create(&thread, 0, reader, &sum)) return 1;\n\
                  pthread_barrier_wait(&ready);\n\
                  for (int i = 0; i < 100000; i++) shared.written++;\n\
                  return pthread_join(thread, 0); }\n";
    stand
        .place
        .compile("threads", source, &["-g", "-O2", "-pthread"]);
    let ended = stand.run("record run --with qemu -o out -- ./threads");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    std::fs::copy(data("machine-apart.json"), stand.place.path("machine.json")).unwrap();
    let words = "what-if out shared --pad read=56 --machine machine.json --cpus 2 --json";
    let scored = stand.json(words);
    let given = &scored["given"];
    assert_eq!(
        given["predicted_gain"],
        serde_json::Value::Null,
        "{given:#}"
    );
    let point = &given["predicted_curve"]["curve"][0];
    assert_eq!(point["operations_per_second"], serde_json::Value::Null);
    let by_context = point["by_context"].as_array().unwrap();
    assert_eq!(by_context.len(), 2, "{point:#}");
    for gain in by_context {
        assert!(gain["ratio"].as_f64().unwrap() > 1.3, "{gain}");
    }
    let text = stand.run(&words.replace(" --json", ""));
    assert!(
        text.stdout
            .contains("No operations are marked: gain is that of the time for what each"),
        "{text:?}"
    );
}

/// Four threads with mutexes, on two CPUs and on four: the mutexes are locks of the model, and the gain is that of the work.
#[test]
fn threads_with_mutexes_have_a_curve() {
    let (curve, text) = curve_of_locks("./locks");
    assert!(
        text.contains("gain is that of the work in a second"),
        "{text}"
    );
    for (cpus, point) in [2, 4].iter().zip(&curve) {
        assert_eq!(point["cpus"], *cpus);
        assert_eq!(point["by_context"], serde_json::json!([]), "{point:#}");
        let ratio = point["ratio"].as_f64().unwrap();
        assert!((1.0..2.0).contains(&ratio), "{point:#}");
    }
}

/// Four threads with one mutex, which they hold most of the time: they sleep for it, and it is what they wait for.
#[test]
fn threads_that_sleep_for_a_mutex_have_a_curve() {
    let (curve, _) = curve_of_locks("./locks 1000 1 2000");
    let point = &curve[1];
    let waiting = point["waiting_today"].as_f64().unwrap();
    assert!((0.6..0.8).contains(&waiting), "{point:#}");
    let line = &point["lines_today"][0];
    assert!(
        line["line"]
            .as_str()
            .unwrap()
            .starts_with("table.buckets[].mutex"),
        "{point:#}"
    );
    let ratio = point["ratio"].as_f64().unwrap();
    assert!((0.9..1.1).contains(&ratio), "{point:#}");
}

/// A Rust program under QEMU, which its toolchain may link with LLD: the functions are those of the source, and the
/// threads sleep for the mutex of the standard library.
#[test]
fn rust_programs_have_their_functions_and_locks() {
    let stand = Stand::new();
    let source = "use std::sync::Mutex;\n\
                  use std::sync::atomic::{AtomicU64, Ordering};\n\
                  #[repr(C)] struct Queue { jobs: Mutex<u64>, served: AtomicU64, setting: AtomicU64 }\n\
                  static QUEUE: Queue = Queue { jobs: Mutex::new(0), served: AtomicU64::new(0), setting: AtomicU64::new(1) };\n\
                  fn serve() { for _ in 0..2000 {\n\
                  { let mut jobs = QUEUE.jobs.lock().unwrap(); *jobs += 1; for turn in 0..1000 { std::hint::black_box(turn); } }\n\
                  QUEUE.served.fetch_add(QUEUE.setting.load(Ordering::Relaxed), Ordering::Relaxed); } }\n\
                  fn main() { let serving: Vec<_> = (0..4).map(|_| std::thread::spawn(serve)).collect();\n\
                  for thread in serving { thread.join().unwrap(); } }\n";
    std::fs::write(stand.place.path("queue.rs"), source).unwrap();
    let rustc = std::path::Path::new(env!("CARGO")).with_file_name("rustc");
    let mut compiler = stand.place.command(&rustc, &["-O", "-g", "queue.rs"]);
    stand.place.with_system(&mut compiler);
    let built = stand.place.ended(&mut compiler);
    assert_eq!(built.code, Some(0), "{built:?}");
    let ended = stand.run("record run --with qemu -o out -- ./queue");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = stand.json("report out --json");
    let finding = &report["findings"][0];
    assert_eq!(finding["type"], "queue::Queue", "{finding:#}");
    let pairs = finding["pairs"].as_array().unwrap();
    let functions: Vec<&str> = pairs
        .iter()
        .filter_map(|pair| pair["here"]["function"].as_str())
        .collect();
    assert!(
        functions.len() == pairs.len()
            && functions.iter().any(|name| name.contains("queue::serve")),
        "{functions:?}"
    );
    std::fs::copy(data("machine-apart.json"), stand.place.path("machine.json")).unwrap();
    let words = "what-if out Queue --align served=64 --machine machine.json --cpus 4 --json";
    let scored = stand.json(words);
    let point = &scored["given"]["predicted_curve"]["curve"][0];
    let waiting = point["waiting_today"].as_f64();
    assert!(
        waiting.is_some_and(|waiting| (0.6..0.8).contains(&waiting)),
        "{point:#} {}",
        scored["notes"]
    );
}

/// Records the program `locks` and moves a member that it reads away from those that it writes. Returns the points for two
/// CPUs and four, and the text.
fn curve_of_locks(command: &str) -> (Vec<serde_json::Value>, String) {
    let stand = Stand::new();
    let source = std::fs::read_to_string(data("locks.c")).unwrap();
    stand
        .place
        .compile("locks", &source, &["-g", "-O2", "-pthread"]);
    let ended = stand.run(&format!("record run --with qemu -o out -- {command}"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    std::fs::copy(data("machine-apart.json"), stand.place.path("machine.json")).unwrap();
    let words = "what-if out table --align setting=64 --machine machine.json --cpus 2,4";
    let scored = stand.json(&format!("{words} --json"));
    let curve = scored["given"]["predicted_curve"]["curve"].as_array();
    (curve.unwrap().clone(), stand.run(words).stdout)
}
