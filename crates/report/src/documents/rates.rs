//! `relayout/rates/2`: how fast a guest worked in simulated time, and where its CPUs stood still.
//!
//! Shares are of the time of all CPUs, in percent.

use relayout_advice::{LockWaiting, NamedWaiting, WaitedLine, WaitedObject, WaitedSite};
use relayout_profile::rates::{LineRates, SimulatedRates, SiteRates};
use relayout_profile::{CpuTimes, OrderCounts, ProfileMeta, SimulatedRule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::documents::Document;
use crate::documents::report::site::PositionDocument;
use crate::documents::time_shares::{TimeShares, percent_of_time};

/// Instructions that are listed, at most.
const SITES_MAX: usize = 200;
/// Instructions that a lock lists, at most.
const LOCK_SITES_MAX: usize = 5;

/// The document of `record kernel --rates --json`, and of `record run` with the same options.
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
    /// Name of the machine.
    pub(crate) machine: String,
    /// Digest of the file that described it; null for a machine of the table.
    pub(crate) digest: Option<String>,
    /// Its processor.
    pub(crate) processor: String,
    /// Where the guest's CPUs were on it.
    pub(crate) placement: String,
    /// Rules with another value than the expected one.
    pub(crate) rules: Vec<RuleValue>,
    /// Members that were said to lie elsewhere, as `--move` has them; absent if there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) moves: Vec<String>,
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
    /// Locks for whose lines CPUs stood still, most first. Their lines and instructions are among those below.
    pub(crate) locks: Vec<LockShare>,
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
    const SCHEMA: &'static str = "relayout/rates/2";
}

/// A rule of the machine with its value.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RuleValue {
    /// Name of the rule.
    pub(crate) key: String,
    /// Its value, in the rule's unit.
    pub(crate) value: f64,
}

/// Waiting for the lines of a lock: all locks of one name.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct LockShare {
    /// Path of the lock in its type or variable: `mm_struct.mmap_lock`, `tasklist_lock`.
    pub(crate) name: String,
    /// Type of the lock: `rw_semaphore`.
    pub(crate) lock_type: String,
    /// Share of the time for which CPUs stood still for it. They may also pause for it in a spin loop, or sleep.
    pub(crate) wait_percent: f64,
    /// Accesses to its members while their line was contended.
    pub(crate) requests: u64,
    /// Those that needed a transfer.
    pub(crate) misses: u64,
    /// Number of its cache lines.
    pub(crate) lines: usize,
    /// Instructions that waited most.
    pub(crate) sites: Vec<PositionDocument>,
}

/// Waiting for a cache line.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct LineShare {
    /// Address of its first byte, in hexadecimal; of a program's line, that in the program. Lines of moved members
    /// begin at 0x4000000000000000.
    pub(crate) address: String,
    /// Object on the line whose accesses waited most; null if it is unknown.
    pub(crate) object: Option<LineObject>,
    /// Paths of the object's members that were accessed, most waiting first.
    pub(crate) members: Vec<String>,
    /// Lock that the first of them is, or is a part of; null if it is none.
    pub(crate) lock: Option<String>,
    /// Share of the time for which CPUs stood still for it.
    pub(crate) wait_percent: f64,
    /// Mean time in nanoseconds from a request to its transfer.
    pub(crate) queue_ns: f64,
    /// Transfers.
    pub(crate) transfers: u64,
    /// Transfers from another socket.
    pub(crate) far_transfers: u64,
}

/// Object in memory.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct LineObject {
    /// Variable that it is, or is an element of; null if it is none.
    pub(crate) variable: Option<String>,
    /// Type; null if it is unknown or no aggregate.
    #[serde(rename = "type")]
    pub(crate) type_name: Option<String>,
    /// Slab cache that it was allocated from; null outside of slabs.
    pub(crate) cache: Option<String>,
    /// Kind of memory of an object of unknown type; null for others.
    pub(crate) memory: Option<String>,
    /// Offset of the line from the object's first byte, which may lie on the line; null if the type is unknown.
    pub(crate) offset: Option<i64>,
}

/// Waiting at an instruction.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct SiteShare {
    #[serde(flatten)]
    pub(crate) position: PositionDocument,
    /// Address of the instruction, in hexadecimal.
    pub(crate) pc: String,
    /// Members that it accessed, with their type or variable, most waiting first.
    pub(crate) members: Vec<String>,
    /// Lock that the first of them is, or is a part of; null if it is none.
    pub(crate) lock: Option<String>,
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

/// Makes the document of a window, with the names that were found.
pub fn rates_document(
    meta: &ProfileMeta,
    rates: &SimulatedRates,
    names: &NamedWaiting,
) -> RatesDocument {
    let window = &rates.window;
    let machine = meta.simulated_machine.clone().unwrap_or_default();
    let times: CpuTimes = rates.cpus.iter().map(|cpu| cpu.times).sum();
    let percent = |ps: u64| percent_of_time(ps, &times);
    let waiting_sites =
        { rates.sites.iter().zip(&names.sites) }.filter(|(site, _)| site.wait_ps > 0);
    RatesDocument {
        schema: RatesDocument::SCHEMA.to_owned(),
        basis: "simulated".to_owned(),
        workload: meta.workload.clone(),
        release: meta.release.clone(),
        cpus: meta.contexts,
        machine: machine.key,
        digest: machine.digest,
        processor: machine.processor,
        placement: machine.placement,
        rules: machine.rules.into_iter().map(RuleValue::from).collect(),
        moves: machine.moves,
        seed: meta.runs.first().map_or(0, |run| run.seed),
        window_ns: window.length_ps / 1000,
        operations: window.operations,
        operations_by_cpu: rates.cpus.iter().map(|cpu| cpu.operations).collect(),
        operations_per_second: window.operations_per_second(),
        time: TimeShares::from(times),
        locks: { names.locks.iter() }
            .map(|lock| lock_share(lock, &names.sites, &percent))
            .collect(),
        lines: { rates.lines.iter().zip(&names.lines) }
            .map(|(line, names)| line_share(line, names, &percent))
            .collect(),
        sites: waiting_sites
            .take(SITES_MAX)
            .map(|(site, names)| site_share(site, names, &percent))
            .collect(),
        order: KeptOrder::from(window.order),
        problem: window.problem.clone(),
    }
}

impl From<OrderCounts> for KeptOrder {
    fn from(counts: OrderCounts) -> Self {
        let OrderCounts {
            order_breaks,
            ordered,
            misplaced,
            unordered,
        } = counts;
        Self {
            ordered,
            misplaced,
            unordered,
            order_breaks,
        }
    }
}

impl From<&KeptOrder> for OrderCounts {
    fn from(order: &KeptOrder) -> Self {
        Self {
            order_breaks: order.order_breaks,
            ordered: order.ordered,
            misplaced: order.misplaced,
            unordered: order.unordered,
        }
    }
}

impl From<SimulatedRule> for RuleValue {
    fn from(SimulatedRule { key, value }: SimulatedRule) -> Self {
        Self { key, value }
    }
}

fn lock_share(lock: &LockWaiting, sites: &[WaitedSite], percent: &dyn Fn(u64) -> f64) -> LockShare {
    let positions = { lock.sites.iter() }.filter_map(|site| Some(&sites.get(*site)?.source));
    LockShare {
        name: lock.name.clone(),
        lock_type: lock.lock_type.clone(),
        wait_percent: percent(lock.wait_ps),
        requests: lock.requests,
        misses: lock.misses,
        lines: lock.lines.len(),
        sites: { positions.take(LOCK_SITES_MAX) }
            .map(PositionDocument::from)
            .collect(),
    }
}

fn line_share(line: &LineRates, names: &WaitedLine, percent: &dyn Fn(u64) -> f64) -> LineShare {
    let transfers: u64 = line.transfers.iter().sum();
    let address = names.program_address.unwrap_or(line.address);
    let object = |object: &WaitedObject| LineObject {
        variable: object.variable.clone(),
        type_name: object.type_name.clone(),
        cache: object.cache.clone(),
        memory: object.memory.clone(),
        offset: { object.base }.map(|base| address.0.wrapping_sub(base.0) as i64),
    };
    LineShare {
        address: format!("{:#x}", address.0),
        object: names.object.as_ref().map(object),
        members: names.members.clone(),
        lock: names.lock.clone(),
        wait_percent: percent(line.wait_ps),
        queue_ns: line.queue_ps as f64 / 1000.0 / transfers.max(1) as f64,
        transfers,
        far_transfers: line.far,
    }
}

fn site_share(site: &SiteRates, names: &WaitedSite, percent: &dyn Fn(u64) -> f64) -> SiteShare {
    SiteShare {
        position: (&names.source).into(),
        pc: format!("{:#x}", site.pc),
        members: names.members.clone(),
        lock: names.lock.clone(),
        wait_percent: percent(site.wait_ps),
        requests: site.requests,
        misses: site.misses,
    }
}
