//! Reader on objects for other machines, against layouts that their compilers put into the objects.

use object::{Object as _, ObjectSection as _};
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_layout::dwarf::SectionStore;
use relayout_layout::{BitRange, TypeArena};

use relayout_testkit::require_programs;

use super::tools::TestFolder;

/// Source with sizes and offsets in section `.oracle`, and for each bitfield an object in `.bits`
/// with only its bits set.
const SOURCE: &str = r#"
#include <stddef.h>
struct plain { char c; long l; short s; double d; long long w; void *p; char tail[3]; };
struct packed { char c; long l; short s; } __attribute__((packed));
struct bits { int a:3; unsigned b:7; long long c:33; char d:5; short e; unsigned f:31; };
#define O(t, m) (unsigned)offsetof(struct t, m)
__attribute__((section(".oracle"))) unsigned oracle[] = {
  sizeof(struct plain), O(plain, c), O(plain, l), O(plain, s), O(plain, d), O(plain, w), O(plain, p),
  O(plain, tail), sizeof(struct packed), O(packed, c), O(packed, l), O(packed, s) };
__attribute__((section(".bits"))) struct bits each[] = {
  { .a = -1 }, { .b = 127 }, { .c = -1 }, { .d = -1 }, { .f = 0x7fffffff } };
struct packed keep; struct plain keep_too;
"#;

const COMPILERS: [&str; 4] = [
    "gcc",
    "arm-linux-gnueabihf-gcc",
    "powerpc-linux-gnu-gcc",
    "s390x-linux-gnu-gcc",
];

#[test]
fn layouts_are_those_of_the_compiler() {
    for compiler in COMPILERS {
        require_programs(&[compiler]);
        for version in 2..=5 {
            let folder = TestFolder::new();
            folder.write("it.c", SOURCE);
            let line = format!("{compiler} -gdwarf-{version} -gstrict-dwarf -c it.c -o it.o");
            folder.run(&line);
            check(&folder.read("it.o"), &line);
        }
    }
}

fn check(bytes: &[u8], case: &str) {
    let elf = object::File::parse(bytes).expect("an ELF file");
    let little = elf.is_little_endian();
    let section = |name: &str| {
        elf.section_by_name(name)
            .expect("the section")
            .data()
            .expect("data")
    };
    let (numbers, _) = section(".oracle").as_chunks::<4>();
    let number = |bytes: &[u8; 4]| match little {
        true => u32::from_le_bytes(*bytes),
        false => u32::from_be_bytes(*bytes),
    };
    let expected: Vec<u64> = numbers.iter().map(|bytes| number(bytes).into()).collect();

    let store = SectionStore::default();
    let catalog = TypeCatalog::parse(bytes, &store, DebugInfoFormat::Any).expect("its types");
    let mut found = Vec::new();
    for name in ["plain", "packed"] {
        with_aggregate(&catalog, name, |aggregate| {
            found.push(aggregate.size);
            found.extend(aggregate.members.iter().map(|member| member.offset));
        });
    }
    assert_eq!(found, expected, "{case}");

    with_aggregate(&catalog, "bits", |aggregate| {
        let objects = section(".bits").chunks(aggregate.size as usize);
        let ranges = aggregate.members.iter().filter_map(|member| member.bits);
        let pairs: Vec<_> = objects.zip(ranges).collect();
        assert_eq!(pairs.len(), 5, "{case}");
        for (object, range) in pairs {
            assert_eq!(
                bits_set(object, little),
                bits_of(range),
                "{case}: {range:?}"
            );
        }
    });
}

/// Bits that are set, counted from the least significant of each byte, on big-endian machines from
/// the most.
fn bits_set(object: &[u8], little: bool) -> Vec<u64> {
    let bit = |at: u64| if little { at % 8 } else { 7 - at % 8 };
    let is_set = |at: &u64| object[(at / 8) as usize] >> bit(*at) & 1 == 1;
    (0..object.len() as u64 * 8).filter(is_set).collect()
}

fn bits_of(range: BitRange) -> Vec<u64> {
    (range.offset_bits..range.offset_bits + range.size_bits).collect()
}

fn with_aggregate(
    catalog: &TypeCatalog<'_>,
    name: &str,
    visit: impl FnOnce(&relayout_layout::Aggregate),
) {
    let loaded = catalog
        .load(&catalog.find_definitions(name))
        .expect("it can be loaded");
    let types: &TypeArena = &loaded.types;
    visit(types.aggregate(loaded.ids[0]).expect("an aggregate"));
}
