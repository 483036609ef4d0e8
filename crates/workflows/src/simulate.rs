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

use relayout_advice::{MappedObjects, NamedWaiting, SearchedType, TypeMapping, WaitedLine};
use relayout_layout::abi::StructLayout;
use relayout_messages::{RecordingProgress, SilentProgress, UserError};
use relayout_profile::rates::SimulatedRates;
use relayout_profile::{CpuTimes, SimulatedMachineName};
use relayout_record::RequestedMove;
use relayout_session::name_rates;

pub use draws::RuleDraws;
pub use guest::{GuestChoice, RepeatedGuest, with_repeated_guest};
pub use moves::layout_moves;
pub use ratio::{DrawnRatio, RatePair, RatioVerdict};

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
    /// Its simulated time.
    pub length: Duration,
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
            .map(|(line, named)| (line.wait_ps, line_name(named)));
        let most = locks.chain(lines).max_by_key(|(wait_ps, _)| *wait_ps);
        Self {
            length: Duration::from_nanos(rates.window.length_ps / 1000),
            operations_per_second: rates.window.operations_per_second(),
            times,
            most_waited: most
                .filter(|(wait_ps, _)| *wait_ps > 0)
                .map(|(wait_ps, name)| MostWaited {
                    name: name.unwrap_or_else(|| "memory without a name".to_owned()),
                    share: wait_ps as f64 / times.total_ps().max(1) as f64,
                }),
        }
    }
}

/// Returns the name of a line by its first waited-for member: `dentry.d_iname[]`; else that of its variable or type.
fn line_name(line: &WaitedLine) -> Option<String> {
    let object = line.object.as_ref()?;
    let owner = object.variable.clone().or(object.type_name.clone())?;
    Some(match line.members.first() {
        Some(member) => format!("{owner}.{member}"),
        None => owner,
    })
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
    /// Part of the type's recorded transfers on objects that stay as they are.
    pub unmapped_share: f64,
}

/// Share of the time that CPUs spin or sleep, from which on locks decide the rate.
const LOCKED_SHARE_MIN: f64 = 0.05;
/// Shortest window that shows how CPUs fall into step at locks.
const LOCKED_LENGTH_MIN: Duration = Duration::from_millis(20);

impl SimulatedPoint {
    /// Returns true if CPUs wait for locks, and the window is too short to tell the rate that they settle at.
    pub fn is_too_short(&self) -> bool {
        let times = &self.today.times;
        let waiting = times.pause_ps.saturating_add(times.idle_ps) as f64;
        waiting >= LOCKED_SHARE_MIN * times.total_ps() as f64
            && self.today.length < LOCKED_LENGTH_MIN
    }

    /// Returns what the draws of the rules agree on.
    pub fn verdict(&self) -> RatioVerdict {
        match self.is_too_short() {
            true => RatioVerdict::Unclear,
            false => self.ratio.verdict(),
        }
    }
}

/// What a layout brings in simulated time.
#[derive(Clone, Debug)]
pub struct SimulatedChange {
    /// Machine.
    pub machine: SimulatedMachineName,
    /// By the number of CPUs.
    pub points: Vec<SimulatedPoint>,
}

/// Simulations of layouts of a type.
pub struct LayoutSimulation<'s, 'k, 'p> {
    /// Recorded guest.
    pub guest: &'s RepeatedGuest<'k>,
    /// Type with the layouts that the user gave.
    pub searched: &'s SearchedType<'p>,
    /// Where its objects are.
    pub mapping: &'s TypeMapping,
    /// What to simulate.
    pub request: &'s SimulationRequest,
    /// Where steps are said.
    pub progress: &'s dyn RecordingProgress,
}

impl LayoutSimulation<'_, '_, '_> {
    /// Simulates each of the layouts that the user gave, in their order.
    ///
    /// # Errors
    /// The guest does not find the objects, a layout cannot be simulated, a window fails, or the user interrupts.
    pub fn run(&self) -> Result<Vec<SimulatedChange>, UserError> {
        let given = { self.searched.outcome.iter() }.flat_map(|advice| {
            let current = &advice.current.layout;
            advice
                .user_layouts
                .iter()
                .map(move |given| (current, &given.layout))
        });
        given
            .map(|(current, new)| self.simulate(current, new))
            .collect()
    }

    fn simulate(
        &self,
        current: &StructLayout,
        new: &StructLayout,
    ) -> Result<SimulatedChange, UserError> {
        let counts = self.guest.cpu_counts(self.request).into_iter();
        let points = counts.map(|cpus| self.simulate_point(cpus, current, new));
        Ok(SimulatedChange {
            machine: self.guest.machine_name()?,
            points: points.collect::<Result<_, _>>()?,
        })
    }

    fn simulate_point(
        &self,
        cpus: u16,
        current: &StructLayout,
        new: &StructLayout,
    ) -> Result<SimulatedPoint, UserError> {
        let is_recorded = self.guest.is_recorded(cpus);
        let (objects, unmapped_share) = objects_of_guest(self.mapping, is_recorded)?;
        let moves = layout_moves(&self.searched.gathered.shape, current, new, &objects)?;
        self.progress.step(&format!("simulating {cpus} CPUs"));
        let today = self.simulate_window(cpus, &[])?;
        let then = self.simulate_window(cpus, &moves)?;
        let expected = RatePair {
            today: today.operations_per_second,
            then: then.operations_per_second,
        };
        Ok(SimulatedPoint {
            cpus,
            today,
            then,
            ratio: DrawnRatio::new(expected, &self.draw_rates(cpus, &moves)?),
            unmapped_share,
        })
    }

    fn simulate_window(
        &self,
        cpus: u16,
        moves: &[RequestedMove],
    ) -> Result<SimulatedWindow, UserError> {
        let executed = self.guest.execute(cpus, self.request.length, moves, &[])?;
        let names = name_rates(&executed.profile, &executed.rates, &SilentProgress)?;
        Ok(SimulatedWindow::new(&executed.rates, &names))
    }

    /// Returns the operations a second today and then, with each draw of the rules.
    fn draw_rates(&self, cpus: u16, moves: &[RequestedMove]) -> Result<Vec<RatePair>, UserError> {
        let count = self.request.draws;
        let draws = RuleDraws::new(count, &self.guest.set_rules());
        let pairs = (1..).zip(draws.rules()).map(|(number, rules)| {
            let step = format!("simulating {cpus} CPUs: draw {number} of {count}");
            self.progress.step(&step);
            let rate = |moves: &[RequestedMove]| {
                let executed = self
                    .guest
                    .execute(cpus, self.request.length, moves, rules)?;
                Ok::<_, UserError>(executed.rates.window.operations_per_second())
            };
            Ok(RatePair {
                today: rate(&[])?,
                then: rate(moves)?,
            })
        });
        pairs.collect()
    }
}

/// Returns the objects that a guest finds, and the part of the transfers on others. Addresses are those of the recorded guest:
/// one with other CPUs boots otherwise.
fn objects_of_guest(
    mapping: &TypeMapping,
    is_recorded: bool,
) -> Result<(Vec<&MappedObjects>, f64), UserError> {
    let (addressed, unmapped_share): (&[_], _) = match is_recorded {
        true => (&mapping.addressed, mapping.unmapped_share),
        false => (&[], mapping.unnamed_share),
    };
    let objects: Vec<&MappedObjects> = mapping.named.iter().chain(addressed).collect();
    if objects.is_empty() {
        let text = "no object of it has a name (a slab cache of its own, a variable) by which a guest with other CPUs finds it";
        return Err(
            UserError::input(text).with_remedy("leave out --cpus, or record with as many CPUs")
        );
    }
    Ok((objects, unmapped_share))
}
