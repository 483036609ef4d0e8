//! `PERF_RECORD_SAMPLE`: its fields stand in a fixed order, those that the event asked for.

use super::attr::{BRANCH_HW_INDEX, PerfEventAttr, read, sample};
use super::bytes::ByteReader;
use super::source::DataSource;

/// One sampled access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemorySample {
    /// Address of the instruction.
    pub pc: u64,
    /// Address of the first byte that it accessed.
    pub addr: u64,
    /// When, in nanoseconds of perf's clock; 0 where not recorded.
    pub time_ns: u64,
    /// Number of events that the sample stands for, at least 1.
    pub period: u64,
    /// Kind of access and source of the data.
    pub source: DataSource,
    /// Latency in cycles, as the hardware weighs it; 0 where not recorded.
    pub weight: u64,
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// CPU; 0 where not recorded.
    pub cpu: u32,
    /// Index into [`PerfRecording::events`](crate::PerfRecording::events).
    pub event: u32,
}

/// Reads the body of a sample of `attr`; `None` if it ends too soon.
pub(super) fn parse(mut r: ByteReader, attr: &PerfEventAttr, event: u32) -> Option<MemorySample> {
    let mut found = MemorySample {
        event,
        period: attr.period,
        ..MemorySample::default()
    };
    let r = &mut r;
    if attr.has_field(sample::IDENTIFIER) {
        r.u64()?;
    }
    if attr.has_field(sample::IP) {
        found.pc = r.u64()?;
    }
    if attr.has_field(sample::TID) {
        found.pid = r.u32()?;
        found.tid = r.u32()?;
    }
    if attr.has_field(sample::TIME) {
        found.time_ns = r.u64()?;
    }
    if attr.has_field(sample::ADDR) {
        found.addr = r.u64()?;
    }
    for bit in [sample::ID, sample::STREAM_ID] {
        if attr.has_field(bit) {
            r.u64()?;
        }
    }
    if attr.has_field(sample::CPU) {
        found.cpu = r.u32()?;
        r.u32()?;
    }
    if attr.has_field(sample::PERIOD) {
        found.period = r.u64()?;
    }
    found.period = found.period.max(1);
    skip_variable(r, attr)?;
    if attr.has_field(sample::WEIGHT) {
        found.weight = r.u64()?;
    } else if attr.has_field(sample::WEIGHT_STRUCT) {
        // Three numbers in one u64; its low half is the latency.
        found.weight = r.u64()? & 0xffff_ffff;
    }
    if attr.has_field(sample::DATA_SRC) {
        found.source = DataSource(r.u64()?);
    }
    // What follows (registers, physical address, page sizes) is not used.
    Some(found)
}

/// Skips the fields between the period and the weight; most give their own size.
fn skip_variable(r: &mut ByteReader, attr: &PerfEventAttr) -> Option<()> {
    if attr.has_field(sample::READ) {
        skip_read(r, attr.read_format)?;
    }
    if attr.has_field(sample::CALLCHAIN) {
        let frames = r.u64()?;
        r.skip(frames.checked_mul(8)?)?;
    }
    if attr.has_field(sample::RAW) {
        // The length does not count itself; together they are a multiple of 8 bytes.
        let bytes = r.u32()?;
        r.skip(bytes.into())?;
    }
    if attr.has_field(sample::BRANCH_STACK) {
        let branches = r.u64()?;
        if attr.branch_sample_type & BRANCH_HW_INDEX != 0 {
            r.u64()?;
        }
        r.skip(branches.checked_mul(24)?)?;
    }
    if attr.has_field(sample::REGS_USER) && r.u64()? != 0 {
        r.skip(u64::from(attr.regs_user) * 8)?;
    }
    if attr.has_field(sample::STACK_USER) {
        let bytes = r.u64()?;
        r.skip(bytes)?;
        if bytes != 0 {
            r.u64()?;
        }
    }
    Some(())
}

/// `struct read_format`: one value, or those of a group.
fn skip_read(r: &mut ByteReader, format: u64) -> Option<()> {
    let has = |bit| u64::from(format & bit != 0);
    let times = has(read::TOTAL_TIME_ENABLED) + has(read::TOTAL_TIME_RUNNING);
    let each = 1 + has(read::ID) + has(read::LOST);
    if has(read::GROUP) == 0 {
        return r.skip((times + each) * 8);
    }
    let values = r.u64()?;
    r.skip(times * 8)?;
    r.skip(values.checked_mul(each * 8)?)
}
