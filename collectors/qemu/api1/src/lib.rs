//! relayout's QEMU plugin for plugin interface 1. Its code is in `relayout-qemu-core`.

#![allow(non_upper_case_globals)]

use std::ffi::{c_char, c_int};

use relayout_qemu_core::QemuInfo;

const INTERFACE: c_int = 1;

/// Interface version, which QEMU reads before it calls the plugin.
#[unsafe(no_mangle)]
#[used]
pub static qemu_plugin_version: c_int = INTERFACE;

/// Entry point, called once by QEMU.
///
/// # Safety
/// QEMU calls it with the arguments of its plugin manual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: u64,
    info: *const QemuInfo,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    // SAFETY: QEMU's own arguments.
    unsafe { relayout_qemu_core::install(INTERFACE, id, info, argc, argv) }
}
