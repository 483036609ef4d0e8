//! Records that collectors append while recording and that the host reads back.
//!
//! Each context (CPU, thread) appends *segments* to a file of its own, `ctx-<N>.seg`. A segment is
//! a [`SegmentHeader`] and `count` records of one [`RecordKind`], all little-endian. The CRC covers
//! the payload, so that a reader can tell a torn last segment from a whole one. Tables are appended
//! as *deltas*: equal keys in several segments add up.
//!
//! All records are plain integers without padding bytes that matter; `VERSION` changes whenever a
//! record does.

/// Version of the segment format.
pub const VERSION: u16 = 4;
/// First bytes of each segment.
pub const MAGIC: [u8; 4] = *b"RLS1";

/// Kind of a segment's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum RecordKind {
    /// [`SiteRecord`]
    Site = 1,
    /// [`LineRecord`]
    Line = 2,
    /// [`CountRecord`]
    Count = 3,
    /// [`ConflictRecord`]
    Conflict = 4,
    /// [`BurstRecord`]
    Burst = 5,
    /// [`RegionRecord`]
    Region = 6,
    /// [`SummaryRecord`]
    Summary = 7,
    /// [`AllocRecord`]
    Alloc = 8,
    /// [`PairRecord`]
    Pair = 9,
    /// [`GapRecord`]
    Gap = 10,
    /// [`VisitRecord`]
    Visit = 11,
}

impl RecordKind {
    /// The kind with this number, if there is one.
    pub fn from_u16(n: u16) -> Option<Self> {
        Some(match n {
            1 => Self::Site,
            2 => Self::Line,
            3 => Self::Count,
            4 => Self::Conflict,
            5 => Self::Burst,
            6 => Self::Region,
            7 => Self::Summary,
            8 => Self::Alloc,
            9 => Self::Pair,
            10 => Self::Gap,
            11 => Self::Visit,
            _ => return None,
        })
    }

    /// Bytes of one record.
    pub fn record_bytes(self) -> usize {
        match self {
            Self::Site => size_of::<SiteRecord>(),
            Self::Line => size_of::<LineRecord>(),
            Self::Count => size_of::<CountRecord>(),
            Self::Conflict => size_of::<ConflictRecord>(),
            Self::Burst => size_of::<BurstRecord>(),
            Self::Region => size_of::<RegionRecord>(),
            Self::Summary => size_of::<SummaryRecord>(),
            Self::Alloc => size_of::<AllocRecord>(),
            Self::Pair => size_of::<PairRecord>(),
            Self::Gap => size_of::<GapRecord>(),
            Self::Visit => size_of::<VisitRecord>(),
        }
    }
}

/// Head of a segment, 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct SegmentHeader {
    /// [`MAGIC`]
    pub magic: [u8; 4],
    /// [`VERSION`]
    pub version: u16,
    /// A [`RecordKind`].
    pub kind: u16,
    /// Context that wrote it.
    pub context: u16,
    /// Zero.
    pub reserved: u16,
    /// Records that follow.
    pub count: u32,
    /// Number of the segment in its file, from 0.
    pub sequence: u32,
    /// CRC-32 (IEEE) of the records' bytes.
    pub crc: u32,
}

impl SegmentHeader {
    /// Of the segment with these records, as number `sequence` of the context's file.
    pub fn for_records<R: WireRecord>(context: u16, sequence: u32, records: &[R]) -> Self {
        Self {
            magic: MAGIC,
            version: VERSION,
            kind: R::KIND as u16,
            context,
            reserved: 0,
            count: records.len() as u32,
            sequence,
            crc: crc32(as_bytes(records)),
        }
    }
}

/// One memory instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct SiteRecord {
    /// Virtual address.
    pub pc: u64,
    /// Number used by the other records; the same in all files of a recording.
    pub site: u32,
    /// Bytes of `bytes` that count.
    pub len: u8,
    /// The instruction as it ran.
    pub bytes: [u8; 19],
}

/// Totals of the segment's context on one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct LineRecord {
    /// Address of the line.
    pub line: u64,
    /// Loads.
    pub reads: u64,
    /// Stores.
    pub writes: u64,
    /// Read transfers, the first after a store: the storing context has the only copy.
    pub first_reads: u32,
    /// Read transfers of what another context has read since the last store.
    pub later_reads: u32,
    /// Write transfers.
    pub write_transfers: u32,
    /// Upgrades.
    pub upgrades: u32,
    /// Loads that returned another value than the last store left.
    pub order_errors: u32,
    /// Zero.
    pub reserved: u32,
}

/// Accesses by granule, site and kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct CountRecord {
    /// First byte.
    pub addr: u64,
    /// Site number.
    pub site: u32,
    /// Bytes accessed.
    pub size: u8,
    /// 0 read, 1 write, 2 read-write.
    pub access: u8,
    /// Zero.
    pub reserved: u16,
    /// Number of accesses.
    pub count: u32,
    /// Silent stores among them.
    pub silent: u32,
}

/// Coherence events by pair of accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ConflictRecord {
    /// First byte of the access that missed.
    pub addr: u64,
    /// First byte of the other side's.
    pub other_addr: u64,
    /// Site that missed.
    pub site: u32,
    /// The other side's site.
    pub other_site: u32,
    /// Bytes of the access that missed.
    pub size: u8,
    /// 0 read, 1 write, 2 read-write.
    pub access: u8,
    /// Bytes of the other side's.
    pub other_size: u8,
    /// 0 read, 1 write, 2 read-write.
    pub other_access: u8,
    /// The other side's context.
    pub other_context: u16,
    /// 0 first read after a store, 1 write transfer, 2 upgrade, 3 later read.
    pub transfer: u8,
    /// Zero.
    pub reserved: u8,
    /// Events.
    pub count: u32,
    /// Of them false by first touch.
    pub false_first_touch: u32,
    /// Of them false by lifetime.
    pub false_lifetime: u32,
    /// Zero.
    pub reserved2: u32,
}

/// A pair transfer that was sampled: an access to a line that its context had, while another had
/// stored to the other line of the aligned pair since the context last used either. Each stands for
/// [`crate::ShadowConfig::pair_period`] of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct PairRecord {
    /// First byte of the access.
    pub addr: u64,
    /// First byte of the last store to the other line.
    pub other_addr: u64,
    /// Site of the access.
    pub site: u32,
    /// The store's site.
    pub other_site: u32,
    /// Bytes of the access.
    pub size: u8,
    /// 0 read, 1 write, 2 read-write.
    pub access: u8,
    /// Bytes of the store.
    pub other_size: u8,
    /// 1 write, 2 read-write.
    pub other_access: u8,
    /// The store's context.
    pub other_context: u16,
    /// Zero.
    pub reserved: u16,
    /// Number of samples.
    pub samples: u32,
    /// Zero.
    pub reserved2: u32,
}

/// A sampled time of the segment's context from one access to the next, without the recorder's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct GapRecord {
    /// Picoseconds of CPU time, and a few thousand for how it was taken; may be below 0.
    pub ps: i64,
    /// Site of the access that it began after.
    pub site: u32,
    /// 1 if the line of that access had moved: it may have been waited for.
    pub is_shared: u32,
}

/// One access of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct BurstRecord {
    /// Place in the recorded order.
    pub ticket: u64,
    /// First byte.
    pub addr: u64,
    /// Site number.
    pub site: u32,
    /// Bytes accessed.
    pub size: u8,
    /// 0 read, 1 write, 2 read-write.
    pub access: u8,
    /// 0 no, 1 silent store, 2 not known.
    pub silent: u8,
    /// Zero.
    pub reserved: u8,
}

/// Set in [`VisitRecord::instruction`]: the instruction is atomic.
pub const LOCKED: u8 = 1;
/// Set in [`VisitRecord::instruction`]: it stores only if memory holds an expected value.
pub const COMPARE_EXCHANGE: u8 = 2;
/// Set in [`VisitRecord::instruction`]: a string instruction, which may access much memory.
pub const STRING: u8 = 4;

/// One access of a visit: a context's accesses to a line with few instructions between them, and no
/// other context's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct VisitRecord {
    /// Place in the recorded order.
    pub ticket: u64,
    /// The context's clock at the access.
    pub clock: u64,
    /// First byte.
    pub addr: u64,
    /// Site number.
    pub site: u32,
    /// Operations that the context had finished, modulo 2^32.
    pub operation: u32,
    /// Bytes accessed.
    pub size: u8,
    /// 0 read, 1 write, 2 read-write.
    pub access: u8,
    /// [`LOCKED`], [`COMPARE_EXCHANGE`], [`STRING`].
    pub instruction: u8,
    /// Of a compare-and-exchange: 0 it stored nothing, 1 it stored, 2 not known.
    pub stored: u8,
    /// Zero.
    pub reserved: u32,
}

/// Coverage of the bursts of one stretch of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct RegionRecord {
    /// First byte.
    pub start: u64,
    /// First ticket.
    pub first_ticket: u64,
    /// One past the last ticket that is sure to be there.
    pub end_ticket: u64,
    /// Operations finished at `first_ticket`.
    pub first_op: u64,
    /// Operations finished at `end_ticket`.
    pub end_op: u64,
    /// One past the last ticket of which all visits are sure to be there, at most `end_ticket`.
    pub visits_end_ticket: u64,
    /// Bytes of the stretch.
    pub bytes: u32,
    /// Zero.
    pub reserved: u32,
}

/// Written once by context 0 when the collector ends in an orderly way. A recording without it was
/// cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct SummaryRecord {
    /// Wall time of the window.
    pub window_wall_ns: u64,
    /// CPU time of the process in the window.
    pub window_cpu_ns: u64,
    /// Accesses seen.
    pub accesses: u64,
    /// Operations marked.
    pub operations: u64,
    /// Burst records dropped for want of room.
    pub bursts_dropped: u64,
    /// Table entries lost because a table was full (0 in a sound recording).
    pub entries_lost: u64,
    /// 0 if no values were seen, [`STORED_VALUES_SEEN`], or 1 if all were.
    pub values_seen: u32,
    /// 1 if the window was closed by its end marker.
    pub window_closed: u32,
}

/// Value of [`SummaryRecord::values_seen`] of a collector that knows whether stores are silent, and
/// does not compare loads.
pub const STORED_VALUES_SEEN: u32 = 2;

/// Return addresses that an allocation keeps.
pub const FRAMES_MAX: usize = 8;

/// A stretch of memory that the program allocated or named, of which some line moved while it was
/// alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct AllocRecord {
    /// First byte.
    pub start: u64,
    /// Bytes.
    pub bytes: u64,
    /// Coherence events on its lines while it was alive.
    pub events: u64,
    /// Ticket when it came to be.
    pub first_ticket: u64,
    /// Ticket when it was freed; the highest number if it was not.
    pub end_ticket: u64,
    /// Call stack of the allocation: return addresses, innermost first, 0 after the last.
    pub frames: [u64; FRAMES_MAX],
    /// Number of the type's name in the recording's `map` file, from 1; 0: not named by the
    /// program.
    pub name: u32,
    /// Bytes from element to element of a named array; 0 if it is none.
    pub stride: u32,
}

/// Records that can be written and read as bytes.
///
/// # Safety
/// Implementors are `repr(C)` structs of integers (and arrays of them) without implicit padding, so
/// that every byte is initialised and every bit pattern is a value.
pub unsafe trait WireRecord: Copy {
    /// Kind of segment that holds the record.
    const KIND: RecordKind;
}

macro_rules! records {
    ($($ty:ty => $kind:ident, $bytes:literal;)*) => {$(
        // SAFETY: integers only; the assertion below rules out implicit padding.
        unsafe impl WireRecord for $ty {
            const KIND: RecordKind = RecordKind::$kind;
        }
        const _: () = assert!(size_of::<$ty>() == $bytes);
    )*};
}

records! {
    SiteRecord => Site, 32;
    LineRecord => Line, 48;
    CountRecord => Count, 24;
    ConflictRecord => Conflict, 48;
    BurstRecord => Burst, 24;
    RegionRecord => Region, 56;
    SummaryRecord => Summary, 56;
    AllocRecord => Alloc, 112;
    PairRecord => Pair, 40;
    GapRecord => Gap, 16;
    VisitRecord => Visit, 40;
}
const _: () = assert!(size_of::<SegmentHeader>() == 24);

/// The bytes of `records`, in memory order (little-endian hosts only).
pub fn as_bytes<R: WireRecord>(records: &[R]) -> &[u8] {
    // SAFETY: `Record` promises initialised bytes without padding.
    unsafe { core::slice::from_raw_parts(records.as_ptr().cast(), size_of_val(records)) }
}

/// The bytes of a header, in memory order.
pub fn as_header_bytes(header: &SegmentHeader) -> &[u8; 24] {
    // SAFETY: integers without padding, 24 bytes as asserted above.
    unsafe { &*core::ptr::from_ref(header).cast() }
}

/// Reads one record from the front of `bytes`; `None` if there are too few.
pub fn read_record<R: WireRecord>(bytes: &[u8]) -> Option<R> {
    if bytes.len() < size_of::<R>() {
        return None;
    }
    // SAFETY: enough bytes, and every bit pattern is a value.
    Some(unsafe { core::ptr::read_unaligned(bytes.as_ptr().cast()) })
}

/// CRC-32 (IEEE 802.3, reflected), as in zlib.
pub fn crc32(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

#[cfg(target_endian = "big")]
compile_error!("segments are written in memory order, which must be little-endian");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc_matches_zlib() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }
}
