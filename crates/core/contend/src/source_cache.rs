//! Sources of instructions, each looked up once.

use relayout_profile::SiteId;
use rustc_hash::FxHashMap;

use crate::identify::{AddressNamer, SiteOperation, SiteSource};

/// Source positions by site.
pub(crate) struct SourceCache<'a, I> {
    identify: &'a I,
    by_site: FxHashMap<SiteId, SiteSource>,
}

impl<'a, I: AddressNamer> SourceCache<'a, I> {
    pub(crate) fn new(identify: &'a I) -> Self {
        Self {
            identify,
            by_site: FxHashMap::default(),
        }
    }

    /// Returns what an instruction does with the value that it accesses.
    pub(crate) fn operation(&self, site: SiteId) -> SiteOperation {
        self.identify.operation_of_site(site)
    }

    pub(crate) fn get(&mut self, site: SiteId) -> SiteSource {
        self.by_site
            .entry(site)
            .or_insert_with(|| self.identify.source_of_site(site))
            .clone()
    }
}
