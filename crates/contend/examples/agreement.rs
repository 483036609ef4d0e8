//! How far rates rank as replay does: the same accesses, those that were logged in order, once reduced to
//! counts and estimated by `rates`, once replayed.
//!
//!     cargo run --release -p relayout-contend --example agreement -- PROFILE...
//!
//! By line, by region (512 bytes, about an object), and by layout: random orders of the words of each of
//! the regions with most transfers. Spearman's rank correlation each time; of lines and regions, those with 100
//! transfers at least.

#[path = "../tests/common/agreement.rs"]
mod agreement;

use std::path::Path;

/// Transfers of what is ranked, at least.
const LEAST: f64 = 100.0;

fn main() {
    println!(
        "{:<40} {:>12} {:>12} {:>14}",
        "", "lines", "regions", "layouts"
    );
    for path in std::env::args().skip(1) {
        match relayout_profile::read(Path::new(&path)) {
            Ok(profile) => {
                let lines = agreement::by_block(&profile, 64, LEAST);
                let regions = agreement::by_block(&profile, 512, LEAST);
                let layouts = agreement::by_layout(&profile, 20, 40, LEAST);
                println!("{path:<40} {lines:>12} {regions:>12} {layouts:>14}");
            }
            Err(error) => eprintln!("{path}: {error}"),
        }
    }
}
