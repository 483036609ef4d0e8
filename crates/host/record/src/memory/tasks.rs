//! Tasks that were there, and their kernel stacks.

use relayout_profile::RunId;
use relayout_profile::{RangeKind, RangeRow};

use super::list::follow_list;
use super::lookup::{KernelLookup, MissingItem};
use super::paging::GuestMemory;
use super::range_row;

/// Most tasks looked at.
const TASKS_MAX: usize = 100_000;
/// Bytes of a stack, if no type says so: x86-64's without KASAN.
const STACK_BYTES: u64 = 16 << 10;

/// Offsets on the way from the first task to all tasks and their stacks.
pub struct TaskReader {
    init_task: u64,
    tasks: u64,
    stack: u64,
    comm: u64,
    pid: u64,
    thread_node: u64,
    signal: u64,
    thread_head: u64,
    stack_bytes: u64,
}

/// Returns the bytes of a kernel stack.
pub fn stack_bytes(lookup: &mut KernelLookup<'_, '_>) -> u64 {
    lookup.type_bytes("thread_union").unwrap_or(STACK_BYTES)
}

impl TaskReader {
    /// Looks up the offsets.
    pub fn find(lookup: &mut KernelLookup<'_, '_>) -> Result<Self, MissingItem> {
        Ok(Self {
            init_task: lookup.symbol("init_task")?,
            tasks: lookup.member("task_struct", "tasks")?,
            stack: lookup.member("task_struct", "stack")?,
            comm: lookup.member("task_struct", "comm")?,
            pid: lookup.member("task_struct", "pid")?,
            thread_node: lookup.member("task_struct", "thread_node")?,
            signal: lookup.member("task_struct", "signal")?,
            thread_head: lookup.member("signal_struct", "thread_head")?,
            stack_bytes: stack_bytes(lookup),
        })
    }

    /// One range per task. `None` if the list of tasks cannot be read.
    pub fn stack_ranges(&self, memory: &GuestMemory<'_>, run: RunId) -> Option<Vec<RangeRow>> {
        let init = self.init_task;
        let leaders = self.leaders(memory);
        let mut ranges = Vec::new();
        let mut tasks_seen = 0;
        for &leader in std::iter::once(&init).chain(&leaders) {
            let threads = self.threads(memory, leader);
            ranges.extend(
                threads
                    .iter()
                    .filter_map(|&task| self.stack_range(memory, run, task)),
            );
            // Damaged lists can give each leader the same long list.
            tasks_seen += threads.len();
            if tasks_seen > TASKS_MAX {
                break;
            }
        }
        (!leaders.is_empty()).then_some(ranges)
    }

    /// Returns the first thread of each process, but for the first process.
    fn leaders(&self, memory: &GuestMemory<'_>) -> Vec<u64> {
        let init = self.init_task;
        follow_list(memory, init, self.tasks, init.wrapping_add(self.tasks))
    }

    /// Returns the first thread of the process with this number.
    pub fn find_process(&self, memory: &GuestMemory<'_>, pid: u32) -> Option<u64> {
        let mut leaders = self.leaders(memory).into_iter();
        leaders.find(|&leader| self.thread_number(memory, leader) == Some(pid))
    }

    /// Returns the number of a thread; that of the first one is its process's.
    pub fn thread_number(&self, memory: &GuestMemory<'_>, task: u64) -> Option<u32> {
        memory.read_u32(task.wrapping_add(self.pid))
    }

    /// Returns the name of a thread.
    pub fn thread_name(&self, memory: &GuestMemory<'_>, task: u64) -> Option<String> {
        memory.read_text(task.wrapping_add(self.comm))
    }

    /// Returns the threads of the process that `leader` is a thread of.
    pub fn threads(&self, memory: &GuestMemory<'_>, leader: u64) -> Vec<u64> {
        let signal = memory.read_u64(leader.wrapping_add(self.signal));
        let head = signal.map(|signal| signal.wrapping_add(self.thread_head));
        let first = head.and_then(|head| Some((head, memory.read_u64(head)?)));
        let Some((head, first)) = first else {
            return Vec::new();
        };
        let first = first.wrapping_sub(self.thread_node);
        let mut tasks = vec![first];
        tasks.extend(follow_list(memory, first, self.thread_node, head));
        tasks
    }

    fn stack_range(&self, memory: &GuestMemory<'_>, run: RunId, task: u64) -> Option<RangeRow> {
        let start = memory.read_u64(task.wrapping_add(self.stack))?;
        let mut range = range_row(run, RangeKind::Stack, start, self.stack_bytes);
        range.owner = self.thread_name(memory, task)?;
        range.id = self.thread_number(memory, task)?;
        Some(range)
    }
}
