//! `relayout view` in a terminal.

use std::path::Path;
use std::time::Instant;

use relayout_layout::dwarf::DwarfFile;
use relayout_profile::AccessKind::{Read, Write};
use relayout_testprofile::Word;

use crate::common::hot::SOURCE;
use crate::common::terminal::{self, Terminal};
use crate::common::trace;
use crate::common::{KERNEL_FLAGS, Place, profile, text};

/// Size of the terminal that everybody has.
const USUAL: (u16, u16) = (80, 24);

/// A profile `p` in which one context stores to what lies beside the other's word.
fn recorded() -> Place {
    let place = Place::new();
    let source = format!(
        "{SOURCE}\nvoid use_hot(void)\n{{\n\thot.first = hot.second;\n\thot.second = 2;\n}}\n"
    );
    let text_at_first_site = [KERNEL_FLAGS, &["-Wl,-Ttext=0x1000"]].concat();
    place.compile("vmlinux", &source, &text_at_first_site);
    let words: Vec<Word> = [(0, Write, 0), (1, Read, 8)].repeat(400);
    trace::write(&place, "p", "vmlinux", "hot", &[words]);
    std::fs::create_dir(place.path("tree")).unwrap();
    place.write("tree/vmlinux.c", &source);
    place
}

/// A shell script that views `p` with options, and then says how the terminal is.
fn viewing(options: &str) -> String {
    format!("echo before; {options} $relayout view p; echo ended $?; stty -a")
}

/// Waits for the end of the view, and checks that the terminal is as it was.
#[track_caller]
fn check_given_back(terminal: &Terminal<'_>, exit_code: i32) {
    let screen = terminal.wait_until(|screen| screen.contains(" icanon"));
    assert!(screen.starts_with("before\n"), "{screen}");
    assert!(screen.contains(&format!("ended {exit_code}\n")), "{screen}");
    assert!(
        screen.contains(" echo ") && screen.contains(" icrnl"),
        "{screen}"
    );
    let state = terminal.tmux(&["display-message", "-p", "#{cursor_flag} #{alternate_on}"]);
    assert_eq!(state, "1 0\n");
}

#[test]
fn keys_move_through_the_report() {
    let place = recorded();
    let terminal = Terminal::start(&place, USUAL, &viewing(""));
    let list = terminal.wait_for("1 of 1");
    let title = "relayout view: made up, 2 CPUs, 400 transfers";
    assert!(list.starts_with(title), "{list}");
    assert!(list.contains("> "), "{list}");
    terminal.press(&["Enter"]);
    let details = terminal.wait_for("#1 hot +0: false-sharing");
    let picture = "    +0 |AAAA|bbbb|....|";
    assert!(details.contains(picture), "{details}");
    terminal.press(&["Escape"]);
    terminal.wait_for("Enter details");
    terminal.press(&["/", "n", "o", "n", "e"]);
    terminal.wait_for("Search: none_");
    terminal.wait_for("No finding fits");
    terminal.press(&["Escape"]);
    terminal.wait_for("Enter details");
    terminal.press(&["?"]);
    terminal.wait_for("Keys in the list");
    terminal.press(&["q"]);
    check_given_back(&terminal, 0);
}

#[test]
fn windows_of_any_size() {
    let place = recorded();
    let terminal = Terminal::start(&place, (20, 4), &viewing(""));
    terminal.wait_for("Window too small");
    terminal.resize((170, 40));
    let screen = terminal.wait_for("#1 hot +0: false-sharing");
    assert!(screen.contains("Enter details"), "{screen}");
    terminal.resize(USUAL);
    terminal.wait_until(|screen| !screen.contains("#1 hot") && screen.contains("1 of 1"));
    terminal.resize((1, 1));
    terminal.wait_until(|screen| screen.trim() == "W");
    terminal.resize(USUAL);
    terminal.wait_for("1 of 1");
    terminal.press(&["q"]);
    terminal.wait_for("ended 0");
}

/// Keys and signals that end other programs give the terminal back too.
#[test]
fn the_terminal_is_given_back() {
    let place = recorded();
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        let terminal = Terminal::start(&place, USUAL, &viewing(""));
        terminal.wait_for("1 of 1");
        // SAFETY: a plain system call; the process is a child of the terminal's shell.
        assert_eq!(unsafe { libc::kill(terminal.child(), signal) }, 0);
        check_given_back(&terminal, 130);
    }
    let terminal = Terminal::start(&place, USUAL, &viewing(""));
    terminal.wait_for("1 of 1");
    terminal.press(&["C-c"]);
    check_given_back(&terminal, 130);
}

/// A connection that breaks takes the view with it.
#[test]
fn a_view_ends_with_its_terminal() {
    let place = recorded();
    let terminal = Terminal::start(&place, USUAL, &viewing(""));
    terminal.wait_for("1 of 1");
    let process = format!("/proc/{}", terminal.child());
    terminal.tmux(&["kill-server"]);
    let begun = Instant::now();
    while Path::new(&process).exists() {
        assert!(begun.elapsed() < terminal::DEADLINE, "{process} is there");
        std::thread::sleep(terminal::LOOK_INTERVAL);
    }
}

#[test]
fn colours_are_optional() {
    let place = recorded();
    for (options, has_colours, has_attributes) in [
        ("TERM=xterm-16color", true, true),
        ("NO_COLOR=1", false, true),
        ("TERM=dumb", false, false),
    ] {
        let terminal = Terminal::start(&place, (170, 40), &viewing(options));
        // The last line that is drawn.
        let plain = terminal.wait_for("1 of 1");
        assert!(plain.contains("AAAA") && plain.contains("bbbb"), "{plain}");
        let screen = terminal.tmux(&["capture-pane", "-p", "-e"]);
        let codes = screen.split('\u{1b}').skip(1);
        let mut codes = codes.map(|code| code.split('m').next().unwrap_or_default());
        let is_colour = |code: &str| {
            { code.trim_start_matches('[').split(';') }.any(|number| {
                number.len() > 1
                    && number.starts_with(['3', '4', '9'])
                    && number != "39"
                    && number != "49"
            })
        };
        assert_eq!(
            codes.clone().any(is_colour),
            has_colours,
            "{options}: {screen:?}"
        );
        let is_attribute =
            |code: &str| { code[1..].split(';') }.any(|number| ["1", "7"].contains(&number));
        assert_eq!(
            codes.any(is_attribute),
            has_attributes,
            "{options}: {screen:?}"
        );
    }
}

#[test]
fn source_and_advice_are_shown() {
    let place = recorded();
    let script = viewing("").replace("view p", "view p --source tree");
    {
        let terminal = Terminal::start(&place, (80, 60), &script);
        terminal.wait_for("1 of 1");
        terminal.press(&["Enter"]);
        terminal.wait_for("hot.first = hot.second;");
        terminal.press(&["a"]);
        terminal.wait_for("relayout advise p hot\n");
    }
    text(&place, "advise p hot");
    let terminal = Terminal::start(&place, (80, 60), &script);
    terminal.wait_for("1 of 1");
    terminal.press(&["a"]);
    terminal.wait_for("Printed by relayout advise p hot");
    terminal.wait_for("Candidates");
}

/// Ten thousand variables, each on a line that two contexts fight over.
#[test]
fn ten_thousand_findings() {
    const COUNT: usize = 10_000;
    let place = Place::new();
    let mut source = String::from("struct hot { int first, second; };\n");
    for number in 0..COUNT {
        source.push_str(&format!(
            "struct hot v{number:05} __attribute__((aligned(64)));\n"
        ));
    }
    let debug = place.compile("vmlinux", &source, KERNEL_FLAGS);
    let bytes = std::fs::read(&debug).unwrap();
    let file = DwarfFile::parse(&bytes).unwrap();
    let lines: Vec<u64> = { file.globals().iter() }
        .filter(|global| global.name.starts_with('v'))
        .map(|global| global.address)
        .collect();
    assert_eq!(lines.len(), COUNT);
    profile::write_lines(&place, "p", &debug, &file.build_id_text().unwrap(), &lines);

    let terminal = Terminal::start(&place, USUAL, &viewing(""));
    terminal.wait_for(&format!("1 of {COUNT}"));
    terminal.press(&["End"]);
    terminal.wait_for(&format!("{COUNT} of {COUNT}"));
    terminal.press(&["/", "v", "0", "9", "8", "7"]);
    terminal.wait_for("10 findings");
    terminal.press(&["Enter", "s", "s", "s", "s", "End", "Enter"]);
    terminal.wait_for("v09879 (hot) +0");
    terminal.press(&["q"]);
    check_given_back(&terminal, 0);
}

#[test]
fn a_terminal_is_needed() {
    let place = recorded();
    place.refuses(
        "view p",
        2,
        "relayout: standard output is no terminal: `relayout report p` prints the findings",
    );
    let script = viewing("").replace("view p", "view p </dev/null");
    let terminal = Terminal::start(&place, (100, 24), &script);
    let screen = terminal.wait_for("ended 2");
    let refusal =
        "relayout: standard input is no terminal: `relayout report p` prints the findings";
    assert!(screen.contains(refusal), "{screen}");
}

#[test]
fn errors_come_before_the_screen_is_taken() {
    let place = recorded();
    for (words, message) in [
        (
            "view nothing",
            "relayout: nothing is not there: `relayout record` writes profiles, and there are: p",
        ),
        (
            "view vmlinux",
            "relayout: vmlinux is an ELF file and no profile",
        ),
        (
            "view p --source vmlinux",
            "relayout: --source vmlinux: not a folder",
        ),
    ] {
        let script = viewing("").replace("view p", words);
        let terminal = Terminal::start(&place, (200, 24), &script);
        let screen = terminal.wait_for("ended 2");
        assert!(screen.contains(message), "{words}: {screen}");
    }
}
