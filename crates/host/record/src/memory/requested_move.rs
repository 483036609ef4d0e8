//! Move of members, as the user asks for it.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use relayout_machine::{ByteMapError, MovedLayout};

use super::lookup::KernelLookup;
use crate::Error;

/// Target of a move: a line that each object has for itself.
const OWN_LINE: &str = "own-line";
/// Bytes of a cache line.
const LINE_BYTES: u32 = 64;
/// Target of a move: lines that cost nothing.
const FREE_LINE: &str = "free";

/// Move of bytes in all objects of a type: `dentry.d_lockref=own-line`, `filp:file.f_op,f_inode=192`,
/// `dentry@64..128=own-line`, `dentry@64..128=free`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedMove {
    pub(super) objects: NamedObjects,
    moved: MovedPart,
    target: MoveTarget,
}

/// Place at which bytes are said to lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MoveTarget {
    /// In the object, or behind it in lines of its own: the offset of the first byte.
    Offset(u32),
    /// On the next line of the object's own.
    OwnLine,
    /// The place that they have, on lines that cost nothing.
    FreeLine,
}

/// Objects of a type: `dentry`, `filp:file` for those of a cache, `osq_node:optimistic_spin_node` for a variable,
/// `0xffff888004a2c000:mem_cgroup` for the one at an address; `0xffff888004a2c000` for the bytes of the line there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedObjects {
    pub cache: Option<String>,
    /// Empty for a line.
    pub type_name: String,
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
                "'{text}' is none of TYPE.MEMBER=OFFSET, TYPE.MEMBER,MEMBER={OWN_LINE}, TYPE@FROM..TO={OWN_LINE} and TYPE.MEMBER={FREE_LINE}"
            )
        })
    }
}

fn parse_move(text: &str) -> Option<RequestedMove> {
    let (bytes, target) = text.split_once('=')?;
    let target = match target {
        OWN_LINE => MoveTarget::OwnLine,
        FREE_LINE => MoveTarget::FreeLine,
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
    let (cache, type_name) = match objects.split_once(':') {
        Some((cache, type_name)) => (Some(cache.to_owned()), type_name),
        None if objects.starts_with("0x") => (Some(objects.to_owned()), ""),
        None => (None, objects),
    };
    Some(RequestedMove {
        objects: NamedObjects {
            cache,
            type_name: type_name.to_owned(),
        },
        moved,
        target,
    })
}

impl fmt::Display for RequestedMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NamedObjects { cache, type_name } = &self.objects;
        match cache {
            Some(line) if type_name.is_empty() => f.write_str(line),
            Some(cache) => write!(f, "{cache}:{type_name}"),
            None => f.write_str(type_name),
        }?;
        match &self.moved {
            MovedPart::Members(members) => write!(f, ".{}=", members.join(",")),
            MovedPart::Bytes(bytes) => write!(f, "@{}..{}=", bytes.start, bytes.end),
        }?;
        match self.target {
            MoveTarget::Offset(offset) => write!(f, "{offset}"),
            MoveTarget::OwnLine => f.write_str(OWN_LINE),
            MoveTarget::FreeLine => f.write_str(FREE_LINE),
        }
    }
}

impl RequestedMove {
    /// Moves bytes in all objects of a type: those of a slab cache, of the variable of this name, or at an address (`0x...`). A
    /// new offset behind the type's size lies in lines that each object has for itself.
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

    /// Lets the line at an address move from CPU to CPU in no time.
    ///
    /// ```
    /// use relayout_record::RequestedMove;
    ///
    /// assert_eq!(RequestedMove::free_line(0x1f80).to_string(), "0x1f80@0..64=free");
    /// ```
    pub fn free_line(line: u64) -> Self {
        Self::new(
            Some(&format!("{line:#x}")),
            "",
            0..LINE_BYTES,
            MoveTarget::FreeLine,
        )
    }

    fn new(place: Option<&str>, type_name: &str, bytes: Range<u32>, target: MoveTarget) -> Self {
        Self {
            objects: NamedObjects {
                cache: place.map(str::to_owned),
                type_name: type_name.to_owned(),
            },
            moved: MovedPart::Bytes(bytes),
            target,
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
    pub(super) fn whole_layout(
        &self,
        lookup: &mut KernelLookup<'_, '_>,
    ) -> Result<MovedLayout, Error> {
        let name = &self.objects.type_name;
        let bytes = match name.is_empty() {
            true => LINE_BYTES.into(),
            false => lookup.type_bytes(name).map_err(|missing| {
                self.refused(format!(
                    "the kernel's debug information has no {}",
                    missing.0
                ))
            })?,
        };
        let layout = MovedLayout::new(u32::try_from(bytes).unwrap_or(u32::MAX));
        layout.map_err(|_| self.refused(format!("'{name}' has {bytes} bytes")))
    }

    /// Moves the bytes in the layout of their type.
    pub(super) fn apply(
        &self,
        lookup: &mut KernelLookup<'_, '_>,
        layout: &mut MovedLayout,
    ) -> Result<(), Error> {
        let mut to = match self.target {
            MoveTarget::Offset(offset) => Some(offset),
            MoveTarget::OwnLine => Some(layout.next_own_line()),
            MoveTarget::FreeLine => None,
        };
        for bytes in self.moved_bytes(lookup)? {
            let length = bytes.end.saturating_sub(bytes.start);
            let moved = match &mut to {
                Some(to) => {
                    let first = *to;
                    *to += length;
                    layout.move_bytes(bytes, first)
                }
                None => layout.free_bytes(bytes),
            };
            moved.map_err(|error| self.refused(describe_layout_error(error, layout)))?;
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
            "0xffff888004a2c000@0..64=free",
            "0xffff888004a2c000:mem_cgroup@0..64=free",
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
