//! Members that are said to lie elsewhere, in all objects of their types that the guest's slabs have room for.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use relayout_machine::{ByteMap, ByteMapError, MovedLayout, MovedObjects};
use relayout_profile::RangeRow;

use super::MemoryReaders;
use super::lookup::KernelLookup;
use crate::{Error, GuestKernel};

/// Target of a move: a line that each object has for itself.
const OWN_LINE: &str = "own-line";
/// Beginning of the names of caches that objects of all types share.
const SHARED_CACHES: &str = "kmalloc-";

/// Move of bytes in all objects of a type: `dentry.d_lockref=own-line`, `filp:file.f_op,f_inode=192`,
/// `dentry@64..128=own-line`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedMove {
    objects: NamedObjects,
    moved: MovedPart,
    /// New offset of the first byte; none for a line of its own.
    offset: Option<u32>,
}

/// Objects of a type: `dentry`, or `filp:file` for those of a cache.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NamedObjects {
    cache: Option<String>,
    type_name: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum MovedPart {
    /// Paths of members.
    Members(Vec<String>),
    /// Bytes of the object.
    Bytes(Range<u32>),
}

impl FromStr for RequestedMove {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse_move(text).ok_or_else(|| {
            format!(
                "'{text}' is none of TYPE.MEMBER=OFFSET, TYPE.MEMBER,MEMBER={OWN_LINE} and TYPE@FROM..TO={OWN_LINE}"
            )
        })
    }
}

fn parse_move(text: &str) -> Option<RequestedMove> {
    let (bytes, target) = text.split_once('=')?;
    let offset = match target {
        OWN_LINE => None,
        offset => Some(offset.parse().ok()?),
    };
    let (objects, moved) = match bytes.split_once('@') {
        Some((objects, bytes)) => {
            let (from, to) = bytes.split_once("..")?;
            let bytes = from.parse().ok()?..to.parse().ok()?;
            (objects, MovedPart::Bytes(bytes))
        }
        None => {
            let (objects, members) = bytes.split_once('.')?;
            let members = members.split(',').map(str::to_owned).collect();
            (objects, MovedPart::Members(members))
        }
    };
    let (cache, type_name) = match objects.split_once(':') {
        Some((cache, type_name)) => (Some(cache.to_owned()), type_name),
        None => (None, objects),
    };
    Some(RequestedMove {
        objects: NamedObjects {
            cache,
            type_name: type_name.to_owned(),
        },
        moved,
        offset,
    })
}

impl fmt::Display for RequestedMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(cache) = &self.objects.cache {
            write!(f, "{cache}:")?;
        }
        f.write_str(&self.objects.type_name)?;
        match &self.moved {
            MovedPart::Members(members) => write!(f, ".{}=", members.join(",")),
            MovedPart::Bytes(bytes) => write!(f, "@{}..{}=", bytes.start, bytes.end),
        }?;
        match self.offset {
            Some(offset) => write!(f, "{offset}"),
            None => f.write_str(OWN_LINE),
        }
    }
}

impl RequestedMove {
    fn refused(&self, why: String) -> Error {
        Error::Move {
            requested: self.to_string(),
            why,
        }
    }

    /// Moves the bytes in the layout of their type.
    fn apply(
        &self,
        lookup: &mut KernelLookup<'_, '_>,
        layout: &mut MovedLayout,
    ) -> Result<(), Error> {
        let mut to = self.offset.unwrap_or(layout.next_own_line());
        for bytes in self.moved_bytes(lookup)? {
            let length = bytes.end.saturating_sub(bytes.start);
            { layout.move_bytes(bytes, to) }
                .map_err(|error| self.refused(describe_layout_error(error, layout)))?;
            to += length;
        }
        Ok(())
    }

    fn moved_bytes(&self, lookup: &mut KernelLookup<'_, '_>) -> Result<Vec<Range<u32>>, Error> {
        let members = match &self.moved {
            MovedPart::Bytes(bytes) => return Ok(vec![bytes.clone()]),
            MovedPart::Members(members) => members,
        };
        let bytes_of_member = |path: &String| {
            let bytes = lookup.member_extent(&self.objects.type_name, path);
            let bytes = bytes.map_err(|missing| {
                self.refused(format!(
                    "the kernel's debug information has no {}",
                    missing.0
                ))
            })?;
            let ends = [bytes.start, bytes.end].map(|end| u32::try_from(end).unwrap_or(u32::MAX));
            Ok(ends[0]..ends[1])
        };
        members.iter().map(bytes_of_member).collect()
    }
}

fn describe_layout_error(error: ByteMapError, layout: &MovedLayout) -> String {
    match error {
        ByteMapError::OwnLines => "an object would have too many lines of its own".to_owned(),
        _ => format!(
            "not all of the bytes and their new positions are among the {} of an object",
            layout.bytes()
        ),
    }
}

/// Type with moved members.
struct MovedType {
    layout: MovedLayout,
    /// First of its moves, for messages.
    first_move: RequestedMove,
}

impl MovedType {
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
#[derive(Default)]
pub struct MovedTypes(Vec<MovedType>);

impl MovedTypes {
    /// Applies moves to the types that they name, in their order.
    ///
    /// # Errors
    /// The kernel has no such type or member, or an offset is outside of its object.
    pub fn find(kernel: &GuestKernel<'_>, moves: &[RequestedMove]) -> Result<Self, Error> {
        let mut lookup = KernelLookup::new(kernel);
        let mut types: Vec<MovedType> = Vec::new();
        for requested in moves {
            let has_objects = |known: &MovedType| known.first_move.objects == requested.objects;
            let index = match types.iter().position(has_objects) {
                Some(index) => index,
                None => {
                    types.push(MovedType {
                        layout: whole_layout(&mut lookup, requested)?,
                        first_move: requested.clone(),
                    });
                    types.len() - 1
                }
            };
            requested.apply(&mut lookup, &mut types[index].layout)?;
        }
        Ok(Self(types))
    }

    /// Returns true if nothing is moved.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Finds the objects in the guest's memory, the free ones too, and says where their bytes lie.
    ///
    /// # Errors
    /// A type has no slab cache of its own.
    pub fn map_objects(&self, readers: &MemoryReaders, memory: &[u8]) -> Result<ByteMap, Error> {
        let slabs = readers.read_slabs(memory).unwrap_or_default();
        let mut layouts = Vec::new();
        for moved in &self.0 {
            let chosen = moved.choose_slabs(&slabs)?;
            let objects = chosen.into_iter().filter_map(slab_objects).collect();
            layouts.push((moved.layout.clone(), objects));
        }
        ByteMap::new(layouts).map_err(|error| {
            let why = format!("the slabs of its kernel are not as they should be: {error:?}");
            Error::Simulation(why)
        })
    }
}

fn whole_layout(
    lookup: &mut KernelLookup<'_, '_>,
    requested: &RequestedMove,
) -> Result<MovedLayout, Error> {
    let name = &requested.objects.type_name;
    let bytes = lookup.type_bytes(name).map_err(|missing| {
        requested.refused(format!(
            "the kernel's debug information has no {}",
            missing.0
        ))
    })?;
    let layout = MovedLayout::new(u32::try_from(bytes).unwrap_or(u32::MAX));
    layout.map_err(|_| requested.refused(format!("'{name}' has {bytes} bytes")))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_have_a_text() {
        for text in [
            "dentry.d_lockref=own-line",
            "filp:file.f_op,f_path.dentry=192",
            "dentry@64..128=own-line",
        ] {
            assert_eq!(text.parse::<RequestedMove>().unwrap().to_string(), text);
        }
        for bad in [
            "",
            "dentry",
            "dentry=1",
            "dentry.d_op",
            "dentry.d_op=x",
            "dentry@64=1",
            "dentry@a..b=1",
        ] {
            let error = bad.parse::<RequestedMove>().unwrap_err();
            assert!(error.contains("TYPE.MEMBER=OFFSET"), "{error}");
        }
    }
}
