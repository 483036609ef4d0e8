//! BTF put together record by record, whatever the records say.

use super::HostileCase;
use crate::targets::join;

const INT: u32 = 1;
const POINTER: u32 = 2;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const TYPEDEF: u32 = 8;
const CONST: u32 = 10;
const FUNCTION: u32 = 12;
const PROTOTYPE: u32 = 13;
const TYPE_TAG: u32 = 18;
const ENUM64: u32 = 19;

/// `name` is at 1 in every blob.
const NAME: u32 = 1;
const DEEP: u32 = 100_000;

/// A blob to be.
struct HostileBtf {
    words: Vec<u32>,
    /// Records so far; 0 is `void`.
    last: u32,
    strings: Vec<u8>,
    /// Offsets and sizes of the parts in the header, if they differ from the real ones.
    parts: Option<[u32; 4]>,
}

impl HostileBtf {
    /// `int` is 1.
    fn new() -> Self {
        let mut blob = Self {
            words: Vec::new(),
            last: 0,
            strings: b"\0name\0int\0other\0".to_vec(),
            parts: None,
        };
        blob.record(6, INT, 0, false, 4, &[32]);
        blob
    }

    /// Adds a record; returns its id.
    fn record(
        &mut self,
        name: u32,
        kind: u32,
        count: u32,
        flag: bool,
        last: u32,
        rest: &[u32],
    ) -> u32 {
        self.words
            .extend([name, u32::from(flag) << 31 | kind << 24 | count, last]);
        self.words.extend(rest);
        self.last += 1;
        self.last
    }

    fn derived(&mut self, kind: u32, target: u32) -> u32 {
        let name = if kind == TYPEDEF { NAME } else { 0 };
        self.record(name, kind, 0, false, target, &[])
    }

    fn array(&mut self, element: u32, count: u32) -> u32 {
        self.record(0, ARRAY, 0, false, 0, &[element, 1, count])
    }

    /// A struct of (type, bit offset).
    fn structure(&mut self, kind: u32, name: u32, size: u32, members: &[(u32, u32)]) -> u32 {
        let rest: Vec<u32> = members
            .iter()
            .flat_map(|(ty, at)| [NAME, *ty, *at])
            .collect();
        self.record(name, kind, members.len() as u32, false, size, &rest)
    }

    fn bytes(&self) -> Vec<u8> {
        let types = self.words.len() as u32 * 4;
        let parts = self
            .parts
            .unwrap_or([0, types, types, self.strings.len() as u32]);
        let mut bytes = vec![0x9f, 0xeb, 1, 0];
        let header = [24].into_iter().chain(parts);
        for word in header.chain(self.words.iter().copied()) {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(&self.strings);
        bytes
    }
}

pub(super) fn cases() -> Vec<HostileCase> {
    let mut cases = vec![
        ("btf-typedef-of-itself", ring(TYPEDEF, 1)),
        ("btf-typedefs-in-a-ring", ring(TYPEDEF, 3)),
        ("btf-const-of-itself", ring(CONST, 1)),
        ("btf-pointer-to-itself", ring(POINTER, 1)),
        ("btf-tags-in-a-ring", ring(TYPE_TAG, 2)),
        ("btf-array-of-itself", arrays_in_a_ring()),
        ("btf-holds-itself", holds_itself()),
        ("btf-functions-in-a-ring", functions()),
        ("btf-deep-typedefs", deep(TYPEDEF)),
        ("btf-deep-pointers", deep(POINTER)),
        ("btf-deep-tags", deep(TYPE_TAG)),
        ("btf-deep-arrays", deep_arrays()),
        ("btf-deep-structs", deep_structs()),
        ("btf-doubling-structs", doubling(STRUCT, NAME)),
        ("btf-doubling-anonymous-structs", doubling(STRUCT, 0)),
        ("btf-doubling-anonymous-unions", doubling(UNION, 0)),
        ("btf-absurd-numbers", absurd()),
        ("btf-counts-outside", counts_outside()),
        ("btf-names-outside", names_outside()),
        ("btf-wide", wide()),
        (
            "btf-empty",
            HostileBtf {
                words: Vec::new(),
                ..HostileBtf::new()
            }
            .bytes(),
        ),
    ];
    let parts = [
        "btf-types-start",
        "btf-types-length",
        "btf-names-start",
        "btf-names-length",
    ];
    for (index, name) in parts.into_iter().enumerate() {
        let mut blob = HostileBtf::new();
        let mut parts = [0, 16, 16, blob.strings.len() as u32];
        parts[index] = u32::MAX;
        blob.parts = Some(parts);
        cases.push((name, blob.bytes()));
    }
    cases
}

/// Base and own blob.
pub(super) fn split_cases() -> Vec<HostileCase> {
    let base = HostileBtf::new();
    let own = |first: u32, strings: u32| {
        let mut blob = HostileBtf {
            words: Vec::new(),
            strings: b"\0own\0".to_vec(),
            ..HostileBtf::new()
        };
        blob.structure(STRUCT, strings, 8, &[(1, 0), (first, 32)]);
        blob.structure(
            STRUCT,
            strings.saturating_add(1),
            8,
            &[(first.saturating_add(1), 0)],
        );
        blob.derived(POINTER, first.saturating_add(2));
        blob.bytes()
    };
    let names = base.strings.len() as u32;
    let base = base.bytes();
    let mut cases = vec![
        ("split-sound", join(&[base.clone(), own(1, names + 1)])),
        ("split-names-of-base", join(&[base.clone(), own(2, NAME)])),
        (
            "split-types-outside",
            join(&[base.clone(), own(u32::MAX, u32::MAX)]),
        ),
        ("split-of-itself", join(&[own(1, 1), own(1, 1)])),
        ("split-without-base", join(&[Vec::new(), own(1, 1)])),
    ];
    // A base that leads back into what stands on it.
    let mut back = HostileBtf::new();
    back.structure(STRUCT, NAME, 8, &[(4, 0)]);
    back.derived(TYPEDEF, 5);
    cases.push((
        "split-ring-over-both",
        join(&[back.bytes(), own(2, names + 1)]),
    ));
    // Distilled bases: the whole one, one with a type that the kernel has in another size, and one
    // with a kind that has no place in it.
    let kernel = {
        let mut kernel = HostileBtf::new();
        kernel.structure(STRUCT, NAME, 8, &[(1, 0), (1, 32)]);
        kernel.bytes()
    };
    for (name, kind, size) in [
        ("distilled-sound", STRUCT, 8),
        ("distilled-other-size", STRUCT, 9),
        ("distilled-typedef", TYPEDEF, 1),
    ] {
        let mut distilled = HostileBtf::new();
        distilled.record(NAME, kind, 0, false, size, &[]);
        let own = own(2, distilled.strings.len() as u32 + 1);
        cases.push((name, join(&[kernel.clone(), own, distilled.bytes()])));
    }
    cases.extend(
        self::cases()
            .into_iter()
            .map(|(name, blob)| (name, join(&[blob, own(1, 3)]))),
    );
    cases
}

fn ring(kind: u32, length: u32) -> Vec<u8> {
    let mut blob = HostileBtf::new();
    let first = blob.last + 1;
    for index in 0..length {
        blob.derived(kind, first + (index + 1) % length);
    }
    blob.structure(STRUCT, NAME, 16, &[(first, 0), (first + length - 1, 64)]);
    blob.bytes()
}

fn arrays_in_a_ring() -> Vec<u8> {
    let mut blob = HostileBtf::new();
    let first = blob.last + 1;
    blob.array(first, 2);
    blob.array(first + 2, 3);
    blob.array(first + 1, u32::MAX);
    blob.structure(STRUCT, NAME, 16, &[(first, 0), (first + 1, 64)]);
    blob.bytes()
}

fn holds_itself() -> Vec<u8> {
    let mut blob = HostileBtf::new();
    let me = blob.last + 1;
    blob.structure(
        STRUCT,
        NAME,
        16,
        &[(1, 0), (me, 32), (me + 1, 64), (me + 2, 96)],
    );
    blob.array(me, 4);
    blob.derived(TYPEDEF, me + 1);
    blob.structure(UNION, 0, 16, &[(me, 0), (me + 3, 0)]);
    blob.bytes()
}

fn functions() -> Vec<u8> {
    let mut blob = HostileBtf::new();
    let me = blob.last + 1;
    blob.record(0, PROTOTYPE, 3, false, me, &[NAME, me + 1, NAME, me, 0, 0]);
    blob.derived(POINTER, me);
    blob.record(NAME, FUNCTION, 0, false, me, &[]);
    blob.structure(STRUCT, NAME, 8, &[(me + 1, 0), (me, 0), (me + 2, 0)]);
    blob.bytes()
}

fn deep(kind: u32) -> Vec<u8> {
    let mut blob = HostileBtf::new();
    for _ in 0..DEEP {
        blob.derived(kind, blob.last);
    }
    blob.structure(STRUCT, NAME, 8, &[(blob.last, 0)]);
    blob.bytes()
}

fn deep_arrays() -> Vec<u8> {
    let mut blob = HostileBtf::new();
    for _ in 0..DEEP {
        blob.array(blob.last, 2);
    }
    blob.structure(STRUCT, NAME, 8, &[(blob.last, 0)]);
    blob.bytes()
}

fn deep_structs() -> Vec<u8> {
    let mut blob = HostileBtf::new();
    for _ in 0..DEEP {
        blob.structure(STRUCT, NAME, 8, &[(blob.last, 0)]);
    }
    blob.bytes()
}

fn doubling(kind: u32, name: u32) -> Vec<u8> {
    let mut blob = HostileBtf::new();
    for level in 0..36u32 {
        let size = 4u32.checked_shl(level + 1).unwrap_or(u32::MAX);
        let half = if kind == UNION {
            0
        } else {
            size.saturating_mul(4)
        };
        blob.structure(kind, name, size, &[(blob.last, 0), (blob.last, half)]);
    }
    blob.structure(STRUCT, NAME, 64, &[(blob.last, 0)]);
    blob.bytes()
}

fn absurd() -> Vec<u8> {
    let mut blob = HostileBtf::new();
    let numbers = [0, 1, 3, 255, 4097, 1 << 24, 1 << 31, u32::MAX];
    for number in numbers {
        let int = blob.record(NAME, INT, 0, false, number, &[number]);
        let array = blob.array(int, number);
        let cube = blob.array(array, number);
        for flag in [false, true] {
            for size in numbers {
                let members = [NAME, int, number, NAME, cube, number, 0, 1, size];
                blob.record(NAME, STRUCT, 3, flag, size, &members);
                blob.record(0, UNION, 3, flag, size, &members);
                blob.structure(STRUCT, NAME, size, &[(blob.last, 0), (cube, size)]);
            }
            blob.record(NAME, ENUM, 1, flag, number, &[NAME, number]);
            blob.record(NAME, ENUM64, 1, flag, number, &[NAME, number, number]);
        }
    }
    blob.bytes()
}

fn counts_outside() -> Vec<u8> {
    let mut blob = HostileBtf::new();
    blob.record(NAME, STRUCT, 0xffff, false, 8, &[NAME, 1, 0]);
    blob.bytes()
}

fn names_outside() -> Vec<u8> {
    let mut blob = HostileBtf::new();
    for name in [15, 16, 17, 1 << 31, u32::MAX] {
        blob.record(name, STRUCT, 1, false, 8, &[name, 1, 0]);
        blob.record(name, TYPEDEF, 0, false, 1, &[]);
    }
    blob.strings.pop();
    blob.bytes()
}

fn wide() -> Vec<u8> {
    let mut blob = HostileBtf::new();
    let members: Vec<(u32, u32)> = (0..0xffff).map(|index| (1, index * 32)).collect();
    blob.structure(STRUCT, NAME, 0xffff * 4, &members);
    let heap: Vec<(u32, u32)> = (0..0xffff).map(|_| (1, 0)).collect();
    blob.structure(STRUCT, NAME, 4, &heap);
    blob.bytes()
}
