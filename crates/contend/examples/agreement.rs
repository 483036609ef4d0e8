//! How far rates rank as replay does: the same accesses, those that were logged in order, once reduced to
//! counts and estimated by `rates`, once replayed.
//!
//!     cargo run --release -p relayout-contend --example agreement -- PROFILE...
//!
//! By line, by region (512 bytes, about an object), and by layout: random orders of the words of each of
//! the regions with most transfers. Spearman's rank correlation each time; of lines and regions, those with 100
//! transfers at least.
//!
//! And, by line and by layout, where the rest goes:
//! - *stretches*: as if there were counts for each of 64 stretches of the recording;
//! - *episodes*: the formula with the true number of episodes, which only the order tells;
//! - *halves*: replay of the recording's first half beside replay of its second.

#[path = "../tests/common/agreement.rs"]
mod agreement;

use std::path::Path;

use agreement::{Agreement, By};

/// Transfers of what is ranked, at least.
const LEAST: f64 = 100.0;

/// Stretches of a trace.
const STRETCHES: usize = 64;

fn main() {
    let titles = ["rates", "stretches", "episodes", "halves"];
    for path in std::env::args().skip(1) {
        match relayout_profile::read(Path::new(&path)) {
            Ok(profile) => {
                println!("{path}");
                println!(
                    "  {:<10}{}",
                    "",
                    titles.map(|t| format!("{t:>12}")).concat()
                );
                let ways = [
                    By::Rates,
                    By::Stretches(STRETCHES),
                    By::KnownEpisodes,
                    By::Halves,
                ];
                let print = |what: &str, of: &dyn Fn(By) -> Agreement| {
                    let found = ways.map(|by| format!("{:>12}", of(by)));
                    println!("  {what:<10}{}", found.concat());
                };
                print("lines", &|by| agreement::by_block(&profile, 64, LEAST, by));
                print("regions", &|by| {
                    agreement::by_block(&profile, 512, LEAST, by)
                });
                print("layouts", &|by| {
                    agreement::by_layout(&profile, 20, 40, LEAST, by)
                });
            }
            Err(error) => eprintln!("{path}: {error}"),
        }
    }
}
