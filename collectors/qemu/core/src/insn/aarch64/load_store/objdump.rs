//! All loads and stores of a kernel, as objdump prints them and as they are decoded.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::{AddressForm, IndexPart, LoadStore, LoadStoreKind, REGISTER_31, decode_load_store};

const KERNEL: &str = "kernel/6.1-arm64/vmlinux";
const OBJDUMP: &str = "aarch64-linux-gnu-objdump";

/// An instruction as objdump prints it.
struct PrintedInstruction<'t> {
    address: u64,
    word: u32,
    mnemonic: &'t str,
    operands: &'t str,
}

impl<'t> PrintedInstruction<'t> {
    /// Reads a line: `ffff800008010000:\td503201f \tnop`.
    fn parse(line: &'t str) -> Option<Self> {
        let mut columns = line.split('\t');
        let address = columns.next()?.trim().strip_suffix(':')?;
        let word = columns.next()?.trim();
        Some(Self {
            address: u64::from_str_radix(address, 16).ok()?,
            word: u32::from_str_radix(word, 16).ok()?,
            mnemonic: columns.next()?,
            operands: columns.next().unwrap_or_default(),
        })
    }

    /// Returns the load or store that the text names; `None` for another instruction.
    fn load_store(&self) -> Option<LoadStore> {
        if self.mnemonic == "dc" {
            let register = self.operands.strip_prefix("zva, ")?;
            return Some(LoadStore {
                address: AddressForm::Block {
                    register: number(register),
                },
                kind: LoadStoreKind::Zero,
                bytes: 64,
            });
        }
        let kind = self.kind().filter(|_| !self.is_of_sve())?;
        Some(LoadStore {
            address: self.address_form(),
            kind,
            bytes: self.bytes(kind),
        })
    }

    /// Returns whether the first register is one of SVE: a vector `z0` or a predicate `p0`.
    fn is_of_sve(&self) -> bool {
        let first = self.operands.trim_start_matches('{');
        first.starts_with(['z', 'p'])
    }

    fn kind(&self) -> Option<LoadStoreKind> {
        use LoadStoreKind as Kind;
        const OPERATIONS: [&str; 8] = ["add", "clr", "eor", "set", "smax", "smin", "umax", "umin"];
        let name = self.mnemonic;
        let first = number(self.operands.split(',').next()?);
        if name.starts_with("casp") {
            return Some(Kind::CompareAndSwapPair(first));
        } else if name.starts_with("cas") {
            return Some(Kind::CompareAndSwap(first));
        } else if name.starts_with("swp") {
            return Some(Kind::Swap);
        }
        let is_operation = |rest: &str| OPERATIONS.iter().any(|name| rest.starts_with(name));
        let (loads, rest) = match (name.strip_prefix("ld"), name.strip_prefix("st")) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            _ => return None,
        };
        let is_exclusive = ["x", "ax", "lx"]
            .iter()
            .any(|start| rest.starts_with(start));
        Some(match (loads, is_exclusive) {
            _ if is_operation(rest) => Kind::Arithmetic,
            // Memory tags.
            _ if rest.starts_with(['g', 'z', '2']) => {
                return None;
            }
            (true, true) => Kind::LoadExclusive,
            (false, true) => Kind::StoreExclusive,
            (true, false) => Kind::Load,
            (false, false) => Kind::Store,
        })
    }

    /// Returns the bytes by the names of the instruction and of its first register with data.
    fn bytes(&self, kind: LoadStoreKind) -> u8 {
        if let Some(list) = self.operands.strip_prefix('{') {
            return list_bytes(self.mnemonic, list);
        }
        let name = self
            .mnemonic
            .trim_start_matches("ld")
            .trim_start_matches("st");
        let is_pair = ["p", "np", "xp", "axp", "lxp", "psw"].contains(&name)
            || matches!(kind, LoadStoreKind::CompareAndSwapPair(_));
        let sized = match kind {
            LoadStoreKind::Load if name.ends_with("sw") => Some(4),
            _ if name.ends_with('b') => Some(1),
            // Atomic instructions with the ending `h`, and loads and stores of it.
            _ if name.ends_with('h') => Some(2),
            _ => None,
        };
        // The first register of a store-exclusive has its result.
        let data = match kind {
            LoadStoreKind::StoreExclusive => self.operands.split(", ").nth(1),
            _ => self.operands.split(", ").next(),
        };
        let register_bytes = match data.and_then(|name| name.chars().next()) {
            Some('b') => 1,
            Some('h') => 2,
            Some('w' | 's') => 4,
            Some('q') => 16,
            _ => 8,
        };
        sized.unwrap_or(register_bytes) * if is_pair { 2 } else { 1 }
    }

    fn address_form(&self) -> AddressForm {
        let Some(start) = self
            .operands
            .find("[x")
            .or_else(|| self.operands.find("[sp"))
        else {
            let target = self.operands.split(", ").nth(1).unwrap_or_default();
            let target = target.split(' ').next().unwrap_or_default();
            let target = u64::from_str_radix(target, 16).unwrap_or(0);
            return AddressForm::Literal(target.wrapping_sub(self.address) as i64);
        };
        let inside = &self.operands[start + 1..];
        let end = inside.find(']').expect("an end");
        let mut parts = inside[..end].split(", ");
        let base = number(parts.next().expect("a base"));
        let Some(second) = parts.next() else {
            return AddressForm::Offset { base, offset: 0 };
        };
        if let Some(offset) = second.strip_prefix('#') {
            let offset = offset.parse().expect("a number");
            return AddressForm::Offset { base, offset };
        }
        let (part, shift) = match parts.next() {
            None => (IndexPart::Whole, 0),
            Some(extension) => {
                let (name, shift) = extension.split_once(" #").unwrap_or((extension, "0"));
                let part = match name {
                    "uxtw" => IndexPart::UnsignedHalf,
                    "sxtw" => IndexPart::SignedHalf,
                    _ => IndexPart::Whole,
                };
                (part, shift.parse().expect("a number"))
            }
        };
        match number(second) {
            REGISTER_31 => AddressForm::Offset { base, offset: 0 },
            index => AddressForm::Indexed {
                base,
                index,
                part,
                shift,
            },
        }
    }
}

/// Returns the number of a general register; 31 for `sp` and zero.
fn number(name: &str) -> u8 {
    let digits = name.trim().trim_start_matches(['x', 'w']);
    digits.parse().unwrap_or(REGISTER_31)
}

/// Returns the bytes of a list of vectors, or of an element of each: `v0.16b-v3.16b}, [x0]`.
fn list_bytes(mnemonic: &str, list: &str) -> u8 {
    let (list, rest) = list.split_once('}').expect("an end");
    let names: Vec<&str> = list.split(['-', ',']).map(str::trim).collect();
    let register = |name: &str| -> u8 {
        let number = name.trim_start_matches('v').split('.').next();
        number.and_then(|text| text.parse().ok()).expect("a vector")
    };
    let count = match list.contains('-') {
        true => (register(names[1]) + 32 - register(names[0])) % 32 + 1,
        false => names.len() as u8,
    };
    let shape = names[0].split('.').nth(1).expect("a shape");
    let element = match shape.chars().last() {
        Some('b') => 1,
        Some('h') => 2,
        Some('s') => 4,
        _ => 8,
    };
    let is_element = rest.starts_with('[') || mnemonic.ends_with('r');
    let elements = match shape[..shape.len() - 1].parse() {
        Ok(elements) if !is_element => elements,
        _ => 1,
    };
    count * element * elements
}

#[test]
#[ignore = "needs arm64 kernels: scripts/setup.sh --kernel 6.1-arm64"]
fn objdump_agrees() {
    let vmlinux = relayout_testkit::cache_folder().join(KERNEL);
    relayout_testkit::require_file(KERNEL, &vmlinux);
    let mut command = Command::new(OBJDUMP);
    command.args(["-d", "--section=.text"]).arg(&vmlinux);
    let child = command.stdout(Stdio::piped()).spawn();
    let mut child = child.expect("aarch64-linux-gnu-objdump, of scripts/setup.sh --tests");
    let (mut count, mut different) = (0_u32, Vec::new());
    for line in BufReader::new(child.stdout.take().expect("a pipe")).lines() {
        let line = line.expect("text");
        let Some(printed) = PrintedInstruction::parse(&line) else {
            continue;
        };
        // Data between functions.
        if printed.mnemonic.starts_with('.') || printed.mnemonic == "udf" {
            continue;
        }
        let (expect, found) = (printed.load_store(), decode_load_store(printed.word));
        count += u32::from(expect.is_some());
        if expect != found {
            different.push(format!("{line}: {found:?}, not {expect:?}"));
        }
    }
    assert!(child.wait().expect("an end").success());
    assert!(count > 100_000, "{count} loads and stores");
    different.truncate(20);
    assert!(different.is_empty(), "{different:#?}");
}
