//! Candidates that the recording can judge.
//!
//! A trace holds all accesses only of bytes in recorded regions. A candidate that brings two
//! members onto one line which were never recorded together is not judged, unless one of them was
//! recorded and never accessed.

use relayout_contend::ObjectTrace;
use relayout_layout::abi::StructLayout;

use crate::subject::{AdviceSubject, RecordedInstance};

/// Recorded and accessed atoms of a type, and the pairs that may share a line.
pub struct AtomCoverage {
    /// By atom: whether it was recorded in some trace.
    pub recorded: Vec<bool>,
    /// By atom: whether it was accessed in some trace.
    pub accessed: Vec<bool>,
    /// Pairs of atoms that must not newly share a line: both were accessed, and never recorded
    /// together.
    unjudged_pairs: Vec<(usize, usize)>,
}

impl AtomCoverage {
    /// Collects the coverage from the traces of `subject`; `current` is its compiled layout.
    pub fn new(subject: &AdviceSubject<'_>, current: &StructLayout) -> Self {
        let atoms = current.places.len();
        let mut recorded = vec![false; atoms];
        let mut accessed = vec![false; atoms];
        let mut judged = vec![false; atoms * atoms];
        for instance in subject.instances {
            let here: Vec<usize> = (0..atoms)
                .filter(|atom| covers(&instance.trace, current, *atom))
                .collect();
            for &a in &here {
                recorded[a] = true;
                here.iter().for_each(|&b| judged[a * atoms + b] = true);
            }
            let by_byte = accessed_bytes(instance, current.size);
            for (atom, place) in current.places.iter().enumerate() {
                let end = if atom + 1 == atoms {
                    current.size.max(place.end)
                } else {
                    place.end
                };
                let range = place.offset as usize..(end as usize).min(by_byte.len());
                accessed[atom] |= by_byte
                    .get(range)
                    .is_some_and(|bytes| bytes.contains(&true));
            }
        }
        let cold = |atom: usize| recorded[atom] && !accessed[atom];
        let mut unjudged_pairs = Vec::new();
        for a in (0..atoms).filter(|a| !cold(*a)) {
            for b in (a + 1..atoms).filter(|b| !cold(*b)) {
                if !judged[a * atoms + b] {
                    unjudged_pairs.push((a, b));
                }
            }
        }
        Self {
            recorded,
            accessed,
            unjudged_pairs,
        }
    }

    /// Returns true if no two atoms share a line in `new` that were not recorded together. `phases`
    /// returns the objects' addresses modulo the line, before and after.
    pub fn can_judge(
        &self,
        current: &StructLayout,
        new: &StructLayout,
        phases: impl FnOnce() -> Vec<(u32, u32)>,
        line_bytes: u32,
    ) -> bool {
        if self.unjudged_pairs.is_empty() {
            return true;
        }
        phases().iter().all(|(old_phase, new_phase)| {
            let before = lines_of_atoms(current, *old_phase, line_bytes);
            let after = lines_of_atoms(new, *new_phase, line_bytes);
            let mut pairs = self.unjudged_pairs.iter();
            pairs.all(|&(a, b)| !share_line(after[a], after[b]) || share_line(before[a], before[b]))
        })
    }
}

fn covers(trace: &ObjectTrace, layout: &StructLayout, atom: usize) -> bool {
    let place = &layout.places[atom];
    trace.covered.iter().any(|range| {
        u64::from(range.start) <= place.offset
            && place.end <= u64::from(range.end).max(place.offset)
    })
}

/// Tells for each byte of the struct whether it was accessed.
fn accessed_bytes(instance: &RecordedInstance, size: u64) -> Vec<bool> {
    let mut bytes = vec![false; usize::try_from(size).unwrap_or(0)];
    for access in &instance.trace.accesses {
        let (_, offset) = instance.locate(access.offset);
        let start = (offset as usize).min(bytes.len());
        let end = (offset as usize + usize::from(access.size)).min(bytes.len());
        bytes[start..end].fill(true);
    }
    bytes
}

/// Returns the first and last line of each atom.
fn lines_of_atoms(layout: &StructLayout, phase: u32, line_bytes: u32) -> Vec<(u64, u64)> {
    let line = u64::from(line_bytes.max(1));
    let line_of_byte = |byte: u64| (byte + u64::from(phase)) / line;
    layout
        .places
        .iter()
        .map(|at| {
            (
                line_of_byte(at.offset),
                line_of_byte(at.end.max(at.offset + 1) - 1),
            )
        })
        .collect()
}

fn share_line(a: (u64, u64), b: (u64, u64)) -> bool {
    a.0 <= b.1 && b.0 <= a.1
}
