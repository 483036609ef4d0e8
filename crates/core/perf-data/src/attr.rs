//! `perf_event_attr`: what an event samples, which decides what its records look like.

use super::bytes::{ByteOrder, ByteReader};
use super::error::Error;

/// Bits of `sample_type`, in `include/uapi/linux/perf_event.h` as `PERF_SAMPLE_*`.
pub(super) mod sample {
    pub const IP: u64 = 1 << 0;
    pub const TID: u64 = 1 << 1;
    pub const TIME: u64 = 1 << 2;
    pub const ADDR: u64 = 1 << 3;
    pub const READ: u64 = 1 << 4;
    pub const CALLCHAIN: u64 = 1 << 5;
    pub const ID: u64 = 1 << 6;
    pub const CPU: u64 = 1 << 7;
    pub const PERIOD: u64 = 1 << 8;
    pub const STREAM_ID: u64 = 1 << 9;
    pub const RAW: u64 = 1 << 10;
    pub const BRANCH_STACK: u64 = 1 << 11;
    pub const REGS_USER: u64 = 1 << 12;
    pub const STACK_USER: u64 = 1 << 13;
    pub const WEIGHT: u64 = 1 << 14;
    pub const DATA_SRC: u64 = 1 << 15;
    pub const IDENTIFIER: u64 = 1 << 16;
    pub const WEIGHT_STRUCT: u64 = 1 << 24;
}

/// Bits of `read_format`.
pub(super) mod read {
    pub const TOTAL_TIME_ENABLED: u64 = 1;
    pub const TOTAL_TIME_RUNNING: u64 = 2;
    pub const ID: u64 = 4;
    pub const GROUP: u64 = 8;
    pub const LOST: u64 = 16;
}

/// `PERF_SAMPLE_BRANCH_HW_INDEX` of `branch_sample_type`.
pub(super) const BRANCH_HW_INDEX: u64 = 1 << 17;
/// `freq`: the period changes.
const FREQ: u64 = 1 << 10;
/// `sample_id_all`: other records end with time and id, too.
const SAMPLE_ID_ALL: u64 = 1 << 18;
/// `PERF_ATTR_SIZE_VER0`.
const BYTES_MIN: u64 = 64;
/// Far more than any kernel's.
const BYTES_MAX: u64 = 4096;

/// The used fields of `perf_event_attr`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PerfEventAttr {
    pub kind: u32,
    pub config: u64,
    /// Events from sample to sample; 0 where it changes.
    pub period: u64,
    pub sample_type: u64,
    pub read_format: u64,
    pub sample_id_all: bool,
    pub branch_sample_type: u64,
    pub regs_user: u32,
}

impl PerfEventAttr {
    /// Reads the attribute at the start of `bytes`; `offset` is where that is, for errors. Gives
    /// its own size, too. What an older perf did not write is 0.
    pub fn parse(bytes: &[u8], order: ByteOrder, offset: u64) -> Result<(Self, u64), Error> {
        let truncated = Error::Truncated {
            part: "event's attributes",
            offset,
        };
        let mut head = ByteReader::new(bytes, order);
        let declared_bytes = head
            .skip(4)
            .and_then(|()| head.u32())
            .ok_or(truncated.clone())?;
        // 0 is what version 0 wrote.
        let size = if declared_bytes == 0 {
            BYTES_MIN
        } else {
            declared_bytes.into()
        };
        if !(BYTES_MIN..=BYTES_MAX).contains(&size) {
            return Err(Error::Size {
                part: "an event's attributes",
                offset,
                bytes: size,
            });
        }
        let own = bytes.get(..size as usize).ok_or(truncated.clone())?;
        let mut whole = own.to_vec();
        whole.resize(BYTES_MAX as usize, 0);
        Self::parse_fields(&mut ByteReader::new(&whole, order))
            .map(|attr| (attr, size))
            .ok_or(truncated)
    }

    fn parse_fields(r: &mut ByteReader) -> Option<Self> {
        let kind = r.u32()?;
        r.skip(4)?;
        let config = r.u64()?;
        let period = r.u64()?;
        let sample_type = r.u64()?;
        let read_format = r.u64()?;
        let flags = r.flags()?;
        // Wakeup, breakpoint, config1, config2.
        r.skip(4 + 4 + 8 + 8)?;
        let branch_sample_type = r.u64()?;
        let regs_user = r.u64()?.count_ones();
        Some(Self {
            kind,
            config,
            period: if flags & FREQ != 0 { 0 } else { period },
            sample_type,
            read_format,
            sample_id_all: flags & SAMPLE_ID_ALL != 0,
            branch_sample_type,
            regs_user,
        })
    }

    pub fn has_field(&self, bit: u64) -> bool {
        self.sample_type & bit != 0
    }

    /// Returns whether samples have the accessed address and the kind of access.
    pub fn samples_memory(&self) -> bool {
        self.has_field(sample::IP)
            && self.has_field(sample::ADDR)
            && self.has_field(sample::DATA_SRC)
    }

    /// Returns the place of a sample's id, in bytes from its start.
    pub fn sample_id_at(&self) -> Option<usize> {
        if self.has_field(sample::IDENTIFIER) {
            return Some(0);
        }
        let before = sample::IP | sample::TID | sample::TIME | sample::ADDR;
        self.has_field(sample::ID).then(|| self.field_bytes(before))
    }

    /// Returns the place of the time in other records, in bytes from their end.
    pub fn time_from_end(&self) -> Option<usize> {
        let from = sample::TIME | sample::ID | sample::STREAM_ID | sample::CPU | sample::IDENTIFIER;
        (self.sample_id_all && self.has_field(sample::TIME)).then(|| self.field_bytes(from))
    }

    fn field_bytes(&self, bits: u64) -> usize {
        (self.sample_type & bits).count_ones() as usize * 8
    }

    /// Returns a name for an event that has none in the file.
    pub fn describe(&self) -> String {
        const KINDS: [&str; 6] = [
            "hardware",
            "software",
            "tracepoint",
            "hardware-cache",
            "raw",
            "breakpoint",
        ];
        match KINDS.get(self.kind as usize) {
            Some(kind) => format!("{kind}:{:#x}", self.config),
            None => format!("pmu{}:{:#x}", self.kind, self.config),
        }
    }
}
