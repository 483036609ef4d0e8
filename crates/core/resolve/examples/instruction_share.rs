//! Prints the share of a file's memory instructions that are typed by the instruction alone.
//!
//!     cargo run --release -p relayout-resolve --example instruction_share -- VMLINUX [FUNCTION...]
//!
//! Without names it prints one table for the whole text, with names every memory instruction of
//! those functions and its operand.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::time::Instant;

use rayon::prelude::*;
use relayout_layout::dwarf::{DieOffset, DwarfFile};
use relayout_resolve::DebugImages;
use relayout_resolve::evidence::{
    AnalysedFunction, AnalysedProgram, EvidenceTrust, FileView, TypeEvidence, ValueHome,
    VariableFact,
};
use relayout_resolve::insn::x86::X86InsnSet;
use relayout_resolve::insn::{AddressSegment, DecodedInsn, MemoryOperand};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let path = args
        .next()
        .ok_or("usage: instruction_share VMLINUX [FUNCTION...]")?;
    let names: Vec<String> = args.collect();
    // SAFETY: the file is not changed while this runs.
    let bytes = unsafe { memmap2::Mmap::map(&File::open(path)?)? };
    let start = Instant::now();
    let file = DwarfFile::parse(&bytes)?;
    let images = DebugImages::from_single_file(&file);
    let program = AnalysedProgram::new(&images, &X86InsnSet);
    let program = program.main_view();
    eprintln!("indexed in {:.1?}", start.elapsed());
    if names.is_empty() {
        print_whole_file(&program);
    }
    for name in names {
        let symbol = file
            .symbols()
            .iter()
            .find(|s| s.is_function() && s.name == name);
        let symbol = symbol.ok_or_else(|| format!("no function {name}"))?;
        let die = program
            .function_at(symbol.address)
            .ok_or("no debug information for it")?;
        println!("{name}:");
        print_function(&program, die);
    }
    Ok(())
}

/// Result for an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EvidenceClass {
    Stated,
    Followed,
    Guessed,
    Global,
    Frame,
    Scalar,
    Nothing,
}

fn print_whole_file(program: &FileView<'_, '_, '_>) {
    let mut dies: Vec<DieOffset> = program
        .debug_file()
        .functions()
        .iter()
        .map(|f| f.die)
        .collect();
    dies.sort_unstable();
    dies.dedup();
    let start = Instant::now();
    let found: Vec<Vec<EvidenceClass>> = dies
        .par_iter()
        .map(|&die| classify_operands(program, die))
        .collect();
    let mut counts: BTreeMap<EvidenceClass, usize> = BTreeMap::new();
    for class in found.into_iter().flatten() {
        *counts.entry(class).or_default() += 1;
    }
    let total: usize = counts.values().sum();
    println!(
        "{} functions, {total} memory operands, {:.1?}",
        dies.len(),
        start.elapsed()
    );
    for (found, count) in counts {
        println!(
            "{:>10} {count:>8} {:5.1}%",
            format!("{found:?}"),
            100.0 * count as f64 / total as f64
        );
    }
}

fn operands(program: &FileView<'_, '_, '_>, die: DieOffset) -> Vec<(DecodedInsn, MemoryOperand)> {
    let ranges = program
        .debug_file()
        .functions()
        .iter()
        .filter(|f| f.die == die);
    let mut operands_found = Vec::new();
    for range in ranges {
        let mut pc = range.low;
        while pc < range.high {
            let Some(insn) = program.insn_at(pc) else {
                break;
            };
            operands_found.extend(insn.memory.iter().flatten().map(|m| (insn, *m)));
            pc = insn.next_address();
        }
    }
    operands_found
}

fn classify_operands(program: &FileView<'_, '_, '_>, die: DieOffset) -> Vec<EvidenceClass> {
    let Some(function) = program.analyse(die) else {
        return Vec::new();
    };
    let stack = program.program().machine().stack_pointer();
    let classify_operand = |(insn, memory): (DecodedInsn, MemoryOperand)| {
        if memory.base == Some(stack) {
            return EvidenceClass::Frame;
        }
        if memory.segment == AddressSegment::Flat && memory.absolute().is_some() {
            return EvidenceClass::Global;
        }
        match program.evidence(&function, &insn, &memory) {
            None => EvidenceClass::Nothing,
            Some(e) if program.program().store.types().aggregate(e.ty).is_none() => {
                EvidenceClass::Scalar
            }
            Some(TypeEvidence {
                trust: EvidenceTrust::Stated,
                ..
            }) => EvidenceClass::Stated,
            Some(TypeEvidence {
                trust: EvidenceTrust::Followed,
                ..
            }) => EvidenceClass::Followed,
            Some(TypeEvidence {
                trust: EvidenceTrust::Guessed,
                ..
            }) => EvidenceClass::Guessed,
        }
    };
    operands(program, die)
        .into_iter()
        .map(classify_operand)
        .collect()
}

/// Returns the facts about the operand's registers, if FACTS is set.
fn facts_text(
    program: &FileView<'_, '_, '_>,
    function: &AnalysedFunction,
    insn: &DecodedInsn,
    memory: &MemoryOperand,
) -> String {
    if std::env::var_os("FACTS").is_none() {
        return String::new();
    }
    let holds = |f: &&VariableFact| {
        (f.start..f.end).contains(&insn.address)
            && memory
                .base
                .is_some_and(|base| f.home == ValueHome::Register(base))
    };
    let types = program.program().store.types();
    let names = function.facts().iter().filter(holds);
    names
        .map(|f| format!(" [{} +{}]", types.name_of(f.target), f.offset))
        .collect()
}

fn print_function(program: &FileView<'_, '_, '_>, die: DieOffset) {
    let Some(function) = program.analyse(die) else {
        return;
    };
    for (insn, memory) in operands(program, die) {
        let base = memory
            .base
            .map_or(String::from("-"), |r| format!("r{}", r.0));
        let found = program.evidence(&function, &insn, &memory).map(|e| {
            let types = program.program().store.types();
            let offset = u64::try_from(e.offset).unwrap_or(u64::MAX);
            let path = types.member_at(e.ty, offset, u64::from(memory.bytes));
            let path = path.map(|p| p.path).unwrap_or_default();
            format!(
                "{} +{} ({path}) {:?}",
                types.name_of(e.ty),
                e.offset,
                e.trust
            )
        });
        let found = found.unwrap_or_else(|| "?".to_owned());
        let facts = facts_text(program, &function, &insn, &memory);
        let (at, bytes) = (memory.displacement, memory.bytes);
        println!(
            "  {:#x} {base:>4} {at:+#x} {bytes}: {found}{facts}",
            insn.address
        );
    }
}
