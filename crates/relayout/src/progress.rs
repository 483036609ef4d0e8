//! Progress on standard error: a spinner on a terminal, one line per step elsewhere.

use std::cell::Cell;
use std::io::{IsTerminal, stderr, stdout};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use relayout_messages::RecordingProgress;
use relayout_report::escape_text;
use relayout_workflows::verify::ExperimentProgress;

use crate::print::{self, print_line, print_warning};

/// Steps of analyses that begin earlier than this are not worth a line.
const SLOW_STEP: Duration = Duration::from_secs(1);

/// Shows where a recording or an analysis stands.
pub struct TerminalProgress {
    bar: Option<ProgressBar>,
    prefix: String,
    begun: Instant,
    /// No lines before this has passed.
    patience: Duration,
    /// Step that is shown once the patience has passed.
    late: Option<LateStep>,
    drawn: Cell<Instant>,
    warned: Cell<bool>,
}

impl TerminalProgress {
    /// `prefix` stands before every step (`run 2 of 3: `).
    pub fn new(prefix: String) -> Self {
        Self::with_terminal(prefix, stderr().is_terminal())
    }

    /// Beside a program that may write to the same terminal: lines rather than a spinner, which
    /// would be drawn into what the program writes.
    pub fn beside_program(prefix: String) -> Self {
        let own_terminal = stderr().is_terminal() && !stdout().is_terminal();
        Self::with_terminal(prefix, own_terminal)
    }

    fn with_terminal(prefix: String, terminal: bool) -> Self {
        let quiet = print::is_quiet();
        let bar = match (quiet, terminal) {
            (true, _) => Some(ProgressBar::hidden()),
            (false, true) => Some(new_spinner()),
            (false, false) => None,
        };
        let now = Instant::now();
        Self {
            bar,
            prefix: if quiet { String::new() } else { prefix },
            begun: now,
            patience: Duration::ZERO,
            late: None,
            drawn: Cell::new(now),
            warned: Cell::new(false),
        }
    }

    /// For what takes long only on large input: no lines for the first second.
    pub fn when_slow() -> Self {
        let progress = Self::new(String::new());
        Self {
            patience: SLOW_STEP,
            late: progress.bar.is_none().then(|| LateStep::start(SLOW_STEP)),
            ..progress
        }
    }

    /// Shows the state of a step, on a terminal only.
    pub fn update(&self, text: &str) {
        if let Some(bar) = &self.bar {
            self.set_message(bar, text);
        }
    }

    fn set_message(&self, bar: &ProgressBar, text: &str) {
        bar.set_message(escape_text(&format!("{}{text}", self.prefix)).into_owned());
    }

    /// Returns true if a warning was shown.
    pub fn has_warned(&self) -> bool {
        self.warned.get()
    }

    /// Removes the line of the finished step, and returns its result.
    pub fn finish_after<T>(&self, result: T) -> T {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if let Some(late) = &self.late {
            late.set(None);
        }
        result
    }
}

/// The step that is under way, which a thread prints if it takes long.
struct LateStep(Arc<Mutex<Option<String>>>);

impl LateStep {
    fn start(patience: Duration) -> Self {
        let step = Arc::new(Mutex::new(None::<String>));
        let printed = Arc::clone(&step);
        // Without the thread, the next step is the first line.
        let _ = Builder::new().spawn(move || {
            sleep(patience);
            let step = printed
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            if let Some(step) = step {
                print_step(patience, &step);
            }
        });
        Self(step)
    }

    fn set(&self, step: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = step;
    }
}

impl Drop for LateStep {
    fn drop(&mut self) {
        self.set(None);
    }
}

fn print_step(elapsed: Duration, text: &str) {
    print_line(&format!("{:>5.1} s  {text}", elapsed.as_secs_f64()));
}

/// `making a disk image: 120 of about 800 MiB`
fn disk_image_text(written_bytes: u64, bytes: u64) -> String {
    let written_mib = written_bytes.min(bytes) >> 20;
    format!(
        "making a disk image: {written_mib} of about {} MiB",
        bytes >> 20
    )
}

fn new_spinner() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed:>4} {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

impl TerminalProgress {
    fn show_counts(&self, accesses: u64, transfers: u64, suffix: &str) {
        let Some(bar) = &self.bar else { return };
        if self.drawn.get().elapsed() < Duration::from_millis(200) {
            return;
        }
        self.drawn.set(Instant::now());
        bar.set_message(format!(
            "{}recording: {:.1} M accesses, {:.1} k transfers, {suffix}",
            self.prefix,
            accesses as f64 / 1e6,
            transfers as f64 / 1e3
        ));
    }
}

impl RecordingProgress for TerminalProgress {
    fn step(&self, text: &str) {
        match &self.bar {
            Some(bar) => self.set_message(bar, text),
            None if self.begun.elapsed() < self.patience => {
                if let Some(late) = &self.late {
                    late.set(Some(text.to_owned()));
                }
            }
            None => print_step(self.begun.elapsed(), &format!("{}{text}", self.prefix)),
        }
    }

    fn window(&self, accesses: u64, transfers: u64, operations: u64) {
        self.show_counts(accesses, transfers, &format!("{operations} operations"));
    }

    fn program(&self, accesses: u64, transfers: u64, threads: u64) {
        self.show_counts(accesses, transfers, &format!("{threads} threads"));
    }

    fn disk_image(&self, written_bytes: u64, bytes: u64) {
        self.update(&disk_image_text(written_bytes, bytes));
    }

    fn warn(&self, text: &str) {
        self.warned.set(true);
        let print = || print_warning(&format!("warning: {text}"));
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

impl ExperimentProgress for TerminalProgress {
    fn update(&self, text: &str) {
        Self::update(self, text);
    }
}
