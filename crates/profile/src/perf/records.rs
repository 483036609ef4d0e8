//! The records of a `perf.data` file: samples, and what says whose memory they lie in.

use super::attr::Attr;
use super::bytes::{Order, Reader, hex, text};
use super::error::Error;
use super::header::{EventAttr, Header};
use super::ids::Ids;
use super::sample;
use super::{Map, Name, Recording};

/// Types of records: the kernel's, and from 64 perf's own.
mod kind {
    pub const MMAP: u32 = 1;
    pub const LOST: u32 = 2;
    pub const COMM: u32 = 3;
    pub const THROTTLE: u32 = 5;
    pub const FORK: u32 = 7;
    pub const SAMPLE: u32 = 9;
    pub const MMAP2: u32 = 10;
    pub const LOST_SAMPLES: u32 = 13;
    pub const HEADER_ATTR: u32 = 64;
    pub const HEADER_BUILD_ID: u32 = 67;
    pub const AUXTRACE: u32 = 71;
    pub const HEADER_FEATURE: u32 = 80;
    pub const COMPRESSED: u32 = 81;
    pub const COMPRESSED2: u32 = 83;
}

/// `PERF_RECORD_MISC_COMM_EXEC`, of COMM.
const MISC_EXEC: u16 = 1 << 13;
/// `PERF_RECORD_MISC_MMAP_BUILD_ID`, of MMAP2.
const MISC_BUILD_ID: u16 = 1 << 14;
/// Kernel's own mappings have this process.
const KERNEL_PID: u32 = u32::MAX;
/// Bytes of `perf_event_header`.
const HEADER_BYTES: u64 = 8;

/// Walks records and gathers what they say.
pub(super) struct Walk<'a> {
    order: Order,
    pub events: Vec<EventAttr>,
    /// By event id; made again where a pipe brought another event.
    ids: Option<Ids>,
    /// All compressed records' contents, one after the other: one stream.
    pub compressed: Vec<u8>,
    pub found: &'a mut Recording,
}

impl<'a> Walk<'a> {
    pub fn new(header: &Header, found: &'a mut Recording) -> Self {
        Self {
            order: header.order,
            events: header.events.clone(),
            ids: None,
            compressed: Vec::new(),
            found,
        }
    }

    /// Takes in the records of `bytes`, the first of which is at `offset` of the file. Gives how
    /// many bytes make whole records: a record that is cut off at the end is left. With `cut`, `bytes`
    /// may not end where the records do, and what is none ends them.
    pub fn records(&mut self, bytes: &[u8], offset: u64, cut: bool) -> Result<u64, Error> {
        let mut at = 0;
        while let Some(rest) = bytes.get(at as usize..).filter(|rest| !rest.is_empty()) {
            let mut r = Reader::new(rest, self.order);
            let (Some(kind), Some(misc), Some(size)) = (r.u32(), r.u16(), r.u16()) else {
                break;
            };
            let place = offset + at;
            let Some(body_bytes) = u64::from(size).checked_sub(HEADER_BYTES) else {
                if cut {
                    break;
                }
                return Err(Error::Size {
                    part: "the record",
                    offset: place,
                    bytes: size.into(),
                });
            };
            let Some(body) = r.take(body_bytes) else {
                break;
            };
            at += u64::from(size);
            // Trace stands behind its record, which gives its size.
            if kind == kind::AUXTRACE {
                let bytes = Reader::new(body, self.order).u64().unwrap_or(0);
                self.found.undecoded_bytes = self.found.undecoded_bytes.saturating_add(bytes);
                at = at.saturating_add(bytes);
                continue;
            }
            self.record(kind, misc, body, place)?;
        }
        Ok(at.min(bytes.len() as u64))
    }

    fn record(&mut self, kind: u32, misc: u16, body: &[u8], offset: u64) -> Result<(), Error> {
        let r = Reader::new(body, self.order);
        let whole = match kind {
            kind::SAMPLE => return self.sample(body),
            kind::HEADER_ATTR => return self.attr(body, offset),
            kind::MMAP | kind::MMAP2 => self.map(r, kind == kind::MMAP2, misc),
            kind::COMM => self.name(r, misc),
            kind::FORK => self.fork(r),
            kind::LOST => self.lost(r, 8),
            kind::LOST_SAMPLES => self.lost(r, 0),
            kind::THROTTLE => {
                self.found.throttled += 1;
                Some(())
            }
            kind::HEADER_BUILD_ID => self.found.origin.build_id(r),
            kind::HEADER_FEATURE => self.feature(r),
            kind::COMPRESSED => {
                self.compressed.extend_from_slice(body);
                Some(())
            }
            kind::COMPRESSED2 => self.compressed2(r),
            _ => Some(()),
        };
        if whole.is_none() {
            self.found.malformed += 1;
        }
        Ok(())
    }

    fn ids(&mut self) -> Result<&Ids, Error> {
        if self.ids.is_none() {
            self.ids = Some(Ids::new(&self.events)?);
        }
        Ok(self.ids.as_ref().expect("just made"))
    }

    fn sample(&mut self, body: &[u8]) -> Result<(), Error> {
        self.found.sample_records += 1;
        let order = self.order;
        let Some(event) = self.ids()?.of_sample(body, order) else {
            self.found.unknown_event += 1;
            return Ok(());
        };
        let attr = &self.events[event].attr;
        if !attr.samples_memory() {
            self.found.without_address += 1;
            return Ok(());
        }
        let Some(sample) = sample::parse(Reader::new(body, order), attr, event as u32) else {
            self.found.malformed += 1;
            return Ok(());
        };
        if !(sample.source.is_load() || sample.source.is_store()) || sample.addr == 0 {
            self.found.without_address += 1;
            return Ok(());
        }
        self.found.samples.push(sample);
        Ok(())
    }

    fn attr(&mut self, body: &[u8], offset: u64) -> Result<(), Error> {
        let (attr, bytes) = Attr::parse(body, self.order, offset + HEADER_BYTES)?;
        let mut ids = Reader::new(body.get(bytes as usize..).unwrap_or_default(), self.order);
        let ids = std::iter::from_fn(|| ids.u64()).collect();
        self.events.push(EventAttr {
            attr,
            ids,
            name: None,
        });
        self.ids = None;
        Ok(())
    }

    fn feature(&mut self, mut r: Reader) -> Option<()> {
        let number = r.u64()?;
        let number = u32::try_from(number).ok()?;
        self.found.origin.feature(number, r.rest(), self.order);
        Some(())
    }

    fn compressed2(&mut self, mut r: Reader) -> Option<()> {
        let bytes = r.u64()?;
        self.compressed.extend_from_slice(r.take(bytes)?);
        Some(())
    }

    fn map(&mut self, mut r: Reader, second: bool, misc: u16) -> Option<()> {
        let whole = r.rest();
        let pid = r.u32()?;
        r.skip(4)?;
        let (start, bytes, file_offset) = (r.u64()?, r.u64()?, r.u64()?);
        let mut build_id = String::new();
        let mut inode = None;
        if second {
            let mut identity = Reader::new(r.take(24)?, self.order);
            if misc & MISC_BUILD_ID != 0 {
                let size = identity.u8()?;
                identity.skip(3)?;
                build_id = hex(identity.take(size.min(20).into())?);
            } else {
                identity.skip(8)?;
                inode = Some(identity.u64()?).filter(|&inode| inode != 0);
            }
            r.skip(8)?;
        }
        let path = text(r.rest());
        let end = start.saturating_add(bytes);
        let time_ns = self.time(whole);
        let pid = (pid != KERNEL_PID).then_some(pid);
        let map = Map {
            pid,
            start,
            end,
            file_offset,
            path,
            build_id,
            inode,
            time_ns,
        };
        self.found.maps.push(map);
        Some(())
    }

    fn name(&mut self, mut r: Reader, misc: u16) -> Option<()> {
        let whole = r.rest();
        let (pid, tid) = (r.u32()?, r.u32()?);
        let name = text(r.rest());
        let time_ns = self.time(whole);
        let exec = misc & MISC_EXEC != 0;
        self.found.names.push(Name {
            pid,
            tid,
            name,
            exec,
            time_ns,
        });
        Some(())
    }

    /// A thread has its creator's name, a process its creator's mappings, until told otherwise.
    fn fork(&mut self, mut r: Reader) -> Option<()> {
        let (pid, parent, tid, parent_tid) = (r.u32()?, r.u32()?, r.u32()?, r.u32()?);
        let time_ns = r.u64()?;
        self.found.forks.push(super::Fork {
            pid,
            parent,
            tid,
            parent_tid,
            time_ns,
        });
        Some(())
    }

    fn lost(&mut self, mut r: Reader, before: u64) -> Option<()> {
        r.skip(before)?;
        self.found.lost = self.found.lost.saturating_add(r.u64()?);
        Some(())
    }

    /// The time at the end of a record that is no sample; 0 where there is none.
    fn time(&mut self, body: &[u8]) -> u64 {
        let order = self.order;
        let from_end = self
            .ids()
            .ok()
            .and_then(|ids| ids.time_from_end(body, order));
        let at = from_end.and_then(|from_end| body.len().checked_sub(from_end));
        at.and_then(|at| Reader::new(&body[at..], order).u64())
            .unwrap_or(0)
    }
}
