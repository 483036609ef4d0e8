use super::*;

fn decode(word: u32) -> Insn {
    let insn = Aarch64.decode(0x1000, &word.to_le_bytes());
    insn.expect("test input is an instruction")
}

/// The effects of an instruction.
fn check(word: u32, expect: &[Effect]) {
    let insn = decode(word);
    let effects: Vec<Effect> = insn.effects.into_iter().flatten().collect();
    assert_eq!(effects, expect, "{word:08x}");
}

/// A load or store of 8 bytes.
fn word_at(base: u8, displacement: i64, reads: bool) -> Memory {
    Memory {
        segment: Segment::Flat,
        base: Some(Reg(base)),
        index: None,
        displacement,
        bytes: 8,
        reads,
        writes: !reads,
        string: false,
    }
}

fn address(base: u8, index: Option<(Reg, u8)>, displacement: i64) -> Memory {
    Memory {
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
            Effect::Store {
                memory: word_at(31, -32, false),
                src: Reg(29),
            },
            Effect::Store {
                memory: word_at(31, -24, false),
                src: Reg(30),
            },
            Effect::AddConstant {
                dst: Reg(31),
                value: -32,
            },
        ],
    );
    // ldp x29, x30, [sp], #32
    check(
        0xa8c2_7bfd,
        &[
            Effect::Load {
                dst: Reg(29),
                memory: word_at(31, 0, true),
            },
            Effect::Load {
                dst: Reg(30),
                memory: word_at(31, 8, true),
            },
            Effect::AddConstant {
                dst: Reg(31),
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
        &[Effect::Address {
            dst: Reg(29),
            memory: address(31, None, 0),
        }],
    );
    // add x0, x1, x2, lsl #4
    let index = Some((Reg(2), 16));
    check(
        0x8b02_1020,
        &[Effect::Address {
            dst: Reg(0),
            memory: address(1, index, 0),
        }],
    );
    // sub x0, x1, #0x10
    check(
        0xd100_4020,
        &[Effect::Address {
            dst: Reg(0),
            memory: address(1, None, -16),
        }],
    );
    // add x0, x0, w1, sxtw #3
    let index = Some((Reg(1), 8));
    check(
        0x8b21_cc00,
        &[Effect::Address {
            dst: Reg(0),
            memory: address(0, index, 0),
        }],
    );
    // adrp x0, .+0x3000
    check(
        0xf000_0000,
        &[Effect::Constant {
            dst: Reg(0),
            value: 0x4000,
        }],
    );
    // madd x0, x1, x2, x3
    let (dst, base) = (Reg(0), Some(Reg(3)));
    let factors = [Reg(1), Reg(2)];
    check(0x9b02_0c20, &[Effect::AddProduct { dst, base, factors }]);
    // lsl x0, x1, #4; sbfiz x0, x1, #4, #32; sxtw x0, w1
    let (src, by) = (Reg(1), 16);
    check(0xd37c_ec20, &[Effect::Multiply { dst, src, by }]);
    check(0x937c_7c20, &[Effect::Multiply { dst, src, by }]);
    check(0x9340_7c20, &[Effect::Extend { dst, src }]);
    // sub x0, x1, x2, lsl #3
    let (from, what, scale) = (Reg(1), Reg(2), 8);
    check(
        0xcb02_0c20,
        &[Effect::Subtract {
            dst,
            from,
            what,
            scale,
        }],
    );
}

#[test]
fn pointers_are_moved() {
    // mov x19, x0
    check(
        0xaa00_03f3,
        &[Effect::Copy {
            dst: Reg(19),
            src: Reg(0),
        }],
    );
    // csel x0, x1, x2, eq
    check(
        0x9a82_0020,
        &[Effect::Select {
            dst: Reg(0),
            either: [Reg(1), Reg(2)],
        }],
    );
    // mrs x0, tpidr_el0
    check(0xd53b_d040, &[Effect::LocalBase { dst: Reg(0) }]);
    // ldr x0, [x1, #8]
    check(
        0xf940_0420,
        &[Effect::Load {
            dst: Reg(0),
            memory: word_at(1, 8, true),
        }],
    );
    // ldr x0, [x1], #16
    check(
        0xf841_0420,
        &[
            Effect::Load {
                dst: Reg(0),
                memory: word_at(1, 0, true),
            },
            Effect::AddConstant {
                dst: Reg(1),
                value: 16,
            },
        ],
    );
}

/// What an instruction leaves unknown.
fn check_clobbers(word: u32, expect: &[u8]) {
    let found: Vec<u8> = decode(word).clobbers.iter().map(|Reg(n)| n).collect();
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
    assert_eq!(decode(0x9400_0002).flow, Flow::Call(Some(0x1008)));
    assert_eq!(decode(0xd63f_0000).flow, Flow::Call(None)); // blr x0
    assert_eq!(decode(0x1400_0002).flow, Flow::Jump(0x1008));
    assert_eq!(decode(0x5400_0040).flow, Flow::Branch(0x1008)); // b.eq
    assert_eq!(decode(0xb4ff_ffe0).flow, Flow::Branch(0x0ffc)); // cbz x0, .-4
    assert_eq!(decode(0xd65f_03c0).flow, Flow::Stop); // ret
    assert_eq!(decode(0xd61f_0220).flow, Flow::Stop); // br x17
}

#[test]
fn code_is_aligned() {
    assert_eq!(Aarch64.decode(0x1002, &[0x20, 0x04, 0x40, 0xf9]), None);
    assert_eq!(Aarch64.decode(0x1000, &[0x20, 0x04, 0x40]), None);
}
