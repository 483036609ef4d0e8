//! Threads of the program, and the context that each is recorded as.

use std::collections::{HashMap, VecDeque};

use relayout_shadow::{CONTEXTS_MAX, FRESH_CONTEXTS};

use super::modules::{ElfModule, ProcessMappings};

/// Contexts of the program's threads.
#[derive(Default)]
pub struct ThreadTable {
    /// First context that no thread has had yet.
    fresh: u16,
    /// Contexts whose threads have ended, in the order of their ends.
    free: VecDeque<u16>,
    live: HashMap<usize, LiveThread>,
    /// Stacks and thread pointers of threads, by thread id, as the threads that started them passed
    /// them.
    pub(crate) starts: HashMap<u32, ThreadStart>,
}

/// Thread that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LiveThread {
    pub(crate) context: u16,
    /// Thread id of the system.
    pub(crate) tid: u32,
}

/// Stack and thread-local storage of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadStart {
    /// Address in the thread's stack; 0 if not known.
    pub stack: u64,
    /// Thread pointer; 0 if not known.
    pub pointer: u64,
}

impl ThreadTable {
    /// Returns the context for a thread that begins: one that no thread has had yet as long as
    /// there are few, else the one that was left first, else a new one. `None` if all are in use.
    pub(crate) fn begin_thread(&mut self, vcpu: usize, tid: u32) -> Option<u16> {
        let fresh = usize::from(self.fresh);
        let left = (fresh >= FRESH_CONTEXTS)
            .then(|| self.free.pop_front())
            .flatten();
        let context = match left {
            Some(context) => context,
            None if fresh == CONTEXTS_MAX => return None,
            None => {
                self.fresh += 1;
                self.fresh - 1
            }
        };
        self.live.insert(vcpu, LiveThread { context, tid });
        Some(context)
    }

    pub(crate) fn end_thread(&mut self, vcpu: usize) -> Option<LiveThread> {
        let live = self.live.remove(&vcpu)?;
        self.free.push_back(live.context);
        self.starts.remove(&live.tid);
        Some(live)
    }

    pub(crate) fn context_of(&self, tid: u32) -> Option<u16> {
        let mut live = self.live.values();
        live.find(|live| live.tid == tid).map(|live| live.context)
    }

    /// Returns the context of the calling thread.
    pub fn own_context(&self) -> Option<usize> {
        self.context_of(own_tid()).map(usize::from)
    }

    /// Ends all threads and returns their lines for the map.
    pub fn end_all(&mut self) -> Vec<Vec<u8>> {
        let mut live: Vec<LiveThread> = self.live.drain().map(|(_, live)| live).collect();
        live.sort_by_key(|live| live.context);
        live.into_iter().map(LiveThread::map_line).collect()
    }
}

impl LiveThread {
    /// Returns the line `thread CONTEXT TID NAME`, with the thread's present name.
    pub(crate) fn map_line(self) -> Vec<u8> {
        let Self { context, tid } = self;
        let name = std::fs::read(format!("/proc/self/task/{tid}/comm")).unwrap_or_default();
        let mut line = format!("thread {context} {tid} ").into_bytes();
        line.extend(name.into_iter().filter(|&b| b != b'\n'));
        line
    }
}

impl ThreadStart {
    /// Returns the lines for the map: `stack CONTEXT START BYTES`, `tls CONTEXT START BYTES BIAS`.
    pub(crate) fn map_lines(self, context: u16, program: Option<&ElfModule>) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        if self.stack != 0
            && let Some(stack) = ProcessMappings::read().mapping_at(self.stack)
        {
            let bytes = stack.end - stack.start;
            lines.push(format!("stack {context} {:x} {bytes:x}", stack.start).into_bytes());
        }
        if self.pointer != 0
            && let Some((start, bytes, bias)) = program.and_then(|m| m.program_tls(self.pointer))
        {
            lines.push(format!("tls {context} {start:x} {bytes:x} {bias:x}").into_bytes());
        }
        lines
    }
}

/// Returns the id of the calling thread, which is the one that the program sees.
pub fn own_tid() -> u32 {
    // SAFETY: a plain system call.
    (unsafe { libc::syscall(libc::SYS_gettid) }) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_are_used_again_only_when_there_are_many() {
        let mut threads = ThreadTable::default();
        assert_eq!(threads.begin_thread(0, 100), Some(0));
        for n in 1..FRESH_CONTEXTS {
            assert_eq!(threads.begin_thread(1, 100 + n as u32), Some(n as u16));
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
        assert_eq!(threads.begin_thread(2000, 700), None, "all live");
        assert_eq!(threads.end_thread(2000), None);
        threads.end_thread(2);
        assert_eq!(threads.begin_thread(2000, 701), Some(2));
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
