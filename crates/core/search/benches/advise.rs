//! Time to lay out a struct of 64 members, 25 of them accessed by 8 contexts, and the distance of
//! the best layout found from the bound: `cargo bench -p relayout-search`.

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Instant;

use common::made::large_struct;
use relayout_search::Options;

const ACCESSES: usize = 30_000;
const SEEDS: std::ops::RangeInclusive<u64> = 1..=7;

fn main() {
    let mut walls = Vec::new();
    for seed in SEEDS {
        let case = large_struct(ACCESSES, seed);
        let start = Instant::now();
        let advice = case.advise(&Options::default());
        let wall = start.elapsed();
        let bound = advice.bound.expect("a search");
        println!(
            "seed {seed}: {wall:.2?}, {} layouts replayed; transfers today {}, best {}, none below {}, \
             gap {:.2} %",
            advice.candidates.len(),
            advice.current.tally.transfers(),
            advice.fewest_transfers(),
            bound.transfers,
            100.0 * bound.gap(advice.fewest_transfers()),
        );
        walls.push(wall);
    }
    walls.sort();
    println!("median {:.2?}", walls[walls.len() / 2]);
}
