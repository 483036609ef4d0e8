//! Extraction of a metric's numbers from the output of a program.

use std::collections::BTreeMap;

use relayout_messages::UserFacingError;
use serde_json::Value;

use crate::json_steps::values_at;
use crate::metric::{Metric, MetricSource, THREAD};

/// Lines of output that an error shows.
const LINES_SHOWN: usize = 8;
/// Largest number of threads of one metric.
const THREADS_MAX: usize = 1000;
/// Characters of a line that an error shows.
const LETTERS_SHOWN: usize = 120;

/// Output and times of one start of a program.
#[derive(Clone, Copy, Debug)]
pub struct StartOutput<'o> {
    /// Standard output.
    pub stdout: &'o str,
    /// Standard error.
    pub stderr: &'o str,
    /// Seconds of wall-clock time from start to end.
    pub wall_s: f64,
    /// CPU seconds of the program and its children.
    pub cpu_s: f64,
}

/// Numbers of one metric by thread. A metric without threads has one entry with an empty name.
///
/// The map and its lists are never empty.
pub type Values = BTreeMap<String, Vec<f64>>;

/// Reason why a metric has no numbers.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ExtractError {
    /// No output matches the metric.
    #[error(
        "metric '{name}' does not appear: {why}{}",
        describe_output(first_lines)
    )]
    Missing {
        /// Name of the metric.
        name: String,
        /// Pattern or pointer that was searched for.
        why: String,
        /// First lines of the output.
        first_lines: Vec<String>,
    },
    /// The matching text is not a finite number.
    #[error("metric '{name}': '{found}' is not a finite number, in '{place}'")]
    NotANumber {
        /// Name of the metric.
        name: String,
        /// Text that is not a number.
        found: String,
        /// Line of the output, or a name for the JSON document.
        place: String,
    },
    /// The metric has more threads than can be compared.
    #[error("metric '{name}' has {found} threads; {}", threads_allowed())]
    TooMany {
        /// Name of the metric.
        name: String,
        /// Number of threads.
        found: usize,
    },
}

fn threads_allowed() -> String {
    format!("{THREADS_MAX} at most are compared")
}

impl ExtractError {
    /// Returns the remedy, which stands behind the last semicolon of the message.
    pub fn remedy(&self) -> Option<String> {
        matches!(self, Self::TooMany { .. }).then(threads_allowed)
    }

    fn limit_threads(name: &str, values: Values) -> Result<Values, Self> {
        match values.len() {
            0..=THREADS_MAX => Ok(values),
            found => Err(Self::TooMany {
                name: name.to_owned(),
                found,
            }),
        }
    }
}

impl UserFacingError for ExtractError {
    fn user_remedy(&self) -> Option<String> {
        self.remedy()
    }
}

/// Returns the metric's numbers in `output`.
///
/// # Errors
/// The output has no number for the metric, a matching text is not a finite number, or the metric
/// has too many threads.
pub fn extract_values(metric: &Metric, output: &StartOutput<'_>) -> Result<Values, ExtractError> {
    let alone = |value: f64| Ok(Values::from([(String::new(), vec![value])]));
    match &metric.source {
        MetricSource::Wall => alone(output.wall_s),
        MetricSource::Cpu => alone(output.cpu_s),
        MetricSource::Regex { .. } => values_by_regex(metric, output),
        MetricSource::Json(pointer) => values_by_json(metric, pointer, output),
    }
}

fn values_by_regex(metric: &Metric, output: &StartOutput<'_>) -> Result<Values, ExtractError> {
    let MetricSource::Regex {
        pattern,
        value,
        by_thread,
    } = &metric.source
    else {
        return Ok(Values::new());
    };
    let mut values = Values::new();
    for line in output.stdout.lines().chain(output.stderr.lines()) {
        let Some(captures) = pattern.captures(line) else {
            continue;
        };
        let Some(found) = captures.get(*value) else {
            continue;
        };
        let number = finite_number(found.as_str()).ok_or_else(|| ExtractError::NotANumber {
            name: metric.description.name.clone(),
            found: shorten(found.as_str()),
            place: shorten(line),
        })?;
        let thread = captures.name(THREAD).filter(|_| *by_thread);
        let thread = thread.map_or(String::new(), |thread| thread.as_str().to_owned());
        values.entry(thread).or_default().push(number);
    }
    if values.is_empty() {
        return Err(missing_metric(
            metric,
            output,
            format!("no line matches {pattern}"),
        ));
    }
    ExtractError::limit_threads(&metric.description.name, values)
}

fn values_by_json(
    metric: &Metric,
    steps: &[String],
    output: &StartOutput<'_>,
) -> Result<Values, ExtractError> {
    let mut values = Values::new();
    let mut add_all = |found: Vec<(String, Value)>| -> Result<(), ExtractError> {
        { found.iter() }
            .try_for_each(|(label, value)| add_values(metric, label, value, &mut values))
    };
    let mut documents = 0;
    if let Some(found) = values_at(output.stdout, steps) {
        documents = 1;
        add_all(found)?;
    } else {
        let lines = output.stdout.lines().map(str::trim);
        for line in lines.filter(|line| line.starts_with(['{', '['])) {
            if let Some(found) = values_at(line, steps) {
                documents += 1;
                add_all(found)?;
            }
        }
    }
    if documents == 0 {
        return Err(missing_metric(
            metric,
            output,
            "the output is not JSON, nor is a line of it".into(),
        ));
    }
    if values.is_empty() {
        let pointer: String = steps.iter().map(|step| format!("/{step}")).collect();
        return Err(missing_metric(
            metric,
            output,
            format!("there is no '{pointer}' in the JSON output"),
        ));
    }
    ExtractError::limit_threads(&metric.description.name, values)
}

/// Adds a number, a list of numbers (readings of one start) or an object of numbers (one for each
/// thread) to `values`.
fn add_values(
    metric: &Metric,
    label: &str,
    value: &Value,
    values: &mut Values,
) -> Result<(), ExtractError> {
    let mut add = |label: &str, value: &Value| {
        let number = value
            .as_f64()
            .filter(|number| number.is_finite())
            .ok_or_else(|| ExtractError::NotANumber {
                name: metric.description.name.clone(),
                found: shorten(&value.to_string()),
                place: "the JSON output".to_owned(),
            })?;
        values.entry(label.to_owned()).or_default().push(number);
        Ok(())
    };
    match value {
        Value::Array(readings) => readings.iter().try_for_each(|value| add(label, value)),
        Value::Object(threads) => threads.iter().try_for_each(|(key, value)| match label {
            "" => add(key, value),
            label => add(&format!("{label}.{key}"), value),
        }),
        value => add(label, value),
    }
}

fn finite_number(text: &str) -> Option<f64> {
    text.trim()
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite())
}

fn missing_metric(metric: &Metric, output: &StartOutput<'_>, why: String) -> ExtractError {
    let lines = output.stdout.lines().chain(output.stderr.lines());
    ExtractError::Missing {
        name: metric.description.name.clone(),
        why,
        first_lines: lines.take(LINES_SHOWN).map(shorten).collect(),
    }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(LETTERS_SHOWN) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}

fn describe_output(lines: &[String]) -> String {
    if lines.is_empty() {
        return "; the program wrote nothing".to_owned();
    }
    let lines: String = lines.iter().map(|line| format!("\n  {line}")).collect();
    format!("; what it wrote begins:{lines}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(metric: &str, stdout: &str, stderr: &str) -> Result<Values, ExtractError> {
        let output = StartOutput {
            stdout,
            stderr,
            wall_s: 1.5,
            cpu_s: 2.5,
        };
        extract_values(&Metric::parse(metric).unwrap(), &output)
    }

    #[track_caller]
    fn check(metric: &str, stdout: &str, expect: &[(&str, &[f64])]) {
        let expect = expect
            .iter()
            .map(|(label, values)| (label.to_string(), values.to_vec()));
        assert_eq!(
            found(metric, stdout, "").unwrap(),
            expect.collect(),
            "{metric}"
        );
    }

    #[test]
    fn times() {
        check("wall", "", &[("", &[1.5])]);
        check("cpu", "", &[("", &[2.5])]);
    }

    #[test]
    fn lines() {
        let text = "ops 10\nother\nops 12.5e1\n";
        check("a=regex:^ops (.+)$", text, &[("", &[10.0, 125.0])]);
        let text = "thread A: 7 ops/s\nthread B: 8 ops/s\nthread A: 9 ops/s";
        let metric = r"a=regex:thread (?<thread>\w+): (\d+)";
        check(metric, text, &[("A", &[7.0, 9.0]), ("B", &[8.0])]);
        // The group of the number may precede the group of the thread.
        check(r"a=regex:(\d+)@(?<thread>\w)", "5@x", &[("x", &[5.0])]);
        // Windows line ends.
        check(r"a=regex:^ops (\d+)\s*$", "ops 3\r\n", &[("", &[3.0])]);
        let values = found("a=regex:^e (.*)", "", "e 4").unwrap();
        assert_eq!(values[""], [4.0]);
    }

    #[test]
    fn documents() {
        let text = r#"{"ops": 5, "list": [1, 2], "by": {"A": 3, "B": 4}, "a/b": 6,
                       "threads": [{"ops": 7}, {"ops": [8, 9]}]}"#;
        check("a=json:/ops", text, &[("", &[5.0])]);
        check("a=json:/list", text, &[("", &[1.0, 2.0])]);
        check("a=json:/list/1", text, &[("", &[2.0])]);
        check("a=json:/by", text, &[("A", &[3.0]), ("B", &[4.0])]);
        check("a=json:/a~1b", text, &[("", &[6.0])]);
        check(
            "a=json:/threads/*/ops",
            text,
            &[("0", &[7.0]), ("1", &[8.0, 9.0])],
        );
        check("a=json:", "12.5\n", &[("", &[12.5])]);
        let lines = "starting\n{\"ops\": 1}\n{\"ops\": 2}\ndone";
        check("a=json:/ops", lines, &[("", &[1.0, 2.0])]);
    }

    #[track_caller]
    fn refuses(metric: &str, stdout: &str, expect: &str) {
        assert_eq!(found(metric, stdout, "").unwrap_err().to_string(), expect);
    }

    #[test]
    fn refused() {
        refuses(
            "a=regex:ops (.*)",
            "",
            "metric 'a' does not appear: no line matches ops (.*); the program wrote nothing",
        );
        refuses(
            "a=regex:ops (.*)",
            "one\ntwo",
            "metric 'a' does not appear: no line matches ops (.*); what it wrote begins:\n  one\n  two",
        );
        refuses(
            "a=regex:ops (.*)",
            "ops many",
            "metric 'a': 'many' is not a finite number, in 'ops many'",
        );
        refuses(
            "a=regex:ops (.*)",
            "ops inf",
            "metric 'a': 'inf' is not a finite number, in 'ops inf'",
        );
        refuses(
            "a=json:/ops",
            "ops 5",
            "metric 'a' does not appear: the output is not JSON, nor is a line of it; what it wrote \
             begins:\n  ops 5",
        );
        refuses(
            "a=json:/ops/x",
            "{\"ops\": 5}",
            "metric 'a' does not appear: there is no '/ops/x' in the JSON output; what it wrote \
             begins:\n  {\"ops\": 5}",
        );
        refuses(
            "a=json:/ops",
            "{\"ops\": \"5\"}",
            "metric 'a': '\"5\"' is not a finite number, in 'the JSON output'",
        );
    }
}
