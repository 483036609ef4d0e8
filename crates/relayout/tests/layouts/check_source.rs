//! `relayout check --header` and `--emit`: headers compiled as a project compiles, and assertions
//! as C.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{Ended, Place, start};

const HEADER: &str = "\
struct lock { long count; long owner; };
#ifdef DEBUG
#define MORE long magic[8];
#else
#define MORE
#endif
struct mm {
	int users;
	MORE
	struct lock lock;
};
template_here
";

const RULES: &str = r#"
[configuration.debug]

[[type]]
name = "mm"
reason = "measured"
same_line = ["users", "lock.owner"]

[[section]]
not_configuration = ["debug"]
[[section.type]]
name = "mm"
size = 24
"#;

/// A project of one header and two files that include it.
fn project(rules: &str) -> Place {
    let place = Place::new();
    place.write("mm.h", HEADER.replace("template_here\n", ""));
    place.write("a.c", "#include \"mm.h\"\nstruct mm mm;\n");
    place.write("relayout.toml", rules);
    database(&place, "compile_commands.json", "gcc -c a.c -o a.o");
    place
}

/// A database with one entry, of `a.c`.
fn database(place: &Place, name: &str, command: &str) {
    let entry = serde_json::json!([{
        "directory": place.path(""),
        "file": "a.c",
        "command": command,
    }]);
    place.write(name, entry.to_string());
}

fn relayout(place: &Place, words: &str) -> Command {
    let words: Vec<&str> = words.split(' ').collect();
    let mut command = place.relayout(&words);
    // The compiler's programs are found by it.
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
}

fn run(place: &Place, words: &str) -> Ended {
    place.ended(&mut relayout(place, words))
}

/// Exit code, standard output, standard error.
#[track_caller]
fn check(place: &Place, words: &str, code: i32, stdout: &str, stderr: &str) {
    let ended = run(place, words);
    assert_eq!(ended.stdout.trim_end(), stdout.trim(), "{}", ended.stderr);
    assert_eq!(ended.stderr.trim_end(), stderr.trim(), "{}", ended.stdout);
    assert_eq!(ended.code, Some(code));
    assert_clean(place);
}

/// Nothing is left where temporary files go, nor beside the project's files.
#[track_caller]
fn assert_clean(place: &Place) {
    assert_eq!(
        crate::common::names(&place.path("tmp")),
        Vec::<String>::new()
    );
    let files = crate::common::names(&place.path(""));
    let objects = files.iter().filter(|name| name.ends_with(".o"));
    assert_eq!(objects.count(), 0, "{files:?}");
}

#[test]
fn all_hold() {
    let place = project(RULES);
    let summary = "2 assertions checked, none violated";
    check(&place, "check --header mm.h", 0, summary, "");
    // The file itself, and by another's flags.
    check(&place, "check --header a.c", 0, summary, "");
    check(&place, "check --header mm.h --like a.c", 0, summary, "");
    check(&place, "check --header mm.h --compiler gcc", 0, summary, "");
}

#[test]
fn a_configuration_breaks_it() {
    let place = project(RULES);
    database(&place, "debug.json", "gcc -DDEBUG -c a.c");
    check(
        &place,
        "check --header mm.h --compile-commands compile_commands.json --compile-commands debug=debug.json",
        1,
        "
mm.h:10: mm.lock.owner violates same_line
  expected   on one line with users
  found      users at 0 on line 0, lock.owner at 80 on line 1
  between    magic
  because    measured
  rule       relayout.toml:7, in mm.h, configuration debug

3 assertions checked, 1 violated",
        "",
    );
}

#[test]
fn places_are_named_as_the_projects_build_names_them() {
    let place = project(&RULES.replace("size = 24", "size = 16"));
    std::fs::create_dir(place.path("include")).unwrap();
    std::fs::rename(place.path("mm.h"), place.path("include/mm.h")).unwrap();
    let ended = run(&place, "check --header include/mm.h");
    assert!(
        ended
            .stdout
            .starts_with("include/mm.h:7: mm violates size\n"),
        "{ended:?}"
    );
}

#[test]
fn what_the_header_does_not_define_is_told() {
    let rules = "[[type]]\nname = \"mm\"\nsize = 24\n[[type]]\nname = \"mmm\"\nsize = 8\n";
    let place = project(rules);
    check(
        &place,
        "check --header mm.h",
        0,
        "1 assertion checked, none violated",
        "relayout: note: not checked, because not defined by mm.h: mmm",
    );
    place.write("relayout.toml", "[[type]]\nname = \"mmm\"\nsize = 8\n");
    let ended = run(&place, "check --header mm.h");
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("nothing was checked"), "{ended:?}");
}

#[test]
fn a_type_of_two_headers_is_checked_once() {
    let place = project(RULES);
    place.write("other.h", "#include \"mm.h\"\n");
    let summary = "2 assertions checked, none violated";
    check(
        &place,
        "check --header mm.h --header other.h",
        0,
        summary,
        "",
    );
}

#[test]
fn the_compilers_message_is_shown() {
    let place = project(RULES);
    place.write("mm.h", "struct mm { spinlock_t lock; };\n");
    check(
        &place,
        "check --header mm.h",
        2,
        "",
        "
relayout: gcc cannot compile [DIR]/mm.h as [DIR]/a.c is compiled:
  In file included from relayout's unit:1:
  [DIR]/mm.h:1:13: error: unknown type name 'spinlock_t'
      1 | struct mm { spinlock_t lock; };
        |             ^~~~~~~~~~",
    );
    let ended = run(&place, "check --bisect --header mm.h");
    assert_eq!(ended.code, Some(125), "{ended:?}");
    // What it needs can be included before it.
    place.write("spinlock.h", "typedef int spinlock_t;\n");
    place.write("relayout.toml", "[[type]]\nname = \"mm\"\nsize = 4\n");
    let words = "check --header mm.h --include spinlock.h";
    let refused = run(&place, words);
    assert!(
        refused.stderr.contains("spinlock.h: No such file"),
        "{refused:?}"
    );
    database(&place, "compile_commands.json", "gcc -I. -c a.c");
    check(&place, words, 0, "1 assertion checked, none violated", "");
}

#[test]
fn what_is_missing_is_named() {
    let place = project(RULES);
    database(&place, "compile_commands.json", "no-such-gcc -c a.c");
    check(
        &place,
        "check --header mm.h",
        3,
        "",
        "relayout: there is no compiler 'no-such-gcc', which [DIR]/a.c names; install it, or name another with --compiler",
    );
    check(
        &place,
        "check --header none.h --compile-commands compile_commands.json",
        2,
        "",
        "relayout: cannot find none.h: No such file or directory (os error 2)",
    );
    std::fs::remove_file(place.path("compile_commands.json")).unwrap();
    let ended = run(&place, "check --header mm.h");
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let wanted = "relayout: there is no compile_commands.json in the folder of mm.h or above it;";
    assert!(ended.stderr.starts_with(wanted), "{ended:?}");
}

#[test]
fn bad_usage() {
    let place = project(RULES);
    for (words, part) in [
        ("check", "required arguments were not provided"),
        (
            "check a.o --compile-commands x",
            "required arguments were not provided",
        ),
        (
            "check --header mm.h --compile-commands =x",
            "write NAME=FILE",
        ),
        (
            "check --header mm.h --compiler '",
            "is not a compiler's command",
        ),
        ("check --header mm.h --like none.c", "cannot find none.c"),
        (
            "check --header mm.h --emit kernel --json",
            "cannot be used with",
        ),
    ] {
        let ended = run(&place, words);
        assert_eq!(ended.code, Some(2), "{words}: {ended:?}");
        assert!(ended.stderr.contains(part), "{words}: {ended:?}");
    }
}

#[test]
fn ctrl_c_ends_the_compiler_and_leaves_nothing() {
    let place = project(RULES);
    let compiler = place.script(
        "bin/slow-gcc",
        "case $1 in --version) exit;; esac\n: > \"$TMPDIR/of-the-compiler\"\n: > started\nsleep 100 & wait",
    );
    database(
        &place,
        "compile_commands.json",
        &format!("{} -c a.c", compiler.display()),
    );
    let child = start(&mut relayout(&place, "check --header mm.h"));
    let deadline = Instant::now() + Duration::from_secs(30);
    while !place.path("started").exists() {
        assert!(Instant::now() < deadline, "the compiler was not started");
        std::thread::sleep(Duration::from_millis(5));
    }
    // SAFETY: a plain system call, on a child that has not been waited for.
    let sent = unsafe { libc::kill(child.id().try_into().unwrap(), libc::SIGINT) };
    assert_eq!(sent, 0);
    let begun = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(begun.elapsed() < Duration::from_secs(50));
    assert_clean(&place);
}

#[test]
fn narrow_targets() {
    let rules = "\
[[section]]
pointer_size = 4
[[section.type]]
name = \"mm\"
size = 12
[[section]]
machine = [\"arm\"]
[[section.type]]
name = \"lock\"
size = 8
";
    for (compiler, flags, count) in [
        ("gcc", &["-m32"][..], "1 assertion"),
        ("arm-linux-gnueabihf-gcc", &[], "2 assertions"),
    ] {
        relayout_testkit::require_compiler(compiler, flags, "c", "#include <assert.h>\n");
        let place = project(rules);
        let command = format!("ccache {compiler} {} -c a.c", flags.join(" "));
        database(&place, "compile_commands.json", &command);
        let ended = run(&place, "check --header mm.h");
        let expect = format!("{count} checked, none violated\n");
        assert_eq!(
            (ended.stdout, ended.code),
            (expect, Some(0)),
            "{}",
            ended.stderr
        );
    }
}

#[test]
fn the_configuration_of_a_kernel_is_found_where_it_is_built() {
    let rules = "[[section]]\nkconfig = [\"CONFIG_SMP=y\", \"CONFIG_NR_CPUS=1\"]\n\
                 [[section.type]]\nname = \"mm\"\nsize = 24\n";
    let place = project(rules);
    std::fs::create_dir_all(place.path("include/config")).unwrap();
    place.write(
        "include/config/auto.conf",
        "CONFIG_SMP=y\nCONFIG_NR_CPUS=1\n",
    );
    let summary = "1 assertion checked, none violated";
    check(&place, "check --header mm.h", 0, summary, "");
    place.write("given", "CONFIG_SMP=y\nCONFIG_NR_CPUS=2\n");
    let ended = run(&place, "check --header mm.h --kconfig given");
    assert!(ended.stderr.contains("no rule applies"), "{ended:?}");
}

#[test]
fn instances_of_templates() {
    relayout_testkit::require_programs(&["g++"]);
    let rules = "[[type]]\nname = \"Ring<int, 4>\"\nsize = 24\n[[type]]\nname = \"Ring<Unknown, 4>\"\nsize = 24\n";
    let place = project(rules);
    let header = "template <typename T, int N> struct Ring { T slots[N]; long head; };\n";
    place.write("mm.h", header);
    database(&place, "compile_commands.json", "g++ -c a.c");
    check(
        &place,
        "check --header mm.h",
        0,
        "1 assertion checked, none violated",
        "relayout: note: not checked, because not defined by mm.h: Ring<Unknown, 4>",
    );
}

/// Compiles what was emitted after the header, which is there as `header`.
fn compiles(place: &Place, emitted: &str, header: &str) -> bool {
    place.write("mm.h", header);
    let unit = place.write("unit.c", emitted);
    let mut command = Command::new("gcc");
    command
        .args(["-Wall", "-Wextra", "-Werror", "-fsyntax-only"])
        .arg(unit);
    command
        .current_dir(place.path(""))
        .output()
        .unwrap()
        .status
        .success()
}

#[test]
fn what_is_emitted_compiles_until_the_layout_breaks() {
    let place = project(RULES);
    let header = HEADER.replace("template_here\n", "");
    let ended = run(&place, "check --emit static-assert --header mm.h");
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{ended:?}");
    assert_clean(&place);
    let emitted = ended.stdout;
    assert!(emitted.contains("#include \"mm.h\"\n"), "{emitted}");
    assert!(
        emitted.contains("#if !defined(RELAYOUT_CONFIGURATION_DEBUG)\n"),
        "{emitted}"
    );
    assert!(compiles(&place, &emitted, &header));
    assert!(!compiles(
        &place,
        &emitted,
        &header.replace("int users;", "int users; long x;")
    ));
    let debug = format!("#define RELAYOUT_CONFIGURATION_DEBUG\n#define DEBUG\n{header}");
    assert!(!compiles(&place, &emitted, &debug));
    let debug = debug.replace("magic[8]", "magic");
    assert!(compiles(&place, &emitted, &debug));
}

#[test]
fn what_is_emitted_of_a_file_that_breaks_the_rules() {
    let place = project(&RULES.replace("size = 24", "size = 16"));
    let header = place.path("mm.h");
    let source = format!("#include \"{}\"\nstruct mm mm;\n", header.display());
    place.compile("a.bin", &source, &["-g", "-c"]);
    let ended = run(&place, "check --emit kernel a.bin");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended
            .stdout
            .contains("static_assert(sizeof(struct mm) == 16,\n"),
        "{ended:?}"
    );
    assert!(ended.stderr.contains("mm violates size\n"), "{ended:?}");
}
