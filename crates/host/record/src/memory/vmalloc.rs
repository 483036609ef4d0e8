//! Allocations in vmalloc space, and the functions that asked for them.

mod listed;
mod node;

use relayout_profile::RunId;
use relayout_profile::{RangeKind, RangeRow};

use self::listed::AreaList;
use self::node::AreaNodes;
use super::lookup::{KernelLookup, MissingItem};
use super::paging::GuestMemory;
use super::tasks::stack_bytes;
use super::{PAGE_BYTES, range_row};
use crate::GuestKernel;

/// Functions that allocate the stack of a new task.
const STACK_ALLOCATORS: [&str; 3] = ["dup_task_struct", "copy_process", "alloc_thread_stack_node"];

/// Offsets in `struct vmap_area` and `struct vm_struct`, which describe an allocation in vmalloc
/// space.
pub struct VmallocReader {
    areas: AreasForm,
    start: u64,
    end: u64,
    list: u64,
    vm: u64,
    caller: u64,
    stack_bytes: u64,
}

/// Form in which this kernel keeps its areas.
enum AreasForm {
    /// One list, `vmap_area_list` (up to 6.8).
    Listed(AreaList),
    /// A list in each of `vmap_nodes` (6.9 and later).
    ByNode(AreaNodes),
}

impl VmallocReader {
    /// Chooses the form that the debug information has.
    pub fn find(lookup: &mut KernelLookup<'_, '_>) -> Result<Self, MissingItem> {
        let areas = match AreaList::find(lookup) {
            Ok(list) => AreasForm::Listed(list),
            Err(_) => AreasForm::ByNode(AreaNodes::find(lookup)?),
        };
        Ok(Self {
            areas,
            start: lookup.member("vmap_area", "va_start")?,
            end: lookup.member("vmap_area", "va_end")?,
            list: lookup.member("vmap_area", "list")?,
            vm: lookup.member("vmap_area", "vm")?,
            caller: lookup.member("vm_struct", "caller")?,
            stack_bytes: stack_bytes(lookup),
        })
    }

    /// Returns one range for each area that has one of `pages`; `owner` is the function that asked
    /// for the area. The stack of a task that has ended becomes a stack without owner, because the
    /// kernel keeps some for reuse. `None` if no area can be read.
    pub fn ranges(
        &self,
        kernel: &GuestKernel<'_>,
        memory: &GuestMemory<'_>,
        run: RunId,
        pages: &[u64],
    ) -> Option<Vec<RangeRow>> {
        let areas = match &self.areas {
            AreasForm::Listed(list) => list.areas(memory, self.list),
            AreasForm::ByNode(nodes) => nodes.areas(memory, self.list),
        };
        let describe = |&at: &u64| self.describe_area(kernel, memory, run, pages, at);
        (!areas.is_empty()).then(|| areas.iter().filter_map(describe).collect())
    }

    fn describe_area(
        &self,
        kernel: &GuestKernel<'_>,
        memory: &GuestMemory<'_>,
        run: RunId,
        pages: &[u64],
        at: u64,
    ) -> Option<RangeRow> {
        let start = memory.read_u64(at.wrapping_add(self.start))?;
        let end = memory.read_u64(at.wrapping_add(self.end))?;
        let bytes = end.checked_sub(start)?;
        let first = pages.partition_point(|&page| page < start);
        pages.get(first).filter(|&&page| page < end)?;
        let caller = memory
            .read_u64(at.wrapping_add(self.vm))
            .and_then(|vm| memory.read_u64(vm.wrapping_add(self.caller)))
            .and_then(|at| kernel.function_at(at))
            .unwrap_or_default();
        // A page that is never mapped follows each.
        if STACK_ALLOCATORS.contains(&caller) && bytes == self.stack_bytes + PAGE_BYTES {
            return Some(range_row(run, RangeKind::Stack, start, self.stack_bytes));
        }
        let mut range = range_row(run, RangeKind::Vmalloc, start, bytes);
        range.owner = caller.to_owned();
        Some(range)
    }
}
