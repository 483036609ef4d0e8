//! Each CPU's copy of the static per-cpu data.

use relayout_profile::{RangeKind, RangeRow};

use super::paging::GuestMemory;
use super::row;
use crate::{Error, Kernel};

pub fn ranges(
    kernel: &Kernel<'_>,
    memory: &GuestMemory<'_>,
    run: u16,
    cpus: u16,
    gaps: &mut Vec<String>,
) -> Result<Vec<RangeRow>, Error> {
    let offsets = kernel.symbol("__per_cpu_offset")?;
    let start = kernel.symbol("__per_cpu_start")?;
    let bytes = kernel.symbol("__per_cpu_end")?.saturating_sub(start);
    let mut ranges = Vec::new();
    for cpu in 0..cpus {
        match memory.u64(offsets + u64::from(cpu) * 8) {
            Some(offset) => {
                let mut range = row(run, RangeKind::PerCpu, offset.wrapping_add(start), bytes);
                range.id = cpu.into();
                ranges.push(range);
            }
            None => gaps.push(format!("per-cpu area of CPU {cpu}")),
        }
    }
    Ok(ranges)
}
