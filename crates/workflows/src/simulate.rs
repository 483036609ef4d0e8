//! What a change of a layout brings in simulated time: the recorded guest executes again, as it was and with members
//! that lie elsewhere.
//!
//! Both windows begin with the same state of the guest and have the same seed. Its memory stays as it is: the machine
//! takes the members for being on other cache lines. How sure a ratio is, [`RuleDraws`] tell: each draw gives all rules of the machine
//! that nobody measured other values within their ranges, and executes both windows.

mod draws;
mod guest;
mod moves;
mod ratio;

use std::time::Duration;

use relayout_advice::{NamedWaiting, SearchedType, TypeMapping};
use relayout_messages::{RecordingProgress, SilentProgress, UserError};
use relayout_profile::rates::SimulatedRates;
use relayout_profile::{CpuTimes, SimulatedMachineName};
use relayout_record::RequestedMove;
use relayout_session::name_rates;

pub use draws::RuleDraws;
pub use guest::{GuestChoice, RepeatedGuest, with_repeated_guest};
pub use moves::layout_moves;
pub use ratio::{DrawnRatio, RatioVerdict};

/// Simulated windows that are asked for.
#[derive(Clone, Debug)]
pub struct SimulationRequest {
    /// Numbers of CPUs; those that were recorded if there are none.
    pub cpus: Vec<u16>,
    /// Simulated time of a window; that of the recording if it is not given.
    pub length: Option<Duration>,
    /// Draws of the rules for each number of CPUs.
    pub draws: u16,
}

/// A window in simulated time.
#[derive(Clone, Debug)]
pub struct SimulatedWindow {
    /// Operations in a second; `None` if the window is empty.
    pub operations_per_second: Option<f64>,
    /// Time of all CPUs.
    pub times: CpuTimes,
    /// What CPUs stood still for longest: a lock, or members of a line.
    pub most_waited: Option<MostWaited>,
}

/// Lock or line for which CPUs stood still longest.
#[derive(Clone, Debug, PartialEq)]
pub struct MostWaited {
    /// Its name: `dentry.d_lockref`.
    pub name: String,
    /// Part of the CPUs' time.
    pub share: f64,
}

impl SimulatedWindow {
    fn new(rates: &SimulatedRates, names: &NamedWaiting) -> Self {
        let times: CpuTimes = rates.cpus.iter().map(|cpu| cpu.times).sum();
        let locks = names
            .locks
            .iter()
            .map(|lock| (lock.wait_ps, Some(lock.name.clone())));
        let lines = { rates.lines.iter().zip(&names.lines) }
            .filter(|(_, named)| named.lock.is_none())
            .map(|(line, named)| {
                let object = named.object.as_ref();
                let owner =
                    object.and_then(|object| object.variable.clone().or(object.type_name.clone()));
                (line.wait_ps, named.members.first().cloned().or(owner))
            });
        let most = locks.chain(lines).max_by_key(|(wait_ps, _)| *wait_ps);
        Self {
            operations_per_second: rates.window.operations_per_second(),
            times,
            most_waited: most.and_then(|(wait_ps, name)| {
                Some(MostWaited {
                    name: name?,
                    share: wait_ps as f64 / times.total_ps().max(1) as f64,
                })
            }),
        }
    }
}

/// Windows with a number of CPUs, as it is and with another layout.
#[derive(Clone, Debug)]
pub struct SimulatedPoint {
    /// CPUs of the guest.
    pub cpus: u16,
    /// With today's layout, and the expected rules.
    pub today: SimulatedWindow,
    /// With the other one.
    pub then: SimulatedWindow,
    /// Operations of then over those of today.
    pub ratio: DrawnRatio,
}

/// What a layout brings in simulated time.
#[derive(Clone, Debug)]
pub struct SimulatedChange {
    /// Machine.
    pub machine: SimulatedMachineName,
    /// Simulated time of each window.
    pub length: Duration,
    /// By the number of CPUs.
    pub points: Vec<SimulatedPoint>,
    /// Part of the type's recorded transfers on objects that stay as they are.
    pub unmapped_share: f64,
}

/// Simulates each of the layouts that the user gave, in their order.
///
/// # Errors
/// The guest cannot be repeated, a layout cannot be mapped, or the user interrupts.
pub fn simulate_given_layouts(
    guest: &RepeatedGuest<'_>,
    searched: &SearchedType<'_>,
    mapping: &TypeMapping,
    request: &SimulationRequest,
    progress: &dyn RecordingProgress,
) -> Result<Vec<SimulatedChange>, UserError> {
    let Ok(advice) = &searched.outcome else {
        return Ok(Vec::new());
    };
    let shape = &searched.gathered.shape;
    let mut changes = Vec::new();
    for given in &advice.user_layouts {
        let moves = layout_moves(shape, &advice.current.layout, &given.layout, mapping)?;
        let mut points = Vec::new();
        for cpus in guest.cpu_counts(request) {
            points.push(simulate_point(guest, cpus, &moves, request, progress)?);
        }
        changes.push(SimulatedChange {
            machine: guest.machine_name()?,
            length: guest.length(request),
            points,
            unmapped_share: mapping.unmapped_share,
        });
    }
    Ok(changes)
}

fn simulate_point(
    guest: &RepeatedGuest<'_>,
    cpus: u16,
    moves: &[RequestedMove],
    request: &SimulationRequest,
    progress: &dyn RecordingProgress,
) -> Result<SimulatedPoint, UserError> {
    let length = guest.length(request);
    progress.step(&format!("simulating {cpus} CPUs"));
    let window = |moves: &[_]| {
        let executed = guest.execute(cpus, length, moves, &[])?;
        let names = name_rates(&executed.profile, &executed.rates, &SilentProgress)?;
        Ok::<_, UserError>(SimulatedWindow::new(&executed.rates, &names))
    };
    let (today, then) = (window(&[])?, window(moves)?);
    let draws = RuleDraws::new(request.draws, &guest.set_rules());
    let mut drawn = Vec::new();
    for (number, rules) in (1u64..).zip(draws.rules()) {
        progress.step(&format!(
            "simulating {cpus} CPUs: draw {number} of {}",
            request.draws
        ));
        let rate = |moves: &[_]| {
            let executed = guest.execute(cpus, length, moves, rules)?;
            Ok::<_, UserError>(executed.rates.window.operations_per_second())
        };
        drawn.push((rate(&[])?, rate(moves)?));
    }
    let expected = (today.operations_per_second, then.operations_per_second);
    Ok(SimulatedPoint {
        cpus,
        today,
        then,
        ratio: DrawnRatio::new(expected, &drawn),
    })
}
