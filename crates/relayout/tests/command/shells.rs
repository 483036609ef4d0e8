//! Completions in the shells themselves, typed in a terminal; and the manual pages.

use crate::common::terminal::Terminal;
use crate::common::{Place, text};
use relayout_testkit::require_programs;

/// Starts a shell that completes by the script of `relayout completions`.
fn shell<'p>(place: &'p Place, start: &str, source: &str) -> Terminal<'p> {
    let script = format!("PATH=$(dirname $relayout):$PATH; {start}");
    let terminal = Terminal::start(place, (100, 30), &script);
    terminal.press(&[source, "Enter"]);
    // The shell answers once it has read the script.
    terminal.press(&["echo rea''dy", "Enter"]);
    terminal.wait_until(|screen| screen.lines().any(|line| line.trim_end() == "ready"));
    terminal
}

/// Types the beginning of a command, presses Tab, and waits for what the shell makes of it.
#[track_caller]
fn completes(terminal: &Terminal<'_>, typed: &str, completed: &str) {
    terminal.press(&[typed, "Tab"]);
    terminal.wait_until(|screen| {
        screen
            .lines()
            .any(|line| line.trim_end().ends_with(completed))
    });
    terminal.press(&["C-u"]);
}

#[track_caller]
fn check(shell: &Terminal<'_>) {
    completes(shell, "relayout sho", "relayout show");
    completes(shell, "relayout report --expl", "relayout report --explain");
    completes(
        shell,
        "relayout record kernel --workload mnt",
        "relayout record kernel --workload mntns",
    );
    completes(
        shell,
        "relayout advise p t --machine berg",
        "relayout advise p t --machine bergamo-2s",
    );
    completes(
        shell,
        "relayout record kernel --rule near",
        "relayout record kernel --rule near-first=",
    );
    completes(
        shell,
        "relayout show vmlinux poi",
        "relayout show vmlinux point",
    );
}

#[test]
fn bash_completes() {
    require_programs(&["bash"]);
    let place = Place::new();
    place.vmlinux();
    let terminal = shell(
        &place,
        "bash --norc --noprofile",
        "source <(relayout completions bash)",
    );
    check(&terminal);
}

#[test]
fn zsh_completes() {
    require_programs(&["zsh"]);
    let place = Place::new();
    place.vmlinux();
    let terminal = shell(
        &place,
        "zsh -f",
        "autoload -U compinit; compinit -u -D; source <(relayout completions zsh)",
    );
    check(&terminal);
}

#[test]
fn fish_completes() {
    require_programs(&["fish"]);
    let place = Place::new();
    place.vmlinux();
    let terminal = shell(
        &place,
        "HOME=$PWD fish --no-config",
        "relayout completions fish | source",
    );
    check(&terminal);
}

#[test]
fn manual_pages_are_clean() {
    require_programs(&["man", "mandoc"]);
    let place = Place::new();
    text(&place, "--quiet man pages");
    let mut pages: Vec<String> = std::fs::read_dir(place.path("pages"))
        .expect("the folder of the pages")
        .map(|entry| format!("pages/{}", entry.expect("an entry").file_name().display()))
        .collect();
    pages.sort();
    assert!(pages.len() > 20, "{pages:?}");
    for page in &pages {
        let lint = place.other("mandoc", &format!("-T lint -W warning {page}"));
        assert_eq!((lint.code, &*lint.stdout), (Some(0), ""), "{page}");
        let shown = place.other("man", &format!("--warnings -l {page}"));
        assert_eq!((shown.code, &*shown.stderr), (Some(0), ""), "{page}");
        assert!(
            shown.stdout.contains("SYNOPSIS"),
            "{page}:\n{}",
            shown.stdout
        );
    }
}
