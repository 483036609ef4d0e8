//! Members that are said to lie elsewhere: in all objects of their types that the guest's slabs have room for, in a
//! variable, in the chunks of per-cpu memory, or in arrays of a program.

use std::collections::{BTreeSet, HashMap};

use relayout_machine::{ByteMap, MovedLayout, MovedObjects};

use super::lookup::KernelLookup;
use super::object_layout::ChangedLayout;
use super::requested_move::{MovedObjectPlace, MovedObjectShape, NamedObjects, RequestedMove};
use super::slab::{KnownSlab, SHARED_CACHES};
use super::{CHUNK_TYPE, MemoryReaders};
use crate::{Error, GuestKernel};

/// Objects with their layout.
type PlacedObjects = (MovedLayout, Vec<MovedObjects>);

/// Type with moved members.
struct MovedType {
    layout: ChangedLayout,
    /// First of its moves, for messages.
    first_move: RequestedMove,
    /// Address of the variable with the name that the move gives its objects, if there is one.
    variable: Option<u64>,
}

impl MovedType {
    /// Finds the objects of the type in a guest of `cpus` CPUs.
    fn place_objects(
        &self,
        readers: &MemoryReaders,
        memory: &[u8],
        slabs: &[KnownSlab],
        cpus: u16,
    ) -> Result<Vec<PlacedObjects>, Error> {
        let NamedObjects { place, shape } = &self.first_move.objects;
        let addresses = match (place, shape, self.variable) {
            (Some(MovedObjectPlace::Address(first)), MovedObjectShape::Array { count, .. }, _) => {
                return Ok(vec![self.place_array(*first, *count)?]);
            }
            (Some(MovedObjectPlace::Address(address)), ..) => vec![*address],
            (_, _, Some(variable)) => readers.variable_addresses(memory, variable, cpus),
            (_, MovedObjectShape::Type(name), _) if name == CHUNK_TYPE => {
                readers.chunk_addresses(memory)
            }
            _ => return self.place_in_slabs(self.choose_slabs(slabs)?),
        };
        if addresses.is_empty() {
            let why = "the guest's memory does not tell where its objects are".to_owned();
            return Err(self.first_move.refused(why));
        }
        let placed = { addresses.into_iter() }.map(|at| self.place_object(slabs, at));
        placed.collect()
    }

    /// Places objects of a program.
    fn place_array(&self, first: u64, count: u32) -> Result<PlacedObjects, Error> {
        let layout = self.layout.of_array(&self.first_move)?;
        let objects = MovedObjects {
            first,
            stride: self.layout.bytes().into(),
            count: count.into(),
        };
        Ok((layout, vec![objects]))
    }

    fn place_in_slabs(&self, slabs: Vec<&KnownSlab>) -> Result<Vec<PlacedObjects>, Error> {
        let placed = slabs.into_iter().filter_map(|slab| {
            let objects = slab_objects(slab)?;
            let layout = self.layout.in_slab(&self.first_move, slab);
            Some(layout.map(|layout| (layout, vec![objects])))
        });
        placed.collect()
    }

    /// Places the object at an address, which may be in a slab of objects of several types.
    fn place_object(&self, slabs: &[KnownSlab], first: u64) -> Result<PlacedObjects, Error> {
        let behind = slabs.partition_point(|slab| slab.range.start.0 <= first);
        let slab = behind.checked_sub(1).map(|index| &slabs[index]);
        let begins_slot = |slab: &&KnownSlab| {
            let range = &slab.range;
            first - range.start.0 < range.bytes
                && first
                    .checked_sub(range.first.0)
                    .is_some_and(|within| within % u64::from(range.stride) == 0)
        };
        let layout = match slab.filter(begins_slot) {
            Some(slab) => self.layout.in_slab(&self.first_move, slab),
            None => self.layout.of_variable(&self.first_move),
        }?;
        let stride = layout.bytes().into();
        let object = MovedObjects {
            first,
            stride,
            count: 1,
        };
        Ok((layout, vec![object]))
    }

    /// Returns the slabs of the cache that has objects of the type, of which there must be one.
    fn choose_slabs<'s>(&self, slabs: &'s [KnownSlab]) -> Result<Vec<&'s KnownSlab>, Error> {
        let bytes = self.layout.bytes();
        let NamedObjects { place, shape } = &self.first_move.objects;
        let cache = match place {
            Some(MovedObjectPlace::Name(name)) => Some(name),
            _ => None,
        };
        let name = match (cache, shape) {
            (Some(name), _) | (None, MovedObjectShape::Type(name)) => name.as_str(),
            (None, MovedObjectShape::Line | MovedObjectShape::Array { .. }) => "",
        };
        let is_own = |slab: &&KnownSlab| !slab.slots.is_shared;
        let own_slabs: Vec<&KnownSlab> = slabs.iter().filter(is_own).collect();
        // Objects of a cache may be longer or shorter than the type: task_struct ends where the processor's state does.
        let has_name = |slab: &&&KnownSlab| slab.range.owner == name;
        let named: Vec<_> = own_slabs.iter().filter(has_name).copied().collect();
        if !named.is_empty() {
            return Ok(named);
        }
        let has_size = |slab: &&KnownSlab| cache.is_none() && slab.range.object_bytes == bytes;
        let sized: Vec<_> = own_slabs.into_iter().filter(has_size).collect();
        let names: BTreeSet<&str> = sized.iter().map(|slab| &*slab.range.owner).collect();
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
                format!("there is no slab of a cache '{cache}' for objects of one type")
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
        let mut indices: HashMap<&NamedObjects, usize> = HashMap::new();
        for requested in moves {
            let index = match indices.get(&requested.objects) {
                Some(&index) => index,
                None => {
                    let bytes = requested.object_bytes(&mut lookup)?;
                    types.push(MovedType {
                        layout: ChangedLayout::new(bytes),
                        variable: find_variable(&lookup, &requested.objects),
                        first_move: requested.clone(),
                    });
                    indices.insert(&requested.objects, types.len() - 1);
                    types.len() - 1
                }
            };
            let change = requested.layout_change(&mut lookup)?;
            let layout = &mut types[index].layout;
            layout.add(requested, change)?;
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
        let mut layouts: Vec<PlacedObjects> = Vec::new();
        for moved in &self.types {
            for (layout, objects) in moved.place_objects(self.readers, memory, &slabs, cpus)? {
                match layouts.iter_mut().find(|(known, _)| *known == layout) {
                    Some((_, known)) => known.extend(objects),
                    None => layouts.push((layout, objects)),
                }
            }
        }
        ByteMap::new(layouts).map_err(|error| {
            let why = format!("objects of its kernel are not as they should be: {error:?}");
            Error::Simulation(why)
        })
    }
}

/// Returns the address of the variable that a place names; `None` if it names a slab cache or nothing.
fn find_variable(lookup: &KernelLookup<'_, '_>, objects: &NamedObjects) -> Option<u64> {
    match &objects.place {
        Some(MovedObjectPlace::Name(name)) => lookup.symbol(name).ok(),
        _ => None,
    }
}

/// Returns the objects that a slab has room for.
fn slab_objects(slab: &KnownSlab) -> Option<MovedObjects> {
    let range = &slab.range;
    let stride = u64::from(range.stride);
    let room = { range.start.saturating_add(range.bytes).0 }.checked_sub(range.first.0)?;
    let count = room.checked_div(stride)?;
    (count > 0).then_some(MovedObjects {
        first: range.first.0,
        stride,
        count,
    })
}
