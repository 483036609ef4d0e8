//! The message of a patch: what a maintainer asks of one, from what was recorded and scored.

use std::fmt::Write as _;

use relayout_profile::{Coverage, Meta};
use relayout_search::{Advice, Scored};

use super::super::TypeAdvice;
use super::super::compiled::Compiled;
use super::super::others::{Other, Pool};
use super::super::patch::Written;
use super::check::{RACE, sentences};
use super::elsewhere::seen;
use super::{counted, lines, listing, words, wrapped_at};
use crate::input::Input;

/// Columns of a commit message.
const WIDTH: usize = 72;
/// Characters of a line in a message, at most, as `checkpatch.pl` asks.
const LINE_MAX: usize = 75;
/// Members that are named with their functions.
const USES_MAX: usize = 8;
/// Lines of a layout; of a larger struct only the accessed members are listed.
const LISTING_MAX: usize = 48;

/// Subject and message of a patch.
pub struct Message {
    /// One line.
    pub subject: String,
    /// The message.
    pub body: String,
}

/// What is to be said of the change that was written; `top` is how many candidates are shown. `None` if it
/// makes no candidate.
pub fn message(
    input: &Input<'_>,
    one: &TypeAdvice<'_>,
    written: &Written,
    top: usize,
) -> Option<Message> {
    let pool = written.pool(one)?;
    let (advice, scored) = (pool.advice, written.scored(one)?);
    let mut body = String::new();
    let mut paragraph = |text: &str| {
        if !text.is_empty() {
            let _ = writeln!(body, "{}\n", wrapped_at(WIDTH, text, 0));
        }
    };
    paragraph(&problem(input, one, advice));
    paragraph(&why(input, one, advice, scored));
    if let (Some(check), Ok(plain), true) = (&one.check, &one.outcome, written.checked) {
        paragraph(&sentences(check, plain));
        paragraph(RACE);
    }
    paragraph(written.reach.words().unwrap_or_default());
    body.push_str(&evidence(one));
    body.push_str(&effect(advice, scored));
    body.push_str(&layouts(input, one, advice, scored));
    let mut paragraph = |text: &str| {
        if !text.is_empty() {
            let _ = writeln!(body, "{}\n", wrapped_at(WIDTH, text, 0));
        }
    };
    paragraph(&memory(one, advice, scored));
    paragraph(&others(pool, written.candidate, top));
    paragraph(&compiled(written));
    paragraph(&how(input));
    Some(Message {
        subject: subject(one, &written.paths[0]),
        body,
    })
}

/// `mm/percpu-internal: fewer cache line transfers on struct pcpu_chunk`, as the kernel's begin.
fn subject(one: &TypeAdvice<'_>, path: &str) -> String {
    let area = path.strip_prefix("include/linux/").unwrap_or(path);
    let area = area.rsplit_once('.').map_or(area, |(stem, _)| stem);
    format!("{area}: fewer cache line transfers on struct {}", one.name)
}

fn problem(input: &Input<'_>, one: &TypeAdvice<'_>, advice: &Advice) -> String {
    let meta = &input.profile.meta;
    let today = &advice.current;
    let tally = &today.tally;
    let unit = match today.per_operation {
        Some(per) => format!(" ({:.3} per operation)", per.transfers()),
        None => String::new(),
    };
    let percent = |part: u64| 100.0 * part as f64 / tally.transfers().max(1) as f64;
    format!(
        "In what was recorded in order of {}{}, cache lines of struct {} move from one {} to another {} times{unit}. \
         {:.0}% of that is false sharing by first touch: the access that misses does not use what the other \
         wrote. By lifetime it is {:.0}%: nothing that the other wrote is used before the line is lost \
         again.",
        meta.workload,
        match meta.target.as_str() {
            "kernel" => format!(" on Linux {}", meta.release),
            _ => String::new(),
        },
        one.name,
        context(meta),
        tally.transfers(),
        percent(tally.false_first_touch),
        percent(tally.false_lifetime),
    )
}

fn context(meta: &Meta) -> &'static str {
    match meta.target.as_str() {
        "kernel" => "CPU",
        _ => "thread",
    }
}

/// What changes, and which members are on whose line then.
fn why(input: &Input<'_>, one: &TypeAdvice<'_>, advice: &Advice, scored: &Scored) -> String {
    let mut changes = super::words(one, scored);
    if let Some(first) = changes.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let moved = lines::sentences(one, advice, scored, input.line_bytes);
    match moved.is_empty() {
        true => format!("{changes}."),
        false => format!("{changes}: {}.", moved.join("; ")),
    }
}

fn evidence(one: &TypeAdvice<'_>) -> String {
    let uses = &one.evidence[..one.evidence.len().min(USES_MAX)];
    let width = uses.iter().map(|one| one.member.len()).max().unwrap_or(0);
    let mut text =
        "Recorded accesses (repeats that make no difference are left out):\n\n".to_owned();
    for one in uses {
        let kind = if one.store { "write" } else { "read" };
        let mut line = format!("  {:<width$} {kind:<5} {:>8} ", one.member, one.count);
        for (nth, (name, _)) in one.functions.iter().enumerate() {
            let separator = if nth == 0 { " " } else { ", " };
            if line.len() + separator.len() + name.len() <= WIDTH {
                line.push_str(separator);
                line.push_str(name);
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.push('\n');
    text
}

/// The figures of replay, and that they are no measurement.
fn effect(advice: &Advice, scored: &Scored) -> String {
    let (today, then) = (&advice.current, scored);
    let mut text = wrapped_at(
        WIDTH,
        "The recording replayed under both layouts; this is a count of events, not a measurement of \
         time:",
        0,
    );
    text.push_str("\n\n");
    let mut row = |what: &str, before: u64, after: u64| {
        let _ = writeln!(text, "  {what:<27} {}", words::change(before, after));
    };
    let (a, b) = (&today.tally, &then.tally);
    row("transfers", a.transfers(), b.transfers());
    row(
        "  false by first touch",
        a.false_first_touch,
        b.false_first_touch,
    );
    row("  false by lifetime", a.false_lifetime, b.false_lifetime);
    row("upgrades", a.upgrades, b.upgrades);
    row("sizeof", today.layout.size, then.layout.size);
    if let Some(interval) = scored.interval {
        let percent = words::percent(interval);
        let _ = writeln!(
            text,
            "\n{}",
            wrapped_at(WIDTH, &format!("All transfers change by {percent}."), 0)
        );
    }
    if let Some(interval) = advice.held_out {
        let of = format!(
            "Chosen on one half of the recording and counted on the other, the best layout changes them by \
             {}.",
            words::percent(interval)
        );
        let _ = writeln!(text, "{}", wrapped_at(WIDTH, &of, 0));
    }
    text.push('\n');
    text
}

fn layouts(input: &Input<'_>, one: &TypeAdvice<'_>, advice: &Advice, scored: &Scored) -> String {
    let mut text = String::new();
    for (title, scored) in [("Before", &advice.current), ("After", scored)] {
        let whole = listing(input, one, scored);
        let shown = match whole.lines().count() <= LISTING_MAX {
            true => whole,
            false => accessed(one, scored),
        };
        let _ = writeln!(text, "{title} (pahole):\n");
        for line in shown.lines() {
            let _ = writeln!(text, "{}", narrowed(line.trim_end()));
        }
        text.push('\n');
    }
    text
}

/// A line of pahole's, without the spaces that align it if it is too long with them.
fn narrowed(line: &str) -> String {
    if line.chars().count() <= LINE_MAX {
        return line.to_owned();
    }
    let (indent, code) = line.split_at(line.len() - line.trim_start().len());
    let words: Vec<&str> = code.split_whitespace().collect();
    format!("{indent}{}", words.join(" "))
}

/// The members that are accessed, with their places.
fn accessed(one: &TypeAdvice<'_>, scored: &Scored) -> String {
    let mut text = format!("struct {} {{ /* accessed members only */\n", one.name);
    for &atom in &scored.arrangement.order {
        let name = &one.shape.atoms[atom].name;
        let place = &scored.layout.places[atom];
        let used = one.evidence.iter().any(|used| {
            let rest = used.member.strip_prefix(name.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        });
        if used {
            let size = place.end - place.offset;
            let _ = writeln!(text, "\t{name:<40} /* {:>5} {size:>5} */", place.offset);
        }
    }
    let _ = writeln!(text, "\n\t/* size: {} */\n}};", scored.layout.size);
    text
}

/// What maintainers ask first.
fn memory(one: &TypeAdvice<'_>, advice: &Advice, scored: &Scored) -> String {
    let (today, then) = (&advice.current.memory, &scored.memory);
    let of = |memory: &relayout_search::Memory| match &memory.cache {
        Some(cache) => format!("{} bytes ({cache})", memory.bytes_per_object),
        None => format!("{} bytes", memory.bytes_per_object),
    };
    let bytes = then.bytes_per_object as i128 - today.bytes_per_object as i128;
    let mut text = format!(
        "Memory: an object takes {} now and {} then, {:+} bytes for the {} in the recording.",
        of(today),
        of(then),
        bytes * i128::from(one.objects),
        counted(one.objects, "object"),
    );
    if !one.memory.inside.is_empty() && advice.current.layout.size != scored.layout.size {
        let names: Vec<&str> = one
            .memory
            .inside
            .keys()
            .map(String::as_str)
            .take(3)
            .collect();
        let _ = write!(
            text,
            " It is also part of {}, where what is behind it moves; that was not judged.",
            names.join(", ")
        );
    }
    text
}

/// Other workloads and configurations that were scored.
fn others(pool: Pool<'_>, candidate: usize, top: usize) -> String {
    let mut shown = pool.advice.shown(top).into_iter();
    let place = shown.position(|index| index == candidate);
    let said = |other: &Other| {
        let what = format!("{} {}", other.kind.word(), other.name);
        let results = match &other.results {
            Ok(results) => results,
            Err(why) => return format!("{what}: not judged, {why}"),
        };
        let seen = seen(other, pool.checked);
        match place.and_then(|place| results.get(pool.given.len() + place + 1)) {
            Some(there) => match there.interval {
                Some(interval) => format!("{what}: transfers {}{seen}", words::percent(interval)),
                None => format!(
                    "{what}: {}{seen}",
                    counted(there.tally.transfers(), "transfer")
                ),
            },
            None => format!("{what}: not scored"),
        }
    };
    let all: Vec<String> = pool.others.iter().map(said).collect();
    match all.is_empty() {
        true => "Other workloads and configurations were not scored.".to_owned(),
        false => format!("By replay, {}.", all.join("; ")),
    }
}

/// Where it was compiled.
fn compiled(written: &Written) -> String {
    let words: Vec<String> = written.compiled.iter().map(Compiled::words).collect();
    match words.is_empty() {
        true => String::new(),
        false => format!("Compiled with the patch, as {}.", words.join("; as ")),
    }
}

/// What docs/kernel-walkthrough.md shows of `benches/reality.py`.
const REALITY: &str = " Of 33 other layouts of kernel structs that were built and recorded, the recorded change \
                       was 1.1 points from the replayed one at the median, and 13.5 at most.";

/// How it was obtained, and what that does not tell.
fn how(input: &Input<'_>) -> String {
    let meta = &input.profile.meta;
    let setting = |name: &str| {
        let found = meta.settings.iter().find(|one| one.name == name);
        found.map_or("", |one| one.value.as_str())
    };
    let settings: Vec<String> = ["yield", "cpus", "mode", "slices"]
        .iter()
        .filter(|name| !setting(name).is_empty())
        .map(|name| format!("{name}={}", setting(name)))
        .collect();
    let coverage = match meta.coverage {
        Coverage::Samples => "samples of hardware counters",
        _ => "no hardware counters",
    };
    let distance = match meta.target.as_str() {
        "kernel" => REALITY,
        _ => "",
    };
    format!(
        "Recorded with relayout {} ({}, {coverage}; {}, {}; {}). Order and timing are the recording's, \
         caches are taken as infinite, without prefetch. It tells nothing of throughput.{distance}",
        meta.tool_version,
        meta.collector,
        counted(u64::from(meta.contexts), context(meta)),
        counted(meta.runs.len() as u64, "run"),
        settings.join(", "),
    )
}
