//! Sources of instructions, each looked up once.

use relayout_profile::SiteId;
use rustc_hash::FxHashMap;

use crate::identify::{AddressNamer, SiteSource};

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

    pub(crate) fn get(&mut self, site: SiteId) -> SiteSource {
        self.by_site
            .entry(site)
            .or_insert_with(|| self.identify.source_of_site(site))
            .clone()
    }
}
