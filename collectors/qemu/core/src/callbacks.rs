//! What QEMU calls. All of it finds the plugin, or what the vCPU uses, and hands on.

use std::ffi::{c_uint, c_void};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::*, compiler_fence};

use crate::api::{self, PluginId, TranslationBlock};
use crate::cpu::{self, VcpuLookup};
use crate::markers::GuestMarker;
use crate::plugin::RecordingPlugin;

/// Kernel addresses have the top bit set.
pub const KERNEL: u64 = 1 << 63;
/// From here up: fixmap (the APIC's registers among it) and vsyscall, which are not memory to
/// share.
const FIXMAP: u64 = 0xffff_ffff_ff00_0000;

static PLUGIN: AtomicPtr<RecordingPlugin> = AtomicPtr::new(std::ptr::null_mut());

/// The window is open: accesses are followed. Apart from [`Plugin`], to be found without it.
pub static RECORDING: AtomicBool = AtomicBool::new(false);

pub fn plugin() -> Option<&'static RecordingPlugin> {
    // SAFETY: set once, from a leaked box.
    unsafe { PLUGIN.load(Acquire).as_ref() }
}

/// From now on callbacks reach `plugin`.
pub fn set_plugin(plugin: RecordingPlugin) {
    PLUGIN.store(Box::leak(Box::new(plugin)), Release);
}

/// From now on callbacks do nothing: this is another process, which shares its files with the one
/// that is recorded.
pub fn forget_plugin() {
    RECORDING.store(false, Relaxed);
    PLUGIN.store(std::ptr::null_mut(), Release);
}

pub fn register(id: PluginId, program: bool) {
    // SAFETY: callbacks of the right types, for the plugin that is being installed or reset.
    unsafe {
        api::qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
        api::qemu_plugin_register_atexit_cb(id, on_exit, std::ptr::null_mut());
        if program {
            api::qemu_plugin_register_vcpu_exit_cb(id, on_vcpu_exit);
            api::qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
            api::qemu_plugin_register_vcpu_syscall_ret_cb(id, on_syscall_return);
        }
    }
}

extern "C" fn on_translate(_id: PluginId, tb: *mut TranslationBlock) {
    if let Some(plugin) = plugin() {
        plugin.translate(tb);
    }
}

pub extern "C" fn on_reset(id: PluginId) {
    if let Some(plugin) = plugin() {
        register(id, plugin.program.is_some());
        plugin.open_window();
    }
}

extern "C" fn on_exit(_id: PluginId, _data: *mut c_void) {
    if let Some(plugin) = plugin() {
        plugin.finish();
    }
}

extern "C" fn on_vcpu_exit(_id: PluginId, vcpu: c_uint) {
    if let Some(plugin) = plugin() {
        plugin.thread_ends(vcpu as usize);
    }
}

#[allow(clippy::too_many_arguments)]
extern "C" fn on_syscall(
    _id: PluginId,
    vcpu: c_uint,
    number: i64,
    a1: u64,
    a2: u64,
    a3: u64,
    a4: u64,
    a5: u64,
    a6: u64,
    _a7: u64,
    _a8: u64,
) {
    if let Some(plugin) = plugin() {
        plugin.system_call(vcpu as usize, number, [a1, a2, a3, a4, a5, a6]);
    }
}

extern "C" fn on_syscall_return(_id: PluginId, vcpu: c_uint, number: i64, result: i64) {
    if let Some(plugin) = plugin() {
        plugin.system_call_returns(vcpu as usize, number, result);
    }
}

pub extern "C" fn on_marker(_vcpu: c_uint, data: *mut c_void) {
    const MARKERS: [GuestMarker; 5] = [
        GuestMarker::Start,
        GuestMarker::Stop,
        GuestMarker::Operation,
        GuestMarker::StartDefault,
        GuestMarker::StopDefault,
    ];
    if let (Some(plugin), Some(marker)) = (plugin(), MARKERS.get(data as usize)) {
        plugin.handle_marker(*marker);
    }
}

pub extern "C" fn on_pause(_vcpu: c_uint, _data: *mut c_void) {
    if RECORDING.load(Relaxed) {
        std::thread::yield_now();
    }
}

/// An access of kernel code.
pub extern "C" fn on_mem(vcpu: c_uint, info: u32, vaddr: u64, data: *mut c_void) {
    if !(KERNEL..FIXMAP).contains(&vaddr) {
        return;
    }
    if !RECORDING.load(Relaxed) {
        return;
    }
    let Some(plugin) = plugin() else { return };
    // SAFETY: QEMU calls back on the thread of that vCPU.
    let cpu = match unsafe { cpu::cpu_of_vcpu(vcpu as usize) } {
        VcpuLookup::Cpu(cpu) => Some(cpu),
        VcpuLookup::Fresh => plugin.make_cpu(vcpu as usize),
        VcpuLookup::Without => None,
    };
    if let Some(cpu) = cpu {
        plugin.access(cpu, info, vaddr, data as u64);
    }
}

/// An access of a program.
pub extern "C" fn on_program_mem(vcpu: c_uint, info: u32, vaddr: u64, data: *mut c_void) {
    // SAFETY: QEMU calls back on the thread of that vCPU.
    let cpu = match unsafe { cpu::cpu_of_vcpu(vcpu as usize) } {
        VcpuLookup::Cpu(cpu) => cpu,
        VcpuLookup::Fresh => match begin_thread(vcpu as usize, vaddr) {
            Some(cpu) => cpu,
            None => return,
        },
        VcpuLookup::Without => return,
    };
    // The other half of `plugin::wait_for_others`: whoever closes the window makes this thread
    // pass a barrier, and then waits until the flag is down.
    cpu.inside.store(true, Relaxed);
    compiler_fence(SeqCst);
    if RECORDING.load(Relaxed)
        && let Some(plugin) = plugin()
        && plugin.is_watching()
    {
        plugin.access(cpu, info, vaddr, data as u64);
    }
    cpu.inside.store(false, Release);
}

#[cold]
fn begin_thread(vcpu: usize, vaddr: u64) -> Option<&'static mut cpu::VcpuState> {
    if !RECORDING.load(Relaxed) {
        return None;
    }
    plugin()?.thread_begins(vcpu, vaddr)
}
