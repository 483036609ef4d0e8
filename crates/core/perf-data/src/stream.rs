//! Records that perf compressed (`perf record -z`): one zstd stream, cut into records at any byte.
//!
//! perf flushes its stream and never ends it, and a decoder holds back a window's worth of bytes
//! until it sees the end. So the blocks are counted first (RFC 8878, section 3.1.1), and an empty
//! last block is put behind the last whole one.

use std::io::Read as _;

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::error::Error;
use super::records::RecordWalk;

/// Maximum growth of a stream, as a multiple of its size. perf's records shrink to a third or a
/// tenth; only data made to do harm grows more.
const GROWTH_MAX: u64 = 50;
/// And at least this many bytes.
const BYTES_MAX_LEAST: u64 = 16 << 20;
/// Bytes that a stream may refer back to: what RFC 8878 asks of decoders, and what zstd needs up to
/// level 19. perf's is 1 unless told otherwise.
const WINDOW_BYTES_MAX: u64 = 8 << 20;
/// Decompressed at a time.
const STEP_BYTES: usize = 1 << 20;
/// An empty last block, and room for a checksum, which is not compared.
const END: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];
/// Magic number of a frame.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Bytes of a block's header.
const BLOCK_HEADER_BYTES: usize = 3;

/// Decompresses `bytes` and takes in the records there. Gives whether all was whole.
pub(super) fn walk_compressed(walk: &mut RecordWalk, bytes: &[u8]) -> Result<bool, Error> {
    let limit = BYTES_MAX_LEAST.max((bytes.len() as u64).saturating_mul(GROWTH_MAX));
    let mut out = DecompressedRecords {
        walk,
        pending: Vec::new(),
        decompressed_bytes: 0,
        limit,
    };
    let mut rest = bytes;
    while !rest.is_empty() {
        let frame =
            ZstdFrame::measure(rest).ok_or_else(|| compressed_error("they are no zstd stream"))?;
        let (blocks, behind) = rest.split_at(frame.bytes);
        let end = if frame.ended { &[] } else { &END[..] };
        out.decompress_frame(&mut blocks.chain(end))?;
        if !frame.ended {
            return Ok(behind.is_empty() && out.pending.is_empty());
        }
        rest = behind;
    }
    Ok(out.pending.is_empty())
}

fn compressed_error(error: impl std::fmt::Display) -> Error {
    Error::Compressed {
        problem: error.to_string(),
    }
}

/// The whole blocks of one frame.
struct ZstdFrame {
    /// Its bytes up to the end of the last whole block (and the checksum, if it ended).
    bytes: usize,
    /// The last block is there.
    ended: bool,
}

impl ZstdFrame {
    /// `None` if no frame begins here.
    fn measure(bytes: &[u8]) -> Option<Self> {
        let (magic, rest) = bytes.split_first_chunk()?;
        let descriptor = *rest.first().filter(|_| *magic == MAGIC)?;
        let single_segment = descriptor >> 5 & 1 == 1;
        let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
        let content_size = match descriptor >> 6 {
            0 => usize::from(single_segment),
            flag => 1 << flag,
        };
        let checksum = if descriptor >> 2 & 1 == 1 { 4 } else { 0 };
        let window = usize::from(!single_segment);
        let mut at = MAGIC.len() + 1 + window + dictionary + content_size;
        bytes.get(..at)?;
        loop {
            let Some(header) = bytes.get(at..at + BLOCK_HEADER_BYTES) else {
                return Some(Self {
                    bytes: at,
                    ended: false,
                });
            };
            let header = u32::from_le_bytes([header[0], header[1], header[2], 0]);
            // A block of kind 1 is one byte, repeated.
            let size = if header >> 1 & 3 == 1 {
                1
            } else {
                (header >> 3) as usize
            };
            let last = header & 1 == 1;
            let end = at + BLOCK_HEADER_BYTES + size + if last { checksum } else { 0 };
            if end > bytes.len() {
                return Some(Self {
                    bytes: at,
                    ended: false,
                });
            }
            at = end;
            if last {
                return Some(Self {
                    bytes: at,
                    ended: true,
                });
            }
        }
    }
}

struct DecompressedRecords<'w, 'a> {
    walk: &'w mut RecordWalk<'a>,
    /// The beginning of a record.
    pending: Vec<u8>,
    decompressed_bytes: u64,
    limit: u64,
}

impl DecompressedRecords<'_, '_> {
    fn decompress_frame(&mut self, source: &mut impl std::io::Read) -> Result<(), Error> {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW_BYTES_MAX);
        decoder.init(&mut *source).map_err(compressed_error)?;
        while !decoder.is_finished() {
            let step = BlockDecodingStrategy::UptoBytes(STEP_BYTES);
            decoder
                .decode_blocks(&mut *source, step)
                .map_err(compressed_error)?;
            self.add_bytes(decoder.collect().unwrap_or_default())?;
        }
        self.add_bytes(decoder.collect().unwrap_or_default())
    }

    fn add_bytes(&mut self, bytes: Vec<u8>) -> Result<(), Error> {
        self.decompressed_bytes += bytes.len() as u64;
        if self.decompressed_bytes > self.limit {
            return Err(compressed_error(format_args!(
                "they decompress to more than {} bytes",
                self.limit
            )));
        }
        self.pending.extend(bytes);
        let compressed = self.walk.compressed.len();
        let whole = self.walk.walk_records(&self.pending, 0, false)?;
        // Compressed records inside of the stream are not followed.
        self.walk.compressed.truncate(compressed);
        self.pending.drain(..whole as usize);
        Ok(())
    }
}
