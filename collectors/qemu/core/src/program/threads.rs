//! Threads of the program, and the contexts that they are recorded as.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering::*;
use std::time::Instant;

use relayout_shadow::CONTEXTS_MAX;

use super::ProgramState;
use super::modules::ProcessMappings;
use crate::cpu::{self, VcpuState};
use crate::plugin::{FLUSH_EVERY, RecordingPlugin};

/// Who runs as which context.
#[derive(Default)]
pub struct ThreadTable {
    /// Contexts that no thread has had yet begin here.
    fresh: u8,
    /// Contexts whose threads have ended, the one that ended first in front.
    free: VecDeque<u8>,
    live: HashMap<usize, LiveThread>,
    /// What is known of threads from those that started them, by the system's number.
    starts: HashMap<u32, ThreadStart>,
}

/// A thread that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LiveThread {
    context: u8,
    /// The system's number.
    tid: u32,
}

/// Where a thread's stack and thread-local storage are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadStart {
    /// An address in its stack, 0 if not known.
    pub stack: u64,
    /// Its thread pointer, 0 if not known.
    pub pointer: u64,
}

impl ThreadTable {
    /// The context for a thread that begins: one that none had before, as long as there are any, so
    /// that accesses of two threads are told apart; else the one that was left first. `None`: all are
    /// in use.
    fn begin_thread(&mut self, vcpu: usize, tid: u32) -> Option<u8> {
        let context = if usize::from(self.fresh) < CONTEXTS_MAX {
            self.fresh += 1;
            self.fresh - 1
        } else {
            self.free.pop_front()?
        };
        self.live.insert(vcpu, LiveThread { context, tid });
        Some(context)
    }

    fn end_thread(&mut self, vcpu: usize) -> Option<LiveThread> {
        let live = self.live.remove(&vcpu)?;
        self.free.push_back(live.context);
        self.starts.remove(&live.tid);
        Some(live)
    }

    fn context_of(&self, tid: u32) -> Option<u8> {
        let mut live = self.live.values();
        live.find(|live| live.tid == tid).map(|live| live.context)
    }

    /// The context of the calling thread.
    pub fn own_context(&self) -> Option<usize> {
        self.context_of(own_tid()).map(usize::from)
    }

    /// Ends all; lines for the map.
    pub fn end_all(&mut self) -> Vec<Vec<u8>> {
        let mut live: Vec<LiveThread> = self.live.drain().map(|(_, live)| live).collect();
        live.sort_by_key(|live| live.context);
        live.into_iter().map(LiveThread::map_line).collect()
    }
}

impl LiveThread {
    /// `thread CONTEXT TID NAME`, with the name that it has now.
    fn map_line(self) -> Vec<u8> {
        let Self { context, tid } = self;
        let name = std::fs::read(format!("/proc/self/task/{tid}/comm")).unwrap_or_default();
        let mut line = format!("thread {context} {tid} ").into_bytes();
        line.extend(name.into_iter().filter(|&b| b != b'\n'));
        line
    }
}

impl ThreadStart {
    /// Lines for the map: `stack CONTEXT START BYTES`, `tls CONTEXT START BYTES BIAS`.
    fn map_lines(self, context: u8, state: &ProgramState) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        if self.stack != 0
            && let Some(stack) = ProcessMappings::read().mapping_at(self.stack)
        {
            let bytes = stack.end - stack.start;
            lines.push(format!("stack {context} {:x} {bytes:x}", stack.start).into_bytes());
        }
        let program = state.modules.first();
        if self.pointer != 0
            && let Some((start, bytes, bias)) = program.and_then(|m| m.program_tls(self.pointer))
        {
            lines.push(format!("tls {context} {start:x} {bytes:x} {bias:x}").into_bytes());
        }
        lines
    }
}

impl RecordingPlugin {
    /// The thread of a vCPU makes its first access, at `address`. `None`: it will not be followed.
    #[cold]
    pub fn thread_begins(&self, vcpu: usize, address: u64) -> Option<&'static mut VcpuState> {
        let program = self.program.as_ref()?;
        let tid = own_tid();
        let mut state = program.state();
        let Some(context) = state.threads.begin_thread(vcpu, tid) else {
            program.control.threads_lost.fetch_add(1, Relaxed);
            cpu::attach_vcpu(vcpu, None);
            return None;
        };
        // The first that a program does is to use its stack: the arguments are there.
        if context == 0 && !self.options.own_markers {
            state.threads.starts.entry(tid).or_default().stack = address;
        }
        self.shadow.host.begin_context(context);
        program.append_map_line(LiveThread { context, tid }.map_line(), &self.shadow.host);
        if let Some(&start) = state.threads.starts.get(&tid) {
            for line in start.map_lines(context, &state) {
                program.append_map_line(line, &self.shadow.host);
            }
        }
        // SAFETY: the context is this thread's now; who had it before has left it under the lock.
        cpu::attach_vcpu(vcpu, unsafe { cpu::cpu_of_context(context.into()) });
        // SAFETY: as above.
        unsafe { cpu::cpu_of_context(context.into()) }
    }

    /// The thread of a vCPU ends.
    pub fn thread_ends(&self, vcpu: usize) {
        let Some(program) = &self.program else { return };
        let mut state = program.state();
        if let Some(live) = state.threads.end_thread(vcpu) {
            program.append_map_line(live.map_line(), &self.shadow.host);
            // SAFETY: it is this thread's until the lock is free.
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

    /// Where the stack or thread pointer of a thread is has become known.
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
        for line in fresh.map_lines(context, &state) {
            program.append_map_line(line, &self.shadow.host);
        }
    }
}

/// The system's number of the calling thread, which is the one that the program sees.
pub fn own_tid() -> u32 {
    // SAFETY: a plain system call.
    (unsafe { libc::syscall(libc::SYS_gettid) }) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_are_used_again_only_when_all_were_used() {
        let mut threads = ThreadTable::default();
        assert_eq!(threads.begin_thread(0, 100), Some(0));
        for n in 1..CONTEXTS_MAX {
            assert_eq!(threads.begin_thread(1, 100 + n as u32), Some(n as u8));
            threads.end_thread(1);
        }
        assert_eq!(
            threads.begin_thread(1, 500),
            Some(1),
            "the first that was left"
        );
        assert_eq!(threads.begin_thread(2, 501), Some(2));
        for vcpu in 3..CONTEXTS_MAX {
            assert!(threads.begin_thread(vcpu, 600).is_some());
        }
        assert_eq!(threads.begin_thread(99, 700), None, "all live");
        assert_eq!(threads.end_thread(99), None);
        threads.end_thread(2);
        assert_eq!(threads.begin_thread(99, 701), Some(2));
    }

    #[test]
    fn what_is_known_of_a_thread_goes_with_it() {
        let mut threads = ThreadTable::default();
        threads.starts.insert(7, ThreadStart::default());
        threads.begin_thread(3, 7);
        assert_eq!(threads.context_of(7), Some(0));
        threads.end_thread(3);
        assert_eq!(threads.context_of(7), None);
        assert!(threads.starts.is_empty());
    }

    #[test]
    fn lines_say_names() {
        let mut threads = ThreadTable::default();
        threads.begin_thread(0, own_tid());
        let lines = threads.end_all();
        let line = String::from_utf8(lines[0].clone()).unwrap();
        let name = std::thread::current().name().unwrap().to_owned();
        let name = &name[..name.len().min(15)];
        assert_eq!(line, format!("thread 0 {} {name}", own_tid()));
        assert!(threads.end_all().is_empty());
    }
}
