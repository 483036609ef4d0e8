use std::sync::OnceLock;

use relayout_layout::dwarf::SectionStore;
use relayout_profile::RunId;
use relayout_record::{GuestKernel, GuestMachine, MemoryReaders};

use guest::{IMAGE, MEMORY_BYTES, compile_guest, kernel, physical_memory};

#[path = "../../../crates/host/record/src/memory/tests/guest.rs"]
mod guest;

/// Bytes of one change: its kind, the changed place and the value.
const CHANGE_BYTES: usize = 13;
const PAGE_BYTES: u64 = 4096;

/// Changes to the memory of a small kernel, and pages to look up in it: lists, page tables and
/// descriptors lead anywhere, and all that is read from them is a range, or a reader is
/// left out.
///
/// A change names one of the words that the kernel uses, and a value, an address in the image or
/// another word of the kernel, so that most changes lead to memory that can be read.
pub fn guest_memory(data: &[u8]) {
    static GUEST: OnceLock<Vec<u8>> = OnceLock::new();
    static STORE: OnceLock<SectionStore> = OnceLock::new();
    static KERNEL: OnceLock<(GuestKernel<'static>, Vec<u8>, Vec<usize>)> = OnceLock::new();
    static READERS: OnceLock<MemoryReaders> = OnceLock::new();
    let (kernel, memory, used) = KERNEL.get_or_init(|| {
        let kernel = kernel(
            GUEST.get_or_init(|| compile_guest(&[])),
            STORE.get_or_init(SectionStore::default),
        );
        let memory = physical_memory(&kernel);
        let is_used = |at: &usize| memory[*at..at + 8] != [0; 8];
        let used = (0..memory.len()).step_by(8).filter(is_used).collect();
        (kernel, memory, used)
    });
    let mut memory = memory.clone();
    let mut pages = vec![IMAGE + 40 * PAGE_BYTES];
    for change in data.chunks_exact(CHANGE_BYTES) {
        let (kind, place, number) = fields(change);
        let word = used[place as usize % used.len()];
        let value = match kind {
            0 => number,
            1 => IMAGE.wrapping_add(number),
            2 => number.wrapping_neg(),
            3 => IMAGE + number % MEMORY_BYTES,
            4 => IMAGE + used[number as usize % used.len()] as u64,
            5 => {
                let from = used[number as usize % used.len()];
                u64::from_le_bytes(memory[from..from + 8].try_into().expect("eight bytes"))
            }
            _ => {
                pages.push(number / PAGE_BYTES * PAGE_BYTES);
                pages.push(IMAGE + u64::from(place) % MEMORY_BYTES / PAGE_BYTES * PAGE_BYTES);
                continue;
            }
        };
        memory[word..word + 8].copy_from_slice(&value.to_le_bytes());
    }
    pages.sort_unstable();
    pages.dedup();
    let readers = READERS.get_or_init(|| MemoryReaders::find(kernel));
    let snapshot = readers.read_snapshot(kernel, &memory, RunId(0), 2, &pages);
    assert!(snapshot.ranges.is_sorted_by_key(|range| range.start));
}

fn fields(change: &[u8]) -> (u8, u32, u64) {
    let (place, number) = change[1..].split_at(4);
    (
        change[0] % 8,
        u32::from_le_bytes(place.try_into().expect("four bytes")),
        u64::from_le_bytes(number.try_into().expect("eight bytes")),
    )
}

/// Pages of each kind alone, and with one change of each kind. A list, a table and a descriptor
/// that lead to the last addresses overflowed once.
pub fn guest_memory_seeds() -> Vec<Vec<u8>> {
    let change = |kind: u8, place: u32, number: u64| {
        [&[kind][..], &place.to_le_bytes(), &number.to_le_bytes()].concat()
    };
    let pages =
        (40..54).map(|page: u32| change(7, page * PAGE_BYTES as u32, 0xffff_ffff_9000_1000));
    let pages: Vec<u8> = pages.flatten().collect();
    let changes =
        (0..6).map(|kind| change(kind, 7 * u32::from(kind), 3 * u64::from(kind)).to_vec());
    // The array of page descriptors, and each other word, in the last page of addresses.
    let last = (0..64).map(|word| change(2, word, 9).to_vec());
    let changes = changes.chain(last);
    let changed = changes.map(|change| [pages.clone(), change].concat());
    std::iter::once(pages.clone()).chain(changed).collect()
}
