//! Options of every command: colours, silence, the pager, the version.

use relayout_profile::AccessKind::{Read, Write};
use relayout_testprofile::Word;

use crate::common::hot::SOURCE;
use crate::common::terminal::Terminal;
use crate::common::trace;
use crate::common::{KERNEL_FLAGS, Place, text};

/// Colour of pahole's comments on holes.
const YELLOW: &str = "\x1b[33m";

fn recorded() -> Place {
    let place = Place::new();
    place.compile("vmlinux", SOURCE, KERNEL_FLAGS);
    let words: Vec<Word> = [(0, Write, 0), (1, Read, 8)].repeat(400);
    trace::write(&place, "p", "vmlinux", "hot", &[words]);
    place
}

#[test]
fn colours_are_asked_for() {
    let place = Place::new();
    place.vmlinux();
    let plain = text(&place, "show vmlinux point");
    assert!(!plain.contains('\x1b'), "{plain}");
    let coloured = text(&place, "show vmlinux point --color always");
    assert!(
        coloured.contains(&format!("{YELLOW}/* XXX 3 bytes hole")),
        "{coloured}"
    );
    assert_eq!(text(&place, "show vmlinux point --color=never"), plain);
    let document = text(&place, "show vmlinux point --json --color always");
    assert!(!document.contains('\x1b'), "{document}");
    let error = place.run_words("show vmlinux --hx --color always");
    assert!(error.stderr.contains("\x1b["), "{error:?}");
}

#[test]
fn a_terminal_gets_colours_unless_the_user_wants_none() {
    let place = Place::new();
    place.vmlinux();
    let script = "export TERM=screen; $relayout show --no-pager vmlinux point > /dev/null; \
                  $relayout show --no-pager vmlinux point; NO_COLOR=1 $relayout show --no-pager vmlinux point; echo end";
    let terminal = Terminal::start(&place, (100, 60), script);
    terminal.wait_for("end");
    let screen = terminal.tmux(&["capture-pane", "-p", "-e"]);
    assert_eq!(screen.matches("/* XXX 3 bytes hole").count(), 2, "{screen}");
    assert_eq!(screen.matches(YELLOW).count(), 1, "{screen}");
}

#[test]
fn long_text_goes_through_the_pager_on_a_terminal() {
    let place = Place::new();
    place.vmlinux();
    place.script("bin/pager", "cat > paged; echo the pager has it");
    let script = "export RELAYOUT_PAGER=$PWD/bin/pager; $relayout show vmlinux; echo end";
    let terminal = Terminal::start(&place, (100, 60), script);
    let screen = terminal.wait_for("end");
    assert!(
        screen.contains("the pager has it") && !screen.contains("struct point"),
        "{screen}"
    );
    let paged = std::fs::read_to_string(place.path("paged")).expect("the pager's file");
    assert!(paged.contains("struct point {"), "{paged}");
    drop(terminal);
    for script in [
        "export RELAYOUT_PAGER=$PWD/bin/pager; $relayout show --no-pager vmlinux; echo end",
        "export RELAYOUT_PAGER= PAGER=$PWD/bin/pager; $relayout show vmlinux; echo end",
        "export RELAYOUT_PAGER=$PWD/bin/pager; $relayout show vmlinux | cat; echo end",
    ] {
        let terminal = Terminal::start(&place, (100, 60), script);
        let screen = terminal.wait_for("end");
        assert!(
            screen.contains("struct point {") && !screen.contains("the pager"),
            "{screen}"
        );
    }
}

#[test]
fn quiet_leaves_results_and_errors() {
    let place = recorded();
    let ended = place.run_words("report p --html page.html -q");
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{ended:?}");
    assert!(ended.stdout.contains("#1 hot"), "{}", ended.stdout);
    let ended = place.run_words("report p --type hott --quiet");
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("close: hot"), "{}", ended.stderr);
}

#[test]
fn version_names_the_commit() {
    let place = Place::new();
    let version = text(&place, "--version");
    let words: Vec<&str> = version.split_whitespace().collect();
    assert_eq!(
        words[..2],
        ["relayout", env!("CARGO_PKG_VERSION")],
        "{version}"
    );
    // A tree outside of git has none.
    if let [commit, day] = words[2..] {
        assert!(commit.starts_with('(') && day.ends_with(')'), "{version}");
    }
    let of_command = text(&place, "record kernel --version");
    assert!(
        of_command.starts_with("relayout-record-kernel "),
        "{of_command}"
    );
}

/// What a report keeps gives the next one the same text, whatever it selects.
#[test]
fn a_report_from_what_was_kept_is_the_same() {
    let place = recorded();
    let fresh = |words: &str| {
        let words: Vec<&str> = words.split_whitespace().collect();
        let ended = place.ended(place.relayout(&words).env("RELAYOUT_NO_CACHE", "1"));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.stdout
    };
    text(&place, "report p");
    let kept = std::fs::read_dir(place.path("cache/resolved")).expect("the cache");
    let is_findings = |name: &std::ffi::OsStr| name.to_string_lossy().ends_with(".findings");
    assert!(kept.flatten().any(|entry| is_findings(&entry.file_name())));
    for words in [
        "report p --top 1",
        "report p --type hot",
        "report p --min-share 5",
        "report p --format mail",
        "report p --width 60",
        "report p --explain 1",
        "report p --json",
    ] {
        assert_eq!(text(&place, words), fresh(words), "{words}");
    }
}
