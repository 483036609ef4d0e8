//! What vmalloc space was allocated for, and by whom.

use relayout_profile::{RangeKind, RangeRow};

use super::layout::{AreaOffsets, Offsets};
use super::list::follow;
use super::paging::GuestMemory;
use super::{PAGE_BYTES, row};
use crate::{Error, Kernel};

/// Functions that allocate the stack of a new task.
const STACK_MAKERS: [&str; 3] = ["dup_task_struct", "copy_process", "alloc_thread_stack_node"];

/// One range for each area that has one of `pages`: `owner` is the function that asked for it. What
/// was the stack of a task that has ended is a stack without owner: the kernel keeps some for reuse.
pub fn ranges(
    kernel: &Kernel<'_>,
    memory: &GuestMemory<'_>,
    offsets: &Offsets,
    run: u16,
    pages: &[u64],
    gaps: &mut Vec<String>,
) -> Result<Vec<RangeRow>, Error> {
    let (Some(area), Ok(head)) = (&offsets.area, kernel.symbol("vmap_area_list")) else {
        gaps.push("the list of what is in vmalloc space".into());
        return Ok(Vec::new());
    };
    let areas = follow(memory, head.wrapping_sub(area.list), area.list, head);
    if areas.is_empty() {
        gaps.push("the list of what is in vmalloc space".into());
    }
    let one = |at: u64| describe(kernel, memory, offsets, area, run, pages, at);
    Ok(areas.into_iter().filter_map(one).collect())
}

fn describe(
    kernel: &Kernel<'_>,
    memory: &GuestMemory<'_>,
    offsets: &Offsets,
    area: &AreaOffsets,
    run: u16,
    pages: &[u64],
    at: u64,
) -> Option<RangeRow> {
    let start = memory.u64(at.wrapping_add(area.start))?;
    let end = memory.u64(at.wrapping_add(area.end))?;
    let bytes = end.checked_sub(start)?;
    let first = pages.partition_point(|&page| page < start);
    pages.get(first).filter(|&&page| page < end)?;
    let caller = memory
        .u64(at.wrapping_add(area.vm))
        .and_then(|vm| memory.u64(vm.wrapping_add(area.caller)));
    let caller = caller
        .and_then(|at| kernel.function_at(at))
        .unwrap_or_default();
    // A page that is never mapped follows each.
    if STACK_MAKERS.contains(&caller) && bytes == offsets.stack_bytes + PAGE_BYTES {
        return Some(row(run, RangeKind::Stack, start, offsets.stack_bytes));
    }
    let mut range = row(run, RangeKind::Vmalloc, start, bytes);
    range.owner = caller.to_owned();
    Some(range)
}
