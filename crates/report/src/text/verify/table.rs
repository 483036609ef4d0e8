//! Text table in the format of the kernel's LKP robot (0day), with interval and verdict added.

use relayout_verify::judged_change::{ChangeBasis, ChangeScale, ChangeVerdict};
use relayout_verify::plan::ExperimentSide;

use crate::documents::verify::{MetricDocument, SideDocument, VerifyDocument};
use crate::words::magnitude::value;
use crate::words::percent::percent_words;

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
/// Largest deviation in percent that is not shown, as in LKP.
const DEVIATION_SHOWN_PERCENT: f64 = 2.0;

/// Renders what was measured or counted, and then what is no part of the verdict, if there is any.
pub(super) fn render_tables(document: &VerifyDocument) -> String {
    let mut text = render_metrics(document, false);
    if !document.details.is_empty() {
        text.push_str(DETAILS);
        text.push_str(&render_table(
            document.details.iter(),
            ChangeBasis::Counted.interval_name(),
        ));
    }
    text
}

/// Renders the rates in simulated time.
pub(super) fn render_rates(document: &VerifyDocument) -> String {
    render_metrics(document, true)
}

fn render_metrics(document: &VerifyDocument, are_simulated: bool) -> String {
    let is_shown =
        |metric: &&MetricDocument| (metric.basis == ChangeBasis::Simulated) == are_simulated;
    let basis = match are_simulated {
        true => ChangeBasis::Simulated,
        false => ChangeBasis::Counted,
    };
    render_table(
        document.metrics.iter().filter(is_shown),
        basis.interval_name(),
    )
}

fn render_table<'m>(
    metrics: impl Iterator<Item = &'m MetricDocument> + Clone,
    interval_heading: &str,
) -> String {
    let [before, after] = ExperimentSide::ALL.map(ExperimentSide::as_str);
    let width = |heading: &str, cell_width: fn(&MetricDocument) -> usize| {
        metrics
            .clone()
            .map(cell_width)
            .fold(heading.len(), usize::max)
    };
    let name_width = width(METRIC, |metric| metric.name.chars().count());
    let interval_width = width(interval_heading, |metric| interval(metric).len());
    let mut text = format!(
        "{before:<16} {after}\n\
         ---------------- ---------------------------\n\
         {HEADING}\n\
         {SLASHES}  {METRIC:name_width$}  {interval_heading:interval_width$}  verdict\n",
    );
    for metric in metrics {
        text.push_str(&format!(
            "{} {} {}  {:name_width$}  {:interval_width$}  {}{}\n",
            side_cell(&metric.before),
            change_cell(metric),
            side_cell(&metric.after),
            metric.name,
            interval(metric),
            verdict(metric),
            if metric.ranges_apart {
                "  ranges apart"
            } else {
                ""
            },
        ));
    }
    text
}

fn interval(metric: &MetricDocument) -> String {
    let ends = metric.interval_text();
    ends.map_or("unknown".to_owned(), |[low, high]| {
        format!("[{low}, {high}]")
    })
}

fn verdict(metric: &MetricDocument) -> String {
    match (metric.verdict, metric.margin_percent) {
        (ChangeVerdict::Same, Some(margin_percent)) => {
            let is_points = metric.change_is == ChangeScale::Points;
            format!("same (within {})", percent_words(margin_percent, is_points))
        }
        (verdict, _) => verdict.as_str().to_owned(),
    }
}

/// Formats the median, and the deviation if it exceeds [`DEVIATION_SHOWN_PERCENT`].
fn side_cell(side: &SideDocument) -> String {
    let deviation = side
        .stddev_percent
        .filter(|&percent| percent > DEVIATION_SHOWN_PERCENT)
        .map_or(String::new(), |percent| format!(" ±{percent:>3.0}%"));
    format!("{:>VALUE$}{deviation:<DEVIATION$}", value(side.median))
}

fn change_cell(metric: &MetricDocument) -> String {
    let Some(percent) = metric.change_percent else {
        return format!("{:>CHANGE$}", "-");
    };
    match metric.change_is {
        // LKP prints a space instead of the percent sign if the change is absolute.
        ChangeScale::Points => format!("{percent:>+9.1} "),
        _ => format!("{percent:>+9.1}%"),
    }
}
