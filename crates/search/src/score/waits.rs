//! What contexts wait for, today and with another layout: what throughput is predicted from.

use rayon::prelude::*;
use relayout_contend::throughput::{Stretch, StretchLine};
use relayout_contend::{LineWaits, ObjectTrace, Replay};
use relayout_layout::abi::Layout;

use super::{Scorer, stretches};
use crate::coverage::Coverage;
use crate::mapping::Mapping;
use crate::subject::Subject;

/// Stretches that the recording is cut into.
const STRETCHES: usize = 64;

/// Replays the recording of `subject` in stretches, with today's layout and with each of `changed`.
pub fn waits_by_stretch(subject: Subject<'_>, changed: &[&Layout]) -> Vec<Vec<Stretch>> {
    let current = subject.shape.lay_out(&subject.shape.current());
    let coverage = Coverage::new(&subject, &current);
    let scorer = Scorer::new(subject, current.clone(), &coverage);
    let pieces = stretches(subject.instances, STRETCHES).into_iter();
    let runs: Vec<u16> = pieces
        .map(|(object, _)| subject.instances[object].run)
        .collect();
    let mut layouts = vec![&current];
    layouts.extend(changed);
    let waits = scorer.waits(&layouts);
    let Some((today, changed)) = waits.split_first() else {
        return Vec::new();
    };
    let both = |changed: &Vec<Vec<StretchLine>>| {
        let pairs = today.iter().cloned().zip(changed.iter().cloned());
        let stretch = |((today, changed), run): (_, &u16)| Stretch {
            run: *run,
            today,
            changed,
        };
        pairs.zip(&runs).map(stretch).collect()
    };
    changed.iter().map(both).collect()
}

impl Scorer<'_> {
    /// By layout, by stretch.
    fn waits(&self, layouts: &[&Layout]) -> Vec<Vec<Vec<StretchLine>>> {
        let pieces: Vec<(usize, Replay)> = stretches(self.subject.instances, STRETCHES)
            .into_iter()
            .map(|(object, accesses)| {
                let accesses = accesses.to_vec();
                let piece = ObjectTrace {
                    accesses,
                    ..ObjectTrace::default()
                };
                (object, Replay::new(&piece))
            })
            .collect();
        layouts
            .par_iter()
            .map(|layout| {
                let mapping = Mapping::new(self.subject.shape, &self.current, layout);
                let slots = self.slots(layout);
                let of_piece = |(object, piece): &(usize, Replay)| {
                    let row = self.row(&self.subject.instances[*object], layout);
                    let mapping = mapping.clone().of_row(row);
                    let lines =
                        piece.waits(slots[*object].phase, &mapping, self.subject.line_bytes);
                    let line = |LineWaits { line, contexts }| StretchLine {
                        object: *object,
                        line,
                        contexts,
                    };
                    lines.into_iter().map(line).collect()
                };
                pieces.iter().map(of_piece).collect()
            })
            .collect()
    }
}
