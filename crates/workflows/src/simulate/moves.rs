//! A layout as moves of bytes.

use std::ops::Range;

use relayout_advice::{CheckedLayout, MappedObjects};
use relayout_layout::abi::{StructLayout, StructShape};
use relayout_messages::UserError;
use relayout_record::{ObjectSize, RequestedMove};
use relayout_search::OffsetMapping;

/// Bytes of a cache line.
const LINE_BYTES: u64 = 64;

/// Change of a type's layout, by bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct LayoutMoves {
    /// Bytes that lie elsewhere, each stretch with the new offset of its first byte.
    pub stretches: Vec<(Range<u32>, u32)>,
    /// Bytes of the type today.
    pub size: u64,
    /// Its size then, if that or its alignment is another one.
    pub resized: Option<ObjectSize>,
    /// Bytes whose stores are left out where they change nothing.
    pub checked: Vec<Range<u32>>,
}

impl LayoutMoves {
    /// Returns what makes another layout of the layout `current`.
    ///
    /// # Errors
    /// Nothing does, or the type is too large.
    pub fn of_layouts(
        shape: &StructShape,
        current: &StructLayout,
        CheckedLayout {
            layout: new,
            checked,
        }: CheckedLayout<'_>,
    ) -> Result<Self, UserError> {
        let stretches = OffsetMapping::new(shape, current, new).moved_stretches();
        let is_resized = (new.size, new.align) != (current.size, current.align);
        if stretches.is_empty() && !is_resized && checked.is_empty() {
            return Err(UserError::input("the layout moves no byte"));
        }
        let resized = match is_resized {
            true => Some(object_size(new).ok_or_else(too_large)?),
            false => None,
        };
        Ok(Self {
            stretches,
            size: current.size,
            resized,
            checked: checked.to_vec(),
        })
    }

    /// Returns the moves in objects. Of objects inside others, what is behind them moves, too.
    ///
    /// # Errors
    /// Where neighbours of the objects would lie then is not known, or the objects are too large.
    pub fn in_objects(&self, objects: &[&MappedObjects]) -> Result<Vec<RequestedMove>, UserError> {
        let new_size = self.resized.map_or(self.size, |size| size.bytes.into());
        let sizes = [self.size, new_size];
        let are_lines = sizes.iter().all(|size| size.is_multiple_of(LINE_BYTES));
        let follows_size = |objects: &&MappedObjects| objects.follows_size || are_lines;
        if self.size != new_size && !objects.iter().all(follows_size) {
            let text = format!(
                "the layout has {new_size} bytes instead of {}, and where variables of the kernel would lie then is not \
                 simulated, unless both are whole cache lines",
                self.size
            );
            return Err(UserError::input(text).with_remedy("`relayout verify kernel` builds it"));
        }
        let mut moves = Vec::new();
        for objects in objects {
            moves.extend(self.in_holder(objects).ok_or_else(too_large)?);
        }
        Ok(moves)
    }

    /// Returns the moves of whole objects that hold the type; `None` if offsets overflow.
    fn in_holder(&self, objects: &MappedObjects) -> Option<Vec<RequestedMove>> {
        let place = objects.place.as_deref();
        let holder = &objects.holder;
        let end_of = |size: u64| objects.offset.checked_add(u32::try_from(size).ok()?);
        let end = end_of(self.size)?;
        let behind = objects.holder_bytes.checked_sub(end)?;
        let mut new_end = end;
        let mut moves = Vec::new();
        if let Some(size) = self.resized {
            new_end = end_of(size.bytes.into())?;
            let size = ObjectSize {
                bytes: new_end.checked_add(behind)?,
                ..size
            };
            moves.push(RequestedMove::resize(place, holder, size));
        }
        for (bytes, to) in &self.stretches {
            let bytes = bytes.start + objects.offset..bytes.end + objects.offset;
            let to = to.checked_add(objects.offset)?;
            moves.push(RequestedMove::of_bytes(place, holder, bytes, to));
        }
        for bytes in &self.checked {
            let bytes = bytes.start + objects.offset..bytes.end + objects.offset;
            moves.push(RequestedMove::check_bytes(place, holder, bytes));
        }
        if end != new_end && behind > 0 {
            let rest = end..objects.holder_bytes;
            moves.push(RequestedMove::of_bytes(place, holder, rest, new_end));
        }
        Some(moves)
    }
}

fn too_large() -> UserError {
    UserError::input("its objects are too large")
}

fn object_size(layout: &StructLayout) -> Option<ObjectSize> {
    Some(ObjectSize {
        bytes: u32::try_from(layout.size).ok()?,
        align: u32::try_from(layout.align).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(holder_bytes: u32, offset: u32, new_size: u32, expect: &[&str]) {
        let objects = MappedObjects {
            place: Some("cache".to_owned()),
            holder: "holder".to_owned(),
            holder_bytes,
            offset,
            follows_size: true,
        };
        let size = ObjectSize {
            bytes: new_size,
            align: 8,
        };
        let moves = LayoutMoves {
            stretches: vec![(8..16, 0), (0..8, 16)],
            size: 16,
            resized: (new_size != 16).then_some(size),
            checked: vec![8..10, 10..12],
        };
        let moves = moves.in_holder(&objects).unwrap();
        let texts: Vec<String> = moves.iter().map(RequestedMove::to_string).collect();
        assert_eq!(texts, expect);
    }

    #[test]
    fn what_is_behind_a_type_moves_with_its_end() {
        let alone = [
            "cache:holder@size=24/8",
            "cache:holder@8..16=0",
            "cache:holder@0..8=16",
            "cache:holder@8..10=checked",
            "cache:holder@10..12=checked",
        ];
        check(16, 0, 24, &alone);
        let inside = [
            "cache:holder@size=72/8",
            "cache:holder@16..24=8",
            "cache:holder@8..16=24",
            "cache:holder@16..18=checked",
            "cache:holder@18..20=checked",
            "cache:holder@24..64=32",
        ];
        check(64, 8, 24, &inside);
        check(
            64,
            8,
            16,
            &[
                "cache:holder@16..24=8",
                "cache:holder@8..16=24",
                "cache:holder@16..18=checked",
                "cache:holder@18..20=checked",
            ],
        );
    }
}
