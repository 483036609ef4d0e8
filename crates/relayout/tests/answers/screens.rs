//! The first screen of an answer: short, no wider than the terminal, and with the commands that lead on.

use crate::common::hot::SOURCE;
use crate::common::{KERNEL_FLAGS, Place, text, trace};
use relayout_profile::AccessKind::{Read, Write};

/// Lines of a screen at most.
const LINES_MAX: usize = 50;

/// A profile `p` in which one context stores to the first word of `hot`, and another loads the second.
fn recorded() -> Place {
    let place = Place::new();
    place.compile("vmlinux", SOURCE, KERNEL_FLAGS);
    let words = [(0, Write, 0), (1, Read, 8)].repeat(400);
    trace::write(&place, "p", "vmlinux", "hot", &[words]);
    place
}

#[test]
fn a_report_is_one_screen() {
    let place = recorded();
    for width in [80, 120] {
        let screen = text(&place, &format!("report p --width {width}"));
        assert!(screen.lines().count() <= LINES_MAX, "{screen}");
        let widest = screen.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(width), "{widest:?}: {screen}");
        insta::assert_snapshot!(format!("report_{width}"), screen);
    }
    // The commands that it names are commands.
    let screen = text(&place, "report p");
    let commands = { screen.lines() }.filter_map(|line| line.strip_prefix("  relayout "));
    let commands: Vec<&str> = commands
        .map(|line| line.split("  ").next().unwrap())
        .collect();
    assert_eq!(commands, ["advise p hot", "report p --all", "view p"]);
    for command in &commands[..2] {
        text(&place, command);
    }
    assert!(text(&place, "report p --all").contains("Limits"));
    assert_eq!(
        text(&place, "report p --top 10"),
        text(&place, "report p --all")
    );
}
