//! Evidence in code of real compilers for AArch64, compared with marks in the source lines.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use relayout_layout::dwarf::DwarfFile;
use relayout_resolve::evidence::AnalysedProgram;
use relayout_resolve::insn::InstructionSet;
use relayout_resolve::insn::aarch64::Aarch64InsnSet;
use relayout_resolve::{DebugImages, SourceMap};

type Failure = Box<dyn Error>;

const FIXTURE: &str = "tests/fixtures/marked.c";

/// Fraction of the marked accesses that need an answer. gcc's debug information does not locate
/// thread-local variables, and clang keeps the container of a list in no variable.
const ANSWERED_MIN: f64 = 0.75;

/// Compiles the fixture in the folder.
fn compile(compiler: &[&str], flags: &[&str], folder: &Path) -> Result<PathBuf, Failure> {
    relayout_testkit::require_programs(&compiler[..1]);
    let out = folder.join("marked");
    let mut command = Command::new(compiler[0]);
    command.args(&compiler[1..]).args(flags);
    command.args(["-g", "-fno-pie", "-ffreestanding", "-nostdlib", "-static"]);
    command.args(["-Wl,-e,0", "-Wl,--unresolved-symbols=ignore-all"]);
    command.arg("-o").arg(&out).arg(source());
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {text}");
    Ok(out)
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(FIXTURE)
}

/// Compiles the fixture and compares every marked access.
fn check(compiler: &[&str], flags: &[&str]) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let out = compile(compiler, flags, folder.path())?;
    let text = std::fs::read_to_string(source())?;
    let bytes = std::fs::read(&out)?;
    let file = DwarfFile::parse(&bytes)?;
    let images = DebugImages::from_single_file(&file);
    let program = AnalysedProgram::new(&images, &Aarch64InsnSet);
    let (view, lines) = (program.main_view(), SourceMap::new(&file));
    let (mut asked, mut answered) = (0, 0);
    for function in file.functions() {
        let analysed = view.analyse(function.die).ok_or("no code")?;
        for pc in (function.low..function.high).step_by(4) {
            let Some(insn) = view.insn_at(pc) else {
                continue;
            };
            let Some(operand) = insn.memory[0] else {
                continue;
            };
            let line = lines.look_up(pc).and_then(|place| place.line);
            let line = line.and_then(|line| text.lines().nth(line as usize - 1));
            let is_stack = operand.base == Some(Aarch64InsnSet.stack_pointer());
            let Some(mark) = line.and_then(mark).filter(|_| !is_stack) else {
                continue;
            };
            asked += 1;
            let Some(found) = view.evidence(&analysed, &insn, &operand) else {
                continue;
            };
            let types = program.store.types();
            if types.aggregate(found.ty).is_none() {
                continue;
            }
            answered += 1;
            let path = types.member_at(found.ty, u64::try_from(found.offset)?, 1);
            let name = types.name_of(found.ty);
            let said = format!(
                "{}.{}",
                name.trim_start_matches("struct "),
                path.map(|p| p.path).unwrap_or_default()
            );
            // An access through a pointer to a part may be named by the part or by the whole.
            let same =
                said == mark || said.starts_with(&format!("{mark}.")) || is_part(&said, mark);
            assert!(
                same,
                "{compiler:?} {flags:?} {pc:#x}: {said} instead of {mark}"
            );
        }
    }
    assert!(
        asked > 25,
        "{compiler:?} {flags:?}: {asked} marked accesses"
    );
    let share = f64::from(answered) / f64::from(asked);
    assert!(
        share >= ANSWERED_MIN,
        "{compiler:?} {flags:?}: {answered} of {asked}"
    );
    Ok(())
}

/// Returns true if both name the same member: `stamp.nanos` is the end of `item.made.nanos`, and
/// `item.queue.prev` contains `link.prev`.
fn is_part(said: &str, mark: &str) -> bool {
    let member = |name: &str| name.rsplit('.').next().map(str::to_owned);
    let parts = [
        ("stamp", ".made."),
        ("stamp", ".last."),
        ("link", ".queue."),
    ];
    let is_part_of = |part: &str, whole: &str| {
        let holds = |(ty, path): &(&str, &str)| part.starts_with(ty) && whole.contains(path);
        parts.iter().any(holds) && member(part) == member(whole)
    };
    is_part_of(said, mark) || is_part_of(mark, said)
}

/// Returns the last comment of a line.
fn mark(line: &str) -> Option<&str> {
    let (_, comment) = line.rsplit_once("/* ")?;
    comment
        .strip_suffix(" */")
        .filter(|mark| mark.contains('.'))
}

#[test]
fn gcc_optimised() -> Result<(), Failure> {
    check(&["aarch64-linux-gnu-gcc"], &["-O2"])?;
    check(&["aarch64-linux-gnu-gcc"], &["-O3", "-march=armv8.1-a"])
}

#[test]
fn gcc_plain() -> Result<(), Failure> {
    check(&["aarch64-linux-gnu-gcc"], &["-O0"])
}

#[test]
fn clang_optimised() -> Result<(), Failure> {
    let cross = ["clang", "--target=aarch64-linux-gnu"];
    check(&cross, &["-O2"])?;
    check(&cross, &["-O2", "-march=armv8.1-a"])
}
