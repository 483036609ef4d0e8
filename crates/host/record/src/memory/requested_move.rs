//! Move of members, or another size of their objects, as the user asks for it.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use super::lookup::{KernelLookup, MissingItem};
use crate::Error;

/// Target of a move: a line that each object has for itself.
const OWN_LINE: &str = "own-line";
/// Bytes of a cache line.
const LINE_BYTES: u32 = 64;
/// Target of a move: lines that cost nothing.
const FREE_LINE: &str = "free";
/// Stands for the target of bytes that stay where they are, and are compared before each store.
const CHECKED: &str = "checked";
/// Stands for the bytes that are moved where objects get another size.
const SIZE: &str = "size";
/// Beginning of an address.
const ADDRESS: &str = "0x";

/// Change of all objects of a type: `dentry.d_lockref=own-line`, `filp:file.f_op,f_inode=192`, `dentry@64..128=own-line`,
/// `dentry@64..128=free`; `osq_node:optimistic_spin_node.cpu=checked` leaves out stores that change nothing; `dentry@size=256/64` lets them have so many bytes, with this alignment if it is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedMove {
    pub(super) objects: NamedObjects,
    change: RequestedChange,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum RequestedChange {
    Move {
        moved: MovedPart,
        target: MoveTarget,
    },
    Size(ObjectSize),
}

/// Size of an object in another layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectSize {
    /// Bytes.
    pub bytes: u32,
    /// Alignment, a power of two; 1 if it is not told.
    pub align: u32,
}

/// Place at which bytes are said to lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MoveTarget {
    /// In the object, or behind it in lines of its own: the offset of the first byte.
    Offset(u32),
    /// On the next line of the object's own.
    OwnLine,
    /// The place that they have, on lines that cost nothing.
    FreeLine,
    /// The place that they have, where they are loaded and compared before each store.
    Checked,
}

/// Objects of a type: `dentry`, `filp:file` for those of a cache, `osq_node:optimistic_spin_node` for a variable,
/// `0xffff888004a2c000:mem_cgroup` for the one at an address, `0x7ffff7a10000:192*16` for an array of objects of so many bytes
/// in a program; `0xffff888004a2c000` for the bytes of the line there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct NamedObjects {
    pub place: Option<MovedObjectPlace>,
    pub shape: MovedObjectShape,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum MovedObjectPlace {
    /// A slab cache or a variable.
    Name(String),
    Address(u64),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum MovedObjectShape {
    Line,
    Array { bytes: u32, count: u32 },
    Type(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum MovedPart {
    /// Paths of members.
    Members(Vec<String>),
    /// Bytes of the object.
    Bytes(Range<u32>),
}

/// Change of a layout, by offsets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LayoutChange {
    /// Stretches of bytes, which follow each other at the target.
    Move {
        bytes: Vec<Range<u32>>,
        target: MoveTarget,
    },
    /// Another size.
    Size(ObjectSize),
}

impl FromStr for RequestedMove {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse_move(text).ok_or_else(|| {
            format!(
                "'{text}' is none of TYPE.MEMBER=OFFSET, TYPE.MEMBER,MEMBER={OWN_LINE}, TYPE@FROM..TO={OWN_LINE}, \
                 TYPE.MEMBER={FREE_LINE}, TYPE.MEMBER={CHECKED} and TYPE@{SIZE}=BYTES[/ALIGNMENT]"
            )
        })
    }
}

fn parse_move(text: &str) -> Option<RequestedMove> {
    let (bytes, target) = text.split_once('=')?;
    if let Some((objects, SIZE)) = bytes.split_once('@') {
        return Some(RequestedMove {
            objects: NamedObjects::parse(objects)?,
            change: RequestedChange::Size(ObjectSize::parse(target)?),
        });
    }
    let target = match target {
        OWN_LINE => MoveTarget::OwnLine,
        FREE_LINE => MoveTarget::FreeLine,
        CHECKED => MoveTarget::Checked,
        offset => MoveTarget::Offset(offset.parse().ok()?),
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
    Some(RequestedMove {
        objects: NamedObjects::parse(objects)?,
        change: RequestedChange::Move { moved, target },
    })
}

impl NamedObjects {
    fn parse(text: &str) -> Option<Self> {
        Some(match text.split_once(':') {
            Some((place, shape)) => Self::new(Some(place), shape),
            None if text.starts_with(ADDRESS) => Self::new(Some(text), ""),
            None => Self::new(None, text),
        })
    }

    fn new(place: Option<&str>, shape: &str) -> Self {
        let place_of = |text: &str| {
            let digits = text.strip_prefix(ADDRESS);
            let address = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
            address.map_or_else(
                || MovedObjectPlace::Name(text.to_owned()),
                MovedObjectPlace::Address,
            )
        };
        Self {
            place: place.map(place_of),
            shape: match (shape, parse_array(shape)) {
                ("", _) => MovedObjectShape::Line,
                (_, Some((bytes, count))) => MovedObjectShape::Array { bytes, count },
                (name, None) => MovedObjectShape::Type(name.to_owned()),
            },
        }
    }
}

/// Reads the bytes of an object and their number: `192*16`.
fn parse_array(text: &str) -> Option<(u32, u32)> {
    let (bytes, count) = text.split_once('*')?;
    Some((bytes.parse().ok()?, count.parse().ok()?))
}

impl ObjectSize {
    fn parse(text: &str) -> Option<Self> {
        let (bytes, align) = match text.split_once('/') {
            Some((bytes, align)) => (bytes, align.parse().ok()?),
            None => (text, 1),
        };
        let bytes = bytes.parse().ok()?;
        u32::is_power_of_two(align).then_some(Self { bytes, align })
    }
}

impl fmt::Display for ObjectSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.align {
            1 => write!(f, "{}", self.bytes),
            align => write!(f, "{}/{align}", self.bytes),
        }
    }
}

impl fmt::Display for NamedObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(MovedObjectPlace::Name(name)) => f.write_str(name)?,
            Some(MovedObjectPlace::Address(address)) => write!(f, "{address:#x}")?,
            None => {}
        }
        if self.place.is_some() && self.shape != MovedObjectShape::Line {
            f.write_str(":")?;
        }
        match &self.shape {
            MovedObjectShape::Line => Ok(()),
            MovedObjectShape::Array { bytes, count } => write!(f, "{bytes}*{count}"),
            MovedObjectShape::Type(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for RequestedMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.objects.fmt(f)?;
        let (moved, target) = match &self.change {
            RequestedChange::Size(size) => return write!(f, "@{SIZE}={size}"),
            RequestedChange::Move { moved, target } => (moved, target),
        };
        match moved {
            MovedPart::Members(members) => write!(f, ".{}=", members.join(",")),
            MovedPart::Bytes(bytes) => write!(f, "@{}..{}=", bytes.start, bytes.end),
        }?;
        match target {
            MoveTarget::Offset(offset) => write!(f, "{offset}"),
            MoveTarget::OwnLine => f.write_str(OWN_LINE),
            MoveTarget::FreeLine => f.write_str(FREE_LINE),
            MoveTarget::Checked => f.write_str(CHECKED),
        }
    }
}

impl RequestedMove {
    /// Moves bytes in all objects of a type: those of a slab cache, of the variable of this name, or at an address (`0x...`);
    /// there, the type may also be an array (`192*16`). A new offset behind the type's size lies in lines that each object
    /// has for itself, unless [`RequestedMove::resize`] makes room.
    ///
    /// ```
    /// use relayout_record::RequestedMove;
    ///
    /// let moved = RequestedMove::of_bytes(Some("filp"), "file", 40..48, 96);
    /// assert_eq!(moved.to_string(), "filp:file@40..48=96");
    /// ```
    pub fn of_bytes(place: Option<&str>, type_name: &str, bytes: Range<u32>, offset: u32) -> Self {
        Self::new(place, type_name, bytes, MoveTarget::Offset(offset))
    }

    /// Lets all objects have another size, so that the slots of their slabs, and elements of their arrays, lie elsewhere, too; names
    /// as in [`RequestedMove::of_bytes`].
    ///
    /// ```
    /// use relayout_record::{ObjectSize, RequestedMove};
    ///
    /// let size = ObjectSize { bytes: 256, align: 64 };
    /// let grown = RequestedMove::resize(Some("filp"), "file", size);
    /// assert_eq!(grown.to_string(), "filp:file@size=256/64");
    /// ```
    pub fn resize(place: Option<&str>, type_name: &str, size: ObjectSize) -> Self {
        Self {
            objects: NamedObjects::new(place, type_name),
            change: RequestedChange::Size(size),
        }
    }

    /// Lets bytes of all objects lie on lines that move from CPU to CPU in no time, as [`RequestedMove::of_bytes`] moves them.
    ///
    /// ```
    /// use relayout_record::RequestedMove;
    ///
    /// let freed = RequestedMove::free_bytes(Some("filp"), "file", 0..64);
    /// assert_eq!(freed.to_string(), "filp:file@0..64=free");
    /// ```
    pub fn free_bytes(place: Option<&str>, type_name: &str, bytes: Range<u32>) -> Self {
        Self::new(place, type_name, bytes, MoveTarget::FreeLine)
    }

    /// Lets stores to bytes of all objects be left out where they change nothing, as if code looked first; objects are named as
    /// for [`RequestedMove::of_bytes`].
    ///
    /// ```
    /// use relayout_record::RequestedMove;
    ///
    /// let checked = RequestedMove::check_bytes(Some("osq_node"), "optimistic_spin_node", 20..24);
    /// assert_eq!(checked.to_string(), "osq_node:optimistic_spin_node@20..24=checked");
    /// ```
    pub fn check_bytes(place: Option<&str>, type_name: &str, bytes: Range<u32>) -> Self {
        Self::new(place, type_name, bytes, MoveTarget::Checked)
    }

    /// Lets the line at an address move from CPU to CPU in no time.
    ///
    /// ```
    /// use relayout_record::RequestedMove;
    ///
    /// assert_eq!(RequestedMove::free_line(0x1f80).to_string(), "0x1f80@0..64=free");
    /// ```
    pub fn free_line(line: u64) -> Self {
        let place = format!("{ADDRESS}{line:x}");
        Self::new(Some(&place), "", 0..LINE_BYTES, MoveTarget::FreeLine)
    }

    fn new(place: Option<&str>, type_name: &str, bytes: Range<u32>, target: MoveTarget) -> Self {
        Self {
            objects: NamedObjects::new(place, type_name),
            change: RequestedChange::Move {
                moved: MovedPart::Bytes(bytes),
                target,
            },
        }
    }

    /// Returns the error that the move is not possible.
    pub(super) fn refused(&self, why: String) -> Error {
        Error::Move {
            requested: self.to_string(),
            why,
        }
    }

    /// Returns the bytes of an object before any move.
    pub(super) fn object_bytes(&self, lookup: &mut KernelLookup<'_, '_>) -> Result<u32, Error> {
        let name = match &self.objects.shape {
            MovedObjectShape::Line => return Ok(LINE_BYTES),
            MovedObjectShape::Array { bytes, .. } => return Ok(*bytes),
            MovedObjectShape::Type(name) => name,
        };
        let bytes = lookup.type_bytes(name);
        let bytes = bytes.map_err(|missing| self.refused(describe_missing(&missing)))?;
        u32::try_from(bytes).map_err(|_| self.refused(format!("'{name}' has {bytes} bytes")))
    }

    /// Returns the change by offsets.
    pub(super) fn layout_change(
        &self,
        lookup: &mut KernelLookup<'_, '_>,
    ) -> Result<LayoutChange, Error> {
        let (moved, target) = match &self.change {
            RequestedChange::Size(size) => return Ok(LayoutChange::Size(*size)),
            RequestedChange::Move { moved, target } => (moved, *target),
        };
        let bytes = match moved {
            MovedPart::Bytes(bytes) => vec![bytes.clone()],
            MovedPart::Members(members) => self.member_bytes(lookup, members)?,
        };
        Ok(LayoutChange::Move { bytes, target })
    }

    fn member_bytes(
        &self,
        lookup: &mut KernelLookup<'_, '_>,
        members: &[String],
    ) -> Result<Vec<Range<u32>>, Error> {
        let MovedObjectShape::Type(name) = &self.objects.shape else {
            return Err(self.refused("bytes have no members".to_owned()));
        };
        let bytes_of_member = |path: &String| {
            let bytes = lookup.member_extent(name, path);
            let bytes = bytes.map_err(|missing| self.refused(describe_missing(&missing)))?;
            let ends = [bytes.start, bytes.end].map(|end| u32::try_from(end).unwrap_or(u32::MAX));
            Ok(ends[0]..ends[1])
        };
        members.iter().map(bytes_of_member).collect()
    }
}

fn describe_missing(missing: &MissingItem) -> String {
    format!("the kernel's debug information has no {}", missing.0)
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
            "dentry.d_lockref=free",
            "dentry@64..128=free",
            "osq_node:optimistic_spin_node.cpu=checked",
            "0xffff888004a2c000@0..64=free",
            "0xffff888004a2c000:mem_cgroup@0..64=free",
            "0x7ffff7a10000:192*16@88..96=128",
            "filp:file@size=240",
            "filp:file@size=256/64",
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
            "dentry@size=big",
            "dentry@size=256/3",
            "dentry@size=256/0",
        ] {
            let error = bad.parse::<RequestedMove>().unwrap_err();
            assert!(error.contains("TYPE.MEMBER=OFFSET"), "{error}");
        }
    }
}
