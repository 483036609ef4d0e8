//! Characters in allocations: what strings allocate, and what lies between the objects of an arena.
//!
//! Code that fills text copies bytes, which says nothing of their type.

use std::collections::BTreeSet;

use relayout_layout::TypeId;
use relayout_profile::Addr;

use super::finder::ObjectFinder;
use super::heap::TypedAllocation;
use super::vote::{CERTAIN_SUPPORT, ElectedType};
use super::{ObjectKind, ResolvedObject};

/// End of the name of the type of text, whatever its length.
const TEXT_SUFFIX: &str = " []";
/// Objects of an arena, at least.
const ARENA_OBJECTS_MIN: usize = 4;

/// Library whose strings allocate memory for nothing but characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StringLibrary {
    /// `std::string` of libstdc++ or libc++.
    Cxx,
    /// `Vec<u8>` of Rust, which is in a `String`, too.
    Rust,
}

impl StringLibrary {
    /// Returns the library if a function allocates for one of its strings.
    pub fn of_function(function: &str) -> Option<Self> {
        const STARTS: [(&str, StringLibrary); 5] = [
            ("std::__cxx11::basic_string<char,", StringLibrary::Cxx),
            ("std::__1::basic_string<char,", StringLibrary::Cxx),
            ("std::basic_string<char,", StringLibrary::Cxx),
            ("<alloc::raw_vec::RawVec<u8>>", StringLibrary::Rust),
            ("<alloc::vec::Vec<u8>", StringLibrary::Rust),
        ];
        let mut starts = STARTS.iter();
        starts
            .find(|(start, _)| function.starts_with(start))
            .map(|(_, library)| *library)
    }

    fn character(self) -> &'static str {
        match self {
            Self::Cxx => "char",
            Self::Rust => "u8",
        }
    }

    fn holder(self) -> &'static str {
        match self {
            Self::Cxx => "text of a std::string",
            Self::Rust => "bytes of a Vec<u8> or String",
        }
    }
}

impl ObjectFinder<'_, '_, '_> {
    /// Adds what a string allocated, as one object, and returns true; false for other allocations. Votes for
    /// such memory do not count: they are of objects that had it at another time.
    pub(super) fn add_text(
        &self,
        allocation: &TypedAllocation<'_>,
        objects: &mut Vec<ResolvedObject>,
    ) -> bool {
        let Some(library) = allocation.callers.string else {
            return false;
        };
        let Some(character) = self.program.store.find_base(library.character()) else {
            return false;
        };
        let range = (allocation.cell.start, allocation.cell.end);
        let holder = library.holder().to_owned();
        objects.push(self.text_object(allocation, range, character, CERTAIN_SUPPORT, holder));
        true
    }

    /// Adds the control bytes of a hash table in an allocation.
    pub(super) fn add_control_bytes(
        &self,
        allocation: &TypedAllocation<'_>,
        range: (Addr, Addr),
        objects: &mut Vec<ResolvedObject>,
    ) {
        let byte = self
            .program
            .store
            .find_base(StringLibrary::Rust.character());
        let Some(byte) = byte else { return };
        let holder = "control bytes of a hash table".to_owned();
        objects.push(self.text_object(allocation, range, byte, CERTAIN_SUPPORT, holder));
    }

    /// Adds the bytes between the objects of an arena, if code takes bytes there for the characters of C.
    /// `objects` are those in the allocation, in order. Of memory with few objects, or with objects at the
    /// distances of an array, the rest may be anything.
    pub(super) fn add_text_between(
        &self,
        allocation: &TypedAllocation<'_>,
        touched: &BTreeSet<Addr>,
        objects: &mut Vec<ResolvedObject>,
    ) {
        if !is_arena(objects) {
            return;
        }
        let character = self.program.store.find_base(StringLibrary::Cxx.character());
        let Some(character) = character else { return };
        let characters = { allocation.scalars.iter() }.filter(|((_, ty), _)| *ty == character);
        let support: f64 = characters.map(|(_, weight)| weight).sum();
        if support == 0.0 {
            return;
        }
        let mut gaps = Vec::new();
        let mut start = allocation.cell.start;
        let ends = objects
            .iter()
            .map(|object| (object.base, object.base + object.bytes));
        for (base, end) in ends.chain([(allocation.cell.end, allocation.cell.end)]) {
            if start < base && touched.range(start..base).next().is_some() {
                gaps.push((start, base));
            }
            start = start.max(end);
        }
        objects.extend(
            gaps.into_iter()
                .map(|gap| self.text_object(allocation, gap, character, support, String::new())),
        );
    }

    fn text_object(
        &self,
        allocation: &TypedAllocation<'_>,
        (start, end): (Addr, Addr),
        character: TypeId,
        support: f64,
        holder: String,
    ) -> ResolvedObject {
        let bytes = end - start;
        let elected = ElectedType {
            base: start.0,
            bytes,
            ty: self.program.store.array_of(character, bytes),
            support,
            against: 0.0,
            rival: None,
        };
        let types = self.program.store.types();
        let type_name = format!("{}{TEXT_SUFFIX}", types.name_of(character));
        drop(types);
        ResolvedObject {
            type_name,
            kind: ObjectKind::Heap {
                site: allocation.callers.description.clone(),
                holder,
            },
            ..self.elected_object(&allocation.cell, &elected)
        }
    }
}

impl ResolvedObject {
    /// Returns true for characters in the heap, of which there is no layout.
    pub fn is_text(&self) -> bool {
        self.type_name.ends_with(TEXT_SUFFIX)
    }
}

/// Returns true for objects, in order, that do not lie at the distances of an array.
fn is_arena(objects: &[ResolvedObject]) -> bool {
    let Some(first) = objects
        .first()
        .filter(|_| objects.len() >= ARENA_OBJECTS_MIN)
    else {
        return false;
    };
    let is_in_step = |object: &ResolvedObject| {
        let distance = object.base - first.base;
        distance.is_multiple_of(first.bytes.max(1))
    };
    !objects.iter().all(is_in_step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_strings() {
        let library = StringLibrary::of_function;
        let grow = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::_M_mutate";
        assert_eq!(library(grow), Some(StringLibrary::Cxx));
        let reserve = "<alloc::raw_vec::RawVec<u8>>::with_capacity_in";
        assert_eq!(library(reserve), Some(StringLibrary::Rust));
        let of_strings =
            "std::vector<std::__cxx11::basic_string<char, std::char_traits<char> > >::reserve";
        for other in [
            of_strings,
            "<alloc::raw_vec::RawVec<u64>>::grow_one",
            "malloc",
        ] {
            assert_eq!(library(other), None, "{other}");
        }
    }
}
