//! Round trip of lock files through writer and reader.

use proptest::prelude::*;
use relayout_check::{
    KnownMember, KnownType, LayoutLock, LockRecord, MachineArchitecture, ProfileFacts,
    RecordedHotMember, RecordedType,
};

fn hot() -> impl Strategy<Value = RecordedHotMember> {
    let number = || 0..u64::from(u32::MAX);
    let counts = (number(), number(), 0..64u32, number());
    ("\\PC{1,12}", number(), number(), counts).prop_map(
        |(path, offset, size, (reads, writes, contexts, transfers))| RecordedHotMember {
            path,
            offset,
            size,
            reads,
            writes,
            contexts,
            transfers,
        },
    )
}

fn member() -> impl Strategy<Value = KnownMember> {
    let number = || 0..u64::from(u32::MAX);
    ("\\PC{1,12}", number(), number()).prop_map(|(path, first_bit, size_bits)| KnownMember {
        path,
        first_bit,
        size_bits,
    })
}

fn one_type(name: String) -> impl Strategy<Value = RecordedType> {
    let hot = prop::collection::vec(hot(), 0..4);
    let members = prop::collection::vec(member(), 0..6);
    (0..9u32, 0..64u64, hot, members, 0..4096u64).prop_map(
        move |(line_log2, phase, mut hot, members, size)| {
            hot.sort_by(|a, b| (a.offset, &a.path).cmp(&(b.offset, &b.path)));
            RecordedType {
                line_bytes: 1 << line_log2,
                phase,
                hot,
                layout: KnownType {
                    name: name.clone(),
                    size,
                    members,
                },
            }
        },
    )
}

fn record() -> impl Strategy<Value = LockRecord> {
    let profile = ("\\PC{0,8}", "[0-9a-f]{0,8}", 0..u64::from(u32::MAX));
    let profile = profile.prop_map(|(workload, build_id, transfers)| ProfileFacts {
        workload,
        build_id,
        transfers,
    });
    let names = prop::collection::vec("\\PC{1,8}", 0..3);
    let types = (
        one_type("a".to_owned()),
        one_type("ns::b<\"c\">".to_owned()),
    );
    (
        names,
        prop::option::of(Just(MachineArchitecture::Arm64)),
        prop::option::of(Just(8)),
        prop::option::of("[0-9a-f]{8,40}"),
        "\\PC*",
        prop::option::of(profile),
        types,
    )
        .prop_map(
            |(configurations, machine, pointer_bytes, build_id, file, profile, types)| LockRecord {
                configurations,
                machine,
                pointer_bytes,
                build_id,
                file,
                profile,
                types: vec![types.0, types.1],
            },
        )
}

proptest! {
    #[test]
    fn reads_what_it_writes(records in prop::collection::vec(record(), 0..3)) {
        let mut lock = LayoutLock::default();
        for record in records {
            lock.replace(record);
        }
        let text = lock.to_text();
        let read = LayoutLock::parse(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assert_eq!(&read, &lock);
        prop_assert_eq!(read.to_text(), text);
    }

    #[test]
    fn damaged_text_is_read_or_refused(record in record(), at in 0..4096usize, with in "\\PC{0,6}") {
        let mut lock = LayoutLock::default();
        lock.replace(record);
        let mut bytes = lock.to_text().into_bytes();
        let at = at % bytes.len();
        bytes.splice(at..(at + 3).min(bytes.len()), with.bytes());
        let _ = LayoutLock::parse(&String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn a_newer_version_is_refused() {
    let error = LayoutLock::parse("version = 2").unwrap_err();
    assert_eq!(
        error.to_string(),
        "1:11: this relayout reads lock files of version 1, not 2; write it again with `relayout check --update`"
    );
    assert!(LayoutLock::parse("").is_err());
}
