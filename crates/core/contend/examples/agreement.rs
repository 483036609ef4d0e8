//! Agreement of rates with replay: the same logged accesses, once reduced to counts and estimated
//! by `rates`, once replayed.
//!
//!     cargo run --release -p relayout-contend --example agreement -- PROFILE...
//!
//! By line, by region (512 bytes, about an object), and by layout: random orders of the words of
//! each of the regions with most transfers. Spearman's rank correlation each time; of lines and
//! regions, those with 100 transfers at least.
//!
//! And, by line and by layout, where the rest goes:
//! - *stretches*: as if there were counts for each of 64 stretches of the recording;
//! - *episodes*: the formula with the true number of episodes, which only the order tells;
//! - *halves*: replay of the recording's first half beside replay of its second.
//!
//! And what is left of samples: *1 of 10*, *1 of 100* are rates of so many accesses, taken at
//! random; *ordered* the same with the order of the samples.

#[path = "../tests/common/agreement.rs"]
mod agreement;

use std::path::Path;

use agreement::{Agreement, RankedBy};

/// Transfers of what is ranked, at least.
const LEAST: f64 = 100.0;

/// Stretches of a trace.
const STRETCHES: usize = 64;

fn main() {
    let ways = [
        ("rates", RankedBy::Rates),
        ("stretches", RankedBy::Stretches(STRETCHES)),
        ("episodes", RankedBy::KnownEpisodes),
        ("halves", RankedBy::Halves),
        ("1 of 10", RankedBy::Samples(10)),
        ("ordered", RankedBy::OrderedSamples(10)),
        ("1 of 100", RankedBy::Samples(100)),
        ("ordered", RankedBy::OrderedSamples(100)),
    ];
    let titles = ways.map(|(title, _)| format!("{title:>12}")).concat();
    let ways = ways.map(|(_, by)| by);
    for path in std::env::args().skip(1) {
        match relayout_profile::read(Path::new(&path)) {
            Ok(profile) => {
                println!("{path}");
                println!("  {:<10}{titles}", "");
                let print = |title: &str, found: [Agreement; 8]| {
                    let found = found.map(|agreement| format!("{agreement:>12}"));
                    println!("  {title:<10}{}", found.concat());
                };
                let by_block = |bytes| agreement::by_block(&profile, bytes, LEAST, ways);
                print("lines", by_block(64));
                print("regions", by_block(512));
                print(
                    "layouts",
                    agreement::by_layout(&profile, 20, 40, LEAST, ways),
                );
            }
            Err(error) => eprintln!("{path}: {error}"),
        }
    }
}
