//! Mapped files, and each thread's blocks of thread-local variables.

use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::*};

use crate::output::append_line;
use crate::text::FixedText;

/// Value of `dlpi_adds` when modules were last listed.
static LISTED: AtomicU64 = AtomicU64::new(0);

/// The dynamic linker's description of one module.
type Info = libc::dl_phdr_info;

/// Calls `each` for every module until it returns false.
fn for_each_module<F: FnMut(&Info) -> bool>(mut each: F) {
    unsafe extern "C" fn call<F: FnMut(&Info) -> bool>(
        info: *mut Info,
        _bytes: usize,
        each: *mut c_void,
    ) -> c_int {
        // SAFETY: both come from the call of `dl_iterate_phdr`.
        let (info, each) = unsafe { (&*info, &mut *each.cast::<F>()) };
        c_int::from(!each(info))
    }
    // SAFETY: `call` is called with `each` only, before this returns.
    unsafe { libc::dl_iterate_phdr(Some(call::<F>), (&raw mut each).cast()) };
}

fn headers(info: &Info) -> &[libc::Elf64_Phdr] {
    if info.dlpi_phdr.is_null() {
        return &[];
    }
    // SAFETY: the dynamic linker describes the headers.
    unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) }
}

/// Returns the addresses of the executable segment that has `pc`.
pub fn code_around(pc: u64) -> Option<Range<u64>> {
    let mut found = None;
    for_each_module(|info| {
        let mut segments = headers(info).iter().map(|header| {
            let start = info.dlpi_addr.wrapping_add(header.p_vaddr);
            (header.p_type, start..start.saturating_add(header.p_memsz))
        });
        found = segments.find_map(|(kind, segment)| {
            (kind == libc::PT_LOAD && segment.contains(&pc)).then_some(segment)
        });
        found.is_none()
    });
    found
}

/// Lists all modules again, for a forked child.
pub fn list_again() {
    LISTED.store(0, Release);
    list_new();
}

/// Appends a `module` line for each module if some were loaded since the last call.
pub fn list_new() {
    let mut adds = 0;
    for_each_module(|info| {
        adds = info.dlpi_adds;
        false
    });
    if LISTED.swap(adds, AcqRel) == adds {
        return;
    }
    let mut first = true;
    for_each_module(|info| {
        list_module(info, first);
        first = false;
        true
    });
}

fn list_module(info: &Info, is_program: bool) {
    let (mut start, mut end) = (u64::MAX, 0);
    for header in headers(info) {
        if header.p_type == libc::PT_LOAD {
            start = start.min(header.p_vaddr & !4095);
            end = end.max((header.p_vaddr + header.p_memsz).next_multiple_of(4096));
        }
    }
    if start >= end {
        return;
    }
    let mut link = [0; 4096];
    let path = if is_program {
        program_path(&mut link)
    } else {
        // SAFETY: null, or a C string of the dynamic linker.
        unsafe { (!info.dlpi_name.is_null()).then(|| CStr::from_ptr(info.dlpi_name).to_bytes()) }
    };
    // The kernel's vdso has a name without a file.
    let Some(path) = path.filter(|path| path.first() == Some(&b'/') && !path.contains(&b'\n'))
    else {
        return;
    };
    let mut line = FixedText::new();
    line.push(b"module ");
    for n in [
        info.dlpi_addr.wrapping_add(start),
        info.dlpi_addr.wrapping_add(end),
        info.dlpi_addr,
    ] {
        line.push_hex(n);
        line.push(b" ");
    }
    line.push(path);
    append_line(&mut line);
}

fn program_path(link: &mut [u8; 4096]) -> Option<&[u8]> {
    // SAFETY: the buffer is ours.
    let len = unsafe {
        libc::readlink(
            c"/proc/self/exe".as_ptr(),
            link.as_mut_ptr().cast(),
            link.len(),
        )
    };
    usize::try_from(len).ok().map(|len| &link[..len])
}

/// Appends a `tls` line for each module with thread-local variables in the calling thread.
pub fn list_tls(context: u16) {
    for_each_module(|info| {
        let tls = headers(info).iter().find(|h| h.p_type == libc::PT_TLS);
        if let Some(header) = tls.filter(|_| !info.dlpi_tls_data.is_null()) {
            let mut line = FixedText::new();
            line.push(b"tls ");
            line.push_decimal(context.into());
            for n in [info.dlpi_tls_data as u64, header.p_memsz, info.dlpi_addr] {
                line.push(b" ");
                line.push_hex(n);
            }
            append_line(&mut line);
        }
        true
    });
}

/// Returns true if a loaded module refers to the dynamic symbol `name` of another one.
pub fn is_referred_to(name: &CStr) -> bool {
    let mut found = false;
    for_each_module(|info| {
        found = refers_to(info, name);
        !found
    });
    found
}

const DT_NULL: i64 = 0;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_STRSZ: i64 = 10;

/// Searches the dynamic symbols. Without exported symbols nothing tells their number, but linkers
/// put the names right behind them.
fn refers_to(info: &Info, name: &CStr) -> bool {
    let Some(header) = headers(info).iter().find(|h| h.p_type == libc::PT_DYNAMIC) else {
        return false;
    };
    // SAFETY: the dynamic linker has read these tables and put addresses into them. The kernel's
    // vdso has offsets instead, which the condition on `symbols` excludes.
    unsafe {
        let mut entry = (info.dlpi_addr + header.p_vaddr) as *const [i64; 2];
        let (mut names, mut symbols, mut names_bytes) = (0, 0, 0);
        while (*entry)[0] != DT_NULL {
            match (*entry)[0] {
                DT_STRTAB => names = (*entry)[1] as u64,
                DT_SYMTAB => symbols = (*entry)[1] as u64,
                DT_STRSZ => names_bytes = (*entry)[1] as u64,
                _ => {}
            }
            entry = entry.add(1);
        }
        if symbols < info.dlpi_addr.max(4096) || names < symbols {
            return false;
        }
        let count = (names - symbols) / size_of::<libc::Elf64_Sym>() as u64;
        (1..count).any(|n| {
            let symbol = &*(symbols as *const libc::Elf64_Sym).add(n as usize);
            let at = u64::from(symbol.st_name);
            symbol.st_shndx == 0
                && at < names_bytes
                && CStr::from_ptr((names + at) as *const _) == name
        })
    }
}
