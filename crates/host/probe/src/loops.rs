//! The loops whose time is measured, each over words at given places.
//!
//! A window has a leader, which works until the time is up and then sets a flag, and a follower,
//! which works until the flag is set.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::time::{Duration, Instant};

use crate::visits::{LineVisit, LineVisitor};

/// Operations between looks at the clock.
const BATCH_OPERATIONS: u64 = 64;
/// Value that ends a hand-over; no word of a hand-over has it.
const OVER: u64 = u64::MAX;

/// Loops of the two threads. The cost is the leader's time for one operation unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProbeLoop {
    /// A word goes back and forth; the cost is that of one way.
    HandOver,
    /// A hand-over by plain loads and stores of a word across two lines.
    HandOverSplit,
    /// A hand-over by the same loads and stores of a word within a line.
    HandOverWhole,
    /// Each adds to a word of its own.
    TwoWriters(WordDistance),
    /// Both add to one word; the leader stores to one of its own beside it. On
    /// [`WordDistance::Same`] the follower reads that word, from a line far from the common one:
    /// one more line moves.
    BesideShared(WordDistance),
    /// The leader stores to a word of its own, and adds to another that the follower reads all the time. On
    /// [`WordDistance::Same`] the follower reads both: one more line moves.
    BesideRead(WordDistance),
    /// Each uses a word of its own, all the time: the leader in the first way, the follower in the
    /// second.
    Compete(WordUse, WordUse, WordDistance),
    /// Each works, and visits the line of its word now and then: the leader in the first way, the follower in the
    /// second.
    Visit(LineVisit, LineVisit, WordDistance),
    /// The leader stores the value that a word has, and adds to a word of its own; the follower
    /// reads the first all the time.
    SilentStore,
    /// A silent store that the leader makes only if the value differs.
    CheckedStore,
    /// The leader alone loads, adds to and stores a word that lies across two lines.
    LocalSplit,
    /// The leader alone loads, adds to and stores a word within a line.
    LocalWhole,
    /// The leader alone adds atomically to a word that lies across two lines.
    AtomicSplit,
    /// The leader alone adds atomically to a word within a line.
    AtomicWhole,
}

/// A way of using a word all the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WordUse {
    /// Loads it.
    Load,
    /// Stores to it.
    Store,
    /// Stores to the word and to the one beside it, and loads the word again. Without the load, the
    /// store buffer would hold back the stores and release them together.
    Update,
    /// Adds to it by a locked instruction.
    Exchange,
}

/// Position of the second of two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WordDistance {
    /// On the line of the first word.
    Same,
    /// On the other line of the pair.
    Buddy,
    /// On a line of another pair.
    Apart,
}

/// Words for one window, all in memory that only the two threads use.
#[derive(Clone, Copy)]
pub struct ProbeWords<'a> {
    /// The first word.
    pub first: &'a AtomicU64,
    /// The second, at the distance that the kernel asks for.
    pub second: &'a AtomicU64,
    /// One on the line of the first.
    pub beside_first: &'a AtomicU64,
    /// One on the line of the second.
    pub beside_second: &'a AtomicU64,
    /// Address of a word that lies across two lines if the loop asks for it, else within one line.
    pub odd: *mut u64,
    /// One of the leader's own.
    pub own: &'a AtomicU64,
}

impl ProbeWords<'_> {
    /// Sets all to 0, before the window: no number that is handed over.
    pub fn clear(&self) {
        for word in [self.first, self.second, self.own] {
            word.store(0, Relaxed);
        }
        if HAS_SPLITS {
            store_odd(self.odd, 0);
        }
    }
}

impl ProbeLoop {
    /// Returns true if the loop has work for the follower.
    pub fn needs_follower(self) -> bool {
        !matches!(
            self,
            Self::LocalSplit | Self::LocalWhole | Self::AtomicSplit | Self::AtomicWhole
        )
    }

    /// Returns true if the loop uses a word across two lines.
    pub fn splits_word(self) -> bool {
        matches!(
            self,
            Self::HandOverSplit | Self::LocalSplit | Self::AtomicSplit
        )
    }

    /// Returns the distance of the second word from the first.
    pub fn word_distance(self) -> WordDistance {
        match self {
            Self::TwoWriters(distance)
            | Self::BesideShared(distance)
            | Self::BesideRead(distance)
            | Self::Visit(_, _, distance)
            | Self::Compete(_, _, distance) => distance,
            _ => WordDistance::Apart,
        }
    }

    /// Lines that move in one operation of the leader, where the cost is to be that of one.
    pub fn lines_moved(self) -> u64 {
        match self {
            Self::HandOver | Self::HandOverSplit | Self::HandOverWhole => 2,
            _ => 1,
        }
    }
}

/// Runs the leader's part: counts operations until `window` has passed, then tells the follower.
pub fn lead(
    probe_loop: ProbeLoop,
    words: ProbeWords<'_>,
    window: Duration,
    over: &AtomicBool,
) -> u64 {
    let ProbeWords {
        first,
        second,
        beside_first,
        odd,
        own,
        ..
    } = words;
    let count = match probe_loop {
        ProbeLoop::HandOver => repeat_for(window, |i| {
            first.store(2 * i + 1, Release);
            spin_until(|| first.load(Acquire) == 2 * i + 2);
        }),
        ProbeLoop::HandOverSplit | ProbeLoop::HandOverWhole => repeat_for(window, |i| {
            store_odd(odd, both_halves(2 * i + 1));
            spin_until(|| load_odd(odd) == both_halves(2 * i + 2));
        }),
        ProbeLoop::TwoWriters(_) => repeat_for(window, |_| {
            first.fetch_add(1, Relaxed);
        }),
        ProbeLoop::BesideShared(_) | ProbeLoop::BesideRead(_) => repeat_for(window, |i| {
            second.store(i, Relaxed);
            first.fetch_add(1, Relaxed);
        }),
        ProbeLoop::Compete(WordUse::Load, ..) => repeat_for(window, |_| load_word(first)),
        ProbeLoop::Compete(WordUse::Store, ..) => repeat_for(window, |_| first.store(1, Relaxed)),
        ProbeLoop::Compete(WordUse::Update, ..) => {
            repeat_for(window, |_| update_word(first, beside_first))
        }
        ProbeLoop::Compete(WordUse::Exchange, ..) => repeat_for(window, |_| exchange_word(first)),
        ProbeLoop::Visit(visit, ..) => {
            let mut visitor = LineVisitor::new(1);
            repeat_for(window, |_| visitor.work_and_visit(visit, first))
        }
        ProbeLoop::SilentStore => repeat_for(window, |_| {
            first.store(1, Relaxed);
            own.fetch_add(1, Relaxed);
        }),
        ProbeLoop::CheckedStore => repeat_for(window, |_| {
            if first.load(Relaxed) != 1 {
                first.store(1, Relaxed);
            }
            own.fetch_add(1, Relaxed);
        }),
        ProbeLoop::LocalSplit | ProbeLoop::LocalWhole => repeat_for(window, |_| {
            store_odd(odd, load_odd(odd).wrapping_add(1));
        }),
        ProbeLoop::AtomicSplit | ProbeLoop::AtomicWhole => repeat_for(window, |_| add_odd(odd)),
    };
    over.store(true, Release);
    match probe_loop {
        ProbeLoop::HandOver => first.store(OVER, Release),
        ProbeLoop::HandOverSplit | ProbeLoop::HandOverWhole => store_odd(odd, OVER),
        _ => {}
    }
    count
}

/// Runs the follower's part, until `over` is set.
pub fn follow(probe_loop: ProbeLoop, words: ProbeWords<'_>, over: &AtomicBool) -> u64 {
    let ProbeWords {
        first,
        second,
        beside_second,
        odd,
        ..
    } = words;
    match probe_loop {
        ProbeLoop::HandOver => {
            answer_hand_overs(|| first.load(Acquire), |v| first.store(v, Release), |v| v)
        }
        ProbeLoop::HandOverSplit | ProbeLoop::HandOverWhole => {
            answer_hand_overs(|| load_odd(odd), |v| store_odd(odd, v), both_halves)
        }
        ProbeLoop::TwoWriters(_) => repeat_until(over, || {
            second.fetch_add(1, Relaxed);
        }),
        ProbeLoop::BesideShared(WordDistance::Same) => repeat_until(over, || {
            std::hint::black_box(second.load(Relaxed));
            first.fetch_add(1, Relaxed);
        }),
        ProbeLoop::BesideShared(_) => repeat_until(over, || {
            first.fetch_add(1, Relaxed);
        }),
        ProbeLoop::BesideRead(WordDistance::Same) => repeat_until(over, || {
            load_word(first);
            load_word(second);
        }),
        ProbeLoop::BesideRead(_) => repeat_until(over, || load_word(first)),
        ProbeLoop::Compete(_, WordUse::Load, _) => repeat_until(over, || load_word(second)),
        ProbeLoop::Compete(_, WordUse::Store, _) => repeat_until(over, || second.store(1, Relaxed)),
        ProbeLoop::Compete(_, WordUse::Update, _) => {
            repeat_until(over, || update_word(second, beside_second))
        }
        ProbeLoop::Compete(_, WordUse::Exchange, _) => repeat_until(over, || exchange_word(second)),
        ProbeLoop::Visit(_, visit, _) => {
            let mut visitor = LineVisitor::new(2);
            repeat_until(over, || visitor.work_and_visit(visit, second))
        }
        ProbeLoop::SilentStore | ProbeLoop::CheckedStore => repeat_until(over, || {
            std::hint::black_box(first.load(Relaxed));
        }),
        ProbeLoop::LocalSplit
        | ProbeLoop::LocalWhole
        | ProbeLoop::AtomicSplit
        | ProbeLoop::AtomicWhole => 0,
    }
}

/// True if this architecture allows measurements of words across two lines.
pub const HAS_SPLITS: bool = cfg!(target_arch = "x86_64");

fn load_word(word: &AtomicU64) {
    std::hint::black_box(word.load(Relaxed));
}

fn update_word(word: &AtomicU64, beside: &AtomicU64) {
    word.store(1, Relaxed);
    beside.store(1, Relaxed);
    load_word(word);
}

fn exchange_word(word: &AtomicU64) {
    word.fetch_add(1, Relaxed);
}

/// Repeats an operation, with its number, until the window is over. Returns the count.
pub fn repeat_for(window: Duration, mut operation: impl FnMut(u64)) -> u64 {
    let begun = Instant::now();
    let mut count = 0;
    while begun.elapsed() < window {
        for i in count..count + BATCH_OPERATIONS {
            operation(i);
        }
        count += BATCH_OPERATIONS;
    }
    count
}

/// Spins until `done`, and yields the CPU now and then. Without yields, two measurements with
/// real-time priority that wait for each other's CPU would never end.
pub fn spin_until(mut done: impl FnMut() -> bool) {
    let mut turns = 0_u32;
    while !done() {
        turns += 1;
        if turns.is_multiple_of(1 << 16) {
            std::thread::yield_now();
        }
    }
}

/// Repeats an operation until the leader has ended the window. Returns the count.
pub fn repeat_until(over: &AtomicBool, mut operation: impl FnMut()) -> u64 {
    let mut count = 0;
    while !over.load(Acquire) {
        for _ in 0..BATCH_OPERATIONS {
            operation();
        }
        count += BATCH_OPERATIONS;
    }
    count
}

/// Waits for odd numbers in turn, and answers each with the next one.
fn answer_hand_overs(
    load: impl Fn() -> u64,
    store: impl Fn(u64),
    encode: impl Fn(u64) -> u64,
) -> u64 {
    let mut count = 0;
    loop {
        let wanted = encode(2 * count + 1);
        let mut found = OVER;
        spin_until(|| {
            // Half of it may be seen before the other half, but no number has a half of `OVER`.
            found = load();
            found == wanted || found == OVER
        });
        if found == OVER {
            return count;
        }
        store(encode(2 * count + 2));
        count += 1;
    }
}

/// A number in each half of a word, so that a store changes bytes on both of its lines.
fn both_halves(number: u64) -> u64 {
    let half = number & 0x7fff_ffff;
    half << 32 | half
}

#[cfg(target_arch = "x86_64")]
fn store_odd(at: *mut u64, value: u64) {
    // SAFETY: eight bytes of memory that only the two threads of a window use; stores of the
    // hardware need no alignment.
    unsafe { std::arch::asm!("mov [{at}], {value}", at = in(reg) at, value = in(reg) value) }
}

#[cfg(target_arch = "x86_64")]
fn load_odd(at: *mut u64) -> u64 {
    let value;
    // SAFETY: as above.
    unsafe { std::arch::asm!("mov {value}, [{at}]", at = in(reg) at, value = out(reg) value) }
    value
}

#[cfg(target_arch = "x86_64")]
fn add_odd(at: *mut u64) {
    // SAFETY: as above.
    unsafe { std::arch::asm!("lock add qword ptr [{at}], 1", at = in(reg) at) }
}

#[cfg(not(target_arch = "x86_64"))]
fn store_odd(_: *mut u64, _: u64) {
    unreachable!("not planned without HAS_SPLITS")
}

#[cfg(not(target_arch = "x86_64"))]
fn load_odd(_: *mut u64) -> u64 {
    unreachable!("not planned without HAS_SPLITS")
}

#[cfg(not(target_arch = "x86_64"))]
fn add_odd(_: *mut u64) {
    unreachable!("not planned without HAS_SPLITS")
}
