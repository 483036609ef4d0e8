//! The view of a small report: screens for keys and sizes of windows.

use insta::assert_snapshot;
use proptest::prelude::*;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier};
use relayout_report::FindingSelection;
use relayout_report::documents::report;
use relayout_report::view::{ReportView, ViewKey, ViewOutcome, ViewPalette};
use relayout_session::SourceFile;
use serde_json::{Value, json};

use crate::common::rendered;

/// Sets the title of the terminal, colours it, breaks the line, and turns the direction of writing around.
const HOSTILE: &str = "\u{1b}]0;owned\u{7}\u{1b}[31m\u{202e}\r\n\t\u{9b}2J";

fn document() -> Value {
    let all = FindingSelection::default();
    let text = rendered(&all, |report| report::render(report).unwrap());
    serde_json::from_str(&text).unwrap()
}

fn view_of(document: &Value, palette: ViewPalette) -> ReportView {
    ReportView::from_json(&document.to_string(), "out.relayout", palette).unwrap()
}

fn small_view() -> ReportView {
    view_of(&document(), ViewPalette::Plain)
}

/// Presses keys; characters are themselves, and `<name>` is a named key.
fn press(view: &mut ReportView, keys: &str) -> ViewOutcome {
    let mut outcome = ViewOutcome::Stay;
    let mut rest = keys;
    while let Some(c) = rest.chars().next() {
        let named = NAMED_KEYS.iter().find(|(name, _)| rest.starts_with(name));
        let (length, key) = match named {
            Some((name, key)) => (name.len(), *key),
            None => (c.len_utf8(), ViewKey::Character(c)),
        };
        outcome = view.update(key);
        rest = &rest[length..];
    }
    outcome
}

const NAMED_KEYS: [(&str, ViewKey); 12] = [
    ("<up>", ViewKey::Up),
    ("<down>", ViewKey::Down),
    ("<left>", ViewKey::Left),
    ("<right>", ViewKey::Right),
    ("<pgup>", ViewKey::PageUp),
    ("<pgdn>", ViewKey::PageDown),
    ("<home>", ViewKey::Home),
    ("<end>", ViewKey::End),
    ("<enter>", ViewKey::Enter),
    ("<esc>", ViewKey::Escape),
    ("<tab>", ViewKey::Tab),
    ("<backspace>", ViewKey::Backspace),
];

fn drawn(view: &mut ReportView, width: u16, height: u16) -> Buffer {
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    view.render(buffer.area, &mut buffer);
    buffer
}

/// Returns the characters of a window, without spaces at the ends of lines.
fn screen(view: &mut ReportView, width: u16, height: u16) -> String {
    let buffer = drawn(view, width, height);
    let rows = buffer.content.chunks(usize::from(width.max(1)));
    let lines = rows.map(|row| {
        let line: String = row.iter().map(|cell| cell.symbol()).collect();
        line.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn list() {
    assert_snapshot!(screen(&mut small_view(), 80, 12));
}

#[test]
fn details() {
    let mut view = small_view();
    press(&mut view, "<enter>");
    assert_snapshot!(screen(&mut view, 80, 60));
}

#[test]
fn details_of_a_program_in_a_narrow_window() {
    let mut document = document();
    document["machine"]["target"] = json!("program");
    let mut view = view_of(&document, ViewPalette::Plain);
    press(&mut view, "<down><enter>");
    assert_snapshot!(screen(&mut view, 44, 50));
}

#[test]
fn list_beside_details() {
    let mut view = small_view();
    press(&mut view, "j");
    assert_snapshot!(screen(&mut view, 170, 30));
}

#[test]
fn help() {
    let mut view = small_view();
    press(&mut view, "?");
    assert_snapshot!(screen(&mut view, 80, 60));
}

#[test]
fn recording() {
    let mut view = small_view();
    press(&mut view, "i");
    assert_snapshot!(screen(&mut view, 80, 24));
}

#[test]
fn advice_that_was_not_computed() {
    let mut view = small_view();
    press(&mut view, "<enter>a");
    assert_eq!(view.missing_advice(), Some("pcpu_chunk"));
    view.add_advice("pcpu_chunk", None);
    assert_eq!(view.missing_advice(), None);
    assert_snapshot!(screen(&mut view, 80, 14));
}

#[test]
fn advice_that_was_computed() {
    let mut view = small_view();
    press(&mut view, "a");
    let text = format!("Recommended (found 2): move 'base_addr'.{HOSTILE}\n\nPatch:");
    view.add_advice("pcpu_chunk", Some(text));
    assert_snapshot!(screen(&mut view, 80, 16));
}

#[test]
fn small_windows_show_what_fits() {
    let mut view = small_view();
    assert_snapshot!(screen(&mut view, 30, 6), @r"
    relayout view: mntns on Linu..
       Rank Transfers Type or va..
    >     1      3944 pcpu_chunk..
          2       700 osq_node +0
          3       100 nr_files -8
    q quit  ? help          1 of 3
    ");
    assert_snapshot!(screen(&mut view, 29, 3), @r"
    Window too small
    30x6 needed
    q quits
    ");
    assert_eq!(screen(&mut view, 4, 1), "Wind");
    assert_eq!(screen(&mut view, 0, 0), "");
    assert_eq!(press(&mut view, "q"), ViewOutcome::Quit);
}

#[test]
fn source_lines_are_asked_for_once() {
    let mut view = small_view();
    assert!(view.missing_sources().is_empty());
    view.show_source();
    press(&mut view, "<enter><end>");
    let missing = view.missing_sources();
    assert!(
        missing.iter().any(|name| name.ends_with("percpu.c")),
        "{missing:?}"
    );
    for name in missing {
        let source = name.ends_with("percpu.c").then(|| SourceFile {
            name: name.clone(),
            path: "mm/percpu.c".to_owned(),
            text: format!("{{\n\tfree();{HOSTILE}\n").repeat(2000),
        });
        view.add_source(name, source);
    }
    assert!(view.missing_sources().is_empty());
    let text = screen(&mut view, 80, 80);
    assert!(text.contains("\nmm/percpu.c:"), "{text}");
    assert!(text.contains("\n>  2259  "), "{text}");
    assert!(text.contains(r"free();\u{1b}]0;"), "{text}");
}

/// Returns the names of the list in their order.
fn listed(view: &mut ReportView) -> Vec<String> {
    let text = screen(view, 100, 24);
    let rows = text.lines().skip(2).take_while(|line| !line.is_empty());
    let names = rows.filter_map(|row| row.split_whitespace().rev().nth(1).map(str::to_owned));
    names.filter(|name| name.contains('_')).collect()
}

#[test]
fn sort_filter_and_search() {
    let all = ["pcpu_chunk", "osq_node", "nr_files"];
    let mut view = small_view();
    assert_eq!(listed(&mut view), all);
    press(&mut view, "ssss");
    assert_eq!(listed(&mut view), ["nr_files", "osq_node", "pcpu_chunk"]);
    press(&mut view, "s/free_P<backspace>P<enter>");
    assert_eq!(listed(&mut view), ["pcpu_chunk"]);
    press(&mut view, "<esc>");
    assert_eq!(listed(&mut view), all);
    press(&mut view, "/q?s");
    assert!(screen(&mut view, 100, 24).contains("No finding fits. Esc shows all."));
    press(&mut view, "<enter><enter>an<esc>");
    assert_eq!(listed(&mut view), all);
    press(&mut view, "w");
    assert!(listed(&mut view).is_empty());
    press(&mut view, "wf");
    assert_eq!(listed(&mut view).len(), 1);
    press(&mut view, "<esc>");
    assert_eq!(listed(&mut view), all);
}

#[test]
fn the_selected_finding_stays_selected() {
    let mut view = small_view();
    press(&mut view, "<down>ssss");
    let text = screen(&mut view, 80, 24);
    let selected = text.lines().find(|line| line.starts_with('>'));
    assert!(selected.unwrap().contains("osq_node"), "{text}");
}

#[test]
fn nothing_is_told_by_colour_alone() {
    let mut texts = Vec::new();
    for palette in [
        ViewPalette::Colours,
        ViewPalette::Attributes,
        ViewPalette::Plain,
    ] {
        let mut view = view_of(&document(), palette);
        let buffer = drawn(&mut view, 170, 40);
        let has_colour = buffer.content.iter().any(|cell| cell.fg != Color::Reset);
        let has_attribute =
            { buffer.content.iter() }.any(|cell| cell.modifier != Modifier::empty());
        assert_eq!(has_colour, palette == ViewPalette::Colours);
        assert_eq!(has_attribute, palette != ViewPalette::Plain);
        texts.push(screen(&mut view, 170, 40));
    }
    assert!(texts.iter().all(|text| *text == texts[0]));
    assert!(
        texts[0].contains("|aaaa|") || texts[0].contains("AAAA"),
        "{}",
        texts[0]
    );
}

/// A report whose every name is hostile, with many findings.
fn hostile_document(findings: usize) -> Value {
    fn replace_strings(value: &mut Value) {
        match value {
            Value::String(text) => text.push_str(HOSTILE),
            Value::Array(values) => values.iter_mut().for_each(replace_strings),
            // Kinds are words of the document: another one is refused.
            Value::Object(values) => { values.iter_mut() }
                .filter(|(key, _)| !["kind", "access", "outlook"].contains(&key.as_str()))
                .for_each(|(_, value)| replace_strings(value)),
            _ => {}
        }
    }
    let mut document = document();
    replace_strings(&mut document);
    let few = document["findings"].as_array().unwrap().clone();
    let many = few.iter().cycle().take(findings).cloned();
    document["findings"] = many.collect();
    document
}

#[track_caller]
fn check_harmless(view: &mut ReportView, width: u16, height: u16) {
    let buffer = drawn(view, width, height);
    let is_active = |c: char| c.is_control() || c == '\u{202e}';
    let active = buffer
        .content
        .iter()
        .find(|cell| cell.symbol().contains(is_active));
    assert_eq!(active, None);
}

#[test]
fn hostile_names_are_escaped() {
    let mut view = view_of(&hostile_document(3), ViewPalette::Colours);
    for keys in ["", "<enter>", "a", "<esc><esc>i", "<esc>?"] {
        press(&mut view, keys);
        check_harmless(&mut view, 200, 60);
        check_harmless(&mut view, 60, 60);
    }
    let mut view = view_of(&hostile_document(3), ViewPalette::Colours);
    assert!(screen(&mut view, 200, 60).contains(r"mntns\u{1b}]0;owned\u{7}"));
}

#[test]
fn extreme_numbers_are_shown() {
    let mut document = document();
    document["machine"]["line_bytes"] = json!(u32::MAX);
    let finding = &mut document["findings"][0];
    finding["line_offset"] = json!(i64::MIN);
    finding["members"][0]["offset"] = json!(i64::MAX);
    finding["members"][0]["size"] = json!(u64::MAX);
    finding["transfers"] = json!(u64::MAX);
    let mut view = view_of(&document, ViewPalette::Plain);
    press(&mut view, "<enter>");
    for width in [30, 80, 200] {
        assert!(screen(&mut view, width, 60).contains("pcpu_chunk"));
    }
    document["machine"]["line_bytes"] = json!(0);
    document["findings"] = json!([]);
    let mut view = view_of(&document, ViewPalette::Plain);
    press(&mut view, "<enter><down>aq");
    assert!(screen(&mut view, 80, 24).contains("No line of a known object"));
}

fn keys() -> impl Strategy<Value = Vec<ViewKey>> {
    let named = prop::sample::select(NAMED_KEYS.map(|(_, key)| key).to_vec());
    let letters = prop::sample::select("jkq?/sfwinpa x".chars().collect::<Vec<_>>());
    let key = prop_oneof![
        3 => named,
        3 => letters.prop_map(ViewKey::Character),
        1 => any::<char>().prop_map(ViewKey::Character),
    ];
    prop::collection::vec(key, 0..40)
}

proptest! {
    #[test]
    fn no_keys_and_no_window_are_too_much(
        steps in prop::collection::vec((keys(), 0u16..220, 0u16..70), 1..6),
        count in 0usize..40,
    ) {
        let mut view = view_of(&hostile_document(count), ViewPalette::Attributes);
        view.show_source();
        for (keys, width, height) in steps {
            for key in keys {
                view.update(key);
            }
            for name in view.missing_sources() {
                view.add_source(name, None);
            }
            check_harmless(&mut view, width, height);
        }
    }

    /// A window in a larger buffer changes nothing outside.
    #[test]
    fn a_window_is_kept(x in 0u16..60, y in 0u16..20, width in 0u16..200, height in 0u16..60) {
        let mut view = small_view();
        view.update(ViewKey::Enter);
        let mut buffer = Buffer::empty(Rect::new(0, 0, 160, 50));
        let area = Rect::new(x, y, width, height);
        view.render(area, &mut buffer);
        for row in 0..50 {
            for column in 0..160 {
                let is_inside = area.contains((column, row).into());
                prop_assert!(is_inside || buffer[(column, row)].symbol() == " ");
            }
        }
    }
}
