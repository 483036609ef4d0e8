//! Memory operands of every instruction of the C library and of the kernel, compared with the
//! decoder's account of used memory.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use iced_x86::{
    Decoder, DecoderOptions, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
    Register, UsedMemory,
};
use relayout_resolve::insn::x86::X86InsnSet;
use relayout_resolve::insn::{AddressSegment, DecodedInsn, InstructionSet, MemoryOperand};

/// Counts of one file.
#[derive(Debug, Default)]
struct Counts {
    instructions: u64,
    with_memory: u64,
    /// Operands among them whose length or address is not fixed.
    walking: u64,
}

/// Compares every instruction of `code`, which is at `address`.
fn check(address: u64, code: &[u8], counts: &mut Counts) {
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let mut factory = InstructionInfoFactory::new();
    while decoder.can_decode() {
        let insn = decoder.decode();
        let at = (insn.ip() - address) as usize;
        let end = (at + 15).min(code.len());
        let ours = X86InsnSet.decode(insn.ip(), &code[at..end]);
        if insn.is_invalid() {
            // At the end of the code the last instruction may be cut off.
            assert!(ours.is_none() || end == code.len(), "{:#x}", insn.ip());
            continue;
        }
        let ours = ours.unwrap_or_else(|| panic!("{:#x} {insn:?} is not decoded", insn.ip()));
        assert_eq!(
            usize::from(ours.len),
            insn.len(),
            "{:#x} {insn:?}",
            insn.ip()
        );
        let info = factory.info(&insn);
        let used: Vec<(&UsedMemory, bool, bool)> = { info.used_memory().iter() }
            .map(|used| (used, reads(used.access()), writes(used.access())))
            .filter(|(_, reads, writes)| *reads || *writes)
            .collect();
        counts.instructions += 1;
        counts.with_memory += u64::from(!used.is_empty());
        counts.walking += u64::from(ours.memory.iter().flatten().any(|m| m.string));
        for (used, reads, writes) in &used {
            let held = ours
                .memory
                .iter()
                .flatten()
                .any(|m| holds(m, used, (*reads, *writes), counts_bits(&insn)));
            assert!(
                held,
                "{:#x} {insn:?}: {used:?} is not in {:?}",
                insn.ip(),
                ours.memory
            );
        }
        let bytes: usize = used
            .iter()
            .map(|(used, ..)| used.memory_size().size())
            .sum();
        assert_eq!(
            total(&ours),
            bytes,
            "{:#x} {insn:?}: {:?}",
            insn.ip(),
            ours.memory
        );
    }
}

fn total(insn: &DecodedInsn) -> usize {
    insn.memory.iter().flatten().map(|m| m.bytes as usize).sum()
}

fn reads(access: OpAccess) -> bool {
    use OpAccess::{CondRead, Read, ReadCondWrite, ReadWrite};
    matches!(access, Read | CondRead | ReadWrite | ReadCondWrite)
}

fn writes(access: OpAccess) -> bool {
    use OpAccess::{CondWrite, ReadCondWrite, ReadWrite, Write};
    matches!(access, Write | CondWrite | ReadWrite | ReadCondWrite)
}

/// Returns DWARF's number of a general-purpose register.
fn number(register: Register) -> Option<u8> {
    const NAMES: [Register; 16] = [
        Register::RAX,
        Register::RDX,
        Register::RCX,
        Register::RBX,
        Register::RSI,
        Register::RDI,
        Register::RBP,
        Register::RSP,
        Register::R8,
        Register::R9,
        Register::R10,
        Register::R11,
        Register::R12,
        Register::R13,
        Register::R14,
        Register::R15,
    ];
    let at = NAMES
        .iter()
        .position(|name| *name == register.full_register())?;
    Some(at as u8)
}

/// Returns true for `bt %rax,(%rdi)` and the like.
fn counts_bits(insn: &Instruction) -> bool {
    let is_bit = matches!(
        insn.mnemonic(),
        Mnemonic::Bt | Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc
    );
    is_bit && insn.op0_kind() == OpKind::Memory && insn.op1_kind() == OpKind::Register
}

/// Returns true if the decoder's operand is ours or a part of it.
fn holds(ours: &MemoryOperand, used: &UsedMemory, access: (bool, bool), counts_bits: bool) -> bool {
    let local = matches!(used.segment(), Register::FS | Register::GS);
    let start = used.displacement() as i64;
    let end = start.wrapping_add(used.memory_size().size() as i64);
    let vector = used.index() != Register::None && number(used.index()).is_none();
    // The decoder does not say that such instructions may access another word than their operand.
    let index = match counts_bits {
        true => ours.index.is_some_and(|(_, scale)| scale == 8),
        false => {
            ours.index.map(|(r, _)| r.0) == number(used.index())
                && ours
                    .index
                    .is_none_or(|(_, scale)| u32::from(scale) == used.scale())
        }
    };
    (ours.reads, ours.writes) == access
        && (ours.segment == AddressSegment::Local) == local
        && ours.base.map(|r| r.0) == number(used.base())
        && index
        && ours.displacement <= start
        && end <= ours.displacement.wrapping_add(i64::from(ours.bytes))
        && (!vector || ours.string)
}

/// Compares all code sections of a file.
fn check_file(path: &Path) -> Result<Counts, Box<dyn Error>> {
    // SAFETY: the file is not changed while this runs.
    let bytes = unsafe { memmap2::Mmap::map(&std::fs::File::open(path)?)? };
    let output = Command::new("readelf").args(["-SW"]).arg(path).output()?;
    let text = String::from_utf8(output.stdout)?;
    let mut counts = Counts::default();
    for line in text.lines().filter(|line| line.contains(" AX ")) {
        // `  [16] .text  PROGBITS  0000000000026380 026380 1551ad 00  AX  0   0 64`
        let words: Vec<&str> = line
            .split("PROGBITS")
            .nth(1)
            .unwrap_or("")
            .split_whitespace()
            .collect();
        let [address, offset, size, ..] = words.as_slice() else {
            continue;
        };
        let [address, offset, size] =
            [address, offset, size].map(|word| u64::from_str_radix(word, 16));
        let start = usize::try_from(offset?)?;
        let end = start + usize::try_from(size?)?;
        check(
            address?,
            bytes.get(start..end).ok_or("a section outside the file")?,
            &mut counts,
        );
    }
    Ok(counts)
}

#[test]
fn operands_of_the_c_library() -> Result<(), Box<dyn Error>> {
    let output = Command::new("cc")
        .arg("-print-file-name=libc.so.6")
        .output()?;
    let path = PathBuf::from(String::from_utf8(output.stdout)?.trim());
    let counts = check_file(&path)?;
    println!("{}: {counts:?}", path.display());
    assert!(
        counts.with_memory > 100_000 && counts.walking > 50,
        "{counts:?}"
    );
    Ok(())
}

#[test]
fn operands_of_the_kernel() -> Result<(), Box<dyn Error>> {
    let path = relayout_testkit::vmlinux();
    let counts = check_file(&path)?;
    println!("{}: {counts:?}", path.display());
    assert!(
        counts.with_memory > 1_000_000 && counts.walking > 1000,
        "{counts:?}"
    );
    Ok(())
}

#[test]
fn unusual_forms() {
    let forms: [&[u8]; 8] = [
        &[0x48, 0xcf],                               // iretq
        &[0xc8, 0x10, 0x00, 0x03],                   // enter $16,$3
        &[0x0f, 0xae, 0x27],                         // xsave (%rdi)
        &[0xff, 0x53, 0x08],                         // call *8(%rbx)
        &[0xff, 0x74, 0x24, 0x08],                   // push 8(%rsp)
        &[0xc4, 0xe2, 0xe9, 0x90, 0x04, 0xcf],       // vpgatherdq %xmm2,(%rdi,%xmm1,8),%xmm0
        &[0xf0, 0x48, 0x0f, 0xc7, 0x0f],             // lock cmpxchg16b (%rdi)
        &[0x62, 0xf2, 0xfd, 0x09, 0xa0, 0x04, 0xcf], // vpscatterdq %xmm0,(%rdi,%xmm1,8){%k1}
    ];
    for form in forms {
        let mut counts = Counts::default();
        check(0x1000, form, &mut counts);
        assert_eq!(
            (counts.instructions, counts.with_memory),
            (1, 1),
            "{form:02x?}"
        );
    }
}
