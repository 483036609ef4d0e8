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
    let text = stand.run("report out --all").stdout;
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

/// A shell that does not find a program goes on. What it did then is not what the script was written for.
#[test]
fn programs_that_a_script_calls_come_with_it_or_are_named() {
    let stand = Stand::new();
    stand.place.compile(
        "dynamic",
        "#include <stdio.h>\nint main(void) { puts(\"worth 7\"); return 0; }\n",
        &[],
    );
    stand.place.script(
        "script",
        "[ \"$(seq 3 | sort -r | head -n 1)\" = 3 ] || exit 5\n[ \"$(./dynamic)\" = \"worth 7\" ] || exit 6",
    );
    stand.record("--run script");
    assert_eq!(stand.report()["runs"][0]["complete"], true);
    stand.place.script("script", "nosuchtool --fast\nexit 0");
    let ended = stand.run("record kernel -o lacking --run script --cpus 2");
    assert_eq!(ended.code, Some(4), "{ended:?}");
    for part in [
        "the guest has no nosuchtool, which the script calls (--file PATH brings a program)",
        "script: 2: nosuchtool: not found",
    ] {
        assert!(ended.stderr.contains(part), "{part}: {ended:?}");
    }
    let ended = stand.run("record kernel -o lacking --workload ./script");
    assert_eq!(ended.code, Some(2));
    assert!(
        ended
            .stderr
            .contains("--run PROGRAM records a program of yours"),
        "{ended:?}"
    );
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

/// A Rust program under QEMU, which its toolchain may link with LLD: the functions are those of the source.
#[test]
fn rust_programs_have_their_functions() {
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
}
