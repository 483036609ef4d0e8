//! Windows of a recorded guest, several of them side by side.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use relayout_advice::SimulatedWindow;
use relayout_files::allowed_cpus;
use relayout_machine::MachineRule;
use relayout_messages::{RecordingProgress, UserError};
use relayout_record::RequestedMove;
use relayout_statistics::RatePair;

use super::draws::RuleDraws;
use super::guest::RepeatedGuest;

/// Guests side by side at most: each has its own memory.
const GUESTS_MAX: usize = 8;

/// A window of a guest.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowRequest<'w> {
    /// CPUs of the guest.
    pub cpus: u16,
    /// Simulated time; as recorded if it is not given.
    pub length: Option<Duration>,
    /// Members that lie elsewhere.
    pub moves: &'w [RequestedMove],
    /// Rules of the machine with other values than the expected ones.
    pub rules: &'w [(MachineRule, f64)],
    /// True to tell what CPUs wait for by its name.
    pub is_named: bool,
}

/// A window, or why there is none.
pub(super) type ExecutedResult = Result<SimulatedWindow, UserError>;

/// Windows of a guest with a number of CPUs.
pub(super) struct SimulatedRun<'r, 'k> {
    /// Guest.
    pub guest: &'r RepeatedGuest<'k>,
    /// Its CPUs.
    pub cpus: u16,
    /// Simulated time of each; as recorded if it is not given.
    pub length: Option<Duration>,
    /// Display of the steps.
    pub progress: &'r dyn RecordingProgress,
}

impl SimulatedRun<'_, '_> {
    /// Executes a window with the expected rules.
    pub fn expected_window(&self, moves: &[RequestedMove]) -> Result<SimulatedWindow, UserError> {
        let windows = self.execute_all(&[self.expected(moves)], "as it is", None)?;
        let window = windows.into_iter().flatten().next();
        window.unwrap_or_else(|| Err(UserError::input("no window was executed")))
    }

    /// Executes a window for each layout, with the expected rules.
    ///
    /// # Errors
    /// The user interrupts.
    pub fn expected_windows(
        &self,
        layouts: &[&[RequestedMove]],
    ) -> Result<Vec<ExecutedResult>, UserError> {
        let requests: Vec<WindowRequest<'_>> = { layouts.iter() }
            .map(|moves| self.expected(moves))
            .collect();
        let windows = self.execute_all(&requests, "with another layout", None)?;
        Ok(windows.into_iter().flatten().collect())
    }

    /// Returns the request of a window with the expected rules.
    pub fn expected<'w>(&self, moves: &'w [RequestedMove]) -> WindowRequest<'w> {
        WindowRequest {
            cpus: self.cpus,
            length: self.length,
            moves,
            rules: &[],
            is_named: true,
        }
    }

    /// Returns the rates of each layout with draws of the rules, beside those of today with the same draws. No window begins
    /// after `until`, so that there may be fewer draws.
    pub fn drawn_rates(
        &self,
        layouts: &[&[RequestedMove]],
        count: u16,
        until: Option<Instant>,
    ) -> Result<Vec<Vec<RatePair>>, UserError> {
        let draws = RuleDraws::new(count, &self.guest.set_rules());
        let sides: Vec<&[RequestedMove]> = [&[][..]]
            .into_iter()
            .chain(layouts.iter().copied())
            .collect();
        let requests: Vec<WindowRequest<'_>> = { draws.rules() }
            .flat_map(|rules| {
                sides.iter().map(move |moves| WindowRequest {
                    rules,
                    is_named: false,
                    ..self.expected(moves)
                })
            })
            .collect();
        let windows = self.execute_all(&requests, "with drawn rules", until)?;
        let windows: Vec<Option<SimulatedWindow>> = { windows.into_iter() }
            .map(Option::transpose)
            .collect::<Result<_, _>>()?;
        let rates = |side: usize| {
            { windows.chunks(sides.len()) }
                .filter_map(|draw| {
                    let [today, then] = [&draw[0], &draw[side]].map(Option::as_ref);
                    Some(RatePair {
                        today: today?.operations_per_second,
                        then: then?.operations_per_second,
                    })
                })
                .collect()
        };
        Ok((1..sides.len()).map(rates).collect())
    }

    /// Executes windows, as many side by side as there are CPUs here, in their order. Those that are
    /// neither kept nor begun at `until` are left out. `kind` says what they are of.
    ///
    /// # Errors
    /// The user interrupts.
    pub fn execute_all(
        &self,
        requests: &[WindowRequest<'_>],
        kind: &str,
        until: Option<Instant>,
    ) -> Result<Vec<Option<ExecutedResult>>, UserError> {
        let count = requests.len();
        let workers = allowed_cpus().len().clamp(1, GUESTS_MAX).min(count);
        let next = AtomicUsize::new(0);
        let (sender, receiver) = mpsc::channel();
        let work = |done: mpsc::Sender<(usize, ExecutedResult)>| {
            while let Some((place, request)) = take_request(requests, &next) {
                let may_execute = until.is_none_or(|until| Instant::now() < until);
                if let Some(window) = self.guest.find_window(request, may_execute) {
                    // The receiver outlives all workers.
                    let _ = done.send((place, window));
                }
            }
        };
        let mut windows: Vec<Option<ExecutedResult>> = Vec::new();
        windows.resize_with(count, || None);
        thread::scope(|scope| {
            for _ in 0..workers {
                let sender = sender.clone();
                scope.spawn(|| work(sender));
            }
            drop(sender);
            for (number, (place, executed)) in (1..).zip(&receiver) {
                if executed.is_err() && self.guest.is_interrupted() {
                    next.store(count, Relaxed);
                    return executed.map(|_| ());
                }
                windows[place] = Some(executed);
                self.progress.step(&format!(
                    "simulating {} CPUs: window {number} of {count} {kind}",
                    self.cpus
                ));
            }
            Ok(())
        })?;
        Ok(windows)
    }
}

/// Takes the next request, with its place.
fn take_request<'r, 'w>(
    requests: &'r [WindowRequest<'w>],
    next: &AtomicUsize,
) -> Option<(usize, &'r WindowRequest<'w>)> {
    let place = next.fetch_add(1, Relaxed);
    Some((place, requests.get(place)?))
}
