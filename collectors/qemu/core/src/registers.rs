//! Registers of a vCPU, which plugin interfaces from 2 on let a callback read.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use crate::api;
use crate::insn::TranslatedMachine;

/// Numbers of registers of a machine, at most.
const REGISTERS_MAX: usize = 33;
/// Number in AArch64 instructions of the register that is always zero.
const ZERO_REGISTER: u8 = 31;

/// Numbers of the starts of segments on x86-64, which no instruction names.
pub const FS_BASE: u8 = 16;
/// See [`FS_BASE`].
pub const GS_BASE: u8 = 17;
/// Number of `cr3` on x86-64, with the address of the top page table.
pub const CONTROL_3: u8 = 18;
/// Number of `rdi` on x86-64, with the first argument of a function.
pub const FIRST_ARGUMENT: u8 = 7;

/// GLib's `GArray` and `GByteArray`.
#[repr(C)]
struct GlibArray {
    data: *mut u8,
    len: c_uint,
}

/// QEMU's `qemu_plugin_reg_descriptor`.
#[repr(C)]
struct RegisterDescriptor {
    handle: *mut c_void,
    name: *const c_char,
    feature: *const c_char,
}

type ListRegisters = unsafe extern "C" fn() -> *mut GlibArray;
type ReadRegister = unsafe extern "C" fn(handle: *mut c_void, into: *mut GlibArray) -> c_int;
type NewBytes = unsafe extern "C" fn() -> *mut GlibArray;
type FreeBytes = unsafe extern "C" fn(bytes: *mut GlibArray, with_data: c_int) -> *mut u8;

/// The general registers of a machine, by their numbers in instructions.
pub struct RegisterReader {
    handles: [*mut c_void; REGISTERS_MAX],
    read: ReadRegister,
    new_bytes: NewBytes,
    free_bytes: FreeBytes,
}

/// Memory into which one thread reads registers.
#[derive(Clone, Copy)]
pub struct RegisterBuffer(*mut GlibArray);

// SAFETY: the handles are QEMU's own numbers of registers, the same for all vCPUs and threads.
unsafe impl Send for RegisterReader {}
// SAFETY: as above.
unsafe impl Sync for RegisterReader {}

impl RegisterReader {
    /// Finds the registers; `None` where this QEMU does not let them be read.
    ///
    /// # Safety
    /// Only within a callback of a vCPU.
    pub unsafe fn find(machine: TranslatedMachine) -> Option<Self> {
        let list = api::find_symbol(c"qemu_plugin_get_registers")?;
        let read = api::find_symbol(c"qemu_plugin_read_register")?;
        let new_bytes = api::find_symbol(c"g_byte_array_new")?;
        let free_bytes = api::find_symbol(c"g_byte_array_free")?;
        // SAFETY: the documented signatures of the functions.
        let (list, read, new_bytes, free_bytes) = unsafe {
            (
                std::mem::transmute::<*mut c_void, ListRegisters>(list),
                std::mem::transmute::<*mut c_void, ReadRegister>(read),
                std::mem::transmute::<*mut c_void, NewBytes>(new_bytes),
                std::mem::transmute::<*mut c_void, FreeBytes>(free_bytes),
            )
        };
        // SAFETY: within a callback, as promised; the list is never freed, it is asked for once.
        let listed = unsafe { list().as_ref() }?;
        // SAFETY: an array of descriptors, as documented.
        let descriptors = unsafe {
            std::slice::from_raw_parts(
                listed.data.cast::<RegisterDescriptor>(),
                listed.len as usize,
            )
        };
        let mut handles = [std::ptr::null_mut::<c_void>(); REGISTERS_MAX];
        for descriptor in descriptors
            .iter()
            .filter(|descriptor| !descriptor.name.is_null())
        {
            // SAFETY: a C string, as documented.
            let name = unsafe { CStr::from_ptr(descriptor.name) };
            let number = name
                .to_str()
                .ok()
                .and_then(|name| machine.register_number(name));
            if let Some(handle) = number.and_then(|number| handles.get_mut(usize::from(number)))
                && handle.is_null()
            {
                *handle = descriptor.handle;
            }
        }
        Some(Self {
            handles,
            read,
            new_bytes,
            free_bytes,
        })
    }

    /// Makes memory for [`read_into`](Self::read_into), which is never freed.
    pub fn new_buffer(&self) -> RegisterBuffer {
        // SAFETY: an array of GLib.
        RegisterBuffer(unsafe { (self.new_bytes)() })
    }

    /// Reads a register as [`read`](Self::read) does, with memory that is used again.
    ///
    /// # Safety
    /// As for `read`.
    pub unsafe fn read_into(&self, buffer: RegisterBuffer, number: u8) -> Option<u64> {
        let handle = *self.handles.get(usize::from(number))?;
        if handle.is_null() {
            return None;
        }
        // SAFETY: the handle is QEMU's; the array is this thread's, and holds `len` bytes.
        unsafe {
            (*buffer.0).len = 0;
            (self.read)(handle, buffer.0);
            { buffer.0.as_ref() }
                .filter(|bytes| bytes.len == 8)
                .map(|bytes| u64::from_le_bytes(*bytes.data.cast::<[u8; 8]>()))
        }
    }

    /// Reads a general register of the vCPU whose callback this is.
    ///
    /// # Safety
    /// Only within a callback that was registered as one that reads registers.
    pub unsafe fn read(&self, number: u8) -> Option<u64> {
        if number == ZERO_REGISTER {
            return Some(0);
        }
        let handle = *self.handles.get(usize::from(number))?;
        if handle.is_null() {
            return None;
        }
        // SAFETY: the handle is QEMU's; the array is made here and freed here, and holds `len` bytes.
        unsafe {
            let bytes = (self.new_bytes)();
            (self.read)(handle, bytes);
            let value = (bytes.as_ref())
                .filter(|bytes| bytes.len == 8)
                .map(|bytes| u64::from_le_bytes(*bytes.data.cast::<[u8; 8]>()));
            (self.free_bytes)(bytes, 1);
            value
        }
    }
}
