//! The QEMU TCG plugin of relayout, for plugin interfaces 1 (QEMU 7.2) and 4 (QEMU 10).
//!
//! `collectors/qemu/api1` and `api4` are the two loadable objects; each states its interface
//! version and hands `install` to this crate.
//!
//! Until the guest runs the start marker, nothing is instrumented. The marker makes QEMU drop all
//! translated code; what is translated from then on calls back for every data access of kernel
//! code. The stop marker closes the window; what is gathered is appended when QEMU exits.
//!
//! Arguments: `dir=` (where `control` is and segments go), `yield=`, `seed=`, `skip=LO-HI+LO-HI...`
//! (hexadecimal code ranges not to watch), `mode=record|idle`, and `own=1` (the program has markers
//! of its own). See [`options`].

mod api;
mod append;
mod callbacks;
mod cpu;
mod fatal;
mod insn;
mod install;
mod instance;
mod markers;
mod options;
mod output;
mod pause;
mod plugin;
mod program;
mod sites;
mod window;

pub use install::install;

/// The parts of `qemu_info_t` that all interface versions share.
pub use api::QemuInfo;
