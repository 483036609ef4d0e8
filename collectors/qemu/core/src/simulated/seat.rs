//! What one CPU of a simulated guest has for itself.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering::*};

use relayout_machine::SimulatedTime;

use super::cpu_clock::CpuCell;
use super::line_numbers::ProgramPages;
use super::qemu_hooks::QemuCpu;
use crate::registers::RegisterBuffer;

/// A thread that waits, and is woken by others.
#[derive(Default)]
pub struct ThreadBell(AtomicU32);

impl ThreadBell {
    /// Wakes the thread, or its next wait.
    pub fn ring(&self) {
        self.0.store(1, Release);
        // SAFETY: wakes who waits on this word of the process.
        unsafe {
            let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
            libc::syscall(libc::SYS_futex, self.0.as_ptr(), operation, 1);
        }
    }

    /// Waits until the bell rings, unless `is_done`.
    pub fn wait(&self, is_done: impl Fn() -> bool) {
        self.0.store(0, SeqCst);
        if is_done() {
            return;
        }
        // SAFETY: waits on this word of the process while it is 0.
        unsafe {
            let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
            let forever = std::ptr::null::<libc::timespec>();
            libc::syscall(libc::SYS_futex, self.0.as_ptr(), operation, 0, forever);
        }
    }
}

/// Accesses of an instruction that were ordered before it executed.
#[derive(Clone, Copy, Default)]
pub struct OrderedAccesses {
    /// Address of the instruction; 0 if there are none.
    pub pc: u64,
    /// First address of each operand, and the address behind its last. Of an operand that is no string, the next
    /// address: what follows its first byte is not looked at.
    ranges: [(u64, u64); 2],
    count: u8,
    /// First address that the last operand was computed to access, and the one behind its last.
    computed: (u64, u64),
}

impl OrderedAccesses {
    /// No access of the instruction at `pc` yet.
    pub fn at(pc: u64) -> Self {
        Self {
            pc,
            ..Self::default()
        }
    }

    /// These and the access to the addresses from `start` to `end`, which may be more of the last operand.
    pub fn with(mut self, start: u64, end: u64) -> Self {
        let ordered = &mut self.ranges[..usize::from(self.count)];
        if let Some(last) = ordered.last_mut().filter(|last| last.1 == start) {
            last.1 = end;
        } else if let Some(free) = self.ranges.get_mut(usize::from(self.count)) {
            *free = (start, end);
            self.count += 1;
        }
        self
    }

    /// These, of an instruction whose last operand was computed to access the addresses from `start` to `end`.
    pub fn of_operand(mut self, start: u64, end: u64) -> Self {
        self.computed = (start, end);
        self
    }

    /// Returns whether accesses were ordered, and their instruction accesses an address that its last operand was not
    /// computed to access.
    pub fn are_elsewhere(&self, address: u64) -> bool {
        let (start, end) = self.computed;
        self.count > 0 && !(start..end).contains(&address)
    }

    /// Returns whether the access to an address was ordered.
    pub fn contains(&self, address: u64) -> bool {
        let ranges = &self.ranges[..usize::from(self.count)];
        ranges
            .iter()
            .any(|range| (range.0..range.1).contains(&address))
    }
}

/// State of one CPU. All but the atomics is its own thread's.
#[repr(align(128))]
#[derive(Default)]
pub struct CpuSeat {
    /// Rings when the CPU has the turn.
    pub bell: ThreadBell,
    /// Time at which it has the turn.
    pub turn_at: AtomicU64,
    /// The CPU is to leave its translated code, so that QEMU can change that.
    pub must_leave: AtomicBool,
    /// Operations that its code has finished.
    pub operations: AtomicU64,
    /// QEMU's CPU.
    cpu: AtomicPtr<QemuCpu>,
    cell: AtomicPtr<u64>,
    /// Time at which the CPU has to ask.
    pub ask_at: Cell<u64>,
    /// Time from which on the CPU has executed code in its turn.
    pub began_at: Cell<u64>,
    /// What the present instruction has ordered.
    pub ordered: Cell<OrderedAccesses>,
    /// The CPU left its code while it waited, and waits again when it enters.
    pub has_left: Cell<bool>,
    /// What the instruction in which the CPU waits is granted with its next turn. If the CPU leaves its code, the
    /// instruction comes again, and must not ask again. Of a pause, no accesses.
    pub kept: Cell<Option<OrderedAccesses>>,
    /// The next `wfe` ends at once.
    pub has_event: Cell<bool>,
    /// Where pages of the present program are.
    pub program_pages: ProgramPages,
    /// The CPU has the page tables of the recorded program; `None` if that is not known since they changed.
    pub executes_program: Cell<Option<bool>>,
    /// Memory into which registers are read.
    pub buffer: Cell<Option<RegisterBuffer>>,
}

// SAFETY: the cells are used by the CPU's own thread, or while it is stopped.
unsafe impl Sync for CpuSeat {}

impl CpuSeat {
    /// Notes where QEMU has the CPU and its time.
    pub fn attach(&self, cpu: *mut QemuCpu, cell: CpuCell) {
        self.cpu.store(cpu, Release);
        self.cell.store(cell.address(), Release);
    }

    /// QEMU's CPU.
    pub fn cpu(&self) -> *mut QemuCpu {
        self.cpu.load(Acquire)
    }

    /// Returns what the instruction at `pc`, which comes at `at`, was granted before the CPU left its code.
    pub fn take_kept(&self, pc: u64, at: SimulatedTime) -> Option<OrderedAccesses> {
        let kept = self.kept.take()?;
        (kept.pc == pc && at.0 == self.turn_at.load(Relaxed)).then_some(kept)
    }

    /// Makes the CPU, which has the turn and leaves its code, go on at `at` when it enters again.
    pub fn keep_turn(&self, at: SimulatedTime) {
        self.turn_at.store(at.0, Relaxed);
        self.note_leaving();
    }

    /// Makes the CPU, which leaves its code, ask when it enters again.
    pub fn note_leaving(&self) {
        self.has_left.set(true);
        let ask_at = self.ask_at.get();
        self.cell().set(ask_at, ask_at);
    }

    /// The CPU's time in translated code.
    pub fn cell(&self) -> CpuCell {
        CpuCell::at(self.cell.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::OrderedAccesses;

    #[test]
    fn ordered_ranges_grow() {
        let ordered = OrderedAccesses::at(7).with(0x40, 0x80).with(0x80, 0x90);
        assert!(ordered.contains(0x40) && ordered.contains(0x8f) && !ordered.contains(0x90));
        let both = ordered.with(0x1000, 0x1001).with(0x2000, 0x2001);
        assert!(both.contains(0x1000) && !both.contains(0x1001));
        assert!(!both.contains(0x2000), "there are two operands at most");
        let operand = ordered.of_operand(0x38, 0x90);
        assert!(
            !operand.are_elsewhere(0x38),
            "its first line needed no order"
        );
        assert!(operand.are_elsewhere(0x90) && !OrderedAccesses::at(7).are_elsewhere(0x90));
    }
}
