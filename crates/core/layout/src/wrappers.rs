//! Types of libraries that hold one value, which people take for the value: `UnsafeCell`, `Atomic`,
//! `std::atomic`. A path of members leaves their own members out where it stays clear without
//! them.

use crate::types::NESTING_MAX;
use crate::{Aggregate, Member, TypeArena, TypeId, is_standard_scope};

/// Outermost module, type and member of the wrappers of Rust. `Atomic` stands for all atomics, `Align` for the
/// types that align what is in them.
const RUST_WRAPPERS: [(&str, &str, &str); 39] = [
    ("core", "UnsafeCell", "value"),
    ("core", "SyncUnsafeCell", "value"),
    ("core", "Cell", "value"),
    ("core", "RefCell", "value"),
    ("core", "OnceCell", "inner"),
    ("core", "Atomic", "v"),
    ("core", "Align", "__0"),
    ("core", "UsizeNoHighBit", "__0"),
    ("core", "Nanoseconds", "__0"),
    ("core", "NonNull", "pointer"),
    ("core", "Unique", "pointer"),
    ("core", "Pin", "pointer"),
    ("core", "Pin", "__pointer"),
    ("core", "ManuallyDrop", "value"),
    ("core", "MaybeDangling", "__0"),
    ("core", "MaybeUninit", "value"),
    ("core", "NonZero", "__0"),
    ("core", "Wrapping", "__0"),
    ("core", "Some", "__0"),
    ("core", "Option", "Some"),
    ("alloc", "Arc", "ptr"),
    ("alloc", "Rc", "ptr"),
    ("alloc", "Weak", "ptr"),
    ("alloc", "ArcInner", "data"),
    ("alloc", "RcInner", "value"),
    ("alloc", "RcBox", "value"),
    ("alloc", "Vec", "buf"),
    ("alloc", "VecDeque", "buf"),
    ("alloc", "String", "vec"),
    ("alloc", "RawVec", "inner"),
    ("std", "Mutex", "data"),
    ("std", "RwLock", "data"),
    ("std", "OnceLock", "value"),
    ("crossbeam_utils", "CachePadded", "value"),
    ("lock_api", "Mutex", "data"),
    ("lock_api", "RwLock", "data"),
    ("tokio", "CachePadded", "value"),
    ("tokio", "UnsafeCell", "__0"),
    ("tokio", "Atomic", "inner"),
];

/// Members by which types of libstdc++ and libc++ hold their one value.
const CXX_PAYLOADS: [&str; 17] = [
    "_M_i",
    "_M_b",
    "_M_p",
    "_M_base",
    "_M_mutex",
    "_M_cond",
    "_M_t",
    "_M_head_impl",
    "_M_impl",
    "_M_storage",
    "_M_elems",
    "_M_h",
    "__a_",
    "__a_value",
    "__m_",
    "__cv_",
    "__elems_",
];

/// Returns the member, or the alternative of an enum, that holds the value of a wrapper; `None` for
/// other types.
pub(crate) fn wrapped_member(aggregate: &Aggregate) -> Option<&Member> {
    let scope = aggregate.scope.as_deref()?;
    let outermost = scope.split("::").next().unwrap_or(scope);
    let alternatives = aggregate
        .variants
        .iter()
        .flat_map(|enumeration| &enumeration.variants);
    let mut members = { aggregate.members.iter() }.chain(alternatives.map(|found| &found.member));
    let is_cxx = matches!(outermost, "std" | "__gnu_cxx");
    members.find(|member| {
        let name = member.name.as_deref().unwrap_or_default();
        is_cxx && CXX_PAYLOADS.contains(&name) || is_rust_payload(outermost, aggregate, name)
    })
}

fn is_rust_payload(outermost: &str, aggregate: &Aggregate, member: &str) -> bool {
    let Some(mut name) = aggregate.declared_name() else {
        return false;
    };
    if name.starts_with("Atomic") {
        name = "Atomic";
    }
    let bytes = name.strip_prefix("Align").unwrap_or_default();
    if !bytes.is_empty() && bytes.bytes().all(|byte| byte.is_ascii_digit()) {
        name = "Align";
    }
    RUST_WRAPPERS.contains(&(outermost, name, member))
}

/// Returns true if a path may leave out the member `payload` of a wrapper, in front of `first`, the
/// next part of the path: no other member of the wrapper is called so. Without a next part, the
/// payload has to be the whole wrapper.
pub(crate) fn is_left_out(
    aggregate: &Aggregate,
    payload: &Member,
    payload_bytes: u64,
    first: Option<&str>,
) -> bool {
    let is_whole = payload.offset == 0 && payload_bytes == aggregate.size;
    match first {
        None | Some("[]") => is_whole,
        Some(first) => !aggregate
            .members
            .iter()
            .any(|own| own.name.as_deref() == Some(first)),
    }
}

/// Returns a member's name as paths have it: a field of a Rust tuple is called `0`, not `__0`.
pub(crate) fn path_part(name: &str) -> &str {
    match name.strip_prefix("__") {
        Some(digits) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits
        }
        _ => name,
    }
}

impl TypeArena {
    /// Returns the type itself, or what it holds by value as a wrapper of a standard library: `Pool` for
    /// `ArcInner<Pool>` and `ArcInner<Mutex<Pool>>`. `None` for types of a standard library that hold
    /// nothing else, or more than one value.
    pub fn type_outside_libraries(&self, id: TypeId) -> Option<TypeId> {
        let mut id = id;
        for _ in 0..NESTING_MAX {
            let aggregate = self.aggregate(id)?;
            match aggregate.scope.as_deref() {
                Some(scope) if is_standard_scope(scope) => id = wrapped_member(aggregate)?.ty,
                _ => return Some(id),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ArrayElements, Type};

    /// Types by their names, for tests.
    struct NamedStructs {
        types: TypeArena,
        word: TypeId,
    }

    impl NamedStructs {
        fn new() -> Self {
            let mut types = TypeArena::new();
            let word = types.add(Type::Base {
                name: "long".to_owned(),
                size: 8,
            });
            Self { types, word }
        }

        /// Adds a struct of members that follow each other.
        fn add(&mut self, scope: &str, name: &str, members: &[(&str, TypeId)]) -> TypeId {
            let mut size = 0;
            let mut placed = Vec::new();
            for (member, ty) in members {
                placed.push(Member::new(*member, *ty, size));
                size += self.types.size_of(*ty).expect("a size");
            }
            self.types.add(Type::Aggregate(Aggregate {
                name: Some(name.to_owned()),
                scope: (!scope.is_empty()).then(|| scope.to_owned()),
                size,
                members: placed,
                complete: true,
                ..Aggregate::default()
            }))
        }

        /// Compares the paths of all words, and looks each up again.
        #[track_caller]
        fn check(&self, id: TypeId, expect: &[&str]) {
            for (index, path) in expect.iter().enumerate() {
                let offset = index as u64 * 8;
                let found = self.types.member_at(id, offset, 8).expect("inside");
                assert_eq!(found.path, *path);
                let located = self
                    .types
                    .locate_path(id, path, ArrayElements::Indices(&[]));
                let located = located.map(|located| (located.offset, located.size));
                assert_eq!(located, Some((offset, 8)), "{path}");
            }
        }
    }

    #[test]
    fn atomics_are_called_like_their_variable() {
        let mut structs = NamedStructs::new();
        let atomic = structs.add("std", "atomic<long>", &[("_M_i", structs.word)]);
        let pool = structs.add("", "Pool", &[("hits", atomic), ("limit", structs.word)]);
        structs.check(pool, &["hits", "limit"]);
        // Alone, it has no other name.
        structs.check(atomic, &["_M_i"]);
        let own = structs.add("net", "atomic<long>", &[("_M_i", structs.word)]);
        let holder = structs.add("", "Holder", &[("hits", own)]);
        structs.check(holder, &["hits._M_i"]);
    }

    #[test]
    fn members_of_a_wrapper_and_of_what_it_holds_are_told_apart() {
        let mut structs = NamedStructs::new();
        let word = structs.word;
        let work = structs.add(
            "a",
            "Work",
            &[("jobs", word), ("inner", word), ("__0", word)],
        );
        let cell = structs.add("core::cell", "UnsafeCell<a::Work>", &[("value", work)]);
        let scope = "std::sync::poison::mutex";
        let mutex = structs.add(scope, "Mutex<a::Work>", &[("inner", word), ("data", cell)]);
        let pool = structs.add("a", "Pool", &[("state", mutex)]);
        let expect = ["state.inner", "state.jobs", "state.data.inner", "state.0"];
        structs.check(pool, &expect);
        let number = structs.add(scope, "Mutex<u64>", &[("inner", word), ("data", word)]);
        let count = structs.add("a", "Count", &[("state", number)]);
        structs.check(count, &["state.inner", "state.data"]);
        assert_eq!(structs.types.type_outside_libraries(mutex), Some(work));
        assert_eq!(structs.types.type_outside_libraries(number), None);
    }
}
