//! Evidence and resolution, compared with programs that write down their own objects.

use crate::truth::build::{self, CLANG, Compiler, GCC, PROGRAMS};
use crate::truth::score::{Score, score};
use crate::truth::{Failure, trace};
use relayout_layout::dwarf::DwarfFile;
use relayout_resolve::evidence::{AnalysedProgram, FileView, OperandQuery};
use relayout_resolve::insn::x86::X86InsnSet;
use relayout_resolve::{DebugImages, Options, resolve};

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

/// Returns the operands of the code in `[low, high)`.
fn operands(view: &FileView<'_, '_, '_>, low: u64, high: u64) -> Vec<OperandQuery> {
    let mut queries = Vec::new();
    let mut pc = low;
    while pc < high {
        let Some(insn) = view.insn_at(pc) else {
            pc += 1;
            continue;
        };
        let operands = insn.memory.into_iter().flatten();
        queries.extend(operands.map(|operand| OperandQuery {
            pc,
            operand,
            wants_type: true,
        }));
        pc = insn.next_address();
    }
    queries
}

#[test]
fn operands_have_the_same_evidence_together_as_alone() -> Result<(), Failure> {
    relayout_testkit::require_programs(&[GCC.c, GCC.cxx]);
    let folder = tempfile::tempdir()?;
    let (mut asked, mut answered) = (0, 0);
    for level in ["-O0", "-O2"] {
        for source in PROGRAMS {
            let program = build::build(folder.path(), GCC, &[], level, source)?;
            let bytes = std::fs::read(&program)?;
            let file = DwarfFile::parse(&bytes)?;
            let images = DebugImages::from_single_file(&file);
            let analysed = AnalysedProgram::new(&images, &X86InsnSet);
            let view = analysed.main_view();
            for range in file.functions() {
                let Some(function) = view.analyse(range.die) else {
                    continue;
                };
                let mut queries = operands(&view, range.low, range.high);
                // Sites come in the order of their first accesses.
                queries.reverse();
                let together = view.evidence_of_all(&function, &queries);
                for (query, together) in queries.iter().zip(together) {
                    let alone = view.evidence_of_all(&function, &[*query]);
                    answered += usize::from(together.accessed.is_some());
                    assert_eq!(alone, [together], "{source} {level} {:#x}", query.pc);
                    asked += 1;
                }
            }
        }
    }
    assert!(answered > 1000, "{answered} of {asked}");
    Ok(())
}
