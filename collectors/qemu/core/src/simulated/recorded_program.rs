//! The program of which a guest in simulated time is recorded, among all that it runs.
//!
//! A program is known by its address space: the top page table, which a CPU has in `cr3` while it executes one of the
//! program's threads. The host reads it from the guest's memory before the window, together with the kernel's
//! description of the space, whose end is that of the program.

use std::ffi::{c_uint, c_void};
use std::sync::atomic::Ordering::Release;

use relayout_machine::LineNumber;

use super::ordering::LINE_BYTES;
use super::{SimulatedGuest, guest};
use crate::callbacks::KERNEL;
use crate::registers::{CONTROL_3, FIRST_ARGUMENT};

/// Bits of `cr3` that are the address of the top page table, and no flag or number of an address space.
const TABLE_BITS: u64 = 0x000f_ffff_ffff_f000;

/// Address space of the recorded program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedProgramSpace {
    /// Physical address of its top page table.
    top_table: u64,
    /// Address of its `mm_struct`.
    description: u64,
    /// Address of the kernel's function that is called with a space that ends: `exit_mmap`.
    end_function: u64,
}

impl RecordedProgramSpace {
    /// Reads the three addresses, hexadecimal with `+` between.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('+').map(|text| u64::from_str_radix(text, 16));
        let mut next = || numbers.next()?.ok();
        let space = Self {
            top_table: next()?,
            description: next()?,
            end_function: next()?,
        };
        numbers.next().is_none().then_some(space)
    }

    /// Returns whether the function at `pc` is told of spaces that end.
    pub fn ends_at(self, pc: u64) -> bool {
        self.end_function == pc
    }
}

/// Returns whether vCPU `n` of a simulated guest executes the recorded program, or the kernel for it. Only within a
/// callback that reads registers.
pub fn executes_recorded_program(n: usize) -> bool {
    guest().is_some_and(|guest| guest.executes_program(n))
}

/// Called at the function that is told of address spaces that end. The window ends with that of the program, while the
/// memory still says what was where.
pub extern "C" fn on_space_end(vcpu: c_uint, _data: *mut c_void) {
    let n = vcpu as usize;
    if let Some(guest) = guest()
        && let Some(space) = guest.options.program
        && guest.has_turn(n)
        && guest.register(n, FIRST_ARGUMENT) == Some(space.description)
    {
        guest.end_held();
        // It has time left for code without a call, which would take the space down.
        guest.go_on(n, None, 0);
    }
}

impl SimulatedGuest {
    /// Ends the window, after which CPUs stay where they are.
    pub(super) fn end_held(&self) {
        self.is_held.store(true, Release);
        self.close(None);
    }

    /// Returns whether CPU `n` has the page tables of the recorded program. Only within a callback that reads registers.
    pub(super) fn executes_program(&self, n: usize) -> bool {
        let (Some(space), Some(seat)) = (self.options.program, self.seats.get(n)) else {
            return false;
        };
        seat.executes_program.get().unwrap_or_else(|| {
            let table = self.register(n, CONTROL_3).map(|value| value & TABLE_BITS);
            let executes = table == Some(space.top_table);
            seat.executes_program.set(Some(executes));
            executes
        })
    }

    /// Returns the address that results give an access of CPU `n` to `line`. Where a program is recorded, addresses of
    /// programs are its own: those of others are given as addresses of the kernel. Only within a callback that reads
    /// registers.
    pub(super) fn result_address(&self, n: usize, address: u64, line: LineNumber) -> u64 {
        let is_others =
            address < KERNEL && self.options.program.is_some() && !self.executes_program(n);
        match is_others {
            true => line.0 * LINE_BYTES + address % LINE_BYTES,
            false => address,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_are_three_numbers() {
        let space = RecordedProgramSpace::parse("5000+ffff888001234000+ffffffff81200000");
        let space = space.expect("a space");
        assert_eq!(space.top_table, 0x5000);
        assert!(space.ends_at(0xffff_ffff_8120_0000) && !space.ends_at(0x5000));
        for bad in ["", "1+2", "1+2+3+4", "1+2+x"] {
            assert_eq!(RecordedProgramSpace::parse(bad), None, "{bad}");
        }
    }
}
