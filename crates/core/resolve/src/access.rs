//! Distinct accesses of a profile.

use rayon::prelude::*;
use relayout_profile::{AccessKind, Addr, Profile, RunId, SiteId};
use rustc_hash::FxHashMap;

use crate::error::Error;

/// Key of an access; its count is kept beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccessKey {
    /// Recording.
    pub run: RunId,
    /// First byte.
    pub addr: Addr,
    /// Index of the site.
    pub site: SiteId,
    /// Bytes.
    pub size: u8,
    /// The access stores; a read-modify-write does, too.
    pub writes: bool,
    /// No row shows that this site accessed these bytes. While one context has a line to itself, the
    /// collector remembers which aligned 8 bytes it wrote, and only the last store itself. So the
    /// other side of a line's first events may name that store's site with the bytes of another one.
    pub inferred: bool,
}

/// Bytes, and alignment, of a stretch that the collector remembers without its store.
const GRANULE_BYTES: u64 = 8;

/// Access and the number of times that it was seen.
type Counted = (AccessKey, u64);

/// Rows that one thread counts at a time. Most rows repeat an access of their chunk.
const CHUNK_ROWS: usize = 1 << 18;

/// Returns every access that any table names, with its count, in ascending order.
///
/// # Errors
/// A row names a site that the profile does not have.
pub fn distinct_accesses(profile: &Profile) -> Result<Vec<Counted>, Error> {
    let mut accesses = count_rows(&profile.counts, |r, found| {
        found.add(access_key(r.run, r.addr, r.size, r.site, r.access), r.count);
    });
    accesses.extend(count_rows(&profile.conflicts, |r, found| {
        let own = access_key(r.run, r.addr, r.size, r.site, r.access);
        let other = access_key(
            r.run,
            r.other_addr,
            r.other_size,
            r.other_site,
            r.other_access,
        );
        let is_granule =
            u64::from(other.size) == GRANULE_BYTES && other.addr.0.is_multiple_of(GRANULE_BYTES);
        found.add(own, r.count);
        found.add(
            AccessKey {
                inferred: is_granule && other.writes,
                ..other
            },
            r.count,
        );
    }));
    accesses.extend(count_rows(&profile.pairs, |r, found| {
        let own = access_key(r.run, r.addr, r.size, r.site, r.access);
        let other = access_key(
            r.run,
            r.other_addr,
            r.other_size,
            r.other_site,
            r.other_access,
        );
        found.add(own, r.samples);
        found.add(other, r.samples);
    }));
    accesses.extend(count_rows(&profile.bursts, |r, found| {
        found.add(access_key(r.run, r.addr, r.size, r.site, r.access), 1);
    }));
    let accesses = merge_counts(accesses);
    let sites = profile.sites.len();
    if let Some((key, _)) = accesses.iter().find(|(k, _)| k.site.index() >= sites) {
        return Err(Error::Site {
            site: key.site,
            sites,
        });
    }
    Ok(accesses)
}

fn access_key(run: RunId, addr: Addr, size: u8, site: SiteId, access: AccessKind) -> AccessKey {
    AccessKey {
        run,
        addr,
        site,
        size,
        writes: access != AccessKind::Read,
        inferred: false,
    }
}

/// Counts of accesses, in no order.
#[derive(Default)]
struct AccessCounts(FxHashMap<AccessKey, u64>);

impl AccessCounts {
    fn add(&mut self, key: AccessKey, count: u64) {
        let sum = self.0.entry(key).or_default();
        *sum = sum.saturating_add(count);
    }
}

/// Counts the distinct accesses of one table, chunk by chunk.
fn count_rows<R: Sync>(rows: &[R], add: impl Fn(&R, &mut AccessCounts) + Sync) -> Vec<Counted> {
    let count_chunk = |rows: &[R]| {
        let mut found = AccessCounts::default();
        rows.iter().for_each(|row| add(row, &mut found));
        found.0.into_iter().collect::<Vec<_>>()
    };
    let chunks: Vec<_> = rows.par_chunks(CHUNK_ROWS).map(count_chunk).collect();
    chunks.concat()
}

/// Sorts the accesses and adds up the counts of equal ones. What any row shows is not inferred.
fn merge_counts(mut accesses: Vec<Counted>) -> Vec<Counted> {
    accesses.par_sort_unstable_by_key(|(key, _)| *key);
    accesses.dedup_by(|(key, count), (first, sum)| {
        // The inferred one is sorted behind.
        let same = AccessKey {
            inferred: first.inferred,
            ..*key
        } == *first;
        if same {
            *sum = sum.saturating_add(*count);
        }
        same
    });
    accesses.shrink_to_fit();
    accesses
}

#[cfg(test)]
mod tests {
    use relayout_profile::{CoherenceEvent, ConflictRow, ContextId, CountRow, Site};

    use super::*;

    fn store(site: u32, addr: u64, size: u8) -> ConflictRow {
        ConflictRow {
            run: RunId(0),
            transfer: CoherenceEvent::Read,
            context: ContextId(1),
            addr: Addr(addr),
            size,
            site: SiteId(0),
            access: AccessKind::Read,
            other_context: ContextId(0),
            other_addr: Addr(addr),
            other_size: size,
            other_site: SiteId(site),
            other_access: AccessKind::Write,
            count: 1,
            first_reads: None,
            false_first_touch: 0,
            false_lifetime: 0,
        }
    }

    #[test]
    fn a_store_to_eight_bytes_that_no_row_shows_is_inferred() {
        let site = Site {
            pc: 0,
            bytes: Vec::new(),
        };
        let shown = CountRow {
            run: RunId(0),
            addr: Addr(0x1010),
            size: 8,
            context: ContextId(0),
            site: SiteId(1),
            access: AccessKind::Write,
            count: 5,
            silent: None,
        };
        let profile = Profile {
            sites: vec![site.clone(), site],
            conflicts: vec![
                store(1, 0x1000, 8),
                store(1, 0x1008, 4),
                store(1, 0x1010, 8),
            ],
            counts: vec![shown],
            ..Profile::default()
        };
        let found = distinct_accesses(&profile).expect("sites of the profile");
        let stores = found.iter().filter(|(key, _)| key.writes);
        let stores: Vec<_> = stores
            .map(|(key, n)| (key.addr.0, key.inferred, *n))
            .collect();
        assert_eq!(
            stores,
            [(0x1000, true, 1), (0x1008, false, 1), (0x1010, false, 6)]
        );
    }
}
