//! Entry points for instrumented code: the interface of ThreadSanitizer's runtime.

mod annotations;
mod atomic;
mod atomic128;
mod plain;
mod ranges;

/// Defines entry points that pass their return address to a Rust function, in a register that the
/// call leaves free: past the last argument, or that of a memory order, which is not needed since
/// all is sequentially consistent. A signal that cancels the thread may unwind from each
/// instruction, and the compiler describes no frame of a naked function.
macro_rules! sited {
    ($($name:ident($register:literal) => $body:path;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            ::std::arch::naked_asm!(
                ".cfi_startproc",
                concat!("mov ", $register, ", qword ptr [rsp]"),
                "jmp {body}",
                ".cfi_endproc",
                body = sym $body,
            )
        }
    )*};
}
pub(crate) use sited;

/// Defines an entry point of one argument, the address. It returns at once while the gate is shut
/// or the thread is inside.
macro_rules! entry_point {
    ($name:ident => $body:expr) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(addr: u64) {
            ::std::arch::naked_asm!(
                ".cfi_startproc",
                "cmp qword ptr [rip + {page} + {gate}], 0",
                "jne 2f",
                "mov rax, qword ptr [rip + relayout_rt_word@GOTTPOFF]",
                "mov rdx, qword ptr fs:[rax]",
                "cmp rdx, 1",
                "je 2f",
                "mov rsi, qword ptr [rsp]",
                "jmp {body}",
                "2: ret",
                ".cfi_endproc",
                page = sym $crate::gate::PAGE,
                gate = const $crate::gate::GATE_OFFSET,
                body = sym $body,
            )
        }
    };
}
pub(crate) use entry_point;
