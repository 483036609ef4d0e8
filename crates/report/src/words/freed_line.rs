//! Operations of a workload with the line of a finding free.

use crate::documents::advise::simulated_curve::SimulatedPointDocument;

/// Share of the time that CPUs spin or sleep, in percent, from which on it is told.
const PAUSES_MIN: f64 = 1.0;

/// Returns `If its line cost nothing, 20 CPUs would do at most 1.62 times the operations, simulated. Then they stand still
/// longest for dentry.d_seq (3.1%).`
pub(crate) fn freed_line_words(point: &SimulatedPointDocument) -> String {
    let Some(ratio) = point.ratio else {
        return "If its line cost nothing: not known, no operation ended in the simulated window."
            .to_owned();
    };
    let mut words = format!(
        "If its line cost nothing, {} CPUs would do at most {ratio:.2} times the operations, simulated.",
        point.cpus
    );
    if let Some(waited) = &point.then.most_waited {
        words.push_str(&format!(
            " Then they stand still longest for {} ({:.1}%).",
            waited.name, waited.percent
        ));
    }
    let spun = point.then.time.pause_percent;
    if spun >= PAUSES_MIN {
        words.push_str(&format!(
            " They still pause for {spun:.1}% of the time, while others hold a lock."
        ));
    }
    if point.too_short {
        words.push_str(" CPUs wait for locks, and the window is too short for them to settle.");
    }
    words
}
