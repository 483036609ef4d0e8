//! Reads the memory of a kernel in miniature, which a C compiler lays out.

use relayout_layout::dwarf::SectionStore;
use relayout_machine::ByteMap;
use relayout_profile::RangeKind;

use super::paging::{PagingLevels, PhysicalLayout};
use super::*;
use crate::GuestMachine;
use guest::{IMAGE, compile_guest, kernel, physical_memory};

mod guest;

const CHUNKS: u64 = 0xffff_ffff_9000_0000;
const VMALLOC: u64 = 0xffff_c900_0000_0000;

fn read_memory(kernel: &GuestKernel<'_>, memory: &[u8], pages: &[u64]) -> MemorySnapshot {
    MemoryReaders::find(kernel).read_snapshot(kernel, memory, RunId(0), 2, pages)
}

/// Definitions of the kernels in miniature, in the forms of 6.1, 6.11, 6.12 and 7.x.
const FORMS: [&[&str]; 4] = [
    &[],
    &["INVERTED_BITS"],
    &["TYPED_VALUES"],
    &["TYPED_VALUES", "MASKS"],
];

/// Calls `inspect` with a snapshot of the whole memory where `pages` matter, for kernels of each
/// form.
fn with_snapshot(pages: &[u64], inspect: impl Fn(MemorySnapshot)) {
    for form in FORMS {
        let elf = compile_guest(form);
        let store = SectionStore::default();
        let kernel = kernel(&elf, &store);
        let memory = physical_memory(&kernel);
        inspect(read_memory(&kernel, &memory, pages));
    }
}

fn page(number: u64) -> u64 {
    IMAGE + number * PAGE_BYTES
}

/// Start, bytes and owner of the ranges of that kind, but for those that are a whole area.
fn check(pages: &[u64], kind: RangeKind, expect: &[(u64, u64, &str)]) {
    with_snapshot(pages, |snapshot| {
        assert_eq!(snapshot.left_out, Vec::<LeftOutReader>::new());
        let is_part = |row: &&RangeRow| row.kind == kind && row.bytes < 32 << 20;
        let found: Vec<_> = snapshot
            .ranges
            .iter()
            .filter(is_part)
            .filter(|row| kind != RangeKind::DirectMap || !row.owner.is_empty())
            .map(|row| (row.start.0, row.bytes, row.owner.as_str()))
            .collect();
        assert_eq!(found, expect);
    });
}

#[test]
fn pages_are_what_their_descriptors_say() {
    let pages: Vec<u64> = (40..54).map(page).collect();
    let copied = "page cache of /data/copy.0 (tmpfs)";
    let expect = [
        (page(42), PAGE_BYTES, "page table"),
        (page(43), PAGE_BYTES, "free page"),
        (page(44), 2 * PAGE_BYTES, copied),
        (page(46), PAGE_BYTES, "page cache of inode 8 (tmpfs)"),
        (page(47), PAGE_BYTES, "page cache"),
        (page(48), PAGE_BYTES, "anonymous page"),
        (page(49), PAGE_BYTES, "boot memory"),
        (page(52), 2 * PAGE_BYTES, copied),
        // A bit for each four bytes of the chunk that booting made.
        (page(54), 0x600 / 8, "pcpu_chunk.alloc_map"),
    ];
    check(&pages, RangeKind::DirectMap, &expect);
}

/// The content of a pipe is in its filled buffers, and its spare pages had some. What an empty
/// buffer names is not the pipe's, and a file's page stays the file's.
#[test]
fn pages_of_pipes_are_found_through_open_files() {
    let pages: Vec<u64> = [44, 55, 56, 57, 58].map(page).to_vec();
    let expect = [
        (page(44), PAGE_BYTES, "page cache of /data/copy.0 (tmpfs)"),
        (page(54), 0x600 / 8, "pcpu_chunk.alloc_map"),
        (page(55), 3 * PAGE_BYTES, "content of a pipe"),
    ];
    check(&pages, RangeKind::DirectMap, &expect);
}

#[test]
fn a_slab_is_found_by_any_of_its_pages() {
    let expect = [(page(40), 2 * PAGE_BYTES, "task_cache")];
    check(&[page(41)], RangeKind::Slab, &expect);
    with_snapshot(&[page(40)], |snapshot| {
        let slab = snapshot.ranges.iter().find(|r| r.kind == RangeKind::Slab);
        let slab = slab.map(|r| (r.first.0, r.stride, r.object_bytes));
        assert_eq!(slab, Some((page(40) + 8, 192, 136)));
    });
}

/// Calls `check` with the kernel and a function that maps what is moved.
fn with_moves(check: impl FnOnce(&GuestKernel<'_>, &dyn Fn(&[&str]) -> Result<ByteMap, Error>)) {
    let (elf, store) = (compile_guest(&[]), SectionStore::default());
    let kernel = kernel(&elf, &store);
    let (memory, readers) = (physical_memory(&kernel), MemoryReaders::find(&kernel));
    check(&kernel, &|moves| {
        let moves: Vec<RequestedMove> = moves.iter().map(|text| text.parse().unwrap()).collect();
        MovedTypes::find(&kernel, &readers, &moves)?.map_objects(&memory, 2)
    });
}

#[test]
fn variables_and_chunks_of_per_cpu_memory_are_moved() {
    with_moves(|kernel, map| {
        let symbol = |name| kernel.symbol_address(name).unwrap();
        let base_addr = 24;
        let moved = |request: &str, objects: &[u64], others: &[u64]| {
            let map = map(&[request]).unwrap();
            let is_moved = |&at: &u64| map.said_address(at + base_addr) != at + base_addr;
            assert!(objects.iter().all(is_moved), "{request}");
            assert!(!others.iter().any(is_moved), "{request}");
        };
        let [first, other] = ["first_chunk", "other_chunk"].map(symbol);
        moved("pcpu_chunk.base_addr=own-line", &[first, other], &[]);
        moved(
            "other_chunk:pcpu_chunk.base_addr=own-line",
            &[other],
            &[first],
        );
        // Any variable of a section of which each CPU has a copy.
        let copies = [CHUNKS, CHUNKS + 0x4000];
        moved(
            "__per_cpu_start:pcpu_chunk.base_addr=own-line",
            &copies,
            &[first],
        );
    });
}

#[test]
fn objects_of_a_type_are_in_the_cache_of_their_size() {
    with_moves(|_, map| check_moves_in_slabs(map));
}

fn check_moves_in_slabs(map: &dyn Fn(&[&str]) -> Result<ByteMap, Error>) {
    let first = page(40) + 8;
    let moves = ["task_slot.uses.second=64", "task_slot@64..72=own-line"];
    let found = map(&moves).unwrap();
    // Offsets of both moves are those of the kernel's layout.
    let said = |offset: u64| found.said_address(first + 41 * 192 + offset);
    assert_eq!(said(8), first + 41 * 192 + 64);
    assert!(said(64) < first, "a line of its own: {:#x}", said(64));
    assert_eq!(said(192 + 8), first + 42 * 192 + 8, "behind the slab");

    let refused = |text: &str, expect: &str| {
        let error = map(&[text]).unwrap_err().to_string();
        assert!(error.contains(expect), "{error}");
    };
    refused(
        "door.handle=8",
        "cannot move door.handle=8: the kernel's debug information has no type 'door'",
    );
    refused("task_slot.third=8", "no member 'task_slot.third'");
    refused("task_slot.uses=16", "among the 136 of an object");
    refused(
        "kmalloc-192:task_slot.uses=8",
        "no slab of a cache 'kmalloc-192'",
    );
    refused("kmem_cache.name=0", "no slab cache is for objects of its");
}

#[test]
fn per_cpu_memory_is_static_data_and_units_of_chunks() {
    // A page of the first chunk on CPU 0, and one of the other on CPU 1.
    let touched = [CHUNKS + 0x1000, CHUNKS + 0x1_7000];
    with_snapshot(&touched, |snapshot| {
        assert_eq!(snapshot.left_out, Vec::<LeftOutReader>::new());
        let found = snapshot.ranges.iter();
        let found = found.filter(|r| r.kind == RangeKind::PerCpu);
        let found: Vec<_> = found
            .map(|r| (r.start.0, r.bytes, r.id, r.stride))
            .collect();
        let expect = [
            (CHUNKS, 0x800, 0, 0),
            // The static data end where the first chunk's own memory begins.
            (CHUNKS + 0x800, 0x1800, 0, 0x4000 + 0x800),
            (CHUNKS + 0x4000, 0x800, 1, 0),
            (CHUNKS + 0x1_4000, 0x4000, 1, 0x8000),
        ];
        assert_eq!(found, expect);
    });
}

#[test]
fn vmalloc_space_is_named_by_who_asked_for_it() {
    let touched = [VMALLOC + 0x1000, VMALLOC + 0x9000];
    let table = [(VMALLOC + 0x8000, 0x3000, "alloc_table")];
    check(&touched, RangeKind::Vmalloc, &table);
    // What was a stack is one without owner, less the page that is never mapped.
    let stacks = [
        (VMALLOC, 0x4000, ""),
        (IMAGE + 0x1_0000, 0x4000, "swapper"),
        (IMAGE + 0x1_4000, 0x4000, "worker"),
    ];
    check(&touched, RangeKind::Stack, &stacks);
}

#[test]
fn modules_are_listed_with_their_sections() {
    with_snapshot(&[], |snapshot| {
        assert_eq!(snapshot.left_out, Vec::<LeftOutReader>::new());
        let [overlay, other] = &snapshot.modules[..] else {
            panic!("{:?}", snapshot.modules);
        };
        assert_eq!((&*overlay.name, &*other.name), ("overlay", "other"));
        let names: Vec<&str> = { overlay.sections.iter() }
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(names, [".note.gnu.build-id", ".text"]);
        assert_eq!(overlay.sections[1].1, 0xffff_ffff_c000_0000);
        assert_eq!(overlay.build_id, "0102030405000000060000000700000008000000");
        assert_eq!(other.sections, []);
        // Each CPU has a copy of the variables.
        let copies = vec![CHUNKS + 0x900, CHUNKS + 0x4900];
        assert_eq!(overlay.per_cpu, (copies, 24));
        assert_eq!(other.per_cpu, (Vec::new(), 0));
    });
}

/// Address of a variable's copy less the variable's own address: what instructions add.
#[test]
fn per_cpu_variables_are_at_their_address_plus_the_offset() {
    for (form, start) in [(FORMS[0], 0), (FORMS[3], 0xffff_ffff_8003_f000)] {
        let elf = compile_guest(form);
        let store = SectionStore::default();
        let kernel = kernel(&elf, &store);
        let snapshot = read_memory(&kernel, &physical_memory(&kernel), &[]);
        let copies = snapshot.ranges.iter();
        let copies = copies.filter(|row| row.kind == RangeKind::PerCpu && row.stride == 0);
        let origins: Vec<u64> = copies.map(|row| row.first.0.wrapping_add(start)).collect();
        assert_eq!(origins, [CHUNKS, CHUNKS + 0x4000], "{form:?}");
    }
}

/// A kernel without one member costs what one reader finds, and nothing else.
#[test]
fn a_reader_without_its_member_is_left_out() {
    let elf = compile_guest(&["comm=other_comm"]);
    let store = SectionStore::default();
    let kernel = kernel(&elf, &store);
    let snapshot = read_memory(&kernel, &physical_memory(&kernel), &[page(41)]);
    let expect = LeftOutReader {
        reader: "stacks".into(),
        missing: "member 'task_struct.comm'".into(),
        areas: vec![RangeKind::Vmalloc],
    };
    assert_eq!(snapshot.left_out, [expect]);
    let has_kind = |kind| snapshot.ranges.iter().any(|row| row.kind == kind);
    assert!(has_kind(RangeKind::Slab) && has_kind(RangeKind::PerCpu));
    assert!(!has_kind(RangeKind::Stack));
}

#[test]
fn memory_that_says_nothing_is_a_gap() {
    let elf = compile_guest(&[]);
    let store = SectionStore::default();
    let kernel = kernel(&elf, &store);
    let empty = vec![0; PAGE_BYTES as usize];
    let found = read_memory(&kernel, &empty, &[page(44)]);
    assert!(found.left_out.len() >= 4, "{:?}", found.left_out);
    assert!(MemoryReaders::find(&kernel).left_out().is_empty());
}

/// A node that leads to itself was followed 100,000 times.
#[test]
fn a_list_that_never_closes_is_read_once() {
    let elf = compile_guest(&[]);
    let store = SectionStore::default();
    let kernel = kernel(&elf, &store);
    let mut bytes = physical_memory(&kernel);
    let node = |index: u64| page(40) + 16 * index;
    // Each of 100 nodes leads to the next one, and the last one to the middle.
    for index in 0..100 {
        let next = if index == 99 { 50 } else { index + 1 };
        let at = (node(index) - IMAGE) as usize;
        bytes[at..at + 8].copy_from_slice(&node(next).to_le_bytes());
    }
    let table = kernel.symbol_address("init_top_pgt").expect("a symbol");
    let low = PhysicalLayout::for_q35(bytes.len() as u64);
    let memory = GuestMemory::new_x86(&bytes, table, low, PagingLevels::Four);
    let entries = list::follow_list(&memory, node(0), 0, 0);
    let expect: Vec<u64> = (1..100).map(node).collect();
    assert_eq!(&entries[..99], expect);
    assert!(entries.len() <= 2 * 99, "{} entries", entries.len());
}

/// A damaged word can lead to the last addresses, where the offset of a member overflowed.
#[test]
fn the_last_addresses_are_read_as_nothing() {
    let elf = compile_guest(&[]);
    let store = SectionStore::default();
    let kernel = kernel(&elf, &store);
    let pages: Vec<u64> = (40..54).map(page).collect();
    for name in [
        "vmemmap_base",
        "init_task",
        "pcpu_first_chunk",
        "vmap_area_list",
    ] {
        let start = kernel.symbol_address(name).expect("a symbol") - IMAGE;
        for word in 0..16 {
            let mut memory = physical_memory(&kernel);
            let at = (start + 8 * word) as usize;
            memory[at..at + 8].copy_from_slice(&(u64::MAX - 16).to_le_bytes());
            let found = read_memory(&kernel, &memory, &pages);
            assert!(!found.ranges.is_empty());
        }
    }
}
