//! `relayout record run`: programs that end well, and those that do not.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Child, Stdio};

use crate::common::programs::recording_place;
use crate::common::restricted::one_cpu;
use crate::common::{Ended, Place, start};
use relayout_testkit::require_programs;
use serde_json::Value;

/// A folder with the program `shared`.
fn place() -> Place {
    require_programs(&["gcc"]);
    let place = recording_place();
    place.shared("-O1");
    place
}

/// Of one run of the profile `out`.
fn read_run(place: &Place) -> Value {
    let text = std::fs::read_to_string(place.path("out/meta.json")).unwrap();
    let meta: Value = serde_json::from_str(&text).unwrap();
    meta["runs"][0].clone()
}

/// Records, and demands this exit code and this line on standard error.
#[track_caller]
fn check(place: &Place, words: &str, code: i32, line: &str) -> Ended {
    // Often enough that threads meet on a machine with one CPU.
    let yields = if words.contains("--yield") {
        ""
    } else {
        "--yield 50"
    };
    let ended = place.said(&format!("record run -o out {yields} {words}"));
    assert_eq!(ended.code, Some(code), "{words}: {ended:?}");
    let said = ended.stderr.lines().any(|found| found == line);
    assert!(line.is_empty() || said, "{words}: {ended:?}");
    assert_eq!(
        crate::common::names(&place.path("tmp")),
        Vec::<String>::new(),
        "{words}"
    );
    ended
}

/// The finding on a type in the report of `out`.
fn finding(place: &Place, name: &str) -> Value {
    let ended = place.said("report out --json");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let found = findings.iter().find(|f| f["type"] == name);
    found
        .unwrap_or_else(|| panic!("no finding on {name}: {}", ended.stdout))
        .clone()
}

#[test]
fn finds_what_threads_share() {
    let place = place();
    let ended = check(&place, "-- ./shared", 0, "");
    assert!(
        ended
            .stdout
            .starts_with("200000\nout: ./shared: 2 threads, "),
        "{ended:?}"
    );
    let found = finding(&place, "pair");
    assert_eq!(found["kind"], "false-sharing", "{found}");
    let members = found["members"].as_array().unwrap();
    let names: Vec<_> = members
        .iter()
        .map(|m| m["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["left", "right"], "{found}");
    let run = read_run(&place);
    assert_eq!(run["complete"], true, "{run}");
    assert!(
        run["modules"][0]["path"]
            .as_str()
            .unwrap()
            .ends_with("/shared"),
        "{run}"
    );
    assert_eq!(
        run["modules"][0]["build_id"].as_str().map(str::len),
        Some(40),
        "{run}"
    );
}

#[test]
fn the_two_dashes_may_be_left_out() {
    let place = place();
    // The dash is the program's, and so is what looks like an option of the command.
    let ended = check(&place, "./shared fail --seed x", 4, "");
    assert!(
        ended.stderr.contains("./shared ended with status 7"),
        "{ended:?}"
    );
    let ended = place.said("record run --sead 3 ./shared");
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("'--seed'"), "{ended:?}");
}

/// Compilers call `memcpy` and `memset`, which are seen. What is written in assembly, or was
/// compiled before, is named.
#[test]
fn string_instructions_that_are_not_seen_are_named() {
    require_programs(&["gcc", "clang"]);
    let place = recording_place();
    let source = "#include <string.h>\n\
                  struct page { char bytes[4096]; } one, other;\n\
                  void fill_before(struct page *);\n\
                  __attribute__((noinline)) void copy(void) { one = other; }\n\
                  __attribute__((noinline)) void clear(void) { memset(&other, 0, sizeof other); }\n\
                  #ifdef BY_HAND\n\
                  __attribute__((noinline)) void fill_by_hand(void *to, long n) {\n\
                  __asm__ volatile(\"rep stosb\" : \"+D\"(to), \"+c\"(n) : \"a\"(0) : \"memory\");\n\
                  __asm__ volatile(\"std; cld; rep stosb\" : \"+D\"(to), \"+c\"(n) : \"a\"(0)); }\n\
                  #endif\n\
                  int main(void) {\n\
                  copy(); clear();\n\
                  #ifdef BY_HAND\n\
                  fill_by_hand(&one, sizeof one); fill_before(&other);\n\
                  #endif\n\
                  return one.bytes[5] + other.bytes[7]; }\n";
    place.write("strings.c", source);
    let before = "#include <string.h>\n\
                  void fill_before(char *to) { memset(to, 0, 4096); }\n";
    place.write("before.c", before);
    let built = place.other("/usr/bin/gcc", "-Os -c before.c");
    assert_eq!(built.code, Some(0), "{built:?}");
    let unseen = |place: &Place, words: &str| {
        let built = place.said(words);
        assert_eq!((built.code, &*built.stderr), (Some(0), ""), "{words}");
        let ended = place.said("record run -q --force -o out -- ./strings");
        // One thread moves nothing.
        assert_eq!(ended.code, Some(0), "{words}: {ended:?}");
        let report = place.said("report out --json").stdout;
        let report: Value = serde_json::from_str(&report).unwrap();
        let code = report["unseen_strings"].as_array().expect("a list").clone();
        let function = |entry: &Value| {
            let module = entry["module"].as_str().unwrap();
            assert!(module.ends_with("/strings"), "{entry}");
            let name = entry["function"].as_str().unwrap().to_owned();
            (name, entry["instructions"].as_u64().unwrap())
        };
        let mut functions: Vec<(String, u64)> = code.iter().map(function).collect();
        functions.sort();
        (functions, place.said("report out --all").stdout)
    };
    for compiler in [
        "gcc -O0",
        "gcc -Os",
        "gcc -O2",
        "gcc -O3",
        "clang -Os",
        "clang -O2",
    ] {
        let (functions, text) = unseen(&place, &format!("cc -- {compiler} strings.c -o strings"));
        assert_eq!(functions, [], "{compiler}");
        assert!(!text.contains("not seen ("), "{text}");
        let words = format!("cc -- {compiler} -DBY_HAND strings.c before.o -o strings");
        let (functions, text) = unseen(&place, &words);
        let expect = [("fill_before".into(), 1), ("fill_by_hand".into(), 2)];
        assert_eq!(functions, expect, "{compiler}");
        let sentence = "  3 rep-string instructions in 2 functions were not seen (rep movs, rep stos and \
                        the like): fill_by_hand,\n  fill_before.\n";
        assert!(text.contains(sentence), "{text}");
    }
}

#[test]
fn repeats_and_slices() {
    let place = place();
    check(&place, "--repeat 2 -- ./shared", 0, "");
    let text = std::fs::read_to_string(place.path("out/meta.json")).unwrap();
    let meta: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(meta["runs"].as_array().map(Vec::len), Some(2));
    assert_eq!(finding(&place, "pair")["stability"], 1.0);
    // Long enough that some of it lies in a slice, wherever the threads wait for a CPU.
    check(
        &place,
        "--force --slices 0.5 --counts all --yield 0 --bursts 100 -- ./shared often",
        0,
        "",
    );
    let text = std::fs::read_to_string(place.path("out/meta.json")).unwrap();
    assert!(text.contains(r#""coverage": "sliced""#), "{text}");
}

#[test]
fn streams_are_the_programs_own() {
    let place = place();
    let mut command = place.tool("record run -q -o out -- ./shared echo");
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = start(&mut command);
    child.stdin.take().unwrap().write_all(b"a line\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "200000\n");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.lines().any(|line| line == "read a line"), "{said}");
    assert!(said.contains("out: ./shared echo: 2 threads"), "{said}");
}

#[test]
fn what_a_failing_program_did_is_kept() {
    let place = place();
    let kept = "relayout: what was recorded until then is in out";
    check(
        &place,
        "-- ./shared fail",
        4,
        "relayout: ./shared ended with status 7",
    );
    check(&place, "--force -- ./shared fail", 4, kept);
    assert_eq!(read_run(&place)["complete"], true);
    let incomplete = |name: &str| {
        let run = read_run(&place);
        assert_eq!(
            (&run["complete"], &run["signal"]),
            (&false.into(), &name.into()),
            "{run}"
        );
        let ended = place.said("report out --json");
        let report: Value = serde_json::from_str(&ended.stdout).unwrap();
        let told = &report["runs"][0];
        assert_eq!(
            (&told["complete"], &told["signal"]),
            (&false.into(), &name.into()),
            "{told}"
        );
        let text = place.said("report out --all").stdout;
        assert!(
            text.contains("run 0 is incomplete: ") && text.contains(name),
            "{text}"
        );
    };
    let ended = check(&place, "--force -- ./shared abort", 4, kept);
    incomplete("SIGABRT");
    assert!(
        ended
            .stderr
            .contains("./shared was ended by signal 6 (SIGABRT"),
        "{ended:?}"
    );
    assert_eq!(finding(&place, "pair")["kind"], "false-sharing");
    let ended = check(&place, "--force -- ./shared crash", 4, kept);
    incomplete("SIGSEGV");
    assert!(
        ended
            .stderr
            .contains("./shared was ended by signal 11 (SIGSEGV"),
        "{ended:?}"
    );
    assert_eq!(finding(&place, "pair")["kind"], "false-sharing");
    let line = "relayout: ./shared was ended by signal 9 (SIGKILL)";
    check(&place, "--force -- ./shared kill", 4, line);
    incomplete("SIGKILL");
    let run = read_run(&place);
    assert_eq!(
        (&run["complete"], &run["ended"]),
        (
            &Value::from(false),
            &Value::from("./shared was ended by signal 9 (SIGKILL)")
        )
    );
}

#[test]
fn a_program_that_ends_at_once_has_an_empty_profile() {
    let place = place();
    place.write("at_once.c", "int main(void) { return 0; }\n");
    assert_eq!(place.said("cc -- gcc at_once.c -o at_once").code, Some(0));
    let line = "relayout: nothing was recorded of ./at_once: it ended before code built with relayout cc \
                accessed memory that threads can share";
    let ended = check(&place, "-- ./at_once", 4, line);
    assert!(ended.stdout.contains(" 0 transfers"), "{ended:?}");
    assert_eq!(place.said("report out --all").code, Some(0));
}

#[test]
fn time_limits() {
    let place = place();
    let ended = check(&place, "--stop-after 1 -- ./shared wait", 0, "");
    assert!(ended.stdout.contains("told to end\n"), "{ended:?}");
    assert_eq!(
        read_run(&place)["ended"],
        "the program was stopped, as asked for"
    );
    let line = "relayout: ./shared still ran after 1 s (see --time-limit)";
    check(&place, "--force --time-limit 1 -- ./shared wait", 4, line);
}

/// A recording of a program that waits for a signal.
fn start_waiting(place: &Place) -> Child {
    let mut command = place.tool("record run -o out --yield 50 -- ./shared wait");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = start(&mut command);
    let mut said = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while line != "waiting\n" {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended");
    }
    child.stdout = Some(said.into_inner());
    child
}

fn signal(child: &Child, number: i32) {
    // SAFETY: a plain system call.
    assert_eq!(unsafe { libc::kill(child.id() as i32, number) }, 0);
}

#[test]
fn signals_go_to_the_program_and_what_was_recorded_is_kept() {
    let place = place();
    let child = start_waiting(&place);
    signal(&child, libc::SIGINT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(output.stdout.starts_with(b"told to end\n"), "{output:?}");
    assert_eq!(finding(&place, "pair")["kind"], "false-sharing");
    let run = read_run(&place);
    assert_eq!(run["ended"], "interrupted by SIGINT");
    assert_eq!(
        (&run["complete"], &run["signal"]),
        (&false.into(), &"SIGINT".into())
    );
    assert_eq!(
        crate::common::names(&place.path("tmp")),
        Vec::<String>::new()
    );
}

/// The step after the program is held until the signal has come: its line has no room in the pipe.
#[test]
fn a_signal_after_the_program_leaves_nothing() {
    let place = place();
    for number in [libc::SIGINT, libc::SIGTERM] {
        let (read_end, write_end) = std::io::pipe().unwrap();
        let mut command = place.tool("record run -o out --yield 50 -- ./shared echo");
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(write_end.try_clone().unwrap());
        let mut child = start(&mut command);
        drop(command);
        let mut errors = BufReader::new(read_end);
        let mut line = String::new();
        while !line.contains("recording with") {
            line.clear();
            assert!(errors.read_line(&mut line).unwrap() > 0, "it ended");
        }
        fill_pipe(write_end);
        // The program ends with its input.
        drop(child.stdin.take());
        while !writes_to_stderr(child.id()) {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        signal(&child, number);
        let mut text = Vec::new();
        errors.read_to_end(&mut text).unwrap();
        let text = String::from_utf8_lossy(&text);
        let code = child.wait().unwrap().code();
        assert_eq!(code, Some(130), "{text:?}");
        assert!(text.contains("reading what was recorded\n"), "{text:?}");
        assert!(text.ends_with("relayout: interrupted\n"), "{text:?}");
        assert_eq!(
            crate::common::names(&place.path("tmp")),
            Vec::<String>::new()
        );
        let names = crate::common::names(&place.path(""));
        assert!(!names.iter().any(|name| name.contains("out")), "{names:?}");
    }
}

/// Fills a pipe, and closes its end.
fn fill_pipe(write_end: std::io::PipeWriter) {
    // Opened anew, so that only this end does not block.
    let path = format!("/proc/self/fd/{}", write_end.as_raw_fd());
    let mut options = std::fs::File::options();
    let mut end = options
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)
        .unwrap();
    for block in [4096, 1] {
        while end.write(&vec![b'\n'; block]).is_ok() {}
    }
}

/// Returns true if a process is in `write` to its standard error.
fn writes_to_stderr(process: u32) -> bool {
    let call = std::fs::read_to_string(format!("/proc/{process}/syscall")).unwrap();
    let write_to_stderr = format!("{} 0x2 ", libc::SYS_write);
    call.starts_with(&write_to_stderr)
}

#[test]
fn the_program_ends_with_relayout() {
    let place = place();
    let mut child = start_waiting(&place);
    let process = |child: &Child| {
        let path = format!("/proc/{0}/task/{0}/children", child.id());
        std::fs::read_to_string(path).unwrap_or_default()
    };
    let program = process(&child);
    let program = program.trim();
    signal(&child, libc::SIGKILL);
    child.wait().unwrap();
    let gone = || match std::fs::read_to_string(format!("/proc/{program}/stat")) {
        Ok(stat) => stat.contains(") Z"),
        Err(_) => true,
    };
    for _ in 0..500 {
        if gone() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(!program.is_empty() && gone(), "{program}");
    assert!(!place.path("out").exists());
}

/// Threads take turns there, and still meet, because they are made to yield.
#[test]
fn one_cpu_only() {
    let place = place();
    let record = |words: &str| {
        let ended = place.ended(one_cpu(&mut place.tool(words)));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.stderr
    };
    let said = record("record run -o out --yield 50 -- ./shared");
    let warning = "relayout: warning: one CPU only: threads take turns";
    assert!(said.contains(warning), "{said}");
    assert!(!said.contains("--yield 0"), "{said}");
    assert_eq!(finding(&place, "pair")["kind"], "false-sharing");
    let said = record("record run -o out --force --yield 0 -- ./shared");
    assert!(said.contains("with --yield 0"), "{said}");
}

#[test]
fn what_a_script_starts_is_recorded() {
    let place = place();
    place.script("run", "echo begin\n/bin/true\n./shared\nexit 0");
    let ended = check(&place, "-- ./run", 0, "");
    assert!(ended.stdout.starts_with("begin\n200000\n"), "{ended:?}");
    assert!(
        ended
            .stderr
            .contains("it is a script: what it starts is recorded"),
        "{ended:?}"
    );
    assert_eq!(finding(&place, "pair")["kind"], "false-sharing");
    place.script("nothing", "exit 3");
    let ended = place.said("record run -o none -- ./nothing");
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let why =
        "nothing was recorded of ./nothing: it ended with status 3; until then, no code built with";
    assert!(ended.stderr.contains(why), "{ended:?}");
    assert!(!place.path("none").exists());
}

#[test]
fn a_program_without_debug_information_is_recorded_with_a_warning() {
    let place = place();
    assert_eq!(place.other("/usr/bin/strip", "-g shared").code, Some(0));
    let ended = check(&place, "-- ./shared", 0, "");
    let warning = "relayout: warning: ./shared has no debug information";
    assert!(ended.stderr.contains(warning), "{ended:?}");
}

/// The copy that a recording keeps stands for the program, as long as the program is of another build
/// or gone.
#[test]
fn a_program_that_was_built_again_is_still_named() {
    let place = place();
    check(&place, "-- ./shared", 0, "");
    let report = place.said("report out --json");
    assert_eq!(report.code, Some(0), "{}", report.stderr);
    place.shared("-O2 -DOTHER");
    let again = place.said("report out --json");
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    let findings = |ended: &Ended| {
        let report: Value = serde_json::from_str(&ended.stdout).expect("a report");
        report["findings"].clone()
    };
    assert_eq!(findings(&again), findings(&report));
    std::fs::remove_file(place.path("shared")).expect("it is there");
    assert_eq!(
        findings(&place.said("report out --json")),
        findings(&report)
    );
    let advised = place.said("advise out --json");
    assert_ne!(advised.code, Some(2), "{}", advised.stderr);
    std::fs::remove_dir_all(place.path("cache/programs")).expect("it is there");
    let ended = place.said("report out --all");
    assert_eq!(ended.code, Some(2), "{}", ended.stdout);
}

#[test]
fn a_library_may_be_what_is_recorded() {
    let place = place();
    place.write(
        "lib.c",
        "#include <pthread.h>\nstatic long pair[2];\n\
         static void *f(void *p) { for (int i = 0; i < 100000; i++) ++*(volatile long *)p; return p; }\n\
         void work(void) { pthread_t t; pthread_create(&t, 0, f, pair); f(pair + 1); pthread_join(t, 0); }\n",
    );
    place.write(
        "main.c",
        "void work(void);\nint main(void) { work(); return 0; }\n",
    );
    let built = place.said("cc -- gcc -O1 -shared -fPIC lib.c -o libwork.so");
    assert_eq!(built.code, Some(0), "{built:?}");
    let plain = place.other(
        "/usr/bin/gcc",
        "main.c -o main -L. -lwork -Wl,-rpath,. -Wl,--allow-shlib-undefined",
    );
    assert_eq!(plain.code, Some(0), "{plain:?}");
    check(&place, "-- ./main", 0, "");
}

#[test]
#[ignore = "needs the right to mount a file system"]
fn a_full_disk_is_said_to_be_one() {
    let place = place();
    let disk = place.path("disk");
    std::fs::create_dir(&disk).unwrap();
    let mounted = std::process::Command::new("/bin/mount")
        .args(["-t", "tmpfs", "-o", "size=16k", "tmpfs"])
        .arg(&disk)
        .status();
    assert!(mounted.unwrap().success(), "mount");
    let ended = place.ended(
        place
            .tool("record run -o out -- ./shared")
            .env("TMPDIR", &disk),
    );
    let left = crate::common::names(&disk);
    let unmounted = std::process::Command::new("/bin/umount")
        .arg(&disk)
        .status();
    assert!(unmounted.unwrap().success());
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(
        ended.stderr.contains("No space left on device"),
        "{ended:?}"
    );
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn programs_that_cannot_be_recorded() {
    let place = Place::new();
    let check = |program: &str, why: &str| {
        let words = format!("record run -o out -- {program}");
        place.refuses(
            &words,
            2,
            &format!("relayout: cannot record {program}: {why}"),
        );
    };
    check("./none", "there is no such file");
    check("none", "there is no such program in $PATH");
    check("./bin", "it is a folder");
    place.write("text", "words\n");
    let why = "it is not executable: chmod +x it, or name the program that runs it";
    check("./text", why);
    let why = "there is no such program in $PATH; for the one in this folder, put ./ before it";
    check("text", why);
    place.program("words", b"words\n");
    let why = "it is neither an ELF program nor a script: a script's first line says what runs it, as \
               #!/bin/sh does";
    check("./words", why);
    place.compile("fixed", "int main(void) { return 0; }\n", &["-static"]);
    let why = "it is linked statically, and what watches programs is a shared library: link it without \
               -static, with relayout cc";
    let words = "record run -o out --with compiled -- ./fixed";
    place.refuses(words, 2, &format!("relayout: cannot record ./fixed: {why}"));
}

/// Virtual machines have nothing that samples; and on others no perf is in this test's `$PATH`.
#[test]
fn hardware_samples_where_there_are_none() {
    let place = Place::new();
    place.compile("program", "int main(void) { return 0; }\n", &[]);
    let ended = place.run(&[
        "record",
        "run",
        "-o",
        "out",
        "--with",
        "perf",
        "--",
        "./program",
    ]);
    assert_eq!((ended.code, &*ended.stdout), (Some(3), ""), "{ended:?}");
    let no_hardware = "relayout: hardware that samples accesses to memory (Intel PEBS, AMD IBS or Arm SPE: \
                       mem-loads, ibs_op or arm_spe in /sys/bus/event_source/devices) is missing";
    let no_perf = "relayout: perf is missing (Debian: linux-perf)";
    let said = |line: &str| ended.stderr.lines().any(|found| found.starts_with(line));
    assert!(said(no_hardware) || said(no_perf), "{ended:?}");
    assert!(!place.path("out").exists());
    assert_eq!(
        crate::common::names(&place.path("tmp")),
        Vec::<String>::new()
    );
}

/// Neither is there a qemu-user: what to install is said, and what else can be done.
#[test]
fn a_program_that_was_not_built_for_it() {
    let place = Place::new();
    place.compile("program", "int main(void) { return 0; }\n", &[]);
    let ended = place.run(&["record", "run", "-o", "out", "--", "./program"]);
    assert_eq!((ended.code, &*ended.stdout), (Some(3), ""), "{ended:?}");
    for words in [
        "it was not built with relayout cc (it does not load librelayout_rt.so)",
        "relayout: qemu-x86_64 is missing (",
    ] {
        assert!(ended.stderr.contains(words), "{words}: {ended:?}");
    }
    assert!(!place.path("out").exists());
}

#[test]
fn a_script_whose_interpreter_is_missing() {
    let place = Place::new();
    place.program("script", b"#!/no/such/interpreter\n");
    let ended = place.said("record run -o out -- ./script");
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let why = "relayout: cannot record ./script: its interpreter";
    assert!(ended.stderr.contains(why), "{ended:?}");
}

#[test]
fn an_output_that_exists_is_kept() {
    let place = Place::new();
    place.compile("program", "int main(void) { return 0; }\n", &[]);
    std::fs::create_dir(place.path("out")).unwrap();
    let ended = place.said("record run -o out --with compiled -- ./program");
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("out"), "{ended:?}");
    let ended = place.said("record run -o none/out -- ./program");
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("cannot write to none"), "{ended:?}");
}

#[test]
fn doctor_says_what_recording_programs_needs() {
    let place = Place::new();
    // No compiler in $PATH, and no kernel in the cache.
    let ended = place.run(&["doctor"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    for line in [
        "  missing  gcc                package gcc",
        "  missing  kernels            run scripts/setup.sh --arm64, or name your own files",
        "  missing  guest's program    the guest's program for aarch64 is missing (run \
         scripts/setup.sh --arm64, which compiles it)",
    ] {
        assert!(
            ended.stdout.lines().any(|found| found == line),
            "{line}: {ended:?}"
        );
    }
    for ability in [
        "runtime",
        "qemu-user",
        "hardware samples",
        "addresses",
        "real-time priority",
        "CPUs",
    ] {
        assert!(ended.stdout.contains(ability), "{ability}: {ended:?}");
    }
    let place = self::place();
    let ended = place.said("doctor");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let line = "  ok       gcc                builds programs with relayout cc";
    assert!(ended.stdout.lines().any(|found| found == line), "{ended:?}");
    assert_eq!(
        crate::common::names(&place.path("tmp")),
        Vec::<String>::new()
    );
}

/// A program whose own limit leaves the recorder no memory is recorded beside the limit, which the
/// program does not notice.
#[test]
fn limits_of_memory_leave_room_for_the_recorder() {
    let place = place();
    for (limit, words) in [
        (
            "RLIMIT_AS",
            "address space is limited to 64 MiB (RLIMIT_AS)",
        ),
        ("RLIMIT_DATA", "data is limited to 64 MiB (RLIMIT_DATA)"),
    ] {
        place.write(
            "limited.c",
            format!(
                "#include <pthread.h>\n#include <stdlib.h>\n#include <sys/resource.h>\n\
                 struct pair {{ volatile long left, right; }} pair;\n\
                 pthread_barrier_t turn;\n\
                 void *use(void *arg) {{ for (int i = 0; i < 100; i++) {{\n\
                 if (arg) pair.left++; else pair.right++;\n\
                 pthread_barrier_wait(&turn); }} return arg; }}\n\
                 int main(void) {{\n\
                 struct rlimit limit = {{64 << 20, 64 << 20}}, found;\n\
                 pthread_t threads[2];\n\
                 pthread_barrier_init(&turn, 0, 2);\n\
                 if (setrlimit({limit}, &limit) || getrlimit({limit}, &found)) return 1;\n\
                 if (found.rlim_cur != 64 << 20 || found.rlim_max != 64 << 20) return 2;\n\
                 for (int i = 0; i < 2; i++)\n\
                 if (pthread_create(&threads[i], 0, use, i ? &pair : 0)) return 3;\n\
                 for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);\n\
                 return malloc((size_t)4 << 30) != 0; }}\n"
            ),
        );
        crate::common::programs::ends(&place, "cc -O1 -pthread limited.c -o limited", 0);
        assert_eq!(place.other("./limited", "").code, Some(0));
        let ended = check(&place, "--force -- ./limited", 0, "");
        assert!(
            ended.stderr.contains(words) || ended.stdout.contains(words),
            "{ended:?}"
        );
        let found = finding(&place, "pair");
        assert_eq!(
            found["members"].as_array().map(Vec::len),
            Some(2),
            "{found}"
        );
    }
}

/// Without the right to raise a limit, a program that starts with one runs as it would without a
/// recording, and the limit is named.
#[test]
fn limits_that_leave_no_room_are_named() {
    require_programs(&["setpriv"]);
    let place = place();
    for (letter, words) in [
        (
            "v",
            "its address space is limited to 64 MiB (RLIMIT_AS), which leaves the recorder too little",
        ),
        (
            "d",
            "its data is limited to 64 MiB (RLIMIT_DATA), which leaves the recorder too little",
        ),
    ] {
        place.script(
            "bin/limited",
            &format!(
                "[ \"$(id -u)\" != 0 ] || unprivileged='setpriv --bounding-set -sys_resource'\n\
                 ulimit -{letter} 65536\nexec $unprivileged ./shared"
            ),
        );
        let ended = check(&place, "--force -- bin/limited", 3, "");
        assert!(ended.stdout.starts_with("200000\n"), "{ended:?}");
        assert!(ended.stderr.contains(words), "{ended:?}");
        assert!(
            ended
                .stderr
                .contains(&format!("ulimit -{letter} unlimited")),
            "{ended:?}"
        );
    }
}
