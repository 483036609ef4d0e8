//! How fast a recorded object is replayed: accesses per second, for one trace of a chunk-like
//! object under many placements, as the search does. `cargo bench -p relayout-contend`.

use std::hint::black_box;
use std::time::Instant;

use relayout_contend::{ObjectTrace, Replay, TraceAccess};
use relayout_profile::Access;

const ACCESSES: u32 = 1_000_000;
const PLACEMENTS: u32 = 50;

/// CPUs take turns of 1 to 16 accesses; offsets and kinds are pseudo-random (xorshift).
fn trace(contexts: u16, object_bytes: u32) -> ObjectTrace {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: u32| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u32 % below
    };
    let mut context = 0;
    let mut left = 0;
    let accesses = (0..ACCESSES).map(|site| {
        if left == 0 {
            context = random(contexts.into()) as u16;
            left = 1 + random(16);
        }
        left -= 1;
        TraceAccess {
            context,
            offset: random(object_bytes / 8) * 8,
            size: 8,
            access: if random(4) == 0 {
                Access::Write
            } else {
                Access::Read
            },
            silent: None,
            site,
        }
    });
    ObjectTrace {
        accesses: accesses.collect(),
        ..ObjectTrace::default()
    }
}

fn main() {
    for (contexts, object_bytes) in [(4, 192), (4, 2176), (16, 2176), (48, 192)] {
        let trace = trace(contexts, object_bytes);
        let started = Instant::now();
        let replay = Replay::new(&trace);
        let prepared = started.elapsed();
        let started = Instant::now();
        for shift in 0..PLACEMENTS {
            let rotate = |offset: u32| (offset + shift * 8) % object_bytes;
            black_box(replay.tally(0, &rotate, 64));
        }
        let each = started.elapsed() / PLACEMENTS;
        println!(
            "{contexts:>3} contexts, {object_bytes:>5} bytes: prepare {prepared:>8.1?}, replay {each:>8.1?} \
             ({:.0} M accesses/s, {} of {ACCESSES} kept)",
            f64::from(ACCESSES) / each.as_secs_f64() / 1e6,
            replay.steps(),
        );
    }
}
