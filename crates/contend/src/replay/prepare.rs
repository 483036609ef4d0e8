//! A trace made ready to be replayed thousands of times.

use std::collections::hash_map::Entry;

use relayout_profile::Access;
use rustc_hash::FxHashMap;

use super::bits::Bits;
use super::machine::{Kind, Machine};
use super::{LineTally, ObjectTrace, Placement, Tally, TraceAccess};

/// An [`ObjectTrace`] ready to be replayed with many placements.
///
/// Contexts and granules (distinct offset and size) are numbered densely, and accesses that cannot
/// matter under any placement are left out: while one context alone accesses the object, nobody
/// else's copies change, so its second load of a granule, or its second store, does nothing that
/// the first did not.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Offset and size, by granule.
    granules: Vec<(u32, u8)>,
    steps: Vec<Step>,
    contexts: usize,
}

/// One access, packed: 8 bytes.
#[derive(Clone, Copy, Debug)]
struct Step {
    granule: u32,
    context: u16,
    kind: u8,
}

const LOAD: u8 = 0;
const STORE: u8 = 1;
const SILENT_STORE: u8 = 2;

/// The bytes of one granule that fall on one line.
struct Piece<const B: usize> {
    line: u32,
    bytes: Bits<B>,
}

/// Where all granules fall under one placement.
struct Map<const B: usize> {
    pieces: Vec<Piece<B>>,
    /// By granule: its first piece; one more entry at the end.
    first_piece: Vec<u32>,
    /// Lines from the one that holds the object's first byte, ascending; pieces index this.
    lines: Vec<u32>,
}

impl Replay {
    /// Prepares `trace`.
    pub fn new(trace: &ObjectTrace) -> Self {
        let mut builder = Builder::default();
        for access in &trace.accesses {
            builder.push(access);
        }
        Self {
            granules: builder.granules,
            steps: builder.steps,
            contexts: builder.contexts.len(),
        }
    }

    /// As [`replay`](super::replay()).
    pub fn tally(&self, phase: u32, placement: &impl Placement, line_bytes: u32) -> Tally {
        self.lines(phase, placement, line_bytes)
            .into_iter()
            .map(|line| line.tally)
            .sum()
    }

    /// As [`replay_lines`](super::replay_lines).
    pub fn lines(&self, phase: u32, placement: &impl Placement, line_bytes: u32) -> Vec<LineTally> {
        let line_bytes = line_bytes.clamp(16, 256).next_power_of_two();
        match (self.contexts, line_bytes) {
            (..=64, ..=64) => self.run::<1, 1>(phase, placement, line_bytes),
            (..=64, ..=128) => self.run::<1, 2>(phase, placement, line_bytes),
            (..=1024, _) => self.run::<16, 4>(phase, placement, line_bytes),
            // Every number that a context can have.
            _ => self.run::<1024, 4>(phase, placement, line_bytes),
        }
    }

    /// Accesses that a replay goes through; those that cannot matter are not among them.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    fn run<const C: usize, const B: usize>(
        &self,
        phase: u32,
        placement: &impl Placement,
        line_bytes: u32,
    ) -> Vec<LineTally> {
        let map = self.map::<B>(phase, placement, line_bytes);
        let mut machine = Machine::<C, B>::new(map.lines.len(), self.contexts);
        for step in &self.steps {
            let granule = step.granule as usize;
            let pieces = map.first_piece[granule] as usize..map.first_piece[granule + 1] as usize;
            let kind = match step.kind {
                LOAD => Kind::Load,
                STORE => Kind::Store,
                _ => Kind::SilentStore,
            };
            for piece in &map.pieces[pieces] {
                machine.access(piece.line as usize, step.context.into(), piece.bytes, kind);
            }
        }
        let tallies = machine.finish();
        map.lines
            .iter()
            .zip(tallies)
            .map(|(&line, tally)| LineTally { line, tally })
            .collect()
    }

    fn map<const B: usize>(
        &self,
        phase: u32,
        placement: &impl Placement,
        line_bytes: u32,
    ) -> Map<B> {
        let phase = phase % line_bytes;
        let mut pieces: Vec<Piece<B>> = Vec::with_capacity(self.granules.len());
        let mut first_piece = Vec::with_capacity(self.granules.len() + 1);
        for &(offset, size) in &self.granules {
            let first = pieces.len();
            first_piece.push(first as u32);
            for byte in 0..u32::from(size) {
                let at = u64::from(placement.place(offset.saturating_add(byte)));
                let at = at + u64::from(phase);
                let line = (at / u64::from(line_bytes)) as u32;
                let bit = (at % u64::from(line_bytes)) as usize;
                match pieces[first..].iter_mut().find(|piece| piece.line == line) {
                    Some(piece) => piece.bytes.insert(bit),
                    None => pieces.push(Piece {
                        line,
                        bytes: Bits::one(bit),
                    }),
                }
            }
        }
        first_piece.push(pieces.len() as u32);
        let mut lines: Vec<u32> = pieces.iter().map(|piece| piece.line).collect();
        lines.sort_unstable();
        lines.dedup();
        for piece in &mut pieces {
            // Every line is in `lines`: it was made of them.
            piece.line = lines.partition_point(|&line| line < piece.line) as u32;
        }
        Map {
            pieces,
            first_piece,
            lines,
        }
    }
}

/// Numbers contexts and granules, and leaves out what cannot matter.
#[derive(Default)]
struct Builder {
    granules: Vec<(u32, u8)>,
    /// By granule: the turn in which it was last accessed, and the kinds of access since (bits).
    done: Vec<(u32, u8)>,
    granule_ids: FxHashMap<(u32, u8), u32>,
    contexts: FxHashMap<u16, u16>,
    steps: Vec<Step>,
    /// Counts the changes from one context to another.
    turn: u32,
    last_context: Option<u16>,
}

impl Builder {
    fn push(&mut self, access: &TraceAccess) {
        if self.last_context != Some(access.context) {
            self.last_context = Some(access.context);
            self.turn += 1;
        }
        let granule = self.granule(access.offset, access.size);
        let kind = match (access.access, access.silent) {
            (Access::Read, _) => LOAD,
            (_, Some(true)) => SILENT_STORE,
            _ => STORE,
        };
        let (turn, done) = &mut self.done[granule as usize];
        if *turn != self.turn {
            (*turn, *done) = (self.turn, 0);
        }
        // A store makes up for later loads and silent stores, a silent store for later loads.
        let made_up = match kind {
            LOAD => *done != 0,
            SILENT_STORE => *done & (1 << STORE | 1 << SILENT_STORE) != 0,
            _ => *done & (1 << STORE) != 0,
        };
        if made_up {
            return;
        }
        *done |= 1 << kind;
        let context = self.context(access.context);
        self.steps.push(Step {
            granule,
            context,
            kind,
        });
    }

    fn granule(&mut self, offset: u32, size: u8) -> u32 {
        match self.granule_ids.entry((offset, size)) {
            Entry::Occupied(id) => *id.get(),
            Entry::Vacant(place) => {
                let id = self.granules.len() as u32;
                self.granules.push((offset, size));
                self.done.push((0, 0));
                *place.insert(id)
            }
        }
    }

    fn context(&mut self, context: u16) -> u16 {
        // At most as many as there are numbers, so the count always fits.
        let next = self.contexts.len() as u16;
        *self.contexts.entry(context).or_insert(next)
    }
}
