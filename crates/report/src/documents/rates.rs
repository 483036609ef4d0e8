//! `relayout/rates/1`: how fast a guest worked in simulated time, and where its CPUs stood still.
//!
//! Shares are of the time of all CPUs, in percent.

use relayout_profile::ProfileMeta;
use relayout_profile::rates::{CpuRates, LineRates, SimulatedRates, SiteRates};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::documents::Document;

/// The document of `record kernel --rates --json`.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct RatesDocument {
    /// Name and version of this document.
    schema: String,
    /// Origin of the numbers: `simulated`.
    basis: String,
    /// Name of the workload, or the program's command line.
    pub(crate) workload: String,
    /// Release of the kernel.
    pub(crate) release: String,
    /// CPUs of the guest.
    pub(crate) cpus: u16,
    /// Key of the machine.
    pub(crate) machine: String,
    /// Its processor.
    pub(crate) processor: String,
    /// Where the guest's CPUs were on it.
    pub(crate) placement: String,
    /// Seed of all that is drawn.
    pub(crate) seed: u64,
    /// Length of the window in nanoseconds of simulated time.
    pub(crate) window_ns: u64,
    /// Operations in the window.
    pub(crate) operations: u64,
    /// Operations in the window that each CPU finished.
    pub(crate) operations_by_cpu: Vec<u64>,
    /// Operations a second of all CPUs; null for an empty window.
    pub(crate) operations_per_second: Option<f64>,
    /// What the CPUs did.
    pub(crate) time: TimeShares,
    /// Cache lines for which CPUs stood still, most first.
    pub(crate) lines: Vec<LineShare>,
    /// Instructions at which CPUs stood still, most first.
    pub(crate) sites: Vec<SiteShare>,
    /// How well the order of simulated time was kept.
    pub(crate) order: KeptOrder,
    /// Why the window ended before its time; null if it did not.
    pub(crate) problem: Option<String>,
}

impl Document for RatesDocument {
    const SCHEMA: &'static str = "relayout/rates/1";
}

/// Shares of the CPUs' time.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct TimeShares {
    /// They executed.
    pub(crate) running_percent: f64,
    /// They waited for the lines of loads.
    pub(crate) load_percent: f64,
    /// They waited for the lines of atomic instructions.
    pub(crate) atomic_percent: f64,
    /// They waited for their own stores.
    pub(crate) stores_percent: f64,
    /// They paused in spin loops.
    pub(crate) pause_percent: f64,
    /// They had nothing to do.
    pub(crate) idle_percent: f64,
}

/// Waiting for a cache line.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct LineShare {
    /// Address of its first byte, in hexadecimal.
    pub(crate) address: String,
    /// Share of the time for which CPUs stood still for it.
    pub(crate) wait_percent: f64,
    /// Mean time in nanoseconds from a request to its transfer.
    pub(crate) queue_ns: f64,
    /// Transfers.
    pub(crate) transfers: u64,
    /// Transfers from another socket.
    pub(crate) far_transfers: u64,
}

/// Waiting at an instruction.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct SiteShare {
    /// Function; null if it is unknown.
    pub(crate) function: Option<String>,
    /// Address of the instruction, in hexadecimal.
    pub(crate) pc: String,
    /// Share of the time for which CPUs stood still there.
    pub(crate) wait_percent: f64,
    /// Accesses to contended lines.
    pub(crate) requests: u64,
    /// Those that needed a transfer.
    pub(crate) misses: u64,
}

/// Accesses and their order.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct KeptOrder {
    /// Accesses that were put in order before they executed.
    pub(crate) ordered: u64,
    /// Accesses that were ordered at another address than they then had.
    pub(crate) misplaced: u64,
    /// Accesses to contended lines that executed before they were ordered.
    pub(crate) unordered: u64,
    /// Events of the host that came in between: the window cannot be repeated if there are any.
    pub(crate) order_breaks: u64,
}

/// Makes the document of a window. `function_at` names the function that holds an address.
pub fn rates_document<'n>(
    meta: &ProfileMeta,
    rates: &SimulatedRates,
    function_at: &dyn Fn(u64) -> Option<&'n str>,
) -> RatesDocument {
    let window = &rates.window;
    let machine = meta.simulated_machine.clone().unwrap_or_default();
    let total_ps: u64 = rates.cpus.iter().map(|cpu| cpu.total_ps()).sum();
    let percent = |ps: u64| 100.0 * ps as f64 / total_ps.max(1) as f64;
    RatesDocument {
        schema: RatesDocument::SCHEMA.to_owned(),
        basis: "simulated".to_owned(),
        workload: meta.workload.clone(),
        release: meta.release.clone(),
        cpus: meta.contexts,
        machine: machine.key,
        processor: machine.processor,
        placement: machine.placement,
        seed: meta.runs.first().map_or(0, |run| run.seed),
        window_ns: window.length_ps / 1000,
        operations: window.operations,
        operations_by_cpu: rates.cpus.iter().map(|cpu| cpu.operations).collect(),
        operations_per_second: window.operations_per_second(),
        time: time_shares(rates, &percent),
        lines: { rates.lines.iter() }
            .map(|line| line_share(line, &percent))
            .collect(),
        sites: { rates.sites.iter() }
            .map(|site| site_share(site, function_at(site.pc), &percent))
            .collect(),
        order: KeptOrder {
            ordered: window.ordered,
            misplaced: window.misplaced,
            unordered: window.unordered,
            order_breaks: window.order_breaks,
        },
        problem: window.problem.clone(),
    }
}

fn time_shares(rates: &SimulatedRates, percent: &dyn Fn(u64) -> f64) -> TimeShares {
    let sum = |time: fn(&CpuRates) -> u64| percent(rates.cpus.iter().map(time).sum());
    TimeShares {
        running_percent: sum(|cpu| cpu.running_ps),
        load_percent: sum(|cpu| cpu.load_ps),
        atomic_percent: sum(|cpu| cpu.atomic_ps),
        stores_percent: sum(|cpu| cpu.stores_ps),
        pause_percent: sum(|cpu| cpu.pause_ps),
        idle_percent: sum(|cpu| cpu.idle_ps),
    }
}

fn line_share(line: &LineRates, percent: &dyn Fn(u64) -> f64) -> LineShare {
    let transfers: u64 = line.transfers.iter().sum();
    LineShare {
        address: format!("{:#x}", line.address),
        wait_percent: percent(line.wait_ps),
        queue_ns: line.queue_ps as f64 / 1000.0 / transfers.max(1) as f64,
        transfers,
        far_transfers: line.far,
    }
}

fn site_share(site: &SiteRates, function: Option<&str>, percent: &dyn Fn(u64) -> f64) -> SiteShare {
    SiteShare {
        function: function.map(str::to_owned),
        pc: format!("{:#x}", site.pc),
        wait_percent: percent(site.wait_ps),
        requests: site.requests,
        misses: site.misses,
    }
}
