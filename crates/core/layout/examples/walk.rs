//! Reference time for benches/layouts.py: gimli reads every entry with all its attributes, in
//! parallel by unit, and keeps nothing.
//!
//! ```sh
//! cargo run --release -p relayout-layout --example walk -- VMLINUX
//! ```

use std::error::Error;
use std::fs::File;

use gimli::{EndianSlice, LittleEndian, SectionId};
use object::{Object, ObjectSection};
use rayon::prelude::*;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: walk FILE")?;
    let file = File::open(path)?;
    // SAFETY: the file is not changed while this example runs.
    let bytes = unsafe { memmap2::Mmap::map(&file)? };
    let elf = object::File::parse(&*bytes)?;
    let dwarf = gimli::Dwarf::load(|id: SectionId| {
        let section = elf.section_by_name(id.name());
        let data = section.map_or(Ok(&[][..]), |section| section.data());
        data.map(|data| EndianSlice::new(data, LittleEndian))
    })?;
    let mut headers = Vec::new();
    let mut units = dwarf.units();
    while let Some(header) = units.next()? {
        headers.push(header);
    }
    let counts: Result<Vec<usize>, gimli::Error> = headers
        .par_iter()
        .map(|header| {
            let abbreviations = header.abbreviations(&dwarf.debug_abbrev)?;
            let mut entries = header.entries(&abbreviations);
            let mut count = 0;
            while entries.next_entry()? {
                count += 1;
            }
            Ok(count)
        })
        .collect();
    println!("{} entries", counts?.iter().sum::<usize>());
    Ok(())
}
