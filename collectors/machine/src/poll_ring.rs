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
#[derive(Clone, Default, Debug)]
pub(crate) struct PollRing {
    lines: [Option<LoadedLine>; LINES],
    next: usize,
}

impl PollRing {
    #[inline]
    pub(crate) fn note_load(&mut self, loaded: LoadedLine) {
        let Some(place) = self.find(loaded.line) else {
            self.lines[self.next] = Some(loaded);
            self.next = (self.next + 1) % LINES;
            return;
        };
        let site = self.lines[place].and_then(|known| known.site);
        self.lines[place] = Some(LoadedLine {
            site: loaded.site.or(site),
            ..loaded
        });
    }

    /// Notes that the CPU itself changed a line whose version was `seen`, which is no reason to poll again.
    #[inline]
    pub(crate) fn note_own_store(&mut self, line: u64, seen: u32, version: u32) {
        if let Some(place) = self.find(line)
            && let Some(loaded) = &mut self.lines[place]
            && loaded.version == seen
        {
            loaded.version = version;
        }
    }

    #[inline]
    fn find(&self, line: u64) -> Option<usize> {
        let is_known = |loaded: &Option<LoadedLine>| loaded.is_some_and(|known| known.line == line);
        self.lines.iter().position(is_known)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = LoadedLine> {
        self.lines.into_iter().flatten()
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}
