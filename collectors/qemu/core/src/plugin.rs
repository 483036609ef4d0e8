//! The plugin's life: installed, waiting for the start marker, recording, closed, written out.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::*};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use relayout_shadow::control::Stage;
use relayout_shadow::wire::SummaryRecord;
use relayout_shadow::{Access, CONTEXTS_MAX, Config, Context, Shadow, Value};

use crate::api::{self, GetValue, InfoBits, Insn, InsnData, PluginId, QemuInfo, Tb};
use crate::insn::memory_use;
use crate::markers::Marker;
use crate::options::Options;
use crate::output::Output;
use crate::pause::{self, Pauses};
use crate::sites::Sites;

/// Kernel addresses have the top bit set.
const KERNEL: u64 = 1 << 63;
/// From here up: fixmap (the APIC's registers among it) and vsyscall, which are not memory to
/// share.
const FIXMAP: u64 = 0xffff_ffff_ff00_0000;
/// Accesses of a CPU between looks at the clock and the control page.
const CHECK_EVERY: u64 = pause::EACH_MAX as u64;
/// What is gathered is appended at least this often.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// The instruction of a CPU that waits in a loop. What it waits for is often a CPU that the host is
/// not running: then the host's time is better spent on that one.
const PAUSE: [u8; 2] = [0xf3, 0x90];

/// Flags in the user data of a memory callback, above the site's number.
const READ_WRITE: u64 = 1 << 32;
const UNCERTAIN: u64 = 1 << 33;

struct Plugin {
    id: PluginId,
    options: Options,
    shadow: Shadow<Output>,
    contexts: usize,
    sites: Mutex<Sites>,
    insn_data: InsnData,
    info_bits: InfoBits,
    get_value: Option<GetValue>,
    started: Mutex<Option<(Instant, u64)>>,
    /// Code is to be instrumented when translated.
    instrument: AtomicBool,
    closed_by_marker: AtomicBool,
    finished: AtomicBool,
}

/// What one vCPU thread uses alone.
#[repr(align(128))]
struct Cpu {
    context: Context,
    info_bits: InfoBits,
    /// Accesses until the next pause.
    countdown: u32,
    /// Accesses at which to look at the clock and the control page.
    check_at: u64,
    pauses: Pauses,
    flushed: Instant,
    reported: (u64, u64),
}

static PLUGIN: AtomicPtr<Plugin> = AtomicPtr::new(std::ptr::null_mut());

/// The window is open: accesses are followed. Apart from [`Plugin`], to be found without it.
static RECORDING: AtomicBool = AtomicBool::new(false);

/// What each vCPU's thread uses; made at its first access.
static CPUS: [AtomicPtr<Cpu>; CONTEXTS_MAX] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; CONTEXTS_MAX];

fn plugin() -> Option<&'static Plugin> {
    // SAFETY: set once, from a leaked box.
    unsafe { PLUGIN.load(Acquire).as_ref() }
}

/// Called by the loadable objects' `qemu_plugin_install`. Returns 0, or 1 with the reason printed.
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
        Options::from_argv(argc, argv).and_then(|o| Plugin::new(interface, id, &*info, o))
    };
    match made {
        Ok(plugin) => {
            PLUGIN.store(Box::leak(Box::new(plugin)), Release);
            register(id);
            0
        }
        Err(reason) => {
            // QEMU keeps what plugins say to it in its log, where nobody would look.
            eprintln!("relayout plugin: {reason}");
            1
        }
    }
}

fn register(id: PluginId) {
    // SAFETY: callbacks of the right types, for the plugin that is being installed or reset.
    unsafe {
        api::qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
        api::qemu_plugin_register_atexit_cb(id, on_exit, std::ptr::null_mut());
    }
}

impl Plugin {
    fn new(
        interface: c_int,
        id: PluginId,
        info: &QemuInfo,
        options: Options,
    ) -> Result<Self, String> {
        if options.probe {
            return Err(format!("loaded, interface {interface}"));
        }
        if !info.system_emulation {
            return Err("only system emulation is watched".into());
        }
        let cpus = usize::try_from(info.max_vcpus).unwrap_or(0);
        let output = Output::open(&options.dir, cpus)
            .map_err(|e| format!("{}: {e}", options.dir.display()))?;
        let get_value = (interface >= 4)
            .then(|| api::find_symbol(c"qemu_plugin_mem_get_value"))
            .flatten()
            // SAFETY: the documented signature of that function.
            .map(|f| unsafe { std::mem::transmute::<*mut c_void, GetValue>(f) });
        let mut config = Config::new(cpus);
        config.burst_total_max = options.bursts.unwrap_or(config.burst_total_max);
        let shadow = Shadow::new(config, output).ok_or("too many CPUs, or no memory")?;
        Ok(Self {
            id,
            contexts: cpus,
            options,
            shadow,
            sites: Mutex::default(),
            insn_data: InsnData::new(interface),
            info_bits: InfoBits::learn()
                .ok_or("this QEMU describes accesses in a way not known here")?,
            get_value,
            started: Mutex::new(None),
            instrument: AtomicBool::new(false),
            closed_by_marker: AtomicBool::new(false),
            finished: AtomicBool::new(false),
        })
    }

    fn stage(&self) -> Stage {
        Stage::from_u32(self.shadow.host.control().state.load(Acquire))
    }

    fn set_stage(&self, stage: Stage) {
        self.shadow
            .host
            .control()
            .state
            .store(stage as u32, Release);
    }

    fn marker(&self, marker: Marker) {
        match marker {
            Marker::Start => self.start(),
            Marker::StartDefault if !self.options.own_markers => self.start(),
            Marker::StartDefault => {}
            Marker::Stop | Marker::StopDefault => self.close(true),
            Marker::Operation => {
                if self.stage() == Stage::Recording {
                    self.shadow.operation();
                }
            }
        }
    }

    fn start(&self) {
        if self.stage() == Stage::Waiting {
            self.set_stage(Stage::Starting);
            // SAFETY: called from a callback, as the interface allows.
            unsafe { api::qemu_plugin_reset(self.id, on_reset) };
        }
    }

    fn open(&self) {
        self.instrument.store(!self.options.idle, Release);
        *self.started.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((Instant::now(), process_cpu_ns()));
        RECORDING.store(true, Release);
        self.set_stage(Stage::Recording);
    }

    fn close(&self, by_marker: bool) {
        if !RECORDING.swap(false, AcqRel) {
            return;
        }
        let started = *self.started.lock().unwrap_or_else(PoisonError::into_inner);
        let control = self.shadow.host.control();
        if let Some((wall, cpu)) = started {
            control
                .window_wall_ns
                .store(wall.elapsed().as_nanos() as u64, Release);
            control
                .window_cpu_ns
                .store(process_cpu_ns().saturating_sub(cpu), Release);
        }
        control.operations.store(self.shadow.operations(), Release);
        self.closed_by_marker.store(by_marker, Release);
        if self.stage() != Stage::Failed {
            self.set_stage(Stage::Closed);
        }
    }

    /// Appends everything. All vCPU threads have stopped.
    fn finish(&self) {
        if self.finished.swap(true, AcqRel) || self.stage() == Stage::Waiting {
            return;
        }
        self.close(false);
        let output = &self.shadow.host;
        self.sites
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .flush(output);
        let control = output.control();
        let mut summary = SummaryRecord {
            window_wall_ns: control.window_wall_ns.load(Acquire),
            window_cpu_ns: control.window_cpu_ns.load(Acquire),
            accesses: 0,
            operations: self.shadow.operations(),
            bursts_dropped: 0,
            entries_lost: 0,
            values_seen: u32::from(self.get_value.is_some()),
            window_closed: u32::from(self.closed_by_marker.load(Acquire)),
        };
        for n in (0..self.contexts).rev() {
            // SAFETY: no vCPU runs any more.
            let Some(cpu) = (unsafe { cpu(n).or_else(|| self.make_cpu(n)) }) else {
                continue;
            };
            self.shadow.finish(&mut cpu.context);
            summary.accesses += cpu.context.accesses;
            summary.bursts_dropped += cpu.context.bursts_dropped;
            summary.entries_lost += cpu.context.lost;
            if n == 0 && control.error.load(Acquire) == 0 {
                cpu.context.append(&[summary], output);
            }
        }
        control.accesses.store(summary.accesses, Release);
        if self.stage() != Stage::Failed {
            self.set_stage(Stage::Finished);
        }
    }

    #[cold]
    fn make_cpu(&self, n: usize) -> Option<&'static mut Cpu> {
        let slot = CPUS.get(n).filter(|_| n < self.contexts)?;
        let cpu = Box::leak(Box::new(Cpu::new(n as u8, self)?));
        slot.store(cpu, Release);
        Some(cpu)
    }

    fn translate(&self, tb: *mut Tb) {
        let instrument = self.instrument.load(Acquire);
        // SAFETY: `tb` is the block being translated.
        let count = unsafe { api::qemu_plugin_tb_n_insns(tb) };
        for n in 0..count {
            // SAFETY: as above, `n` is below the count.
            let (insn, pc) = unsafe {
                let insn = api::qemu_plugin_tb_get_insn(tb, n);
                (insn, api::qemu_plugin_insn_vaddr(insn))
            };
            if pc < KERNEL {
                self.translate_user(insn);
            } else if instrument
                && !self
                    .options
                    .skip
                    .iter()
                    .any(|&(lo, hi)| lo <= pc && pc < hi)
            {
                self.translate_kernel(insn, pc);
            }
        }
        if instrument {
            self.sites
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .flush(&self.shadow.host);
        }
    }

    fn translate_user(&self, insn: *mut Insn) {
        let mut bytes = [0; 16];
        // SAFETY: `insn` belongs to the block being translated.
        let len = unsafe { self.insn_data.get(insn, &mut bytes) };
        if let Some(marker) = Marker::decode(&bytes[..len]) {
            // SAFETY: as above; the data is a small number, not a pointer.
            unsafe {
                let data = marker as usize as *mut c_void;
                api::qemu_plugin_register_vcpu_insn_exec_cb(insn, on_marker, api::NO_REGS, data);
            }
        }
    }

    fn translate_kernel(&self, insn: *mut Insn, pc: u64) {
        let mut bytes = [0; 16];
        // SAFETY: `insn` belongs to the block being translated.
        let len = unsafe { self.insn_data.get(insn, &mut bytes) };
        if bytes[..len] == PAUSE && self.options.yield_every > 0 {
            // SAFETY: as above; no data.
            unsafe {
                let none = std::ptr::null_mut();
                api::qemu_plugin_register_vcpu_insn_exec_cb(insn, on_pause, api::NO_REGS, none);
            }
        }
        let used = memory_use(&bytes[..len]);
        let site = {
            let mut sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
            sites.number(pc, bytes, len)
        };
        let mut data = u64::from(site);
        data |= if used.read_write { READ_WRITE } else { 0 };
        data |= if used.uncertain { UNCERTAIN } else { 0 };
        let rw = if used.read_write {
            api::MEM_W
        } else {
            api::MEM_RW
        };
        // SAFETY: as above; the data is a number, not a pointer.
        unsafe {
            let data = data as usize as *mut c_void;
            api::qemu_plugin_register_vcpu_mem_cb(insn, on_mem, api::NO_REGS, rw, data);
        }
    }

    #[inline]
    fn access(&self, cpu: &mut Cpu, info: u32, vaddr: u64, data: u64) {
        let access = match (data & READ_WRITE != 0, cpu.info_bits.is_store(info)) {
            (true, _) => Access::ReadWrite,
            (false, true) => Access::Write,
            (false, false) => Access::Read,
        };
        let value = || {
            // SAFETY: called within the memory callback that `info` belongs to.
            let value = unsafe { self.get_value?(info) };
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&value.low.to_le_bytes());
            bytes[8..].copy_from_slice(&value.high.to_le_bytes());
            Some(Value {
                bytes,
                certain: data & UNCERTAIN == 0,
            })
        };
        self.shadow.access(
            &mut cpu.context,
            vaddr,
            cpu.info_bits.size(info),
            access,
            data as u32,
            value,
        );
        cpu.countdown -= 1;
        if cpu.countdown == 0 {
            self.pause(cpu);
        }
    }

    /// Yields if it is time to, and now and then looks up from work.
    #[cold]
    fn pause(&self, cpu: &mut Cpu) {
        if self.options.yield_every > 0 {
            std::thread::yield_now();
        }
        cpu.countdown = cpu.pauses.next();
        if cpu.context.accesses >= cpu.check_at {
            cpu.check_at = cpu.context.accesses + CHECK_EVERY;
            self.check(cpu);
        }
    }

    #[cold]
    fn check(&self, cpu: &mut Cpu) {
        let control = self.shadow.host.control();
        let (accesses, transfers) = (cpu.context.accesses, cpu.context.transfers);
        control
            .accesses
            .fetch_add(accesses - cpu.reported.0, Relaxed);
        control
            .transfers
            .fetch_add(transfers - cpu.reported.1, Relaxed);
        control.operations.store(self.shadow.operations(), Relaxed);
        cpu.reported = (accesses, transfers);
        if cpu.flushed.elapsed() >= FLUSH_EVERY {
            cpu.context.flush(&self.shadow.host);
            cpu.flushed = Instant::now();
        }
        if control.error.load(Relaxed) != 0 {
            self.close(false);
        }
    }
}

impl Cpu {
    fn new(n: u8, plugin: &Plugin) -> Option<Self> {
        let options = &plugin.options;
        let mut pauses = Pauses::new(options.yield_every, options.seed, n);
        Some(Self {
            context: Context::new(n, &plugin.shadow.host)?,
            info_bits: plugin.info_bits,
            countdown: pauses.next(),
            pauses,
            check_at: CHECK_EVERY,
            flushed: Instant::now(),
            reported: (0, 0),
        })
    }
}

fn process_cpu_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

extern "C" fn on_translate(_id: PluginId, tb: *mut Tb) {
    if let Some(plugin) = plugin() {
        plugin.translate(tb);
    }
}

extern "C" fn on_reset(id: PluginId) {
    if let Some(plugin) = plugin() {
        register(id);
        plugin.open();
    }
}

extern "C" fn on_exit(_id: PluginId, _data: *mut c_void) {
    if let Some(plugin) = plugin() {
        plugin.finish();
    }
}

extern "C" fn on_marker(_vcpu: c_uint, data: *mut c_void) {
    const MARKERS: [Marker; 5] = [
        Marker::Start,
        Marker::Stop,
        Marker::Operation,
        Marker::StartDefault,
        Marker::StopDefault,
    ];
    if let (Some(plugin), Some(marker)) = (plugin(), MARKERS.get(data as usize)) {
        plugin.marker(*marker);
    }
}

extern "C" fn on_pause(_vcpu: c_uint, _data: *mut c_void) {
    if RECORDING.load(Relaxed) {
        std::thread::yield_now();
    }
}

extern "C" fn on_mem(vcpu: c_uint, info: u32, vaddr: u64, data: *mut c_void) {
    if !(KERNEL..FIXMAP).contains(&vaddr) {
        return;
    }
    if !RECORDING.load(Relaxed) {
        return;
    }
    let Some(plugin) = plugin() else { return };
    // SAFETY: QEMU calls back on the thread of that vCPU.
    let cpu = unsafe { cpu(vcpu as usize) };
    if let Some(cpu) = cpu.or_else(|| plugin.make_cpu(vcpu as usize)) {
        plugin.access(cpu, info, vaddr, data as u64);
    }
}

/// What vCPU `n` uses, if it was made.
///
/// # Safety
/// Only the thread that runs vCPU `n` may call it, or anyone once none runs.
#[inline]
unsafe fn cpu(n: usize) -> Option<&'static mut Cpu> {
    // SAFETY: as promised; made once and never freed.
    unsafe { CPUS.get(n)?.load(Relaxed).as_mut() }
}
