//! A process of the guest: its address space, its threads and its end.

use super::lookup::{KernelLookup, MissingItem};
use super::mappings::{MappingReader, MemoryMapping};
use super::paging::{GuestMemory, PagingReader};
use super::tasks::TaskReader;
use crate::GuestKernel;

/// Function that the kernel calls with an address space that ends, before its mappings go.
const SPACE_END: &str = "exit_mmap";
/// Threads of a process that are read, at most.
const THREADS_MAX: usize = 65_536;

/// Offsets on the way from a process's number to its memory.
pub struct ProcessReader {
    paging: PagingReader,
    tasks: TaskReader,
    mappings: MappingReader,
    task_space: u64,
    task_signal: u64,
    /// Of the thread pointer in `task_struct`.
    thread_pointer: u64,
    group_exit_code: u64,
    top_table: u64,
    users: u64,
    start_stack: u64,
    /// Address of [`SPACE_END`].
    space_end: u64,
}

/// A process, known by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuestProcess {
    /// Number.
    pub pid: u32,
    /// Address of its `task_struct`, which stays until the parent has taken leave of it.
    task: u64,
    /// Address of the `mm_struct` of its address space.
    space: u64,
    /// Physical address of its top page table.
    top_table: u64,
}

/// Life of a process at the end of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessLife {
    /// It goes on.
    Runs,
    /// It ended, with this status as `wait` returns it.
    Ended(i32),
    /// It executed another program in its place.
    Replaced,
}

/// A process at the end of the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessSnapshot {
    /// Its mappings, by start.
    pub mappings: Vec<MemoryMapping>,
    /// Threads that had not ended.
    pub threads: Vec<GuestThread>,
    /// Address in the stack of its first thread.
    pub first_stack: u64,
    /// Whether the process goes on, has ended or executed another program in its place.
    pub life: ProcessLife,
}

/// A thread of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestThread {
    /// Number.
    pub tid: u32,
    /// Name.
    pub name: String,
    /// Thread pointer; 0 if it has none.
    pub pointer: u64,
}

impl ProcessReader {
    /// Looks up the offsets.
    ///
    /// # Errors
    /// The words for what the kernel's debug information lacks.
    pub fn find(kernel: &GuestKernel<'_>) -> Result<Self, String> {
        let mut lookup = KernelLookup::new(kernel);
        Self::find_offsets(&mut lookup).map_err(|MissingItem(missing)| missing)
    }

    fn find_offsets(lookup: &mut KernelLookup<'_, '_>) -> Result<Self, MissingItem> {
        Ok(Self {
            paging: PagingReader::find(lookup)?,
            tasks: TaskReader::find(lookup)?,
            mappings: MappingReader::find(lookup)?,
            task_space: lookup.member("task_struct", "mm")?,
            task_signal: lookup.member("task_struct", "signal")?,
            thread_pointer: lookup.member("task_struct", "thread")?
                + lookup.member("thread_struct", "fsbase")?,
            group_exit_code: lookup.member("signal_struct", "group_exit_code")?,
            top_table: lookup.member("mm_struct", "pgd")?,
            users: lookup.member("mm_struct", "mm_users")?,
            start_stack: lookup.member("mm_struct", "start_stack")?,
            space_end: lookup.symbol(SPACE_END)?,
        })
    }

    /// Finds the process with this number in the guest's memory. `None` if there is none, or its memory is gone.
    pub fn find_process(&self, bytes: &[u8], pid: u32) -> Option<GuestProcess> {
        let memory = self.paging.open(bytes)?;
        let task = self.tasks.find_process(&memory, pid)?;
        let space = memory.read_u64(task.wrapping_add(self.task_space))?;
        let table = memory.read_u64(space.wrapping_add(self.top_table))?;
        Some(GuestProcess {
            pid,
            task,
            space,
            top_table: memory.physical_address(table)?,
        })
    }

    /// Reads a process from the guest's memory. `None` if its address space is gone.
    pub fn read_process(&self, bytes: &[u8], process: &GuestProcess) -> Option<ProcessSnapshot> {
        let memory = self.paging.open(bytes)?;
        let in_space = |offset: u64| process.space.wrapping_add(offset);
        let tasks = self.tasks.threads(&memory, process.task);
        Some(ProcessSnapshot {
            mappings: self.mappings.mappings(&memory, process.space)?,
            threads: { tasks.into_iter().take(THREADS_MAX) }
                .filter_map(|task| self.thread(&memory, task))
                .collect(),
            first_stack: memory.read_u64(in_space(self.start_stack))?,
            life: self.life(&memory, process)?,
        })
    }

    fn life(&self, memory: &GuestMemory<'_>, process: &GuestProcess) -> Option<ProcessLife> {
        let of_task = |offset: u64| memory.read_u64(process.task.wrapping_add(offset));
        if memory.read_u32(process.space.wrapping_add(self.users))? > 0 {
            return Some(ProcessLife::Runs);
        }
        if of_task(self.task_space)? != 0 {
            return Some(ProcessLife::Replaced);
        }
        let signal = of_task(self.task_signal)?;
        let status = memory.read_u32(signal.wrapping_add(self.group_exit_code))?;
        Some(ProcessLife::Ended(status as i32))
    }

    /// Returns the process as the plugin's option names it: its top page table, its address space, and the function that
    /// ends address spaces.
    pub fn plugin_option(&self, process: &GuestProcess) -> String {
        format!(
            "program={:x}+{:x}+{:x}",
            process.top_table, process.space, self.space_end
        )
    }

    fn thread(&self, memory: &GuestMemory<'_>, task: u64) -> Option<GuestThread> {
        Some(GuestThread {
            tid: self.tasks.thread_number(memory, task)?,
            name: self.tasks.thread_name(memory, task)?,
            pointer: memory.read_u64(task.wrapping_add(self.thread_pointer))?,
        })
    }
}
