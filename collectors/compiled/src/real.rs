//! Functions of the C library that the runtime's stand in front of.
//!
//! All are looked up at the start, since `dlsym` frees the message of the program's last failure in
//! the dynamic linker. A lookup amid the program's own `dlsym` or `dlerror`, which call `free`, would
//! free it twice.

use std::ffi::{CStr, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// Next definition of a function after the runtime's, looked up at the start, or at the first use
/// if that comes before.
#[repr(C)]
pub struct RealFunction {
    name: &'static CStr,
    at: AtomicPtr<c_void>,
}

impl RealFunction {
    pub const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            at: AtomicPtr::new(null_mut()),
        }
    }

    /// Returns the address; null if there is none.
    #[inline(always)]
    pub fn address(&self) -> *mut c_void {
        let at = self.at.load(Relaxed);
        if at.is_null() { self.find() } else { at }
    }

    #[cold]
    fn find(&self) -> *mut c_void {
        let word = crate::tls::word();
        crate::tls::set_word(crate::tls::INSIDE);
        let at = crate::sys::next_symbol(self.name);
        crate::thread::inside::restore_word(word);
        self.at.store(at, Relaxed);
        at
    }
}

unsafe extern "C" {
    /// The first byte of the section that [`real`] fills with functions, and one past its last.
    static __start_relayout_real: u8;
    static __stop_relayout_real: u8;
}

/// Looks up all functions. The calling thread is inside.
pub fn find_all() {
    let first = (&raw const __start_relayout_real).cast::<RealFunction>();
    let end = (&raw const __stop_relayout_real).cast::<RealFunction>();
    // SAFETY: the section holds these statics and nothing else.
    let functions = unsafe { std::slice::from_raw_parts(first, end.offset_from_unsigned(first)) };
    // A failed lookup leaves a message that the next one frees.
    let free = functions.iter().find(|function| function.name == c"free");
    for function in free.into_iter().chain(functions) {
        function.address();
    }
    // The program asks about its own failures only. SAFETY: no arguments.
    unsafe { libc::dlerror() };
}

/// Returns the C library's function of a name: `real!(name: fn(A) -> B)`.
macro_rules! real {
    ($name:ident : fn($($arg:ty),*) $(-> $ret:ty)?) => {{
        #[unsafe(link_section = "relayout_real")]
        static REAL: $crate::real::RealFunction = $crate::real::RealFunction::new(
            // SAFETY: one NUL, at the end.
            unsafe { ::std::ffi::CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes()) },
        );
        // SAFETY: the C library's function of that name has this signature.
        #[allow(unused_unsafe, reason = "some callers are within unsafe blocks")]
        unsafe {
            ::std::mem::transmute::<
                *mut ::std::ffi::c_void,
                Option<unsafe extern "C-unwind" fn($($arg),*) $(-> $ret)?>,
            >(REAL.address())
        }
    }};
}
pub(crate) use real;
