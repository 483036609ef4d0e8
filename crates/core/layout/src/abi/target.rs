//! What differs between the C ABIs: how scalars are aligned, and how unnamed bitfields count.

/// A C ABI, as far as the places of members depend on it.
///
/// Scalars are aligned to their size, up to a limit by kind. The System V ABI for i386 aligns
/// `long long` and `double` to 4 bytes inside a struct (to 8 elsewhere); the one for s390x aligns
/// nothing to more than 8; the one for ARM lets unnamed bitfields raise the alignment of a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TargetAbi {
    /// Size of a pointer in bytes.
    pub pointer_size: u64,
    /// Bitfields are counted from the most significant bit.
    pub big_endian: bool,
    /// Most that an integer, enum or pointer is aligned to inside a struct, in bytes.
    pub integer_align_max: u64,
    /// The same for a `double`.
    pub double_align_max: u64,
    /// The same for floating-point numbers of more than 8 bytes.
    pub wide_float_align_max: u64,
    /// Unnamed bitfields, `:0` among them, raise the alignment of a struct as named ones do.
    pub unnamed_bits_align: bool,
}

/// `e_machine` in ELF headers (gABI).
mod machine {
    pub const I386: u16 = 3;
    pub const M68K: u16 = 4;
    pub const S390: u16 = 22;
    pub const ARM: u16 = 40;
    pub const AARCH64: u16 = 183;
}

/// Byte in an ELF header where `e_machine` begins.
const MACHINE_OFFSET: usize = 18;

impl TargetAbi {
    /// Linux on x86-64.
    pub const X86_64: Self = Self::naturally_aligned(8, false, 16);
    /// Linux on i386.
    pub const I386: Self = Self {
        integer_align_max: 4,
        double_align_max: 4,
        wide_float_align_max: 16,
        ..Self::naturally_aligned(4, false, 4)
    };
    /// Linux on 32-bit ARM (AAPCS).
    pub const ARM: Self = Self {
        unnamed_bits_align: true,
        ..Self::naturally_aligned(4, false, 8)
    };
    /// Linux on 64-bit ARM (AAPCS64).
    pub const AARCH64: Self = Self {
        unnamed_bits_align: true,
        ..Self::naturally_aligned(8, false, 16)
    };
    /// Linux on s390x.
    pub const S390X: Self = Self::naturally_aligned(8, true, 8);

    /// An ABI that aligns every scalar to its size, up to `align_max` bytes.
    pub const fn naturally_aligned(pointer_size: u64, big_endian: bool, align_max: u64) -> Self {
        Self {
            pointer_size,
            big_endian,
            integer_align_max: align_max,
            double_align_max: align_max,
            wide_float_align_max: align_max,
            unnamed_bits_align: false,
        }
    }

    /// The ABI of Linux on the machine that an ELF file is for. `None` for what is not ELF, such
    /// as raw BTF, which does not name its machine.
    ///
    /// A machine that is not known by number gets the rule that most follow: scalars are aligned
    /// to their size, up to twice the size of a pointer.
    pub fn from_elf(bytes: &[u8]) -> Option<Self> {
        let class = bytes.strip_prefix(b"\x7fELF")?.first()?;
        let big_endian = *bytes.get(5)? == 2;
        let number: [u8; 2] = bytes
            .get(MACHINE_OFFSET..MACHINE_OFFSET + 2)?
            .try_into()
            .ok()?;
        let number = match big_endian {
            true => u16::from_be_bytes(number),
            false => u16::from_le_bytes(number),
        };
        let pointer_size = if *class == 1 { 4 } else { 8 };
        let align_max = match number {
            machine::S390 => 8,
            machine::M68K => 2,
            _ => pointer_size * 2,
        };
        let natural = Self::naturally_aligned(pointer_size, big_endian, align_max);
        Some(match number {
            machine::I386 => Self::I386,
            machine::ARM | machine::AARCH64 => Self {
                unnamed_bits_align: true,
                ..natural
            },
            _ => natural,
        })
    }

    /// Alignment inside a struct, in bytes, of a base type as debug information names it.
    pub(super) fn base_align(&self, name: &str, size: u64) -> u64 {
        // A complex number is aligned as its parts are.
        let (part, size) = match name.strip_prefix("complex ") {
            Some(part) => (part, size / 2),
            None => (name, size),
        };
        let float = part.contains("double") || part.to_ascii_lowercase().contains("float");
        let limit = match float {
            true if size > 8 => self.wide_float_align_max,
            true => self.double_align_max,
            false => self.integer_align_max,
        };
        power_of_two_in(size).min(limit)
    }

    /// Alignment inside a struct, in bytes, of an integer, enum or pointer.
    pub(super) fn integer_align(&self, size: u64) -> u64 {
        power_of_two_in(size).min(self.integer_align_max)
    }
}

/// The largest power of two that divides a size; 1 for 0.
fn power_of_two_in(size: u64) -> u64 {
    match size {
        0 => 1,
        _ => 1 << size.trailing_zeros(),
    }
}

/// What compilers accept in `aligned(N)`, in bytes.
pub(super) const ALIGN_MAX: u64 = 1 << 28;

/// Whether a compiler could have been told so.
pub(super) fn is_valid_align(align: &u64) -> bool {
    align.is_power_of_two() && *align <= ALIGN_MAX
}

#[cfg(test)]
mod tests {
    use super::TargetAbi;

    fn header(class: u8, data: u8, machine: [u8; 2]) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, data]);
        bytes[18..20].copy_from_slice(&machine);
        bytes
    }

    #[test]
    fn by_elf_header() {
        let target_of = |class, data, machine| TargetAbi::from_elf(&header(class, data, machine));
        assert_eq!(target_of(2, 1, [62, 0]), Some(TargetAbi::X86_64));
        assert_eq!(target_of(1, 1, [3, 0]), Some(TargetAbi::I386));
        assert_eq!(target_of(1, 1, [40, 0]), Some(TargetAbi::ARM));
        assert_eq!(target_of(2, 1, [183, 0]), Some(TargetAbi::AARCH64));
        assert_eq!(target_of(2, 2, [0, 22]), Some(TargetAbi::S390X));
        assert_eq!(TargetAbi::from_elf(b"\x7fELF\x02\x01"), None);
        assert_eq!(TargetAbi::from_elf(b"\x9f\xeb\x01\x00"), None);
    }
}
