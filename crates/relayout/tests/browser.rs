//! Pages in Chromium: `benches/pages.py` writes them, and the script `browser/run.mjs` opens each in a light, a dark, a
//! narrow and a printed view, uses it by keyboard, and compares its numbers with its document.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::trace;
use common::{KERNEL_FLAGS, Place, hostile, hot, profile};
use relayout_profile::AccessKind::{Read, ReadWrite};
use relayout_testkit::{further_vmlinux, npm_packages, require_programs, vmlinux};
use relayout_testprofile::Word;

/// Three lines that move for different reasons.
const SOURCE: &str = "\
struct traffic {
	long first;
	long second;
	long unused[6];
	long total;
	long names[7];
	long hits;
	long limit;
	long rest[6];
};
struct traffic traffic __attribute__((aligned(64)));
";
/// Markup that runs a script, a mark that turns the direction of text, and the begin of a command to terminals.
const MARKUP: &str = "<img src=x onerror=alert(1)>\u{202e}\x1b";

/// Name of a file that does not fit into a narrow window.
const LONG_NAME: &str = "a-kernel-whose-name-is-longer-than-a-narrow-window-shows-in-one-line";

/// Two contexts: each has a word of the first line, both add to `total`, and only the second reads `limit`.
fn traffic_words() -> Vec<Word> {
    [
        (0, ReadWrite, 0),
        (1, ReadWrite, 8),
        (0, ReadWrite, 64),
        (1, ReadWrite, 64),
        (0, ReadWrite, 128),
        (1, Read, 136),
    ]
    .repeat(400)
}

/// Runs `benches/pages.py` with words separated by spaces. It writes into the folder `pages` of the place.
fn write_pages(place: &Place, words: &str) {
    require_programs(&["python3"]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/pages.py");
    let mut command = Command::new("python3");
    command.arg(script).args(words.split_whitespace());
    command.args(["--relayout", env!("CARGO_BIN_EXE_relayout"), "pages"]);
    command.env("RELAYOUT_CACHE", relayout_testkit::cache_folder());
    let ended = place.ended(command.current_dir(place.path("")));
    assert_eq!(ended.code, Some(0), "{words}: {ended:?}");
    print!("{}", ended.stdout);
}

/// Fails the test if Chromium finds a problem in a page of the folder `pages`. Screenshots are kept as `name`.
#[track_caller]
fn check_pages(place: &Place, name: &str) {
    require_programs(&["node", "chromium"]);
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser");
    let screenshots: PathBuf = [env!("CARGO_TARGET_TMPDIR"), "pages", name]
        .iter()
        .collect();
    let mut command = Command::new("node");
    command.arg(tests.join("run.mjs")).arg(npm_packages(&tests));
    command.arg(place.path("pages")).arg(&screenshots);
    let ended = place.ended(&mut command);
    println!("{}screenshots: {}", ended.stdout, screenshots.display());
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
}

/// Writes the page of a command beside the others. Chromium shows it whatever the command's verdict is.
#[track_caller]
fn add_page(place: &Place, name: &str, words: &str) {
    let ended = place.said(&format!("{words} --html pages/{name}.html"));
    assert!(matches!(ended.code, Some(0 | 1)), "{words}: {ended:?}");
}

#[test]
fn pages_of_recordings() {
    let place = Place::new();
    place.compile("vmlinux", SOURCE, KERNEL_FLAGS);
    trace::write(&place, "p", "vmlinux", "traffic", &[traffic_words()]);
    // Its layouts have curves.
    let words =
        "record kernel --memory 512M --cpus 2 --simulate 200us --workload stat-one -o dentry";
    let mut recording = place.relayout(&words.split(' ').collect::<Vec<_>>());
    recording
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("RELAYOUT_CACHE", relayout_testkit::cache_folder())
        .env_remove("RELAYOUT_PLUGIN_DIR");
    let recorded = place.ended(&mut recording);
    assert_eq!(recorded.code, Some(0), "{recorded:?}");
    write_pages(
        &place,
        "--only traffic,dentry --recording traffic=p,traffic --recording dentry=dentry,dentry",
    );

    let with_member = SOURCE.replace("long hits;", "long hits; long misses;");
    place.compile("other", &with_member, KERNEL_FLAGS);
    add_page(&place, "diff", "diff vmlinux other");
    for (script, rate) in [("old", 1000), ("new", 1500)] {
        place.script(script, &format!("echo rate: {rate}"));
    }
    let metric = "rate=regex:^rate:.([0-9]+)";
    let words = format!("verify --before ./old --after ./new --runs 10 --metric {metric}");
    add_page(&place, "verify", &words);
    check_pages(&place, "recordings");
}

#[test]
fn names_with_markup() {
    let place = Place::new();
    hostile::write_elf(&place, "vmlinux", "", MARKUP);
    hostile::write_elf(&place, LONG_NAME, "long pushing;", MARKUP);
    let path = hot::write(&place, "p", "vmlinux", "origin", [0, 4]);
    profile::edit_meta(&path, "made up", "</script><script>alert(2)</script>");
    write_pages(&place, "--only hostile --recording hostile=p");
    add_page(&place, "advise", "advise p");
    add_page(&place, "diff", &format!("diff vmlinux {LONG_NAME}"));
    check_pages(&place, "names");
}

/// The largest page: thousands of types differ.
#[test]
fn pages_of_two_kernels() {
    vmlinux();
    further_vmlinux("newest");
    let place = Place::new();
    write_pages(&place, "--only diff");
    check_pages(&place, "kernels");
}
