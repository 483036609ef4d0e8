//! Memory operands of every instruction of a C library for AArch64, compared with the output of
//! binutils.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::Command;

use relayout_resolve::insn::aarch64::Aarch64InsnSet;
use relayout_resolve::insn::{DwarfRegister, InstructionSet, MemoryOperand};
use relayout_testkit::{require_file, require_programs};

/// File of the package libc6-arm64-cross.
const LIBRARY: &str = "/usr/aarch64-linux-gnu/lib/libc.so.6";
const OBJDUMP: &str = "aarch64-linux-gnu-objdump";

/// Compared properties of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Operand {
    base: Option<u8>,
    index: Option<(u8, u8)>,
    displacement: i64,
    bytes: u32,
    reads: bool,
    writes: bool,
}

#[test]
fn operands_are_those_of_binutils() -> Result<(), Box<dyn Error>> {
    let library = require_file("the C library for AArch64", Path::new(LIBRARY));
    require_programs(&[OBJDUMP]);
    let output = Command::new(OBJDUMP).arg("-d").arg(library).output()?;
    assert!(output.status.success(), "{OBJDUMP} failed on {LIBRARY}");
    let text = String::from_utf8(output.stdout)?;
    let (mut compared, mut with_memory) = (0, 0);
    let mut undecoded: BTreeMap<String, u32> = BTreeMap::new();
    for line in text.lines() {
        let Some((address, word, mnemonic, operands)) = parse(line) else {
            continue;
        };
        compared += 1;
        let Some(insn) = Aarch64InsnSet.decode(address, &word.to_le_bytes()) else {
            *undecoded.entry(mnemonic.to_owned()).or_default() += 1;
            continue;
        };
        let expect = expected(mnemonic, operands);
        with_memory += u32::from(expect.is_some());
        let found = insn.memory[0].as_ref().map(operand);
        assert_eq!(found, expect, "{line}");
        assert_eq!(insn.memory[1], None, "{line}");
    }
    assert!(
        compared > 250_000 && with_memory > 60_000,
        "{compared} {with_memory}"
    );
    // Instructions of the scalable vectors, which the decoder does not know, and data between
    // functions.
    let rest: u32 = undecoded.values().sum();
    assert!(rest * 200 < compared, "{undecoded:?}");
    Ok(())
}

fn operand(memory: &MemoryOperand) -> Operand {
    Operand {
        base: memory.base.map(|DwarfRegister(n)| n),
        index: memory.index.map(|(DwarfRegister(n), scale)| (n, scale)),
        displacement: memory.displacement,
        bytes: memory.bytes,
        reads: memory.reads,
        writes: memory.writes,
    }
}

/// Parses `27500: f9400001 ldr x1, [x0, #8]  // comment`, with tabs between the fields.
fn parse(line: &str) -> Option<(u64, u32, &str, &str)> {
    let (address, rest) = line.trim_start().split_once(":\t")?;
    let mut fields = rest.split('\t');
    let word = u32::from_str_radix(fields.next()?.trim(), 16).ok()?;
    let mnemonic = fields.next()?.trim();
    let operands = fields.next().unwrap_or_default();
    let operands = operands.split("//").next()?.trim();
    let is_data = mnemonic.starts_with('.') || mnemonic == "udf";
    let address = u64::from_str_radix(address, 16).ok()?;
    (!is_data).then_some((address, word, mnemonic, operands))
}

/// Returns the operand that the text shows.
fn expected(mnemonic: &str, operands: &str) -> Option<Operand> {
    let (reads, writes) = access(mnemonic)?;
    let bytes = bytes(mnemonic, operands);
    let Some((_, rest)) = operands
        .split_once('[')
        .filter(|_| operands.contains("[x") || operands.contains("[sp"))
    else {
        // A literal: `ldr x0, 1234 <name>`.
        let target = operands.rsplit(", ").next()?.split(' ').next()?;
        return Some(Operand {
            base: None,
            index: None,
            displacement: i64::from_str_radix(target, 16).ok()?,
            bytes,
            reads,
            writes,
        });
    };
    // Lanes have brackets as well: `{v0.b}[3], [x1]`.
    let inside = rest.rsplit('[').next()?.split(']').next()?;
    let mut parts = inside.split(", ");
    let base = Some(register(parts.next()?)?);
    let (mut index, mut displacement) = (None, 0);
    let next = parts.next();
    match next {
        Some(number) if number.starts_with('#') => displacement = integer(number)?,
        Some(name) => {
            let shift = parts.next().and_then(|p| p.split('#').nth(1));
            let shift: u32 = shift.map_or(Ok(0), str::parse).ok()?;
            index = register(name).map(|n| (n, 1u8 << shift));
        }
        None => {}
    }
    Some(Operand {
        base,
        index,
        displacement,
        bytes,
        reads,
        writes,
    })
}

fn register(name: &str) -> Option<u8> {
    match name {
        "sp" => Some(31),
        "xzr" | "wzr" => None,
        name => name.get(1..)?.parse().ok(),
    }
}

fn integer(text: &str) -> Option<i64> {
    let text = text.trim_start_matches('#');
    match text.strip_prefix("-0x").or(text.strip_prefix("0x")) {
        Some(hex) => {
            let value = i64::from_str_radix(hex, 16).ok()?;
            Some(if text.starts_with('-') { -value } else { value })
        }
        None => text.parse().ok(),
    }
}

/// Returns whether an instruction of that name loads and stores; `None` if it does neither.
fn access(mnemonic: &str) -> Option<(bool, bool)> {
    let atomic = [
        "swp", "cas", "ldadd", "ldclr", "ldeor", "ldset", "ldsmax", "ldsmin", "ldumax", "ldumin",
    ];
    let stored_atomic = [
        "stadd", "stclr", "steor", "stset", "stsmax", "stsmin", "stumax", "stumin",
    ];
    let tags = [
        "ldg", "stg", "st2g", "stzg", "stz2g", "ldgm", "stgm", "stzgm",
    ];
    if tags.contains(&mnemonic) {
        None
    } else if atomic
        .iter()
        .chain(&stored_atomic)
        .any(|start| mnemonic.starts_with(start))
    {
        Some((true, true))
    } else if mnemonic.starts_with("ld") {
        Some((true, false))
    } else if mnemonic.starts_with("st") {
        Some((false, true))
    } else {
        None
    }
}

fn bytes(mnemonic: &str, operands: &str) -> u32 {
    if let Some(group) = operands.strip_prefix('{') {
        let (group, after) = group.split_once('}').expect("a group");
        let (first, last) = group.split_once('-').unwrap_or((group, group));
        let listed = group.split(", ").count() as u32;
        let number = |name: &str| {
            name[1..]
                .split('.')
                .next()
                .and_then(|n| n.parse::<u32>().ok())
        };
        let count = match (number(first.trim()), number(last.trim())) {
            (Some(a), Some(b)) if group.contains('-') => (b + 32 - a) % 32 + 1,
            _ => listed,
        };
        let kind = first
            .split('.')
            .nth(1)
            .expect("an arrangement")
            .trim_end_matches(", ");
        let kind = kind.split(',').next().expect("a kind");
        let element = match kind.chars().last() {
            Some('b') => 1,
            Some('h') => 2,
            Some('s') => 4,
            _ => 8,
        };
        let lanes: u32 = kind[..kind.len() - 1].parse().unwrap_or(1);
        let single_lane = after.starts_with('[') || mnemonic.ends_with('r');
        return count * element * if single_lane { 1 } else { lanes };
    }
    let plain = mnemonic.trim_start_matches("ld").trim_start_matches("st");
    if plain.ends_with("psw") {
        return 8;
    }
    if plain.ends_with("sw") {
        return 4;
    }
    let first = operands.split(", ").find(|_| true).unwrap_or_default();
    let has_status = ["xr", "lxr", "xp", "lxp", "xrb", "xrh", "lxrb", "lxrh"].contains(&plain)
        && mnemonic.starts_with("st");
    let data = if has_status {
        operands.split(", ").nth(1).unwrap_or_default()
    } else {
        first
    };
    let register = match data.chars().next() {
        Some('w' | 's') => 4,
        Some('b') => 1,
        Some('h') => 2,
        Some('q') => 16,
        _ => 8,
    };
    let is_swap_or_pair = plain.starts_with('p')
        || plain.ends_with('p') && !mnemonic.starts_with("swp")
        || plain.starts_with("np")
        || mnemonic.starts_with("casp");
    let byte = plain.ends_with('b') && !plain.ends_with("ub");
    match () {
        () if is_swap_or_pair && !mnemonic.starts_with("swp") => 2 * register,
        () if byte => 1,
        () if plain.ends_with('h') => 2,
        () => register,
    }
}
