//! Threads of a recorded program: their first access, their end, and the calls that tell of their
//! stacks.

use std::sync::atomic::Ordering::*;
use std::time::Instant;

use super::{FLUSH_EVERY, RecordingPlugin};
use crate::cpu::{self, VcpuState};
use crate::program::threads::{LiveThread, ThreadStart, own_tid};

impl RecordingPlugin {
    /// Begins to record the thread of a vCPU at its first access, to `address`. `None` if all
    /// contexts are in use.
    #[cold]
    pub fn thread_begins(&self, vcpu: usize, address: u64) -> Option<&'static mut VcpuState> {
        let program = self.program.as_ref()?;
        let tid = own_tid();
        let mut state = program.state();
        let begun = state.threads.begin_thread(vcpu, tid).and_then(|context| {
            let n = usize::from(context);
            // SAFETY: the context is this thread's now; the thread before has left it under the lock.
            let cpu = unsafe { cpu::cpu_of_context(n) }.or_else(|| self.make_context(n))?;
            Some((context, cpu))
        });
        let Some((context, cpu)) = begun else {
            program.control.threads_lost.fetch_add(1, Relaxed);
            return cpu::attach_vcpu(vcpu, None);
        };
        // The first access of a program is to its stack, which holds the arguments.
        if context == 0 && !self.options.own_markers {
            state.threads.starts.entry(tid).or_default().stack = address;
        }
        self.shadow.host.begin_context(context);
        program.append_map_line(LiveThread { context, tid }.map_line(), &self.shadow.host);
        if let Some(&start) = state.threads.starts.get(&tid) {
            for line in start.map_lines(context, state.modules.first()) {
                program.append_map_line(line, &self.shadow.host);
            }
        }
        cpu::attach_vcpu(vcpu, Some(cpu))
    }

    /// Ends the thread of a vCPU.
    pub fn thread_ends(&self, vcpu: usize) {
        let Some(program) = &self.program else { return };
        let mut state = program.state();
        if let Some(live) = state.threads.end_thread(vcpu) {
            program.append_map_line(live.map_line(), &self.shadow.host);
            // SAFETY: the context is this thread's until the lock is free.
            if let Some(cpu) = unsafe { cpu::cpu_of_context(live.context.into()) } {
                self.report_progress(cpu);
                if cpu.flushed.elapsed() >= FLUSH_EVERY {
                    cpu.context.flush(&self.shadow.host);
                    cpu.flushed = Instant::now();
                }
            }
        }
        cpu::detach_vcpu(vcpu);
    }

    /// Stores the stack or thread pointer of a thread, which `update` sets, and appends their
    /// lines.
    pub fn update_thread_start(&self, tid: u32, update: impl FnOnce(&mut ThreadStart)) {
        let Some(program) = &self.program else { return };
        let mut state = program.state();
        let mut fresh = ThreadStart::default();
        update(&mut fresh);
        let start = state.threads.starts.entry(tid).or_default();
        if fresh.stack != 0 {
            start.stack = fresh.stack;
        }
        if fresh.pointer != 0 {
            start.pointer = fresh.pointer;
        }
        let Some(context) = state.threads.context_of(tid) else {
            return;
        };
        for line in fresh.map_lines(context, state.modules.first()) {
            program.append_map_line(line, &self.shadow.host);
        }
    }
}
