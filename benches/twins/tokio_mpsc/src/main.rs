//! tokio's own benchmark of contended channels (`benches/sync_mpsc.rs`, `contention_*`): five tasks send a thousand
//! numbers each to one receiver, on a runtime of six threads.
//!
//! The program is built twice, with the tokio before and the one after the change of its channel's layout. It marks its
//! window and each received number for the recorder of a guest (`collectors/guest/marker.h`).

use std::process::ExitCode;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

const SENDERS: usize = 5;
const NUMBERS_PER_SENDER: usize = 1000;
/// Capacity of the bounded channel that never fills up, and of the one that does.
const ROOMY: usize = 1_000_000;
const TIGHT: usize = 100;
const WORKER_THREADS: usize = 6;
/// Rounds before the window opens: threads and memory are there then.
const WARM_UP_ROUNDS: usize = 20;

const USAGE: &str = "Usage: tokio_mpsc [--mix bounded|full|unbounded] [--seconds S | --iterations N] [--json]

  --mix NAME       a bounded channel with room for all (default), one that fills up, one without bounds
  --seconds S      run for S seconds, and say how many numbers a second were received [1]
  --iterations N   do N rounds, and only check results
  --json           print JSON";

#[derive(Clone, Copy, PartialEq)]
enum ChannelKind {
    Bounded { capacity: usize },
    Unbounded,
}

enum RunLength {
    Time(Duration),
    Rounds(u64),
}

struct BenchOptions {
    mix: String,
    kind: ChannelKind,
    length: RunLength,
    json: bool,
}

/// Executes the marker with this last byte; the bytes are those of `collectors/guest/marker.h`.
macro_rules! mark {
    ($number:literal) => {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a nop.
        unsafe {
            std::arch::asm!(
                ".byte 0x0f, 0x1f, 0x84, 0x00",
                concat!(".long 0x524c0000 + ", $number)
            );
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: a move to the zero register.
        unsafe {
            std::arch::asm!(concat!("movz xzr, #(0x5200 + ", $number, ")"));
        }
    };
}

fn main() -> ExitCode {
    let options = match parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("tokio_mpsc: {message}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKER_THREADS)
        .build()
        .expect("threads for the runtime");
    match runtime.block_on(run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(wrong) => {
            eprintln!("tokio_mpsc: wrong result: the numbers of a round sum up to {wrong}");
            ExitCode::FAILURE
        }
    }
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<BenchOptions, String> {
    let mut options = BenchOptions {
        mix: "bounded".to_owned(),
        kind: ChannelKind::Bounded { capacity: ROOMY },
        length: RunLength::Time(Duration::from_secs(1)),
        json: false,
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match &*word {
            "--json" => options.json = true,
            "--mix" => {
                options.mix = value()?;
                options.kind = match &*options.mix {
                    "bounded" => ChannelKind::Bounded { capacity: ROOMY },
                    "full" => ChannelKind::Bounded { capacity: TIGHT },
                    "unbounded" => ChannelKind::Unbounded,
                    other => return Err(format!("--mix {other}: not known")),
                };
            }
            "--seconds" => options.length = RunLength::Time(seconds(&value()?)?),
            "--iterations" => options.length = RunLength::Rounds(rounds(&value()?)?),
            other => return Err(format!("{other}: not known")),
        }
    }
    Ok(options)
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| *seconds > 0.0);
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or(format!("--seconds {text}: no time"))
}

fn rounds(text: &str) -> Result<u64, String> {
    let rounds = text.parse().ok().filter(|rounds| *rounds > 0);
    rounds.ok_or(format!("--iterations {text}: no number"))
}

/// Does the rounds, and prints what came out. The error is a sum of a round that is wrong.
async fn run(options: &BenchOptions) -> Result<(), usize> {
    for _ in 0..WARM_UP_ROUNDS {
        round(options.kind).await?;
    }
    mark!(1);
    let begin = Instant::now();
    let mut done = 0;
    while match options.length {
        RunLength::Time(length) => begin.elapsed() < length,
        RunLength::Rounds(rounds) => done < rounds,
    } {
        round(options.kind).await?;
        done += 1;
    }
    let elapsed = begin.elapsed();
    mark!(2);
    let name = env!("CARGO_PKG_NAME");
    let layout = name.rsplit('-').next().expect("a name with a layout");
    let received = done as f64 * (SENDERS * NUMBERS_PER_SENDER) as f64;
    let mops = received / elapsed.as_secs_f64() / 1e6;
    let round_ns = elapsed.as_nanos() as f64 / done as f64;
    let mix = &options.mix;
    match options.length {
        RunLength::Rounds(_) => println!("tokio_mpsc, {layout} layout: results are right"),
        RunLength::Time(_) if options.json => println!(
            "{{\"case\": \"tokio_mpsc\", \"layout\": \"{layout}\", \"mix\": \"{mix}\", \
             \"rounds\": {done}, \"round_ns\": {round_ns:.0}, \"mops\": {mops:.4}}}"
        ),
        RunLength::Time(_) => println!(
            "tokio_mpsc, {layout} layout, {mix}, {done} rounds of {round_ns:.0} ns\n\
             received: {mops:.4} Mops/s"
        ),
    }
    Ok(())
}

async fn round(kind: ChannelKind) -> Result<(), usize> {
    let mut sum = 0;
    match kind {
        ChannelKind::Bounded { capacity } => {
            let (sender, mut receiver) = mpsc::channel::<usize>(capacity);
            for _ in 0..SENDERS {
                let sender = sender.clone();
                tokio::spawn(async move {
                    for number in 0..NUMBERS_PER_SENDER {
                        sender.send(number).await.expect("a receiver");
                    }
                });
            }
            for _ in 0..SENDERS * NUMBERS_PER_SENDER {
                sum += receiver.recv().await.expect("a sender");
                mark!(3);
            }
        }
        ChannelKind::Unbounded => {
            let (sender, mut receiver) = mpsc::unbounded_channel::<usize>();
            for _ in 0..SENDERS {
                let sender = sender.clone();
                tokio::spawn(async move {
                    for number in 0..NUMBERS_PER_SENDER {
                        sender.send(number).expect("a receiver");
                    }
                });
            }
            for _ in 0..SENDERS * NUMBERS_PER_SENDER {
                sum += receiver.recv().await.expect("a sender");
                mark!(3);
            }
        }
    }
    let expected = SENDERS * NUMBERS_PER_SENDER * (NUMBERS_PER_SENDER - 1) / 2;
    if sum == expected { Ok(()) } else { Err(sum) }
}
