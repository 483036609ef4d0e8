//! Contents of each line under a placement.

use super::bits::BitSet;
use super::{BytePlacement, Granule};

/// Longest line in bytes.
const LINE_BYTES_MAX: usize = 256;

/// Bytes of a granule that fall on one line.
#[derive(Clone, Copy)]
pub(super) struct GranulePart<const B: usize> {
    /// Index into the trace's granules.
    pub granule: u32,
    pub bytes: BitSet<B>,
}

/// A line and the parts of granules on it.
pub(super) struct LineContents<const B: usize> {
    /// Lines from the one that holds the object's first byte.
    pub line: u32,
    pub pieces: Vec<GranulePart<B>>,
}

impl<const B: usize> LineContents<B> {
    /// Returns the lines that `granules` touch, ascending. `line_bytes` is a power of two, at most
    /// `64 * B`.
    pub(super) fn from_granules(
        granules: &[Granule],
        phase: u32,
        placement: &impl BytePlacement,
        line_bytes: u32,
    ) -> Vec<Self> {
        let phase = u64::from(phase % line_bytes);
        let mut placed: Vec<(u32, GranulePart<B>)> = Vec::with_capacity(granules.len());
        for (number, granule) in granules.iter().enumerate() {
            let first = placed.len();
            for byte in 0..u32::from(granule.size) {
                let at = u64::from(placement.place(granule.offset.saturating_add(byte))) + phase;
                let line = (at / u64::from(line_bytes)) as u32;
                let bit = (at % u64::from(line_bytes)) as usize;
                match placed[first..].iter_mut().find(|(other, _)| *other == line) {
                    Some((_, piece)) => piece.bytes.insert(bit),
                    None => placed.push((
                        line,
                        GranulePart {
                            granule: number as u32,
                            bytes: BitSet::single(bit),
                        },
                    )),
                }
            }
        }
        placed.sort_by_key(|(line, _)| *line);
        placed
            .chunk_by(|a, b| a.0 == b.0)
            .map(|pieces| {
                let mut contents = Self {
                    line: pieces[0].0,
                    pieces: pieces.iter().map(|(_, piece)| *piece).collect(),
                };
                contents.renumber();
                contents
            })
            .collect()
    }

    /// Numbers bytes by their first occurrence. A line's cost depends only on which bytes are
    /// equal, so that contents which differ only in the position of the bytes become equal.
    fn renumber(&mut self) {
        let mut names = [u8::MAX; LINE_BYTES_MAX];
        let mut next = 0;
        for piece in &mut self.pieces {
            let mut renamed = BitSet::EMPTY;
            for bit in piece.bytes.iter() {
                if names[bit] == u8::MAX {
                    names[bit] = next;
                    // The last of 256 bytes is 255 and keeps that number.
                    next = next.saturating_add(1);
                }
                renamed.insert(names[bit].into());
            }
            piece.bytes = renamed;
        }
    }

    /// Returns the properties that decide the line's cost.
    pub(super) fn key(&self) -> Box<[u64]> {
        let words = self
            .pieces
            .iter()
            .flat_map(|piece| std::iter::once(u64::from(piece.granule)).chain(piece.bytes.words()));
        words.collect()
    }
}
