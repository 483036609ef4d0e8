//! Memory accesses of instructions: kind and size.

use yaxpeax_arm::armv8::a64::{Opcode, Operand, SIMDSizeCode, SizeCode};

/// Access of an instruction to its memory operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpcodeAccess {
    pub reads: bool,
    pub writes: bool,
    pub width: AccessWidth,
}

/// Size of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccessWidth {
    /// Fixed number of bytes.
    Bytes(u32),
    /// Size of the first data register, this many times. The registers of a group, or lanes of
    /// them, count each.
    Registers(u32),
    /// The same for an instruction whose first register tells whether it stored.
    AfterStatus(u32),
    /// One element for each register of a group.
    Elements,
}

/// Returns the access of an instruction; `None` if it has none or only prefetches.
pub(super) fn opcode_access(opcode: Opcode) -> Option<OpcodeAccess> {
    let (reads, writes, width) = match load_width(opcode) {
        Some(width) => (true, false, width),
        None => match store_width(opcode) {
            Some(width) => (false, true, width),
            None => (true, true, atomic_width(opcode)?),
        },
    };
    Some(OpcodeAccess {
        reads,
        writes,
        width,
    })
}

fn load_width(opcode: Opcode) -> Option<AccessWidth> {
    use Opcode as O;
    Some(match opcode {
        O::LDR
        | O::LDUR
        | O::LDTR
        | O::LDAR
        | O::LDLAR
        | O::LDAPR
        | O::LDAPUR
        | O::LDXR
        | O::LDAXR
        | O::LDRAA
        | O::LDRAB
        | O::LD1
        | O::LD2
        | O::LD3
        | O::LD4 => AccessWidth::Registers(1),
        O::LDP | O::LDNP | O::LDXP | O::LDAXP => AccessWidth::Registers(2),
        O::LDRB
        | O::LDRSB
        | O::LDURB
        | O::LDURSB
        | O::LDTRB
        | O::LDTRSB
        | O::LDARB
        | O::LDLARB
        | O::LDXRB
        | O::LDAXRB
        | O::LDAPRB
        | O::LDAPURB
        | O::LDAPURSB => AccessWidth::Bytes(1),
        O::LDRH
        | O::LDRSH
        | O::LDURH
        | O::LDURSH
        | O::LDTRH
        | O::LDTRSH
        | O::LDARH
        | O::LDLARH
        | O::LDXRH
        | O::LDAXRH
        | O::LDAPRH
        | O::LDAPURH
        | O::LDAPURSH => AccessWidth::Bytes(2),
        O::LDRSW | O::LDURSW | O::LDTRSW | O::LDAPURSW => AccessWidth::Bytes(4),
        O::LDPSW => AccessWidth::Bytes(8),
        O::LD1R | O::LD2R | O::LD3R | O::LD4R => AccessWidth::Elements,
        _ => return None,
    })
}

fn store_width(opcode: Opcode) -> Option<AccessWidth> {
    use Opcode as O;
    Some(match opcode {
        O::STR
        | O::STUR
        | O::STTR
        | O::STLR
        | O::STLLR
        | O::STLUR
        | O::ST1
        | O::ST2
        | O::ST3
        | O::ST4 => AccessWidth::Registers(1),
        O::STP | O::STNP => AccessWidth::Registers(2),
        O::STRB | O::STURB | O::STTRB | O::STLRB | O::STLLRB | O::STLURB | O::STXRB | O::STLXRB => {
            AccessWidth::Bytes(1)
        }
        O::STRH | O::STURH | O::STTRH | O::STLRH | O::STLLRH | O::STLURH | O::STXRH | O::STLXRH => {
            AccessWidth::Bytes(2)
        }
        O::STRW => AccessWidth::Bytes(4),
        O::STXR | O::STLXR => AccessWidth::AfterStatus(1),
        O::STXP | O::STLXP => AccessWidth::AfterStatus(2),
        _ => return None,
    })
}

/// Returns the size of an instruction that reads and writes.
fn atomic_width(opcode: Opcode) -> Option<AccessWidth> {
    use Opcode as O;
    Some(match opcode {
        O::SWP(_)
        | O::CAS(_)
        | O::LDADD(_)
        | O::LDCLR(_)
        | O::LDEOR(_)
        | O::LDSET(_)
        | O::LDSMAX(_)
        | O::LDSMIN(_)
        | O::LDUMAX(_)
        | O::LDUMIN(_) => AccessWidth::Registers(1),
        O::CASP(_) => AccessWidth::Registers(2),
        O::SWPB(_)
        | O::CASB(_)
        | O::LDADDB(_)
        | O::LDCLRB(_)
        | O::LDEORB(_)
        | O::LDSETB(_)
        | O::LDSMAXB(_)
        | O::LDSMINB(_)
        | O::LDUMAXB(_)
        | O::LDUMINB(_) => AccessWidth::Bytes(1),
        O::SWPH(_)
        | O::CASH(_)
        | O::LDADDH(_)
        | O::LDCLRH(_)
        | O::LDEORH(_)
        | O::LDSETH(_)
        | O::LDSMAXH(_)
        | O::LDSMINH(_)
        | O::LDUMAXH(_)
        | O::LDUMINH(_) => AccessWidth::Bytes(2),
        _ => return None,
    })
}

/// Returns true for a store that tells in its first register whether it stored.
pub(super) fn has_status(opcode: Opcode) -> bool {
    use Opcode as O;
    matches!(
        opcode,
        O::STXR | O::STXRB | O::STXRH | O::STXP | O::STLXR | O::STLXRB | O::STLXRH | O::STLXP
    )
}

impl AccessWidth {
    /// Returns the size in bytes for these operands; 0 if they do not tell.
    pub(super) fn bytes(self, operands: &[Operand; 4]) -> u32 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Registers(count) => count * register_bytes(&operands[0]),
            Self::AfterStatus(count) => count * register_bytes(&operands[1]),
            Self::Elements => match operands[0] {
                Operand::SIMDRegisterGroup(_, _, element, count) => {
                    u32::from(count) * simd_bytes(element)
                }
                _ => 0,
            },
        }
    }
}

fn register_bytes(operand: &Operand) -> u32 {
    match *operand {
        Operand::Register(size, _) | Operand::RegisterPair(size, _) => match size {
            SizeCode::X => 8,
            SizeCode::W => 4,
        },
        Operand::SIMDRegister(size, _) => simd_bytes(size),
        Operand::SIMDRegisterGroup(size, _, _, count) => u32::from(count) * simd_bytes(size),
        Operand::SIMDRegisterGroupLane(_, element, count, _) => {
            u32::from(count) * simd_bytes(element)
        }
        _ => 0,
    }
}

fn simd_bytes(size: SIMDSizeCode) -> u32 {
    match size {
        SIMDSizeCode::B => 1,
        SIMDSizeCode::H => 2,
        SIMDSizeCode::S => 4,
        SIMDSizeCode::D => 8,
        SIMDSizeCode::Q => 16,
    }
}
