//! Move of members, as the user asks for it.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use relayout_machine::{ByteMapError, MovedLayout};

use super::lookup::KernelLookup;
use crate::Error;

/// Target of a move: a line that each object has for itself.
const OWN_LINE: &str = "own-line";

/// Move of bytes in all objects of a type: `dentry.d_lockref=own-line`, `filp:file.f_op,f_inode=192`,
/// `dentry@64..128=own-line`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedMove {
    pub(super) objects: NamedObjects,
    moved: MovedPart,
    /// New offset of the first byte; none for a line of its own.
    offset: Option<u32>,
}

/// Objects of a type: `dentry`, `filp:file` for those of a cache, `osq_node:optimistic_spin_node` for a variable,
/// `0xffff888004a2c000:mem_cgroup` for the one at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedObjects {
    pub cache: Option<String>,
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
        Self {
            objects: NamedObjects {
                cache: place.map(str::to_owned),
                type_name: type_name.to_owned(),
            },
            moved: MovedPart::Bytes(bytes),
            offset: Some(offset),
        }
    }

    /// Returns the error that the move is not possible.
    pub(super) fn refused(&self, why: String) -> Error {
        Error::Move {
            requested: self.to_string(),
            why,
        }
    }

    /// Moves the bytes in the layout of their type.
    pub(super) fn apply(
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
