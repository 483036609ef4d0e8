//! Kernel stacks of the tasks that were there.

use relayout_profile::{RangeKind, RangeRow};

use super::layout::Offsets;
use super::list::follow;
use super::paging::GuestMemory;
use super::row;
use crate::{Error, Kernel};

/// Most tasks looked at.
const TASKS_MAX: usize = 100_000;

/// One range per task.
pub fn stacks(
    kernel: &Kernel<'_>,
    memory: &GuestMemory<'_>,
    offsets: &Offsets,
    run: u16,
    gaps: &mut Vec<String>,
) -> Result<Vec<RangeRow>, Error> {
    let init = kernel.symbol("init_task")?;
    let leaders = follow(memory, init, offsets.task_tasks, init + offsets.task_tasks);
    if leaders.is_empty() {
        gaps.push("the list of tasks".into());
    }
    let mut ranges = Vec::new();
    for leader in std::iter::once(init).chain(leaders) {
        let threads = memory
            .u64(leader + offsets.task_signal)
            .map(|signal| signal + offsets.signal_thread_head)
            .and_then(|head| Some((head, memory.u64(head)?)))
            .map(|(head, first)| {
                let first = first.wrapping_sub(offsets.task_thread_node);
                let mut all = vec![first];
                all.extend(follow(memory, first, offsets.task_thread_node, head));
                all
            })
            .unwrap_or_default();
        ranges.extend(
            threads
                .iter()
                .filter_map(|&task| stack(memory, offsets, run, task)),
        );
        if ranges.len() > TASKS_MAX {
            break;
        }
    }
    Ok(ranges)
}

fn stack(memory: &GuestMemory<'_>, offsets: &Offsets, run: u16, task: u64) -> Option<RangeRow> {
    let start = memory.u64(task.checked_add(offsets.task_stack)?)?;
    let mut range = row(run, RangeKind::Stack, start, offsets.stack_bytes);
    range.owner = memory.text(task + offsets.task_comm)?;
    range.id = memory.u32(task + offsets.task_pid)?;
    Some(range)
}
