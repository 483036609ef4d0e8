//! What instrumented code calls: the interface of ThreadSanitizer's runtime.

mod annotations;
mod atomic;
mod atomic128;
mod plain;
mod ranges;

/// An entry point that hands its return address to a Rust function in a register that the call leaves
/// free: past its last argument, or that of a memory order, which is not needed (all is sequentially
/// consistent).
macro_rules! sited {
    ($($name:ident($register:literal) => $body:path;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            ::std::arch::naked_asm!(
                concat!("mov ", $register, ", qword ptr [rsp]"),
                "jmp {body}",
                body = sym $body,
            )
        }
    )*};
}
pub(crate) use sited;

/// An entry point of one argument, the address. While the gate is shut or the thread is inside, it
/// returns at once.
macro_rules! entry_point {
    ($name:ident => $body:expr) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(addr: u64) {
            ::std::arch::naked_asm!(
                "cmp qword ptr [rip + {page} + {gate}], 0",
                "jne 2f",
                "mov rax, qword ptr [rip + relayout_rt_word@GOTTPOFF]",
                "mov rdx, qword ptr fs:[rax]",
                "cmp rdx, 1",
                "je 2f",
                "mov rsi, qword ptr [rsp]",
                "jmp {body}",
                "2: ret",
                page = sym $crate::gate::PAGE,
                gate = const $crate::gate::GATE_OFFSET,
                body = sym $body,
            )
        }
    };
}
pub(crate) use entry_point;
