//! The threads that measure: pinned, if permitted with real-time priority, in step from window to
//! window.

use std::cell::UnsafeCell;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};
use std::time::{Duration, Instant};

use super::estimate::Random;
use super::kernels::{Distance, Kernel, Words, follow, lead};
use crate::Interrupt;

/// Length of a window.
pub const WINDOW: Duration = Duration::from_millis(10);
/// Between windows the CPUs are left to others for this long.
pub const REST: Duration = Duration::from_millis(1);
/// A window counts if the threads had the CPU for at least this share of it.
const CPU_SHARE_MIN: f64 = 0.97;
/// Memory in which the words of a window are placed.
const ARENA_BYTES: usize = 4 << 20;
/// Words of one window are within this many bytes: 20 pairs of lines.
const PLACE_BYTES: usize = 1 << 14;
/// Longer lines are measured as if they were of this size.
const LINE_BYTES_MAX: usize = 256;

/// What is measured: rounds of the same kernels, each time in another order and at other places.
#[derive(Clone, Debug)]
pub struct Plan {
    /// One window of each in every round.
    pub kernels: Vec<Kernel>,
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
pub struct Window {
    /// Its round.
    pub round: usize,
    /// What was done.
    pub kernel: Kernel,
    /// Nanoseconds for one operation; `None` if the machine did not run a thread all the time.
    pub cost_ns: Option<f64>,
}

/// All windows of a plan.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// In the order in which they were taken.
    pub windows: Vec<Window>,
    /// Whether the threads had real-time priority.
    pub fifo: bool,
}

/// One thread's part of a window.
#[derive(Clone, Copy, Debug)]
struct Part {
    operations: u64,
    wall_ns: f64,
    cpu_ns: f64,
}

struct Job {
    round: usize,
    kernel: Kernel,
    place: usize,
    /// Which line of the pair the first word is on.
    odd_line: bool,
}

/// What the two threads share, each word on lines of its own.
#[derive(Default)]
struct Shared {
    steps: [Padded<AtomicUsize>; 2],
    over: Padded<AtomicBool>,
    quit: Padded<AtomicBool>,
    follower: Padded<[AtomicU64; 3]>,
}

#[derive(Default)]
#[repr(align(256))]
struct Padded<T>(T);

/// Runs the plan on two CPUs, or on one if no kernel takes two.
///
/// # Errors
/// A thread cannot be pinned to its CPU.
pub fn run(cpus: [u32; 2], plan: &Plan, interrupt: Interrupt) -> io::Result<Measured> {
    let jobs = jobs(plan);
    let arena = Arena::new();
    let shared = Shared::default();
    let two = plan.kernels.iter().any(|kernel| kernel.takes_two());
    let crew = Crew {
        plan,
        jobs: &jobs,
        arena: &arena,
        shared: &shared,
        two,
    };
    std::thread::scope(|scope| {
        let follower = two.then(|| scope.spawn(|| crew.follower(cpus[1])));
        let leader = scope.spawn(|| crew.leader(cpus[0], interrupt));
        let followed = follower.map(|thread| thread.join());
        let measured = leader.join().expect("the leader does not panic");
        if let Some(followed) = followed {
            followed.expect("the follower does not panic")?;
        }
        measured
    })
}

struct Crew<'a> {
    plan: &'a Plan,
    jobs: &'a [Job],
    arena: &'a Arena,
    shared: &'a Shared,
    two: bool,
}

impl Crew<'_> {
    fn leader(&self, cpu: u32, interrupt: Interrupt) -> io::Result<Measured> {
        let pinned = pin(cpu);
        let mut measured = Measured {
            windows: Vec::with_capacity(self.jobs.len()),
            fifo: pinned.is_ok() && real_time(),
        };
        if pinned.is_err() || !self.meet(0) {
            self.quit(0);
            return pinned.map(|()| measured);
        }
        let begun = Instant::now();
        for job in self.jobs {
            std::thread::sleep(REST);
            let enough = measured
                .windows
                .last()
                .is_some_and(|last| last.round != job.round)
                && whole_rounds(&measured.windows, self.plan.kernels.len()) >= self.plan.rounds;
            if enough || interrupt.is_set() || begun.elapsed() > self.plan.time_max {
                break;
            }
            self.shared.over.0.store(false, Relaxed);
            let words = self.arena.words(job, self.plan.line_bytes);
            words.clear();
            if !self.meet(0) {
                break;
            }
            let part = timed(|| lead(job.kernel, words, WINDOW, &self.shared.over.0));
            if !self.meet(0) {
                break;
            }
            let other = job.kernel.takes_two().then(|| self.shared.part());
            measured.windows.push(Window {
                round: job.round,
                kernel: job.kernel,
                cost_ns: cost_ns(job.kernel, part, other),
            });
        }
        self.quit(0);
        Ok(measured)
    }

    fn follower(&self, cpu: u32) -> io::Result<()> {
        if let Err(error) = pin(cpu) {
            self.quit(1);
            return Err(error);
        }
        real_time();
        if !self.meet(1) {
            return Ok(());
        }
        for job in self.jobs {
            if !self.meet(1) {
                return Ok(());
            }
            let words = self.arena.words(job, self.plan.line_bytes);
            let part = timed(|| follow(job.kernel, words, &self.shared.over.0));
            self.shared.set_part(part);
            if !self.meet(1) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Waits for the other thread; false if it has gone.
    fn meet(&self, me: usize) -> bool {
        if !self.two {
            return true;
        }
        let steps = &self.shared.steps;
        let step = steps[me].0.fetch_add(1, AcqRel) + 1;
        let mut turns = 0_u32;
        while steps[1 - me].0.load(Acquire) < step {
            if self.shared.quit.0.load(Acquire) {
                return false;
            }
            turns += 1;
            // On a loaded machine the other may be waiting for this CPU's turn to end.
            if turns.is_multiple_of(4096) {
                std::thread::yield_now();
            }
            std::hint::spin_loop();
        }
        !self.shared.quit.0.load(Acquire)
    }

    fn quit(&self, me: usize) {
        self.shared.quit.0.store(true, Release);
        self.shared.steps[me].0.store(usize::MAX / 2, Release);
    }
}

impl Shared {
    fn part(&self) -> Part {
        let [operations, wall, cpu] = &self.follower.0;
        Part {
            operations: operations.load(Acquire),
            wall_ns: f64::from_bits(wall.load(Acquire)),
            cpu_ns: f64::from_bits(cpu.load(Acquire)),
        }
    }

    fn set_part(&self, part: Part) {
        let [operations, wall, cpu] = &self.follower.0;
        operations.store(part.operations, Release);
        wall.store(part.wall_ns.to_bits(), Release);
        cpu.store(part.cpu_ns.to_bits(), Release);
    }
}

fn jobs(plan: &Plan) -> Vec<Job> {
    let mut random = Random::new(plan.kernels.len() as u64);
    let mut jobs = Vec::new();
    for round in 0..plan.rounds_max {
        let place = random.below(ARENA_BYTES / PLACE_BYTES) * PLACE_BYTES;
        let odd_line = random.below(2) == 1;
        let begin = jobs.len();
        jobs.extend(plan.kernels.iter().map(|&kernel| Job {
            round,
            kernel,
            place,
            odd_line,
        }));
        for last in (1..plan.kernels.len()).rev() {
            jobs.swap(begin + last, begin + random.below(last + 1));
        }
    }
    jobs
}

/// Rounds of `kernels` windows of which none was disturbed.
fn whole_rounds(windows: &[Window], kernels: usize) -> usize {
    let whole = |round: &&[Window]| round.iter().all(|window| window.cost_ns.is_some());
    windows.chunks_exact(kernels).filter(whole).count()
}

fn cost_ns(kernel: Kernel, part: Part, other: Option<Part>) -> Option<f64> {
    let ran = |part: &Part| part.cpu_ns >= CPU_SHARE_MIN * part.wall_ns;
    // A follower that was not running when the window began has begun late.
    let whole = |other: &Part| other.wall_ns >= CPU_SHARE_MIN * part.wall_ns;
    if !ran(&part)
        || !other
            .as_ref()
            .is_none_or(|other| ran(other) && whole(other))
    {
        return None;
    }
    let operations = part.operations as f64 * kernel.moves() as f64;
    let alone = part.wall_ns / operations;
    match (kernel, other) {
        // The two do the same: the mean of both says more.
        (Kernel::TwoWriters(_), Some(other)) => {
            let rate = operations / part.wall_ns + other.operations as f64 / other.wall_ns;
            Some(2.0 / rate)
        }
        _ => Some(alone),
    }
    .filter(|cost| cost.is_finite() && *cost > 0.0)
}

fn timed(work: impl FnOnce() -> u64) -> Part {
    let (wall, cpu) = (Instant::now(), cpu_time());
    let operations = work();
    Part {
        operations,
        cpu_ns: (cpu_time() - cpu).as_nanos() as f64,
        wall_ns: wall.elapsed().as_nanos() as f64,
    }
}

/// Time that this thread has had a CPU.
fn cpu_time() -> Duration {
    // SAFETY: the call writes a timespec.
    unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }
}

fn pin(cpu: u32) -> io::Result<()> {
    // SAFETY: the set is as long as said; 0 is the calling thread.
    let done = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu as usize, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Asks for real-time priority for the calling thread; says whether it was given.
fn real_time() -> bool {
    // SAFETY: 0 is the calling thread.
    unsafe {
        let mut parameters: libc::sched_param = std::mem::zeroed();
        parameters.sched_priority = 1;
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) == 0
    }
}

/// Memory for the words.
struct Arena(Vec<UnsafeCell<Page>>);

#[derive(Clone, Copy)]
#[repr(C, align(4096))]
struct Page([u8; 4096]);

// SAFETY: the threads of a crew reach it by atomics, and by loads and stores of the hardware that
// the compiler does not know as accesses to it.
unsafe impl Sync for Arena {}

impl Arena {
    fn new() -> Self {
        // Written to, so that no window pays for a page fault.
        let page = || UnsafeCell::new(Page([1; 4096]));
        Self(
            std::iter::repeat_with(page)
                .take(ARENA_BYTES / size_of::<Page>())
                .collect(),
        )
    }

    fn words(&self, job: &Job, line: usize) -> Words<'_> {
        let line = line.min(LINE_BYTES_MAX);
        let base = self.0.as_ptr().cast::<u8>().cast_mut();
        let pair = |number: usize| job.place + number * 2 * line;
        let (first, buddy) = match job.odd_line {
            false => (pair(0), pair(0) + line),
            true => (pair(0) + line, pair(0)),
        };
        let second = match (job.kernel, job.kernel.distance()) {
            (Kernel::TwoWriters(_) | Kernel::Fight(..), Distance::Same) => first + 8,
            (_, Distance::Buddy) => buddy,
            _ => pair(7),
        };
        let odd = pair(19) + if job.kernel.splits() { line - 4 } else { 8 };
        // SAFETY: 20 pairs of lines of at most LINE_BYTES_MAX are within the place, and that within
        // the arena; the atomics are at multiples of eight.
        unsafe {
            Words {
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
