//! Going through a prepared trace under one placement.

use super::bits::Bits;
use super::contents::Contents;
use super::line::{Counted, Line};
use super::prepare::{Replay, Step, Users};
use super::scores::LineScores;
use super::{ByKind, ContextWaits, LineTally, LineWaits, Placement, Tally};

/// Accesses of which at least one in so many is on a line that has to be replayed are all gone through, rather
/// than those on the line found.
const DENSE_PART: u64 = 4;

impl Replay {
    /// As [`replay`](super::replay()).
    pub fn tally(&self, phase: u32, placement: &impl Placement, line_bytes: u32) -> Tally {
        let lines = self.lines(phase, placement, line_bytes);
        lines.into_iter().map(|line| line.tally).sum()
    }

    /// As [`replay_lines`](super::replay_lines).
    pub fn lines(&self, phase: u32, placement: &impl Placement, line_bytes: u32) -> Vec<LineTally> {
        self.lines_known(phase, placement, line_bytes, None)
    }

    /// Who used which line, and had to wait for it.
    pub fn waits(&self, phase: u32, placement: &impl Placement, line_bytes: u32) -> Vec<LineWaits> {
        self.on_lines(phase, placement, line_bytes, Count::Waits)
            .into_iter()
            .map(|line| LineWaits {
                line: line.line,
                contexts: self.by_context(&line),
            })
            .collect()
    }

    /// As [`Self::lines`]; what `scores` knows of lines is looked up.
    pub(super) fn lines_known(
        &self,
        phase: u32,
        placement: &impl Placement,
        line_bytes: u32,
        scores: Option<&LineScores<'_>>,
    ) -> Vec<LineTally> {
        self.on_lines(phase, placement, line_bytes, Count::Tallies(scores))
            .into_iter()
            .map(|line| LineTally {
                line: line.line,
                tally: line.counted.tally,
            })
            .collect()
    }

    fn on_lines(
        &self,
        phase: u32,
        placement: &impl Placement,
        line_bytes: u32,
        count: Count<'_>,
    ) -> Vec<OnLine> {
        let line_bytes = line_bytes.clamp(16, 256).next_power_of_two();
        match (self.contexts.len(), line_bytes) {
            (..=64, ..=64) => self.run::<1, 1>(phase, placement, line_bytes, count),
            (..=64, ..=128) => self.run::<1, 2>(phase, placement, line_bytes, count),
            (..=1024, _) => self.run::<16, 4>(phase, placement, line_bytes, count),
            // Every number that a context can have.
            _ => self.run::<1024, 4>(phase, placement, line_bytes, count),
        }
    }

    fn run<const C: usize, const B: usize>(
        &self,
        phase: u32,
        placement: &impl Placement,
        line_bytes: u32,
        count: Count<'_>,
    ) -> Vec<OnLine> {
        let all = Contents::<B>::of(&self.granules, phase, placement, line_bytes);
        let mut found: Vec<OnLine> = all.iter().map(OnLine::new).collect();
        // Numbers of the lines that have to be replayed.
        let mut wanted = Vec::new();
        let scores = match count {
            Count::Tallies(scores) => scores,
            Count::Waits => None,
        };
        for (number, contents) in all.iter().enumerate().filter(|(_, c)| self.can_conflict(c)) {
            match scores.and_then(|scores| scores.known(&contents.key())) {
                Some(tally) => found[number].counted.tally = tally,
                None => wanted.push(number),
            }
        }
        let contents: Vec<&Contents<B>> = wanted.iter().map(|number| &all[*number]).collect();
        let waits = matches!(count, Count::Waits);
        let counted = self.replay_lines::<C, B>(&contents, waits);
        for (number, counted) in wanted.iter().zip(counted) {
            if let Some(scores) = scores {
                scores.learn(
                    all[*number].key(),
                    counted.tally,
                    self.accesses(&all[*number]),
                );
            }
            found[*number].counted = counted;
        }
        found
    }

    fn can_conflict<const B: usize>(&self, contents: &Contents<B>) -> bool {
        let mut users = Users::default();
        for piece in &contents.pieces {
            users.join(&self.users[piece.granule as usize]);
        }
        users.can_conflict()
    }

    /// Accesses to a line with these contents.
    fn accesses<const B: usize>(&self, contents: &Contents<B>) -> u64 {
        let of = |granule: u32| self.places(granule).len() as u64;
        contents.pieces.iter().map(|piece| of(piece.granule)).sum()
    }

    fn replay_lines<const C: usize, const B: usize>(
        &self,
        all: &[&Contents<B>],
        waits: bool,
    ) -> Vec<Counted> {
        let line = |_| Line::<C, B>::new(self.contexts.len(), waits);
        let mut lines: Vec<Line<C, B>> = all.iter().map(line).collect();
        let pieces = Pieces::new(all, self.granules.len());
        let accesses: u64 = all.iter().map(|contents| self.accesses(contents)).sum();
        if accesses.saturating_mul(DENSE_PART) >= self.steps.len() as u64 {
            for step in &self.steps {
                visit(&mut lines, &pieces, *step);
            }
        } else {
            for (word, mut left) in self.marked(all).into_iter().enumerate() {
                while left != 0 {
                    let place = word * 64 + left.trailing_zeros() as usize;
                    visit(&mut lines, &pieces, self.steps[place]);
                    left &= left - 1;
                }
            }
        }
        lines.into_iter().map(Line::finish).collect()
    }

    /// By step, a bit: it is on one of the lines.
    fn marked<const B: usize>(&self, all: &[&Contents<B>]) -> Vec<u64> {
        let mut marked = vec![0; self.steps.len().div_ceil(64)];
        for piece in all.iter().flat_map(|contents| &contents.pieces) {
            for &place in self.places(piece.granule) {
                marked[place as usize / 64] |= 1 << (place % 64);
            }
        }
        marked
    }

    fn by_context(&self, line: &OnLine) -> Vec<ContextWaits> {
        let mut accesses = vec![ByKind::default(); self.contexts.len()];
        let places = line
            .granules
            .iter()
            .flat_map(|granule| self.places(*granule));
        for &place in places {
            let step = self.steps[place as usize];
            step.count(&mut accesses[usize::from(step.context)]);
        }
        let waits = |number: usize| line.counted.waits.get(number).copied().unwrap_or(0);
        let contexts = self.contexts.iter().zip(accesses).enumerate();
        let mut contexts: Vec<ContextWaits> = contexts
            .map(|(number, (&context, accesses))| ContextWaits {
                context,
                waits: waits(number),
                accesses,
            })
            .filter(|one| one.accesses.all() > 0)
            .collect();
        contexts.sort_unstable_by_key(|one| one.context);
        contexts
    }
}

/// One access on each line that it touches. Inlined into both loops: called, it makes replay an eighth slower.
#[inline(always)]
fn visit<const C: usize, const B: usize>(lines: &mut [Line<C, B>], pieces: &Pieces<B>, step: Step) {
    for &(line, bytes) in pieces.of(step.granule) {
        lines[line as usize].access(step.context.into(), bytes, step.kind());
    }
}

/// What is asked of each line.
#[derive(Clone, Copy)]
enum Count<'a> {
    /// How often it moves; that may be known.
    Tallies(Option<&'a LineScores<'a>>),
    /// Who waits for it.
    Waits,
}

/// A line and what it counted.
struct OnLine {
    line: u32,
    granules: Vec<u32>,
    counted: Counted,
}

impl OnLine {
    fn new<const B: usize>(contents: &Contents<B>) -> Self {
        Self {
            line: contents.line,
            granules: contents.pieces.iter().map(|piece| piece.granule).collect(),
            counted: Counted::default(),
        }
    }
}

/// By granule: which bytes of which lines it has.
struct Pieces<const B: usize> {
    all: Vec<(u32, Bits<B>)>,
    /// By granule: its first piece; one more entry at the end.
    first: Vec<u32>,
}

impl<const B: usize> Pieces<B> {
    fn new(lines: &[&Contents<B>], granules: usize) -> Self {
        let numbered = lines.iter().zip(0_u32..);
        let mut pieces: Vec<(u32, u32, Bits<B>)> = numbered
            .flat_map(|(contents, line)| {
                let pieces = contents.pieces.iter();
                pieces.map(move |piece| (piece.granule, line, piece.bytes))
            })
            .collect();
        pieces.sort_unstable_by_key(|(granule, line, _)| (*granule, *line));
        let mut first = vec![0; granules + 1];
        for (granule, _, _) in &pieces {
            first[*granule as usize + 1] += 1;
        }
        for granule in 0..granules {
            first[granule + 1] += first[granule];
        }
        Self {
            all: pieces
                .into_iter()
                .map(|(_, line, bytes)| (line, bytes))
                .collect(),
            first,
        }
    }

    #[inline]
    fn of(&self, granule: u32) -> &[(u32, Bits<B>)] {
        let granule = granule as usize;
        &self.all[self.first[granule] as usize..self.first[granule + 1] as usize]
    }
}
