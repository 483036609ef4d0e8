//! The records of a `perf.data` file: samples, and what says whose memory they lie in.

use super::attr::PerfEventAttr;
use super::bytes::{ByteOrder, ByteReader, lower_hex, text_until_zero};
use super::error::Error;
use super::header::{EventAttr, PerfHeader};
use super::ids::EventIds;
use super::sample;
use super::{PerfMapping, PerfRecording, ThreadName};

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
pub(super) struct RecordWalk<'a> {
    order: ByteOrder,
    pub events: Vec<EventAttr>,
    /// By event id; made again where a pipe brought another event.
    ids: Option<EventIds>,
    /// All compressed records' contents, one after the other: one stream.
    pub compressed: Vec<u8>,
    pub found: &'a mut PerfRecording,
}

impl<'a> RecordWalk<'a> {
    pub fn new(header: &PerfHeader, found: &'a mut PerfRecording) -> Self {
        Self {
            order: header.order,
            events: header.events.clone(),
            ids: None,
            compressed: Vec::new(),
            found,
        }
    }

    /// Takes in the records of `bytes`, the first of which is at `offset` of the file. Gives how
    /// many bytes make whole records: a record that is cut off at the end is left. With `cut`,
    /// `bytes` may not end where the records do, and what is none ends them.
    pub fn walk_records(&mut self, bytes: &[u8], offset: u64, cut: bool) -> Result<u64, Error> {
        let mut at = 0;
        while let Some(rest) = bytes.get(at as usize..).filter(|rest| !rest.is_empty()) {
            let mut r = ByteReader::new(rest, self.order);
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
            let Some(body) = r.take_bytes(body_bytes) else {
                break;
            };
            at += u64::from(size);
            // Trace stands behind its record, which gives its size.
            if kind == kind::AUXTRACE {
                let bytes = ByteReader::new(body, self.order).u64().unwrap_or(0);
                self.found.undecoded_bytes = self.found.undecoded_bytes.saturating_add(bytes);
                at = at.saturating_add(bytes);
                continue;
            }
            self.walk_record(kind, misc, body, place)?;
        }
        Ok(at.min(bytes.len() as u64))
    }

    fn walk_record(&mut self, kind: u32, misc: u16, body: &[u8], offset: u64) -> Result<(), Error> {
        let r = ByteReader::new(body, self.order);
        let whole = match kind {
            kind::SAMPLE => return self.add_sample(body),
            kind::HEADER_ATTR => return self.add_event(body, offset),
            kind::MMAP | kind::MMAP2 => self.add_mapping(r, kind == kind::MMAP2, misc),
            kind::COMM => self.add_thread_name(r, misc),
            kind::FORK => self.add_fork(r),
            kind::LOST => self.add_lost(r, 8),
            kind::LOST_SAMPLES => self.add_lost(r, 0),
            kind::THROTTLE => {
                self.found.throttled += 1;
                Some(())
            }
            kind::HEADER_BUILD_ID => self.found.origin.read_build_id(r),
            kind::HEADER_FEATURE => self.add_feature(r),
            kind::COMPRESSED => {
                self.compressed.extend_from_slice(body);
                Some(())
            }
            kind::COMPRESSED2 => self.add_compressed(r),
            _ => Some(()),
        };
        if whole.is_none() {
            self.found.malformed += 1;
        }
        Ok(())
    }

    fn event_ids(&mut self) -> Result<&EventIds, Error> {
        if self.ids.is_none() {
            self.ids = Some(EventIds::new(&self.events)?);
        }
        Ok(self.ids.as_ref().expect("just made"))
    }

    fn add_sample(&mut self, body: &[u8]) -> Result<(), Error> {
        self.found.sample_records += 1;
        let order = self.order;
        let Some(event) = self.event_ids()?.event_of_sample(body, order) else {
            self.found.unknown_event += 1;
            return Ok(());
        };
        let attr = &self.events[event].attr;
        if !attr.samples_memory() {
            self.found.without_address += 1;
            return Ok(());
        }
        let Some(sample) = sample::parse(ByteReader::new(body, order), attr, event as u32) else {
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

    fn add_event(&mut self, body: &[u8], offset: u64) -> Result<(), Error> {
        let (attr, bytes) = PerfEventAttr::parse(body, self.order, offset + HEADER_BYTES)?;
        let mut ids = ByteReader::new(body.get(bytes as usize..).unwrap_or_default(), self.order);
        let ids = std::iter::from_fn(|| ids.u64()).collect();
        self.events.push(EventAttr {
            attr,
            ids,
            name: None,
        });
        self.ids = None;
        Ok(())
    }

    fn add_feature(&mut self, mut r: ByteReader) -> Option<()> {
        let number = r.u64()?;
        let number = u32::try_from(number).ok()?;
        self.found
            .origin
            .read_feature(number, r.remaining(), self.order);
        Some(())
    }

    fn add_compressed(&mut self, mut r: ByteReader) -> Option<()> {
        let bytes = r.u64()?;
        self.compressed.extend_from_slice(r.take_bytes(bytes)?);
        Some(())
    }

    fn add_mapping(&mut self, mut r: ByteReader, second: bool, misc: u16) -> Option<()> {
        let whole = r.remaining();
        let pid = r.u32()?;
        r.skip(4)?;
        let (start, bytes, file_offset) = (r.u64()?, r.u64()?, r.u64()?);
        let mut build_id = String::new();
        let mut inode = None;
        if second {
            let mut identity = ByteReader::new(r.take_bytes(24)?, self.order);
            if misc & MISC_BUILD_ID != 0 {
                let size = identity.u8()?;
                identity.skip(3)?;
                build_id = lower_hex(identity.take_bytes(size.min(20).into())?);
            } else {
                identity.skip(8)?;
                inode = Some(identity.u64()?).filter(|&inode| inode != 0);
            }
            r.skip(8)?;
        }
        let path = text_until_zero(r.remaining());
        let end = start.saturating_add(bytes);
        let time_ns = self.record_time_ns(whole);
        let pid = (pid != KERNEL_PID).then_some(pid);
        let map = PerfMapping {
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

    fn add_thread_name(&mut self, mut r: ByteReader, misc: u16) -> Option<()> {
        let whole = r.remaining();
        let (pid, tid) = (r.u32()?, r.u32()?);
        let name = text_until_zero(r.remaining());
        let time_ns = self.record_time_ns(whole);
        let exec = misc & MISC_EXEC != 0;
        self.found.names.push(ThreadName {
            pid,
            tid,
            name,
            exec,
            time_ns,
        });
        Some(())
    }

    /// A thread has its creator's name, a process its creator's mappings, until told otherwise.
    fn add_fork(&mut self, mut r: ByteReader) -> Option<()> {
        let (pid, parent, tid, parent_tid) = (r.u32()?, r.u32()?, r.u32()?, r.u32()?);
        let time_ns = r.u64()?;
        self.found.forks.push(super::ThreadFork {
            pid,
            parent,
            tid,
            parent_tid,
            time_ns,
        });
        Some(())
    }

    fn add_lost(&mut self, mut r: ByteReader, before: u64) -> Option<()> {
        r.skip(before)?;
        self.found.lost = self.found.lost.saturating_add(r.u64()?);
        Some(())
    }

    /// The time at the end of a record that is no sample; 0 where there is none.
    fn record_time_ns(&mut self, body: &[u8]) -> u64 {
        let order = self.order;
        let from_end = self
            .event_ids()
            .ok()
            .and_then(|ids| ids.time_from_end(body, order));
        let at = from_end.and_then(|from_end| body.len().checked_sub(from_end));
        at.and_then(|at| ByteReader::new(&body[at..], order).u64())
            .unwrap_or(0)
    }
}
