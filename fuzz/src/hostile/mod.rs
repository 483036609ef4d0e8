//! Inputs that were written to do harm: types that hold themselves, sizes that overflow, a few
//! bytes that stand for very many.
//!
//! They are made here, always in the same way. Those that are small are kept in `corpus/` as well,
//! for cargo-fuzz to start from (`cargo run --release --example seeds` writes them); a test
//! compares.

mod btf;
mod dwarf;
mod elf;
mod sections;
mod text;

use crate::targets::join;

/// Name of the attack, and the input.
pub type HostileCase = (&'static str, Vec<u8>);

/// Larger inputs are made, not kept, and not changed at random.
pub const KEPT_BYTES_MAX: usize = 16 << 10;

/// The hostile inputs of a target.
pub fn hostile_cases(target: &str) -> Vec<HostileCase> {
    match target {
        "dwarf" => [dwarf::cases(), sections::cases()].concat(),
        "catalog" => [dwarf::cases(), sections::cases(), btf::cases()].concat(),
        "companions" => sections::companions(),
        "btf" => btf::cases(),
        "btf_split" => btf::split_cases(),
        "diff" => pairs(),
        "locations" => dwarf::locations(),
        "check" => text::configurations(),
        "check_lock" => text::locks(),
        "compile_commands" => text::databases(),
        "kit_result" => text::kit_results(),
        _ => Vec::new(),
    }
}

/// Each file with itself, and with the one made after it.
fn pairs() -> Vec<HostileCase> {
    let cases: Vec<HostileCase> = [dwarf::cases(), btf::cases()].concat();
    let next = cases.iter().cycle().skip(1);
    let with_next = cases.iter().zip(next);
    with_next
        .map(|((name, old), (_, new))| (*name, join(&[old.clone(), new.clone()])))
        .collect()
}
