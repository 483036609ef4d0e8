//! Moves one member of each of many real structs, compiles the edited header, and compares the
//! compiler's offsets with the layout engine's.
//!
//! ```text
//! cargo run --release -p relayout-patch --example corpus -- kernel SOURCE BUILD VMLINUX [COUNT]
//! cargo run --release -p relayout-patch --example corpus -- headers ROOT [COUNT] [-- COMPILER FLAGS]
//! ```
//!
//! BUILD is a folder in which `make O=BUILD olddefconfig prepare` was run: the flags are those of
//! its `asm-offsets.s`. Structs are taken in the order of a hash of header and tag; which member
//! goes where comes from the same hash; `RELAYOUT_SEED=N` gives others. With `RELAYOUT_KEEP=DIR`
//! the patches are kept.

mod pick;
mod trial;
mod unit;

use std::collections::BTreeMap;
use std::path::PathBuf;

use pick::Candidate;
use trial::{Back, Outcome};
use unit::Compiler;

/// Structs that are tried unless a number is given.
const COUNT: usize = 200;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let scratch = scratch.path().to_owned();
    let number = |text: Option<&&str>| text.map_or(COUNT, |text| text.parse().expect("a number"));
    match words.as_slice() {
        ["kernel", source, build, vmlinux, rest @ ..] => {
            let (source, build) = (PathBuf::from(source), PathBuf::from(build));
            let source = source.canonicalize().expect("the source is there");
            let bytes = std::fs::read(vmlinux).expect("the debug file can be read");
            let found = pick::of_debug_file(&bytes, &source);
            let compiler = Compiler::of_kernel(build, source, scratch);
            try_candidates(found, compiler, number(rest.first()));
        }
        ["headers", root, rest @ ..] => {
            let root = PathBuf::from(root);
            let split = rest.iter().position(|word| *word == "--");
            let (own, command) = rest.split_at(split.unwrap_or(rest.len()));
            let mut command: Vec<String> = command.iter().skip(1).map(|&w| w.to_owned()).collect();
            if command.is_empty() {
                command.push("gcc".to_owned());
            }
            let found = pick::of_headers(&root);
            let compiler = Compiler::new(command, root.clone(), root, &["."], scratch);
            try_candidates(found, compiler, number(own.first()));
        }
        _ => panic!("what is to be tried? see the head of this file"),
    }
}

fn try_candidates(found: Vec<Candidate>, mut compiler: Compiler, count: usize) {
    let seed = std::env::var("RELAYOUT_SEED").map_or(0, |text| text.parse().expect("a number"));
    let candidates = pick::in_order(found, seed);
    let keep = std::env::var_os("RELAYOUT_KEEP").map(PathBuf::from);
    let (mut passed, mut refused) = (BTreeMap::new(), BTreeMap::<String, Vec<String>>::new());
    let (mut wrong, mut other) = (Vec::new(), Vec::new());
    let (mut right, mut tried) = (0, 0);
    for candidate in &candidates {
        if tried == count {
            break;
        }
        let trial = trial::run(candidate, &mut compiler);
        let title = format!("{} {}: {}", candidate.path, candidate.tag, trial.asked);
        if let (Some(keep), Some(new)) = (&keep, &trial.new) {
            let old = std::fs::read_to_string(compiler.root.join(&candidate.path));
            let old = old.expect("it was read before");
            let diff = relayout_patch::unified_diff(&candidate.path, &old, new);
            let name = format!("{tried:03}-{}.diff", candidate.tag);
            std::fs::write(keep.join(name), diff).expect("the patch can be kept");
        }
        tried += usize::from(!matches!(trial.outcome, Outcome::Passed(_)));
        match trial.outcome {
            Outcome::Passed(why) => *passed.entry(why).or_insert(0) += 1,
            Outcome::Right(back) => {
                right += 1;
                if let Back::Other(how) = back {
                    other.push(format!("{title}\n{how}"));
                }
            }
            Outcome::Refused(refusal) => {
                let kind = refused.entry(refusal.kind()).or_default();
                kind.push(format!("{title}\n    {refusal}"));
            }
            Outcome::Wrong(why) => wrong.push(format!("{title}\n    {why}")),
        }
    }
    println!("{} structs, {tried} tried", candidates.len());
    for (why, times) in passed {
        println!("  passed over, {why}: {times}");
    }
    println!("right: {right} ({:.1}%)", percent(right, tried));
    println!("  moved back to the same bytes: {}", right - other.len());
    let refused_count: usize = refused.values().map(Vec::len).sum();
    println!(
        "refused: {refused_count} ({:.1}%)",
        percent(refused_count, tried)
    );
    for (kind, refusals) in &refused {
        println!("  {kind}: {}", refusals.len());
        refusals
            .iter()
            .for_each(|refusal| println!("    {refusal}"));
    }
    println!("wrong: {}", wrong.len());
    wrong.iter().for_each(|failure| println!("    {failure}"));
    println!("moved back to other bytes: {}", other.len());
    other
        .iter()
        .for_each(|difference| println!("    {difference}"));
    if !wrong.is_empty() {
        std::process::exit(1);
    }
}

fn percent(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}
