//! The plugin: installed, waiting for the start marker, recording, closed, written out.

mod syscalls;
mod threads;
mod translate;

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use relayout_shadow::control::RecordingStage;
use relayout_shadow::wire::SummaryRecord;
use relayout_shadow::{AccessKind, CONTEXTS_MAX, ShadowConfig, ShadowMemory};

use crate::api::{self, GetValue, InsnData, PluginId, QemuInfo};
use crate::clock::InstructionClock;
use crate::cpu::{self, FLUSH_CHECK_EVERY, VcpuLookup, VcpuState};
use crate::exchange::FoundValue;
use crate::facts::{CallbackData, VcpuAccess};
use crate::insn::TranslatedMachine;
use crate::markers::GuestMarker;
use crate::options::{Options, WindowMode, WindowOpening};
use crate::output::SegmentOutput;
use crate::program::RecordedProgram;
use crate::registers::RegisterReader;
use crate::simulated;
use crate::sites::SiteNumbers;
use crate::window::RECORDING;

/// Interval in which a running thread appends its records, at most.
pub const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// Interval in which a held guest looks whether it is released.
const HELD_POLL: Duration = Duration::from_micros(500);

/// Instructions of a program's thread without one that uses a line, after which the next one begins a visit. Each use is
/// one, not as in kernels: a thread may do nothing but use a line, and then all counts that it does until it loses it.
const PROGRAM_VISIT_GAP: u64 = 0;

/// Called when QEMU has dropped all translated code.
pub type ResetCallback = extern "C" fn(PluginId);

/// State of the plugin from its installation to the end of QEMU.
pub struct RecordingPlugin {
    id: PluginId,
    on_reset: ResetCallback,
    pub options: Options,
    pub shadow: ShadowMemory<SegmentOutput>,
    contexts: usize,
    pub sites: Mutex<SiteNumbers>,
    pub insn_data: InsnData,
    /// Machine whose code QEMU translates.
    pub machine: TranslatedMachine,
    pub get_value: Option<GetValue>,
    /// Registers, looked up when the first is read.
    pub registers: OnceLock<Option<RegisterReader>>,
    pub clock: InstructionClock,
    /// Beginning of the window, with the process's CPU time.
    started: OnceLock<(Instant, u64)>,
    /// Code is instrumented when it is translated.
    pub instrument: AtomicBool,
    closed_by_marker: AtomicBool,
    finished: AtomicBool,
    /// Program that QEMU runs, unless it emulates a machine.
    pub program: Option<RecordedProgram>,
}

impl RecordingPlugin {
    /// Claims the recording folder of the options and makes the shadow. The error is for the user.
    pub fn new(
        interface: c_int,
        id: PluginId,
        info: &QemuInfo,
        options: Options,
        on_reset: ResetCallback,
    ) -> Result<Self, String> {
        if options.probe {
            return Err(format!("loaded, interface {interface}"));
        }
        // SAFETY: QEMU passes a C string, or none.
        let target = unsafe { info.target_name() }.unwrap_or_default();
        let machine = TranslatedMachine::from_target_name(target)
            .ok_or_else(|| format!("QEMU emulates '{target}': x86_64 and aarch64 are recorded"))?;
        let folder = |e: std::io::Error| format!("{}: {e}", options.dir.display());
        let (contexts, output, program) = if info.system_emulation {
            let cpus = usize::try_from(info.max_vcpus).unwrap_or(0);
            if cpus > CONTEXTS_MAX {
                return Err(format!(
                    "the guest can have {cpus} CPUs; at most {CONTEXTS_MAX} are recorded"
                ));
            }
            let output = SegmentOutput::open(&options.dir, cpus).map_err(folder)?;
            (cpus, output, None)
        } else {
            let output = SegmentOutput::open_guarded(&options.dir).map_err(folder)?;
            let program = RecordedProgram::claim(&options.dir, output.control())?;
            (CONTEXTS_MAX, output, Some(program))
        };
        let get_value = (interface >= 4)
            .then(|| api::find_symbol(c"qemu_plugin_mem_get_value"))
            .flatten()
            // SAFETY: the documented signature of the function.
            .map(|f| unsafe { std::mem::transmute::<*mut c_void, GetValue>(f) });
        let mut config = ShadowConfig::new(contexts);
        if let Some(bursts) = options.bursts {
            config.set_log_limit(bursts);
        }
        if options.mode == WindowMode::Follow {
            config.record_no_detail();
        }
        if program.is_some() || options.records_guest_program() {
            config.visit_gap = PROGRAM_VISIT_GAP;
        }
        if !api::knows_info_bits() {
            return Err("this QEMU describes accesses in a way not known here".to_owned());
        }
        // A simulated guest is translated once, before its window opens.
        let instrument = options.simulation.is_some() && options.mode != WindowMode::Idle;
        let shadow = ShadowMemory::new(config, output).ok_or("no memory for the table of pages")?;
        Ok(Self {
            id,
            on_reset,
            contexts,
            options,
            shadow,
            sites: Mutex::default(),
            insn_data: InsnData::new(interface),
            machine,
            get_value,
            registers: OnceLock::new(),
            clock: InstructionClock::new(interface),
            started: OnceLock::new(),
            instrument: AtomicBool::new(instrument),
            closed_by_marker: AtomicBool::new(false),
            finished: AtomicBool::new(false),
            program,
        })
    }

    fn stage(&self) -> RecordingStage {
        RecordingStage::from_u32(self.shadow.host.control().state.load(Acquire))
    }

    fn set_stage(&self, stage: RecordingStage) {
        self.shadow
            .host
            .control()
            .state
            .store(stage as u32, Release);
    }

    /// Does what a marker asks, which vCPU `vcpu` executes.
    pub fn handle_marker(&self, marker: GuestMarker, vcpu: usize) {
        match marker {
            GuestMarker::Start => self.start(),
            GuestMarker::StartDefault if !self.options.own_markers => self.start(),
            GuestMarker::StartDefault => {}
            GuestMarker::Stop | GuestMarker::StopDefault => match self.options.simulation {
                Some(_) => simulated::end_window(vcpu),
                None => self.close_window(true),
            },
            // A window without an end of its own is open until the guest is gone.
            GuestMarker::Failure => simulated::keep_window_open(vcpu),
            GuestMarker::Operation => {
                if self.stage() == RecordingStage::Recording {
                    self.shadow.note_operation();
                    // SAFETY: QEMU calls back on the thread of that vCPU.
                    if let VcpuLookup::Cpu(cpu) = unsafe { cpu::cpu_of_vcpu(vcpu) } {
                        cpu.context.operations = cpu.context.operations.wrapping_add(1);
                    }
                }
            }
        }
    }

    fn start(&self) {
        if self.stage() != RecordingStage::Waiting {
            return;
        }
        if self.options.window == WindowOpening::Held {
            self.hold();
        } else {
            self.set_stage(RecordingStage::Starting);
            // SAFETY: called from a callback, as the interface allows.
            unsafe { api::qemu_plugin_reset(self.id, self.on_reset) };
        }
    }

    /// Keeps this vCPU in the start marker until the host has stopped the machine, or goes away
    /// and QEMU with it. The vCPU then stops at the end of the marker's block.
    fn hold(&self) {
        self.set_stage(RecordingStage::Held);
        while self.shadow.host.control().released.load(Acquire) == 0 {
            std::thread::sleep(HELD_POLL);
        }
    }

    /// Opens the window, which begins now.
    pub fn open_window(&self) {
        self.watch_from_now();
        self.begin_window();
    }

    /// Watches all code that is translated from now on.
    pub fn watch_from_now(&self) {
        self.instrument
            .store(self.options.mode != WindowMode::Idle, Release);
        RECORDING.store(true, Release);
    }

    /// Begins the window, unless it has begun.
    pub fn begin_window(&self) {
        self.started.get_or_init(|| {
            self.set_stage(RecordingStage::Recording);
            (Instant::now(), process_cpu_ns())
        });
    }

    /// Closes the window, if it is open.
    pub fn close_window(&self, by_marker: bool) {
        if !RECORDING.swap(false, AcqRel) {
            return;
        }
        let control = self.shadow.host.control();
        if let Some((wall, cpu)) = self.started.get() {
            control
                .window_wall_ns
                .store(wall.elapsed().as_nanos() as u64, Release);
            control
                .window_cpu_ns
                .store(process_cpu_ns().saturating_sub(*cpu), Release);
        }
        control.operations.store(self.shadow.operations(), Release);
        self.closed_by_marker.store(by_marker, Release);
        if self.stage() != RecordingStage::Failed {
            self.set_stage(RecordingStage::Closed);
        }
    }

    /// Appends everything. All vCPU threads of a machine have stopped; those of a program may still
    /// run, but are not recorded any more.
    pub fn finish(&self) {
        let is_unopened = matches!(self.stage(), RecordingStage::Waiting | RecordingStage::Held);
        if is_unopened || self.finished.swap(true, AcqRel) {
            return;
        }
        self.close_window(false);
        if let Some(program) = &self.program {
            program.wait_for_others();
            program.finish(&self.shadow.host);
        }
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
            // SAFETY: no vCPU is recorded any more.
            let seen = unsafe { cpu::cpu_of_context(n) };
            let Some(cpu) = seen.or_else(|| (n == 0).then(|| self.make_context(n))?) else {
                continue;
            };
            cpu.settle_portion();
            self.shadow.finish(&mut cpu.context);
            summary.accesses += cpu.context.accesses;
            summary.bursts_dropped += cpu.context.bursts_dropped;
            summary.entries_lost += cpu.context.lost;
            if n == 0 && control.error.load(Acquire) == 0 {
                cpu.context.append(&[summary], output);
            }
        }
        control.accesses.store(summary.accesses, Release);
        if self.stage() != RecordingStage::Failed {
            self.set_stage(RecordingStage::Finished);
        }
    }

    /// Makes the state of a machine's CPU `n` and attaches it.
    #[cold]
    pub fn make_cpu(&self, n: usize) -> Option<&'static mut VcpuState> {
        cpu::attach_vcpu(n, self.make_context(n))
    }

    /// Makes the state of context `n`, which must not exist yet.
    #[inline(never)]
    pub fn make_context(&self, n: usize) -> Option<&'static mut VcpuState> {
        if n >= self.contexts {
            return None;
        }
        cpu::make_cpu(n as u16, &self.options, &self.shadow.host)
    }

    /// Returns true unless the host has interrupted the recording.
    #[inline]
    pub fn is_watching(&self) -> bool {
        self.shadow.host.control().paused.load(Relaxed) == 0
    }

    /// Notes what a compare-and-exchange of `cpu` has found at `vaddr`, by QEMU's description of the
    /// load. Only within a callback that reads registers.
    pub fn note_found(&self, cpu: &mut VcpuState, info: u32, vaddr: u64) {
        let Some(get_value) = self.get_value else {
            return;
        };
        // SAFETY: within a callback, as promised.
        (self.registers).get_or_init(|| unsafe { RegisterReader::find(self.machine) });
        // SAFETY: made within the memory callback that `info` belongs to.
        let value = unsafe { get_value(info) };
        cpu.found = Some(FoundValue::new(vaddr, &value));
    }

    /// Records an access by vCPU `vcpu` that [`VcpuState::try_common_hit`] did not do.
    #[inline]
    pub fn access_uncommon(
        &self,
        cpu: &mut VcpuState,
        vcpu: usize,
        info: u32,
        vaddr: u64,
        kind: AccessKind,
        data: CallbackData,
    ) {
        let size = api::access_size(info);
        let facts = VcpuAccess {
            plugin: self,
            vcpu,
            found: &cpu.found,
            vaddr,
            info,
            data,
        };
        let (cx, site) = (&mut cpu.context, data.site());
        self.shadow
            .access_uncommon(cx, vaddr, size, kind, site, &facts);
        cpu.countdown -= 1;
        if cpu.countdown == 0 {
            self.stop(cpu, vaddr);
        }
    }

    /// Ends a portion of accesses after one to `vaddr`: samples its pair of lines, or pauses.
    #[cold]
    pub fn stop(&self, cpu: &mut VcpuState, vaddr: u64) {
        let made = cpu.settle_portion();
        self.shadow.pass_accesses(&mut cpu.context, made, vaddr);
        cpu.pause_in -= made;
        if cpu.pause_in == 0 {
            cpu.pause_in = cpu.pauses.next_pause();
            self.pause(cpu);
        }
        cpu.begin_portion();
    }

    /// Yields to another CPU if the options say so, and flushes if it is due.
    fn pause(&self, cpu: &mut VcpuState) {
        if self.options.yield_every > 0 {
            std::thread::yield_now();
        }
        if cpu.context.accesses >= cpu.flush_check_at {
            cpu.flush_check_at = cpu.context.accesses + FLUSH_CHECK_EVERY;
            self.flush_if_due(cpu);
        }
    }

    #[cold]
    fn flush_if_due(&self, cpu: &mut VcpuState) {
        self.report_progress(cpu);
        // The records of a simulated guest do not depend on the host's time.
        if self.options.simulation.is_none() && cpu.flushed.elapsed() >= FLUSH_EVERY {
            cpu.context.flush(&self.shadow.host);
            cpu.flushed = Instant::now();
        }
        if self.shadow.host.control().error.load(Relaxed) != 0 {
            self.close_window(false);
        }
    }

    /// Updates the counters of the control page.
    pub fn report_progress(&self, cpu: &mut VcpuState) {
        cpu.settle_portion();
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
    }
}

fn process_cpu_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes to `time` only.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
