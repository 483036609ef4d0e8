//! Installation of the plugin, and the callbacks about translation, threads, system calls and the
//! end.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::api::{self, PluginId, QemuInfo, TranslationBlock};
use crate::fatal;
use crate::instance::{self, forget_plugin, plugin, set_plugin};
use crate::options::{Options, WindowOpening};
use crate::plugin::RecordingPlugin;
use crate::simulated::{install_simulation, register_idle_callbacks, translate_simulated};

/// Installs the plugin, for the loadable objects' `qemu_plugin_install`. Returns 0, or 1 with the
/// reason printed.
///
/// # Safety
/// The arguments must be those that QEMU passed, for plugin interface `interface`.
pub unsafe fn install(
    interface: c_int,
    id: PluginId,
    info: *const QemuInfo,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    // SAFETY: as promised by the caller.
    let made = unsafe {
        Options::from_argv(argc, argv)
            .and_then(|o| RecordingPlugin::new(interface, id, &*info, o, on_reset))
    };
    match made {
        Ok(plugin) => {
            let program = plugin.program.is_some();
            if program {
                fatal::intercept_kill();
                // SAFETY: a function of the right type that is safe in a forked child.
                unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
            }
            // The window of a program without markers is its whole run.
            let opens = program && !plugin.options.own_markers;
            set_plugin(plugin);
            register(id, program);
            if let Some(plugin) = instance::plugin() {
                if let Some(options) = &plugin.options.simulation {
                    // SAFETY: QEMU's own information.
                    let info = unsafe { &*info };
                    if let Err(reason) = install_simulation(interface, info, plugin, options) {
                        return refuse(&reason);
                    }
                    register_idle_callbacks(id);
                } else if opens {
                    plugin.open_window();
                } else if plugin.options.window == WindowOpening::Now {
                    // QEMU reads the snapshot first, which is no part of the window.
                    plugin.watch_from_now();
                }
            }
            0
        }
        Err(reason) => refuse(&reason),
    }
}

/// Prints why the plugin does not start, and returns what tells QEMU so.
fn refuse(reason: &str) -> c_int {
    // Not to QEMU's own log, which nobody reads.
    eprintln!("relayout plugin: {reason}");
    1
}

fn register(id: PluginId, program: bool) {
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
    translate_simulated(tb);
    if let Some(plugin) = plugin() {
        plugin.translate(tb);
    }
}

extern "C" fn on_reset(id: PluginId) {
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

/// Counts the child of a fork, which is not recorded, and gives up its copy of the plugin.
unsafe extern "C" fn in_child() {
    if let Some(program) = plugin().and_then(|plugin| plugin.program.as_ref()) {
        program.count_child();
    }
    forget_plugin();
}
