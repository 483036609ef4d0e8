//! Sources of instructions, each looked up once.

use rustc_hash::FxHashMap;

use crate::identify::{AddressNamer, SiteSource};

/// Source positions by site.
pub(crate) struct SourceCache<'a, I> {
    identify: &'a I,
    by_site: FxHashMap<u32, SiteSource>,
}

impl<'a, I: AddressNamer> SourceCache<'a, I> {
    pub(crate) fn new(identify: &'a I) -> Self {
        Self {
            identify,
            by_site: FxHashMap::default(),
        }
    }

    pub(crate) fn get(&mut self, site: u32) -> SiteSource {
        self.by_site
            .entry(site)
            .or_insert_with(|| self.identify.source_of_site(site))
            .clone()
    }
}
