//! Places in the code that access memory, and what is known about their lines.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering::*};

use relayout_machine::LineUse;

use super::operands::{MemoryOperand, OperandReader};

/// Accesses after which what a site met counts as all that it meets.
const KNOWN_AFTER: u32 = 64;

/// What a site's code, once translated, calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SiteWatch {
    /// A callback after each access: what the site accesses is still to be learnt, or changes.
    Noted = 0,
    /// Also one before: it accessed lines that others fight over.
    Ordered = 1,
    /// Nothing: its lines have been those of one CPU each, or nobody stores to them.
    Nothing = 2,
}

/// Place in the code that accesses memory, with what it met since the sites were last looked at.
///
/// What is met changes with each access, on the thread with the turn. What is translated follows
/// [`watch`](Self::watch), which changes only while all others wait, so that it never depends on when a
/// thread of the host translates.
pub struct AccessSite {
    /// Number, from 0 in the order of their first translation.
    pub number: u32,
    /// Address of the instruction.
    pub pc: u64,
    /// Its bytes.
    pub code: Box<[u8]>,
    /// Bytes that it accesses; 0 if that is not known.
    pub accessed_bytes: u8,
    watch: AtomicU8,
    /// Accesses that called back.
    accesses: AtomicU32,
    /// It met a line that several CPUs use, and one stores to.
    is_sharing: AtomicBool,
    /// Accesses that were ordered, or should have been.
    contended: AtomicU32,
}

impl AccessSite {
    fn new(number: u32, pc: u64, code: &[u8], operands: &[MemoryOperand]) -> Self {
        Self {
            number,
            pc,
            code: code.into(),
            accessed_bytes: operands.first().map_or(0, |operand| operand.bytes),
            watch: AtomicU8::new(SiteWatch::Noted as u8),
            accesses: AtomicU32::new(0),
            is_sharing: AtomicBool::new(false),
            contended: AtomicU32::new(0),
        }
    }

    /// What the site's code calls, from its next translation on.
    pub fn watch(&self) -> SiteWatch {
        match self.watch.load(Relaxed) {
            1 => SiteWatch::Ordered,
            2 => SiteWatch::Nothing,
            _ => SiteWatch::Noted,
        }
    }

    /// Notes an access that was ordered.
    pub fn note_ordered(&self) {
        add_one(&self.accesses);
        add_one(&self.contended);
    }

    /// Notes an access that was not ordered, to a line with this use.
    pub fn note_access(&self, line: LineUse) {
        match line {
            LineUse::Quiet => {}
            LineUse::Shared => self.is_sharing.store(true, Relaxed),
            LineUse::Contended => add_one(&self.contended),
        }
        add_one(&self.accesses);
    }

    /// What the site should call by what it met.
    fn learnt_watch(&self) -> SiteWatch {
        let is_known = self.accesses.load(Relaxed) >= KNOWN_AFTER;
        if self.contended.load(Relaxed) > 0 {
            SiteWatch::Ordered
        } else if !is_known {
            self.watch()
        } else if self.is_sharing.load(Relaxed) {
            SiteWatch::Noted
        } else {
            SiteWatch::Nothing
        }
    }

    /// Begins to learn anew. A site that met nobody goes on counting, so that rare ones come to be known, too.
    fn begin_period(&self) {
        if self.contended.load(Relaxed) > 0 || self.is_sharing.load(Relaxed) {
            self.contended.store(0, Relaxed);
            self.is_sharing.store(false, Relaxed);
            self.accesses.store(0, Relaxed);
        }
    }
}

/// Adds 1, on the thread with the turn.
fn add_one(count: &AtomicU32) {
    count.store(count.load(Relaxed).saturating_add(1), Relaxed);
}

/// What was learnt since the sites were last looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LearntSites {
    /// Accesses that were ordered, or should have been.
    pub contended: u64,
    /// Those at sites that do not order theirs.
    pub unordered: u64,
    /// Accesses at sites that need to call nothing, and still do.
    pub needless: u64,
}

/// All sites so far.
#[derive(Default)]
pub struct SiteTable {
    sites: Vec<&'static AccessSite>,
    by_pc: HashMap<u64, &'static AccessSite>,
    /// Reads the operands of their instructions.
    pub reader: OperandReader,
}

impl SiteTable {
    /// Returns the site at an address, which is new if there was none.
    pub fn site_at(
        &mut self,
        pc: u64,
        code: &[u8],
        operands: &[MemoryOperand],
    ) -> &'static AccessSite {
        let sites = &mut self.sites;
        self.by_pc.entry(pc).or_insert_with(|| {
            let site = AccessSite::new(sites.len() as u32, pc, code, operands);
            // Kept as long as translated code, which QEMU never tells to be gone.
            let site = Box::leak(Box::new(site));
            sites.push(site);
            site
        })
    }

    /// Returns the site with a number.
    pub fn site(&self, number: u32) -> Option<&'static AccessSite> {
        self.sites.get(number as usize).copied()
    }

    /// Sums up what was learnt.
    pub fn learnt(&self) -> LearntSites {
        let mut learnt = LearntSites::default();
        for site in &self.sites {
            let contended = u64::from(site.contended.load(Relaxed));
            learnt.contended += contended;
            match (site.watch(), site.learnt_watch()) {
                (SiteWatch::Noted, SiteWatch::Ordered) => learnt.unordered += contended,
                (SiteWatch::Nothing, _) | (_, SiteWatch::Noted | SiteWatch::Ordered) => {}
                (_, SiteWatch::Nothing) => {
                    learnt.needless += u64::from(site.accesses.load(Relaxed))
                }
            }
        }
        learnt
    }

    /// Makes the next translation follow what was learnt.
    pub fn apply_learnt(&self) {
        for site in &self.sites {
            site.watch.store(site.learnt_watch() as u8, Relaxed);
        }
    }

    /// Makes all sites learn anew.
    pub fn begin_period(&self) {
        self.sites.iter().for_each(|site| site.begin_period());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_watched_by_what_it_met() {
        let mut sites = SiteTable::default();
        let [quiet, rare, shares, hot] = [1, 2, 3, 4].map(|pc| sites.site_at(pc, &[], &[]));
        let watched = || [quiet, rare, shares, hot].map(AccessSite::watch);
        let use_often = |site: &AccessSite| {
            (0..KNOWN_AFTER).for_each(|_| site.note_access(LineUse::Quiet));
        };
        use_often(quiet);
        use_often(shares);
        rare.note_access(LineUse::Quiet);
        shares.note_access(LineUse::Shared);
        hot.note_access(LineUse::Contended);
        let learnt = LearntSites {
            contended: 1,
            unordered: 1,
            needless: 64,
        };
        assert_eq!(sites.learnt(), learnt);
        use SiteWatch::{Noted, Nothing, Ordered};
        assert_eq!(watched(), [Noted; 4]);
        sites.apply_learnt();
        assert_eq!(watched(), [Nothing, Noted, Noted, Ordered]);
        assert_eq!(sites.site(3).map(|site| site.pc), Some(4));
    }

    /// Lines that several CPUs used only at the start do not make a site expensive for ever.
    #[test]
    fn what_was_met_is_forgotten() {
        let mut sites = SiteTable::default();
        let hot = sites.site_at(1, &[], &[]);
        let look = || {
            sites.apply_learnt();
            sites.begin_period();
            hot.watch()
        };
        hot.note_access(LineUse::Contended);
        assert_eq!(look(), SiteWatch::Ordered);
        hot.note_ordered();
        assert_eq!(look(), SiteWatch::Ordered);
        hot.note_access(LineUse::Quiet);
        assert_eq!(look(), SiteWatch::Ordered, "one access tells little");
        (0..KNOWN_AFTER).for_each(|_| hot.note_access(LineUse::Quiet));
        assert_eq!(look(), SiteWatch::Nothing);
    }
}
