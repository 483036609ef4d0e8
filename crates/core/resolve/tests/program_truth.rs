//! Evidence and resolution, compared with programs that write down their own objects.

mod truth;

use relayout_layout::dwarf::DwarfFile;
use relayout_resolve::{DebugImages, Options, resolve};
use truth::build::{self, CLANG, Compiler, GCC, PROGRAMS};
use truth::score::{Score, score};
use truth::{Failure, trace};

/// Fraction of the answers that must be right.
const RIGHT_MIN: f64 = 0.97;

fn check(compiler: Compiler, levels: &[&str], answered_min: f64) -> Result<(), Failure> {
    relayout_testkit::require_programs(&[compiler.c, compiler.cxx]);
    let folder = tempfile::tempdir()?;
    for level in levels {
        let mut total = Score::default();
        let mut wrong = Vec::new();
        for source in PROGRAMS {
            let program = build::build(folder.path(), compiler, &[], level, source)?;
            let bytes = std::fs::read(&program)?;
            let file = DwarfFile::parse(&bytes)?;
            let (truth, profile) = trace::run(&program, &file)?;
            let images = DebugImages::from_modules(&profile, &file, |_| None);
            let resolution = resolve(&profile, &images, Options::default())?;
            let scores = score(&truth, &profile, &resolution);
            assert!(
                scores.evidence.asked > 10,
                "{source}: {:?}",
                scores.evidence
            );
            total.add(scores.evidence);
            wrong.extend(
                scores
                    .wrong
                    .into_iter()
                    .map(|line| format!("{source} {line}")),
            );
        }
        let summary = format!("{} {level}: {total:?}\n{}", compiler.c, wrong.join("\n"));
        assert!(total.rate() >= RIGHT_MIN, "{summary}");
        let answered = total.answered as f64 / total.asked as f64;
        assert!(answered >= answered_min, "{summary}");
    }
    Ok(())
}

#[test]
fn gcc_says_the_truth() -> Result<(), Failure> {
    check(GCC, &["-O0", "-O2"], 0.7)
}

#[test]
fn clang_says_the_truth() -> Result<(), Failure> {
    check(CLANG, &["-O2"], 0.7)
}
