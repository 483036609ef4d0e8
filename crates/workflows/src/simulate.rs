//! What a change of a layout brings in simulated time: the recorded guest executes again, as it was and with members
//! that lie elsewhere.
//!
//! Both windows begin with the same state of the guest and have the same seed. Its memory stays as it is: the machine
//! takes the members for being on other cache lines. How sure a ratio is, [`RuleDraws`] tell: each draw gives all rules of the machine
//! that nobody measured other values within their ranges, and executes both windows.

mod draws;
mod freed;
mod guest;
mod kept_windows;
mod moves;
mod recorded_settings;
mod windows;

use std::time::{Duration, Instant};

use relayout_advice::{
    CheckedLayout, LayoutEdits, LayoutSimulated, LayoutSimulator, MappedObjects, SearchedType,
    SimulatedChange, SimulatedPoint, SimulatedType, SimulatedWindow, TypeMapping,
};
use relayout_messages::{RecordingProgress, UserError};
use relayout_record::RequestedMove;
use relayout_statistics::{DrawnRatio, RatePair};

pub use draws::RuleDraws;
pub use guest::{GuestChoice, RepeatedGuest, with_repeated_guest};
pub use moves::LayoutMoves;
use windows::{ExecutedResult, SimulatedRun};

/// Time for the answer where CPUs wait for lines, unless the user says otherwise.
const BUDGET_OF_LINES: Duration = Duration::from_secs(60);
/// The same where they spin or sleep for locks, whose windows are longer.
const BUDGET_OF_LOCKS: Duration = Duration::from_secs(600);

/// Simulated windows that are asked for.
#[derive(Clone, Debug)]
pub struct SimulationRequest {
    /// Numbers of CPUs; those that were recorded if there are none.
    pub cpus: Vec<u16>,
    /// Simulated time of a window. If it is not given, that of the recording; where CPUs wait for locks, at least
    /// [`SimulatedWindow::LOCKED_LENGTH_MIN`].
    pub length: Option<Duration>,
    /// Draws of the rules for each number of CPUs.
    pub draws: u16,
    /// Time of the host after which no further draws begin.
    pub budget: TimeBudget,
}

/// Time of the host for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeBudget {
    /// As much as all draws take.
    Unlimited,
    /// A minute where CPUs wait for lines, ten where they wait for locks.
    ByWaiting,
    /// So much.
    Given(Duration),
}

impl TimeBudget {
    fn limit(self, today: &SimulatedWindow) -> Option<Duration> {
        match self {
            Self::Unlimited => None,
            Self::Given(limit) => Some(limit),
            Self::ByWaiting if today.waits_for_locks() => Some(BUDGET_OF_LOCKS),
            Self::ByWaiting => Some(BUDGET_OF_LINES),
        }
    }
}

/// Simulations of layouts in a recorded guest.
pub struct GuestSimulation<'s, 'k> {
    /// Recorded guest.
    pub guest: &'s RepeatedGuest<'k>,
    /// What to simulate.
    pub request: &'s SimulationRequest,
    /// Display of the steps.
    pub progress: &'s dyn RecordingProgress,
}

/// Layouts as moves of bytes, in a guest with a number of CPUs.
struct MovedLayouts {
    cpus: u16,
    /// Of each layout that can be executed, with its place among all.
    moves: Vec<(usize, Vec<RequestedMove>)>,
    unmapped_share: f64,
}

impl<'k> GuestSimulation<'_, 'k> {
    /// Simulates each of the layouts that the user gave, in their order. That of `edits`, if it has any, is the last one, and has
    /// its checks.
    ///
    /// # Errors
    /// The guest does not find the objects, a layout cannot be simulated, a window fails, or the user interrupts.
    pub fn simulate_given(
        &self,
        searched: &SearchedType<'_>,
        mapping: &TypeMapping,
        edits: &LayoutEdits,
    ) -> Result<Vec<SimulatedChange>, UserError> {
        let Ok(advice) = &searched.outcome else {
            return Ok(Vec::new());
        };
        let current = &advice.current.layout;
        let checked = edits.checked_bytes(&searched.gathered.shape, current)?;
        let given = advice.user_layouts.iter();
        let mut layouts: Vec<CheckedLayout<'_>> = given
            .map(|given| CheckedLayout {
                layout: &given.layout,
                checked: &[],
            })
            .collect();
        if let Some(of_edits) = layouts.last_mut() {
            of_edits.checked = &checked;
        }
        let subject = SimulatedType {
            gathered: &searched.gathered,
            mapping,
            current,
        };
        let simulated = self.simulate_layouts(subject, &layouts)?;
        simulated.into_iter().collect()
    }

    /// Returns a change for each layout, without points.
    fn empty_changes(&self, count: usize) -> Result<Vec<LayoutSimulated>, UserError> {
        let change = SimulatedChange {
            machine: self.guest.machine_name()?,
            points: Vec::new(),
        };
        Ok((0..count).map(|_| Ok(change.clone())).collect())
    }

    /// Simulates sets of moves with the recorded CPUs. `unmapped_share` is the part of the transfers on objects that stay.
    ///
    /// # Errors
    /// Today's layout fails, or the user interrupts.
    pub fn simulate_moves(
        &self,
        sets: Vec<Vec<RequestedMove>>,
        unmapped_share: f64,
    ) -> Result<Vec<LayoutSimulated>, UserError> {
        let mut changes = self.empty_changes(sets.len())?;
        let moved = MovedLayouts {
            cpus: self.guest.recorded_cpus(),
            moves: sets.into_iter().enumerate().collect(),
            unmapped_share,
        };
        self.add_points(&moved, &mut changes)?;
        Ok(changes)
    }

    /// Begins with today's layout. Windows are longer than recorded where CPUs wait for locks, unless the user says how long
    /// they are.
    fn begin(&self, cpus: u16) -> Result<BegunRun<'_, 'k>, UserError> {
        let begun = Instant::now();
        self.progress.step(&format!("simulating {cpus} CPUs"));
        let mut run = SimulatedRun {
            guest: self.guest,
            cpus,
            length: self.request.length,
            progress: self.progress,
        };
        let mut today = run.expected_window(&[])?;
        if today.is_too_short() && run.length.is_none() {
            run.length = Some(SimulatedWindow::LOCKED_LENGTH_MIN);
            self.progress
                .step("CPUs wait for locks: simulating for longer");
            today = run.expected_window(&[])?;
        }
        let until = { self.request.budget.limit(&today) }.map(|limit| begun + limit);
        Ok(BegunRun { run, today, until })
    }

    /// Returns a layout as moves of bytes, in a guest with a number of CPUs.
    fn requested_moves(
        &self,
        subject: SimulatedType<'_, '_>,
        cpus: u16,
        layout: CheckedLayout<'_>,
    ) -> Result<Vec<RequestedMove>, UserError> {
        let is_recorded = self.guest.is_recorded(cpus);
        let (objects, _) = objects_of_guest(subject.mapping, is_recorded);
        if objects.is_empty() {
            let text = "no object of it has a name (a slab cache of its own, a variable) by which a guest with other CPUs finds it";
            return Err(
                UserError::input(text).with_remedy("leave out --cpus, or record with as many CPUs")
            );
        }
        let shape = &subject.gathered.shape;
        LayoutMoves::of_layouts(shape, subject.current, layout)?.in_objects(&objects)
    }

    /// Adds what each of the layouts brings to its change, or the reason why it cannot be executed.
    fn add_points(
        &self,
        moved: &MovedLayouts,
        changes: &mut [LayoutSimulated],
    ) -> Result<(), UserError> {
        let points = self.simulate_point(moved)?;
        for ((place, _), point) in moved.moves.iter().zip(points) {
            let change = &mut changes[*place];
            match (change.as_mut(), point) {
                (Ok(change), Ok(point)) => change.points.push(point),
                (_, Err(refused)) => *change = Err(refused),
                (Err(_), Ok(_)) => {}
            }
        }
        Ok(())
    }

    /// Executes today's layout and the moved ones. Returns what each brings, or why it cannot be executed.
    ///
    /// # Errors
    /// Today's layout fails, or the user interrupts.
    fn simulate_point(
        &self,
        moved: &MovedLayouts,
    ) -> Result<Vec<Result<SimulatedPoint, UserError>>, UserError> {
        let begun = self.begin(moved.cpus)?;
        let layouts: Vec<&[RequestedMove]> = { moved.moves.iter() }
            .map(|(_, moves)| moves.as_slice())
            .collect();
        let then = begun.run.expected_windows(&layouts)?;
        let is_executed = |(_, then): &(_, &ExecutedResult)| then.is_ok();
        let executed: Vec<&[RequestedMove]> = { layouts.into_iter().zip(&then) }
            .filter(is_executed)
            .map(|(moves, _)| moves)
            .collect();
        let drawn = begun
            .run
            .drawn_rates(&executed, self.request.draws, begun.until)?;
        let mut drawn = drawn.into_iter();
        let point = |then: ExecutedResult| {
            let then = then?;
            let drawn = drawn.next().unwrap_or_default();
            Ok(begun.point(then, &drawn, moved.unmapped_share))
        };
        Ok(then.into_iter().map(point).collect())
    }
}

/// Windows of a guest, of which the first one was executed.
struct BegunRun<'r, 'k> {
    run: SimulatedRun<'r, 'k>,
    today: SimulatedWindow,
    /// Time of the host after which no further draw begins.
    until: Option<Instant>,
}

impl BegunRun<'_, '_> {
    fn point(
        &self,
        then: SimulatedWindow,
        drawn: &[RatePair],
        unmapped_share: f64,
    ) -> SimulatedPoint {
        let expected = RatePair {
            today: self.today.operations_per_second,
            then: then.operations_per_second,
        };
        SimulatedPoint {
            cpus: self.run.cpus,
            today: self.today.clone(),
            then,
            ratio: DrawnRatio::new(expected, drawn),
            unmapped_share,
        }
    }
}

impl LayoutSimulator for GuestSimulation<'_, '_> {
    fn verify_layout(
        &self,
        subject: SimulatedType<'_, '_>,
        layout: CheckedLayout<'_>,
    ) -> Result<(), UserError> {
        for cpus in self.guest.cpu_counts(self.request) {
            self.requested_moves(subject, cpus, layout)?;
        }
        Ok(())
    }

    fn simulate_layouts(
        &self,
        subject: SimulatedType<'_, '_>,
        layouts: &[CheckedLayout<'_>],
    ) -> Result<Vec<LayoutSimulated>, UserError> {
        let mut changes = self.empty_changes(layouts.len())?;
        for cpus in self.guest.cpu_counts(self.request) {
            let mut moves = Vec::new();
            for (place, (layout, change)) in layouts.iter().zip(&mut changes).enumerate() {
                match self.requested_moves(subject, cpus, *layout) {
                    Ok(moved) => moves.push((place, moved)),
                    Err(refused) => *change = Err(refused),
                }
            }
            let moved = MovedLayouts {
                cpus,
                moves,
                unmapped_share: objects_of_guest(subject.mapping, self.guest.is_recorded(cpus)).1,
            };
            if moved.moves.is_empty() {
                break;
            }
            self.add_points(&moved, &mut changes)?;
        }
        Ok(changes)
    }
}

/// Returns the objects that a guest finds, and the part of the transfers on others. Addresses are those of the recorded guest:
/// one with other CPUs boots otherwise.
pub(crate) fn objects_of_guest(
    mapping: &TypeMapping,
    is_recorded: bool,
) -> (Vec<&MappedObjects>, f64) {
    let (addressed, unmapped_share): (&[_], _) = match is_recorded {
        true => (&mapping.addressed, mapping.unmapped_share),
        false => (&[], mapping.unnamed_share),
    };
    let objects = mapping.named.iter().chain(addressed);
    (objects.collect(), unmapped_share)
}
