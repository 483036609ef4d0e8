//! One finding: its members, and who lost the line to whom.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use relayout_contend::finding::{LinePlace, Member, Pair, Side};
use relayout_contend::{Finding, Kind, Source};
use relayout_profile::Access;

use super::Who;
use super::adjacent;
use super::sources::Sources;
use super::{counted, line_name, more, percent_of};
use crate::{Placed, remedy};

/// Names in a list, at most.
const NAMES: usize = 4;
/// Places of lines in a list, at most.
const PLACES: usize = 4;
/// Pairs shown, at most ...
const PAIRS: usize = 6;
/// ... and members.
const MEMBERS: usize = 16;
/// Pairs with less than this fraction of the finding's transfers are left out after the first.
const PAIR_SHARE_MIN: f64 = 0.01;

pub(super) fn write(
    out: &mut String,
    finding: &Finding,
    sources: &Sources,
    who: Who,
    placed: Option<&Placed>,
) -> fmt::Result {
    let path = finding.types_path.join(" > ");
    let path = if finding.types_path.len() > 1 {
        format!(", in {path}")
    } else {
        String::new()
    };
    writeln!(
        out,
        "\n#{} {}: {}{path}",
        finding.rank,
        line_name(finding),
        finding.kind.as_str()
    )?;
    for note in notes(finding, who, sources)
        .into_iter()
        .chain(placed.map(in_production))
    {
        writeln!(out, "   {note}")?;
    }
    if let Some(adjacent) = &finding.adjacent {
        return adjacent::write(out, finding, adjacent, who, sources);
    }
    write_members(out, finding, who)?;
    write_pairs(out, finding, sources)
}

/// What the figures of this finding mean, where they need saying.
fn notes(finding: &Finding, who: Who, sources: &Sources) -> Vec<String> {
    let transfers = finding.tally.transfers();
    let share = |part| percent_of(part, transfers);
    let mut notes = Vec::new();
    if finding.estimated {
        notes.push("Estimated from rates of sampled accesses, not counted.".to_owned());
    }
    if let Some(told) = finding.hitm {
        notes.push(format!(
            "Hardware told of {told} transfers (HITM) of these lines."
        ));
    }
    let (touch, life) = (
        finding.tally.false_first_touch,
        finding.tally.false_lifetime,
    );
    if touch > transfers / 2 && life <= transfers / 2 {
        notes.push(format!(
            "False for {} of first touches, but only {} of lifetimes: the {} that misses goes on to use what the other",
            share(touch),
            share(life),
            who.one()
        ));
        notes.push(
            "wrote, so moving the member moves most of the misses rather than saving them."
                .to_owned(),
        );
    }
    notes.extend(places(finding));
    match finding.kind {
        Kind::LockWord => {
            notes.push(
                "Those who try to take the lock pull the line from under its holder.".to_owned(),
            );
        }
        Kind::Straddle => notes.push("Lies on two lines and moves both.".to_owned()),
        _ => {}
    }
    if finding.is_unstable() {
        let kinds = finding.kinds_by_run.iter();
        let kinds: Vec<String> = kinds
            .map(|(kind, runs)| format!("{} in {runs}", kind.as_str()))
            .collect();
        notes.push(format!(
            "Unstable: not the same thing in all recordings ({}), so no advice.",
            kinds.join(", ")
        ));
    }
    let position = |source: &Source| {
        let function = source.function.as_deref().unwrap_or("?");
        format!("{function} {}", sources.position(source))
    };
    for remedy in &finding.remedies {
        notes.extend(wrapped(&remedy::words(remedy, who.one(), position)));
    }
    if !finding.neighbours.is_empty() {
        let most = most(&finding.neighbours);
        notes.push(format!(
            "Transfers against other objects on the line: {most}"
        ));
    }
    if !finding.origins.is_empty() {
        notes.push(format!("Allocated: {}", most(&finding.origins)));
    }
    notes
}

/// Where its lines begin, if that is at several places.
fn places(finding: &Finding) -> Option<String> {
    let all = finding.tally.transfers();
    let one = |place: &LinePlace| {
        let part = percent_of(place.transfers, all);
        format!(
            "{:+} ({part}, {})",
            place.line_offset,
            counted(place.objects, "object")
        )
    };
    let (count, first) = (finding.places.len(), finding.places.iter().take(PLACES));
    let list: Vec<String> = first.map(one).collect();
    let left = match count.saturating_sub(PLACES) {
        0 => String::new(),
        left => format!(", {left} more"),
    };
    (count > 1).then(|| {
        let why = match finding.phase() {
            None => "Objects begin at several places in a line",
            Some(_) => "It lies on several lines",
        };
        format!("{why}; lines begin at {}{left}.", list.join(", "))
    })
}

/// Widest line of a note.
const WIDTH: usize = 115;

/// `text` in lines.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.len() + 1 + word.len() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The names with the most transfers.
fn most(all: &BTreeMap<String, u64>) -> String {
    let mut most: Vec<_> = all.iter().collect();
    most.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let names: Vec<String> = { most.iter().take(NAMES) }
        .map(|(name, count)| format!("{name} ({count})"))
        .collect();
    names.join(", ")
}

/// How the line's variables lie in the build that is used.
fn in_production(placed: &Placed) -> String {
    let list = |names: &[String], words: &str| {
        (!names.is_empty()).then(|| format!("{words} {}", names.join(", ")))
    };
    let parts = [
        list(&placed.same_line, "on this line too:"),
        list(&placed.other_line, "on another line:"),
        list(&placed.unknown, "not a variable there:"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("In the production build {}", parts.join("; "))
}

fn write_members(out: &mut String, finding: &Finding, who: Who) -> fmt::Result {
    writeln!(
        out,
        "   Offset  Size  {:<36} {:>10} {:>10} {:>7}  {:>4} {:>7} {:>10}",
        "Member",
        "Reads",
        "Writes",
        "Silent",
        who.column(),
        "Writers",
        "Transfers"
    )?;
    let mut shown: Vec<&Member> = finding.members.iter().collect();
    shown.sort_by_key(|m| std::cmp::Reverse((m.transfers, m.reads + m.writes)));
    let left = shown.len().saturating_sub(MEMBERS);
    shown.truncate(MEMBERS);
    shown.sort_by_key(|m| (m.offset, m.size));
    for member in shown {
        let silent = match (member.silent_writes, member.writes) {
            _ if !member.is_counted() => "?".to_owned(),
            (_, 0) => "-".to_owned(),
            (None, _) => "?".to_owned(),
            (Some(silent), writes) => percent_of(silent, writes),
        };
        let known = |count: u64| match member.is_counted() {
            true => count.to_string(),
            false => "?".to_owned(),
        };
        let name = if member.name.is_empty() {
            "(hole)"
        } else {
            &member.name
        };
        writeln!(
            out,
            "   {:>6} {:>5}  {:<36} {:>10} {:>10} {:>7}  {:>4} {:>7} {:>10}",
            member.offset,
            member.size,
            name,
            known(member.reads),
            known(member.writes),
            silent,
            member.contexts,
            known(member.writers.into()),
            member.transfers,
        )?;
    }
    if left > 0 {
        writeln!(out, "   {}", more(left as u64, "member"))?;
    }
    Ok(())
}

fn write_pairs(out: &mut String, finding: &Finding, sources: &Sources) -> fmt::Result {
    writeln!(
        out,
        "   {:>9}  Touch  Life  {:>8}  {:<52} lost to",
        "Transfers", "Upgrades", "Missed"
    )?;
    let least = finding.tally.transfers() as f64 * PAIR_SHARE_MIN;
    let shown = finding
        .pairs
        .iter()
        .take(PAIRS)
        .take_while(|pair| pair.tally.transfers() as f64 >= least)
        .count()
        .max(1);
    for Pair { here, there, tally } in finding.pairs.iter().take(shown) {
        let transfers = tally.transfers();
        writeln!(
            out,
            "   {:>9}  {:>5} {:>5}  {:>8}  {:<52} {}",
            transfers,
            percent_of(tally.false_first_touch, transfers),
            percent_of(tally.false_lifetime, transfers),
            tally.upgrades,
            access(here),
            access(there),
        )?;
        writeln!(
            out,
            "{:38}{:<52} {}",
            "",
            place(here, sources),
            place(there, sources)
        )?;
    }
    if finding.pairs.len() > shown {
        let rest = &finding.pairs[shown..];
        let transfers: u64 = rest.iter().map(|pair| pair.tally.transfers()).sum();
        writeln!(
            out,
            "   {transfers:>9}  in {}",
            more(rest.len() as u64, "pair")
        )?;
    }
    Ok(())
}

/// `R base_addr`
pub(super) fn access(side: &Side) -> String {
    let letter = match side.access {
        Access::Read => "R ",
        Access::Write => "W ",
        Access::ReadWrite => "RW",
    };
    let member = if side.member.is_empty() {
        "(hole)"
    } else {
        &side.member
    };
    format!("{letter} {member}")
}

/// `osq_lock kernel/locking/osq_lock.c:128 (vcpu_is_preempted)`; an inlined function in brackets.
pub(super) fn place(side: &Side, sources: &Sources) -> String {
    let function = side.source.function.as_deref().unwrap_or("?");
    let position = sources.position(&side.source);
    match &side.source.inlined {
        Some(inlined) => format!("{function} {position} ({inlined})"),
        None => format!("{function} {position}"),
    }
}
