//! Kernel stacks of the tasks that were there.

use relayout_profile::RunId;
use relayout_profile::{RangeKind, RangeRow};

use super::layout::KernelOffsets;
use super::list::follow_list;
use super::paging::GuestMemory;
use super::range_row;
use crate::{Error, GuestKernel};

/// Most tasks looked at.
const TASKS_MAX: usize = 100_000;

/// One range per task.
pub fn stack_ranges(
    kernel: &GuestKernel<'_>,
    memory: &GuestMemory<'_>,
    offsets: &KernelOffsets,
    run: RunId,
    gaps: &mut Vec<String>,
) -> Result<Vec<RangeRow>, Error> {
    let init = kernel.symbol_address("init_task")?;
    let leaders = follow_list(memory, init, offsets.task_tasks, init + offsets.task_tasks);
    if leaders.is_empty() {
        gaps.push("the list of tasks".into());
    }
    let mut ranges = Vec::new();
    let mut tasks_seen = 0;
    for leader in std::iter::once(init).chain(leaders) {
        let threads = memory
            .read_u64(leader.wrapping_add(offsets.task_signal))
            .map(|signal| signal.wrapping_add(offsets.signal_thread_head))
            .and_then(|head| Some((head, memory.read_u64(head)?)))
            .map(|(head, first)| {
                let first = first.wrapping_sub(offsets.task_thread_node);
                let mut tasks = vec![first];
                tasks.extend(follow_list(memory, first, offsets.task_thread_node, head));
                tasks
            })
            .unwrap_or_default();
        ranges.extend(
            threads
                .iter()
                .filter_map(|&task| stack_range(memory, offsets, run, task)),
        );
        // Damaged lists can give each leader the same long list.
        tasks_seen += threads.len();
        if tasks_seen > TASKS_MAX {
            break;
        }
    }
    Ok(ranges)
}

fn stack_range(
    memory: &GuestMemory<'_>,
    offsets: &KernelOffsets,
    run: RunId,
    task: u64,
) -> Option<RangeRow> {
    let start = memory.read_u64(task.wrapping_add(offsets.task_stack))?;
    let mut range = range_row(run, RangeKind::Stack, start, offsets.stack_bytes);
    range.owner = memory.read_text(task.wrapping_add(offsets.task_comm))?;
    range.id = memory.read_u32(task.wrapping_add(offsets.task_pid))?;
    Some(range)
}
