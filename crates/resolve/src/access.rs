//! The distinct accesses of a profile.

use relayout_profile::{Access, Profile};
use rustc_hash::FxHashMap;

use crate::Error;

/// Who accessed what; how often is kept beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccessKey {
    /// Recording.
    pub run: u16,
    /// First byte.
    pub addr: u64,
    /// Index of the site.
    pub site: u32,
    /// Bytes.
    pub size: u8,
    /// It stores (a read-modify-write too).
    pub writes: bool,
}

/// Every access that any table names, with how often it was seen, in ascending order.
///
/// # Errors
/// A row names a site that is not there.
pub fn distinct(profile: &Profile) -> Result<Vec<(AccessKey, u64)>, Error> {
    let mut seen: FxHashMap<AccessKey, u64> = FxHashMap::default();
    let mut add = |run, addr, size, site, access, count| {
        let writes = access != Access::Read;
        *seen
            .entry(AccessKey {
                run,
                addr,
                site,
                size,
                writes,
            })
            .or_default() += count;
    };
    for r in &profile.counts {
        add(r.run, r.addr, r.size, r.site, r.access, r.count);
    }
    for r in &profile.conflicts {
        add(r.run, r.addr, r.size, r.site, r.access, r.count);
        add(
            r.run,
            r.other_addr,
            r.other_size,
            r.other_site,
            r.other_access,
            r.count,
        );
    }
    for r in &profile.pairs {
        add(r.run, r.addr, r.size, r.site, r.access, r.samples);
        add(
            r.run,
            r.other_addr,
            r.other_size,
            r.other_site,
            r.other_access,
            r.samples,
        );
    }
    for r in &profile.bursts {
        add(r.run, r.addr, r.size, r.site, r.access, 1);
    }
    let sites = profile.sites.len();
    if let Some(key) = seen.keys().find(|k| k.site as usize >= sites) {
        return Err(Error::Site {
            site: key.site,
            sites,
        });
    }
    let mut all: Vec<_> = seen.into_iter().collect();
    all.sort_unstable();
    Ok(all)
}
