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
