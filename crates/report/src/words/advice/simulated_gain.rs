//! Gain of a layout in simulated time, in a sentence.

use relayout_advice::{LayoutSimulated, SimulatedChange, SimulatedPoint};
use relayout_statistics::RatioVerdict;

use crate::words::counted;

/// Returns `1.29 times today's operations on 20 CPUs of sapphire-rapids-2s (1.01 to 1.63 over 8 draws of its rules): simulated,
/// not measured.`
pub(crate) fn simulated_gain_sentence(simulated: &LayoutSimulated) -> String {
    let change = match simulated {
        Ok(change) => change,
        Err(refused) => return format!("not known: {refused}."),
    };
    let point = change.points.iter().max_by_key(|point| point.cpus);
    let Some((point, ratio)) = point.and_then(|point| Some((point, point.ratio.expected?))) else {
        return "not known: no operation ended in the simulated window.".to_owned();
    };
    let words = ratio_words(change, point, ratio);
    match point.verdict() {
        RatioVerdict::Better | RatioVerdict::Worse => format!("{words}: simulated, not measured."),
        RatioVerdict::Same => format!("nothing: {words}: simulated, not measured."),
        RatioVerdict::Unclear => format!("unclear: {words}, simulated. {}", unclear_reason(point)),
    }
}

fn ratio_words(change: &SimulatedChange, point: &SimulatedPoint, ratio: f64) -> String {
    let interval = match point.ratio.interval() {
        Some((low, high)) => {
            let draws = counted(point.ratio.drawn.len() as u64, "draw");
            format!(" ({low:.2} to {high:.2} over {draws} of its rules)")
        }
        None => String::new(),
    };
    format!(
        "{ratio:.2} times today's operations on {} CPUs of {}{interval}",
        point.cpus, change.machine.key
    )
}

fn unclear_reason(point: &SimulatedPoint) -> &'static str {
    match (point.is_too_short(), point.ratio.drawn.is_empty()) {
        (true, _) => {
            "CPUs wait for locks, and the window is too short for them to settle (--simulate=20ms)."
        }
        (false, true) => {
            "No draw of the machine's rules says how sure that is (--draws, --budget)."
        }
        (false, false) => {
            "The draws of the machine's rules disagree: `relayout verify kernel` builds both and compares."
        }
    }
}
