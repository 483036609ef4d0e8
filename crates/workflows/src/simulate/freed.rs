//! Findings whose lines cost nothing: the most that any change of their layout, or of the code that uses them, can bring.

use relayout_advice::{FindingLines, FreedLine, ResolvedProfile, SimulatedChange};
use relayout_contend::Finding;
use relayout_messages::UserError;
use relayout_record::RequestedMove;

use super::GuestSimulation;
use super::windows::WindowRequest;

/// Reason for which a line was not freed.
const NO_TIME_LEFT: &str = "no time was left for it (--budget)";

impl GuestSimulation<'_, '_> {
    /// Executes the workload once for each finding with its lines free, beside today. CPUs still wait for what a lock protects:
    /// only the lock's own line is free. Always with the recorded CPUs, because lines are known by their addresses.
    ///
    /// # Errors
    /// Today's window fails, or the user interrupts.
    pub fn free_lines(
        &self,
        resolved: &ResolvedProfile<'_>,
        findings: &[&Finding],
    ) -> Result<Vec<FreedLine>, UserError> {
        let begun = self.begin(self.guest.recorded_cpus())?;
        let freed: Vec<(Vec<RequestedMove>, f64)> = { findings.iter() }
            .map(|finding| free_moves(&FindingLines::find(resolved, finding)))
            .collect();
        let requests: Vec<WindowRequest<'_>> = { freed.iter() }
            .map(|(moves, _)| begun.run.expected(moves))
            .collect();
        let windows = begun
            .run
            .execute_all(&requests, "with a free line", begun.until)?;
        let machine = self.guest.machine_name()?;
        let lines = findings.iter().zip(&freed).zip(windows);
        Ok(lines
            .map(|((finding, (_, unmapped_share)), window)| FreedLine {
                rank: finding.rank,
                outcome: window
                    .unwrap_or_else(|| Err(UserError::input(NO_TIME_LEFT)))
                    .map(|then| SimulatedChange {
                        machine: machine.clone(),
                        points: vec![begun.point(then, &[], *unmapped_share)],
                    }),
            })
            .collect())
    }
}

/// Returns the moves that free lines, and the part of the type's transfers on objects that stay.
fn free_moves(lines: &FindingLines) -> (Vec<RequestedMove>, f64) {
    match lines {
        FindingLines::OfObjects {
            objects,
            bytes,
            unnamed_share,
        } => {
            let moves = objects.iter().map(|objects| {
                let bytes = bytes.start + objects.offset..bytes.end + objects.offset;
                RequestedMove::free_bytes(objects.place.as_deref(), &objects.holder, bytes)
            });
            (moves.collect(), *unnamed_share)
        }
        FindingLines::At(lines) => {
            let moves = lines.iter().map(|line| RequestedMove::free_line(line.0));
            (moves.collect(), 0.0)
        }
    }
}
