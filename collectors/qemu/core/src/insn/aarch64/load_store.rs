//! Loads and stores of AArch64.
//!
//! Arm ARM (DDI 0487), section C4.1 "A64 instruction set encoding", "Loads and Stores": a few bits of the word select a
//! class of encodings, and its fields say which registers make the address, and how many bytes are accessed. A library
//! would give names, each of which needs an entry that says the same.
//!
//! Left out are instructions whose accesses QEMU does not show, or that access no data (prefetches, memory tags, copies
//! of memory by MOPS), and SVE, with which kernels only save and restore registers.

#[cfg(test)]
mod objdump;

use super::DC_ZVA;

/// Bytes that `dc zva` clears on all CPUs that guests have.
const ZEROED_BYTES: u8 = 64;
/// Number of a register that is `sp` as a base, and zero otherwise.
const REGISTER_31: u8 = 31;

/// A load or store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadStore {
    /// Address of the first byte.
    pub address: AddressForm,
    /// Kind of the access.
    pub kind: LoadStoreKind,
    /// Bytes that are accessed.
    pub bytes: u8,
}

/// Kind of a load or store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadStoreKind {
    /// Loads.
    Load,
    /// Stores.
    Store,
    /// Loads, and begins to watch the bytes: `ldxr`.
    LoadExclusive,
    /// Stores if nobody has since: `stxr`.
    StoreExclusive,
    /// Loads a value and stores another one: `swp`.
    Swap,
    /// Loads a value and stores what is computed of it: `ldadd`.
    Arithmetic,
    /// Loads, and stores if the value is the one in this register: `cas`.
    CompareAndSwap(u8),
    /// The same with the values in this register and the next one: `casp`.
    CompareAndSwapPair(u8),
    /// Stores zeros, which QEMU does not show: `dc zva`.
    Zero,
}

/// Registers and numbers that make an address. Register 31 as a base is `sp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressForm {
    /// Register and a number.
    Offset { base: u8, offset: i64 },
    /// Register and another one, of which a part is shifted left.
    Indexed {
        base: u8,
        index: u8,
        part: IndexPart,
        shift: u8,
    },
    /// Distance from the instruction.
    Literal(i64),
    /// Register, rounded down to a multiple of the accessed bytes.
    Block { register: u8 },
}

/// Part of an index register that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexPart {
    /// All 64 bits.
    Whole,
    /// The lower 32 bits, which are not negative.
    UnsignedHalf,
    /// The lower 32 bits with their sign.
    SignedHalf,
}

/// Word of an instruction.
#[derive(Clone, Copy)]
struct InstructionWord(u32);

impl InstructionWord {
    fn bit(self, at: u32) -> bool {
        self.0 >> at & 1 == 1
    }

    fn field(self, lowest: u32, bits: u32) -> u32 {
        self.0 >> lowest & ((1 << bits) - 1)
    }

    fn signed(self, lowest: u32, bits: u32) -> i64 {
        let unused = 64 - bits;
        (i64::from(self.field(lowest, bits)) << unused) >> unused
    }

    fn register(self, lowest: u32) -> u8 {
        self.field(lowest, 5) as u8
    }

    /// Bytes by the size in the highest bits.
    fn sized_bytes(self) -> u8 {
        1 << self.field(30, 2)
    }

    /// Address of the base register and an offset.
    fn offset_address(self, offset: i64) -> AddressForm {
        AddressForm::Offset {
            base: self.register(5),
            offset,
        }
    }

    /// Access to the address in the base register.
    fn at_base(self, kind: LoadStoreKind, bytes: u8) -> LoadStore {
        LoadStore {
            address: self.offset_address(0),
            kind,
            bytes,
        }
    }
}

/// Returns the load or store of an instruction; `None` if it is none, or one that is not known.
pub fn decode_load_store(word: u32) -> Option<LoadStore> {
    let fields = InstructionWord(word);
    if word & !0x1f == DC_ZVA {
        let register = fields.register(0);
        return (register != REGISTER_31).then_some(LoadStore {
            address: AddressForm::Block { register },
            kind: LoadStoreKind::Zero,
            bytes: ZEROED_BYTES,
        });
    }
    if !fields.bit(27) || fields.bit(25) {
        return None;
    }
    let (is_vector, is_upper) = (fields.bit(26), fields.bit(24));
    match (fields.field(28, 2), is_vector, is_upper) {
        (0b00, false, false) => exclusive_or_ordered(fields),
        (0b00, true, false) => vector_structures(fields),
        (0b00, true, true) => vector_elements(fields),
        (0b01, _, false) => literal(fields),
        (0b01, false, true) => ordered_with_offset(fields),
        (0b10, ..) => pair(fields),
        (0b11, _, false) if fields.bit(21) => match fields.field(10, 2) {
            0b00 => atomic(fields),
            0b10 => register_offset(fields),
            _ => authenticated(fields),
        },
        (0b11, ..) => immediate(fields),
        _ => None,
    }
}

fn load_or_store(loads: bool) -> LoadStoreKind {
    match loads {
        true => LoadStoreKind::Load,
        false => LoadStoreKind::Store,
    }
}

/// "Load/store exclusive register" and "pair", "load/store ordered", "compare and swap" and "pair".
fn exclusive_or_ordered(fields: InstructionWord) -> Option<LoadStore> {
    use LoadStoreKind as Kind;
    let is_ordered = fields.bit(23);
    let (loads, is_pair) = (fields.bit(22), fields.bit(21));
    let pair_bytes = 8 << u8::from(fields.bit(30));
    let compared = fields.register(16);
    let bytes = fields.sized_bytes();
    let (kind, bytes) = match (is_ordered, is_pair) {
        (true, false) => (load_or_store(loads), bytes),
        (true, true) if fields.register(10) != REGISTER_31 => return None,
        (true, true) => (Kind::CompareAndSwap(compared), bytes),
        (false, true) if !fields.bit(31) => match fields.register(10) {
            REGISTER_31 => (Kind::CompareAndSwapPair(compared & !1), pair_bytes),
            _ => return None,
        },
        (false, _) => {
            let kind = match loads {
                true => Kind::LoadExclusive,
                false => Kind::StoreExclusive,
            };
            (kind, if is_pair { pair_bytes } else { bytes })
        }
    };
    Some(fields.at_base(kind, bytes))
}

/// "Advanced SIMD load/store multiple structures" and "(post-indexed)".
fn vector_structures(fields: InstructionWord) -> Option<LoadStore> {
    if fields.bit(31) || fields.bit(21) {
        return None;
    }
    let registers = match fields.field(12, 4) {
        0b0000 | 0b0010 => 4,
        0b0100 | 0b0110 => 3,
        0b1000 | 0b1010 => 2,
        0b0111 => 1,
        _ => return None,
    };
    let bytes = registers * (8 << u8::from(fields.bit(30)));
    Some(fields.at_base(load_or_store(fields.bit(22)), bytes))
}

/// "Advanced SIMD load/store single structure" and "(post-indexed)".
fn vector_elements(fields: InstructionWord) -> Option<LoadStore> {
    if fields.bit(31) {
        return None;
    }
    let registers = (fields.field(13, 1) << 1 | fields.field(21, 1)) as u8 + 1;
    let size = fields.field(10, 2);
    let element_bytes = match (fields.field(14, 2), size) {
        (0b00, _) => 1,
        (0b01, 0b00 | 0b10) => 2,
        (0b10, 0b00) => 4,
        (0b10, 0b01) => 8,
        // One element for all of a register.
        (0b11, _) if fields.bit(22) => 1 << size,
        _ => return None,
    };
    let kind = load_or_store(fields.bit(22));
    Some(fields.at_base(kind, registers * element_bytes))
}

/// "Load register (literal)".
fn literal(fields: InstructionWord) -> Option<LoadStore> {
    let bytes = match (fields.bit(26), fields.field(30, 2)) {
        (false, 0b00 | 0b10) | (true, 0b00) => 4,
        (false, 0b01) | (true, 0b01) => 8,
        (true, 0b10) => 16,
        // A prefetch.
        _ => return None,
    };
    Some(LoadStore {
        address: AddressForm::Literal(fields.signed(5, 19) * 4),
        kind: LoadStoreKind::Load,
        bytes,
    })
}

/// "LDAPR/STLR (unscaled immediate)".
fn ordered_with_offset(fields: InstructionWord) -> Option<LoadStore> {
    if fields.bit(21) || fields.field(10, 2) != 0 {
        return None;
    }
    let (kind, bytes) = register_access(fields)?;
    Some(LoadStore {
        address: fields.offset_address(fields.signed(12, 9)),
        kind,
        bytes,
    })
}

/// "Load/store no-allocate pair" and "register pair" with an offset, and before or after the base changes.
fn pair(fields: InstructionWord) -> Option<LoadStore> {
    let loads = fields.bit(22);
    let register_bytes: u8 = match (fields.bit(26), fields.field(30, 2)) {
        (false, 0b00) | (true, 0b00) => 4,
        // `ldpsw`; stores of this encoding have memory tags.
        (false, 0b01) if loads => 4,
        (false, 0b10) | (true, 0b01) => 8,
        (true, 0b10) => 16,
        _ => return None,
    };
    let offset = match fields.field(23, 2) {
        0b01 => 0,
        _ => fields.signed(15, 7) * i64::from(register_bytes),
    };
    Some(LoadStore {
        address: fields.offset_address(offset),
        kind: load_or_store(loads),
        bytes: 2 * register_bytes,
    })
}

/// Kind and bytes of a load or store of one register; `None` for a prefetch.
fn register_access(fields: InstructionWord) -> Option<(LoadStoreKind, u8)> {
    let (size, operation) = (fields.field(30, 2), fields.field(22, 2));
    match (fields.bit(26), operation) {
        (false, 0b00 | 0b01) => {}
        // Loads that extend the sign, to 64 and to 32 bits.
        (false, 0b10) if size < 3 => return Some((LoadStoreKind::Load, 1 << size)),
        (false, 0b11) if size < 2 => return Some((LoadStoreKind::Load, 1 << size)),
        (true, 0b00 | 0b01) => {}
        (true, _) if size == 0 => return Some((load_or_store(operation == 0b11), 16)),
        _ => return None,
    }
    Some((load_or_store(operation == 0b01), 1 << size))
}

/// "Load/store register" with a number: unscaled, unprivileged, unsigned, and before or after the base changes.
fn immediate(fields: InstructionWord) -> Option<LoadStore> {
    let (kind, bytes) = register_access(fields)?;
    let offset = match (fields.bit(24), fields.field(10, 2)) {
        (true, _) => i64::from(fields.field(10, 12)) * i64::from(bytes),
        (false, 0b01) => 0,
        (false, 0b10) if fields.bit(26) => return None,
        (false, _) => fields.signed(12, 9),
    };
    Some(LoadStore {
        address: fields.offset_address(offset),
        kind,
        bytes,
    })
}

/// "Load/store register (register offset)".
fn register_offset(fields: InstructionWord) -> Option<LoadStore> {
    let (kind, bytes) = register_access(fields)?;
    let part = match fields.field(13, 3) {
        0b010 => IndexPart::UnsignedHalf,
        0b011 | 0b111 => IndexPart::Whole,
        0b110 => IndexPart::SignedHalf,
        _ => return None,
    };
    let shift = match fields.bit(12) {
        true => bytes.trailing_zeros() as u8,
        false => 0,
    };
    let base = fields.register(5);
    let address = match fields.register(16) {
        REGISTER_31 => AddressForm::Offset { base, offset: 0 },
        index => AddressForm::Indexed {
            base,
            index,
            part,
            shift,
        },
    };
    Some(LoadStore {
        address,
        kind,
        bytes,
    })
}

/// "Atomic memory operations".
fn atomic(fields: InstructionWord) -> Option<LoadStore> {
    if fields.bit(26) {
        return None;
    }
    let kind = match (fields.bit(15), fields.field(12, 3)) {
        (false, _) => LoadStoreKind::Arithmetic,
        (true, 0b000) => LoadStoreKind::Swap,
        // `ldapr`
        (true, 0b100) => LoadStoreKind::Load,
        _ => return None,
    };
    Some(fields.at_base(kind, fields.sized_bytes()))
}

/// "Load/store register (pac)".
fn authenticated(fields: InstructionWord) -> Option<LoadStore> {
    if fields.bit(26) || fields.field(30, 2) != 0b11 {
        return None;
    }
    let sign = match fields.bit(22) {
        true => -512,
        false => 0,
    };
    let offset = sign + i64::from(fields.field(12, 9));
    Some(LoadStore {
        address: fields.offset_address(offset * 8),
        kind: LoadStoreKind::Load,
        bytes: 8,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use LoadStoreKind::*;

    const SP: u8 = REGISTER_31;

    #[track_caller]
    fn check(word: u32, kind: LoadStoreKind, address: AddressForm, bytes: u8) {
        let expect = LoadStore {
            address,
            kind,
            bytes,
        };
        assert_eq!(decode_load_store(word), Some(expect), "{word:08x}");
    }

    fn at(base: u8, offset: i64) -> AddressForm {
        AddressForm::Offset { base, offset }
    }

    /// Words as assembled by binutils, as all below.
    #[test]
    fn one_register_and_a_number() {
        check(0xf940_0020, Load, at(1, 0), 8); // ldr x0, [x1]
        check(0xf940_0be0, Load, at(SP, 16), 8); // ldr x0, [sp, #16]
        check(0xb85f_cc20, Load, at(1, -4), 4); // ldr w0, [x1, #-4]!
        check(0xb840_4420, Load, at(1, 0), 4); // ldr w0, [x1], #4
        check(0xf85f_d020, Load, at(1, -3), 8); // ldur x0, [x1, #-3]
        check(0xf800_8820, Store, at(1, 8), 8); // sttr x0, [x1, #8]
        check(0x3840_0820, Load, at(1, 0), 1); // ldtrb w0, [x1]
        check(0x3dc0_0420, Load, at(1, 16), 16); // ldr q0, [x1, #16]
        check(0x3d00_0420, Store, at(1, 1), 1); // str b0, [x1, #1]
        check(0xf87f_e420, Load, at(1, -16), 8); // ldraa x0, [x1, #-16]
        check(0xd95f_8020, Load, at(1, -8), 8); // ldapur x0, [x1, #-8]
        check(0x5900_2020, Store, at(1, 2), 2); // stlurh w0, [x1, #2]
        check(0x5800_0200, Load, AddressForm::Literal(0x40), 8); // ldr x0, .+64
        check(0x98ff_fe00, Load, AddressForm::Literal(-0x40), 4); // ldrsw x0, .-64
        check(0x9c00_0100, Load, AddressForm::Literal(0x20), 16); // ldr q0, .+32
    }

    #[test]
    fn one_register_and_an_index() {
        let indexed = |part, shift| AddressForm::Indexed {
            base: 1,
            index: 2,
            part,
            shift,
        };
        check(0x3862_6820, Load, indexed(IndexPart::Whole, 0), 1); // ldrb w0, [x1, x2]
        // ldrsw x0, [x1, w2, sxtw #2]
        check(0xb8a2_d820, Load, indexed(IndexPart::SignedHalf, 2), 4);
        check(0x7862_4820, Load, indexed(IndexPart::UnsignedHalf, 0), 2); // ldrh w0, [x1, w2, uxtw]
        check(0xf822_f820, Store, indexed(IndexPart::Whole, 3), 8); // str x0, [x1, x2, sxtx #3]
        check(0xf87f_6820, Load, at(1, 0), 8); // ldr x0, [x1, xzr]
    }

    #[test]
    fn pairs() {
        check(0xa97e_07e0, Load, at(SP, -32), 16); // ldp x0, x1, [sp, #-32]
        check(0x68c1_0440, Load, at(2, 0), 8); // ldpsw x0, x1, [x2], #8
        check(0x2981_0440, Store, at(2, 8), 8); // stp w0, w1, [x2, #8]!
        check(0xa801_0440, Store, at(2, 16), 16); // stnp x0, x1, [x2, #16]
        check(0xad41_0440, Load, at(2, 32), 32); // ldp q0, q1, [x2, #32]
        check(0x6d00_0440, Store, at(2, 0), 16); // stp d0, d1, [x2]
    }

    #[test]
    fn exclusive_and_ordered() {
        check(0xc85f_7c20, LoadExclusive, at(1, 0), 8); // ldxr x0, [x1]
        check(0x085f_fc20, LoadExclusive, at(1, 0), 1); // ldaxrb w0, [x1]
        check(0xc87f_0440, LoadExclusive, at(2, 0), 16); // ldxp x0, x1, [x2]
        check(0xc800_ffe1, StoreExclusive, at(SP, 0), 8); // stlxr w0, x1, [sp]
        check(0x8820_0861, StoreExclusive, at(3, 0), 8); // stxp w0, w1, w2, [x3]
        check(0x88df_fc20, Load, at(1, 0), 4); // ldar w0, [x1]
        check(0x089f_fc20, Store, at(1, 0), 1); // stlrb w0, [x1]
        check(0xf8bf_c020, Load, at(1, 0), 8); // ldapr x0, [x1]
    }

    #[test]
    fn atomics() {
        check(0x88a0_7c41, CompareAndSwap(0), at(2, 0), 4); // cas w0, w1, [x2]
        check(0x4860_fc82, CompareAndSwapPair(0), at(4, 0), 16); // caspal x0, x1, x2, x3, [x4]
        check(0xb820_0041, Arithmetic, at(2, 0), 4); // ldadd w0, w1, [x2]
        check(0xf8e0_8041, Swap, at(2, 0), 8); // swpal x0, x1, [x2]
        check(0xf820_303f, Arithmetic, at(1, 0), 8); // stset x0, [x1]
    }

    #[test]
    fn vectors() {
        check(0x4cdf_2000, Load, at(0, 0), 64); // ld1 {v0.16b-v3.16b}, [x0], #64
        check(0x0c00_7000, Store, at(0, 0), 8); // st1 {v0.8b}, [x0]
        check(0x4c40_8800, Load, at(0, 0), 32); // ld2 {v0.4s, v1.4s}, [x0]
        check(0x0d40_9000, Load, at(0, 0), 4); // ld1 {v0.s}[1], [x0]
        check(0x4d60_ec00, Load, at(0, 0), 32); // ld4r {v0.2d-v3.2d}, [x0]
        check(0x0d81_2c00, Store, at(0, 0), 3); // st3 {v0.b-v2.b}[3], [x0], x1
    }

    #[test]
    fn blocks_are_zeroed() {
        check(0xd50b_7423, Zero, AddressForm::Block { register: 3 }, 64); // dc zva, x3
    }

    #[test]
    fn others_are_none() {
        for word in [
            0xf980_0020_u32, // prfm pldl1keep, [x1]
            0xd50b_7a23,     // dc cvac, x3
            0xd503_201f,     // nop
            0x9100_0420,     // add x0, x1, #1
            0x9400_0000,     // bl .
            0xd920_0020,     // stg x0, [x1]
            0x6980_0440,     // stgp x0, x1, [x2]!
            0xd53b_e040,     // mrs x0, cntvct_el0
            0x0000_0000,     // udf #0
            0xffff_ffff,
        ] {
            assert_eq!(decode_load_store(word), None, "{word:08x}");
        }
    }
}
