//! The program of the made-up recordings: `fixture.c` and `fixture.cc`, compiled once.

use std::path::Path;
use std::sync::LazyLock;

use relayout_layout::dwarf::DwarfFile;
use relayout_testkit::compile_c;

/// Flags that keep the variables in their order on one page, and need no C library.
const FLAGS: [&str; 12] = [
    "-g",
    "-O1",
    "-nostdlib",
    "-static",
    "-fno-pie",
    "-no-pie",
    "-Wl,-e,0",
    "-fcf-protection=none",
    "-fno-toplevel-reorder",
    "-fno-asynchronous-unwind-tables",
    "-Wl,--defsym=__per_cpu_start=per_cpu_worker",
    "-Wl,--defsym=__per_cpu_end=per_cpu_worker+16",
];

/// The file of the program.
pub static ELF: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/advice");
    let cxx = folder.join("fixture.cc").display().to_string();
    let flags: Vec<&str> = FLAGS.into_iter().chain([cxx.as_str()]).collect();
    compile_c(&folder.join("fixture.c"), &flags)
});

/// The program with its debug information.
pub static PROGRAM: LazyLock<DwarfFile<'static>> =
    LazyLock::new(|| DwarfFile::parse(&ELF).expect("gcc writes DWARF"));

/// Address of a variable or function.
#[track_caller]
pub fn address_of(name: &str) -> u64 {
    let mut symbols = PROGRAM.symbols().iter();
    let symbol = symbols.find(|symbol| symbol.name == name);
    symbol.unwrap_or_else(|| panic!("no symbol {name}")).address
}

/// Return address of the call of `callee` in `caller`.
#[track_caller]
pub fn return_address(caller: &str, callee: &str) -> u64 {
    let (start, target) = (address_of(caller), address_of(callee));
    let is_call = |call: &u64| {
        let code = PROGRAM.bytes_at(*call, 5);
        let [0xe8, distance @ ..] = code.unwrap_or_default() else {
            return false;
        };
        let distance = i32::from_le_bytes(distance.try_into().expect("four bytes"));
        (call + 5).checked_add_signed(distance.into()) == Some(target)
    };
    let mut calls = (start..start + 256).filter(is_call);
    calls.next().expect("the call is in the function") + 5
}

/// Address of the atomic instruction of a function: of its lock prefix, or of an exchange.
#[track_caller]
pub fn atomic_instruction(function: &str) -> u64 {
    let start = address_of(function);
    let is_atomic = |address: &u64| {
        let code = PROGRAM.bytes_at(*address, 2).unwrap_or_default();
        code[0] == 0xf0 || code == [0x48, 0x87]
    };
    let found = (start..start + 32).find(is_atomic);
    found.expect("the function has an atomic instruction")
}
