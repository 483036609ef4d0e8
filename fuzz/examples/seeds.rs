//! Writes the seeds of all targets, and the hostile inputs that are small, to `corpus/`, for
//! cargo-fuzz to start from. The hostile inputs are kept there.

use std::fs;
use std::path::Path;

use relayout_fuzz::{hostile, seeds, targets};

fn main() -> std::io::Result<()> {
    for (name, _) in targets::ALL {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("corpus")
            .join(name);
        fs::create_dir_all(&dir)?;
        for (number, seed) in seeds::target_seeds(name).iter().enumerate() {
            fs::write(dir.join(format!("seed-{number}")), seed)?;
        }
        for (case, input) in hostile::hostile_cases(name) {
            if input.len() <= hostile::KEPT_BYTES_MAX {
                fs::write(dir.join(case), input)?;
            }
        }
    }
    Ok(())
}
