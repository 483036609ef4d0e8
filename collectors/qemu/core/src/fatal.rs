//! End of a program by a signal.
//!
//! QEMU 7.2 calls no plugin then: it sets the signal's default action and sends itself the signal
//! by `kill`. This module intercepts the call: it replaces the address of `kill` in QEMU's table of
//! imported functions. Without such a slot, all records that were not appended yet are lost, as
//! after SIGKILL.

use std::ffi::{CStr, c_char, c_int, c_void};

/// Tags of ELF's dynamic section, and kinds of relocations.
const STRING_TABLE: u64 = 5;
const SYMBOL_TABLE: u64 = 6;
const RELOCATIONS: u64 = 7;
const RELOCATIONS_BYTES: u64 = 8;
const CALL_RELOCATIONS: u64 = 23;
const CALL_RELOCATIONS_BYTES: u64 = 2;
const GLOBAL_DATA: u32 = 6;
const JUMP_SLOT: u32 = 7;

/// ELF's `Elf64_Dyn`.
#[repr(C)]
struct DynamicEntry {
    tag: u64,
    value: u64,
}

/// ELF's `Elf64_Rela`.
#[repr(C)]
struct ElfRelocation {
    place: u64,
    kind: u32,
    symbol: u32,
    addend: i64,
}

/// ELF's `Elf64_Sym`.
#[repr(C)]
struct DynamicSymbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: u64,
    bytes: u64,
}

/// Makes QEMU's own calls of `kill` end the recording first.
pub fn intercept_kill() {
    let mut slot: *mut *const c_void = std::ptr::null_mut();
    // SAFETY: the callback gets the pointer that it expects, and only during the call.
    unsafe { libc::dl_iterate_phdr(Some(first_object), (&raw mut slot).cast()) };
    if !slot.is_null() {
        // SAFETY: a slot of the program's import table, as the loader says.
        unsafe { replace_slot(slot, on_kill as *const c_void) };
    }
}

/// Replacement of `kill`.
unsafe extern "C" fn on_kill(process: libc::pid_t, signal: c_int) -> c_int {
    // SAFETY: plain system calls.
    unsafe {
        if process == libc::getpid()
            && signal != 0
            && let Some(plugin) = crate::instance::plugin()
        {
            plugin.finish();
        }
        libc::kill(process, signal)
    }
}

/// Finds the slot in the first object, which is QEMU itself.
unsafe extern "C" fn first_object(
    object: *mut libc::dl_phdr_info,
    _bytes: libc::size_t,
    slot: *mut c_void,
) -> c_int {
    // SAFETY: the loader describes what it loaded.
    unsafe {
        let object = &*object;
        let headers = std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into());
        if let Some(dynamic) = headers.iter().find(|h| h.p_type == libc::PT_DYNAMIC) {
            let dynamic = (object.dlpi_addr + dynamic.p_vaddr) as usize as *const DynamicEntry;
            *slot.cast() = import_slot(dynamic, object.dlpi_addr, c"kill").unwrap_or_default();
        }
    }
    1
}

/// Returns the slot in which an object keeps the address of the function that it imports as `name`.
///
/// # Safety
/// `dynamic` must be the dynamic section of an object that is loaded with this bias.
unsafe fn import_slot(
    dynamic: *const DynamicEntry,
    bias: u64,
    name: &CStr,
) -> Option<*mut *const c_void> {
    // SAFETY: the section ends with an entry 0, and its entries are those of a loaded object.
    unsafe {
        let entry = |tag: u64| {
            (0..)
                .map(|n| &*dynamic.add(n))
                .take_while(|entry| entry.tag != 0)
                .find(|entry| entry.tag == tag)
                .map(|entry| entry.value as usize)
        };
        let strings = entry(STRING_TABLE)? as *const c_char;
        let symbols = entry(SYMBOL_TABLE)? as *const DynamicSymbol;
        let tables = [
            (CALL_RELOCATIONS, CALL_RELOCATIONS_BYTES),
            (RELOCATIONS, RELOCATIONS_BYTES),
        ];
        for (table, bytes) in tables {
            let (Some(table), Some(bytes)) = (entry(table), entry(bytes)) else {
                continue;
            };
            let count = bytes / size_of::<ElfRelocation>();
            let found = std::slice::from_raw_parts(table as *const ElfRelocation, count)
                .iter()
                .filter(|r| matches!(r.kind, GLOBAL_DATA | JUMP_SLOT))
                .find(|r| {
                    let symbol = &*symbols.add(r.symbol as usize);
                    CStr::from_ptr(strings.add(symbol.name as usize)) == name
                });
            if let Some(relocation) = found {
                return Some((bias + relocation.place) as usize as *mut *const c_void);
            }
        }
        None
    }
}

/// Changes a slot that the loader has made read-only, and makes it read-only again.
///
/// # Safety
/// The slot must be mapped, and `function` must have the type of the function that it replaces.
unsafe fn replace_slot(slot: *mut *const c_void, function: *const c_void) {
    // SAFETY: the page of the slot, as promised.
    unsafe {
        let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
        let start = (slot as usize / page * page) as *mut c_void;
        if libc::mprotect(start, page, libc::PROT_READ | libc::PROT_WRITE) == 0 {
            slot.write_volatile(function);
            libc::mprotect(start, page, libc::PROT_READ);
        }
    }
}
