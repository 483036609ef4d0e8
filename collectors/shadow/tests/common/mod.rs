//! A collector in memory: gives out memory up to a limit, keeps the segments, reads them back.

// Each test file uses a part of it.
#![allow(dead_code)]

pub mod input;
pub mod reference;

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::sync::Mutex;

use relayout_shadow::wire::{
    self, BurstRecord, ConflictRecord, CountRecord, LineRecord, PairRecord, RecordKind,
    RegionRecord, SegmentHeader, VisitRecord, WireRecord,
};
use relayout_shadow::{CollectorHost, ShadowConfig, ShadowContext, ShadowMemory};

/// See the module's documentation. Frees its memory when dropped: nothing may use it by then.
pub struct Memory {
    given: Mutex<Given>,
    segments: Mutex<Vec<(u16, SegmentHeader, Vec<u8>)>>,
}

struct Given {
    left: usize,
    chunks: Vec<(usize, Layout)>,
}

impl Memory {
    pub fn new() -> Self {
        Self::limited(usize::MAX)
    }

    /// Has `bytes` to give.
    pub fn limited(bytes: usize) -> Self {
        let given = Given {
            left: bytes,
            chunks: Vec::new(),
        };
        Self {
            given: Mutex::new(given),
            segments: Mutex::default(),
        }
    }

    /// Sets what is left to give.
    pub fn leave(&self, bytes: usize) {
        self.given.lock().unwrap().left = bytes;
    }

    /// The contexts' segment files.
    pub fn files(&self) -> Vec<(u16, Vec<u8>)> {
        let mut files: BTreeMap<u16, Vec<u8>> = BTreeMap::new();
        for (context, header, payload) in &*self.segments.lock().unwrap() {
            let file = files.entry(*context).or_default();
            file.extend(wire::as_header_bytes(header));
            file.extend(payload);
        }
        files.into_iter().collect()
    }

    /// Returns the appended records; checks every header.
    pub fn records(&self) -> Records {
        let mut records = Records::default();
        let mut next = [0; relayout_shadow::CONTEXTS_MAX];
        for (context, header, payload) in &*self.segments.lock().unwrap() {
            assert_eq!((header.magic, header.version), (wire::MAGIC, wire::VERSION));
            assert_eq!(header.context, *context);
            assert_eq!(header.crc, wire::crc32(payload));
            assert_eq!(header.sequence, next[usize::from(*context)]);
            next[usize::from(*context)] += 1;
            let kind = RecordKind::from_u16(header.kind).expect("a known kind");
            assert_eq!(payload.len(), header.count as usize * kind.record_bytes());
            records.add(*context, kind, payload);
        }
        records
    }
}

impl CollectorHost for Memory {
    fn zeroed(&self, bytes: usize) -> Option<*mut u8> {
        let mut given = self.given.lock().unwrap();
        given.left = given.left.checked_sub(bytes)?;
        let layout = Layout::from_size_align(bytes, 4096).ok()?;
        // SAFETY: not empty.
        let at = unsafe { alloc_zeroed(layout) };
        given.chunks.push((at as usize, layout));
        (!at.is_null()).then_some(at)
    }

    fn append(&self, context: u16, header: &SegmentHeader, payload: &[u8]) {
        self.segments
            .lock()
            .unwrap()
            .push((context, *header, payload.to_vec()));
    }

    fn relax(&self) {
        std::thread::yield_now();
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        for &(at, layout) in &self.given.get_mut().unwrap().chunks {
            // SAFETY: allocated above with this layout; the shadow that used it is gone.
            unsafe { dealloc(at as *mut u8, layout) };
        }
    }
}

/// Appended records, with their context.
#[derive(Default)]
pub struct Records {
    pub lines: Vec<(u16, LineRecord)>,
    pub counts: Vec<(u16, CountRecord)>,
    pub conflicts: Vec<(u16, ConflictRecord)>,
    pub pairs: Vec<(u16, PairRecord)>,
    /// By ticket.
    pub bursts: Vec<(u16, BurstRecord)>,
    /// By ticket.
    pub visits: Vec<(u16, VisitRecord)>,
    pub regions: Vec<RegionRecord>,
}

impl Records {
    fn add(&mut self, context: u16, kind: RecordKind, payload: &[u8]) {
        match kind {
            RecordKind::Line => self.lines.extend(read(payload).map(|r| (context, r))),
            RecordKind::Count => self.counts.extend(read(payload).map(|r| (context, r))),
            RecordKind::Conflict => self.conflicts.extend(read(payload).map(|r| (context, r))),
            RecordKind::Pair => self.pairs.extend(read(payload).map(|r| (context, r))),
            RecordKind::Burst => {
                self.bursts.extend(read(payload).map(|r| (context, r)));
                self.bursts.sort_by_key(|(_, burst)| burst.ticket);
            }
            RecordKind::Visit => {
                self.visits.extend(read(payload).map(|r| (context, r)));
                self.visits.sort_by_key(|(_, visit)| visit.ticket);
            }
            RecordKind::Region => self.regions.extend(read::<RegionRecord>(payload)),
            RecordKind::Site | RecordKind::Summary | RecordKind::Alloc | RecordKind::Gap => {
                panic!("the shadow appends none of {kind:?}")
            }
        }
    }
}

fn read<R: WireRecord>(payload: &[u8]) -> impl Iterator<Item = R> {
    payload
        .chunks_exact(size_of::<R>())
        .map(|bytes| wire::read_record(bytes).expect("a chunk is a record"))
}

/// A shadow with its contexts.
pub struct Machine {
    pub shadow: ShadowMemory<Memory>,
    pub contexts: Vec<ShadowContext>,
}

impl Machine {
    pub fn new(config: ShadowConfig) -> Self {
        let shadow = ShadowMemory::new(config, Memory::new()).expect("memory");
        let contexts = (0..config.contexts)
            .map(|n| ShadowContext::new(n as u16, &shadow.host).expect("memory"))
            .collect();
        Self { shadow, contexts }
    }

    /// Ends the recording and reads it back.
    pub fn finish(mut self) -> Records {
        for context in self.contexts.iter_mut().rev() {
            self.shadow.finish(context);
        }
        self.shadow.host.records()
    }
}
