//! Writes the seeds of all targets, and the hostile inputs that are small, to `corpus/`, or to the
//! folder that is named, for cargo-fuzz to start from. The hostile inputs are kept in `corpus/`.

use std::fs;
use std::path::{Path, PathBuf};

use relayout_fuzz::{hostile, seeds, targets};

fn main() -> std::io::Result<()> {
    let kept = || Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let corpus = std::env::args_os().nth(1).map_or_else(kept, PathBuf::from);
    for (name, _) in targets::ALL {
        let dir = corpus.join(name);
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
