//! Speed of replay in accesses per second, for a trace of a chunk-like object under many
//! placements, as the search replays it. `cargo bench -p relayout-contend --bench replay`.

use std::hint::black_box;
use std::time::Duration;

use relayout_contend::{LineScores, ObjectTrace, PreparedTrace, TraceAccess};
use relayout_profile::{AccessKind, ContextId, SiteId};
use relayout_statistics::random::{RandomSequence, SplitMix64};

const ACCESSES: u32 = 1_000_000;
const PLACEMENTS: u32 = 50;

/// CPUs take turns of 1 to 16 accesses; offsets and kinds are pseudo-random.
fn trace(contexts: u16, object_bytes: u32) -> ObjectTrace {
    let mut numbers = SplitMix64::new(1);
    let mut random = move |below: u32| numbers.below(below as usize) as u32;
    let mut context = 0;
    let mut left = 0;
    let accesses = (0..ACCESSES).map(|site| {
        if left == 0 {
            context = random(contexts.into()) as u16;
            left = 1 + random(16);
        }
        left -= 1;
        TraceAccess {
            context: ContextId(context),
            offset: random(object_bytes / 8) * 8,
            size: 8,
            access: if random(4) == 0 {
                AccessKind::Write
            } else {
                AccessKind::Read
            },
            silent: None,
            site: SiteId(site),
        }
    });
    ObjectTrace {
        accesses: accesses.collect(),
        ..ObjectTrace::default()
    }
}

/// CPU time of this process so far: other programs on the machine do not count.
fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let first = text
        .split_whitespace()
        .next()
        .and_then(|ns| ns.parse().ok());
    Duration::from_nanos(first.expect("Linux has /proc/self/schedstat"))
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let started = cpu_time();
    let done = work();
    (done, cpu_time() - started)
}

fn speed(accesses: u32, time: Duration) -> f64 {
    f64::from(accesses) / time.as_secs_f64() / 1e6
}

fn main() {
    for (contexts, object_bytes) in [(4, 192), (4, 2176), (16, 2176), (48, 192)] {
        let trace = trace(contexts, object_bytes);
        let (replay, prepared) = timed(|| PreparedTrace::new(&trace));
        let ((), all) = timed(|| {
            for shift in 0..PLACEMENTS {
                let rotate = |offset: u32| (offset + shift * 8) % object_bytes;
                black_box(replay.tally(0, &rotate, 64));
            }
        });
        // Exchanges of two words each: two lines change.
        let scores = LineScores::new(&replay, 64);
        scores.tally(0, &|offset: u32| offset);
        let ((), moves) = timed(|| {
            for word in 1..=PLACEMENTS {
                let (first_word, second_word) = (8 * (word % (object_bytes / 8)), 0);
                let exchange = |offset: u32| match offset / 8 * 8 {
                    word if word == first_word => second_word + offset % 8,
                    word if word == second_word => first_word + offset % 8,
                    _ => offset,
                };
                black_box(scores.tally(0, &exchange));
            }
        });
        println!(
            "{contexts:>3} contexts, {object_bytes:>5} bytes: prepare {prepared:>8.1?}, replay {:>8.1?} \
             ({:.0} M accesses/s, {} of {ACCESSES} kept), exchange of two words {:>8.1?} ({:.0} M accesses/s)",
            all / PLACEMENTS,
            speed(ACCESSES, all / PLACEMENTS),
            replay.steps(),
            moves / PLACEMENTS,
            speed(ACCESSES, moves / PLACEMENTS),
        );
    }
}
