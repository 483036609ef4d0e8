//! The segments of one file, up to the first bad one.

use relayout_shadow::wire::{MAGIC, RecordKind, SegmentHeader, VERSION};

use super::TornSegment;

const HEADER_BYTES: usize = size_of::<SegmentHeader>();

/// Why a segment is bad.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TornReason {
    /// The file ends within a header.
    #[error("the file ends within a segment's header")]
    HeaderCut,
    /// Not a segment.
    #[error("not a segment: it starts with {found:02x?}")]
    Magic {
        /// First bytes.
        found: [u8; 4],
    },
    /// A segment of another version.
    #[error("segment of version {found}, expected {VERSION}")]
    Version {
        /// Its version.
        found: u16,
    },
    /// No such kind of records.
    #[error("unknown kind of segment {found}")]
    Kind {
        /// Its number.
        found: u16,
    },
    /// The segment belongs into another file.
    #[error("segment of context {found} in the file of another")]
    Context {
        /// Context that it says it is of.
        found: u16,
    },
    /// A segment before this one is not there.
    #[error("segment number {found}, expected {expected}")]
    Sequence {
        /// Its number.
        found: u32,
        /// Its place in the file.
        expected: u32,
    },
    /// The records are not all there.
    #[error("{count} records, of which the file has only {bytes_left} bytes")]
    RecordsCut {
        /// Records that the header announces.
        count: u32,
        /// Bytes from the header to the end of the file.
        bytes_left: u64,
    },
    /// The records are not those that were written.
    #[error("CRC-32 of the records is {found:08x}, expected {expected:08x}")]
    Checksum {
        /// CRC-32 of what is there.
        found: u32,
        /// CRC-32 that the header announces.
        expected: u32,
    },
    /// There is no file for this context.
    #[error("no segment file")]
    NoFile,
}

/// A sound segment.
pub(super) struct SegmentFrame<'a> {
    pub(super) kind: RecordKind,
    pub(super) context: u16,
    /// Whole records of `kind`.
    pub(super) payload: &'a [u8],
}

/// The sound segments of a file, and what comes after them.
pub(super) struct SegmentFile<'a> {
    pub(super) frames: Vec<SegmentFrame<'a>>,
    pub(super) torn: Option<TornSegment>,
}

/// Walks the segments of `context`'s file, until `is_aborted`. Zeros to the end of the file are room
/// that was never used.
pub(super) fn read_frames<'b>(
    context: u16,
    bytes: &'b [u8],
    is_aborted: &dyn Fn() -> bool,
) -> SegmentFile<'b> {
    let mut frames = Vec::new();
    let mut rest = bytes;
    let mut torn = None;
    while !is_aborted() && rest.iter().any(|&b| b != 0) {
        match read_frame(context, frames.len(), rest) {
            Ok((frame, after)) => {
                frames.push(frame);
                rest = after;
            }
            Err(reason) => {
                let bytes_lost = rest.len() as u64;
                let offset = bytes.len() as u64 - bytes_lost;
                torn = Some(TornSegment {
                    context,
                    offset,
                    bytes_lost,
                    reason,
                });
                break;
            }
        }
    }
    SegmentFile { frames, torn }
}

/// The first segment of `rest`, and what follows it.
fn read_frame(
    context: u16,
    number: usize,
    rest: &[u8],
) -> Result<(SegmentFrame<'_>, &[u8]), TornReason> {
    let (header, after) = rest.split_first_chunk().ok_or(TornReason::HeaderCut)?;
    let header = parse_header(header);
    let kind = validate_header(&header, context, number)?;
    let cut = || TornReason::RecordsCut {
        count: header.count,
        bytes_left: after.len() as u64,
    };
    let length = (header.count as usize)
        .checked_mul(kind.record_bytes())
        .ok_or_else(cut)?;
    let (payload, after) = after.split_at_checked(length).ok_or_else(cut)?;
    let found = crc32fast::hash(payload);
    if found != header.crc {
        return Err(TornReason::Checksum {
            found,
            expected: header.crc,
        });
    }
    Ok((
        SegmentFrame {
            kind,
            context,
            payload,
        },
        after,
    ))
}

/// Checks all that a header says about itself.
fn validate_header(
    header: &SegmentHeader,
    context: u16,
    number: usize,
) -> Result<RecordKind, TornReason> {
    if header.magic != MAGIC {
        return Err(TornReason::Magic {
            found: header.magic,
        });
    }
    if header.version != VERSION {
        return Err(TornReason::Version {
            found: header.version,
        });
    }
    if header.context != context {
        return Err(TornReason::Context {
            found: header.context,
        });
    }
    let expected = number as u32;
    if header.sequence != expected {
        return Err(TornReason::Sequence {
            found: header.sequence,
            expected,
        });
    }
    RecordKind::from_u16(header.kind).ok_or(TornReason::Kind { found: header.kind })
}

fn parse_header(bytes: &[u8; HEADER_BYTES]) -> SegmentHeader {
    let u16_at = |i: usize| u16::from_le_bytes([bytes[i], bytes[i + 1]]);
    let u32_at =
        |i: usize| u32::from_le_bytes([bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]]);
    SegmentHeader {
        magic: [bytes[0], bytes[1], bytes[2], bytes[3]],
        version: u16_at(4),
        kind: u16_at(6),
        context: u16_at(8),
        reserved: u16_at(10),
        count: u32_at(12),
        sequence: u32_at(16),
        crc: u32_at(20),
    }
}
