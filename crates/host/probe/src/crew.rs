//! The threads that measure: pinned, if permitted with real-time priority, in step from window to
//! window.
//!
//! A [`CrewPlan`] has rounds of the same arrangements. [`CrewWork`] says what each thread does in a window, and what
//! the window tells if nobody disturbed it.

use std::io;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, sleep, yield_now};
use std::time::{Duration, Instant};

use relayout_files::{InterruptFlag, request_fifo, run_on_cpus};
use relayout_statistics::random::{RandomSequence, SplitMix64};
use rustix::time::{ClockId, clock_gettime};

/// Length of a window.
pub const WINDOW: Duration = Duration::from_millis(10);
/// Between windows the CPUs are left to others for this long.
pub const REST: Duration = Duration::from_millis(1);
/// Places in memory, of which each round has one at random.
pub const MEMORY_PLACES: usize = 256;
/// A window counts if the threads had the CPU for at least this share of it.
const CPU_SHARE_MIN: f64 = 0.97;

/// Rounds of the same arrangements, each round in another order and in other memory.
#[derive(Clone, Debug)]
pub struct CrewPlan<A> {
    /// One window of each in every round.
    pub arrangements: Vec<A>,
    /// Rounds without a disturbed window to have.
    pub rounds: usize,
    /// Rounds after which to stop, whatever there is.
    pub rounds_max: usize,
    /// Time after which to stop, whatever there is: on a busy machine a window waits for its turn.
    pub time_max: Duration,
    /// Length of a window.
    pub window: Duration,
}

/// A window to take.
#[derive(Clone, Copy, Debug)]
pub struct WindowJob<A> {
    /// Its round.
    pub round: usize,
    /// Work of its threads.
    pub arrangement: A,
    /// Place in memory, below [`MEMORY_PLACES`].
    pub place: usize,
    /// True if the first word is on the odd line of its pair.
    pub is_odd_line: bool,
    /// Length of the window.
    pub window: Duration,
}

/// Work that the threads of a crew share.
pub trait CrewWork: Sync {
    /// Distinction between the windows of a round.
    type Arrangement: Copy + Send + Sync;
    /// Result of a window.
    type Outcome: Send;

    /// Returns the number of threads that work, the first ones of the crew.
    fn threads(&self, arrangement: Self::Arrangement) -> usize;

    /// Prepares the memory of a window, in which no thread works yet.
    fn prepare(&self, job: &WindowJob<Self::Arrangement>);

    /// Does the part of one thread. Thread 0 leads: it sets `over` at the end, and the others work until then.
    fn work(
        &self,
        job: &WindowJob<Self::Arrangement>,
        thread: usize,
        over: &AtomicBool,
    ) -> WorkCount;

    /// Returns what an undisturbed window tells, from the parts of the threads that worked; `None` if it does not
    /// count.
    fn outcome(
        &self,
        job: &WindowJob<Self::Arrangement>,
        parts: &[WindowPart],
    ) -> Option<Self::Outcome>;
}

/// Counts of one thread in a window.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorkCount {
    /// Operations that it did.
    pub operations: u64,
    /// Events that it met meanwhile; their meaning is the work's own.
    pub events: u64,
}

/// One thread's part of a window.
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowPart {
    /// Its counts.
    pub count: WorkCount,
    /// Nanoseconds that it took.
    pub wall_ns: f64,
    /// Nanoseconds for which the thread had its CPU.
    pub cpu_ns: f64,
}

/// A window's outcome.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredWindow<A, O> {
    /// Its round.
    pub round: usize,
    /// Work of its threads.
    pub arrangement: A,
    /// Its result; `None` if the machine did not run a thread all the time.
    pub outcome: Option<O>,
}

/// All windows of a plan.
#[derive(Clone, Debug)]
pub struct CrewWindows<A, O> {
    /// The windows, in the order in which they were taken.
    pub windows: Vec<MeasuredWindow<A, O>>,
    /// True if the threads had real-time priority.
    pub fifo: bool,
}

/// State that the threads share, each word on lines of its own.
struct CrewState {
    /// Steps that each thread has reached.
    steps: Vec<LinePadded<AtomicUsize>>,
    /// Step that all have reached.
    released: LinePadded<AtomicUsize>,
    over: LinePadded<AtomicBool>,
    quit: LinePadded<AtomicBool>,
    parts: Vec<LinePadded<Mutex<WindowPart>>>,
}

/// A value on lines of its own, also where lines have 256 bytes or are fetched in pairs.
#[derive(Debug, Default)]
#[repr(align(256))]
pub struct LinePadded<T>(T);

impl<T> Deref for LinePadded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// Runs the plan, the first thread on the first CPU. Without arrangements that take several threads only the leader is
/// started.
///
/// # Errors
/// A thread cannot be started, or not be pinned to its CPU.
pub fn run_crew<W: CrewWork>(
    cpus: &[u32],
    work: &W,
    plan: &CrewPlan<W::Arrangement>,
    interrupt: InterruptFlag,
) -> io::Result<CrewWindows<W::Arrangement, W::Outcome>> {
    let jobs = plan_jobs(plan);
    let threads = { plan.arrangements.iter() }.map(|&arrangement| work.threads(arrangement));
    let threads = threads.max().unwrap_or(1).clamp(1, cpus.len().max(1));
    let shared = CrewState::new(threads);
    let crew = Crew {
        work,
        plan,
        jobs: &jobs,
        shared: &shared,
    };
    let crew = &crew;
    std::thread::scope(|scope| {
        let start = |thread: usize| {
            Builder::new().spawn_scoped(scope, move || crew.follow(thread, cpus[thread]))
        };
        let followers: io::Result<Vec<_>> = (1..threads).map(start).collect();
        let followers = followers.inspect_err(|_| crew.quit())?;
        let leader = Builder::new().spawn_scoped(scope, || crew.lead(cpus[0], interrupt));
        let leader = leader.inspect_err(|_| crew.quit())?;
        let followed: io::Result<()> = followers
            .into_iter()
            .try_for_each(|follower| follower.join().expect("a follower does not panic"));
        let measured = leader.join().expect("the leader does not panic");
        followed.and(measured)
    })
}

struct Crew<'a, W: CrewWork> {
    work: &'a W,
    plan: &'a CrewPlan<W::Arrangement>,
    jobs: &'a [WindowJob<W::Arrangement>],
    shared: &'a CrewState,
}

impl<W: CrewWork> Crew<'_, W> {
    fn lead(
        &self,
        cpu: u32,
        interrupt: InterruptFlag,
    ) -> io::Result<CrewWindows<W::Arrangement, W::Outcome>> {
        let pinned = run_on_cpus(&[cpu as usize]);
        let mut measured = CrewWindows {
            windows: Vec::with_capacity(self.jobs.len()),
            fifo: pinned.is_ok() && request_fifo().is_ok(),
        };
        if pinned.is_err() || !self.meet_others(0) {
            self.quit();
            return pinned.map(|()| measured);
        }
        let begun = Instant::now();
        for job in self.jobs {
            sleep(REST);
            let windows = &measured.windows;
            let has_enough = { windows.last() }.is_some_and(|last| last.round != job.round)
                && undisturbed_rounds(windows, self.plan.arrangements.len()) >= self.plan.rounds;
            if has_enough || interrupt.is_set() || begun.elapsed() > self.plan.time_max {
                break;
            }
            self.shared.over.store(false, Relaxed);
            self.work.prepare(job);
            if !self.meet_others(0) {
                break;
            }
            self.take_part(job, 0);
            if !self.meet_others(0) {
                break;
            }
            let parts = self.shared.parts(self.work.threads(job.arrangement));
            let outcome = is_undisturbed(&parts).then(|| self.work.outcome(job, &parts));
            measured.windows.push(MeasuredWindow {
                round: job.round,
                arrangement: job.arrangement,
                outcome: outcome.flatten(),
            });
        }
        self.quit();
        Ok(measured)
    }

    fn follow(&self, thread: usize, cpu: u32) -> io::Result<()> {
        if let Err(error) = run_on_cpus(&[cpu as usize]) {
            self.quit();
            return Err(error);
        }
        // Without the permission the windows are noisier.
        let _ = request_fifo();
        if !self.meet_others(thread) {
            return Ok(());
        }
        for job in self.jobs {
            sleep(REST);
            if !self.meet_others(thread) {
                break;
            }
            self.take_part(job, thread);
            if !self.meet_others(thread) {
                break;
            }
        }
        Ok(())
    }

    /// Does the thread's part of a window, if it has one.
    fn take_part(&self, job: &WindowJob<W::Arrangement>, thread: usize) {
        if thread >= self.work.threads(job.arrangement) {
            return;
        }
        let (wall, cpu) = (Instant::now(), cpu_time());
        let count = self.work.work(job, thread, &self.shared.over);
        let part = WindowPart {
            count,
            cpu_ns: (cpu_time() - cpu).as_nanos() as f64,
            wall_ns: wall.elapsed().as_nanos() as f64,
        };
        let mut kept = { self.shared.parts[thread].lock() }.unwrap_or_else(PoisonError::into_inner);
        *kept = part;
    }

    /// Waits for the other threads; false if one has gone.
    fn meet_others(&self, thread: usize) -> bool {
        let shared = self.shared;
        let step = shared.steps[thread].fetch_add(1, AcqRel) + 1;
        if thread > 0 {
            return shared.wait_until(|| shared.released.load(Acquire) >= step);
        }
        let mut others = shared.steps[1..].iter();
        let have_come = others.all(|other| shared.wait_until(|| other.load(Acquire) >= step));
        shared.released.store(step, Release);
        have_come && !shared.quit.load(Acquire)
    }

    fn quit(&self) {
        self.shared.quit.store(true, Release);
    }
}

impl CrewState {
    fn new(threads: usize) -> Self {
        Self {
            steps: (0..threads).map(|_| LinePadded::default()).collect(),
            released: LinePadded::default(),
            over: LinePadded::default(),
            quit: LinePadded::default(),
            parts: (0..threads).map(|_| LinePadded::default()).collect(),
        }
    }

    /// Parts of the first so many threads, in a window that has ended.
    fn parts(&self, threads: usize) -> Vec<WindowPart> {
        let parts = self.parts.iter().take(threads);
        parts
            .map(|part| *part.lock().unwrap_or_else(PoisonError::into_inner))
            .collect()
    }

    /// Spins until `done`; false if a thread has gone.
    fn wait_until(&self, done: impl Fn() -> bool) -> bool {
        let mut turns = 0_u32;
        while !done() {
            if self.quit.load(Acquire) {
                return false;
            }
            turns += 1;
            // On a loaded machine the other thread may wait for a turn on this CPU.
            if turns.is_multiple_of(4096) {
                yield_now();
            }
            std::hint::spin_loop();
        }
        !self.quit.load(Acquire)
    }
}

fn plan_jobs<A: Copy>(plan: &CrewPlan<A>) -> Vec<WindowJob<A>> {
    let mut random = SplitMix64::new(plan.arrangements.len() as u64);
    let mut jobs = Vec::new();
    for round in 0..plan.rounds_max {
        let place = random.below(MEMORY_PLACES);
        let is_odd_line = random.below(2) == 1;
        let begin = jobs.len();
        jobs.extend(plan.arrangements.iter().map(|&arrangement| WindowJob {
            round,
            arrangement,
            place,
            is_odd_line,
            window: plan.window,
        }));
        random.shuffle(&mut jobs[begin..]);
    }
    jobs
}

/// Rounds of so many arrangements of which no window was disturbed.
fn undisturbed_rounds<A, O>(windows: &[MeasuredWindow<A, O>], arrangements: usize) -> usize {
    let is_undisturbed =
        |round: &&[MeasuredWindow<A, O>]| round.iter().all(|window| window.outcome.is_some());
    { windows.chunks_exact(arrangements) }
        .filter(is_undisturbed)
        .count()
}

/// Returns whether all threads had their CPUs all the time.
fn is_undisturbed(parts: &[WindowPart]) -> bool {
    let leader_ns = parts.first().map_or(0.0, |leader| leader.wall_ns);
    let had_cpu = |part: &WindowPart| part.cpu_ns >= CPU_SHARE_MIN * part.wall_ns;
    // A follower that was not running when the window began has begun late.
    let ran_throughout = |part: &WindowPart| part.wall_ns >= CPU_SHARE_MIN * leader_ns;
    parts
        .iter()
        .all(|part| had_cpu(part) && ran_throughout(part))
}

/// CPU time of the calling thread.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
