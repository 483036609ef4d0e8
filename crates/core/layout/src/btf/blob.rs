//! BTF blob cut into records, in the format of `Documentation/bpf/btf.rst` of the kernel.
use std::borrow::Cow;
use std::ops::Range;

use crate::Error;

/// Number of a type in its BTF; 0 is `void`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BtfId(pub u32);

/// Contradiction in a BTF blob, and its offset in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MalformedBtf {
    pub(super) offset: usize,
    pub(super) problem: &'static str,
}

impl From<MalformedBtf> for Error {
    fn from(MalformedBtf { offset, problem }: MalformedBtf) -> Self {
        Self::Btf { offset, problem }
    }
}

const MAGIC: u16 = 0xeb9f;
const HEADER_BYTES: usize = 24;
pub(super) const RECORD_BYTES: usize = 12;

pub(super) const KIND_INT: u32 = 1;
pub(super) const KIND_POINTER: u32 = 2;
pub(super) const KIND_ARRAY: u32 = 3;
pub(super) const KIND_STRUCT: u32 = 4;
pub(super) const KIND_UNION: u32 = 5;
pub(super) const KIND_ENUM: u32 = 6;
pub(super) const KIND_FORWARD: u32 = 7;
pub(super) const KIND_TYPEDEF: u32 = 8;
pub(super) const KIND_VOLATILE: u32 = 9;
pub(super) const KIND_CONST: u32 = 10;
pub(super) const KIND_RESTRICT: u32 = 11;
pub(super) const KIND_FUNCTION: u32 = 12;
pub(super) const KIND_PROTOTYPE: u32 = 13;
pub(super) const KIND_VARIABLE: u32 = 14;
pub(super) const KIND_SECTION: u32 = 15;
pub(super) const KIND_FLOAT: u32 = 16;
pub(super) const KIND_DECL_TAG: u32 = 17;
pub(super) const KIND_TYPE_TAG: u32 = 18;
pub(super) const KIND_ENUM64: u32 = 19;

pub(super) fn has_magic(bytes: &[u8]) -> bool {
    bytes.first_chunk().is_some_and(|magic| {
        u16::from_le_bytes(*magic) == MAGIC || u16::from_be_bytes(*magic) == MAGIC
    })
}

/// BTF blob with the offsets of its records.
#[derive(Debug)]
pub(super) struct BtfBlob<'a> {
    bytes: Cow<'a, [u8]>,
    little_endian: bool,
    /// Range of the names in the blob, in bytes.
    strings: Range<usize>,
    /// Offset by which references name the first string.
    first_string: usize,
    /// Id of the first record.
    first_id: u32,
    /// Start of each record in the blob, in bytes.
    starts: Vec<u32>,
}

/// Part of a record that all kinds have.
#[derive(Clone, Copy)]
pub(super) struct BtfRecord {
    /// Offset in bytes from the start of the blob.
    pub(super) start: usize,
    /// Offset of the name in the strings.
    pub(super) name: u32,
    pub(super) kind: u32,
    pub(super) count: usize,
    pub(super) flag: bool,
    /// Size in bytes or a type id, by kind.
    pub(super) size_or_type: u32,
}

impl<'a> BtfBlob<'a> {
    /// Parses the header and finds the records. Ids and strings continue those of `base`.
    pub(super) fn parse(
        bytes: Cow<'a, [u8]>,
        base: Option<&BtfBlob<'_>>,
    ) -> Result<Self, MalformedBtf> {
        let little = bytes
            .first_chunk()
            .is_some_and(|magic| u16::from_le_bytes(*magic) == MAGIC);
        if bytes.len() < HEADER_BYTES || !has_magic(&bytes) {
            return Err(malformed_at(0, "the header is cut off"));
        }
        if bytes[2] != 1 {
            return Err(malformed_at(2, "only version 1 is known"));
        }
        let mut blob = Self {
            bytes,
            little_endian: little,
            strings: 0..0,
            first_string: base.map_or(0, |base| base.first_string + base.strings.len()),
            first_id: base
                .map_or(Some(1), BtfBlob::end_id)
                .ok_or(malformed_at(8, "too many types"))?,
            starts: Vec::new(),
        };
        let types = blob.header_range(8)?;
        blob.strings = blob.header_range(16)?;
        if base.is_none() && blob.string_bytes().first() != Some(&0) {
            let problem = "the names do not begin with an empty one: this is split BTF, as of a kernel \
                        module, which needs the BTF of its kernel as base: the vmlinux of the same build \
                        (--btf-base)";
            return Err(malformed_at(16, problem));
        }
        let mut at = types.start;
        while at < types.end {
            let start = u32::try_from(at);
            blob.starts
                .push(start.map_err(|_| malformed_at(at, "the blob is too long"))?);
            at = at.saturating_add(blob.record_at(at)?.byte_len(at)?);
        }
        if at != types.end {
            return Err(malformed_at(types.end, "the last record goes over the end"));
        }
        Ok(blob)
    }

    /// All names.
    pub(super) fn string_bytes(&self) -> &[u8] {
        &self.bytes[self.strings.clone()]
    }

    /// Range of the part of the blob that the header describes at `at`.
    fn header_range(&self, at: usize) -> Result<Range<usize>, MalformedBtf> {
        let header = self.u32(4)? as usize;
        let start = header.saturating_add(self.u32(at)? as usize);
        let end = start.saturating_add(self.u32(at + 4)? as usize);
        if end <= self.bytes.len() {
            Ok(start..end)
        } else {
            Err(malformed_at(at, "a part ends outside"))
        }
    }

    pub(super) fn first_id(&self) -> BtfId {
        BtfId(self.first_id)
    }

    pub(super) fn first_string(&self) -> usize {
        self.first_string
    }

    /// Id after the last one; `None` if ids run out.
    pub(super) fn end_id(&self) -> Option<u32> {
        u32::try_from(self.starts.len())
            .ok()?
            .checked_add(self.first_id)
    }

    /// Ids of all records in order.
    pub(super) fn ids(&self) -> impl Iterator<Item = BtfId> + use<> {
        (self.first_id..self.first_id.saturating_add(self.starts.len() as u32)).map(BtfId)
    }

    /// Record with that id, if it is in this blob.
    pub(super) fn record(&self, BtfId(id): BtfId) -> Result<Option<BtfRecord>, MalformedBtf> {
        let index = id.checked_sub(self.first_id);
        let start = index.and_then(|index| self.starts.get(index as usize));
        start
            .map(|start| self.record_at(*start as usize))
            .transpose()
    }

    /// String at an offset, without the NUL.
    pub(super) fn string(&self, offset: u32) -> Result<&[u8], MalformedBtf> {
        let own = (offset as usize).checked_sub(self.first_string);
        let rest = own.and_then(|own| self.string_bytes().get(own..));
        let rest = rest.ok_or(malformed_at(
            offset as usize,
            "a name is outside the strings",
        ))?;
        let end = rest.iter().position(|byte| *byte == 0);
        Ok(&rest[..end.unwrap_or(rest.len())])
    }

    pub(super) fn u32(&self, at: usize) -> Result<u32, MalformedBtf> {
        let bytes = self.bytes.get(at..).and_then(<[u8]>::first_chunk);
        let bytes = *bytes.ok_or(malformed_at(at, "the blob ends within a record"))?;
        Ok(if self.little_endian {
            u32::from_le_bytes(bytes)
        } else {
            u32::from_be_bytes(bytes)
        })
    }

    /// Blob of the same byte order with these words as records and these names.
    pub(super) fn with_contents(&self, types: &[u32], strings: &[u8]) -> Vec<u8> {
        let number = |word: u32| match self.little_endian {
            true => word.to_le_bytes(),
            false => word.to_be_bytes(),
        };
        let types_bytes = 4 * types.len() as u32;
        let parts = [0, types_bytes, types_bytes, strings.len() as u32];
        let mut bytes = self.bytes[..4].to_vec();
        let words = [HEADER_BYTES as u32].into_iter().chain(parts);
        bytes.extend(words.chain(types.iter().copied()).flat_map(number));
        bytes.extend(strings);
        bytes
    }

    fn record_at(&self, start: usize) -> Result<BtfRecord, MalformedBtf> {
        let info = self.u32(start + 4)?;
        Ok(BtfRecord {
            start,
            name: self.u32(start)?,
            kind: info >> 24 & 0x1f,
            count: (info & 0xffff) as usize,
            flag: info >> 31 == 1,
            size_or_type: self.u32(start + 8)?,
        })
    }
}

impl BtfRecord {
    /// Length of the whole record in bytes.
    pub(super) fn byte_len(&self, at: usize) -> Result<usize, MalformedBtf> {
        let rest = match self.kind {
            KIND_INT | KIND_VARIABLE | KIND_DECL_TAG => 4,
            KIND_ARRAY => 12,
            KIND_STRUCT | KIND_UNION | KIND_SECTION | KIND_ENUM64 => 12 * self.count,
            KIND_ENUM | KIND_PROTOTYPE => 8 * self.count,
            KIND_POINTER | KIND_FORWARD | KIND_TYPEDEF | KIND_VOLATILE | KIND_CONST
            | KIND_RESTRICT | KIND_FUNCTION | KIND_FLOAT | KIND_TYPE_TAG => 0,
            _ => {
                let problem = "an unknown kind, whose length is unknown too";
                return Err(malformed_at(at + 4, problem));
            }
        };
        Ok(RECORD_BYTES + rest)
    }
}

pub(super) const fn malformed_at(offset: usize, problem: &'static str) -> MalformedBtf {
    MalformedBtf { offset, problem }
}
