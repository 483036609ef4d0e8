//! Text table in the format of the kernel's LKP robot (0day), with interval and verdict added.

use relayout_verify::judge::{ExperimentOutcome, JudgedMetric, SideSummary};
use relayout_verify::judged_change::{ChangeScale, ChangeVerdict};
use relayout_verify::plan::ExperimentSide;

use crate::words::magnitude::value;
use crate::words::percent::fraction_words;

/// Widths of a value, a change and a deviation, in characters.
const VALUE: usize = 10;
const CHANGE: usize = 10;
const DEVIATION: usize = 6;
/// Headings of LKP, 44 characters wide.
const HEADING: &str = "         %stddev     %change         %stddev";
const SLASHES: &str = "             \\          |                \\  ";
/// Heading of the metrics that do not affect the verdict.
const DETAILS: &str = "\nBy class and member, per operation; no part of the verdict\n\n";
const METRIC: &str = "metric";
const INTERVAL: &str = "95% interval";
/// Largest deviation in percent that is not shown, as in LKP.
const DEVIATION_SHOWN_PERCENT: f64 = 2.0;

/// Renders the metrics that decide the verdict and, if there are any, those that do not.
pub fn render_tables(outcome: &ExperimentOutcome, details: &ExperimentOutcome) -> String {
    let mut text = render_table(&outcome.metrics);
    if !details.metrics.is_empty() {
        text.push_str(DETAILS);
        text.push_str(&render_table(&details.metrics));
    }
    text
}

fn render_table(metrics: &[JudgedMetric]) -> String {
    let [before, after] = ExperimentSide::ALL.map(ExperimentSide::as_str);
    let width = |heading: &str, cell_width: fn(&JudgedMetric) -> usize| {
        metrics
            .iter()
            .map(cell_width)
            .fold(heading.len(), usize::max)
    };
    let name_width = width(METRIC, |metric| metric.description.name.chars().count());
    let interval_width = width(INTERVAL, |metric| interval(metric).len());
    let mut text = format!(
        "{before:<16} {after}\n\
         ---------------- ---------------------------\n\
         {HEADING}\n\
         {SLASHES}  {METRIC:name_width$}  {INTERVAL:interval_width$}  verdict\n",
    );
    for metric in metrics {
        let apart = metric.before.is_apart_from(&metric.after);
        text.push_str(&format!(
            "{} {} {}  {:name_width$}  {:interval_width$}  {}{}\n",
            side_cell(&metric.before),
            change_cell(metric),
            side_cell(&metric.after),
            metric.description.name,
            interval(metric),
            verdict(metric),
            if apart { "  ranges apart" } else { "" },
        ));
    }
    text
}

fn interval(metric: &JudgedMetric) -> String {
    metric
        .judged
        .interval
        .map_or("unknown".to_owned(), |[low, high]| {
            let [low, high] = [low, high].map(|end| metric.judged.scale.change_text(end));
            format!("[{low}, {high}]")
        })
}

fn verdict(metric: &JudgedMetric) -> String {
    match (metric.judged.verdict, metric.margin) {
        (ChangeVerdict::Same, Some(margin)) => {
            let is_points = metric.judged.scale == ChangeScale::Points;
            format!("same (within {})", fraction_words(margin, is_points))
        }
        (verdict, _) => verdict.as_str().to_owned(),
    }
}

/// Formats the median, and the deviation if it exceeds [`DEVIATION_SHOWN_PERCENT`].
fn side_cell(summary: &SideSummary) -> String {
    let deviation = summary
        .stddev_percent
        .filter(|&percent| percent > DEVIATION_SHOWN_PERCENT)
        .map_or(String::new(), |percent| format!(" ±{percent:>3.0}%"));
    format!("{:>VALUE$}{deviation:<DEVIATION$}", value(summary.median))
}

fn change_cell(metric: &JudgedMetric) -> String {
    let Some(change) = metric.judged.change else {
        return format!("{:>CHANGE$}", "-");
    };
    match metric.judged.scale {
        // LKP prints a space instead of the percent sign if the change is absolute.
        ChangeScale::Points => format!("{:>+9.1} ", 100.0 * change),
        _ => format!("{:>+9.1}%", 100.0 * change),
    }
}
