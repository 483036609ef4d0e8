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

/// Last eight different lines that were loaded.
#[derive(Clone, Debug)]
pub(crate) struct PollRing {
    /// Numbers of the lines, apart from the rest so that all are compared at once.
    lines: [u64; LINES],
    loads: [LoadedLine; LINES],
    next: usize,
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
            next: 0,
        }
    }
}

impl PollRing {
    #[inline]
    pub(crate) fn note_load(&mut self, loaded: LoadedLine) {
        let place = self.find(loaded.line).unwrap_or_else(|| {
            let place = self.next;
            self.next = (place + 1) % LINES;
            self.lines[place] = loaded.line;
            self.loads[place].site = None;
            place
        });
        let site = loaded.site.or(self.loads[place].site);
        self.loads[place] = LoadedLine { site, ..loaded };
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
