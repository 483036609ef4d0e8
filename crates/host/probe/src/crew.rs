//! The threads that measure: pinned, if permitted with real-time priority, in step from window to
//! window.

use std::cell::UnsafeCell;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};
use std::time::{Duration, Instant};

use relayout_files::{InterruptFlag, request_fifo, run_on_cpus};
use relayout_statistics::random::{RandomSequence, SplitMix64};
use rustix::time::{ClockId, clock_gettime};

use super::loops::{ProbeLoop, ProbeWords, WordDistance, follow, lead};

/// Length of a window.
pub const WINDOW: Duration = Duration::from_millis(10);
/// Between windows the CPUs are left to others for this long.
pub const REST: Duration = Duration::from_millis(1);
/// A window counts if the threads had the CPU for at least this share of it.
const CPU_SHARE_MIN: f64 = 0.97;
/// Memory in which the words of a window are placed.
const ARENA_BYTES: usize = 4 << 20;
/// Words of one window are within this many bytes: 20 pairs of lines.
const WORDS_SPAN_BYTES: usize = 1 << 14;
/// Longer lines are measured as if they were of this size.
const LINE_BYTES_MAX: usize = 256;

/// Rounds of the same loops, each round in another order and at other addresses.
#[derive(Clone, Debug)]
pub struct MeasurementPlan {
    /// One window of each in every round.
    pub loops: Vec<ProbeLoop>,
    /// Rounds without a disturbed window to have.
    pub rounds: usize,
    /// Rounds after which to stop, whatever there is.
    pub rounds_max: usize,
    /// Time after which to stop, whatever there is: on a busy machine a window waits for its turn.
    pub time_max: Duration,
    /// Bytes of a line.
    pub line_bytes: usize,
}

/// A window's outcome.
#[derive(Clone, Copy, Debug)]
pub struct ProbeWindow {
    /// Its round.
    pub round: usize,
    /// The loop that ran.
    pub probe_loop: ProbeLoop,
    /// Nanoseconds for one operation; `None` if the machine did not run a thread all the time.
    pub cost_ns: Option<f64>,
}

/// All windows of a plan.
#[derive(Clone, Debug, Default)]
pub struct MeasuredWindows {
    /// The windows, in the order in which they were taken.
    pub windows: Vec<ProbeWindow>,
    /// True if the threads had real-time priority.
    pub fifo: bool,
}

/// One thread's part of a window.
#[derive(Clone, Copy, Debug)]
struct WindowPart {
    operations: u64,
    wall_ns: f64,
    cpu_ns: f64,
}

struct WindowJob {
    round: usize,
    probe_loop: ProbeLoop,
    span_offset: usize,
    /// True if the first word is on the odd line of the pair.
    odd_line: bool,
}

/// State that the two threads share, each word on lines of its own.
#[derive(Default)]
struct CrewState {
    steps: [LinePadded<AtomicUsize>; 2],
    over: LinePadded<AtomicBool>,
    quit: LinePadded<AtomicBool>,
    follower: LinePadded<[AtomicU64; 3]>,
}

#[derive(Default)]
#[repr(align(256))]
struct LinePadded<T>(T);

/// Runs the plan on two CPUs, or on one if no kernel takes two.
///
/// # Errors
/// A thread cannot be pinned to its CPU.
pub fn run_plan(
    cpus: [u32; 2],
    plan: &MeasurementPlan,
    interrupt: InterruptFlag,
) -> io::Result<MeasuredWindows> {
    let jobs = plan_jobs(plan);
    let arena = WordArena::new();
    let shared = CrewState::default();
    let has_follower = plan
        .loops
        .iter()
        .any(|probe_loop| probe_loop.needs_follower());
    let crew = ProbeCrew {
        plan,
        jobs: &jobs,
        arena: &arena,
        shared: &shared,
        has_follower,
    };
    std::thread::scope(|scope| {
        let follower = has_follower.then(|| scope.spawn(|| crew.follow_windows(cpus[1])));
        let leader = scope.spawn(|| crew.lead_windows(cpus[0], interrupt));
        let follower_result = follower.map(|thread| thread.join());
        let measured = leader.join().expect("the leader does not panic");
        if let Some(follower_result) = follower_result {
            follower_result.expect("the follower does not panic")?;
        }
        measured
    })
}

struct ProbeCrew<'a> {
    plan: &'a MeasurementPlan,
    jobs: &'a [WindowJob],
    arena: &'a WordArena,
    shared: &'a CrewState,
    has_follower: bool,
}

impl ProbeCrew<'_> {
    fn lead_windows(&self, cpu: u32, interrupt: InterruptFlag) -> io::Result<MeasuredWindows> {
        let pinned = run_on_cpus(&[cpu as usize]);
        let mut measured = MeasuredWindows {
            windows: Vec::with_capacity(self.jobs.len()),
            fifo: pinned.is_ok() && request_fifo().is_ok(),
        };
        if pinned.is_err() || !self.meet_other(0) {
            self.quit_crew(0);
            return pinned.map(|()| measured);
        }
        let begun = Instant::now();
        for job in self.jobs {
            std::thread::sleep(REST);
            let has_enough = measured
                .windows
                .last()
                .is_some_and(|last| last.round != job.round)
                && undisturbed_rounds(&measured.windows, self.plan.loops.len()) >= self.plan.rounds;
            if has_enough || interrupt.is_set() || begun.elapsed() > self.plan.time_max {
                break;
            }
            self.shared.over.0.store(false, Relaxed);
            let words = self.arena.words(job, self.plan.line_bytes);
            words.clear();
            if !self.meet_other(0) {
                break;
            }
            let part = time_work(|| lead(job.probe_loop, words, WINDOW, &self.shared.over.0));
            if !self.meet_other(0) {
                break;
            }
            let follower_part = job
                .probe_loop
                .needs_follower()
                .then(|| self.shared.follower_part());
            measured.windows.push(ProbeWindow {
                round: job.round,
                probe_loop: job.probe_loop,
                cost_ns: cost_ns(job.probe_loop, part, follower_part),
            });
        }
        self.quit_crew(0);
        Ok(measured)
    }

    fn follow_windows(&self, cpu: u32) -> io::Result<()> {
        if let Err(error) = run_on_cpus(&[cpu as usize]) {
            self.quit_crew(1);
            return Err(error);
        }
        // Without the permission the windows are noisier.
        let _ = request_fifo();
        if !self.meet_other(1) {
            return Ok(());
        }
        for job in self.jobs {
            if !self.meet_other(1) {
                return Ok(());
            }
            let words = self.arena.words(job, self.plan.line_bytes);
            let part = time_work(|| follow(job.probe_loop, words, &self.shared.over.0));
            self.shared.set_follower_part(part);
            if !self.meet_other(1) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Waits for the other thread; false if it has gone.
    fn meet_other(&self, thread: usize) -> bool {
        if !self.has_follower {
            return true;
        }
        let steps = &self.shared.steps;
        let step = steps[thread].0.fetch_add(1, AcqRel) + 1;
        let mut turns = 0_u32;
        while steps[1 - thread].0.load(Acquire) < step {
            if self.shared.quit.0.load(Acquire) {
                return false;
            }
            turns += 1;
            // On a loaded machine the other thread may wait for a turn on this CPU.
            if turns.is_multiple_of(4096) {
                std::thread::yield_now();
            }
            std::hint::spin_loop();
        }
        !self.shared.quit.0.load(Acquire)
    }

    fn quit_crew(&self, thread: usize) {
        self.shared.quit.0.store(true, Release);
        self.shared.steps[thread].0.store(usize::MAX / 2, Release);
    }
}

impl CrewState {
    fn follower_part(&self) -> WindowPart {
        let [operations, wall, cpu] = &self.follower.0;
        WindowPart {
            operations: operations.load(Acquire),
            wall_ns: f64::from_bits(wall.load(Acquire)),
            cpu_ns: f64::from_bits(cpu.load(Acquire)),
        }
    }

    fn set_follower_part(&self, part: WindowPart) {
        let [operations, wall, cpu] = &self.follower.0;
        operations.store(part.operations, Release);
        wall.store(part.wall_ns.to_bits(), Release);
        cpu.store(part.cpu_ns.to_bits(), Release);
    }
}

fn plan_jobs(plan: &MeasurementPlan) -> Vec<WindowJob> {
    let mut random = SplitMix64::new(plan.loops.len() as u64);
    let mut jobs = Vec::new();
    for round in 0..plan.rounds_max {
        let span_offset = random.below(ARENA_BYTES / WORDS_SPAN_BYTES) * WORDS_SPAN_BYTES;
        let odd_line = random.below(2) == 1;
        let begin = jobs.len();
        jobs.extend(plan.loops.iter().map(|&probe_loop| WindowJob {
            round,
            probe_loop,
            span_offset,
            odd_line,
        }));
        random.shuffle(&mut jobs[begin..]);
    }
    jobs
}

/// Rounds of `kernels` windows of which none was disturbed.
fn undisturbed_rounds(windows: &[ProbeWindow], loops: usize) -> usize {
    let is_undisturbed =
        |round: &&[ProbeWindow]| round.iter().all(|window| window.cost_ns.is_some());
    windows.chunks_exact(loops).filter(is_undisturbed).count()
}

fn cost_ns(probe_loop: ProbeLoop, part: WindowPart, other: Option<WindowPart>) -> Option<f64> {
    let had_cpu = |part: &WindowPart| part.cpu_ns >= CPU_SHARE_MIN * part.wall_ns;
    // A follower that was not running when the window began has begun late.
    let ran_throughout = |other: &WindowPart| other.wall_ns >= CPU_SHARE_MIN * part.wall_ns;
    if !had_cpu(&part)
        || !other
            .as_ref()
            .is_none_or(|other| had_cpu(other) && ran_throughout(other))
    {
        return None;
    }
    let operations = part.operations as f64 * probe_loop.lines_moved() as f64;
    let leader_cost_ns = part.wall_ns / operations;
    match (probe_loop, other) {
        // Both threads do the same: the mean of the two is more precise.
        (ProbeLoop::TwoWriters(_), Some(other)) => {
            let rate = operations / part.wall_ns + other.operations as f64 / other.wall_ns;
            Some(2.0 / rate)
        }
        _ => Some(leader_cost_ns),
    }
    .filter(|cost| cost.is_finite() && *cost > 0.0)
}

fn time_work(work: impl FnOnce() -> u64) -> WindowPart {
    let (wall, cpu) = (Instant::now(), cpu_time());
    let operations = work();
    WindowPart {
        operations,
        cpu_ns: (cpu_time() - cpu).as_nanos() as f64,
        wall_ns: wall.elapsed().as_nanos() as f64,
    }
}

/// CPU time of the calling thread.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Memory for the words.
struct WordArena(Vec<UnsafeCell<ArenaPage>>);

#[derive(Clone, Copy)]
#[repr(C, align(4096))]
struct ArenaPage([u8; 4096]);

// SAFETY: the threads of a crew reach it by atomics, and by loads and stores of the hardware that
// the compiler does not know as accesses to it.
unsafe impl Sync for WordArena {}

impl WordArena {
    fn new() -> Self {
        // Written to, so that no window pays for a page fault.
        let page = || UnsafeCell::new(ArenaPage([1; 4096]));
        Self(
            std::iter::repeat_with(page)
                .take(ARENA_BYTES / size_of::<ArenaPage>())
                .collect(),
        )
    }

    fn words(&self, job: &WindowJob, line: usize) -> ProbeWords<'_> {
        let line = line.min(LINE_BYTES_MAX);
        let base = self.0.as_ptr().cast::<u8>().cast_mut();
        let pair = |number: usize| job.span_offset + number * 2 * line;
        let (first, buddy) = match job.odd_line {
            false => (pair(0), pair(0) + line),
            true => (pair(0) + line, pair(0)),
        };
        let second = match (job.probe_loop, job.probe_loop.word_distance()) {
            (
                ProbeLoop::TwoWriters(_) | ProbeLoop::Compete(..) | ProbeLoop::Visit(..),
                WordDistance::Same,
            ) => first + 8,
            (_, WordDistance::Buddy) => buddy,
            _ => pair(7),
        };
        let odd = pair(19)
            + if job.probe_loop.splits_word() {
                line - 4
            } else {
                8
            };
        // SAFETY: 20 pairs of lines of at most LINE_BYTES_MAX are within the place, and that within
        // the arena; the atomics are at multiples of eight.
        unsafe {
            ProbeWords {
                first: &*base.add(first).cast(),
                second: &*base.add(second).cast(),
                beside_first: &*base.add(first + 16).cast(),
                beside_second: &*base.add(second + 16).cast(),
                odd: base.add(odd).cast(),
                own: &*base.add(pair(13)).cast(),
            }
        }
    }
}
