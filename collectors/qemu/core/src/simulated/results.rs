//! Results of a simulation, as lines of text in the file `rates` of the recording's folder.
//!
//! Each line has a kind and `name=value` pairs: `window` once, `cpu`, `line`, `access` (a site at an address) and
//! `site` by number of picoseconds that CPUs stood still, most first. Nothing of the host is among them: each run with the
//! same snapshot, seed and rules writes the same.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::*;

use relayout_machine::{
    CpuActivity, CpuDistance, LineAccess, RequestedAccessCounts, SimulatedTime, TransferKind,
};

use super::SimulatedGuest;

/// File of the results.
const RESULTS: &str = "rates";
/// Lines and sites that are listed, at most.
const LISTED_MAX: usize = 200;
/// Accesses that are listed, at most. Those without any waiting tell the types of objects, too.
const ACCESSES_MAX: usize = 4000;

impl SimulatedGuest {
    /// Writes the results of the window. The thread has the turn.
    pub fn write_results(&self, problem: Option<&str>) {
        let text = self.results_text(problem);
        if let Err(error) = std::fs::write(self.plugin.options.dir.join(RESULTS), text) {
            self.plugin.shadow.host.fail(&error);
        }
    }

    fn results_text(&self, problem: Option<&str>) -> String {
        // SAFETY: this thread has the turn.
        let state = unsafe { self.state() };
        let now = match state.machine.now() {
            SimulatedTime::NEVER => SimulatedTime(self.timers_ran_ps.load(Acquire)),
            now => now,
        };
        // Nobody acts before the next CPU does, and the window has an end.
        let end = SimulatedTime(self.options.end_ps());
        let now = match state.machine.next_time() {
            SimulatedTime::NEVER => now,
            next => now.max(next.min(end)),
        };
        state.machine.bring_counts_to(now);
        let length_ps = now.0.saturating_sub(self.options.warm_ps);
        let tallies = state.tallies;
        let mut text = format!(
            "window ps={length_ps} operations={} ordered={} misplaced={} unordered={} turns={} timers={} kicks={} order_breaks={}",
            self.operations(),
            tallies.ordered,
            tallies.misplaced,
            tallies.unordered,
            tallies.turns,
            tallies.timers,
            tallies.kicks,
            self.order_breaks.load(Relaxed),
        );
        if let Some(problem) = problem {
            let _ = write!(text, " problem={}", problem.replace(' ', "_"));
        }
        text.push('\n');
        self.write_cpus(&mut text);
        self.write_lines(&mut text);
        let named = self.write_accesses(&mut text);
        self.write_sites(&mut text, named);
        text
    }

    fn write_cpus(&self, text: &mut String) {
        // SAFETY: this thread has the turn.
        let counts = unsafe { self.state() }.machine.counts();
        for (n, (cpu, seat)) in counts.cpus.iter().zip(&self.seats).enumerate() {
            let time = |activity| cpu.time_ps(activity);
            let _ = writeln!(
                text,
                "cpu n={n} operations={} running={} load={} atomic={} drain={} stores={} pause={} idle={} requests={} misses={}",
                seat.operations.load(Relaxed),
                time(CpuActivity::Running),
                time(CpuActivity::LoadWait),
                time(CpuActivity::AtomicWait),
                time(CpuActivity::Drain),
                time(CpuActivity::StoreBufferFull),
                time(CpuActivity::Pausing),
                time(CpuActivity::Idle),
                cpu.requests,
                cpu.misses,
            );
        }
    }

    fn write_lines(&self, text: &mut String) {
        // SAFETY: this thread has the turn.
        let counts = unsafe { self.state() }.machine.counts();
        let mut lines: Vec<_> = counts
            .lines
            .iter()
            .filter(|line| line.wait_ps > 0)
            .collect();
        lines.sort_by_key(|line| (Reverse(line.wait_ps), line.line));
        for line in lines.into_iter().take(LISTED_MAX) {
            let _ = writeln!(
                text,
                "line address={:#x} wait={} queue={} take={} upgrade={} dirty={} shared={} far={} hits={}",
                line.line.0 << 6,
                line.wait_ps,
                line.queue_ps,
                line.transfers_of(TransferKind::Take),
                line.transfers_of(TransferKind::Upgrade),
                line.transfers_of(TransferKind::DirtyRead),
                line.transfers_of(TransferKind::SharedRead),
                line.transfers_over(CpuDistance::OtherSocket),
                line.hits,
            );
        }
    }

    /// Writes accesses, and returns the numbers of their sites.
    fn write_accesses(&self, text: &mut String) -> BTreeSet<u32> {
        // SAFETY: this thread has the turn.
        let counts = unsafe { self.state() }.machine.counts();
        let mut accesses: Vec<_> = { counts.accesses.iter() }
            .filter(|access| access.requests > 0)
            .collect();
        accesses.sort_by_key(|access| {
            let RequestedAccessCounts {
                wait_ps, requests, ..
            } = **access;
            Reverse((wait_ps, requests, access.address, access.site))
        });
        accesses.truncate(ACCESSES_MAX);
        for access in &accesses {
            let _ = writeln!(
                text,
                "access address={:#x} line={:#x} site={} kind={} wait={} requests={} misses={}",
                access.address,
                access.line.0 << 6,
                access.site,
                kind_name(access.access),
                access.wait_ps,
                access.requests,
                access.misses,
            );
        }
        accesses.iter().map(|access| access.site).collect()
    }

    /// Writes the sites at which CPUs stood still most, and the `named` ones.
    fn write_sites(&self, text: &mut String, named: BTreeSet<u32>) {
        // SAFETY: this thread has the turn.
        let counts = unsafe { self.state() }.machine.counts();
        let mut sites: Vec<_> = counts.sites.iter().collect();
        sites.sort_by_key(|site| (Reverse(site.wait_ps), site.site));
        let table = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
        for (at, counts) in sites.into_iter().enumerate() {
            let is_listed = at < LISTED_MAX && counts.wait_ps > 0;
            let site = table.site(counts.site);
            let Some(site) = site.filter(|_| is_listed || named.contains(&counts.site)) else {
                continue;
            };
            let _ = write!(text, "site n={} pc={:#x} code=", site.number, site.pc);
            for byte in &site.code {
                let _ = write!(text, "{byte:02x}");
            }
            let _ = writeln!(
                text,
                " bytes={} wait={} requests={} misses={}",
                site.accessed_bytes, counts.wait_ps, counts.requests, counts.misses,
            );
        }
    }
}

fn kind_name(access: LineAccess) -> &'static str {
    match access {
        LineAccess::Load => "load",
        LineAccess::Store => "store",
        LineAccess::Update => "update",
        LineAccess::Atomic => "atomic",
    }
}
