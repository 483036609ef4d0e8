//! Thousands of real structs: the kernel's headers for programs, by every compiler, and the C++
//! standard library.

use std::path::Path;

use relayout_layout::abi::{AbiError, TargetAbi};

use super::{ObjectOutcome, TestCompiler, compare_object, compiler};

/// Compares the structs of a file in `tests/data`, including unused ones.
fn check(compiler: &TestCompiler, file: &str) -> ObjectOutcome {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(file);
    let text = std::fs::read_to_string(path).expect("the source is there");
    let mut reads = compiler.clone();
    // The headers of the host serve all machines, behind those of the compiler itself.
    let folders = ["/usr/include", "/usr/include/x86_64-linux-gnu"];
    if compiler.program.ends_with("gcc") || compiler.program == "clang" {
        let flags = folders.iter().flat_map(|folder| ["-idirafter", folder]);
        reads.arguments.extend(flags.map(str::to_owned));
    }
    let all = "-fno-eliminate-unused-debug-types".to_owned();
    reads.arguments.push(all);
    let object = reads.compile(&text, true, folder.path());
    let outcome = compare_object(&object, compiler, folder.path());
    let compared = &outcome.compared;
    assert_eq!((&compared.refused, &compared.wrong), (&vec![], &vec![]));
    outcome
}

fn check_kernel_headers(command: &str, target: TargetAbi) {
    let compiler = compiler(command, target);
    let outcome = check(&compiler, "headers.c");
    assert_eq!(outcome.refused, vec![]);
    // Each struct is compared in three orders.
    assert!(outcome.compared.structs > 3 * 500, "{:?}", outcome.compared);
}

on_every_gcc!(check_kernel_headers);

#[test]
fn clang_x86_64() {
    check_kernel_headers("clang", TargetAbi::X86_64);
}

#[test]
fn standard_library_of_cxx() {
    let compiler = compiler("g++", TargetAbi::X86_64);
    let outcome = check(&compiler, "standard.cc");
    assert!(
        outcome.compared.structs > 3 * 3000,
        "{:?}",
        outcome.compared
    );
    // Refused are only base classes without definition, and tuples, whose heads overlap by design.
    assert!(outcome.refused.len() < 50, "{:?}", outcome.refused);
    let other = outcome
        .refused
        .iter()
        .find(|e| !matches!(e, AbiError::UnknownSize { .. } | AbiError::Virtual { .. }));
    assert_eq!(other, None);
}
