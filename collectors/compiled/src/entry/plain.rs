//! Loads and stores of 1 to 16 bytes, the hot path.

use super::entry_point;
use crate::access::{READ, READ_WRITE, WRITE, access};

macro_rules! accesses {
    ($($name:ident => $size:literal, $kind:ident;)*) => {$(
        entry_point!($name => access::<$size, $kind>);
    )*};
}

accesses! {
    __tsan_read1 => 1, READ;
    __tsan_read2 => 2, READ;
    __tsan_read4 => 4, READ;
    __tsan_read8 => 8, READ;
    __tsan_read16 => 16, READ;
    __tsan_write1 => 1, WRITE;
    __tsan_write2 => 2, WRITE;
    __tsan_write4 => 4, WRITE;
    __tsan_write8 => 8, WRITE;
    __tsan_write16 => 16, WRITE;
    __tsan_read_write1 => 1, READ_WRITE;
    __tsan_read_write2 => 2, READ_WRITE;
    __tsan_read_write4 => 4, READ_WRITE;
    __tsan_read_write8 => 8, READ_WRITE;
    __tsan_read_write16 => 16, READ_WRITE;
    __tsan_unaligned_read2 => 2, READ;
    __tsan_unaligned_read4 => 4, READ;
    __tsan_unaligned_read8 => 8, READ;
    __tsan_unaligned_read16 => 16, READ;
    __tsan_unaligned_write2 => 2, WRITE;
    __tsan_unaligned_write4 => 4, WRITE;
    __tsan_unaligned_write8 => 8, WRITE;
    __tsan_unaligned_write16 => 16, WRITE;
    __tsan_unaligned_read_write2 => 2, READ_WRITE;
    __tsan_unaligned_read_write4 => 4, READ_WRITE;
    __tsan_unaligned_read_write8 => 8, READ_WRITE;
    __tsan_unaligned_read_write16 => 16, READ_WRITE;
    __tsan_volatile_read1 => 1, READ;
    __tsan_volatile_read2 => 2, READ;
    __tsan_volatile_read4 => 4, READ;
    __tsan_volatile_read8 => 8, READ;
    __tsan_volatile_read16 => 16, READ;
    __tsan_volatile_write1 => 1, WRITE;
    __tsan_volatile_write2 => 2, WRITE;
    __tsan_volatile_write4 => 4, WRITE;
    __tsan_volatile_write8 => 8, WRITE;
    __tsan_volatile_write16 => 16, WRITE;
    __tsan_unaligned_volatile_read2 => 2, READ;
    __tsan_unaligned_volatile_read4 => 4, READ;
    __tsan_unaligned_volatile_read8 => 8, READ;
    __tsan_unaligned_volatile_read16 => 16, READ;
    __tsan_unaligned_volatile_write2 => 2, WRITE;
    __tsan_unaligned_volatile_write4 => 4, WRITE;
    __tsan_unaligned_volatile_write8 => 8, WRITE;
    __tsan_unaligned_volatile_write16 => 16, WRITE;
    // The pointer to the virtual functions is stored, or loaded for a call.
    __tsan_vptr_update => 8, WRITE;
    __tsan_vptr_read => 8, READ;
}

/// Defines entry points whose caller passes the return address.
macro_rules! accesses_at {
    ($($name:ident => $size:literal, $kind:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(addr: u64, pc: u64) {
            crate::access::touch(addr, $size, $kind, pc);
        }
    )*};
}

accesses_at! {
    __tsan_read1_pc => 1, READ;
    __tsan_read2_pc => 2, READ;
    __tsan_read4_pc => 4, READ;
    __tsan_read8_pc => 8, READ;
    __tsan_read16_pc => 16, READ;
    __tsan_write1_pc => 1, WRITE;
    __tsan_write2_pc => 2, WRITE;
    __tsan_write4_pc => 4, WRITE;
    __tsan_write8_pc => 8, WRITE;
    __tsan_write16_pc => 16, WRITE;
}
