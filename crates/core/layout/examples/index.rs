//! Time of indexing one file, and of loading every named type in it: `cargo run --release -p
//! relayout-layout --example index -- VMLINUX`

use std::error::Error;
use std::fs::File;
use std::time::Instant;

use relayout_layout::dwarf::{DwarfFile, DwarfTypeLoader, SectionStore};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: index FILE")?;
    let input = File::open(&path)?;
    // SAFETY: the file is not changed while this example runs.
    let bytes = unsafe { memmap2::Mmap::map(&input)? };
    let start = Instant::now();
    let store = SectionStore::default();
    let file = DwarfFile::parse_with_store(&bytes, &store)?;
    println!("index            {:8.3} s", start.elapsed().as_secs_f64());
    println!("units            {:8}", file.unit_count());
    println!("names            {:8}", file.type_names().count());
    println!(
        "definitions      {:8}",
        file.type_names()
            .map(|(_, definitions)| definitions.count())
            .sum::<usize>()
    );
    let start = Instant::now();
    println!("globals          {:8}", file.globals().len());
    println!("  in             {:8.3} s", start.elapsed().as_secs_f64());
    println!("function ranges  {:8}", file.functions().len());
    println!("symbols          {:8}", file.symbols().len());
    let start = Instant::now();
    println!("static locals    {:8}", file.static_locals().len());
    println!("  in             {:8.3} s", start.elapsed().as_secs_f64());
    let start = Instant::now();
    let mut types = DwarfTypeLoader::new(&file);
    for first in file
        .type_names()
        .filter_map(|(_, mut definitions)| definitions.next())
    {
        types.load(first.die)?;
    }
    println!("one of each name {:8.3} s", start.elapsed().as_secs_f64());
    println!("types loaded     {:8}", types.types().len());
    Ok(())
}
