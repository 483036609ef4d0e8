//! Rows of a profile that tell the objects and the code of a window in simulated time, so that they get names.

use std::collections::BTreeSet;

use super::{SimulatedRates, SiteRates};
use crate::ids::{Addr, ContextId, RunId, SiteId};
use crate::merge::{Error, numbers_of, unify_sites};
use crate::model::{CountRow, Profile, Site, WaitRow};

/// Bytes of an access that does not tell.
const BYTES_DEFAULT: u8 = 8;

impl SiteRates {
    fn as_site(&self) -> Site {
        Site {
            pc: self.pc,
            bytes: self.code.clone(),
        }
    }
}

impl SimulatedRates {
    /// Puts the instructions and the accesses into a profile without a recording: site numbers are the indexes in
    /// [`SimulatedRates::sites`].
    pub fn fill_tables(&self, profile: &mut Profile) {
        profile.sites = self.sites.iter().map(SiteRates::as_site).collect();
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

    /// Adds what CPUs waited for to a recording, whose sites are found by address and bytes.
    ///
    /// # Errors
    /// More sites than a profile can number.
    pub fn add_waits(&self, profile: &mut Profile) -> Result<(), Error> {
        let mut known = numbers_of(&profile.sites);
        let sites = self.sites.iter().map(SiteRates::as_site).collect();
        let numbers = unify_sites(&mut profile.sites, &mut known, sites)?;
        let mut waits: Vec<WaitRow> = { self.accesses.iter() }
            .map(|access| WaitRow {
                run: RunId(0),
                addr: access.address,
                size: self.access_bytes(access.site),
                site: numbers[access.site],
                access: access.kind,
                requests: access.requests,
                misses: access.misses,
                wait_ps: access.wait_ps,
            })
            .collect();
        waits.sort_by_key(|row| (row.addr, row.size, row.site, row.access as u8));
        profile.waits = waits;
        Ok(())
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
