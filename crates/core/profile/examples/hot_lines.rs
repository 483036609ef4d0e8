//! Prints the cache lines of a profile with the most transfers.
//!
//! ```text
//! cargo run --release -p relayout-profile --example hot_lines -- mntns.relayout 10
//! ```

use std::collections::BTreeMap;

use relayout_profile::{Addr, Profile, RunId};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let folder = words.next().ok_or("usage: hot_lines PROFILE [N]")?;
    let count = words.next().map_or(Ok(10), |word| word.parse())?;
    let profile = relayout_profile::read(folder.as_ref())?;
    println!(
        "{}: {} transfers",
        profile.meta.workload,
        profile.transfers()
    );
    for (line, transfers) in hot_lines(&profile).into_iter().take(count) {
        println!("{line:#x} {transfers}");
    }
    Ok(())
}

/// Returns the addresses of the lines of the first recording with their transfers, most first.
pub fn hot_lines(profile: &Profile) -> Vec<(u64, u64)> {
    let mut transfers: BTreeMap<Addr, u64> = BTreeMap::new();
    for row in profile.lines.iter().filter(|row| row.run == RunId(0)) {
        *transfers.entry(row.line).or_default() += row.read_transfers + row.write_transfers;
    }
    let mut lines: Vec<(u64, u64)> = { transfers.into_iter() }
        .map(|(Addr(line), count)| (line, count))
        .collect();
    lines.sort_by_key(|(line, count)| (std::cmp::Reverse(*count), *line));
    lines
}
