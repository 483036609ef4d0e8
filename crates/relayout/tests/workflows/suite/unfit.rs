//! Files that describe no suite, jobs that are not in it, machines that lack something.

use super::{FILE, place_with_suite};
use crate::common::disk::SmallDisk;
use crate::common::flowing;
use crate::common::programs::ends;

#[track_caller]
fn refuses(file: &str, words: &str, message: &str) {
    let place = place_with_suite();
    place.write("s.toml", file);
    place.refuses(words, 2, message);
    assert!(!place.path("s.recordings").exists());
}

#[test]
fn files_without_a_suite() {
    place_with_suite().refuses(
        "suite nowhere.toml",
        2,
        "relayout: there is no nowhere.toml; `relayout suite --help` shows what it has to say",
    );
    refuses(
        "[[program]]\nname = \"a\"\ncomand = [\"a\"]\n",
        "suite s.toml",
        "relayout: s.toml:3:1: unknown field `comand`, expected one of `name`, `command`, `directory`, `seeds`, `options`, \
         `time-limit`",
    );
    refuses(
        "[[program]]\nname = \"a\"\ncommand = []\n",
        "suite s.toml",
        "relayout: s.toml: the command of the program 'a' is empty; it is a list of words",
    );
    refuses(
        "[[kernel]]\nworkloads = [\"stat-oen\"]\n",
        "suite s.toml --list",
        "relayout: s.toml: there is no workload 'stat-oen' (did you mean 'stat-one'?); 'list' names them",
    );
    refuses(
        "[[program]]\nname = \"a\"\ncommand = [\"a\"]\nseeds = []\n",
        "suite s.toml",
        "relayout: s.toml: seeds is empty; each recording needs a seed",
    );
}

#[test]
fn jobs_that_are_not_in_the_file() {
    refuses(
        FILE,
        "suite s.toml --job program/counters/seed-4",
        "relayout: s.toml has no job 'program/counters/seed-4'; close: program/counters/seed-1, \
         program/counters/seed-2, program/counters/seed-3; --list names all",
    );
}

/// A machine without the kernel leaves the job to others.
#[test]
fn what_a_machine_lacks_is_no_failure() {
    let place = place_with_suite();
    let kernel = "[[kernel]]\nkernels = [\"nosuch\"]\nworkloads = [\"stat-one\"]\n";
    place.write("s.toml", format!("{kernel}{FILE}"));
    let ended = ends(&place, "suite -q s.toml", 3);
    let text = flowing(&ended.stdout);
    assert!(text.contains("3 done, 1 failed, 1 not run"), "{ended:?}");
    assert!(
        text.contains("waiting kernel/nosuch/stat-one/4cpus/seed-1: a kernel nosuch is missing"),
        "{ended:?}"
    );
}

#[test]
fn a_directory_that_is_not_there() {
    let place = place_with_suite();
    place.write("s.toml", FILE.replace("seeds = 3", "directory = \"build\""));
    let ended = ends(&place, "suite -q s.toml", 4);
    let message = "program/counters/seed-1: its directory ./build is not there";
    assert!(ended.stdout.contains(message), "{ended:?}");
}

#[test]
fn a_full_disk() {
    let place = place_with_suite();
    std::fs::create_dir(place.path("disk")).unwrap();
    let disk = SmallDisk::mount(place.path("disk"), "40m");
    ends(&place, "suite -q -o disk --job program/counters/seed-1", 0);
    disk.fill();
    let ended = ends(&place, "suite -q -o disk", 3);
    assert!(
        ended.stderr.contains("No space left on device"),
        "{ended:?}"
    );
    std::fs::remove_file(place.path("disk/filling")).unwrap();
    let ended = ends(&place, "suite -q -o disk", 4);
    assert!(
        ended.stdout.contains("3 done, 1 failed, 0 not run"),
        "{ended:?}"
    );
}

/// Wrong options are noticed before the first recording begins.
#[test]
fn wrong_options_of_recordings() {
    let program = "[[program]]\nname = \"a\"\ncommand = [\"./a\", \"--bogus\"]\n";
    let kernel = "[[kernel]]\nworkloads = [\"stat-one\"]\n";
    for words in ["suite s.toml --list", "suite s.toml"] {
        refuses(
            &format!("{program}options = [\"--valuse\"]\n"),
            words,
            "relayout: s.toml: options = [\"--valuse\"]: unexpected argument '--valuse' found",
        );
        refuses(
            &format!("{kernel}options = [\"--iterations\", \"many\"]\n"),
            words,
            "relayout: s.toml: options = [\"--iterations\", \"many\"]: invalid value 'many' for '--iterations <N>': not a \
             number: 4000000, 200k, 4M",
        );
        refuses(
            &format!("{program}options = [\"--\", \"./b\"]\n"),
            words,
            "relayout: s.toml: the options of the program 'a' have '--'; its words are in `command`",
        );
    }
}

/// Names that differ in what no file name has get files of their own.
#[test]
fn names_that_look_alike() {
    let place = place_with_suite();
    let program =
        |name: &str| format!("[[program]]\nname = \"{name}\"\ncommand = [\"./shared\"]\n");
    place.write("s.toml", program("a/b") + &program("a_b"));
    let ended = ends(&place, "suite -q s.toml", 0);
    assert!(
        ended.stdout.contains("2 done, 0 failed, 0 not run"),
        "{ended:?}"
    );
    let listed = ends(&place, "suite s.toml --list", 0).stdout;
    let (first, second) = listed.trim().split_once('\n').unwrap();
    assert!(
        first.starts_with("program/a_b-") && second == "program/a_b/seed-1",
        "{listed}"
    );
}

/// A link in the folder of the results leads to no file that is written.
#[test]
fn logs_are_not_written_through_links() {
    let place = place_with_suite();
    place.write("thesis", "kept");
    std::fs::create_dir_all(place.path("out/program/broken")).unwrap();
    let log = place.path("out/program/broken/seed-1.log");
    std::os::unix::fs::symlink("../../../thesis", &log).unwrap();
    let words = "suite -q -o out --job program/broken/seed-1";
    let ended = ends(&place, words, 2);
    let message = "program/broken/seed-1.log: it is a symbolic link, and a regular file is needed";
    assert!(flowing(&ended.stderr).contains(message), "{ended:?}");
    assert_eq!(
        std::fs::read_to_string(place.path("thesis")).unwrap(),
        "kept"
    );
    std::fs::remove_file(&log).unwrap();
    ends(&place, words, 4);
}
