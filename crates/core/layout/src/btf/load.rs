//! Loader of types from BTF records into an arena, each record once.
//!
//! The loader works as [`DwarfTypeLoader`](crate::dwarf::DwarfTypeLoader): types that are held by
//! value come along, and an aggregate behind a pointer stays incomplete until it is asked for.
use rustc_hash::{FxHashMap, FxHashSet};

use super::BtfFile;
use super::blob::{self, BtfId, BtfRecord, MalformedBtf, RECORD_BYTES, malformed_at};
use crate::types::{LOAD_DEPTH_MAX, LoadNeed};
use crate::{Aggregate, AggregateKind, BitRange, Error, Member, Type, TypeArena, TypeId};

/// Most type tags in a row that are skipped.
const TAGS_MAX: usize = 64;

/// Lazy loader of the types of one [`BtfFile`].
pub struct BtfTypeLoader<'b, 'a> {
    btf: &'b BtfFile<'a>,
    types: TypeArena,
    ids: FxHashMap<BtfId, TypeId>,
    /// Records of aggregates whose members are not loaded.
    incomplete: FxHashMap<TypeId, BtfId>,
    /// Aggregates whose members are being read.
    being_read: FxHashSet<TypeId>,
}

impl<'b, 'a> BtfTypeLoader<'b, 'a> {
    /// Loader without loaded types.
    pub fn new(btf: &'b BtfFile<'a>) -> Self {
        Self {
            btf,
            types: TypeArena::default(),
            ids: FxHashMap::default(),
            incomplete: FxHashMap::default(),
            being_read: FxHashSet::default(),
        }
    }

    /// Loads a type with everything that it holds by value. Loading an id again returns the same
    /// type.
    ///
    /// # Errors
    /// Malformed BTF, no such id.
    pub fn load(&mut self, id: BtfId) -> Result<TypeId, Error> {
        match self.load_at(id, LoadNeed::Members, 0)? {
            Some(id) => Ok(id),
            None => Ok(self.add_void()),
        }
    }

    /// Loads the members of an aggregate that was loaded behind a pointer, and returns its id. For
    /// a declaration (`struct x;`), returns the id of the first definition of its name. Other ids
    /// are returned as they are.
    ///
    /// # Errors
    /// Same as [`load`](Self::load).
    pub fn complete(&mut self, id: TypeId) -> Result<TypeId, Error> {
        self.fill_members(id, 0)?;
        let Some((kind, name)) = self.types.declared_only(id) else {
            return Ok(id);
        };
        for found in self.btf.find_types(&name) {
            let loaded = self.load(found)?;
            let found = self.types.get(loaded);
            if matches!(found, Type::Aggregate(found) if found.kind == kind) {
                return Ok(loaded);
            }
        }
        Ok(id)
    }

    /// Types that have been loaded.
    pub fn types(&self) -> &TypeArena {
        &self.types
    }

    /// Arena of the loaded types.
    pub fn into_types(self) -> TypeArena {
        self.types
    }

    /// Type behind type tags; `None` for `void`.
    fn load_at(
        &mut self,
        id: BtfId,
        need: LoadNeed,
        depth: u32,
    ) -> Result<Option<TypeId>, MalformedBtf> {
        if depth > LOAD_DEPTH_MAX {
            return Err(malformed_at(0, "types nest too deeply"));
        }
        let Some((id, record)) = self.behind_tags(id)? else {
            return Ok(None);
        };
        let loaded = match self.ids.get(&id) {
            Some(loaded) => *loaded,
            None => self.read_record(id, &record, need, depth)?,
        };
        if need == LoadNeed::Members {
            self.fill_members(loaded, depth)?;
        }
        Ok(Some(loaded))
    }

    fn behind_tags(&self, id: BtfId) -> Result<Option<(BtfId, BtfRecord)>, MalformedBtf> {
        let mut id = id;
        for _ in 0..TAGS_MAX {
            match self.btf.record(id)? {
                None if id.0 == 0 => return Ok(None),
                None => {
                    let problem =
                        "a type id is out of range (BTF of a module without its kernel's?)";
                    return Err(malformed_at(0, problem));
                }
                Some(record) if record.kind == blob::KIND_TYPE_TAG => {
                    id = BtfId(record.size_or_type);
                }
                Some(record) => return Ok(Some((id, record))),
            }
        }
        Err(malformed_at(0, "type tags refer to each other"))
    }

    fn read_record(
        &mut self,
        id: BtfId,
        record: &BtfRecord,
        need: LoadNeed,
        depth: u32,
    ) -> Result<TypeId, MalformedBtf> {
        let unread = Type::Unknown("a type that refers to itself".to_owned());
        let loaded = self.types.add(unread);
        self.ids.insert(id, loaded);
        let ty = self.read_type(id, record, need, depth)?;
        if matches!(record.kind, blob::KIND_STRUCT | blob::KIND_UNION) {
            self.incomplete.insert(loaded, id);
        }
        self.types.set(loaded, ty);
        Ok(loaded)
    }

    fn read_type(
        &mut self,
        id: BtfId,
        record: &BtfRecord,
        need: LoadNeed,
        depth: u32,
    ) -> Result<Type, MalformedBtf> {
        let size = u64::from(record.size_or_type);
        let target = BtfId(record.size_or_type);
        let mut qualified = |qualifier| -> Result<Type, MalformedBtf> {
            let target = self.load_at(target, need, depth + 1)?;
            Ok(Type::Qualified { qualifier, target })
        };
        Ok(match record.kind {
            blob::KIND_INT | blob::KIND_FLOAT => Type::Base {
                name: self.btf.text(record.name)?.into_owned(),
                size,
            },
            blob::KIND_POINTER => self.read_pointer(target, depth)?,
            blob::KIND_ARRAY => self.read_array(id, record, need, depth)?,
            blob::KIND_STRUCT => {
                Type::Aggregate(self.aggregate_without_members(record, AggregateKind::Struct)?)
            }
            blob::KIND_UNION => {
                Type::Aggregate(self.aggregate_without_members(record, AggregateKind::Union)?)
            }
            blob::KIND_FORWARD => {
                let kind = match record.flag {
                    true => AggregateKind::Union,
                    false => AggregateKind::Struct,
                };
                let opaque = self.aggregate_without_members(record, kind)?;
                Type::Aggregate(Aggregate { size: 0, ..opaque })
            }
            blob::KIND_ENUM | blob::KIND_ENUM64 => self.read_enum(id, record)?,
            blob::KIND_TYPEDEF => Type::Typedef {
                name: self.btf.text(record.name)?.into_owned(),
                target: self.load_at(target, need, depth + 1)?,
                declared_align: None,
            },
            blob::KIND_VOLATILE => qualified("volatile")?,
            blob::KIND_CONST => qualified("const")?,
            blob::KIND_RESTRICT => qualified("restrict")?,
            blob::KIND_PROTOTYPE => self.read_prototype(id, record, depth)?,
            blob::KIND_FUNCTION => Type::Unknown("function".to_owned()),
            blob::KIND_VARIABLE => Type::Unknown("variable".to_owned()),
            blob::KIND_SECTION => Type::Unknown("section".to_owned()),
            _ => Type::Unknown("declaration tag".to_owned()),
        })
    }

    fn read_pointer(&mut self, target: BtfId, depth: u32) -> Result<Type, MalformedBtf> {
        let target = self.load_at(target, LoadNeed::Name, depth + 1)?;
        // An anonymous target has no name to ask for, so its members come along.
        if let Some(id) = target
            && matches!(self.types.get(id), Type::Aggregate(target) if target.name.is_none())
        {
            self.fill_members(id, depth + 1)?;
        }
        Ok(Type::Pointer {
            target,
            size: self.btf.pointer_size,
            align: self.btf.pointer_size,
            sigil: "*",
        })
    }

    fn read_array(
        &mut self,
        id: BtfId,
        record: &BtfRecord,
        need: LoadNeed,
        depth: u32,
    ) -> Result<Type, MalformedBtf> {
        let at = record.start + RECORD_BYTES;
        let element = BtfId(self.u32(id, at)?);
        let count = self.u32(id, at + 8)?;
        let element = self.load_at(element, need, depth + 1)?;
        Ok(Type::Array {
            element: element.unwrap_or_else(|| self.add_void()),
            counts: vec![Some(u64::from(count))],
        })
    }

    /// Aggregate without its members.
    fn aggregate_without_members(
        &self,
        record: &BtfRecord,
        kind: AggregateKind,
    ) -> Result<Aggregate, MalformedBtf> {
        Ok(Aggregate {
            kind,
            name: self.optional_name(record.name)?,
            size: u64::from(record.size_or_type),
            ..Aggregate::default()
        })
    }

    /// Reads the members of the aggregate behind typedefs, qualifiers and arrays, if they have not
    /// been read.
    fn fill_members(&mut self, id: TypeId, depth: u32) -> Result<(), MalformedBtf> {
        let id = self.types.innermost(id);
        let Some(from) = self.incomplete.remove(&id) else {
            return Ok(());
        };
        let Some(record) = self.btf.record(from)? else {
            return Ok(());
        };
        self.being_read.insert(id);
        let mut members = Vec::with_capacity(record.count);
        for index in 0..record.count {
            let at = record.start + RECORD_BYTES * (index + 1);
            members.push(self.read_member(from, &record, at, depth)?);
        }
        self.being_read.remove(&id);
        if let Type::Aggregate(aggregate) = &mut self.types.types[id.0 as usize] {
            aggregate.members = members;
            aggregate.complete = true;
        }
        Ok(())
    }

    fn read_member(
        &mut self,
        from: BtfId,
        record: &BtfRecord,
        at: usize,
        depth: u32,
    ) -> Result<Member, MalformedBtf> {
        let name = self.optional_name(self.u32(from, at)?)?;
        let id = BtfId(self.u32(from, at + 4)?);
        let place = self.u32(from, at + 8)?;
        let (offset_bits, size_bits) = match record.flag {
            true => (place & 0x00ff_ffff, place >> 24),
            false => (place, 0),
        };
        let loaded = self.load_at(id, LoadNeed::Members, depth + 1)?;
        let ty = match loaded {
            Some(ty) if self.being_read.contains(&self.types.innermost(ty)) => {
                let itself = Type::Unknown("a type that holds itself".to_owned());
                self.types.add(itself)
            }
            Some(ty) => ty,
            None => self.add_void(),
        };
        let bits = self.bit_range(id, u64::from(offset_bits), u64::from(size_bits))?;
        let offset = match bits {
            // A bitfield has the offset of the aligned unit of its type, as with DWARF.
            Some(bits) => {
                let unit = self.types.size_of(ty).unwrap_or(1).max(1);
                bits.offset_bits / 8 / unit * unit
            }
            None => u64::from(offset_bits) / 8,
        };
        Ok(Member {
            name,
            is_base: false,
            ty,
            offset,
            bits,
            declared_align: None,
            decl: None,
        })
    }

    /// Bits of a bitfield: by its own width, or in older BTF by an integer type that is narrower
    /// than its bytes.
    fn bit_range(
        &self,
        id: BtfId,
        offset_bits: u64,
        size_bits: u64,
    ) -> Result<Option<BitRange>, MalformedBtf> {
        if size_bits > 0 {
            return Ok(Some(BitRange {
                offset_bits,
                size_bits,
            }));
        }
        let Some((id, record)) = self.behind_tags(id)? else {
            return Ok(None);
        };
        if record.kind != blob::KIND_INT {
            return Ok(None);
        }
        let encoding = self.u32(id, record.start + RECORD_BYTES)?;
        let (width, shift) = (u64::from(encoding & 0xff), u64::from(encoding >> 16 & 0xff));
        let whole = width == u64::from(record.size_or_type) * 8 && shift == 0;
        let offset_bits = offset_bits + shift;
        Ok((!whole && width > 0).then_some(BitRange {
            offset_bits,
            size_bits: width,
        }))
    }

    fn read_enum(&self, id: BtfId, record: &BtfRecord) -> Result<Type, MalformedBtf> {
        let wide = record.kind == blob::KIND_ENUM64;
        let stride = if wide { 12 } else { 8 };
        let mut enumerators = Vec::with_capacity(record.count);
        for index in 0..record.count {
            let at = record.start + RECORD_BYTES + stride * index;
            let low = self.u32(id, at + 4)?;
            // The flag means signed only since 6.0. Before, values of 32 bits always are signed.
            let value = if wide {
                let value = u64::from(self.u32(id, at + 8)?) << 32 | u64::from(low);
                match record.flag {
                    true => i128::from(value.cast_signed()),
                    false => i128::from(value),
                }
            } else {
                i128::from(low.cast_signed())
            };
            let name = self.btf.text(self.u32(id, at)?)?;
            enumerators.push((name.into_owned(), value));
        }
        Ok(Type::Enum {
            name: self.optional_name(record.name)?,
            size: u64::from(record.size_or_type),
            enumerators,
        })
    }

    fn read_prototype(
        &mut self,
        id: BtfId,
        record: &BtfRecord,
        depth: u32,
    ) -> Result<Type, MalformedBtf> {
        let mut params = Vec::with_capacity(record.count);
        let mut variadic = false;
        for index in 0..record.count {
            let at = record.start + RECORD_BYTES + 8 * index;
            let param = BtfId(self.u32(id, at + 4)?);
            match self.load_at(param, LoadNeed::Name, depth + 1)? {
                Some(param) => params.push(param),
                None => variadic = true,
            }
        }
        let result = self.load_at(BtfId(record.size_or_type), LoadNeed::Name, depth + 1)?;
        Ok(Type::Function {
            result,
            params,
            variadic,
        })
    }

    fn add_void(&mut self) -> TypeId {
        self.types.add(Type::Unknown("void".to_owned()))
    }

    fn u32(&self, id: BtfId, at: usize) -> Result<u32, MalformedBtf> {
        self.btf.blob_of(id).u32(at)
    }

    fn optional_name(&self, offset: u32) -> Result<Option<String>, MalformedBtf> {
        let name = self.btf.text(offset)?;
        Ok((!name.is_empty()).then(|| name.into_owned()))
    }
}
