//! All lines that were accessed.

use alloc::vec::Vec;

use crate::core_map::CoreMap;
use crate::counts::SharedLineCounts;
use crate::index_table::IndexTable;
use crate::protocol::CopyState;
use crate::request::LineNumber;
use crate::shared_line::{LineCopies, SharedLine};

/// No index of a [`SharedLine`].
const PRIVATE: u32 = u32::MAX;

/// A line in the table. Most lines are used by one CPU and need no more.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct LineEntry {
    /// CPU that used the line first.
    pub cpu: u16,
    /// It stored to it.
    pub is_stored: bool,
    shared: u32,
}

impl LineEntry {
    /// Returns the index of the line's full state.
    #[inline]
    pub(crate) fn shared(self) -> Option<usize> {
        (self.shared != PRIVATE).then_some(self.shared as usize)
    }
}

/// Lines by number. Nothing is removed.
#[derive(Clone, Debug)]
pub(crate) struct LineTable {
    entries: IndexTable<LineEntry>,
    shared: Vec<SharedLine>,
}

impl LineTable {
    pub(crate) fn new() -> Self {
        Self {
            entries: IndexTable::default(),
            shared: Vec::new(),
        }
    }

    #[inline]
    pub(crate) fn entry(&self, line: LineNumber) -> Option<LineEntry> {
        self.entries.get(line.0)
    }

    /// Returns the entry of a line, which a CPU has alone if it is new.
    #[inline]
    pub(crate) fn entry_or_first(&mut self, line: LineNumber, cpu: usize) -> &mut LineEntry {
        let first = LineEntry {
            cpu: cpu as u16,
            is_stored: false,
            shared: PRIVATE,
        };
        self.entries.get_or_insert(line.0, first)
    }

    /// Returns the index of the line's full state, which is made here if there is none, and in the counts.
    pub(crate) fn shared_index(
        &mut self,
        line: LineNumber,
        cpu: usize,
        cores: &CoreMap,
        counts: &mut Vec<SharedLineCounts>,
    ) -> usize {
        let next = self.shared.len();
        let entry = self.entry_or_first(line, cpu);
        if let Some(index) = entry.shared() {
            return index;
        }
        entry.shared = next as u32;
        let state = match entry.is_stored {
            true => CopyState::Modified,
            false => CopyState::Exclusive,
        };
        let copies = LineCopies::alone(cores.core_of(usize::from(entry.cpu)), state);
        let mut shared = SharedLine::new(line, copies, entry.is_stored);
        // When it was used is not known, and nothing depends on it but whether the next hit is ordered.
        shared.note_use(usize::from(entry.cpu), entry.is_stored, shared.free_at);
        self.shared.push(shared);
        counts.push(SharedLineCounts::new(line));
        next
    }

    #[inline]
    pub(crate) fn line(&self, index: usize) -> &SharedLine {
        &self.shared[index]
    }

    #[inline]
    pub(crate) fn line_mut(&mut self, index: usize) -> &mut SharedLine {
        &mut self.shared[index]
    }
}
