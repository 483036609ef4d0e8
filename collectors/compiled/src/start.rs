//! Start of a recording in this process, and the constructors that call start and finish.

use std::ffi::CStr;
use std::sync::atomic::Ordering::*;

use relayout_shadow::control::{CONTROL_MAGIC, RecordingStage};
use relayout_shadow::{CONTEXTS_MAX, ShadowConfig, ShadowMemory};

use crate::finish::finish;
use crate::gate::control;
use crate::interpose::limits::make_room;
use crate::options::Options;
use crate::output::{self, NotRecorded, RtHost};
use crate::real::find_all;
use crate::sys::{self, SavedErrno};
use crate::thread::inside::restore_word;
use crate::window::{self, open_window};
use crate::{allocs, fork, gap, memory, modules, objects, recording, signals, thread, tls};

/// Binary logarithm of the number of pages whose lines are followed: 14 GB of the program's memory.
const PAGE_TABLE_BITS: u32 = 22;

/// Attaches to a recording if `RELAYOUT_DIR` names one. Constructors call it.
pub fn start() {
    if !recording::begin_start() {
        return;
    }
    let _errno = SavedErrno::save();
    let word = tls::word();
    tls::set_word(tls::INSIDE);
    find_all();
    let is_recorded = sys::env(c"RELAYOUT_DIR").is_some_and(attach_recording);
    tls::set_word(word);
    recording::end_start(is_recorded);
    if is_recorded {
        signals::watch_fatal();
        fork::watch_forks();
        // A program that calls relayout_start() is not recorded before that call.
        if modules::is_referred_to(c"relayout_rt_start") {
            control()
                .state
                .store(RecordingStage::Waiting as u32, Release);
        } else {
            open_window();
        }
    }
}

fn attach_recording(folder: &CStr) -> bool {
    match output::attach_control(folder) {
        Ok(()) => {}
        Err(NotRecorded::Taken) => return false,
        Err(NotRecorded::Error(errno)) => {
            let mut number = crate::text::FixedText::<20>::new();
            number.push_decimal(errno as u64);
            let folder = folder.to_bytes();
            sys::complain(&[b"cannot record into ", folder, b": errno ", number.bytes()]);
            return false;
        }
    }
    let options = Options::parse(sys::env(c"RELAYOUT_OPTIONS"));
    if !make_room() {
        output::fail_recording(libc::ENOMEM);
        return false;
    }
    let made = output::create_files().and_then(|()| {
        let parts = make_shadow(options).and_then(|()| allocs::start());
        gap::start();
        parts.and_then(|()| thread::start()).ok_or(libc::ENOMEM)
    });
    if let Err(errno) = made {
        output::fail_recording(errno);
        return false;
    }
    begin_listing();
    true
}

/// Prepares the system and the files of a process whose shadow is made.
fn begin_listing() {
    sys::membarrier(sys::MEMBARRIER_REGISTER_PRIVATE_EXPEDITED);
    modules::list_again();
    control().magic.store(CONTROL_MAGIC, Release);
}

/// Begins the recording of a forked child, in which only the calling thread runs. The parent was
/// recorded. False if the child is not.
pub fn start_child() -> bool {
    let stage = control().state.load(Acquire);
    let was_open = window::forget_window();
    recording::restart();
    thread::forget_all();
    let is_recorded = match output::attach_child() {
        Ok(()) => {
            // SAFETY: the parent's shadow and contexts are not used any more: all threads are
            // forgotten, and the shadow is replaced.
            unsafe { memory::forget_all(output::is_crowded()) };
            make_shadow(*recording::options()).is_some()
        }
        Err(_) => false,
    };
    recording::end_start(is_recorded);
    if !is_recorded {
        return false;
    }
    begin_listing();
    objects::list_names();
    if was_open {
        open_window();
    } else {
        control().state.store(stage, Release);
    }
    true
}

fn make_shadow(options: Options) -> Option<()> {
    let mut config = ShadowConfig::new(CONTEXTS_MAX);
    config.page_table_bits = PAGE_TABLE_BITS;
    if let Some(bursts) = options.bursts {
        config.set_log_limit(bursts);
    }
    config.visit_gap = VISIT_ACCESSES;
    if options.all_counts {
        // The runtime counts these accesses one by one, instead of the shadow.
        config.count_from = u32::MAX;
    }
    let shadow = ShadowMemory::new(config, RtHost)?;
    // SAFETY: the only call in this process, by the thread that starts the recording.
    unsafe { recording::set_parts(shadow, options) };
    Some(())
}

/// Accesses of a thread without one to a line after which the next one begins a visit: about 50
/// instructions.
const VISIT_ACCESSES: u64 = 16;

type Constructor = extern "C" fn();

#[used]
#[unsafe(link_section = ".init_array")]
static START: Constructor = {
    extern "C" fn on_load() {
        start();
    }
    on_load
};

#[used]
#[unsafe(link_section = ".fini_array")]
static FINISH: Constructor = {
    extern "C" fn on_unload() {
        finish();
    }
    on_unload
};

/// Lists the modules that were loaded since the last call.
pub fn module_loaded() {
    if recording::is_recorded() {
        let word = tls::word();
        tls::set_word(tls::INSIDE);
        let _errno = SavedErrno::save();
        modules::list_new();
        restore_word(word);
    }
}
