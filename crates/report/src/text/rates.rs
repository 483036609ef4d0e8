//! Text of the rates of a guest in simulated time.

use std::fmt::Write as _;

use crate::documents::rates::{LineShare, RatesDocument, SiteShare};
use crate::words::counted;

/// Lines and instructions that are shown.
const SHOWN_MAX: usize = 8;
/// Least share in percent that is shown.
const SHOWN_PERCENT: f64 = 0.1;

/// Renders what the guest did, what its CPUs waited for, and where.
pub fn render_rates(document: &RatesDocument) -> String {
    let mut text = head(document);
    let time = &document.time;
    let shares = [
        ("executing", time.running_percent),
        ("waiting for loads", time.load_percent),
        ("for atomics", time.atomic_percent),
        ("for own stores", time.stores_percent),
        ("pausing", time.pause_percent),
        ("idle", time.idle_percent),
    ];
    let shares: Vec<String> = { shares.iter() }
        .filter(|(_, share)| *share >= SHOWN_PERCENT)
        .map(|(name, share)| format!("{name} {share:.1}%"))
        .collect();
    let _ = writeln!(text, "time of the CPUs: {}", shares.join(", "));
    text.push_str(&lines_table(&document.lines));
    text.push_str(&sites_table(&document.sites));
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
        moves,
        seed,
        ..
    } = document;
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
         line latencies of {processor} ({machine}, {placement}); no core, no caches' size\n{moves}{problem}\n",
        counted(document.operations, "operation"),
    )
}

fn lines_table(lines: &[LineShare]) -> String {
    let mut text = "\n   wait  queue ns  transfers  of other sockets  cache line\n".to_owned();
    let shown = { lines.iter() }.filter(|line| line.wait_percent >= SHOWN_PERCENT);
    for line in shown.take(SHOWN_MAX) {
        let _ = writeln!(
            text,
            " {:>5.1}%  {:>8.0}  {:>9}  {:>16}  {}",
            line.wait_percent, line.queue_ns, line.transfers, line.far_transfers, line.address,
        );
    }
    text
}

fn sites_table(sites: &[SiteShare]) -> String {
    let mut text = "\n   wait   accesses  transfers  instruction\n".to_owned();
    let shown = { sites.iter() }.filter(|site| site.wait_percent >= SHOWN_PERCENT);
    for site in shown.take(SHOWN_MAX) {
        let function = site.function.as_deref().unwrap_or("?");
        let _ = writeln!(
            text,
            " {:>5.1}%  {:>9}  {:>9}  {function} {}",
            site.wait_percent, site.requests, site.misses, site.pc,
        );
    }
    text
}

/// Tells whether the window can be repeated, and which accesses were out of order.
fn order_text(document: &RatesDocument) -> String {
    let order = &document.order;
    let accesses = order.ordered + order.unordered;
    let share = 100.0 * (order.unordered + order.misplaced) as f64 / accesses.max(1) as f64;
    let repeat = match order.order_breaks {
        0 => "the same seed gives the same numbers".to_owned(),
        breaks => format!("{} of the host came in between", counted(breaks, "event")),
    };
    format!(
        "\n{:.2}% of {} to contended lines were out of order; {repeat}\n",
        share,
        counted(accesses, "access"),
    )
}
