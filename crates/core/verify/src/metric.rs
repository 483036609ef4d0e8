//! Metrics to measure, and the parser of `--metric`.

use regex::Regex;
use relayout_messages::UserFacingError;
use serde::{Deserialize, Serialize};

use crate::judged_change::ChangeBasis;

/// Forms of `--metric`, for help texts and errors.
pub const FORMS: &str = "\
wall                            seconds from start to end (lower is better); the default
cpu                             CPU seconds of the program and what it starts (lower is better)
NAME=regex:PATTERN              the number that the pattern's first group matches, of each line of
                                output or error output that it matches
NAME=json:/POINTER              the number there (RFC 6901, * for all elements) in the output, or in
                                each line of it that is JSON

NAME can be followed by ',lower' or ',higher' (is better; default: higher), and by ',unit=TEXT'.
Several numbers of one start are readings; their median counts. A pattern's group named 'thread'
makes one metric of each thread, as do the keys of an object and a * in a pointer:
  --metric 'rate,unit=1/s=regex:^thread (?<thread>\\w+): ([0-9.]+)'
  --metric 'p99,lower,unit=us=json:/latency/p99'";

/// Metric with the source of its numbers.
#[derive(Clone, Debug)]
pub struct Metric {
    /// Name, direction and unit.
    pub description: MetricDescription,
    /// Source of the numbers.
    pub source: MetricSource,
}

/// Name, direction and unit of a metric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricDescription {
    /// Name that the user gave.
    pub name: String,
    /// Direction of an improvement.
    pub better: BetterDirection,
    /// Unit that is shown. Changes of a metric in `%` are in percentage points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// True if the metric only explains a change and does not affect the verdict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_detail: bool,
    /// Way in which its numbers came about, where that is not the experiment's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<ChangeBasis>,
}

/// Direction of an improvement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BetterDirection {
    /// Higher is better, as for a throughput.
    Higher,
    /// Lower is better, as for a time.
    Lower,
}

/// Source of a metric's numbers.
#[derive(Clone, Debug)]
pub enum MetricSource {
    /// Seconds of wall-clock time from start to end.
    Wall,
    /// CPU seconds of the program and its children.
    Cpu,
    /// Group of a pattern in each matching line of the output.
    Regex {
        /// Pattern that a line must match.
        pattern: Regex,
        /// Index of the group that matches the number.
        value: usize,
        /// True if the pattern has a group named [`THREAD`].
        by_thread: bool,
    },
    /// Steps of a JSON pointer into the output.
    Json(Vec<String>),
}

/// Name of the group that matches the name of a thread.
pub const THREAD: &str = "thread";
/// Largest size of a compiled pattern, in bytes.
const PATTERN_BYTES_MAX: usize = 4 << 20;

/// Reason why a text is not a metric.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum MetricError {
    /// The text has none of the forms.
    #[error("metric '{text}': {why}; {LIST_FORMS}")]
    Form {
        /// Text of `--metric`.
        text: String,
        /// Description of the mistake.
        why: String,
    },
    /// The pattern is not a valid regular expression, or has no group for the number.
    #[error("metric '{name}': the pattern is wrong: {why}")]
    Pattern {
        /// Name of the metric.
        name: String,
        /// Message of the parser, which points at the mistake.
        why: String,
    },
    /// Two metrics have the same name.
    #[error("there are two metrics named '{name}'")]
    Twice {
        /// Name of both metrics.
        name: String,
    },
}

/// Remedy, at the end of a message.
const LIST_FORMS: &str = "'relayout verify --metric list' shows the forms";

impl MetricError {
    /// Returns the remedy, which stands behind the last semicolon of the message.
    pub fn remedy(&self) -> Option<&'static str> {
        matches!(self, Self::Form { .. }).then_some(LIST_FORMS)
    }
}

impl UserFacingError for MetricError {
    fn user_remedy(&self) -> Option<String> {
        self.remedy().map(str::to_owned)
    }
}

impl Metric {
    /// Metric of the wall-clock time.
    pub fn wall() -> Self {
        Self::time_metric("wall", MetricSource::Wall)
    }

    fn time_metric(name: &str, source: MetricSource) -> Self {
        let about = MetricDescription {
            name: name.to_owned(),
            better: BetterDirection::Lower,
            unit: Some("s".to_owned()),
            is_detail: false,
            basis: None,
        };
        Self {
            description: about,
            source,
        }
    }

    /// Reads one of the [`FORMS`].
    ///
    /// # Errors
    /// The text has none of the forms, or its pattern is wrong.
    pub fn parse(text: &str) -> Result<Self, MetricError> {
        let wrong = |why: &str| MetricError::Form {
            text: text.to_owned(),
            why: why.to_owned(),
        };
        match text {
            "wall" => return Ok(Self::wall()),
            "cpu" => return Ok(Self::time_metric("cpu", MetricSource::Cpu)),
            _ => {}
        }
        let regex = text
            .split_once("=regex:")
            .map(|(head, rest)| (head, rest, true));
        let json = text
            .split_once("=json:")
            .map(|(head, rest)| (head, rest, false));
        // The earlier separator counts, since the other may be part of a pattern.
        let parts = [regex, json].into_iter().flatten();
        let Some((head, rest, is_regex)) = parts.min_by_key(|(head, ..)| head.len()) else {
            return Err(wrong(
                "it is none of wall, cpu, NAME=regex:PATTERN, NAME=json:/POINTER",
            ));
        };
        let about = MetricDescription::parse(head).map_err(|why| wrong(&why))?;
        let source = if is_regex {
            regex_source(rest, &about.name)?
        } else {
            MetricSource::Json(parse_pointer(rest).map_err(|why| wrong(&why))?)
        };
        Ok(Self {
            description: about,
            source,
        })
    }

    /// Reads all metrics of a command line. Without any, returns the wall-clock time.
    ///
    /// # Errors
    /// [`parse`](Self::parse) fails for one of them, or two metrics have the same name.
    pub fn parse_all(texts: &[String]) -> Result<Vec<Self>, MetricError> {
        let mut metrics: Vec<Self> = Vec::new();
        for text in texts {
            let metric = Self::parse(text)?;
            if metrics
                .iter()
                .any(|other| other.description.name == metric.description.name)
            {
                let name = metric.description.name;
                return Err(MetricError::Twice { name });
            }
            metrics.push(metric);
        }
        if metrics.is_empty() {
            metrics.push(Self::wall());
        }
        Ok(metrics)
    }
}

impl MetricDescription {
    fn parse(head: &str) -> Result<Self, String> {
        let mut parts = head.split(',');
        let name = parts.next().unwrap_or_default().trim();
        if name.is_empty() {
            return Err("it has no name".to_owned());
        }
        let mut about = Self {
            name: name.to_owned(),
            better: BetterDirection::Higher,
            unit: None,
            is_detail: false,
            basis: None,
        };
        for part in parts {
            match part.trim() {
                "higher" => about.better = BetterDirection::Higher,
                "lower" => about.better = BetterDirection::Lower,
                part => match part.strip_prefix("unit=") {
                    Some(unit) => about.unit = Some(unit.to_owned()),
                    None => {
                        return Err(format!("'{part}' is none of higher, lower and unit=TEXT"));
                    }
                },
            }
        }
        Ok(about)
    }
}

fn regex_source(text: &str, name: &str) -> Result<MetricSource, MetricError> {
    let wrong = |why: String| MetricError::Pattern {
        name: name.to_owned(),
        why,
    };
    let pattern = regex::RegexBuilder::new(text)
        .size_limit(PATTERN_BYTES_MAX)
        .build()
        .map_err(|error| wrong(error.to_string()))?;
    let names: Vec<Option<&str>> = pattern.capture_names().collect();
    let groups = names.iter().enumerate().skip(1);
    let value = groups.clone().find(|(_, name)| **name != Some(THREAD));
    let Some((value, _)) = value else {
        return Err(wrong(format!(
            "'{text}' has no group ( ) around the number"
        )));
    };
    let by_thread = names.contains(&Some(THREAD));
    Ok(MetricSource::Regex {
        pattern,
        value,
        by_thread,
    })
}

/// Splits a JSON pointer into its steps, and decodes `~1` and `~0`.
fn parse_pointer(text: &str) -> Result<Vec<String>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let Some(rest) = text.strip_prefix('/') else {
        return Err(format!("the pointer '{text}' does not begin with /"));
    };
    Ok(rest
        .split('/')
        .map(|step| step.replace("~1", "/").replace("~0", "~"))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, name: &str, better: BetterDirection, unit: Option<&str>) {
        let about = Metric::parse(text).unwrap().description;
        let expect = MetricDescription {
            name: name.to_owned(),
            better,
            unit: unit.map(str::to_owned),
            is_detail: false,
            basis: None,
        };
        assert_eq!(about, expect, "{text}");
    }

    #[test]
    fn forms() {
        check("wall", "wall", BetterDirection::Lower, Some("s"));
        check("cpu", "cpu", BetterDirection::Lower, Some("s"));
        check(
            "ops=regex:([0-9]+) ops",
            "ops",
            BetterDirection::Higher,
            None,
        );
        check("a.b=json:/x/0", "a.b", BetterDirection::Higher, None);
        check(
            "t,lower,unit=us=regex:(.*)",
            "t",
            BetterDirection::Lower,
            Some("us"),
        );
        check("x=regex:=json:([0-9])", "x", BetterDirection::Higher, None);
        check(
            "share,unit=%=json:",
            "share",
            BetterDirection::Higher,
            Some("%"),
        );
    }

    #[track_caller]
    fn refuses(text: &str, expect: &str) {
        let error = Metric::parse(text).unwrap_err().to_string();
        assert!(error.contains(expect), "{text}: {error}");
    }

    #[test]
    fn refused() {
        refuses("", "none of wall, cpu");
        refuses("ops", "none of wall, cpu");
        refuses("=regex:(x)", "no name");
        refuses("a,best=regex:(x)", "'best' is none of higher, lower");
        refuses("a=regex:x", "no group");
        refuses("a=regex:(?<thread>x)", "no group");
        refuses("a=json:x/y", "does not begin with /");
        refuses("a=regex:x{1000}{1000}{1000}(y)", "pattern is wrong");
        // The parser's message points at the mistake.
        refuses("a=regex:(x", "    ^\nerror: unclosed group");
    }

    #[test]
    fn names_are_unique() {
        let texts = ["wall".to_owned(), "wall".to_owned()];
        let error = Metric::parse_all(&texts).unwrap_err();
        assert_eq!(
            error,
            MetricError::Twice {
                name: "wall".into()
            }
        );
        assert_eq!(Metric::parse_all(&[]).unwrap()[0].description.name, "wall");
    }
}
