//! Contents of allocations that functions of the standard libraries state by their names:
//! `<alloc::boxed::Box<Task>>::new` allocates one `Task`, and `std::__new_allocator<Worker>::allocate` an array
//! of `Worker`.

use relayout_layout::{Type, TypeId};
use relayout_profile::Addr;

use super::finder::ObjectFinder;
use super::heap::{AllocationContents, TypedAllocation};
use super::ranges::ObjectCell;
use super::vote::{CERTAIN_SUPPORT, ElectedType};
use crate::types::split_arguments;

/// Weight of a statement of a function that may not be the one that allocates, as of one access whose type is
/// stated.
const DOUBTED_SUPPORT: f64 = 4.0;
/// Control bytes of a hash table beyond one for each bucket, and their alignment.
const TABLE_GROUP_BYTES: u64 = 16;
/// Buckets of a hash table, at least.
const TABLE_BUCKETS_MIN: u64 = 4;

/// Objects that a function allocates memory for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StatedObjects {
    /// Type of each, as the function's name spells it.
    pub type_name: String,
    /// Their number and place.
    pub arrangement: ObjectArrangement,
    /// The function is certain to be the one that allocates. A linker or compiler may have merged functions
    /// with equal instructions, of which one gives its name to all.
    pub is_certain: bool,
}

/// Arrangement of the objects in an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ObjectArrangement {
    /// One object, which fills the memory.
    Single,
    /// One or more objects, which fill the memory.
    Elements,
    /// Buckets of a hash table, in front of control bytes.
    HashTable,
}

impl StatedObjects {
    /// Returns what a function allocates, by its name as [`readable_name`](crate::source::readable_name) gives
    /// it; `None` for functions that do not tell. `is_certain` is as in the result.
    pub fn of_function(function: &str, is_certain: bool) -> Option<Self> {
        use ObjectArrangement::{Elements, HashTable, Single};
        const STARTS: [(&str, ObjectArrangement, &str); 12] = [
            ("<alloc::boxed::Box<", Single, ""),
            ("<alloc::sync::Arc<", Single, "alloc::sync::ArcInner"),
            ("<alloc::rc::Rc<", Single, "alloc::rc::RcInner"),
            ("<alloc::raw_vec::RawVec<", Elements, ""),
            ("<alloc::vec::Vec<", Elements, ""),
            ("<hashbrown::raw::RawTable<", HashTable, ""),
            ("std::make_unique<", Single, ""),
            ("std::__new_allocator<", Elements, ""),
            ("__gnu_cxx::new_allocator<", Elements, ""),
            ("std::allocator<", Elements, ""),
            ("std::__1::make_unique<", Single, ""),
            ("std::__1::allocator<", Elements, ""),
        ];
        let (rest, arrangement, around) =
            STARTS.iter().find_map(|(start, arrangement, around)| {
                Some((function.strip_prefix(start)?, *arrangement, *around))
            })?;
        let (arguments, after) = split_arguments(rest)?;
        let argument = arguments.first()?;
        let method = after
            .trim_start_matches([' ', '>'])
            .trim_start_matches("::");
        let makes_one = ["new", "try_new", "pin"];
        // `construct` of an allocator runs constructors, which allocate for themselves.
        let is_allocator = around.is_empty() && function.contains("allocator<");
        let is_maker = match arrangement {
            Elements if is_allocator && !function.starts_with('<') => {
                method.starts_with("allocate")
            }
            Single if !function.starts_with("std::") => {
                makes_one.iter().any(|start| method.starts_with(start))
            }
            _ => true,
        };
        // Characters say nothing of the string or buffer that they are of.
        if !is_maker || argument.is_empty() || ["char", "u8", "()"].contains(argument) {
            return None;
        }
        let slice = argument
            .strip_prefix('[')
            .and_then(|inner| inner.strip_suffix(']'));
        let (element, arrangement) = match slice {
            Some(element) if around.is_empty() => (element, Elements),
            _ => (*argument, arrangement),
        };
        let type_name = match around {
            "" => element.to_owned(),
            around => format!("{around}<{element}>"),
        };
        Some(Self {
            type_name,
            arrangement,
            is_certain,
        })
    }

    fn support(&self) -> f64 {
        match self.is_certain {
            true => CERTAIN_SUPPORT,
            false => DOUBTED_SUPPORT,
        }
    }

    /// Returns true if the memory may hold objects of this size.
    fn fits(&self, object_bytes: u64, allocation_bytes: u64) -> bool {
        object_bytes > 0
            && match self.arrangement {
                ObjectArrangement::Single => object_bytes == allocation_bytes,
                ObjectArrangement::Elements => allocation_bytes.is_multiple_of(object_bytes),
                ObjectArrangement::HashTable => {
                    table_buckets(object_bytes, allocation_bytes).is_some()
                }
            }
    }
}

/// Returns the name that gcc's debug information has for an integer of C++, which symbols spell shorter:
/// `long unsigned int` for `unsigned long`.
fn c_spelling(name: &str) -> Option<String> {
    let mut words: Vec<&str> = name.split(' ').collect();
    let is_of_integer = |word: &&str| ["unsigned", "long", "short"].contains(word);
    if !words.iter().all(is_of_integer) {
        return None;
    }
    words.sort_unstable_by_key(|word| *word == "unsigned");
    words.push("int");
    Some(words.join(" "))
}

/// Returns the number of buckets of a hash table, and the offset of its control bytes; `None` if no number of
/// buckets needs these bytes.
fn table_buckets(bucket_bytes: u64, bytes: u64) -> Option<(u64, u64)> {
    let mut buckets = TABLE_BUCKETS_MIN;
    while buckets < bytes {
        let objects = buckets.checked_mul(bucket_bytes)?;
        let control = objects.checked_next_multiple_of(TABLE_GROUP_BYTES)?;
        match (control + buckets + TABLE_GROUP_BYTES).cmp(&bytes) {
            std::cmp::Ordering::Less => buckets *= 2,
            std::cmp::Ordering::Equal => return Some((buckets, control)),
            std::cmp::Ordering::Greater => return None,
        }
    }
    None
}

/// Hash table in an allocation.
pub(super) struct StatedTable {
    /// Memory of the buckets.
    pub buckets: ObjectCell,
    /// Contents of the buckets.
    pub contents: AllocationContents,
    /// Control bytes.
    pub control: (Addr, Addr),
}

impl ObjectFinder<'_, '_, '_> {
    /// Returns what the allocating function states that an allocation holds. `voted` is what its accesses
    /// are to; they win against a function that may not be the one that allocates.
    pub(super) fn stated_contents(
        &self,
        allocation: &TypedAllocation<'_>,
        voted: Option<&AllocationContents>,
    ) -> Option<AllocationContents> {
        let stated = allocation.callers.stated.as_ref()?;
        if stated.arrangement == ObjectArrangement::HashTable {
            return None;
        }
        if !stated.is_certain && voted.is_some() {
            return None;
        }
        let (ty, bytes) = self.stated_type(allocation)?;
        let all_bytes = allocation.cell.end - allocation.cell.start;
        Some(self.contents_of(ty, bytes, all_bytes, stated.support()))
    }

    /// Returns the hash table that the allocating function states.
    pub(super) fn stated_table(&self, allocation: &TypedAllocation<'_>) -> Option<StatedTable> {
        let stated = allocation.callers.stated.as_ref()?;
        if stated.arrangement != ObjectArrangement::HashTable {
            return None;
        }
        let (ty, bytes) = self.stated_type(allocation)?;
        let ObjectCell { start, end, .. } = allocation.cell;
        let (count, control) = table_buckets(bytes, end - start)?;
        let control = start + control;
        let buckets = ObjectCell {
            start: Addr(control.0 - count * bytes),
            end: control,
            ..allocation.cell
        };
        let contents = self.contents_of(ty, bytes, count * bytes, stated.support());
        Some(StatedTable {
            buckets,
            contents,
            control: (control, end),
        })
    }

    fn stated_type(&self, allocation: &TypedAllocation<'_>) -> Option<(TypeId, u64)> {
        let stated = allocation.callers.stated.as_ref()?;
        let bytes = allocation.cell.end - allocation.cell.start;
        let store = &self.program.store;
        let find = |name: &str| store.find_spelled(name, |size| stated.fits(size, bytes));
        let ty = find(&stated.type_name).or_else(|| find(&c_spelling(&stated.type_name)?))?;
        let size = store.types().size_of(ty)?;
        stated.fits(size, bytes).then_some((ty, size))
    }

    /// Returns the contents of memory that objects of a type fill.
    fn contents_of(
        &self,
        ty: TypeId,
        object_bytes: u64,
        bytes: u64,
        support: f64,
    ) -> AllocationContents {
        let types = self.program.store.types();
        if let Type::Base { .. } = types.get(types.strip_typedefs(ty)) {
            return AllocationContents::Scalars {
                ty,
                bytes: object_bytes,
                support,
                against: 0.0,
            };
        }
        let first = ElectedType {
            base: 0,
            bytes: object_bytes,
            ty,
            support,
            against: 0.0,
            rival: None,
        };
        match bytes > object_bytes {
            true => AllocationContents::Elements(first),
            false => AllocationContents::Objects(vec![first]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(function: &str) -> Option<(String, ObjectArrangement)> {
        let found = StatedObjects::of_function(function, true)?;
        Some((found.type_name, found.arrangement))
    }

    #[track_caller]
    fn check(function: &str, type_name: &str, arrangement: ObjectArrangement) {
        assert_eq!(stated(function), Some((type_name.to_owned(), arrangement)));
    }

    #[test]
    fn functions_of_rust() {
        use ObjectArrangement::{Elements, HashTable, Single};
        let cell = "tokio::runtime::task::core::Cell<fn(u8) -> u8, alloc::sync::Arc<Shared>>";
        check(&format!("<alloc::boxed::Box<{cell}>>::new"), cell, Single);
        check(
            "<alloc::boxed::Box<[Slot]>>::new_uninit_slice",
            "Slot",
            Elements,
        );
        check(
            "<alloc::sync::Arc<core::cell::UnsafeCell<u64>>>::new",
            "alloc::sync::ArcInner<core::cell::UnsafeCell<u64>>",
            Single,
        );
        check(
            "<alloc::raw_vec::RawVec<tokio::Slot<()>>>::with_capacity_in",
            "tokio::Slot<()>",
            Elements,
        );
        check(
            "<hashbrown::raw::RawTable<(alloc::string::String, db::Entry)>>::reserve_rehash::<f>",
            "(alloc::string::String, db::Entry)",
            HashTable,
        );
    }

    #[test]
    fn functions_of_cxx() {
        use ObjectArrangement::{Elements, Single};
        check(
            "std::__new_allocator<std::_List_node<net::Job> >::allocate",
            "std::_List_node<net::Job>",
            Elements,
        );
        check("std::make_unique<Pool, int&>", "Pool", Single);
    }

    #[test]
    fn integers_have_two_names() {
        let check = |name, expect: Option<&str>| assert_eq!(c_spelling(name).as_deref(), expect);
        check("long", Some("long int"));
        check("unsigned long", Some("long unsigned int"));
        check("unsigned", Some("unsigned int"));
        check("long long", Some("long long int"));
        check("unsigned short", Some("short unsigned int"));
        check("long double", None);
        check("Item", None);
    }

    #[test]
    fn functions_that_do_not_tell() {
        for function in [
            "<alloc::raw_vec::RawVec<u8>>::grow_one",
            "std::__new_allocator<char>::allocate",
            "std::__new_allocator<std::thread>::construct<std::thread, main::{lambda()#1}>",
            "<alloc::raw_vec::RawVecInner>::finish_grow",
            "<alloc::boxed::Box<dyn core::error::Error> as core::convert::From<&str>>::from",
            "<alloc::vec::Vec<(((",
            "malloc",
        ] {
            assert_eq!(stated(function), None, "{function}");
        }
    }

    #[test]
    fn buckets_of_hash_tables() {
        assert_eq!(table_buckets(80, 4 * 80 + 4 + 16), Some((4, 320)));
        assert_eq!(table_buckets(24, 8 * 24 + 8 + 16), Some((8, 192)));
        // The control bytes are aligned.
        assert_eq!(table_buckets(12, 48 + 4 + 16), Some((4, 48)));
        assert_eq!(table_buckets(10, 48 + 4 + 16), Some((4, 48)));
        assert_eq!(table_buckets(80, 341), None);
        assert_eq!(table_buckets(u64::MAX, u64::MAX), None);
        assert_eq!(table_buckets(1, 0), None);
    }
}
