//! A recording in memory: the rows of the profile's tables.
//!
//! Addresses are guest (or process) virtual addresses. A *line* is 64 bytes unless
//! [`ProfileMeta::line_bytes`] says otherwise and is named by the address of its first byte. A
//! *context* is a CPU (kernel recordings) or a thread (programs). A *site* is one memory
//! instruction. `run` numbers the recordings merged into one profile from 0, and within each
//! recording of a program its processes; addresses of different runs are unrelated.

pub use relayout_shadow::AccessKind;
use serde::{Deserialize, Serialize};

use crate::ids::{Addr, ContextId, RunId, SiteId};
use crate::simulated_run::{HostWindow, SimulatedMachineName, SimulatedOrder};

/// Kind of a coherence event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum CoherenceEvent {
    /// A load by a context that had lost the line to another's store.
    Read = 0,
    /// A store by a context that had lost the line to another's store.
    Write = 1,
    /// A store by a context that still had the line, while others shared it. No data moves.
    Upgrade = 2,
}

/// One memory instruction, or one call that stands for an access.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    /// Virtual address of the instruction as it ran; of a call, the address it returns to, or 0
    /// where what the collector kept of it fits no module.
    pub pc: u64,
    /// Its bytes as they were executed (after the kernel patched alternatives), at most 15. Empty:
    /// the access was made (or announced) by a call from here, to the compiled-in collector or to a
    /// function of libc that it follows.
    pub bytes: Vec<u8>,
}

impl Site {
    /// Returns whether `pc` is where a call returns to, not an instruction that accessed memory.
    /// Not for sites of samples, where no bytes mean that they are not known: see
    /// [`Profile::is_call`].
    pub fn is_call(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// Accesses and coherence events of one context on one line, over the whole window. Lines that one
/// context had to itself are here too; the other tables have only lines that moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineRow {
    /// Recording.
    pub run: RunId,
    /// Address of the line.
    pub line: Addr,
    /// Context.
    pub context: ContextId,
    /// Loads (a read-write counts here and under `writes`).
    pub reads: u64,
    /// Stores.
    pub writes: u64,
    /// Read transfers into this context.
    pub read_transfers: u64,
    /// Of them the first reads of what a store left, before any other context read it; the rest
    /// read what others had read already. `None`: not told apart.
    pub first_reads: Option<u64>,
    /// Write transfers into this context.
    pub write_transfers: u64,
    /// Upgrades by this context.
    pub upgrades: u64,
    /// Loads that returned another value than the last store in recorded order had left, among
    /// those that brought the line to the context, once values are compared (from the line's 8th
    /// event on). `None`: values were not seen.
    pub order_errors: Option<u64>,
}

/// Accesses of one context, by one site, to one granule of a line that moved. Counting starts at
/// the line's 16th coherence event: sums are below [`LineRow::reads`] and [`LineRow::writes`],
/// which count from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountRow {
    /// Recording.
    pub run: RunId,
    /// Address of the first byte accessed.
    pub addr: Addr,
    /// Bytes accessed.
    pub size: u8,
    /// Context.
    pub context: ContextId,
    /// Index into [`Profile::sites`].
    pub site: SiteId,
    /// Kind of access.
    pub access: AccessKind,
    /// Number of accesses.
    pub count: u64,
    /// Number of stores that are known to have left every byte as it was, a lower bound; `None`
    /// where values were not seen.
    pub silent: Option<u64>,
}

/// Coherence events of one kind between two accesses, from the line's first event on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConflictRow {
    /// Recording.
    pub run: RunId,
    /// Kind of event.
    pub transfer: CoherenceEvent,
    /// The context that missed (or upgraded).
    pub context: ContextId,
    /// First byte of the access that missed.
    pub addr: Addr,
    /// Bytes of it.
    pub size: u8,
    /// Its site.
    pub site: SiteId,
    /// Its kind.
    pub access: AccessKind,
    /// The context on the other side: the last one to write what was needed, or, where the access
    /// used none of the others' bytes, the last to write the line. For an upgrade: one that shared.
    pub other_context: ContextId,
    /// First byte of the other side's access.
    pub other_addr: Addr,
    /// Bytes of it.
    pub other_size: u8,
    /// Its site.
    pub other_site: SiteId,
    /// Its kind.
    pub other_access: AccessKind,
    /// Number of events.
    pub count: u64,
    /// Of read transfers, as [`LineRow::first_reads`]; 0 of other events.
    pub first_reads: Option<u64>,
    /// Of them: the access itself used no byte that another had written since the context lost
    /// the line. 0 for upgrades.
    pub false_first_touch: u64,
    /// Of them: the context used no such byte until it lost the line again or the window ended.
    /// 0 for upgrades.
    pub false_lifetime: u64,
}

/// Pair transfers of one kind, sampled: accesses to a line that the context had, while another
/// context had stored to the other line of the aligned pair (twice [`ProfileMeta::line_bytes`])
/// since the context last used either. They are no coherence events where lines are fetched alone;
/// where a processor fetches the pair, some of them cost what a transfer costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairRow {
    /// Recording.
    pub run: RunId,
    /// The context whose access it was.
    pub context: ContextId,
    /// First byte accessed.
    pub addr: Addr,
    /// Bytes of it.
    pub size: u8,
    /// Its site.
    pub site: SiteId,
    /// Its kind.
    pub access: AccessKind,
    /// The context that last stored to the other line.
    pub other_context: ContextId,
    /// First byte of that store.
    pub other_addr: Addr,
    /// Bytes of it.
    pub other_size: u8,
    /// Its site.
    pub other_site: SiteId,
    /// Its kind.
    pub other_access: AccessKind,
    /// Number of samples; each stands for [`RecordedRun::pair_period`] pair transfers.
    pub samples: u64,
}

/// Waiting of one instruction at one address in simulated time, over all contexts and the whole window: how long
/// they stood still for the line. Only accesses to lines that contexts shared and contended have rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitRow {
    /// Recording.
    pub run: RunId,
    /// First byte accessed.
    pub addr: Addr,
    /// Bytes of it.
    pub size: u8,
    /// Its site.
    pub site: SiteId,
    /// Its kind.
    pub access: AccessKind,
    /// Accesses that were put in order.
    pub requests: u64,
    /// Those that needed a transfer in simulated time. Not the events of the other tables, which are counted by
    /// MESI.
    pub misses: u64,
    /// Simulated time for which contexts stood still for it, in picoseconds.
    pub wait_ps: u64,
}

/// One access of an ordered burst.
///
/// Repeats within a turn are left out: while no other context is logged in the same aligned 4096
/// bytes, a context's second access of one kind to the same bytes changes nothing, in any layout of
/// what is there. Bursts give the order, [`CountRow`] how often.
///
/// Of [`AccessCoverage::Samples`], each sample once, by time, and no [`RegionRow`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurstRow {
    /// Recording.
    pub run: RunId,
    /// Place in the recorded order: unique and increasing within one run.
    pub ticket: u64,
    /// Context.
    pub context: ContextId,
    /// Site.
    pub site: SiteId,
    /// First byte accessed.
    pub addr: Addr,
    /// Bytes accessed.
    pub size: u8,
    /// Kind.
    pub access: AccessKind,
    /// A store that left every byte as it was; `None` for loads, and where the value was not known.
    pub silent: Option<bool>,
}

/// One access of a visit: a stretch of one context's accesses to a line that follow each other
/// closely, while no other context is logged in the same aligned 4096 bytes.
///
/// Repeats within a visit are left out, but not those of another visit, whether another context came
/// in between or not. With the clock they tell how often a context comes to a line, how long it
/// stays, and how long it does other things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VisitRow {
    /// Recording.
    pub run: RunId,
    /// Place in the recorded order: unique and increasing within one run. Bursts have other tickets.
    pub ticket: u64,
    /// Context.
    pub context: ContextId,
    /// The context's clock at the access, in [`ProfileMeta::clock`] ticks.
    pub clock: u64,
    /// Operations that the context had finished (0 where the workload marks none), modulo 2^32.
    pub operation: u32,
    /// Site.
    pub site: SiteId,
    /// First byte accessed.
    pub addr: Addr,
    /// Bytes accessed.
    pub size: u8,
    /// Kind.
    pub access: AccessKind,
    /// The instruction is atomic.
    pub locked: bool,
    /// The instruction stores only if memory holds an expected value.
    pub compare_exchange: bool,
    /// A string instruction, which may access much memory.
    pub string: bool,
    /// Of a compare-and-exchange: whether it stored. `None` for others, and where it is not known.
    pub stored: Option<bool>,
}

/// A stretch of memory whose accesses are in the bursts, complete between two tickets but for
/// repeats within a turn (see [`BurstRow`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionRow {
    /// Recording.
    pub run: RunId,
    /// First byte.
    pub start: Addr,
    /// Bytes.
    pub bytes: u32,
    /// Accesses with a ticket from here ...
    pub first_ticket: u64,
    /// ... to before here are in the bursts.
    pub end_ticket: u64,
    /// Operations the workload had finished at `first_ticket` (0 where it marks none).
    pub first_op: u64,
    /// Operations finished at `end_ticket`.
    pub end_op: u64,
    /// Visits with a ticket before here are complete; at most `end_ticket`. `None` where none were
    /// logged.
    pub visits_end_ticket: Option<u64>,
}

/// Use of a stretch of memory at the end of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum RangeKind {
    /// Slab page(s): `owner` names the cache, `stride` the slot size, `first` the first slot.
    Slab = 0,
    /// A CPU's copy of the static per-cpu area: `id` is the CPU, `first` the address that
    /// corresponds to per-cpu offset `stride` (0 for static data). Where per-cpu variables have
    /// addresses of the image, `first` may be above the copy: offsets wrap around. With the path of a
    /// module as `owner`: its variables, which begin at the module's link-time addresses.
    #[serde(rename = "percpu")]
    PerCpu = 1,
    /// The kernel image (globals), or a section of its module, whose path `owner` is. In programs: a
    /// module, whose path `owner` is.
    Image = 2,
    /// The `struct page` array.
    PageArray = 3,
    /// The direct map.
    DirectMap = 4,
    /// vmalloc space (stacks among it).
    Vmalloc = 5,
    /// A task's kernel stack: `owner` is its comm, `id` its pid.
    Stack = 6,
    /// A user heap allocation: `owner` is its call stack, as return addresses in hex, innermost
    /// first, with spaces between; empty where it is not known.
    Heap = 7,
    /// A thread's copy of a module's thread-local storage: `id` is the context, `owner` the
    /// module's path, `first` the address that corresponds to offset `stride` in the module's TLS
    /// segment.
    Tls = 8,
    /// An object that the program named itself (`relayout.h`): `owner` is its type's name, `stride`
    /// the bytes from element to element where it is an array.
    Named = 9,
}

/// One stretch of memory. Ranges may nest; the smallest one that holds an address describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeRow {
    /// Recording.
    pub run: RunId,
    /// Use of the memory.
    pub kind: RangeKind,
    /// First byte.
    pub start: Addr,
    /// Bytes.
    pub bytes: u64,
    /// Name of the cache, task or allocation site; empty where there is none.
    pub owner: String,
    /// CPU or pid; 0 where there is none.
    pub id: u32,
    /// Slab: address of the first slot. PerCpu: see [`RangeKind::PerCpu`].
    pub first: Addr,
    /// Slab: bytes from slot to slot; 0 elsewhere.
    pub stride: u32,
    /// Slab: bytes of the object in a slot (`kmem_cache.object_size`); 0 elsewhere.
    pub object_bytes: u32,
}

/// A file that was mapped into the recorded program: the program itself, or a shared library. Of a
/// kernel: the kernel itself, or a section of a module, which is linked by
/// `relayout_layout::kernel_module`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct LoadedModule {
    /// Its path, as the system gave it.
    pub path: String,
    /// GNU build id, lower-case hex; empty where there is none.
    pub build_id: String,
    /// Address of its first mapped byte.
    pub start: u64,
    /// Address after its last.
    pub end: u64,
    /// Load bias: run-time minus link-time address.
    pub bias: u64,
}

/// A thread of the recorded program. Threads that came later may share the context of ones that had
/// ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct ProgramThread {
    /// Its context.
    pub context: u16,
    /// Its number in the system.
    pub tid: u32,
    /// Its name at its end.
    pub name: String,
}

/// Time that the program's own code takes from one access of a context to the next: a sample of
/// these gaps, timed as the code ran while the recorder did nothing. The access itself is in it,
/// and what was not recorded (system calls, libraries); not what was waited for other threads or
/// for a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct ContextGaps {
    /// The context.
    pub context: u16,
    /// Number of timed gaps that count; not 0.
    pub samples: u64,
    /// Their mean, in picoseconds.
    pub mean_ps: u64,
    /// Largest error of the mean, up or down, in picoseconds: twice its standard error, and what
    /// timing itself is uncertain by.
    pub error_ps: u64,
}

/// Part of the accesses that a profile holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum AccessCoverage {
    /// All accesses of the window.
    #[default]
    Complete,
    /// All accesses of slices of time, the same for all contexts; totals are of these. There may be
    /// a time before the slices in which everything was recorded ([`RecordedRun::recorded_time`]).
    Sliced,
    /// Single accesses, taken now and then by hardware: no order of all accesses, so that transfers
    /// are estimated from rates, or counted where the hardware told of them.
    Samples,
}

/// Unit of the contexts' clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClockUnit {
    /// Instructions that the CPU or thread executed.
    Instructions,
    /// Accesses that the thread announced; [`RecordedRun::gaps`] has the time of one.
    Accesses,
}

/// Time of a recording in slices, and the parts of it in which accesses were recorded. Time in which
/// the program had closed its window is not counted.
///
/// ```
/// use relayout_profile::RecordedTime;
///
/// let time = RecordedTime {
///     whole_ns: 2_000_000_000,
///     sliced_ns: 8_000_000_000,
///     slices_ns: 500_000_000,
///     slice_ns: 20_000_000,
/// };
/// assert_eq!(time.share(), 0.25);
/// assert_eq!(time.slices_share(), 0.0625);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct RecordedTime {
    /// Wall time in nanoseconds from the beginning on in which everything was recorded.
    pub whole_ns: u64,
    /// Wall time in nanoseconds after that, in which only slices were recorded.
    pub sliced_ns: u64,
    /// Wall time in nanoseconds of all slices together.
    pub slices_ns: u64,
    /// Length of a slice in nanoseconds, as asked for.
    pub slice_ns: u64,
}

impl RecordedTime {
    /// Returns the recorded fraction of the whole time.
    pub fn share(&self) -> f64 {
        let recorded_ns = self.whole_ns as f64 + self.slices_ns as f64;
        recorded_ns / (self.whole_ns as f64 + self.sliced_ns as f64).max(1.0)
    }

    /// Returns the recorded fraction of the time after the beginning.
    pub fn slices_share(&self) -> f64 {
        self.slices_ns as f64 / self.sliced_ns.max(1) as f64
    }
}

/// Process of a run of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct RecordedProcess {
    /// Its number in the system.
    pub pid: u32,
    /// Number of the process that forked it, or started its program, when recording began.
    pub parent_pid: u32,
    /// Path of its program.
    pub program: String,
    /// False for the first process of a recording; true for each that it forked or executed. Their
    /// runs follow that of the first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_further: bool,
    /// Writable mappings that it could share with other processes (`MAP_SHARED`). Accesses of one
    /// process to them are not joined with those of another.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shared_mappings: u32,
    /// Of the first process: further processes that had no transfer between their threads, and so
    /// have no run.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub without_transfers: u32,
    /// Of the first process: further processes that were not recorded.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// One recording among those merged, or one process of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
pub struct RecordedRun {
    /// Seed given to the workload and to the yields.
    pub seed: u64,
    /// False if the recording was cut off (Ctrl-C, a signal, a killed guest, a full disk); `ended`
    /// says how.
    pub complete: bool,
    /// Name of the signal that ended the program before its time (`SIGSEGV`), or at which the user
    /// ended the recording (`SIGINT`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// Why the window ended, in words.
    pub ended: String,
    /// Wall time of the window in nanoseconds.
    pub window_wall_ns: u64,
    /// CPU time of the collector's process in the window, in nanoseconds.
    pub window_cpu_ns: u64,
    /// Fraction of the CPU time that the recorded processes wanted and certainly did not get,
    /// because the host ran others; `None` where nobody measured it. All runs of one recording have
    /// the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_share: Option<f64>,
    /// Time in which accesses were recorded; `None` if that was the whole window. All runs of one
    /// recording have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_time: Option<RecordedTime>,
    /// Accesses that were recorded: those in slices, if only slices were recorded.
    pub accesses: u64,
    /// Operations that the workload marked.
    pub operations: u64,
    /// Burst records that were dropped for want of room.
    pub bursts_dropped: u64,
    /// Accesses, in the mean, for each one that was looked at for [`Profile::pairs`]; `None`: none
    /// were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair_period: Option<u32>,
    /// Time between accesses, by context; empty where none was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<ContextGaps>,
    /// Host that recorded, if the order is that of simulated time. In a file of its own (`host.json`).
    #[serde(skip)]
    pub host_window: Option<HostWindow>,
    /// The order, if it is that of simulated time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<SimulatedOrder>,
    /// Last lines of the console (kernel) or of standard error (program), at most 2,000.
    pub console_tail: Vec<String>,
    /// Files that were mapped, by start. A kernel with modules has a row for itself, and one for each
    /// section of a module; a kernel without has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<LoadedModule>,
    /// Threads, by context; none for kernels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ProgramThread>,
    /// Process whose memory the addresses are of; `None` for kernels, and where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<RecordedProcess>,
}

/// Largest [`RecordedRun::lost_share`] of a recording whose order of findings can be trusted
/// (docs/method.md has the experiment).
pub const LOST_SHARE_MAX: f64 = 0.25;

/// Largest [`OrderCounts::out_of_order_share`](crate::OrderCounts::out_of_order_share) of a recording whose counts can be trusted. Windows of kernels have up
/// to 0.03, those in which much code runs for the first time.
pub const OUT_OF_ORDER_MAX: f64 = 0.1;

impl RecordedRun {
    /// Returns true if the run is a further process of the recording that the run before it belongs
    /// to, and so no repetition.
    pub fn is_further_process(&self) -> bool {
        self.process.as_ref().is_some_and(|p| p.is_further)
    }
}

/// A named setting, as given or by default, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingSetting {
    /// `cpus`, `yield`, `memory`, ...
    pub name: String,
    /// Its value.
    pub value: String,
}

impl RecordingSetting {
    /// A setting of this name and value.
    pub fn new(name: &str, value: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            value: value.into(),
        }
    }
}

/// Emulated machine of a recorded kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct RecordedGuest {
    /// Model and features of its CPUs, as QEMU was given them: `max,erms=off`.
    pub cpu_model: String,
    /// Functions of the kernel whose accesses were not watched.
    pub unwatched_functions: Vec<String>,
}

/// Reader of the guest's memory that did not understand the recorded kernel. The objects that it
/// would have found have no names in the profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct LeftOutReader {
    /// Subject of the reader: `slabs`.
    pub reader: String,
    /// Item that the reader lacked: `member 'slab.slab_cache'`.
    pub missing: String,
    /// Areas of memory in which the reader would have found objects; empty if those are all but the
    /// image.
    pub areas: Vec<RangeKind>,
}

/// Function of a recorded program with repeated string instructions (`rep movs`), whose accesses
/// the program's code does not announce.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct UnseenStringCode {
    /// Path of the module.
    pub module: String,
    /// Name of the function.
    pub function: String,
    /// Number of such instructions in it.
    pub instructions: u32,
}

/// Everything about a recording that is not a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
pub struct ProfileMeta {
    /// Version of relayout that wrote it.
    pub tool_version: String,
    /// `kernel` or `program`.
    pub target: String,
    /// Workload name or program command line.
    pub workload: String,
    /// Full command line of relayout, one string per argument.
    pub command: Vec<String>,
    /// Settings, all of them.
    pub settings: Vec<RecordingSetting>,
    /// Bytes of a cache line.
    pub line_bytes: u32,
    /// Contexts (CPUs).
    pub contexts: u16,
    /// `x86_64`.
    pub machine: String,
    /// Collector and its version: `QEMU 10.0.2, plugin interface 4`.
    pub collector: String,
    /// Path of the debug file as given.
    pub debug_file: String,
    /// GNU build id of the debug file, lower-case hex.
    pub build_id: String,
    /// Release string of the kernel, or the program's path.
    pub release: String,
    /// True if the collector saw stored values, so that silent stores are known.
    pub values_seen: bool,
    /// Unit of the clock of the visits; `None` where no visits are logged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockUnit>,
    /// Part of the accesses that the tables hold.
    #[serde(default)]
    pub coverage: AccessCoverage,
    /// True if samples told of lines that came modified from another cache (HITM); where they did
    /// not, transfers of 0 are not known. Only of [`AccessCoverage::Samples`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hitm_seen: bool,
    /// Machine that a recorded kernel ran on; `None` for programs, samples, and in profiles from
    /// before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<RecordedGuest>,
    /// Code of a program whose string instructions were not seen, by module and address; `None`
    /// where nobody looked for it, and where the collector sees all instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unseen_strings: Option<Vec<UnseenStringCode>>,
    /// Readers of the guest's memory that were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out_readers: Vec<LeftOutReader>,
    /// Machine that gave the accesses their order; `None`: the host that recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated_machine: Option<SimulatedMachineName>,
    /// The recordings merged, by `run`.
    pub runs: Vec<RecordedRun>,
}

impl ProfileMeta {
    /// Returns what gave the accesses their order: `host`, or the machine of the simulation.
    pub fn order_words(&self) -> String {
        let machine = self.simulated_machine.as_ref();
        machine.map_or_else(|| "host".to_owned(), ToString::to_string)
    }

    /// Returns the largest share of the CPU time that others took in a run, if it is so large that the order of findings
    /// may be another one on an idle host.
    pub fn distrusted_lost_share(&self) -> Option<f64> {
        let shares = self.runs.iter().filter_map(|run| run.lost_share);
        shares
            .filter(|share| *share > LOST_SHARE_MAX)
            .reduce(f64::max)
    }

    /// Returns the largest share of accesses that were out of simulated time's order in a run, if it is too large to trust
    /// the counts.
    pub fn distrusted_order_share(&self) -> Option<f64> {
        let orders = self.runs.iter().filter_map(|run| run.simulated.as_ref());
        let shares = orders.map(|order| order.counts.out_of_order_share());
        shares
            .filter(|share| *share > OUT_OF_ORDER_MAX)
            .reduce(f64::max)
    }
}

/// A whole recording.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Profile {
    /// Metadata.
    pub meta: ProfileMeta,
    /// Sites, indexed by the `site` columns.
    pub sites: Vec<Site>,
    /// Totals by line and context.
    pub lines: Vec<LineRow>,
    /// Accesses by granule, context, site and kind.
    pub counts: Vec<CountRow>,
    /// Coherence events by pair of accesses.
    pub conflicts: Vec<ConflictRow>,
    /// Sampled pair transfers.
    pub pairs: Vec<PairRow>,
    /// Waiting in simulated time; none in the host's order.
    pub waits: Vec<WaitRow>,
    /// Ordered accesses, by run and ticket.
    pub bursts: Vec<BurstRow>,
    /// Timed accesses to the same memory, by run and ticket.
    pub visits: Vec<VisitRow>,
    /// Coverage of the bursts and visits.
    pub regions: Vec<RegionRow>,
    /// Uses of memory.
    pub ranges: Vec<RangeRow>,
}

impl ProfileMeta {
    /// Returns the first run of the recording that `run` is a part of. It is another one for
    /// processes that the recorded program forked or executed.
    ///
    /// ```
    /// use relayout_profile::{ProfileMeta, RecordedProcess, RecordedRun, RunId};
    ///
    /// let run = |is_further| RecordedRun {
    ///     process: Some(RecordedProcess { is_further, ..RecordedProcess::default() }),
    ///     ..RecordedRun::default()
    /// };
    /// let runs = vec![run(false), run(true), run(false)];
    /// let meta = ProfileMeta { runs, ..ProfileMeta::default() };
    /// assert_eq!(meta.first_run_of_recording(RunId(1)), RunId(0));
    /// assert_eq!(meta.first_run_of_recording(RunId(2)), RunId(2));
    /// ```
    pub fn first_run_of_recording(&self, run: RunId) -> RunId {
        let numbers = 0..=run.0;
        let is_first = |number: &u16| {
            let run = self.runs.get(usize::from(*number));
            run.is_some_and(|run| !run.is_further_process())
        };
        RunId(numbers.rev().find(is_first).unwrap_or(0))
    }

    /// Returns the times of each recording of [`AccessCoverage::Sliced`]; of a complete one beside
    /// such, its window is the whole time. Empty where no time is known, and in a profile that is
    /// not in slices.
    ///
    /// ```
    /// use relayout_profile::{AccessCoverage, ProfileMeta, RecordedRun, RecordedTime};
    ///
    /// let time = RecordedTime { sliced_ns: 1_000, slices_ns: 50, ..RecordedTime::default() };
    /// let run = RecordedRun { recorded_time: Some(time), ..RecordedRun::default() };
    /// let meta = ProfileMeta {
    ///     coverage: AccessCoverage::Sliced,
    ///     runs: vec![run],
    ///     ..ProfileMeta::default()
    /// };
    /// assert_eq!(meta.recorded_times(), [time]);
    /// assert_eq!(meta.recorded_share(), Some(0.05));
    /// ```
    pub fn recorded_times(&self) -> Vec<RecordedTime> {
        let is_known = self.runs.iter().any(|run| run.recorded_time.is_some());
        if self.coverage != AccessCoverage::Sliced || !is_known {
            return Vec::new();
        }
        let complete = |run: &RecordedRun| RecordedTime {
            whole_ns: run.window_wall_ns,
            ..RecordedTime::default()
        };
        let firsts = self.runs.iter().filter(|run| !run.is_further_process());
        firsts
            .map(|run| run.recorded_time.unwrap_or_else(|| complete(run)))
            .collect()
    }

    /// Returns the recorded fraction of the time of all recordings; `None` if it is not known, and of
    /// samples.
    pub fn recorded_share(&self) -> Option<f64> {
        match self.coverage {
            AccessCoverage::Complete => Some(1.0),
            AccessCoverage::Samples => None,
            AccessCoverage::Sliced => {
                let times = self.recorded_times().into_iter();
                let sum = times.reduce(|sum, time| RecordedTime {
                    whole_ns: sum.whole_ns.saturating_add(time.whole_ns),
                    sliced_ns: sum.sliced_ns.saturating_add(time.sliced_ns),
                    slices_ns: sum.slices_ns.saturating_add(time.slices_ns),
                    slice_ns: sum.slice_ns.max(time.slice_ns),
                });
                sum.map(|sum| sum.share())
            }
        }
    }
}

impl Profile {
    /// Transfers of all lines, of all runs.
    pub fn transfers(&self) -> u64 {
        let line_transfers = |line: &LineRow| line.read_transfers + line.write_transfers;
        self.lines.iter().map(line_transfers).sum()
    }

    /// Returns whether a site is a call, whose `pc` is the return address. In a profile of samples
    /// none is: a site without bytes is an instruction that is not known.
    pub fn is_call(&self, site: SiteId) -> bool {
        self.meta.coverage != AccessCoverage::Samples
            && self.sites.get(site.index()).is_some_and(Site::is_call)
    }
}
