//! What contexts wait for, today and with another layout: what throughput is predicted from.

use rayon::prelude::*;
use relayout_contend::throughput::{Checks, Stretch, StretchLine};
use relayout_contend::{LineWaits, ObjectTrace, Replay, TraceAccess};
use relayout_layout::abi::Layout;

use super::{Scorer, stretches};
use crate::coverage::Coverage;
use crate::mapping::Mapping;
use crate::subject::Subject;

/// Stretches that the recording is cut into.
const STRETCHES: usize = 64;

/// Replays the recording of `subject` in stretches: as it is with today's layout, and with each of `changed` with a
/// check before the stores that are `guarded`.
pub fn waits_by_stretch(
    subject: Subject<'_>,
    guarded: impl Fn(&TraceAccess) -> bool,
    changed: &[&Layout],
) -> Vec<Vec<Stretch>> {
    let current = subject.shape.lay_out(&subject.shape.current());
    let coverage = Coverage::new(&subject, &current);
    let scorer = Scorer::new(subject, current.clone(), &coverage);
    let pieces = stretches(subject.instances, STRETCHES);
    let recorded: Vec<Piece> = { pieces.iter() }
        .map(|(object, accesses)| Piece::new(*object, accesses.to_vec()))
        .collect();
    let checked: Vec<Piece> = { pieces.iter() }
        .map(|(object, accesses)| Piece::new(*object, Checks::made(accesses, &guarded)))
        .collect();
    let today = scorer.waits(&recorded, &current);
    let without_change: Vec<Stretch> = { pieces.iter().zip(today) }
        .map(|((object, accesses), today)| Stretch {
            run: subject.instances[*object].run,
            today,
            changed: Vec::new(),
            checks: Checks::of(accesses, &guarded),
        })
        .collect();
    let with_change = |layout: &&Layout| {
        let mut stretches = without_change.clone();
        let waits = scorer.waits(&checked, layout);
        for (stretch, changed) in stretches.iter_mut().zip(waits) {
            stretch.changed = changed;
        }
        stretches
    };
    changed.par_iter().map(with_change).collect()
}

/// A part of what was recorded of one object.
struct Piece {
    /// Index of the instance.
    object: usize,
    replay: Replay,
}

impl Piece {
    fn new(object: usize, accesses: Vec<TraceAccess>) -> Self {
        let trace = ObjectTrace {
            accesses,
            ..ObjectTrace::default()
        };
        let replay = Replay::new(&trace);
        Self { object, replay }
    }
}

impl Scorer<'_> {
    /// By piece: who waits for what.
    fn waits(&self, pieces: &[Piece], layout: &Layout) -> Vec<Vec<StretchLine>> {
        let mapping = Mapping::new(self.subject.shape, &self.current, layout);
        let slots = self.slots(layout);
        let of_piece = |piece: &Piece| {
            let object = piece.object;
            let row = self.row(&self.subject.instances[object], layout);
            let (phase, mapping) = (slots[object].phase, mapping.clone().of_row(row));
            let lines = piece.replay.waits(phase, &mapping, self.subject.line_bytes);
            let line = |LineWaits { line, contexts }| StretchLine {
                object,
                line,
                contexts,
            };
            lines.into_iter().map(line).collect()
        };
        pieces.iter().map(of_piece).collect()
    }
}
