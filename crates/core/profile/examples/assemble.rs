//! Turns a collector's folder of segment files into a profile and says what is in it:
//! `assemble CONTEXTS FOLDER PROFILE`.
#![allow(clippy::print_stdout, reason = "an example for a person")]

use std::path::Path;
use std::time::Instant;

use relayout_profile::segments::assemble;
use relayout_profile::{RecordedRun, RunId, WriteOptions, read, write};

/// Any number that is no context: the file holds sites alone.
const SITES: u16 = 48;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, contexts, folder, out] = &args[..] else {
        return Err("usage: assemble CONTEXTS FOLDER PROFILE".into());
    };
    let contexts: u16 = contexts.parse()?;
    let mut files = Vec::new();
    for context in 0..contexts {
        files.push((
            context,
            std::fs::read(Path::new(folder).join(format!("ctx-{context}.seg")))?,
        ));
    }
    files.push((SITES, std::fs::read(Path::new(folder).join("sites.seg"))?));
    let files: Vec<_> = files
        .iter()
        .map(|(context, bytes)| (*context, &bytes[..]))
        .collect();

    let start = Instant::now();
    let assembled = assemble(&files, RunId(0), contexts)?;
    println!("assembled in {:.2} s", start.elapsed().as_secs_f64());
    println!("summary {:?}", assembled.summary);
    println!("torn {:?}", assembled.torn);
    println!("{:?}", assembled.losses);
    let mut profile = assembled.profile;
    profile.meta.runs.push(RecordedRun::default());
    let start = Instant::now();
    write(Path::new(out), &profile, &WriteOptions { overwrite: true })?;
    println!("written in {:.2} s", start.elapsed().as_secs_f64());
    let start = Instant::now();
    assert!(
        read(Path::new(out))? == profile,
        "a profile changed on its way"
    );
    println!("read in {:.2} s", start.elapsed().as_secs_f64());
    println!(
        "sites {}, lines {}",
        profile.sites.len(),
        profile.lines.len()
    );
    println!(
        "counts {}, conflicts {}",
        profile.counts.len(),
        profile.conflicts.len()
    );
    println!(
        "bursts {}, regions {}",
        profile.bursts.len(),
        profile.regions.len()
    );
    Ok(())
}
