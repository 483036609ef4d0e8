//! Functions of QEMU's plugin interface, as documented in QEMU's "TCG Plugins" manual. They resolve
//! against the QEMU process that loads the plugin; those of newer interfaces only are looked up at
//! run time.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// Head of `qemu_info_t`, the same from interface 1 to 4.
#[repr(C)]
pub struct QemuInfo {
    /// Name of the emulated architecture, such as `x86_64`.
    pub target_name: *const c_char,
    /// Oldest interface that this QEMU accepts.
    pub version_min: c_int,
    /// Interface of this QEMU.
    pub version_cur: c_int,
    /// False in user mode.
    pub system_emulation: bool,
    /// Number of CPUs at the start.
    pub smp_vcpus: c_int,
    /// Number of CPUs, at most.
    pub max_vcpus: c_int,
}

impl QemuInfo {
    /// Returns the name of the emulated architecture.
    ///
    /// # Safety
    /// The information must be QEMU's.
    pub unsafe fn target_name(&self) -> Option<&str> {
        if self.target_name.is_null() {
            return None;
        }
        // SAFETY: as promised by the caller.
        unsafe { CStr::from_ptr(self.target_name) }.to_str().ok()
    }
}

#[repr(C)]
pub struct TranslationBlock([u8; 0]);
#[repr(C)]
pub struct QemuInsn([u8; 0]);

pub type PluginId = u64;
pub type MemCallback = extern "C" fn(vcpu: c_uint, info: u32, vaddr: u64, data: *mut c_void);
pub type ExecCallback = extern "C" fn(vcpu: c_uint, data: *mut c_void);
pub type VcpuCallback = extern "C" fn(PluginId, vcpu: c_uint);
/// Number and eight arguments of a system call.
pub type SyscallCallback =
    extern "C" fn(PluginId, c_uint, i64, u64, u64, u64, u64, u64, u64, u64, u64);
/// Number and result of a system call.
pub type SyscallReturnCallback = extern "C" fn(PluginId, c_uint, i64, i64);

/// QEMU's `QEMU_PLUGIN_CB_NO_REGS`.
pub const NO_REGS: c_int = 0;
/// QEMU's `QEMU_PLUGIN_CB_R_REGS`.
pub const READS_REGS: c_int = 1;
/// QEMU's `QEMU_PLUGIN_MEM_W`.
pub const MEM_W: c_int = 2;
/// QEMU's `QEMU_PLUGIN_MEM_RW`.
pub const MEM_RW: c_int = 3;

unsafe extern "C" {
    pub fn qemu_plugin_register_vcpu_tb_trans_cb(
        id: PluginId,
        cb: extern "C" fn(PluginId, *mut TranslationBlock),
    );
    pub fn qemu_plugin_register_atexit_cb(
        id: PluginId,
        cb: extern "C" fn(PluginId, *mut c_void),
        data: *mut c_void,
    );
    pub fn qemu_plugin_register_vcpu_exit_cb(id: PluginId, cb: VcpuCallback);
    pub fn qemu_plugin_register_vcpu_idle_cb(id: PluginId, cb: VcpuCallback);
    pub fn qemu_plugin_register_vcpu_resume_cb(id: PluginId, cb: VcpuCallback);
    pub fn qemu_plugin_register_vcpu_syscall_cb(id: PluginId, cb: SyscallCallback);
    pub fn qemu_plugin_register_vcpu_syscall_ret_cb(id: PluginId, cb: SyscallReturnCallback);
    pub fn qemu_plugin_reset(id: PluginId, cb: extern "C" fn(PluginId));
    pub fn qemu_plugin_tb_n_insns(tb: *const TranslationBlock) -> usize;
    pub fn qemu_plugin_tb_get_insn(tb: *const TranslationBlock, n: usize) -> *mut QemuInsn;
    pub fn qemu_plugin_insn_vaddr(insn: *const QemuInsn) -> u64;
    pub fn qemu_plugin_insn_size(insn: *const QemuInsn) -> usize;
    pub fn qemu_plugin_register_vcpu_mem_cb(
        insn: *mut QemuInsn,
        cb: MemCallback,
        flags: c_int,
        rw: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_register_vcpu_insn_exec_cb(
        insn: *mut QemuInsn,
        cb: ExecCallback,
        flags: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_register_vcpu_tb_exec_cb(
        tb: *mut TranslationBlock,
        cb: ExecCallback,
        flags: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_mem_size_shift(info: u32) -> c_uint;
    pub fn qemu_plugin_mem_is_store(info: u32) -> bool;
    pub fn qemu_plugin_get_hwaddr(info: u32, vaddr: u64) -> *const HardwareAddress;
    pub fn qemu_plugin_hwaddr_is_io(address: *const HardwareAddress) -> bool;
    pub fn qemu_plugin_hwaddr_phys_addr(address: *const HardwareAddress) -> u64;
    // Declared without arguments, which differ between interfaces: see `InsnData`.
    fn qemu_plugin_insn_data();
}

/// QEMU's `qemu_plugin_hwaddr`.
#[repr(C)]
pub struct HardwareAddress([u8; 0]);

/// QEMU's `qemu_plugin_mem_value`.
#[repr(C)]
pub struct MemValue {
    kind: c_uint,
    /// Little-endian value; bytes above the access's size are not meaningful.
    pub low: u64,
    /// Upper half of 16-byte values.
    pub high: u64,
}

/// Type of `qemu_plugin_mem_get_value`, from interface 4 on.
pub type GetValue = unsafe extern "C" fn(info: u32) -> MemValue;

/// Position of an access's size in QEMU's `info` about it: the binary logarithm of its bytes.
const SIZE_AT: u32 = 4;
/// Position of the bit that stores have there.
const STORE_AT: u32 = 17;

/// Returns whether QEMU packs `info` as this module takes it apart. All known versions do; to ask
/// QEMU about each access would be expensive.
pub fn knows_info_bits() -> bool {
    let size_shift = |info: u32| -> u32 {
        // SAFETY: the function only decodes a number.
        unsafe { qemu_plugin_mem_size_shift(info) }
    };
    let is_store = |info: u32| -> bool {
        // SAFETY: as above.
        unsafe { qemu_plugin_mem_is_store(info) }
    };
    let store = 1 << STORE_AT;
    (0..=4).all(|shift| size_shift(shift << SIZE_AT) == shift)
        && is_store(store)
        && !is_store(!store)
}

/// Returns the number of bytes of the access with this `info`.
#[inline(always)]
pub fn access_size(info: u32) -> u8 {
    // A shift by a variable amount takes one certain register, which has an argument of the callback.
    const SIZES: [u8; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
    SIZES[(info >> SIZE_AT & 7) as usize]
}

/// Returns whether the access with this `info` is a store.
#[inline(always)]
pub fn is_store(info: u32) -> bool {
    info >> STORE_AT & 1 == 1
}

/// Access to an instruction's bytes: by pointer up to interface 2, by copy from 3 on.
#[derive(Clone, Copy)]
pub struct InsnData {
    copies: bool,
}

impl InsnData {
    pub fn new(interface: c_int) -> Self {
        Self {
            copies: interface >= 3,
        }
    }

    /// Copies the instruction's bytes to `into`. Returns their number.
    ///
    /// # Safety
    /// `insn` must be an instruction of the block being translated.
    pub unsafe fn read_bytes(self, insn: *const QemuInsn, into: &mut [u8; 16]) -> usize {
        type ByPointer = unsafe extern "C" fn(*const QemuInsn) -> *const u8;
        type ByCopy = unsafe extern "C" fn(*const QemuInsn, *mut c_void, usize) -> usize;
        let f = qemu_plugin_insn_data as *const ();
        // SAFETY: the interface version tells which of the two signatures holds.
        unsafe {
            let len = qemu_plugin_insn_size(insn).min(into.len());
            if self.copies {
                let f: ByCopy = std::mem::transmute(f);
                f(insn, into.as_mut_ptr().cast(), len);
            } else {
                let f: ByPointer = std::mem::transmute(f);
                std::ptr::copy_nonoverlapping(f(insn), into.as_mut_ptr(), len);
            }
            len
        }
    }
}

/// Returns the address of a function of this process.
pub fn find_symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: `name` is a C string.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}
