//! Imports what `perf mem record` and `perf c2c record` write: single accesses to memory that the
//! hardware picked (Intel PEBS, AMD IBS, Arm SPE).
//!
//! [`decode`] reads a whole `perf.data` file into a [`Recording`]; [`import`](import()) makes the
//! profile of one process, or of the kernel, out of it.
//!
//! The crate `linux-perf-data` reads the container, but passes over the data source and the weight
//! of samples, which are what matters here, and takes sizes in the file at their word. So this is a
//! decoder of its own, of no more than is needed. The format: perf's
//! `Documentation/perf.data-file-format.txt`, and `include/uapi/linux/perf_event.h`.

mod attr;
mod bytes;
mod error;
mod header;
mod ids;
mod import;
mod modules;
mod records;
mod sample;
mod source;
mod stream;

pub use error::Error;
pub use header::Origin;
pub use import::{Imported, Instruction, Options, What, choose, import};
pub use modules::{Mapped, kernel_text, modules};
pub use sample::Sample;
pub use source::DataSource;

use header::Header;
use records::Walk;

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
pub struct Event {
    /// Its name: `cpu/mem-loads,ldlat=30/P`.
    pub name: String,
    /// Whether its samples say what they did to which address.
    pub samples_memory: bool,
}

/// A file, or other memory, that was mapped into a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Map {
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
pub struct Name {
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
pub struct Fork {
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

/// What a `perf.data` file holds of accesses to memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// Where it comes from.
    pub origin: Origin,
    /// Events.
    pub events: Vec<Event>,
    /// Accesses, in order of the file.
    pub samples: Vec<Sample>,
    /// Mappings, by time.
    pub maps: Vec<Map>,
    /// Names of threads, by time.
    pub names: Vec<Name>,
    /// Threads and processes that began, by time.
    pub forks: Vec<Fork>,
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
    /// Samples that repeat what a `memory` event says of the same access (Arm SPE's, as `perf inject`
    /// makes them).
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
/// What the file is instead, or where it is damaged; or that it has no samples of accesses, and what
/// to do.
pub fn decode(file: &[u8]) -> Result<Recording, Error> {
    let mut found = Recording::default();
    let header = Header::parse(file, &mut found.origin)?;
    let mut walk = Walk::new(&header, &mut found);
    let data = &file[header.data_start as usize..header.data_end as usize];
    let read = walk.records(data, header.data_start, header.cut)?;
    let mut truncated = header.cut || read < data.len() as u64;
    let compressed = std::mem::take(&mut walk.compressed);
    if !compressed.is_empty() {
        truncated |= !stream::records(&mut walk, &compressed)?;
    }
    let events = std::mem::take(&mut walk.events);
    found.truncated = truncated;
    found.events = events
        .iter()
        .map(|event| found.origin.describe(event))
        .collect();
    // Synthesized records have time 0 and come first.
    found.maps.sort_by_key(|map| map.time_ns);
    found.names.sort_by_key(|name| name.time_ns);
    found.forks.sort_by_key(|fork| fork.time_ns);
    if events.is_empty() {
        return Err(Error::NoEvents);
    }
    leave_repeats(&mut found);
    check_useful(&found)?;
    Ok(found)
}

/// `perf inject` and `perf script` make one sample of an SPE operation for each thing that it did (a
/// miss in a cache, in the TLB, ...), and one that says all for the event `memory`.
fn leave_repeats(found: &mut Recording) {
    if found.events.iter().any(|event| event.name == SPE_ALL) {
        let before = found.samples.len();
        let events = &found.events;
        let parts = |n: u32| SPE_PARTS.contains(&events[n as usize].name.as_str());
        found.samples.retain(|sample| !parts(sample.event));
        found.repeated = (before - found.samples.len()) as u64;
    }
}

fn check_useful(found: &Recording) -> Result<(), Error> {
    if !found.samples.is_empty() {
        return Ok(());
    }
    if found.undecoded_bytes > 0 {
        return Err(Error::Undecoded {
            bytes: found.undecoded_bytes,
        });
    }
    let memory = found.events.iter().any(|event| event.samples_memory);
    if found.sample_records == 0 && memory {
        return Err(Error::Empty);
    }
    let names = found.events.iter().map(|event| event.name.as_str());
    let events = names.take(EVENTS_NAMED).collect::<Vec<_>>().join(", ");
    Err(Error::NotMemory { events })
}

impl Origin {
    fn describe(&self, event: &header::EventAttr) -> Event {
        let named = event.ids.iter().find_map(|id| self.event_ids.get(id));
        let named = named.and_then(|&n| self.event_names.get(n));
        let name = named
            .cloned()
            .unwrap_or_else(|| match self.pmus.get(&event.attr.kind) {
                Some(pmu) => format!("{pmu}/config={:#x}/", event.attr.config),
                None => event.attr.describe(),
            });
        Event {
            name,
            samples_memory: event.attr.samples_memory(),
        }
    }
}
