//! Places in the code that access memory, and what is known about their lines.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};

use relayout_machine::LineUse;

use super::decoded_instruction::InstructionDecoder;
use super::operands::MemoryOperand;
use crate::insn::TranslatedMachine;

/// Accesses after which what a site met counts as all that it meets.
const KNOWN_AFTER: u32 = 64;

/// Place in the code that accesses memory, with what it met since the sites were last looked at.
///
/// All of it changes on the thread with the turn. [`is_quiet`](Self::is_quiet), which translations follow, changes
/// only while all others wait, so that it never depends on when a thread of the host translates.
pub struct AccessSite {
    /// Number, from 0 in the order of their first translation.
    pub number: u32,
    /// Address of the instruction.
    pub pc: u64,
    /// Its bytes.
    pub code: Box<[u8]>,
    /// Bytes that it accesses; 0 if that is not known.
    pub accessed_bytes: u8,
    is_quiet: AtomicBool,
    is_contended: AtomicBool,
    /// Accesses that called back.
    accesses: AtomicU32,
    /// It met a line that several CPUs use, and one stores to.
    met_others: AtomicBool,
    /// An access was ordered, or should have been.
    met_contention: AtomicBool,
}

impl AccessSite {
    fn new(number: u32, pc: u64, code: &[u8], operands: &[MemoryOperand]) -> Self {
        Self {
            number,
            pc,
            code: code.into(),
            accessed_bytes: operands.first().map_or(0, |operand| operand.bytes),
            is_quiet: AtomicBool::new(false),
            is_contended: AtomicBool::new(false),
            accesses: AtomicU32::new(0),
            met_others: AtomicBool::new(false),
            met_contention: AtomicBool::new(false),
        }
    }

    /// Returns whether the site's code, from its next translation on, calls nothing: its lines are those of one CPU
    /// each, or nobody stores to them.
    pub fn is_quiet(&self) -> bool {
        self.is_quiet.load(Relaxed)
    }

    /// Returns whether the site's accesses are ordered before they execute.
    pub fn is_contended(&self) -> bool {
        self.is_contended.load(Relaxed)
    }

    /// Notes an access that was ordered.
    pub fn note_ordered(&self) {
        self.met_contention.store(true, Relaxed);
        self.count_access();
    }

    /// Notes an access that was not ordered, to a line with this use.
    pub fn note_access(&self, line: LineUse) {
        match line {
            LineUse::Quiet => {}
            LineUse::Shared => self.met_others.store(true, Relaxed),
            LineUse::Contended => {
                self.met_contention.store(true, Relaxed);
                self.is_contended.store(true, Relaxed);
            }
        }
        self.count_access();
    }

    fn count_access(&self) {
        let accesses = self.accesses.load(Relaxed);
        self.accesses.store(accesses.saturating_add(1), Relaxed);
    }

    /// Accesses that called back for nothing; 0 unless they are enough to know that.
    fn needless_calls(&self) -> u32 {
        let met_any = self.met_others.load(Relaxed) || self.met_contention.load(Relaxed);
        let accesses = self.accesses.load(Relaxed);
        match !self.is_quiet() && !met_any && accesses >= KNOWN_AFTER {
            true => accesses,
            false => 0,
        }
    }

    /// Begins to learn anew. A site that met nobody goes on counting, so that rare ones come to be known, too.
    fn begin_period(&self) {
        let met_contention = self.met_contention.load(Relaxed);
        if self.accesses.load(Relaxed) >= KNOWN_AFTER {
            self.is_contended.store(met_contention, Relaxed);
        }
        if met_contention || self.met_others.load(Relaxed) {
            self.met_contention.store(false, Relaxed);
            self.met_others.store(false, Relaxed);
            self.accesses.store(0, Relaxed);
        }
    }
}

/// All sites so far.
pub struct SiteTable {
    sites: Vec<&'static AccessSite>,
    /// Sites by address and bytes: programs have other code at one address.
    by_code: HashMap<(u64, Box<[u8]>), &'static AccessSite>,
    /// Decodes their instructions.
    pub decoder: InstructionDecoder,
}

impl SiteTable {
    /// Makes the empty table of a guest's machine.
    pub fn new(machine: TranslatedMachine) -> Self {
        Self {
            sites: Vec::new(),
            by_code: HashMap::new(),
            decoder: InstructionDecoder::new(machine),
        }
    }

    /// Returns the site with this code at an address, which is new if there was none.
    pub fn site_at(
        &mut self,
        pc: u64,
        code: &[u8],
        operands: &[MemoryOperand],
    ) -> &'static AccessSite {
        let sites = &mut self.sites;
        let by_code = self.by_code.entry((pc, code.into()));
        by_code.or_insert_with(|| {
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

    /// Accesses that called back for nothing, at sites that could be quiet.
    pub fn needless_calls(&self) -> u64 {
        { self.sites.iter() }
            .map(|site| u64::from(site.needless_calls()))
            .sum()
    }

    /// Makes sites that call for nothing quiet from their next translation on.
    pub fn make_quiet(&self) {
        for site in self.sites.iter().filter(|site| site.needless_calls() > 0) {
            site.is_quiet.store(true, Relaxed);
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

    fn use_often(site: &AccessSite) {
        (0..KNOWN_AFTER).for_each(|_| site.note_access(LineUse::Quiet));
    }

    #[test]
    fn a_site_calls_by_what_it_met() {
        let mut sites = SiteTable::new(TranslatedMachine::X86);
        let all = [1, 2, 3, 4].map(|pc| sites.site_at(pc, &[], &[]));
        let [quiet, rare, shares, hot] = all;
        [quiet, shares, hot].into_iter().for_each(use_often);
        rare.note_access(LineUse::Quiet);
        shares.note_access(LineUse::Shared);
        hot.note_access(LineUse::Contended);
        assert_eq!(sites.needless_calls(), u64::from(KNOWN_AFTER));
        sites.make_quiet();
        sites.begin_period();
        assert_eq!(all.map(AccessSite::is_quiet), [true, false, false, false]);
        assert_eq!(
            all.map(AccessSite::is_contended),
            [false, false, false, true]
        );
        assert_eq!(sites.needless_calls(), 0);
        assert_eq!(sites.site(3).map(|site| site.pc), Some(4));
    }

    /// Lines that several CPUs used only at the start do not make a site expensive for ever.
    #[test]
    fn what_was_met_is_forgotten() {
        let mut sites = SiteTable::new(TranslatedMachine::X86);
        let hot = sites.site_at(1, &[], &[]);
        let look = || {
            sites.begin_period();
            hot.is_contended()
        };
        hot.note_access(LineUse::Contended);
        assert!(look());
        hot.note_access(LineUse::Quiet);
        assert!(look(), "one access tells little");
        use_often(hot);
        hot.note_ordered();
        assert!(look());
        use_often(hot);
        assert!(!look());
        assert_eq!(sites.needless_calls(), u64::from(KNOWN_AFTER));
    }
}
