//! QEMU's clocks and wake-ups, which follow the simulated machine.
//!
//! QEMU reads its virtual clock and the guest's time stamp counter through a table of its
//! accelerator, `AccelOpsClass`. With threads for each CPU these two entries are empty, and QEMU
//! falls back to the host's clocks. The entry by which it wakes a CPU is in the same table. The
//! plugin finds the entries beside that of `tcg_handle_interrupt`, whose address QEMU exports, and
//! proves each by a call of QEMU's own function that uses it. A QEMU that differs is refused.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU64, Ordering::*};

use crate::api;

/// QEMU's `CPUState`.
#[repr(C)]
pub struct QemuCpu([u8; 0]);

/// QEMU's `QEMU_CLOCK_VIRTUAL`.
const VIRTUAL_CLOCK: c_int = 1;
/// QEMU's `QEMU_TIMER_ATTR_ALL`.
const ALL_TIMERS: c_int = -1;
/// Words of the accelerator's table that are searched.
const TABLE_WORDS: usize = 64;
/// Entries from that of the interrupts back to that of wake-ups.
const KICK_BEFORE: usize = 7;
/// Entries from that of the interrupts on to those of the clocks.
const CLOCK_AFTER: usize = 1;
const TICKS_AFTER: usize = 3;

type FindCpu = unsafe extern "C" fn(c_int) -> *mut QemuCpu;
type TestCpu = unsafe extern "C" fn(*mut QemuCpu) -> bool;
type TestLock = unsafe extern "C" fn() -> bool;
type LeaveCode = unsafe extern "C" fn(*mut QemuCpu, usize) -> !;
type TakeLock = unsafe extern "C" fn(*const c_char, c_int);
type CallQemu = unsafe extern "C" fn();
type CallOnCpu = unsafe extern "C" fn(*mut QemuCpu);
type RunTimers = unsafe extern "C" fn(c_int) -> bool;
type AskTimers = unsafe extern "C" fn(c_int, c_int) -> i64;
type FindTable = unsafe extern "C" fn() -> *mut *mut c_void;
type ReadClock = unsafe extern "C" fn() -> i64;
type AccessMemory = unsafe extern "C" fn(*mut QemuCpu, u64, *mut c_void, usize, bool) -> c_int;

/// Functions of QEMU that are no part of its plugin interface, but exported.
#[derive(Clone, Copy)]
pub struct QemuFunctions {
    get_cpu: FindCpu,
    is_cpu_idle: TestCpu,
    has_lock: TestLock,
    leave: LeaveCode,
    lock: TakeLock,
    unlock: CallQemu,
    run_timers: RunTimers,
    time_to_timer: AskTimers,
    register_thread: CallQemu,
    flush_translations: CallOnCpu,
    virtual_clock: ReadClock,
    elapsed_ticks: ReadClock,
    kick: CallOnCpu,
    access_memory: AccessMemory,
}

/// Looks a function up, by its name or one that it has in later versions, and gives it the type that its caller
/// knows.
macro_rules! qemu_function {
    ($name:literal $(or $later:literal)? as $signature:ty) => {
        match api::find_symbol($name)$(.or_else(|| api::find_symbol($later)))? {
            // SAFETY: the signature in QEMU's headers, the same from 9.0 to 10.x.
            Some(found) => unsafe { std::mem::transmute::<*mut c_void, $signature>(found) },
            None => {
                return Err(format!(
                    "this QEMU does not export {}",
                    $name.to_string_lossy()
                ));
            }
        }
    };
}

impl QemuFunctions {
    /// Finds all of them in this process. The error is for the user.
    pub fn find() -> Result<Self, String> {
        Ok(Self {
            get_cpu: qemu_function!(c"qemu_get_cpu" as FindCpu),
            is_cpu_idle: qemu_function!(c"cpu_thread_is_idle" as TestCpu),
            has_lock: qemu_function!(c"bql_locked" as TestLock),
            leave: qemu_function!(c"cpu_loop_exit_restore" as LeaveCode),
            lock: qemu_function!(c"bql_lock_impl" as TakeLock),
            unlock: qemu_function!(c"bql_unlock" as CallQemu),
            run_timers: qemu_function!(c"qemu_clock_run_timers" as RunTimers),
            time_to_timer: qemu_function!(c"qemu_clock_deadline_ns_all" as AskTimers),
            register_thread: qemu_function!(c"rcu_register_thread" as CallQemu),
            flush_translations: qemu_function!(c"tb_flush" or c"queue_tb_flush" as CallOnCpu),
            virtual_clock: qemu_function!(c"cpus_get_virtual_clock" as ReadClock),
            elapsed_ticks: qemu_function!(c"cpus_get_elapsed_ticks" as ReadClock),
            kick: qemu_function!(c"qemu_cpu_kick" as CallOnCpu),
            access_memory: qemu_function!(c"cpu_memory_rw_debug" as AccessMemory),
        })
    }

    /// Returns CPU `n` of the guest, or null.
    pub fn cpu(&self, n: usize) -> *mut QemuCpu {
        // SAFETY: a lookup by number, in a list that does not change after the start.
        unsafe { (self.get_cpu)(n as c_int) }
    }

    /// Reads up to eight bytes at an address of `cpu`, as a number whose lowest byte comes first; `None` where nothing is mapped.
    ///
    /// # Safety
    /// `cpu` is one of the guest's, and in a callback on its thread.
    pub unsafe fn read_memory(&self, cpu: *mut QemuCpu, vaddr: u64, bytes: u8) -> Option<u64> {
        let mut read = [0u8; 8];
        let part = read.get_mut(..bytes.into())?;
        // SAFETY: as promised, and QEMU writes to the part that is given.
        let failed = unsafe {
            (self.access_memory)(cpu, vaddr, part.as_mut_ptr().cast(), part.len(), false)
        };
        (failed == 0).then(|| u64::from_le_bytes(read))
    }

    /// Returns true for a CPU that waits for an interrupt, and has none.
    ///
    /// # Safety
    /// `cpu` is one of the guest's.
    pub unsafe fn is_idle(&self, cpu: *mut QemuCpu) -> bool {
        // SAFETY: as promised.
        unsafe { (self.is_cpu_idle)(cpu) }
    }

    /// Returns whether this thread has QEMU's big lock.
    pub fn has_lock(&self) -> bool {
        // SAFETY: reads a variable of the thread.
        unsafe { (self.has_lock)() }
    }

    /// Leaves translated code: its CPU stands before the present instruction again.
    ///
    /// # Safety
    /// Only in a callback of translated code to which `return_address` returns, on the thread of `cpu`,
    /// with registers where QEMU expects them: at the beginning of a block, or in a callback that reads
    /// registers. No frame in between has anything to drop.
    pub unsafe fn leave_block(&self, cpu: *mut QemuCpu, return_address: usize) -> ! {
        // SAFETY: as promised.
        unsafe { (self.leave)(cpu, return_address) }
    }

    /// Makes QEMU throw all translations away when no CPU is in its code.
    ///
    /// A reset of the plugin would do that, too, but frees the callbacks of idle CPUs, which may be calling them.
    ///
    /// # Safety
    /// In a callback of translated code, on the thread of `cpu`.
    pub unsafe fn flush_translations(&self, cpu: *mut QemuCpu) {
        // SAFETY: as promised.
        unsafe { (self.flush_translations)(cpu) }
    }

    /// Takes QEMU's big lock.
    pub fn lock(&self) {
        // SAFETY: the name and line are only for QEMU's profiler of locks.
        unsafe { (self.lock)(c"relayout".as_ptr(), 0) }
    }

    /// Gives QEMU's big lock back, which this thread has.
    pub fn unlock(&self) {
        // SAFETY: the callers hold it.
        unsafe { (self.unlock)() }
    }

    /// Runs the timers of the guest's clock that are due. The caller has QEMU's big lock.
    pub fn run_timers(&self) {
        // SAFETY: as QEMU's main loop does.
        unsafe { (self.run_timers)(VIRTUAL_CLOCK) };
    }

    /// Returns the nanoseconds from the present time of the guest's clock to its next timer.
    pub fn time_to_timer(&self) -> Option<u64> {
        // SAFETY: reads lists under their own locks.
        u64::try_from(unsafe { (self.time_to_timer)(VIRTUAL_CLOCK, ALL_TIMERS) }).ok()
    }

    /// Makes this thread, which QEMU did not start, one that may run its timers.
    pub fn register_thread(&self) {
        // SAFETY: once for each thread.
        unsafe { (self.register_thread)() }
    }
}

/// Reads the simulated machine for QEMU.
pub trait GuestTime: Sync {
    /// Nanoseconds of the guest's virtual clock, for the calling thread.
    fn clock_ns(&self) -> i64;
    /// Value of the time stamp counter, for the calling thread.
    fn ticks(&self) -> i64;
    /// QEMU wakes a CPU, after its own function for that was called.
    fn note_kick(&self, cpu: *mut QemuCpu);
}

static TIME: AtomicPtr<&'static dyn GuestTime> = AtomicPtr::new(std::ptr::null_mut());
static KICK: AtomicU64 = AtomicU64::new(0);
/// What the hooks return while they are tested; 0 afterwards.
static TEST_ANSWER: AtomicI64 = AtomicI64::new(0);
static KICK_SEEN: AtomicBool = AtomicBool::new(false);

fn time() -> Option<&'static dyn GuestTime> {
    // SAFETY: null, or set once from a leaked box.
    unsafe { TIME.load(Acquire).as_ref() }.copied()
}

unsafe extern "C" fn hooked_clock() -> i64 {
    match (TEST_ANSWER.load(Relaxed), time()) {
        (0, Some(time)) => time.clock_ns(),
        (answer, _) => answer,
    }
}

unsafe extern "C" fn hooked_ticks() -> i64 {
    match (TEST_ANSWER.load(Relaxed), time()) {
        (0, Some(time)) => time.ticks(),
        (answer, _) => answer,
    }
}

unsafe extern "C" fn hooked_kick(cpu: *mut QemuCpu) {
    // SAFETY: QEMU's own function, which the hook took the place of.
    unsafe {
        let kick: CallOnCpu = std::mem::transmute(KICK.load(Acquire) as usize);
        kick(cpu);
    }
    if TEST_ANSWER.load(Relaxed) != 0 {
        KICK_SEEN.store(true, Relaxed);
    } else if let Some(time) = time() {
        time.note_kick(cpu);
    }
}

/// The guest's clocks as they stood while it was stopped.
#[derive(Clone, Copy, Debug)]
pub struct StoppedClocks {
    /// Nanoseconds of the virtual clock.
    pub clock_ns: i64,
    /// Value of the time stamp counter.
    pub ticks: i64,
}

/// Makes QEMU read `time`, from now on. The guest must be stopped. The error is for the user.
pub fn take_over_clocks(
    functions: &QemuFunctions,
    make_time: impl FnOnce(StoppedClocks) -> &'static dyn GuestTime,
) -> Result<(), String> {
    let table = accelerator_table()?;
    // SAFETY: QEMU's functions that read a clock.
    let stopped = unsafe {
        StoppedClocks {
            clock_ns: (functions.virtual_clock)(),
            ticks: (functions.elapsed_ticks)(),
        }
    };
    // SAFETY: words of the table, which `accelerator_table` has checked.
    unsafe {
        KICK.store(table.kick.read() as u64, Release);
        TEST_ANSWER.store(TEST_VALUE, SeqCst);
        table.kick.write(hooked_kick as *mut c_void);
        table.clock.write(hooked_clock as *mut c_void);
        table.ticks.write(hooked_ticks as *mut c_void);
    }
    let proven = prove_hooks(functions);
    TIME.store(Box::into_raw(Box::new(make_time(stopped))), Release);
    TEST_ANSWER.store(0, SeqCst);
    proven
}

const TEST_VALUE: i64 = 0x5265_6c61_796f_7574;

fn prove_hooks(functions: &QemuFunctions) -> Result<(), String> {
    // SAFETY: QEMU's functions; a stopped CPU may be woken, and sees that it is stopped.
    unsafe {
        let clock = (functions.virtual_clock)();
        let ticks = (functions.elapsed_ticks)();
        if (clock, ticks) != (TEST_VALUE, TEST_VALUE) {
            return Err(
                "this QEMU reads its clocks elsewhere than versions 9.1 to 10.0".to_owned(),
            );
        }
        (functions.kick)(functions.cpu(0));
    }
    match KICK_SEEN.load(Relaxed) {
        true => Ok(()),
        false => Err("this QEMU wakes its CPUs in a way not known here".to_owned()),
    }
}

/// Entries of QEMU's table of its accelerator.
struct AcceleratorEntries {
    kick: *mut *mut c_void,
    clock: *mut *mut c_void,
    ticks: *mut *mut c_void,
}

fn accelerator_table() -> Result<AcceleratorEntries, String> {
    let find_table = qemu_function!(c"cpus_get_accel" as FindTable);
    let interrupt = api::find_symbol(c"tcg_handle_interrupt")
        .ok_or("this QEMU does not export tcg_handle_interrupt")?;
    // SAFETY: returns QEMU's table, whose class alone has a hundred bytes, in an allocation of its own.
    let table = unsafe { find_table() };
    if table.is_null() {
        return Err("this QEMU has no accelerator".to_owned());
    }
    let words = readable_words(table.cast());
    // SAFETY: so many words can be read.
    let entry = |n: usize| unsafe { table.add(n).read() };
    let mut found =
        (KICK_BEFORE..words.saturating_sub(TICKS_AFTER)).filter(|&n| entry(n) == interrupt);
    let unknown = || "this QEMU's table of its accelerator has a form not known here".to_owned();
    let at = found.next().ok_or_else(unknown)?;
    let is_known = found.next().is_none()
        && !entry(at - KICK_BEFORE).is_null()
        && entry(at + CLOCK_AFTER).is_null()
        && entry(at + TICKS_AFTER).is_null();
    if !is_known {
        return Err(unknown());
    }
    // SAFETY: within the words that can be read.
    unsafe {
        Ok(AcceleratorEntries {
            kick: table.add(at - KICK_BEFORE),
            clock: table.add(at + CLOCK_AFTER),
            ticks: table.add(at + TICKS_AFTER),
        })
    }
}

/// Returns how many words from `start` on belong to its allocation, at most [`TABLE_WORDS`].
fn readable_words(start: *mut c_void) -> usize {
    // SAFETY: GLib takes the table from the allocator of libc.
    let bytes = unsafe { libc::malloc_usable_size(start) };
    (bytes / size_of::<usize>()).min(TABLE_WORDS)
}
