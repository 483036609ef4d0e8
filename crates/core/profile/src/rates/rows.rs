//! Rows of a profile that tell the objects and the code of a window in simulated time, so that they get names.

use std::collections::BTreeSet;

use super::SimulatedRates;
use crate::ids::{Addr, ContextId, RunId, SiteId};
use crate::model::{CountRow, Profile, Site};

/// Bytes of an access that does not tell.
const BYTES_DEFAULT: u8 = 8;

impl SimulatedRates {
    /// Puts the instructions and the accesses into a profile without a recording: site numbers are the indexes in
    /// [`SimulatedRates::sites`].
    pub fn fill_tables(&self, profile: &mut Profile) {
        let sites = self.sites.iter().map(|site| Site {
            pc: site.pc,
            bytes: site.code.clone(),
        });
        profile.sites = sites.collect();
        let counts = self.accesses.iter().map(|access| CountRow {
            run: RunId(0),
            addr: access.address,
            size: self.access_bytes(access.site),
            context: ContextId(0),
            site: SiteId(access.site as u32),
            access: access.kind,
            count: access.requests,
            silent: None,
        });
        profile.counts = counts.collect();
    }

    /// Returns the bytes that an instruction accesses.
    pub fn access_bytes(&self, site: usize) -> u8 {
        match self.sites.get(site).map_or(0, |site| site.bytes) {
            0 => BYTES_DEFAULT,
            bytes => bytes,
        }
    }

    /// Returns the starts of the pages of `page_bytes` bytes that were accessed, ascending.
    pub fn pages(&self, page_bytes: u64) -> BTreeSet<u64> {
        let starts = { self.accesses.iter() }.map(|access| access.address.align_down(page_bytes));
        starts.map(|Addr(start)| start).collect()
    }
}
