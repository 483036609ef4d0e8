//! Text of the rates of a guest in simulated time.

use std::fmt::Write as _;

use relayout_profile::OrderCounts;

use crate::documents::rates::{
    LineObject, LineShare, LockShare, RatesDocument, RuleValue, SiteShare,
};
use crate::documents::report::site::PositionDocument;
use crate::words::counted;
use crate::words::simulated_time::time_shares_words;
use crate::words::source_positions::SourcePositions;

/// Lines and instructions that are shown.
const SHOWN_MAX: usize = 8;
/// Members and functions that are named behind each other.
const NAMES_MAX: usize = 3;
/// Least share in percent that is shown.
const SHOWN_PERCENT: f64 = 0.1;

/// Renders what the guest did, what its CPUs waited for, and where.
pub fn render_rates(document: &RatesDocument) -> String {
    let mut text = head(document);
    let shares = time_shares_words(&document.time);
    let _ = writeln!(text, "time of the CPUs: {shares}");
    let files = { document.sites.iter() }.filter_map(|site| site.position.file.as_deref());
    let sources = SourcePositions::from_files(files);
    text.push_str(&locks_table(&document.locks));
    text.push_str(&lines_table(&document.lines));
    text.push_str(&sites_table(&document.sites, &sources));
    text.push_str(&order_text(document));
    text
}

fn head(document: &RatesDocument) -> String {
    let RatesDocument {
        workload,
        cpus,
        release,
        machine,
        processor,
        placement,
        rules,
        moves,
        seed,
        ..
    } = document;
    let rules: Vec<String> = rules.iter().map(RuleValue::text).collect();
    let rules = match rules.is_empty() {
        true => String::new(),
        false => format!("\nrules: {}", rules.join(", ")),
    };
    let milliseconds = document.window_ns as f64 / 1e6;
    let rate = match document.operations_per_second {
        Some(rate) => format!("{rate:.0} operations a second"),
        None => "an empty window".to_owned(),
    };
    let problem = match &document.problem {
        Some(problem) => format!("ended early: {problem}\n"),
        None => String::new(),
    };
    let moves = match moves.as_slice() {
        [] => String::new(),
        moves => format!("as if moved: {}\n", moves.join(", ")),
    };
    format!(
        "{workload} on {cpus} CPUs of Linux {release}: {rate}, simulated\n\
         {} in {milliseconds:.2} ms, seed {seed}\n\
         line latencies of {processor} ({machine}, {placement}); no core, no caches' size{rules}\n{moves}{problem}\n",
        counted(document.operations, "operation"),
    )
}

fn locks_table(locks: &[LockShare]) -> String {
    let mut shown = { locks.iter() }
        .filter(|lock| lock.wait_percent >= SHOWN_PERCENT)
        .take(SHOWN_MAX)
        .peekable();
    if shown.peek().is_none() {
        return String::new();
    }
    let mut text = "\n   wait   accesses  transfers  lines  lock\n".to_owned();
    for lock in shown {
        let functions = distinct(lock.sites.iter().filter_map(PositionDocument::innermost));
        let _ = writeln!(
            text,
            " {:>5.1}%  {:>9}  {:>9}  {:>5}  {} ({}) in {functions}",
            lock.wait_percent, lock.requests, lock.misses, lock.lines, lock.name, lock.lock_type,
        );
    }
    text
}

fn lines_table(lines: &[LineShare]) -> String {
    let mut text = "\n   wait  queue ns  transfers  of other sockets  cache line\n".to_owned();
    let shown = { lines.iter() }.filter(|line| line.wait_percent >= SHOWN_PERCENT);
    for line in shown.take(SHOWN_MAX) {
        let name = { line.object.as_ref() }.map_or_else(|| line.address.clone(), LineObject::text);
        let members = match line.members.is_empty() {
            true => String::new(),
            false => format!(": {}", distinct(line.members.iter().map(String::as_str))),
        };
        let _ = writeln!(
            text,
            " {:>5.1}%  {:>8.0}  {:>9}  {:>16}  {name}{members}",
            line.wait_percent, line.queue_ns, line.transfers, line.far_transfers,
        );
    }
    text
}

fn sites_table(sites: &[SiteShare], sources: &SourcePositions) -> String {
    let mut text = "\n   wait   accesses  transfers  instruction\n".to_owned();
    let shown = { sites.iter() }.filter(|site| site.wait_percent >= SHOWN_PERCENT);
    for site in shown.take(SHOWN_MAX) {
        let position = match site.position.function {
            Some(_) => sources.function_and_position(&site.position),
            None => site.pc.clone(),
        };
        let members = match site.members.is_empty() {
            true => String::new(),
            false => format!(": {}", distinct(site.members.iter().map(String::as_str))),
        };
        let _ = writeln!(
            text,
            " {:>5.1}%  {:>9}  {:>9}  {position}{members}",
            site.wait_percent, site.requests, site.misses,
        );
    }
    text
}

/// Lists the first different names, and tells of more.
fn distinct<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut listed: Vec<&str> = Vec::new();
    for name in names {
        if !listed.contains(&name) {
            listed.push(name);
        }
    }
    let is_cut = listed.len() > NAMES_MAX;
    listed.truncate(NAMES_MAX);
    listed.join(", ") + if is_cut { ", ..." } else { "" }
}

impl RuleValue {
    /// `upgrade=0.5`
    fn text(&self) -> String {
        format!("{}={}", self.key, self.value)
    }
}

impl LineObject {
    /// `dentry +64`, `file +0 (slab filp)`; of a scalar variable or unknown memory the name alone.
    fn text(&self) -> String {
        let name = [&self.variable, &self.type_name, &self.memory];
        let name = name.into_iter().flatten().next();
        let offset = { self.offset }.map_or(String::new(), |offset| format!(" {offset:+}"));
        let cache = { self.cache.as_ref() }.filter(|cache| self.type_name.as_ref() != Some(*cache));
        let cache = cache.map_or(String::new(), |cache| format!(" (slab {cache})"));
        format!("{}{offset}{cache}", name.map_or("?", String::as_str))
    }
}

/// Tells whether the window can be repeated, and which accesses were out of order.
fn order_text(document: &RatesDocument) -> String {
    let order = OrderCounts::from(&document.order);
    let repeat = match order.order_breaks {
        0 => "the same seed gives the same numbers".to_owned(),
        breaks => format!("{} of the host came in between", counted(breaks, "event")),
    };
    format!(
        "\n{:.2}% of {} to contended lines were out of order; {repeat}\n",
        100.0 * order.out_of_order_share(),
        counted(order.accesses(), "access"),
    )
}
