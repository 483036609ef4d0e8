//! Results of a simulation, as lines of text in the file `rates` of the recording's folder.
//!
//! Each line has a kind and `name=value` pairs: `window` once, `cpu`, `line` and `site` by number of
//! picoseconds that CPUs stood still, most first. Nothing of the host is among them: each run with the
//! same snapshot, seed and rules writes the same.

use std::fmt::Write as _;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::*;

use relayout_machine::{CpuActivity, CpuDistance, SimulatedTime, TransferKind};

use super::SimulatedGuest;

/// File of the results.
const RESULTS: &str = "rates";
/// Lines and sites that are listed, at most.
const LISTED_MAX: usize = 200;

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
        self.write_sites(&mut text);
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
        lines.sort_by_key(|line| (std::cmp::Reverse(line.wait_ps), line.line));
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

    fn write_sites(&self, text: &mut String) {
        // SAFETY: this thread has the turn.
        let counts = unsafe { self.state() }.machine.counts();
        let mut sites: Vec<_> = counts
            .sites
            .iter()
            .filter(|site| site.wait_ps > 0)
            .collect();
        sites.sort_by_key(|site| (std::cmp::Reverse(site.wait_ps), site.site));
        let table = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
        for counts in sites.into_iter().take(LISTED_MAX) {
            let pc = table.site(counts.site).map_or(0, |site| site.pc);
            let _ = writeln!(
                text,
                "site pc={pc:#x} wait={} requests={} misses={}",
                counts.wait_ps, counts.requests, counts.misses,
            );
        }
    }
}
