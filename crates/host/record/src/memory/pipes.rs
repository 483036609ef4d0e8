//! Pages that hold the content of pipes: `task_struct` -> `files_struct` -> `fdtable` -> `file` ->
//! `pipe_inode_info` -> `pipe_buffer` -> `page`.
//!
//! A descriptor says nothing about such a page. The inodes of pipes are on no list of their file
//! system (`new_inode_pseudo()`), so pipes are found by the files that processes have open.

use std::collections::BTreeSet;

use super::list::follow_list;
use super::lookup::{KernelLookup, MissingItem};
use super::paging::GuestMemory;

/// Most buffers of a pipe that are read: the number is the guest's (`F_SETPIPE_SZ` allows 2^20
/// bytes to users, and more to root).
const BUFFERS_MAX: u32 = 1 << 16;
/// Most open files of a process that are looked at.
const FILES_MAX: u32 = 1 << 16;
/// Most places of open files that are looked at in all: a damaged list can give each process the
/// same long table.
const FILES_TOTAL_MAX: usize = 1 << 22;
/// Bytes of an address.
const POINTER_BYTES: u64 = 8;

/// Offsets on the way to the pages of pipes.
pub struct PipeReader {
    init_task: u64,
    tasks: u64,
    task_files: u64,
    files_table: u64,
    table_size: u64,
    table_files: u64,
    file_operations: u64,
    /// Pointer to the pipe, in a file that is one.
    file_data: u64,
    /// Addresses of the operations of pipes.
    pipe_operations: Vec<u64>,
    /// Number of the next buffer to be filled, and of the next one to be emptied.
    pipe_head: u64,
    pipe_tail: u64,
    /// Number of buffers, a power of two.
    pipe_size: u64,
    pipe_buffers: u64,
    spare_pages: Option<SparePages>,
    buffer_bytes: u64,
    buffer_page: u64,
}

/// Returns the addresses of the operations of named pipes and, where they are others (6.14), of
/// pipes without a name.
fn find_operations(lookup: &KernelLookup<'_, '_>) -> Result<Vec<u64>, MissingItem> {
    let named = lookup.symbol("pipefifo_fops")?;
    let unnamed = lookup.symbol("pipeanon_fops").ok();
    Ok(std::iter::once(named).chain(unnamed).collect())
}

/// Pages that a pipe keeps for its next writer.
struct SparePages {
    /// Pointer to the first one.
    first: u64,
    /// Number of pointers.
    slots: u64,
    /// Place of the number of those in use; `None` where the others are null.
    count: Option<u64>,
}

impl SparePages {
    fn find(lookup: &mut KernelLookup<'_, '_>) -> Result<Self, MissingItem> {
        let kept = match lookup.member("pipe_inode_info", "prealloc") {
            // As in 7.3.
            Ok(spare) => {
                let kept = "anon_pipe_prealloc";
                Self {
                    first: spare + lookup.member(kept, "pages")?,
                    slots: lookup.member_bytes(kept, "pages")?,
                    count: Some(spare + lookup.member(kept, "count")?),
                }
            }
            // One pointer or, from 6.15 on, two.
            Err(_) => Self {
                first: lookup.member("pipe_inode_info", "tmp_page")?,
                slots: lookup.member_bytes("pipe_inode_info", "tmp_page")?,
                count: None,
            },
        };
        Ok(Self {
            slots: kept.slots / POINTER_BYTES,
            ..kept
        })
    }
}

impl PipeReader {
    /// Looks up the offsets.
    pub fn find(lookup: &mut KernelLookup<'_, '_>) -> Result<Self, MissingItem> {
        Ok(Self {
            init_task: lookup.symbol("init_task")?,
            tasks: lookup.member("task_struct", "tasks")?,
            task_files: lookup.member("task_struct", "files")?,
            files_table: lookup.member("files_struct", "fdt")?,
            table_size: lookup.member("fdtable", "max_fds")?,
            table_files: lookup.member("fdtable", "fd")?,
            file_operations: lookup.member("file", "f_op")?,
            file_data: lookup.member("file", "private_data")?,
            pipe_operations: find_operations(lookup)?,
            pipe_head: lookup.member("pipe_inode_info", "head")?,
            pipe_tail: lookup.member("pipe_inode_info", "tail")?,
            pipe_size: lookup.member("pipe_inode_info", "ring_size")?,
            pipe_buffers: lookup.member("pipe_inode_info", "bufs")?,
            spare_pages: SparePages::find(lookup).ok(),
            buffer_bytes: lookup.type_bytes("pipe_buffer")?,
            buffer_page: lookup.member("pipe_buffer", "page")?,
        })
    }

    /// Returns the descriptors of the pages of all open pipes; `None` if the list of tasks cannot
    /// be read.
    pub fn pages(&self, memory: &GuestMemory<'_>) -> Option<BTreeSet<u64>> {
        let init = self.init_task;
        let end = init.wrapping_add(self.tasks);
        let leaders = follow_list(memory, init, self.tasks, end);
        let files = leaders
            .iter()
            .flat_map(|&task| self.open_files(memory, task));
        let pipes: BTreeSet<u64> = files
            .take(FILES_TOTAL_MAX)
            .filter_map(|place| self.pipe_of_file(memory, place))
            .collect();
        let pages = pipes.iter().flat_map(|&pipe| self.pipe_pages(memory, pipe));
        (!leaders.is_empty()).then(|| pages.collect())
    }

    /// Places of the pointers to the files that a process has open.
    fn open_files(&self, memory: &GuestMemory<'_>, task: u64) -> impl Iterator<Item = u64> {
        let follow = |at: u64, offset: u64| {
            let to = memory.read_u64(at.wrapping_add(offset))?;
            (to != 0).then_some(to)
        };
        let table = || {
            let files = follow(task, self.task_files)?;
            let table = follow(files, self.files_table)?;
            let size = memory.read_u32(table.wrapping_add(self.table_size))?;
            Some((follow(table, self.table_files)?, size.min(FILES_MAX)))
        };
        let (first, size) = table().unwrap_or_default();
        (0..u64::from(size)).map(move |n| first.wrapping_add(n * POINTER_BYTES))
    }

    fn pipe_of_file(&self, memory: &GuestMemory<'_>, place: u64) -> Option<u64> {
        let file = memory.read_u64(place).filter(|&file| file != 0)?;
        let operations = memory.read_u64(file.wrapping_add(self.file_operations))?;
        let pipe = memory.read_u64(file.wrapping_add(self.file_data))?;
        (self.pipe_operations.contains(&operations) && pipe != 0).then_some(pipe)
    }

    /// Pages of the filled buffers of a pipe, and its spare pages. An empty buffer may still name
    /// the page that it had, which is not the pipe's any more.
    fn pipe_pages(&self, memory: &GuestMemory<'_>, pipe: u64) -> Vec<u64> {
        let number = |offset: u64| memory.read_u32(pipe.wrapping_add(offset));
        let mut places = Vec::new();
        if let Some(spare) = &self.spare_pages {
            let count = spare.count.and_then(number).map_or(spare.slots, u64::from);
            let first = pipe.wrapping_add(spare.first);
            let slots = 0..count.min(spare.slots);
            places.extend(slots.map(|n| first.wrapping_add(n * POINTER_BYTES)));
        }
        let filled = || {
            let (head, tail) = (number(self.pipe_head)?, number(self.pipe_tail)?);
            let size = number(self.pipe_size)?.clamp(1, BUFFERS_MAX);
            let buffers = memory.read_u64(pipe.wrapping_add(self.pipe_buffers))?;
            let count = head.wrapping_sub(tail).min(size);
            let slots = (0..count).map(move |n| u64::from(tail.wrapping_add(n) % size));
            Some(slots.map(move |slot| buffers.wrapping_add(slot * self.buffer_bytes)))
        };
        let filled = filled().into_iter().flatten();
        places.extend(filled.map(|buffer| buffer.wrapping_add(self.buffer_page)));
        let pages = places.into_iter().filter_map(|at| memory.read_u64(at));
        pages.filter(|&page| page != 0).collect()
    }
}
