use super::*;

fn decode(word: u32) -> DecodedInsn {
    let insn = Aarch64InsnSet.decode(0x1000, &word.to_le_bytes());
    insn.expect("test input is an instruction")
}

/// Compares the effects of an instruction.
fn check(word: u32, expect: &[InsnEffect]) {
    let insn = decode(word);
    let effects: Vec<InsnEffect> = insn.effects.into_iter().flatten().collect();
    assert_eq!(effects, expect, "{word:08x}");
}

/// Returns a load or store of 8 bytes.
fn word_at(base: u8, displacement: i64, reads: bool) -> MemoryOperand {
    MemoryOperand {
        segment: AddressSegment::Flat,
        base: Some(DwarfRegister(base)),
        index: None,
        displacement,
        bytes: 8,
        reads,
        writes: !reads,
        string: false,
    }
}

fn address(base: u8, index: Option<(DwarfRegister, u8)>, displacement: i64) -> MemoryOperand {
    MemoryOperand {
        index,
        bytes: 0,
        reads: false,
        ..word_at(base, displacement, true)
    }
}

#[test]
fn a_pair_is_pushed_and_moves_the_stack_pointer() {
    // stp x29, x30, [sp, #-32]!
    check(
        0xa9be_7bfd,
        &[
            InsnEffect::Store {
                memory: word_at(31, -32, false),
                src: DwarfRegister(29),
            },
            InsnEffect::Store {
                memory: word_at(31, -24, false),
                src: DwarfRegister(30),
            },
            InsnEffect::AddConstant {
                dst: DwarfRegister(31),
                value: -32,
            },
        ],
    );
    // ldp x29, x30, [sp], #32
    check(
        0xa8c2_7bfd,
        &[
            InsnEffect::Load {
                dst: DwarfRegister(29),
                memory: word_at(31, 0, true),
            },
            InsnEffect::Load {
                dst: DwarfRegister(30),
                memory: word_at(31, 8, true),
            },
            InsnEffect::AddConstant {
                dst: DwarfRegister(31),
                value: 32,
            },
        ],
    );
    assert_eq!(decode(0xa8c2_7bfd).memory[0].map(|m| m.bytes), Some(16));
}

#[test]
fn addresses_are_computed() {
    // mov x29, sp
    check(
        0x9100_03fd,
        &[InsnEffect::Address {
            dst: DwarfRegister(29),
            memory: address(31, None, 0),
        }],
    );
    // add x0, x1, x2, lsl #4
    let index = Some((DwarfRegister(2), 16));
    check(
        0x8b02_1020,
        &[InsnEffect::Address {
            dst: DwarfRegister(0),
            memory: address(1, index, 0),
        }],
    );
    // sub x0, x1, #0x10
    check(
        0xd100_4020,
        &[InsnEffect::Address {
            dst: DwarfRegister(0),
            memory: address(1, None, -16),
        }],
    );
    // add x0, x0, w1, sxtw #3
    let index = Some((DwarfRegister(1), 8));
    check(
        0x8b21_cc00,
        &[InsnEffect::Address {
            dst: DwarfRegister(0),
            memory: address(0, index, 0),
        }],
    );
    // adrp x0, .+0x3000
    check(
        0xf000_0000,
        &[InsnEffect::Constant {
            dst: DwarfRegister(0),
            value: 0x4000,
        }],
    );
    // madd x0, x1, x2, x3
    let (dst, base) = (DwarfRegister(0), Some(DwarfRegister(3)));
    let factors = [DwarfRegister(1), DwarfRegister(2)];
    check(
        0x9b02_0c20,
        &[InsnEffect::AddProduct { dst, base, factors }],
    );
    // lsl x0, x1, #4; sbfiz x0, x1, #4, #32; sxtw x0, w1
    let (src, by) = (DwarfRegister(1), 16);
    check(0xd37c_ec20, &[InsnEffect::Multiply { dst, src, by }]);
    check(0x937c_7c20, &[InsnEffect::Multiply { dst, src, by }]);
    check(0x9340_7c20, &[InsnEffect::Extend { dst, src }]);
    // sub x0, x1, x2, lsl #3
    let (from, subtrahend, scale) = (DwarfRegister(1), DwarfRegister(2), 8);
    check(
        0xcb02_0c20,
        &[InsnEffect::Subtract {
            dst,
            from,
            subtrahend,
            scale,
        }],
    );
}

#[test]
fn pointers_are_moved() {
    // mov x19, x0
    check(
        0xaa00_03f3,
        &[InsnEffect::Copy {
            dst: DwarfRegister(19),
            src: DwarfRegister(0),
        }],
    );
    // csel x0, x1, x2, eq
    check(
        0x9a82_0020,
        &[InsnEffect::Select {
            dst: DwarfRegister(0),
            either: [DwarfRegister(1), DwarfRegister(2)],
        }],
    );
    // mrs x0, tpidr_el0
    check(
        0xd53b_d040,
        &[InsnEffect::LocalBase {
            dst: DwarfRegister(0),
        }],
    );
    // ldr x0, [x1, #8]
    check(
        0xf940_0420,
        &[InsnEffect::Load {
            dst: DwarfRegister(0),
            memory: word_at(1, 8, true),
        }],
    );
    // ldr x0, [x1], #16
    check(
        0xf841_0420,
        &[
            InsnEffect::Load {
                dst: DwarfRegister(0),
                memory: word_at(1, 0, true),
            },
            InsnEffect::AddConstant {
                dst: DwarfRegister(1),
                value: 16,
            },
        ],
    );
}

/// Compares the registers that an instruction clobbers.
fn check_clobbers(word: u32, expect: &[u8]) {
    let found: Vec<u8> = decode(word)
        .clobbers
        .iter()
        .map(|DwarfRegister(n)| n)
        .collect();
    assert_eq!(found, expect, "{word:08x}");
}

#[test]
fn only_what_is_written_is_forgotten() {
    check_clobbers(0xf900_0420, &[]); // str x0, [x1, #8]
    check_clobbers(0xc802_7c20, &[2]); // stxr w2, x0, [x1]
    check_clobbers(0xf820_0041, &[1]); // ldadd x0, x1, [x2]
    check_clobbers(0xc8a0_7c41, &[0]); // cas x0, x1, [x2]
    check_clobbers(0x4820_7c42, &[0, 1]); // casp x0, x1, x2, x3, [x2]
    check_clobbers(0xeb01_001f, &[]); // cmp x0, x1
    check_clobbers(0xb400_0040, &[]); // cbz x0, .+8
    check_clobbers(0x9400_0002, &[30]); // bl .+8
    check_clobbers(0xa8c2_7bfd, &[29, 30, 31]); // ldp x29, x30, [sp], #32
    check_clobbers(0x8b02_1020, &[0]); // add x0, x1, x2, lsl #4
}

#[test]
fn control_passes_on() {
    assert_eq!(decode(0x9400_0002).flow, InsnFlow::Call(Some(0x1008)));
    assert_eq!(decode(0xd63f_0000).flow, InsnFlow::Call(None)); // blr x0
    assert_eq!(decode(0x1400_0002).flow, InsnFlow::Jump(0x1008));
    assert_eq!(decode(0x5400_0040).flow, InsnFlow::Branch(0x1008)); // b.eq
    assert_eq!(decode(0xb4ff_ffe0).flow, InsnFlow::Branch(0x0ffc)); // cbz x0, .-4
    assert_eq!(decode(0xd65f_03c0).flow, InsnFlow::Stop); // ret
    assert_eq!(decode(0xd61f_0220).flow, InsnFlow::Stop); // br x17
}

#[test]
fn code_is_aligned() {
    assert_eq!(
        Aarch64InsnSet.decode(0x1002, &[0x20, 0x04, 0x40, 0xf9]),
        None
    );
    assert_eq!(Aarch64InsnSet.decode(0x1000, &[0x20, 0x04, 0x40]), None);
}
