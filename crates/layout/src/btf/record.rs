//! The records of a BTF blob, as `Documentation/bpf/btf.rst` of the kernel lays them out.

use crate::{Aggregate, AggregateKind, BitRange, Error, Member, Type, TypeId, Types};

const MAGIC: u16 = 0xeb9f;
const HEADER_BYTES: usize = 24;
const RECORD_BYTES: usize = 12;
/// Type tags in a row that are looked through.
const TAGS_MAX: usize = 64;

pub(super) fn has_magic(bytes: &[u8]) -> bool {
    bytes.first_chunk().is_some_and(|magic| {
        u16::from_le_bytes(*magic) == MAGIC || u16::from_be_bytes(*magic) == MAGIC
    })
}

/// A blob cut into records.
pub(super) struct Records<'a> {
    input: Input<'a>,
    strings: &'a [u8],
    /// Start of each record in the blob; the first stands for id 1.
    starts: Vec<usize>,
}

#[derive(Clone, Copy)]
struct Input<'a> {
    bytes: &'a [u8],
    little: bool,
}

/// The part that all kinds have.
#[derive(Clone, Copy)]
struct Record {
    start: usize,
    name: u32,
    kind: u32,
    count: usize,
    flag: bool,
    /// Size in bytes or a type id, by kind.
    size_or_type: u32,
}

impl<'a> Records<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let little = bytes
            .first_chunk()
            .is_some_and(|magic| u16::from_le_bytes(*magic) == MAGIC);
        let input = Input { bytes, little };
        if bytes.len() < HEADER_BYTES {
            return Err(malformed(0, "the header is cut off"));
        }
        if bytes[2] != 1 {
            return Err(malformed(2, "only version 1 is known"));
        }
        let header = input.size(4)?;
        let section = |at: usize| -> Result<std::ops::Range<usize>, Error> {
            let start = header.saturating_add(input.size(at)?);
            let end = start.saturating_add(input.size(at + 4)?);
            if end <= bytes.len() {
                Ok(start..end)
            } else {
                Err(malformed(at, "a part ends outside"))
            }
        };
        let types = section(8)?;
        let strings = &bytes[section(16)?];
        if strings.first() != Some(&0) {
            return Err(malformed(
                16,
                "the strings do not begin with an empty one (split BTF?)",
            ));
        }
        let mut starts = Vec::new();
        let mut at = types.start;
        while at < types.end {
            starts.push(at);
            at = at.saturating_add(input.record(at)?.len(at)?);
        }
        if at != types.end {
            return Err(malformed(types.end, "the last record goes over the end"));
        }
        Ok(Self {
            input,
            strings,
            starts,
        })
    }

    /// All types by id; id 0 is `void`.
    pub(super) fn types(&self, pointer_size: Option<u64>) -> Result<Types, Error> {
        let pointer_size = match pointer_size {
            Some(size) => size,
            None => self.guess_pointer_size()?,
        };
        let mut types = Types::default();
        types.add(Type::Unknown("void".to_owned()));
        for &start in &self.starts {
            let ty = self.convert(&self.input.record(start)?, pointer_size)?;
            types.add(ty);
        }
        self.place_bitfields(&mut types);
        Ok(types)
    }

    fn convert(&self, record: &Record, pointer_size: u64) -> Result<Type, Error> {
        let size = u64::from(record.size_or_type);
        Ok(match record.kind {
            1 | 16 => Type::Base {
                name: self.string(record.name)?,
                size,
            },
            2 => Type::Pointer {
                target: self.target(record)?,
                size: pointer_size,
                sigil: "*",
            },
            3 => self.array(record)?,
            4 => self.aggregate(record, AggregateKind::Struct)?,
            5 => self.aggregate(record, AggregateKind::Union)?,
            6 | 19 => self.enumeration(record)?,
            7 => {
                let kind = if record.flag {
                    AggregateKind::Union
                } else {
                    AggregateKind::Struct
                };
                let name = self.name(record.name)?;
                Type::Aggregate(Aggregate {
                    kind,
                    name,
                    ..Aggregate::default()
                })
            }
            8 => Type::Typedef {
                name: self.string(record.name)?,
                target: self.target(record)?,
                declared_align: None,
            },
            9 => Type::Qualified {
                qualifier: "volatile",
                target: self.target(record)?,
            },
            10 => Type::Qualified {
                qualifier: "const",
                target: self.target(record)?,
            },
            11 => Type::Qualified {
                qualifier: "restrict",
                target: self.target(record)?,
            },
            13 => self.function(record)?,
            12 => Type::Unknown("function".to_owned()),
            14 => Type::Unknown("variable".to_owned()),
            15 => Type::Unknown("section".to_owned()),
            17 => Type::Unknown("declaration tag".to_owned()),
            _ => Type::Unknown("type tag".to_owned()),
        })
    }

    fn array(&self, record: &Record) -> Result<Type, Error> {
        let at = record.start + RECORD_BYTES;
        let element = self.reference(self.input.u32(at)?, at)?;
        let count = self.input.u32(at + 8)?;
        let element = element.unwrap_or(TypeId(0));
        Ok(Type::Array {
            element,
            counts: vec![Some(u64::from(count))],
        })
    }

    fn aggregate(&self, record: &Record, kind: AggregateKind) -> Result<Type, Error> {
        let mut members = Vec::with_capacity(record.count);
        for index in 0..record.count {
            let at = record.start + RECORD_BYTES * (index + 1);
            let ty = self.reference(self.input.u32(at + 4)?, at + 4)?;
            let place = self.input.u32(at + 8)?;
            let (offset_bits, size_bits) = if record.flag {
                (place & 0x00ff_ffff, place >> 24)
            } else {
                (place, 0)
            };
            let (offset_bits, size_bits) = (u64::from(offset_bits), u64::from(size_bits));
            let ty = ty.unwrap_or(TypeId(0));
            let bits = self.bits(ty, offset_bits, size_bits)?;
            members.push(Member {
                name: self.name(self.input.u32(at)?)?,
                ty,
                offset: offset_bits / 8,
                bits,
                declared_align: None,
                decl: None,
            });
        }
        Ok(Type::Aggregate(Aggregate {
            kind,
            name: self.name(record.name)?,
            size: u64::from(record.size_or_type),
            members,
            complete: true,
            ..Aggregate::default()
        }))
    }

    /// Where a member is a bitfield: by its own width, or in older BTF by an integer type that is
    /// narrower than its bytes.
    fn bits(
        &self,
        ty: TypeId,
        offset_bits: u64,
        size_bits: u64,
    ) -> Result<Option<BitRange>, Error> {
        if size_bits > 0 {
            return Ok(Some(BitRange {
                offset_bits,
                size_bits,
            }));
        }
        let Some(record) = self.get(ty)? else {
            return Ok(None);
        };
        if record.kind != 1 {
            return Ok(None);
        }
        let encoding = self.input.u32(record.start + RECORD_BYTES)?;
        let (width, shift) = (u64::from(encoding & 0xff), u64::from(encoding >> 16 & 0xff));
        let whole = width == u64::from(record.size_or_type) * 8 && shift == 0;
        let offset_bits = offset_bits + shift;
        Ok((!whole && width > 0).then_some(BitRange {
            offset_bits,
            size_bits: width,
        }))
    }

    /// A bitfield's offset is that of the aligned unit of its type, as with DWARF.
    fn place_bitfields(&self, types: &mut Types) {
        for index in 0..types.len() {
            let id = TypeId(index as u32);
            let Type::Aggregate(aggregate) = types.get(id) else {
                continue;
            };
            if aggregate.members.iter().all(|member| member.bits.is_none()) {
                continue;
            }
            let mut placed = aggregate.clone();
            for member in &mut placed.members {
                if let Some(bits) = member.bits {
                    let unit = types.size_of(member.ty).unwrap_or(1).max(1);
                    member.offset = bits.offset_bits / 8 / unit * unit;
                }
            }
            types.set(id, Type::Aggregate(placed));
        }
    }

    fn enumeration(&self, record: &Record) -> Result<Type, Error> {
        let wide = record.kind == 19;
        let stride = if wide { 12 } else { 8 };
        let mut enumerators = Vec::with_capacity(record.count);
        for index in 0..record.count {
            let at = record.start + RECORD_BYTES + stride * index;
            let low = self.input.u32(at + 4)?;
            // The flag says signed, but only since 6.0: before, values of 32 bits always are.
            let value = if wide {
                let value = u64::from(self.input.u32(at + 8)?) << 32 | u64::from(low);
                if record.flag {
                    i128::from(value.cast_signed())
                } else {
                    i128::from(value)
                }
            } else {
                i128::from(low.cast_signed())
            };
            enumerators.push((self.string(self.input.u32(at)?)?, value));
        }
        let size = u64::from(record.size_or_type);
        Ok(Type::Enum {
            name: self.name(record.name)?,
            size,
            enumerators,
        })
    }

    fn function(&self, record: &Record) -> Result<Type, Error> {
        let mut params = Vec::with_capacity(record.count);
        let mut variadic = false;
        for index in 0..record.count {
            let at = record.start + RECORD_BYTES + 8 * index;
            match self.reference(self.input.u32(at + 4)?, at + 4)? {
                Some(param) => params.push(param),
                None => variadic = true,
            }
        }
        Ok(Type::Function {
            result: self.target(record)?,
            params,
            variadic,
        })
    }

    fn target(&self, record: &Record) -> Result<Option<TypeId>, Error> {
        self.reference(record.size_or_type, record.start + 8)
    }

    /// The type with that id, behind type tags; `None` for `void`.
    fn reference(&self, id: u32, at: usize) -> Result<Option<TypeId>, Error> {
        let mut id = id;
        for _ in 0..TAGS_MAX {
            match self.get(TypeId(id))? {
                None if id == 0 => return Ok(None),
                None => return Err(malformed(at, "a type id is out of range (split BTF?)")),
                Some(record) if record.kind == 18 => id = record.size_or_type,
                Some(_) => return Ok(Some(TypeId(id))),
            }
        }
        Err(malformed(at, "type tags refer to each other"))
    }

    fn get(&self, id: TypeId) -> Result<Option<Record>, Error> {
        let start = (id.0 as usize)
            .checked_sub(1)
            .and_then(|index| self.starts.get(index));
        start.map(|start| self.input.record(*start)).transpose()
    }

    /// Raw BTF does not say; `long` has the size of a pointer wherever the kernel runs.
    fn guess_pointer_size(&self) -> Result<u64, Error> {
        for &start in &self.starts {
            let record = self.input.record(start)?;
            if record.kind == 1 {
                let name = self.string(record.name)?;
                if name == "long unsigned int" || name == "unsigned long" {
                    return Ok(u64::from(record.size_or_type));
                }
            }
        }
        Ok(8)
    }

    fn name(&self, offset: u32) -> Result<Option<String>, Error> {
        Ok(Some(self.string(offset)?).filter(|name| !name.is_empty()))
    }

    fn string(&self, offset: u32) -> Result<String, Error> {
        let rest = self.strings.get(offset as usize..);
        let rest = rest.ok_or(malformed(offset as usize, "a name is outside the strings"))?;
        let end = rest
            .iter()
            .position(|byte| *byte == 0)
            .unwrap_or(rest.len());
        Ok(String::from_utf8_lossy(&rest[..end]).into_owned())
    }
}

impl Input<'_> {
    fn u32(&self, at: usize) -> Result<u32, Error> {
        let bytes = self.bytes.get(at..).and_then(<[u8]>::first_chunk);
        let bytes = *bytes.ok_or(malformed(at, "the blob ends within a record"))?;
        Ok(if self.little {
            u32::from_le_bytes(bytes)
        } else {
            u32::from_be_bytes(bytes)
        })
    }

    fn size(&self, at: usize) -> Result<usize, Error> {
        self.u32(at).map(|value| value as usize)
    }

    fn record(&self, start: usize) -> Result<Record, Error> {
        let info = self.u32(start + 4)?;
        Ok(Record {
            start,
            name: self.u32(start)?,
            kind: info >> 24 & 0x1f,
            count: (info & 0xffff) as usize,
            flag: info >> 31 == 1,
            size_or_type: self.u32(start + 8)?,
        })
    }
}

impl Record {
    /// Bytes of the whole record.
    fn len(&self, at: usize) -> Result<usize, Error> {
        let rest = match self.kind {
            1 | 14 | 17 => 4,
            3 => 12,
            4 | 5 | 15 | 19 => 12 * self.count,
            6 | 13 => 8 * self.count,
            2 | 7..=12 | 16 | 18 => 0,
            _ => {
                return Err(malformed(
                    at + 4,
                    "an unknown kind, whose length is unknown too",
                ));
            }
        };
        Ok(RECORD_BYTES + rest)
    }
}

fn malformed(offset: usize, what: &'static str) -> Error {
    Error::Btf { offset, what }
}
