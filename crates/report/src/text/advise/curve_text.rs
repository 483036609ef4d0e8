//! What a layout brings in simulated time, as text.

use std::fmt::Write as _;

use crate::documents::advise::simulated_curve::{
    SimulatedCurveDocument, SimulatedPointDocument, SimulatedWindowDocument,
};
use crate::words::counted;
use crate::words::wrap::wrap_text;

/// Heads of the columns. The second row of a point has what CPUs stand still for then.
const HEADS: [&str; 2] = [
    "                                       million/s",
    "   CPUs  ratio  interval      verdict     today     then  CPUs stand still for",
];
/// Longest name of what CPUs stand still for.
const NAME_MAX: usize = 30;
/// Share of the transfers on objects that stay, in percent, from which on it is told.
const UNMAPPED_MIN: f64 = 1.0;

/// Appends what a layout brings: the ratio first, then rates and what CPUs stand still for.
pub(super) fn push_curve(text: &mut String, curve: &SimulatedCurveDocument) {
    let window_ns = { curve.curve.first() }.map_or(0, |point| point.today.window_ns);
    let heading = format!(
        "Operations a second with {}, over today's; {}; windows of {:.2} ms. Nothing of it is measured.",
        curve.layout,
        curve.machine_words,
        window_ns as f64 / 1e6,
    );
    let _ = writeln!(text, "{}", wrap_text(&heading, 0));
    for head in HEADS {
        let _ = writeln!(text, "{head}");
    }
    for point in &curve.curve {
        push_point(text, point);
    }
    for sentence in sentences(curve) {
        let _ = writeln!(text, "{}", wrap_text(&sentence, 2));
    }
    text.push('\n');
}

fn push_point(text: &mut String, point: &SimulatedPointDocument) {
    let ratio = point
        .ratio
        .map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
    let interval = match (point.low, point.high) {
        (Some(low), Some(high)) => format!("{low:.2} to {high:.2}"),
        _ => "-".to_owned(),
    };
    let rate = |window: &SimulatedWindowDocument| match window.operations_per_second {
        Some(rate) => format!("{:.3}", rate / 1e6),
        None => "-".to_owned(),
    };
    let _ = writeln!(
        text,
        "  {:5}  {ratio:>5}  {interval:<12}  {:<7}  {:>8} {:>8}  {}",
        point.cpus,
        point.verdict,
        rate(&point.today),
        rate(&point.then),
        waited(&point.today),
    );
    let _ = writeln!(text, "{:58}then {}", "", waited(&point.then));
}

/// Returns what CPUs stand still for longest: `dentry.d_lockref 31.8%`, or `pauses 71.0%` if they spin for longer.
fn waited(window: &SimulatedWindowDocument) -> String {
    let pauses = window.time.pause_percent;
    match &window.most_waited {
        waited if waited.as_ref().map_or(0.0, |waited| waited.percent) < pauses => {
            format!("pauses {pauses:.1}%")
        }
        Some(waited) => {
            let name: String = waited.name.chars().take(NAME_MAX).collect();
            format!("{name} {:.1}%", waited.percent)
        }
        None => "nothing".to_owned(),
    }
}

fn sentences(curve: &SimulatedCurveDocument) -> Vec<String> {
    let draws = { curve.curve.iter() }.map(|point| point.draws).max();
    let draws = draws.unwrap_or(0);
    let mut sentences = vec![match draws {
        0 => {
            "Without draws of the machine's rules, no ratio has an interval (--draws N).".to_owned()
        }
        _ => format!(
            "The interval holds the ratio with the expected rules, and {} of those that nobody measured (of 20 and more, a tenth is left out).",
            counted(draws as u64, "draw")
        ),
    }];
    if curve.curve.iter().any(|point| point.too_short) {
        sentences.push(
            "CPUs spin or sleep for locks: such windows tell a rate from 20 ms on (--simulate=20ms).".to_owned(),
        );
    } else if curve.curve.iter().any(|point| point.verdict == "unclear") && draws > 0 {
        sentences.push(
            "Unclear: the draws disagree. `relayout verify kernel` builds and compares both."
                .to_owned(),
        );
    }
    let breaks =
        |point: &SimulatedPointDocument| point.today.order_breaks + point.then.order_breaks;
    let disturbed = { curve.curve.iter() }.filter(|point| breaks(point) > 0);
    sentences.extend(disturbed.map(|point| {
        format!(
            "With {} CPUs, the host broke the order of accesses {}: the next run may differ.",
            point.cpus,
            counted(breaks(point), "time"),
        )
    }));
    let unmapped = { curve.curve.iter() }.filter(|point| point.unmapped_percent >= UNMAPPED_MIN);
    sentences.extend(unmapped.map(|point| {
        format!(
            "With {} CPUs, objects with {:.0}% of the type's transfers stay as they are: the guest does not find them.",
            point.cpus, point.unmapped_percent
        )
    }));
    sentences
}
