//! Prints each struct of a file that has holes, with its size after members were moved into them.
//!
//! ```text
//! cargo run --release -p relayout-layout --example struct_holes -- target/release/relayout
//! ```

use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_layout::dwarf::SectionStore;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: struct_holes FILE")?;
    print!("{}", holes(&std::fs::read(path)?)?);
    Ok(())
}

/// Returns a line for each struct with holes: name, size, bytes in holes, size of the packed struct.
pub fn holes(file: &[u8]) -> Result<String, relayout_layout::Error> {
    let store = SectionStore::default();
    let catalog = TypeCatalog::parse(file, &store, DebugInfoFormat::Any)?;
    let lines = catalog.map_loaded(&catalog.aggregates(), |types, id, entry| {
        let gaps = types.gaps(id)?;
        let bytes: u64 = gaps.holes().sum();
        let shape = catalog.abi(types).shape(types.aggregate(id)?).ok()?;
        let moves = shape.pack();
        let packed = moves
            .last()
            .map(|step| shape.lay_out(&step.arrangement).size);
        let size = types.size_of(id)?;
        let packed = packed.unwrap_or(size);
        (bytes > 0).then(|| format!("{} {size} {bytes} {packed}\n", entry.name))
    })?;
    Ok(lines.into_iter().flatten().collect())
}
