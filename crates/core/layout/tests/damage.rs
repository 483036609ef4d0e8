//! Damaged input ends in an error or an answer, never in a panic or without end.

use crate::common;
#[path = "common/exercise.rs"]
mod exercise;

use std::process::Command;
use std::sync::OnceLock;

use proptest::prelude::*;
use relayout_layout::btf::{BtfFile, BtfTypeLoader};
use relayout_layout::dwarf::{DwarfFile, SectionStore};

use exercise::exercise_readers;

/// Small BTF blob: `struct s { int a; unsigned b:3; struct s *next; char name[8]; }`, an enum, a
/// function type, a typedef of a const.
fn btf() -> Vec<u8> {
    let strings = b"\0int\0s\0a\0b\0next\0name\0e\0RED\0t\0";
    let word = |value: u32| value.to_le_bytes();
    let record = |name: u32, kind: u32, count: u32, flag: u32, last: u32| {
        [
            word(name),
            word(flag << 31 | kind << 24 | count),
            word(last),
        ]
        .concat()
    };
    let types = [
        record(1, 1, 0, 0, 4),
        word(0x0100_0020).to_vec(),
        record(5, 4, 4, 1, 32),
        [7, 1, 0].map(word).concat(),
        [9, 1, 3 << 24 | 32].map(word).concat(),
        [11, 3, 64].map(word).concat(),
        [16, 4, 128].map(word).concat(),
        record(0, 2, 0, 0, 2),
        record(0, 3, 0, 0, 0),
        [1, 1, 8].map(word).concat(),
        record(21, 6, 1, 0, 4),
        [23, 1].map(word).concat(),
        record(0, 13, 1, 0, 3),
        [0, 1].map(word).concat(),
        record(27, 8, 0, 0, 8),
        record(0, 10, 0, 0, 2),
    ]
    .concat();
    let header = [
        0x0001_eb9f,
        24,
        0,
        types.len() as u32,
        types.len() as u32,
        strings.len() as u32,
    ];
    [header.map(word).concat(), types, strings.to_vec()].concat()
}

fn object() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| common::object(&["-g"]))
}

fn linked() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        common::gcc(
            &common::layouts_c(),
            &["-shared", "-fPIC", "-g", "-nostdlib"],
        )
    })
}

/// Object of C++ whose names lack the arguments of templates.
fn instances() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        relayout_testkit::require_programs(&["clang++"]);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (source, object) = (
            common::data("instances.cc"),
            folder.path().join("instances.o"),
        );
        let compiler = Command::new("clang++")
            .args(["-std=c++17", "-g", "-gsimple-template-names", "-c", "-o"])
            .args([&object, &source])
            .status();
        assert!(compiler.expect("clang++ runs").success());
        std::fs::read(object).expect("the compiler wrote its output")
    })
}

fn flip(bytes: &[u8], changes: &[(prop::sample::Index, u8)]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for (place, value) in changes {
        let place = place.index(bytes.len());
        bytes[place] ^= value;
    }
    bytes
}

#[test]
fn undamaged_input_is_read() {
    let bytes = btf();
    let btf = BtfFile::parse(&bytes).unwrap();
    let mut types = BtfTypeLoader::new(&btf);
    let id = types.load(btf.find_types("s")[0]).unwrap();
    let aggregate = types.types().aggregate(id).unwrap();
    assert_eq!(aggregate.members.len(), 4);
    assert_eq!(aggregate.members[1].bits.unwrap().offset_bits, 32);
    let id = types.load(btf.find_types("t")[0]).unwrap();
    assert_eq!(types.types().name_of(id), "t");
    assert!(DwarfFile::parse(linked()).is_ok());
    exercise_readers(object());
    let store = SectionStore::default();
    let file = DwarfFile::parse_with_store(instances(), &store).unwrap();
    for name in [
        "Pool<Pool<a::v1::Job, 2>, 2>",
        "Pack<int, Pack<>, a::v1::Job>",
        "Pool<a::(anonymous)::Own, 2>",
        "Paint<Green>",
        "Call<int (*(long, const char *))[3]>",
    ] {
        assert_eq!(file.find_types(name).len(), 1, "{name}");
    }
    exercise_readers(instances());
}

proptest! {
    #[test]
    fn flipped_btf(changes in prop::collection::vec((any::<prop::sample::Index>(), 1u8..), 1..6)) {
        exercise_readers(&flip(&btf(), &changes));
    }

    #[test]
    fn flipped_object(changes in prop::collection::vec((any::<prop::sample::Index>(), 1u8..), 1..6)) {
        exercise_readers(&flip(object(), &changes));
    }

    #[test]
    fn flipped_instances(changes in prop::collection::vec((any::<prop::sample::Index>(), 1u8..), 1..6)) {
        exercise_readers(&flip(instances(), &changes));
    }

    #[test]
    fn flipped_shared_object(changes in prop::collection::vec((any::<prop::sample::Index>(), 1u8..), 1..6)) {
        exercise_readers(&flip(linked(), &changes));
    }

    #[test]
    fn truncated(end in any::<prop::sample::Index>()) {
        let bytes = linked();
        exercise_readers(&bytes[..end.index(bytes.len())]);
        let bytes = btf();
        exercise_readers(&bytes[..end.index(bytes.len())]);
    }

    #[test]
    fn noise(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
        exercise_readers(&bytes);
    }
}
