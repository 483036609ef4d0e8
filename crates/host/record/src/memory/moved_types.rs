//! Members that are said to lie elsewhere: in all objects of their types that the guest's slabs have room for, in a
//! variable, or in the chunks of per-cpu memory.

use std::collections::BTreeSet;

use relayout_machine::{ByteMap, MovedLayout, MovedObjects};
use relayout_profile::RangeRow;

use super::lookup::KernelLookup;
use super::requested_move::{NamedObjects, RequestedMove};
use super::{CHUNK_TYPE, MemoryReaders};
use crate::{Error, GuestKernel};

/// Beginning of the names of caches that objects of all types share.
const SHARED_CACHES: &str = "kmalloc-";

/// Type with moved members.
struct MovedType {
    layout: MovedLayout,
    /// First of its moves, for messages.
    first_move: RequestedMove,
    /// Address of the variable with the name that the move gives its objects, if there is one.
    variable: Option<u64>,
}

impl MovedType {
    /// Finds the objects of the type in a guest of `cpus` CPUs.
    fn find_objects(
        &self,
        readers: &MemoryReaders,
        memory: &[u8],
        slabs: &[RangeRow],
        cpus: u16,
    ) -> Result<Vec<MovedObjects>, Error> {
        let addresses = match self.variable {
            Some(variable) => readers.variable_addresses(memory, variable, cpus),
            None if self.first_move.objects.type_name == CHUNK_TYPE => {
                readers.chunk_addresses(memory)
            }
            None => {
                let chosen = self.choose_slabs(slabs)?;
                return Ok(chosen.into_iter().filter_map(slab_objects).collect());
            }
        };
        if addresses.is_empty() {
            let why = "the guest's memory does not tell where its objects are".to_owned();
            return Err(self.first_move.refused(why));
        }
        let stride = u64::from(self.layout.bytes());
        let object = |first| MovedObjects {
            first,
            stride,
            count: 1,
        };
        Ok(addresses.into_iter().map(object).collect())
    }

    /// Returns the slabs of the cache that has objects of the type, of which there must be one.
    fn choose_slabs<'s>(&self, slabs: &'s [RangeRow]) -> Result<Vec<&'s RangeRow>, Error> {
        let bytes = self.layout.bytes();
        let NamedObjects { cache, type_name } = &self.first_move.objects;
        let name = cache.as_ref().unwrap_or(type_name);
        let is_own = |slab: &&RangeRow| !slab.owner.starts_with(SHARED_CACHES);
        let own_slabs: Vec<&RangeRow> = slabs.iter().filter(is_own).collect();
        let has_name = |slab: &&&RangeRow| slab.owner == *name && slab.object_bytes >= bytes;
        let named: Vec<_> = own_slabs.iter().filter(has_name).copied().collect();
        if !named.is_empty() {
            return Ok(named);
        }
        let has_size = |slab: &&RangeRow| cache.is_none() && slab.object_bytes == bytes;
        let sized: Vec<_> = own_slabs.into_iter().filter(has_size).collect();
        let names: BTreeSet<&str> = sized.iter().map(|slab| &*slab.owner).collect();
        if names.len() == 1 {
            return Ok(sized);
        }
        let why = match (cache, names.first()) {
            (_, Some(first)) => format!(
                "{} have objects of its {bytes} bytes; name the cache, as in {first}:{}",
                Vec::from_iter(names.iter().copied()).join(" and "),
                self.first_move
            ),
            (Some(cache), None) => {
                format!(
                    "there is no slab of a cache '{cache}' for objects of {bytes} bytes of one type"
                )
            }
            (None, None) => format!(
                "no slab cache is for objects of its {bytes} bytes; objects inside others and of {SHARED_CACHES} caches \
                 cannot be moved"
            ),
        };
        Err(self.first_move.refused(why))
    }
}

/// Types of a kernel whose members are moved.
pub struct MovedTypes<'r> {
    types: Vec<MovedType>,
    /// Readers of the kernel's memory.
    readers: &'r MemoryReaders,
}

impl<'r> MovedTypes<'r> {
    /// Applies moves to the types that they name, in their order.
    ///
    /// # Errors
    /// The kernel has no such type or member, or an offset is outside of its object.
    pub fn find(
        kernel: &GuestKernel<'_>,
        readers: &'r MemoryReaders,
        moves: &[RequestedMove],
    ) -> Result<Self, Error> {
        let mut lookup = KernelLookup::new(kernel);
        let mut types: Vec<MovedType> = Vec::new();
        for requested in moves {
            let has_objects = |known: &MovedType| known.first_move.objects == requested.objects;
            let index = match types.iter().position(has_objects) {
                Some(index) => index,
                None => {
                    let name = requested.objects.cache.as_deref();
                    types.push(MovedType {
                        layout: requested.whole_layout(&mut lookup)?,
                        variable: name.and_then(|name| find_variable(&mut lookup, name)),
                        first_move: requested.clone(),
                    });
                    types.len() - 1
                }
            };
            requested.apply(&mut lookup, &mut types[index].layout)?;
        }
        Ok(Self { types, readers })
    }

    /// Returns true if nothing is moved.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    /// Finds the objects in the memory of a guest of `cpus` CPUs, the free ones too, and says where their bytes lie.
    ///
    /// # Errors
    /// A type has neither a slab cache of its own nor a variable.
    pub fn map_objects(&self, memory: &[u8], cpus: u16) -> Result<ByteMap, Error> {
        let slabs = self.readers.read_slabs(memory).unwrap_or_default();
        let objects_of = |moved: &MovedType| {
            let objects = moved.find_objects(self.readers, memory, &slabs, cpus)?;
            Ok((moved.layout.clone(), objects))
        };
        let layouts: Result<Vec<_>, Error> = self.types.iter().map(objects_of).collect();
        let layouts = layouts?;
        ByteMap::new(layouts).map_err(|error| {
            let why = format!("objects of its kernel are not as they should be: {error:?}");
            Error::Simulation(why)
        })
    }
}

/// Returns the address of a variable by its name, or of an object that is named by its address: `0xffff888004a2c000`.
fn find_variable(lookup: &mut KernelLookup<'_, '_>, name: &str) -> Option<u64> {
    match name.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => lookup.symbol(name).ok(),
    }
}

/// Returns the objects that a slab has room for.
fn slab_objects(slab: &RangeRow) -> Option<MovedObjects> {
    let stride = u64::from(slab.stride);
    let room = slab
        .start
        .saturating_add(slab.bytes)
        .0
        .checked_sub(slab.first.0)?;
    let count = room.checked_div(stride)?;
    (count > 0).then_some(MovedObjects {
        first: slab.first.0,
        stride,
        count,
    })
}
