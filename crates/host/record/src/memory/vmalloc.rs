//! Allocations in vmalloc space, and the functions that asked for them.

use relayout_profile::RunId;
use relayout_profile::{RangeKind, RangeRow};

use super::layout::{AreaOffsets, KernelOffsets};
use super::list::follow_list;
use super::paging::GuestMemory;
use super::{PAGE_BYTES, range_row};
use crate::{Error, GuestKernel};

/// Functions that allocate the stack of a new task.
const STACK_ALLOCATORS: [&str; 3] = ["dup_task_struct", "copy_process", "alloc_thread_stack_node"];

/// Returns one range for each area that has one of `pages`; `owner` is the function that asked for
/// the area. The stack of a task that has ended becomes a stack without owner, because the kernel
/// keeps some for reuse.
pub fn ranges(
    kernel: &GuestKernel<'_>,
    memory: &GuestMemory<'_>,
    offsets: &KernelOffsets,
    run: RunId,
    pages: &[u64],
    gaps: &mut Vec<String>,
) -> Result<Vec<RangeRow>, Error> {
    let (Some(area), Ok(head)) = (&offsets.area, kernel.symbol_address("vmap_area_list")) else {
        gaps.push("the list of what is in vmalloc space".into());
        return Ok(Vec::new());
    };
    let areas = follow_list(memory, head.wrapping_sub(area.list), area.list, head);
    if areas.is_empty() {
        gaps.push("the list of what is in vmalloc space".into());
    }
    let describe = |at: u64| describe_area(kernel, memory, offsets, area, run, pages, at);
    Ok(areas.into_iter().filter_map(describe).collect())
}

fn describe_area(
    kernel: &GuestKernel<'_>,
    memory: &GuestMemory<'_>,
    offsets: &KernelOffsets,
    area: &AreaOffsets,
    run: RunId,
    pages: &[u64],
    at: u64,
) -> Option<RangeRow> {
    let start = memory.read_u64(at.wrapping_add(area.start))?;
    let end = memory.read_u64(at.wrapping_add(area.end))?;
    let bytes = end.checked_sub(start)?;
    let first = pages.partition_point(|&page| page < start);
    pages.get(first).filter(|&&page| page < end)?;
    let caller = memory
        .read_u64(at.wrapping_add(area.vm))
        .and_then(|vm| memory.read_u64(vm.wrapping_add(area.caller)))
        .and_then(|at| kernel.function_at(at))
        .unwrap_or_default();
    // A page that is never mapped follows each.
    if STACK_ALLOCATORS.contains(&caller) && bytes == offsets.stack_bytes + PAGE_BYTES {
        return Some(range_row(run, RangeKind::Stack, start, offsets.stack_bytes));
    }
    let mut range = range_row(run, RangeKind::Vmalloc, start, bytes);
    range.owner = caller.to_owned();
    Some(range)
}
