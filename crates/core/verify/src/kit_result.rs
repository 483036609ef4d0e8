//! Text that the script of a kit writes. It comes from another machine, and may be anything.
//!
//! ```text
//! relayout-kit-result 1
//! kit {"format":"relayout/kit/1",...}
//! cpu AMD EPYC 9654
//! start before pair 0 0 17.25 18.75
//! times 0m0.000s 0m0.000s
//! times 0m1.500s 0m0.010s
//! out rate: 1200
//! end
//! perf before
//! event 123,,cycles,...
//! end
//! finished
//! ```

use crate::plan::ExperimentSide;
use crate::runs::PAIRS_MAX;

/// First words of a result.
const HEAD: &str = "relayout-kit-result ";
/// Seconds that a start cannot take.
const SECONDS_MAX: f64 = 1e12;
/// Version of the text.
const VERSION: &str = "1";

/// Line of a result that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}{}", remedy.map_or(String::new(), |remedy| format!("; {remedy}")))]
pub struct KitResultError {
    /// Line, from 1.
    pub line: usize,
    /// Defect.
    pub why: String,
    /// Remedy, if there is one.
    pub remedy: Option<&'static str>,
}

/// Result as text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KitResult<'t> {
    /// What the kit is about: JSON.
    pub kit: &'t str,
    /// Facts about the machine: name and value.
    pub facts: Vec<(&'t str, &'t str)>,
    /// Starts that have an end, in chronological order.
    pub starts: Vec<KitStart<'t>>,
    /// Lines of `perf stat -x,` by side.
    pub events: Vec<(ExperimentSide, &'t str)>,
    /// The script came to its end.
    pub is_finished: bool,
}

/// Start of one side.
#[derive(Clone, Debug, PartialEq)]
pub struct KitStart<'t> {
    /// Line in the file, from 1.
    pub line: usize,
    /// Side.
    pub side: ExperimentSide,
    /// True for a start that is discarded.
    pub is_warmup: bool,
    /// Index of the pair or the warm-up.
    pub number: usize,
    /// Exit code of the benchmark.
    pub exit_code: i32,
    /// Seconds from start to end.
    pub wall_s: f64,
    /// Lines of the shell's `times`.
    times: Vec<&'t str>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl KitStart<'_> {
    /// CPU seconds of the program: what `times` says of children, user and system. 0 where it says
    /// nothing.
    pub fn cpu_s(&self) -> f64 {
        let children = self.times.get(1).copied().unwrap_or_default();
        children
            .split_whitespace()
            .filter_map(minutes_and_seconds)
            .sum()
    }
}

/// Reads `1m2.500s` as seconds.
fn minutes_and_seconds(text: &str) -> Option<f64> {
    let (minutes, seconds) = text.strip_suffix('s')?.split_once('m')?;
    let (minutes, seconds): (f64, f64) = (minutes.parse().ok()?, seconds.parse().ok()?);
    Some(60.0 * minutes + seconds).filter(|total| (0.0..SECONDS_MAX).contains(total))
}

/// Part of a result that has lines of its own.
enum Section<'t> {
    Facts,
    Start(KitStart<'t>),
    Events(ExperimentSide),
}

impl<'t> KitResult<'t> {
    /// Reads a result. A start without its end, at the end of the text, is left out.
    ///
    /// # Errors
    /// The text is no result, is one of another version, or a line does not belong where it is.
    pub fn parse(text: &'t str) -> Result<Self, KitResultError> {
        let wrong = |line, why: String| KitResultError {
            line,
            why,
            remedy: None,
        };
        let mut lines = (1..).zip(text.lines());
        match lines.next().and_then(|(_, head)| head.strip_prefix(HEAD)) {
            Some(VERSION) => {}
            Some(version) => {
                let why = format!("its version is {version}, this relayout reads {VERSION}");
                return Err(KitResultError {
                    remedy: Some("use a newer one"),
                    ..wrong(1, why)
                });
            }
            None => {
                return Err(KitResultError {
                    remedy: Some("KIT/run writes one"),
                    ..wrong(1, "it is no result of a kit".to_owned())
                });
            }
        }
        let kit = lines.next().and_then(|(_, line)| line.strip_prefix("kit "));
        let mut result = Self {
            kit: kit.ok_or_else(|| wrong(2, "it does not say which kit it is of".to_owned()))?,
            ..Self::default()
        };
        let mut section = Section::Facts;
        for (number, line) in lines {
            let read = result.read_line(section, number, line);
            section = read.map_err(|why| wrong(number, why))?;
        }
        Ok(result)
    }

    /// Reads a line, and returns the section of the next.
    fn read_line(
        &mut self,
        section: Section<'t>,
        number: usize,
        line: &'t str,
    ) -> Result<Section<'t>, String> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match (section, word) {
            (Section::Facts, "start") => Ok(Section::Start(read_start(number, rest)?)),
            (Section::Facts, "perf") => Ok(Section::Events(read_side(rest)?)),
            (Section::Facts, "finished") => {
                self.is_finished = true;
                Ok(Section::Facts)
            }
            (Section::Facts, name) => {
                self.facts.push((name, rest));
                Ok(Section::Facts)
            }
            (Section::Start(start), "end") => {
                self.starts.push(start);
                Ok(Section::Facts)
            }
            (Section::Start(mut start), "times" | "out" | "err") => {
                match word {
                    "times" => start.times.push(rest),
                    "out" => push_line(&mut start.stdout, rest),
                    _ => push_line(&mut start.stderr, rest),
                }
                Ok(Section::Start(start))
            }
            (Section::Events(_), "end") => Ok(Section::Facts),
            (Section::Events(side), "event") => {
                self.events.push((side, rest));
                Ok(Section::Events(side))
            }
            (_, word) => Err(format!("'{word}' does not belong here")),
        }
    }
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// Reads `before pair 0 0 17.25 18.75`: side, kind, number, exit code, begin, end.
fn read_start<'t>(line: usize, text: &'t str) -> Result<KitStart<'t>, String> {
    let words: Vec<&str> = text.split(' ').collect();
    let [side, kind, number, exit_code, begun, ended] = words.as_slice() else {
        return Err("a start has a side, a kind, a number, an exit code and two times".to_owned());
    };
    let wrong = |what: &str, text: &str| format!("{what} is '{text}'");
    let seconds = |what: &str, text: &str| {
        let parsed: Option<f64> = text.parse().ok();
        parsed
            .filter(|seconds| seconds.is_finite())
            .ok_or_else(|| wrong(what, text))
    };
    let parsed: Option<usize> = number.parse().ok();
    let wall_s = (seconds("the end", ended)? - seconds("the begin", begun)?).max(0.0);
    Ok(KitStart {
        line,
        side: read_side(side)?,
        is_warmup: match *kind {
            "warmup" => true,
            "pair" => false,
            other => return Err(wrong("the kind", other)),
        },
        number: { parsed.filter(|&number| number < PAIRS_MAX) }
            .ok_or_else(|| wrong("the number", number))?,
        exit_code: exit_code
            .parse()
            .map_err(|_| wrong("the exit code", exit_code))?,
        wall_s: Some(wall_s)
            .filter(|seconds| *seconds < SECONDS_MAX)
            .ok_or_else(|| wrong("the end", ended))?,
        times: Vec::new(),
        stdout: String::new(),
        stderr: String::new(),
    })
}

fn read_side(text: &str) -> Result<ExperimentSide, String> {
    let mut sides = ExperimentSide::ALL.into_iter();
    sides
        .find(|side| side.as_str() == text)
        .ok_or_else(|| format!("the side is '{text}'"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const START: &str = "relayout-kit-result 1\nkit {}\n";

    #[test]
    fn starts_have_their_output() {
        let text = START.to_owned()
            + "cpu AMD EPYC\nstart before pair 3 0 1.5 4.25\ntimes 0m0.00s 0m0.00s\ntimes 1m0.50s 0m0.25s\nout a\nout\n\
               err b\nend\nfinished\n";
        let result = KitResult::parse(&text).unwrap();
        assert_eq!(
            (result.kit, &*result.facts),
            ("{}", &[("cpu", "AMD EPYC")][..])
        );
        let [start] = result.starts.as_slice() else {
            panic!("one start");
        };
        assert_eq!(
            (start.side, start.number, start.wall_s),
            (ExperimentSide::Before, 3, 2.75)
        );
        assert_eq!(
            (start.cpu_s(), &*start.stdout, &*start.stderr),
            (60.75, "a\n\n", "b\n")
        );
        assert!(result.is_finished);
    }

    #[test]
    fn a_result_that_was_cut_off_has_the_whole_starts() {
        let text =
            START.to_owned() + "start before pair 0 0 1 2\nend\nstart after pair 0 0 2 3\nout x";
        let result = KitResult::parse(&text).unwrap();
        assert_eq!((result.starts.len(), result.is_finished), (1, false));
    }

    #[track_caller]
    fn refused(text: &str, expect: &str) {
        let error = KitResult::parse(text).unwrap_err();
        assert!(error.to_string().starts_with(expect), "{error}");
    }

    #[test]
    fn other_files_are_refused() {
        let with = |line: &str| START.to_owned() + line;
        refused("", "line 1: it is no result of a kit");
        refused("relayout-kit-result 2\n", "line 1: its version is 2");
        refused(
            "relayout-kit-result 1\ncpu\n",
            "line 2: it does not say which kit",
        );
        refused(&with("start before pair 0 0 1\n"), "line 3: a start has");
        refused(
            &with("start between pair 0 0 1 2\n"),
            "line 3: the side is 'between'",
        );
        refused(
            &with("start before pair 9999 0 1 2\n"),
            "line 3: the number is '9999'",
        );
        refused(
            &with("start before pair 0 0 nan 2\n"),
            "line 3: the begin is 'nan'",
        );
        refused(
            &with("start before pair 0 0 1 2\nstart"),
            "line 4: 'start' does not belong here",
        );
    }

    proptest! {
        #[test]
        fn no_text_panics(
            lines in proptest::collection::vec(
                "(start|perf|end|out|times|finished|before|pair|[0-9.]{1,3}| )*",
                0..20,
            ),
        ) {
            let text = START.to_owned() + &lines.join("\n");
            let _ = KitResult::parse(&text);
        }
    }
}
