//! Decodes the `perf.data` files that `perf mem record` and `perf c2c record` write: single
//! accesses to memory that the hardware sampled (Intel PEBS, AMD IBS, Arm SPE).
//!
//! [`decode`] reads a whole file into a [`PerfRecording`]: samples with address, data source and
//! weight, mappings, thread names and forks. It takes bytes and opens no file. It trusts no size in
//! the file: damaged input gives an [`Error`], never a panic or an allocation beyond the input.
//!
//! The crate `linux-perf-data` reads the same container, but leaves out the data source and the
//! weight of samples and trusts sizes in the file. The format is described in perf's
//! `Documentation/perf.data-file-format.txt` and in `include/uapi/linux/perf_event.h`.
//!
//! ```no_run
//! let file = std::fs::read("perf.data")?;
//! let recording = relayout_perf_data::decode(&file)?;
//! for sample in recording.samples.iter().filter(|sample| sample.source.is_hitm()) {
//!     println!("{:#x} accessed {:#x}", sample.pc, sample.addr);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(
    not(test),
    deny(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        clippy::print_stderr,
        clippy::print_stdout
    )
)]

mod attr;
mod bytes;
mod error;
mod header;
mod ids;
mod modules;
mod records;
mod sample;
mod source;
mod stream;

pub use error::Error;
pub use header::RecordingOrigin;
pub use modules::{MappedFile, kernel_text, last_exec_ns, process_modules};
pub use sample::MemorySample;
pub use source::DataSource;

use header::PerfHeader;
use records::RecordWalk;

/// The event that has every operation of SPE.
const SPE_ALL: &str = "memory";
/// Events that have some of them again.
const SPE_PARTS: [&str; 8] = [
    "l1d-miss",
    "l1d-access",
    "llc-miss",
    "llc-access",
    "tlb-miss",
    "tlb-access",
    "remote-access",
    "instructions",
];
/// Events that an error names, at most.
const EVENTS_NAMED: usize = 8;

/// A kind of event that was sampled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerfEvent {
    /// Its name: `cpu/mem-loads,ldlat=30/P`.
    pub name: String,
    /// True if its samples have the accessed address and the kind of access.
    pub samples_memory: bool,
}

/// A file, or other memory, that was mapped into a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerfMapping {
    /// Process; `None` for the kernel's own.
    pub pid: Option<u32>,
    /// Address of its first byte.
    pub start: u64,
    /// Address after its last.
    pub end: u64,
    /// Offset of its first byte in the file.
    pub file_offset: u64,
    /// The file; in brackets where it is none.
    pub path: String,
    /// Build id in lower-case hex; empty where the record does not have it.
    pub build_id: String,
    /// The file's inode.
    pub inode: Option<u64>,
    /// When, in nanoseconds of perf's clock.
    pub time_ns: u64,
}

/// A thread got a name, and maybe another program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadName {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// The name.
    pub name: String,
    /// By exec: all mappings from before are gone.
    pub exec: bool,
    /// When, in nanoseconds of perf's clock.
    pub time_ns: u64,
}

/// A thread or process began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadFork {
    /// Its process.
    pub pid: u32,
    /// The process that made it; the same if it is a thread.
    pub parent: u32,
    /// Its thread.
    pub tid: u32,
    /// The thread that made it.
    pub parent_tid: u32,
    /// When, in nanoseconds of perf's clock.
    pub time_ns: u64,
}

/// Memory accesses of a `perf.data` file, with the mappings and threads that they refer to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerfRecording {
    /// Machine, kernel and command.
    pub origin: RecordingOrigin,
    /// Events.
    pub events: Vec<PerfEvent>,
    /// Accesses, in order of the file.
    pub samples: Vec<MemorySample>,
    /// Mappings, by time.
    pub maps: Vec<PerfMapping>,
    /// Names of threads, by time.
    pub names: Vec<ThreadName>,
    /// Threads and processes that began, by time.
    pub forks: Vec<ThreadFork>,
    /// Records of samples, also those that are not among `samples`.
    pub sample_records: u64,
    /// Samples and other records that the kernel had no room for.
    pub lost: u64,
    /// Times that the kernel stopped sampling for a while because it took too long.
    pub throttled: u64,
    /// Samples of an event that the file does not describe.
    pub unknown_event: u64,
    /// Samples that do not say what was done to which address.
    pub without_address: u64,
    /// Samples that repeat what a `memory` event says of the same access (Arm SPE's, as
    /// `perf inject` makes them).
    pub repeated: u64,
    /// Records that are too short for what they should hold.
    pub malformed: u64,
    /// Bytes of trace that nobody has made samples of.
    pub undecoded_bytes: u64,
    /// The file ends too early: what it has of records counts.
    pub truncated: bool,
}

/// Reads a `perf.data` file, as perf writes it to a file or into a pipe, of a machine of either
/// byte order.
///
/// Memory: no more than in proportion to the file, decompressed where it is compressed.
///
/// # Errors
/// Returns the damaged place, or that the file is no `perf.data` file or has no memory samples, and
/// what to do.
pub fn decode(file: &[u8]) -> Result<PerfRecording, Error> {
    let mut recording = PerfRecording::default();
    let header = PerfHeader::parse(file, &mut recording.origin)?;
    let mut walk = RecordWalk::new(&header, &mut recording);
    let data = &file[header.data_start as usize..header.data_end as usize];
    let read = walk.walk_records(data, header.data_start, header.cut)?;
    let mut truncated = header.cut || read < data.len() as u64;
    let compressed = std::mem::take(&mut walk.compressed);
    if !compressed.is_empty() {
        truncated |= !stream::walk_compressed(&mut walk, &compressed)?;
    }
    let events = std::mem::take(&mut walk.events);
    recording.truncated = truncated;
    recording.events = events
        .iter()
        .map(|event| recording.origin.describe_event(event))
        .collect();
    // Synthesized records have time 0 and come first.
    recording.maps.sort_by_key(|map| map.time_ns);
    recording.names.sort_by_key(|name| name.time_ns);
    recording.forks.sort_by_key(|fork| fork.time_ns);
    if events.is_empty() {
        return Err(Error::NoEvents);
    }
    drop_repeats(&mut recording);
    // A size of 0 may be that of a recording without records, so nothing is known to be missing.
    let is_cut = truncated && (!header.cut || header.named_end.is_some());
    let cut_off = is_cut.then_some(Error::CutOff {
        file_bytes: file.len() as u64,
        named_bytes: header.named_end.filter(|_| header.cut),
    });
    validate_useful(&recording, cut_off)?;
    Ok(recording)
}

/// `perf inject` and `perf script` make one sample of an SPE operation for each thing that it did
/// (a miss in a cache, in the TLB, ...), and one that says all for the event `memory`.
fn drop_repeats(recording: &mut PerfRecording) {
    if recording.events.iter().any(|event| event.name == SPE_ALL) {
        let before = recording.samples.len();
        let events = &recording.events;
        let is_part = |n: u32| SPE_PARTS.contains(&events[n as usize].name.as_str());
        recording.samples.retain(|sample| !is_part(sample.event));
        recording.repeated = (before - recording.samples.len()) as u64;
    }
}

fn validate_useful(recording: &PerfRecording, cut_off: Option<Error>) -> Result<(), Error> {
    if !recording.samples.is_empty() {
        return Ok(());
    }
    if recording.undecoded_bytes > 0 {
        return Err(Error::Undecoded {
            bytes: recording.undecoded_bytes,
        });
    }
    let samples_memory = recording.events.iter().any(|event| event.samples_memory);
    if let Some(error) = cut_off.filter(|_| samples_memory) {
        return Err(error);
    }
    if recording.sample_records == 0 && samples_memory {
        return Err(Error::Empty);
    }
    let names = recording.events.iter().map(|event| event.name.as_str());
    let events = names.take(EVENTS_NAMED).collect::<Vec<_>>().join(", ");
    Err(Error::NotMemory { events })
}

impl RecordingOrigin {
    fn describe_event(&self, event: &header::EventAttr) -> PerfEvent {
        let named = event.ids.iter().find_map(|id| self.event_ids.get(id));
        let named = named.and_then(|&n| self.event_names.get(n));
        let name = named
            .cloned()
            .unwrap_or_else(|| match self.pmus.get(&event.attr.kind) {
                Some(pmu) => format!("{pmu}/config={:#x}/", event.attr.config),
                None => event.attr.describe(),
            });
        PerfEvent {
            name,
            samples_memory: event.attr.samples_memory(),
        }
    }
}
