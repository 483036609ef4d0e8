//! Lines that a CPU loaded since its last pause, which are those that a poll waits for.

const LINES: usize = 8;

/// A loaded line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LoadedLine {
    pub line: u64,
    /// Version of the line that the load saw.
    pub version: u32,
    /// Index of the site of the last plain load that was requested.
    pub site: Option<u32>,
}

/// Last eight different lines that were loaded. A line that is loaded again counts as the last one: what a poll waits for
/// was loaded first, and again behind all else that its loop loads.
#[derive(Clone, Debug)]
pub(crate) struct PollRing {
    /// Numbers of the lines, apart from the rest so that all are compared at once.
    lines: [u64; LINES],
    loads: [LoadedLine; LINES],
    /// Count of loads at the last one of each line, from 1.
    loaded_at: [u64; LINES],
    count: u64,
}

/// Number of no line.
const NO_LINE: u64 = u64::MAX;

impl Default for PollRing {
    fn default() -> Self {
        let none = LoadedLine {
            line: NO_LINE,
            version: 0,
            site: None,
        };
        Self {
            lines: [NO_LINE; LINES],
            loads: [none; LINES],
            loaded_at: [0; LINES],
            count: 0,
        }
    }
}

impl PollRing {
    #[inline]
    pub(crate) fn note_load(&mut self, loaded: LoadedLine) {
        let place = self.find(loaded.line).unwrap_or_else(|| {
            let place = self.oldest();
            self.lines[place] = loaded.line;
            self.loads[place].site = None;
            place
        });
        let site = loaded.site.or(self.loads[place].site);
        self.loads[place] = LoadedLine { site, ..loaded };
        self.count += 1;
        self.loaded_at[place] = self.count;
    }

    fn oldest(&self) -> usize {
        let places = self.loaded_at.iter().enumerate();
        places
            .min_by_key(|(_, at)| **at)
            .map_or(0, |(place, _)| place)
    }

    /// Notes that the CPU itself changed a line whose version was `seen`, which is no reason to poll again.
    #[inline]
    pub(crate) fn note_own_store(&mut self, line: u64, seen: u32, version: u32) {
        if let Some(place) = self.find(line)
            && self.loads[place].version == seen
        {
            self.loads[place].version = version;
        }
    }

    #[inline]
    fn find(&self, line: u64) -> Option<usize> {
        let mut found = 0;
        for (place, &known) in self.lines.iter().enumerate() {
            found |= u32::from(known == line) << place;
        }
        (found != 0).then(|| found.trailing_zeros() as usize)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = LoadedLine> {
        self.loads.into_iter().filter(|load| load.line != NO_LINE)
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn load(ring: &mut PollRing, line: u64) {
        ring.note_load(LoadedLine {
            line,
            version: 0,
            site: None,
        });
    }

    #[test]
    fn a_line_that_is_loaded_again_outlives_those_loaded_once() {
        let mut ring = PollRing::default();
        for line in 1..=LINES as u64 {
            load(&mut ring, line);
        }
        load(&mut ring, 1);
        load(&mut ring, 100);
        let mut lines: Vec<u64> = ring.iter().map(|loaded| loaded.line).collect();
        lines.sort_unstable();
        assert_eq!(lines, [1, 3, 4, 5, 6, 7, 8, 100]);
    }
}
