//! Replay of a prepared trace under a placement.

use super::bits::BitSet;
use super::contents::LineContents;
use super::line::{CoherenceLine, LineCounts};
use super::prepare::{GranuleUsers, PackedAccess, PreparedTrace};
use super::scores::LineScores;
use super::{AccessCounts, BytePlacement, CoherenceTally, ContextWaits, LineTally, LineWaits};
use relayout_profile::ContextId;

/// All accesses are visited if at least one in this many is on a line that has to be replayed;
/// otherwise only those on such lines.
const DENSE_PART: u64 = 4;

impl PreparedTrace {
    /// Replays the trace as [`replay`](super::replay()) does.
    pub fn tally(
        &self,
        phase: u32,
        placement: &impl BytePlacement,
        line_bytes: u32,
    ) -> CoherenceTally {
        let lines = self.lines(phase, placement, line_bytes);
        lines.into_iter().map(|line| line.tally).sum()
    }

    /// Replays the trace as [`replay_lines`](super::replay_lines) does.
    pub fn lines(
        &self,
        phase: u32,
        placement: &impl BytePlacement,
        line_bytes: u32,
    ) -> Vec<LineTally> {
        self.lines_with_scores(phase, placement, line_bytes, None)
    }

    /// Replays the trace, and returns uses and waits of each line.
    pub fn waits(
        &self,
        phase: u32,
        placement: &impl BytePlacement,
        line_bytes: u32,
    ) -> Vec<LineWaits> {
        self.replay_by_line(phase, placement, line_bytes, LineQuery::Waits)
            .into_iter()
            .map(|line| LineWaits {
                line: line.line,
                contexts: self.waits_by_context(&line),
            })
            .collect()
    }

    /// Returns the same as [`Self::lines`]; lines that `scores` knows are looked up.
    pub(super) fn lines_with_scores(
        &self,
        phase: u32,
        placement: &impl BytePlacement,
        line_bytes: u32,
        scores: Option<&LineScores<'_>>,
    ) -> Vec<LineTally> {
        self.replay_by_line(phase, placement, line_bytes, LineQuery::Tallies(scores))
            .into_iter()
            .map(|line| LineTally {
                line: line.line,
                tally: line.counted.tally,
            })
            .collect()
    }

    fn replay_by_line(
        &self,
        phase: u32,
        placement: &impl BytePlacement,
        line_bytes: u32,
        count: LineQuery<'_>,
    ) -> Vec<LineResult> {
        let line_bytes = line_bytes.clamp(16, 256).next_power_of_two();
        match (self.contexts.len(), line_bytes) {
            (..=64, ..=64) => self.replay_sized::<1, 1>(phase, placement, line_bytes, count),
            (..=64, ..=128) => self.replay_sized::<1, 2>(phase, placement, line_bytes, count),
            (..=1024, _) => self.replay_sized::<16, 4>(phase, placement, line_bytes, count),
            // Every number that a context can have.
            _ => self.replay_sized::<1024, 4>(phase, placement, line_bytes, count),
        }
    }

    fn replay_sized<const C: usize, const B: usize>(
        &self,
        phase: u32,
        placement: &impl BytePlacement,
        line_bytes: u32,
        count: LineQuery<'_>,
    ) -> Vec<LineResult> {
        let all_contents =
            LineContents::<B>::from_granules(&self.granules, phase, placement, line_bytes);
        let mut found: Vec<LineResult> = all_contents.iter().map(LineResult::new).collect();
        // Numbers of the lines that have to be replayed.
        let mut wanted = Vec::new();
        let scores = match count {
            LineQuery::Tallies(scores) => scores,
            LineQuery::Waits => None,
        };
        for (number, contents) in all_contents
            .iter()
            .enumerate()
            .filter(|(_, c)| self.can_conflict(c))
        {
            match scores.and_then(|scores| scores.lookup(&contents.key())) {
                Some(tally) => found[number].counted.tally = tally,
                None => wanted.push(number),
            }
        }
        let contents: Vec<&LineContents<B>> =
            wanted.iter().map(|number| &all_contents[*number]).collect();
        let waits = matches!(count, LineQuery::Waits);
        let counted = self.replay_lines::<C, B>(&contents, waits);
        for (number, counted) in wanted.iter().zip(counted) {
            if let Some(scores) = scores {
                scores.learn(
                    all_contents[*number].key(),
                    counted.tally,
                    self.access_count_on(&all_contents[*number]),
                );
            }
            found[*number].counted = counted;
        }
        found
    }

    fn can_conflict<const B: usize>(&self, contents: &LineContents<B>) -> bool {
        let mut users = GranuleUsers::default();
        for piece in &contents.pieces {
            users.join(&self.users[piece.granule as usize]);
        }
        users.can_conflict()
    }

    /// Returns the number of accesses to a line with these contents.
    fn access_count_on<const B: usize>(&self, contents: &LineContents<B>) -> u64 {
        let access_count = |granule: u32| self.steps_of(granule).len() as u64;
        contents
            .pieces
            .iter()
            .map(|piece| access_count(piece.granule))
            .sum()
    }

    fn replay_lines<const C: usize, const B: usize>(
        &self,
        wanted_contents: &[&LineContents<B>],
        waits: bool,
    ) -> Vec<LineCounts> {
        let line = |_| CoherenceLine::<C, B>::new(self.contexts.len(), waits);
        let mut lines: Vec<CoherenceLine<C, B>> = wanted_contents.iter().map(line).collect();
        let pieces = GranuleLines::new(wanted_contents, self.granules.len());
        let accesses: u64 = wanted_contents
            .iter()
            .map(|contents| self.access_count_on(contents))
            .sum();
        if accesses.saturating_mul(DENSE_PART) >= self.steps.len() as u64 {
            for step in &self.steps {
                visit(&mut lines, &pieces, *step);
            }
        } else {
            for (word, mut left) in self.mark_steps(wanted_contents).into_iter().enumerate() {
                while left != 0 {
                    let place = word * 64 + left.trailing_zeros() as usize;
                    visit(&mut lines, &pieces, self.steps[place]);
                    left &= left - 1;
                }
            }
        }
        lines.into_iter().map(CoherenceLine::finish).collect()
    }

    /// Returns a bit for each step: whether it is on one of the lines.
    fn mark_steps<const B: usize>(&self, wanted_contents: &[&LineContents<B>]) -> Vec<u64> {
        let mut marked = vec![0; self.steps.len().div_ceil(64)];
        for piece in wanted_contents.iter().flat_map(|contents| &contents.pieces) {
            for &place in self.steps_of(piece.granule) {
                marked[place as usize / 64] |= 1 << (place % 64);
            }
        }
        marked
    }

    fn waits_by_context(&self, line: &LineResult) -> Vec<ContextWaits> {
        let mut accesses = vec![AccessCounts::default(); self.contexts.len()];
        let places = line
            .granules
            .iter()
            .flat_map(|granule| self.steps_of(*granule));
        for &place in places {
            let step = self.steps[place as usize];
            step.count(&mut accesses[usize::from(step.context)]);
        }
        let waits = |number: usize| line.counted.waits.get(number).copied().unwrap_or(0);
        let contexts = self.contexts.iter().zip(accesses).enumerate();
        let mut contexts: Vec<ContextWaits> = contexts
            .map(|(number, (&context, accesses))| ContextWaits {
                context: ContextId(context),
                waits: waits(number),
                accesses,
            })
            .filter(|context_waits| context_waits.accesses.total() > 0)
            .collect();
        contexts.sort_unstable_by_key(|context_waits| context_waits.context);
        contexts
    }
}

/// Processes an access on each line that it touches. Inlined into both loops: as a call, it makes
/// replay an eighth slower.
#[inline(always)]
fn visit<const C: usize, const B: usize>(
    lines: &mut [CoherenceLine<C, B>],
    pieces: &GranuleLines<B>,
    step: PackedAccess,
) {
    for &(line, bytes) in pieces.parts_of(step.granule) {
        lines[line as usize].access(step.context.into(), bytes, step.kind());
    }
}

/// Counts wanted of each line.
#[derive(Clone, Copy)]
enum LineQuery<'a> {
    /// Tallies, which may be known.
    Tallies(Option<&'a LineScores<'a>>),
    /// Waits by context.
    Waits,
}

/// A line and its counts.
struct LineResult {
    line: u32,
    granules: Vec<u32>,
    counted: LineCounts,
}

impl LineResult {
    fn new<const B: usize>(contents: &LineContents<B>) -> Self {
        Self {
            line: contents.line,
            granules: contents.pieces.iter().map(|piece| piece.granule).collect(),
            counted: LineCounts::default(),
        }
    }
}

/// Lines of each granule, with its bytes on them.
struct GranuleLines<const B: usize> {
    parts: Vec<(u32, BitSet<B>)>,
    /// First part by granule, and an entry for the end.
    first: Vec<u32>,
}

impl<const B: usize> GranuleLines<B> {
    fn new(lines: &[&LineContents<B>], granules: usize) -> Self {
        let numbered = lines.iter().zip(0_u32..);
        let mut pieces: Vec<(u32, u32, BitSet<B>)> = numbered
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
            parts: pieces
                .into_iter()
                .map(|(_, line, bytes)| (line, bytes))
                .collect(),
            first,
        }
    }

    #[inline]
    fn parts_of(&self, granule: u32) -> &[(u32, BitSet<B>)] {
        let granule = granule as usize;
        &self.parts[self.first[granule] as usize..self.first[granule + 1] as usize]
    }
}
