//! Counts, cut at line boundaries.

use relayout_profile::{AccessKind, Addr, ContextId, CountRow, SiteId};

/// Accesses by one context and site to bytes of one line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RateRow {
    pub context: ContextId,
    pub site: SiteId,
    pub access: AccessKind,
    pub addr: Addr,
    pub size: u8,
    pub count: f64,
    /// Stores that changed bytes, as far as known.
    pub changing: f64,
}

impl RateRow {
    /// Returns the parts of a count on its lines: one, or two if it straddles.
    pub fn split_at_lines(row: &CountRow, line_bytes: u64) -> impl Iterator<Item = Self> {
        let first_end = row.addr.align_down(line_bytes) + (line_bytes - 1);
        let last = row.addr.saturating_add(u64::from(row.size).max(1) - 1);
        let stores = row.access != AccessKind::Read;
        let silent = row.silent.unwrap_or(0).min(row.count);
        let part = move |addr: Addr, last: Addr| Self {
            context: row.context,
            site: row.site,
            access: row.access,
            addr,
            size: (last - addr + 1) as u8,
            count: row.count as f64,
            changing: if stores {
                (row.count - silent) as f64
            } else {
                0.0
            },
        };
        let second = (last > first_end).then(|| part(first_end + 1, last));
        std::iter::once(part(row.addr, last.min(first_end))).chain(second)
    }

    pub fn line_addr(&self, line_bytes: u64) -> Addr {
        self.addr.align_down(line_bytes)
    }

    pub fn is_store(&self) -> bool {
        self.access != AccessKind::Read
    }

    pub fn overlaps(&self, other: &Self) -> bool {
        let end = |row: &Self| row.addr.saturating_add(u64::from(row.size));
        self.addr < end(other) && other.addr < end(self)
    }
}
