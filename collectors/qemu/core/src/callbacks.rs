//! Callbacks from translated code: accesses, markers and pauses.

use std::ffi::{c_uint, c_void};
use std::sync::atomic::{Ordering::*, compiler_fence};

use crate::cpu::{self, VcpuLookup};
use crate::instance::plugin;
use crate::markers::GuestMarker;
use crate::window::RECORDING;

/// Bit that is set in all kernel addresses.
pub const KERNEL: u64 = 1 << 63;
/// Start of the fixmap, with the APIC's registers, and of vsyscall: no memory that CPUs share.
const FIXMAP: u64 = 0xffff_ffff_ff00_0000;

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

/// Records an access of kernel code.
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

/// Records an access of a program.
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
    // Counterpart of `RecordedProgram::wait_for_others`, which makes this thread pass a memory
    // barrier after the window was closed, and then waits until the flag is down.
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
