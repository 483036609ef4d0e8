//! Callbacks from translated code: accesses, markers and pauses.

use std::ffi::{c_uint, c_void};
use std::sync::atomic::{Ordering::*, compiler_fence};

use relayout_shadow::AccessKind;

use crate::api;
use crate::cpu::{self, VcpuLookup, VcpuState};
use crate::facts::CallbackData;
use crate::instance::plugin;
use crate::markers::GuestMarker;
use crate::plugin::RecordingPlugin;
use crate::simulated::executes_recorded_program;
use crate::window::RECORDING;

/// Bit that is set in all kernel addresses.
pub const KERNEL: u64 = 1 << 63;
/// Start of the fixmap and vsyscall on x86-64, with the APIC's registers: no memory that CPUs share.
/// On AArch64 the fixmap and what cannot be an address are above it, too.
pub const FIXMAP: u64 = 0xffff_ffff_ff00_0000;

pub extern "C" fn on_marker(vcpu: c_uint, data: *mut c_void) {
    const MARKERS: [GuestMarker; 6] = [
        GuestMarker::Start,
        GuestMarker::Stop,
        GuestMarker::Operation,
        GuestMarker::StartDefault,
        GuestMarker::StopDefault,
        GuestMarker::Failure,
    ];
    if let (Some(plugin), Some(marker)) = (plugin(), MARKERS.get(data as usize)) {
        plugin.handle_marker(*marker, vcpu as usize);
    }
}

/// Called at a pause before the window.
pub extern "C" fn on_boot_pause(_vcpu: c_uint, _data: *mut c_void) {
    std::thread::yield_now();
}

pub extern "C" fn on_pause(_vcpu: c_uint, _data: *mut c_void) {
    if RECORDING.load(Relaxed) {
        std::thread::yield_now();
    }
}

/// Records an access of kernel code, by an instruction that reads and writes the same memory if it
/// `IS_UPDATE`.
///
/// Loads and stores share it: of two callbacks of an instruction, one for loads and one for stores,
/// QEMU 7.2 calls both for each access.
pub extern "C" fn on_mem<const IS_UPDATE: bool>(
    vcpu: c_uint,
    info: u32,
    vaddr: u64,
    data: *mut c_void,
) {
    match access_kind::<IS_UPDATE>(info) {
        AccessKind::Write => on_store(vcpu, info, vaddr, data),
        kind => record_access(kind, vcpu, info, vaddr, data),
    }
}

/// Records a store of kernel code. A function of its own, so that loads save no registers for it.
#[inline(never)]
extern "C" fn on_store(vcpu: c_uint, info: u32, vaddr: u64, data: *mut c_void) {
    record_access(AccessKind::Write, vcpu, info, vaddr, data);
}

/// Records an access of kernel code. What is no common hit is called at the end, so that a common
/// hit saves no registers.
#[inline(always)]
fn record_access(kind: AccessKind, vcpu: c_uint, info: u32, vaddr: u64, data: *mut c_void) {
    // Memory that is not watched is no common hit.
    if RECORDING.load(Relaxed)
        // SAFETY: QEMU calls back on the thread of that vCPU.
        && let VcpuLookup::Cpu(cpu) = unsafe { cpu::cpu_of_vcpu(vcpu as usize) }
        && cpu.try_common_hit(api::access_size(info), vaddr, kind, data as u32)
    {
        cpu.countdown -= 1;
        if cpu.countdown > 0 {
            return;
        }
        return stop(cpu, vaddr);
    }
    finish_access(vcpu, info, vaddr, data, kind);
}

/// Records a compare-and-exchange of kernel code. Its load, which comes first, only tells what was
/// in memory.
pub extern "C" fn on_exchange(vcpu: c_uint, info: u32, vaddr: u64, data: *mut c_void) {
    let Some(plugin) = plugin().filter(|_| RECORDING.load(Relaxed)) else {
        return;
    };
    let Some(cpu) = machine_cpu(plugin, vcpu) else {
        return;
    };
    if api::is_store(info) {
        on_mem::<true>(vcpu, info, vaddr, data);
    } else {
        plugin.note_found(cpu, info, vaddr);
    }
}

/// Counts an access of kernel code, as [`on_mem`] does, and records nothing.
pub extern "C" fn on_counted_mem(vcpu: c_uint, _info: u32, vaddr: u64, _data: *mut c_void) {
    if !(KERNEL..FIXMAP).contains(&vaddr) || !RECORDING.load(Relaxed) {
        return;
    }
    if let Some(cpu) = plugin().and_then(|plugin| machine_cpu(plugin, vcpu)) {
        cpu.context.accesses += 1;
    }
}

/// Returns the kind of an access, by an instruction that reads and writes the same memory if it
/// `IS_UPDATE`.
#[inline(always)]
fn access_kind<const IS_UPDATE: bool>(info: u32) -> AccessKind {
    match (IS_UPDATE, api::is_store(info)) {
        (true, _) => AccessKind::ReadWrite,
        (false, true) => AccessKind::Write,
        (false, false) => AccessKind::Read,
    }
}

/// Returns the state of a machine's vCPU, on whose thread QEMU is calling back.
fn machine_cpu(plugin: &RecordingPlugin, vcpu: c_uint) -> Option<&'static mut VcpuState> {
    // SAFETY: as promised by the caller.
    match unsafe { cpu::cpu_of_vcpu(vcpu as usize) } {
        VcpuLookup::Cpu(cpu) => Some(cpu),
        VcpuLookup::Fresh => plugin.make_cpu(vcpu as usize),
        VcpuLookup::Without => None,
    }
}

/// Records an access of kernel code that is no common case.
#[inline(never)]
extern "C" fn finish_access(
    vcpu: c_uint,
    info: u32,
    vaddr: u64,
    data: *mut c_void,
    kind: AccessKind,
) {
    if !(KERNEL..FIXMAP).contains(&vaddr) || !RECORDING.load(Relaxed) {
        return;
    }
    let Some(plugin) = plugin() else { return };
    if let Some(cpu) = machine_cpu(plugin, vcpu) {
        let data = CallbackData::from_pointer(data);
        plugin.access_uncommon(cpu, vcpu as usize, info, vaddr, kind, data);
    }
}

#[cold]
#[inline(never)]
extern "C" fn stop(cpu: &mut VcpuState, vaddr: u64) {
    if let Some(plugin) = plugin() {
        plugin.stop(cpu, vaddr);
    }
}

/// Records an access of a program.
pub extern "C" fn on_program_mem<const IS_UPDATE: bool>(
    vcpu: c_uint,
    info: u32,
    vaddr: u64,
    data: *mut c_void,
) {
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
        let kind = access_kind::<IS_UPDATE>(info);
        record_program_access(plugin, cpu, vcpu, info, vaddr, data, kind);
    }
    cpu.inside.store(false, Release);
}

#[inline(always)]
fn record_program_access(
    plugin: &RecordingPlugin,
    cpu: &mut VcpuState,
    vcpu: c_uint,
    info: u32,
    vaddr: u64,
    data: *mut c_void,
    kind: AccessKind,
) {
    if !cpu.try_common_hit(api::access_size(info), vaddr, kind, data as u32) {
        let data = CallbackData::from_pointer(data);
        plugin.access_uncommon(cpu, vcpu as usize, info, vaddr, kind, data);
    } else {
        cpu.countdown -= 1;
        if cpu.countdown == 0 {
            plugin.stop(cpu, vaddr);
        }
    }
}

/// Records an access of a program in a guest, if it is the one that is recorded.
pub extern "C" fn on_guest_program_mem<const IS_UPDATE: bool>(
    vcpu: c_uint,
    info: u32,
    vaddr: u64,
    data: *mut c_void,
) {
    if let Some((plugin, cpu)) = recorded_program_cpu(vcpu, vaddr) {
        let kind = access_kind::<IS_UPDATE>(info);
        record_program_access(plugin, cpu, vcpu, info, vaddr, data, kind);
    }
}

/// Records a compare-and-exchange of a program in a guest, as [`on_exchange`] does of the kernel.
pub extern "C" fn on_guest_program_exchange(
    vcpu: c_uint,
    info: u32,
    vaddr: u64,
    data: *mut c_void,
) {
    if api::is_store(info) {
        on_guest_program_mem::<true>(vcpu, info, vaddr, data);
    } else if let Some((plugin, cpu)) = recorded_program_cpu(vcpu, vaddr) {
        plugin.note_found(cpu, info, vaddr);
    }
}

/// Returns the state of a vCPU that accesses memory of the recorded program.
fn recorded_program_cpu(
    vcpu: c_uint,
    vaddr: u64,
) -> Option<(&'static RecordingPlugin, &'static mut VcpuState)> {
    if vaddr >= KERNEL || !RECORDING.load(Relaxed) || !executes_recorded_program(vcpu as usize) {
        return None;
    }
    let plugin = plugin()?;
    Some((plugin, machine_cpu(plugin, vcpu)?))
}

#[cold]
fn begin_thread(vcpu: usize, vaddr: u64) -> Option<&'static mut VcpuState> {
    if !RECORDING.load(Relaxed) {
        return None;
    }
    plugin()?.thread_begins(vcpu, vaddr)
}
