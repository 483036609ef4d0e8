//! Differences between the C ABIs: alignments of scalars, and the effect of unnamed bitfields.

/// Rules of a C ABI that offsets of members depend on.
///
/// Scalars are aligned to their size, up to a limit by kind. The System V ABI for i386 aligns `long
/// long` and `double` to 4 bytes inside a struct and to 8 elsewhere. The one for s390x aligns
/// nothing to more than 8. The one for ARM lets unnamed bitfields raise the alignment of a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TargetAbi {
    /// Size of a pointer in bytes.
    pub pointer_size: u64,
    /// True if bitfields are counted from the most significant bit.
    pub big_endian: bool,
    /// Largest alignment of an integer, enum or pointer inside a struct, in bytes.
    pub integer_align_max: u64,
    /// Largest alignment of a `double` inside a struct, in bytes.
    pub double_align_max: u64,
    /// Largest alignment of floating-point numbers of more than 8 bytes inside a struct, in bytes.
    pub wide_float_align_max: u64,
    /// True if unnamed bitfields, including `:0`, raise the alignment of a struct as named ones do.
    pub unnamed_bits_align: bool,
}

/// Values of `e_machine` in ELF headers (gABI).
mod machine {
    pub const I386: u16 = 3;
    pub const M68K: u16 = 4;
    pub const S390: u16 = 22;
    pub const ARM: u16 = 40;
    pub const AARCH64: u16 = 183;
}

/// Offset of `e_machine` in an ELF header, in bytes.
const MACHINE_OFFSET: usize = 18;

impl TargetAbi {
    /// ABI of Linux on x86-64.
    pub const X86_64: Self = Self::naturally_aligned(8, false, 16);
    /// ABI of Linux on i386.
    pub const I386: Self = Self {
        integer_align_max: 4,
        double_align_max: 4,
        wide_float_align_max: 16,
        ..Self::naturally_aligned(4, false, 4)
    };
    /// ABI of Linux on 32-bit ARM (AAPCS).
    pub const ARM: Self = Self {
        unnamed_bits_align: true,
        ..Self::naturally_aligned(4, false, 8)
    };
    /// ABI of Linux on 64-bit ARM (AAPCS64).
    pub const AARCH64: Self = Self {
        unnamed_bits_align: true,
        ..Self::naturally_aligned(8, false, 16)
    };
    /// ABI of Linux on s390x.
    pub const S390X: Self = Self::naturally_aligned(8, true, 8);

    /// ABI that aligns every scalar to its size, up to `align_max` bytes.
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

    /// ABI of Linux on the machine of an ELF file. `None` for other files, such as raw BTF, which
    /// does not name its machine.
    ///
    /// An unknown machine has the most common rule: scalars are aligned to their size, up to twice
    /// the size of a pointer.
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

    /// Alignment inside a struct, in bytes, of a base type with this name in debug information.
    pub(super) fn base_align(&self, name: &str, size: u64) -> u64 {
        // A complex number has the alignment of its parts.
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

/// Largest power of two that divides a size; 1 for 0.
fn power_of_two_in(size: u64) -> u64 {
    match size {
        0 => 1,
        _ => 1 << size.trailing_zeros(),
    }
}

/// Largest alignment in `aligned(N)` that compilers accept, in bytes.
pub(super) const ALIGN_MAX: u64 = 1 << 28;

/// Returns true for an alignment that compilers accept.
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
