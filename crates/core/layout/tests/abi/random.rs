//! Random structs: compiled, read from their debug information, put into another order, and
//! compiled again. The structs are the same every time, unless `RELAYOUT_SEED` is set to a number.

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use relayout_layout::abi::TargetAbi;

use super::generate::{PREAMBLE, Struct, any_struct};
use super::{TestCompiler, compare_object, compiler};

/// Random numbers by the seed in `RELAYOUT_SEED`, or by a constant one.
pub fn rng() -> TestRng {
    let seed = std::env::var("RELAYOUT_SEED").ok();
    let seed: u64 = seed.and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRng::from_seed(RngAlgorithm::ChaCha, &bytes)
}

fn source(structs: &[Struct]) -> String {
    let mut text = PREAMBLE.to_owned();
    for (index, definition) in structs.iter().enumerate() {
        text.push_str(&definition.declare(&format!("x{index}")));
        text.push_str(&format!("struct x{index} v{index};\n"));
    }
    text
}

/// Declaration of the struct that a message names.
fn named_in_message(structs: &[Struct], message: &str) -> String {
    let mut words = message.split(|c: char| !c.is_ascii_alphanumeric());
    let index = words.find_map(|word| word.strip_prefix('x')?.parse::<usize>().ok());
    let found = index.and_then(|index| structs.get(index));
    found
        .map(|definition| definition.declare("x"))
        .unwrap_or_default()
}

/// Compares the structs. `reads` makes the debug information, and `compiler` the layouts to compare
/// with.
fn check(reads: &TestCompiler, compiler: &TestCompiler) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let config = Config {
        cases: 6,
        max_shrink_iters: 150,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, rng());
    let clang = compiler.program.starts_with("clang");
    let many = proptest::collection::vec(any_struct(!clang), 1..200);
    let outcome = runner.run(&many, |structs| {
        let object = reads.compile(&source(&structs), true, folder.path());
        let outcome = compare_object(&object, compiler, folder.path());
        // Only unexplained gaps may be refused, and these structs have none.
        let compared = outcome.compared;
        let unwritten = compared.refused.iter().cloned();
        let refused = outcome.refused.iter().map(ToString::to_string);
        let wrong: Vec<String> = refused.chain(unwritten).chain(compared.wrong).collect();
        match wrong.first() {
            None => Ok(()),
            Some(first) => Err(TestCaseError::fail(format!(
                "{first}\n{}",
                named_in_message(&structs, first)
            ))),
        }
    });
    if let Err(e) = outcome {
        panic!("{e}");
    }
}

fn check_if_installed(command: &str, target: TargetAbi) {
    let compiler = compiler(command, target);
    check(&compiler, &compiler);
}

on_every_gcc!(check_if_installed);

#[test]
fn gxx_x86_64() {
    check_if_installed("g++", TargetAbi::X86_64);
}

#[test]
fn clang_x86_64() {
    // Debug information of Clang 14 lacks the offsets of packed bitfields. Both compilers follow
    // one ABI.
    let gcc = compiler("gcc", TargetAbi::X86_64);
    let clang = compiler("clang", TargetAbi::X86_64);
    check(&gcc, &clang);
}
