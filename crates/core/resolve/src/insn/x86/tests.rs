use super::*;
use proptest::prelude::*;

fn decode(bytes: &[u8]) -> DecodedInsn {
    X86InsnSet
        .decode(0x1000, bytes)
        .expect("test input is an instruction")
}

fn check(bytes: &[u8], expect: MemoryOperand) {
    let insn = decode(bytes);
    assert_eq!(insn.memory[0], Some(expect), "{bytes:02x?}");
}

fn memory() -> MemoryOperand {
    MemoryOperand {
        segment: AddressSegment::Flat,
        base: None,
        index: None,
        displacement: 0,
        bytes: 8,
        reads: true,
        writes: false,
        string: false,
    }
}

#[test]
fn base_and_displacement() {
    // mov 0x38(%rbx),%rax
    check(
        &[0x48, 0x8b, 0x43, 0x38],
        MemoryOperand {
            base: Some(DwarfRegister(3)),
            displacement: 0x38,
            ..memory()
        },
    );
}

#[test]
fn rip_relative_is_absolute() {
    // mov 0x10(%rip),%rax
    check(
        &[0x48, 0x8b, 0x05, 0x10, 0, 0, 0],
        MemoryOperand {
            displacement: 0x1017,
            ..memory()
        },
    );
}

#[test]
fn per_cpu_absolute() {
    // mov %gs:0x1fbc0,%rax
    check(
        &[0x65, 0x48, 0x8b, 0x04, 0x25, 0xc0, 0xfb, 0x01, 0x00],
        MemoryOperand {
            segment: AddressSegment::Local,
            displacement: 0x1fbc0,
            ..memory()
        },
    );
}

#[test]
fn index_and_scale() {
    // mov -0x7d000000(,%rax,8),%rdx
    check(
        &[0x48, 0x8b, 0x14, 0xc5, 0, 0, 0, 0x83],
        MemoryOperand {
            index: Some((DwarfRegister(0), 8)),
            displacement: -0x7d00_0000,
            ..memory()
        },
    );
}

#[test]
fn locked_compare_exchange_reads_and_writes() {
    // lock cmpxchg %rdx,(%rdi)
    let insn = decode(&[0xf0, 0x48, 0x0f, 0xb1, 0x17]);
    let m = insn.operand(true).expect("has an operand");
    assert_eq!(
        (m.base, m.reads, m.writes),
        (Some(DwarfRegister(5)), true, true)
    );
}

#[test]
fn string_instructions_have_two_operands() {
    // rep movsq
    let insn = decode(&[0xf3, 0x48, 0xa5]);
    assert_eq!(
        insn.operand(false).and_then(|m| m.base),
        Some(DwarfRegister(4))
    );
    assert_eq!(
        insn.operand(true).and_then(|m| m.base),
        Some(DwarfRegister(5))
    );
    assert!(insn.memory.iter().flatten().all(|m| m.string));
}

#[test]
fn push_stores_below_the_stack_pointer() {
    let insn = decode(&[0x53]); // push %rbx
    let [
        Some(InsnEffect::Store {
            memory,
            src: DwarfRegister(3),
        }),
        Some(InsnEffect::AddConstant { value, .. }),
        None,
    ] = insn.effects
    else {
        panic!("{:?}", insn.effects);
    };
    assert_eq!(
        (memory.base, memory.displacement, value),
        (Some(DwarfRegister(7)), -8, -8)
    );
}

#[test]
fn kernel_constant_is_sign_extended() {
    // mov $0xffffffff82000000,%rdi
    let insn = decode(&[0x48, 0xc7, 0xc7, 0, 0, 0, 0x82]);
    assert_eq!(
        insn.effects[0],
        Some(InsnEffect::Constant {
            dst: DwarfRegister(5),
            value: 0xffff_ffff_8200_0000
        })
    );
}

#[test]
fn call_to_known_target() {
    assert_eq!(
        decode(&[0xe8, 0xfb, 0, 0, 0]).flow,
        InsnFlow::Call(Some(0x1100))
    );
}

proptest! {
    #[test]
    fn any_bytes_decode_or_not(bytes in proptest::collection::vec(any::<u8>(), 0..20), pc: u64) {
        if let Some(insn) = X86InsnSet.decode(pc, &bytes) {
            prop_assert!(usize::from(insn.len) <= bytes.len());
            prop_assert!(insn.len > 0);
        }
    }
}
