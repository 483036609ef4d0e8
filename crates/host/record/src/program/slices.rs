//! Recording in slices of time: all threads are recorded for a short while, and then left alone for
//! a longer one.

use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::{Duration, Instant};

use relayout_profile::RecordedTime;
use relayout_statistics::random::{RandomSequence, SplitMix64};

use super::processes::ProcessTable;
use super::recording_cost::{RecordingCost, affordable_share};

/// Length of a slice: several turns of threads that share a CPU, so that a thread uses in the slice
/// what another wrote in it.
pub const SLICE_DURATION: Duration = Duration::from_millis(20);
/// Time between two readings of the cost while everything is recorded.
const COST_INTERVAL: Duration = Duration::from_millis(10);

/// Part of a program's time that is recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SlicePlan {
    /// All of the time.
    Complete,
    /// This fraction of the time, in slices.
    Share(f64),
    /// All of the time at first. Once the program has computed for so long while it was recorded, and
    /// that has cost much, a small share in slices.
    Adaptive(Duration),
}

/// Time of a recording, and when it goes over to slices.
pub struct SliceClock<'c> {
    processes: &'c ProcessTable<'c>,
    ended: &'c AtomicBool,
    random: SplitMix64,
    time: RecordedTime,
    last: Instant,
}

impl<'c> SliceClock<'c> {
    /// A clock that runs until `ended`. The seed is that of the time between slices.
    pub fn new(processes: &'c ProcessTable<'c>, ended: &'c AtomicBool, seed: u64) -> Self {
        Self {
            processes,
            ended,
            random: SplitMix64::new(seed),
            time: RecordedTime {
                slice_ns: nanoseconds(SLICE_DURATION),
                ..RecordedTime::default()
            },
            last: Instant::now(),
        }
    }

    /// Interrupts and resumes the recording by `plan`, from the first recorded process on. Returns
    /// the times of a recording that was interrupted; `None` of one that was complete.
    pub fn run(mut self, plan: SlicePlan) -> Option<RecordedTime> {
        match plan {
            SlicePlan::Complete => return None,
            SlicePlan::Share(share) => {
                self.wait_for_first();
                self.run_slices(share);
            }
            SlicePlan::Adaptive(whole_time) => {
                self.wait_for_first();
                self.record_whole(whole_time);
                if self.has_ended() {
                    return None;
                }
                self.processes.set_paused(true);
                self.pause(SLICE_DURATION, affordable_share());
                self.run_slices(affordable_share());
            }
        }
        Some(self.time)
    }

    /// Waits until a process is recorded, or the recording ends.
    fn wait_for_first(&mut self) {
        while !self.processes.has_first() && !self.has_ended() {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.last = Instant::now();
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Acquire)
    }

    /// Waits until recording everything has cost too much, or the recording ends.
    fn record_whole(&mut self, whole_time: Duration) {
        let mut cost = RecordingCost::default();
        let mut cpu_before = Duration::ZERO;
        while !self.has_ended() && !cost.is_too_high(whole_time) {
            std::thread::sleep(COST_INTERVAL);
            let wall = self.elapsed_in_window();
            self.time.whole_ns += nanoseconds(wall);
            let use_now = self.processes.resource_use();
            let cpu = use_now.cpu.saturating_sub(cpu_before);
            cost.add_stretch(wall, cpu, use_now.accesses);
            cpu_before = use_now.cpu;
        }
    }

    /// Opens and closes slices, a fraction `share` of the time, until the end.
    fn run_slices(&mut self, share: f64) {
        while !self.has_ended() {
            self.processes.set_paused(false);
            let slice = self.sleep(SLICE_DURATION);
            self.processes.set_paused(true);
            self.time.slices_ns += nanoseconds(slice);
            self.pause(slice, share);
        }
        self.processes.set_paused(false);
    }

    /// Waits after a slice, which a busy machine makes longer than asked for. The time varies by half,
    /// so that no rhythm of the program keeps away from slices.
    fn pause(&mut self, slice: Duration, share: f64) {
        let mean = slice.max(SLICE_DURATION).mul_f64((1.0 - share) / share);
        let pause = mean.mul_f64(0.5 + self.random.unit());
        self.sleep(pause);
    }

    /// Sleeps, but not long after the end. Returns the part of the time in which a window was open.
    fn sleep(&mut self, time: Duration) -> Duration {
        let start = Instant::now();
        let mut in_window = Duration::ZERO;
        while !self.has_ended()
            && let Some(left) = time.checked_sub(start.elapsed())
            && !left.is_zero()
        {
            std::thread::sleep(left.min(SLICE_DURATION));
            in_window += self.elapsed_in_window();
        }
        self.time.sliced_ns += nanoseconds(in_window);
        in_window
    }

    /// Returns the time since the last call, or nothing if no process has its window open.
    fn elapsed_in_window(&mut self) -> Duration {
        let before = std::mem::replace(&mut self.last, Instant::now());
        match self.processes.is_any_window_open() {
            true => self.last - before,
            false => Duration::ZERO,
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
