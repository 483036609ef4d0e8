//! Waits of contexts today and with another layout: the input of a throughput prediction.

use rayon::prelude::*;
use relayout_contend::throughput::{GuardCounts, ReplayedStretch, StretchLine};
use relayout_contend::{LineWaits, ObjectTrace, PreparedTrace, TraceAccess};
use relayout_layout::abi::StructLayout;

use super::{LayoutScorer, stretches};
use crate::coverage::AtomCoverage;
use crate::mapping::OffsetMapping;
use crate::subject::AdviceSubject;

/// Number of stretches that the recording is cut into.
const STRETCHES: usize = 64;

/// Replays the recording of `subject` in stretches: as it is with today's layout, and with each of
/// `changed` with a guard before the stores that are `guarded`.
pub fn waits_by_stretch(
    subject: AdviceSubject<'_>,
    guarded: impl Fn(&TraceAccess) -> bool,
    changed: &[&StructLayout],
) -> Vec<Vec<ReplayedStretch>> {
    let current = subject.shape.lay_out(&subject.shape.current_arrangement());
    let coverage = AtomCoverage::new(&subject, &current);
    let scorer = LayoutScorer::new(subject, current.clone(), &coverage);
    let pieces = stretches(subject.instances, STRETCHES);
    let recorded: Vec<TracePiece> = { pieces.iter() }
        .map(|(object, accesses)| TracePiece::new(*object, accesses.to_vec()))
        .collect();
    let checked: Vec<TracePiece> = { pieces.iter() }
        .map(|(object, accesses)| {
            TracePiece::new(*object, GuardCounts::guarded_accesses(accesses, &guarded))
        })
        .collect();
    let today = scorer.waits_by_piece(&recorded, &current);
    let without_change: Vec<ReplayedStretch> = { pieces.iter().zip(today) }
        .map(|((object, accesses), today)| ReplayedStretch {
            run: subject.instances[*object].recording,
            today,
            changed: Vec::new(),
            guards: GuardCounts::by_context(accesses, &guarded),
        })
        .collect();
    let with_change = |layout: &&StructLayout| {
        let mut stretches = without_change.clone();
        let waits = scorer.waits_by_piece(&checked, layout);
        for (stretch, changed) in stretches.iter_mut().zip(waits) {
            stretch.changed = changed;
        }
        stretches
    };
    changed.par_iter().map(with_change).collect()
}

/// A part of an object's trace.
struct TracePiece {
    /// Index of the instance.
    object: usize,
    replay: PreparedTrace,
}

impl TracePiece {
    fn new(object: usize, accesses: Vec<TraceAccess>) -> Self {
        let trace = ObjectTrace {
            accesses,
            ..ObjectTrace::default()
        };
        let replay = PreparedTrace::new(&trace);
        Self { object, replay }
    }
}

impl LayoutScorer<'_> {
    /// Returns the waits on each line by piece.
    fn waits_by_piece(
        &self,
        pieces: &[TracePiece],
        layout: &StructLayout,
    ) -> Vec<Vec<StretchLine>> {
        let mapping = OffsetMapping::new(self.subject.shape, &self.current, layout);
        let slots = self.slots(layout);
        let of_piece = |piece: &TracePiece| {
            let object = piece.object;
            let mapping = self.with_row_of(mapping.clone(), object, layout);
            let phase = slots[object].phase;
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
