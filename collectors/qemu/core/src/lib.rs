//! QEMU TCG plugin of relayout, for plugin interfaces 1 (QEMU 7.2) and 4 (QEMU 10).
//!
//! The two loadable objects are `collectors/qemu/api1` and `api4`. Each states its interface
//! version and calls [`install`].
//!
//! Until the guest runs the start marker, no code is instrumented. The marker makes QEMU drop all
//! translated code. Code translated from then on calls back for every data access of kernel code.
//! The stop marker closes the window, and the plugin appends its records when QEMU exits.
//!
//! Arguments: `dir=` (folder of `control` and of the segments), `yield=`, `seed=`,
//! `skip=LO-HI+LO-HI...` (hexadecimal ranges of code not to record), `mode=record|idle|count`, and
//! `own=1` (the program has markers of its own). See `options`.

mod api;
mod append;
mod callbacks;
mod clock;
mod cpu;
mod exchange;
mod facts;
mod fatal;
mod insn;
mod install;
mod instance;
mod markers;
mod memory;
mod options;
mod output;
mod pause;
mod plugin;
mod program;
mod registers;
mod simulated;
mod sites;
mod window;

pub use install::install;

/// Fields of `qemu_info_t` that all interface versions share.
pub use api::QemuInfo;
