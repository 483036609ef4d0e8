//! Writes the seeds of all targets to `corpus/`, for cargo-fuzz to start from.

use std::fs;
use std::path::Path;

use relayout_fuzz::{seeds, targets};

fn main() -> std::io::Result<()> {
    for (name, _) in targets::ALL {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("corpus")
            .join(name);
        fs::create_dir_all(&dir)?;
        for (number, seed) in seeds::of(name).iter().enumerate() {
            fs::write(dir.join(format!("seed-{number}")), seed)?;
        }
    }
    Ok(())
}
