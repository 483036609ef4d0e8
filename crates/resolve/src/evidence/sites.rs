//! Evidence for every site of a profile.

use rayon::prelude::*;
use relayout_layout::dwarf::DieOffset;
use relayout_profile::Site;
use rustc_hash::FxHashMap;

use super::flow::Function;
use super::knowledge::Evidence;
use super::program::Program;

/// What one site's instruction says of the operand it loads from and of the one it stores to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiteEvidence {
    /// Of the operand that is read.
    pub read: Option<Evidence>,
    /// Of the operand that is written.
    pub written: Option<Evidence>,
    /// The instruction walks through memory, so that an access may be anywhere past the operand.
    pub string: bool,
}

impl SiteEvidence {
    /// For a store, or for a load.
    pub fn of(&self, writes: bool) -> Option<Evidence> {
        if writes { self.written } else { self.read }
    }
}

/// The evidence of `sites`, in their order. Only functions that hold a site are looked at.
pub fn of_sites(program: &Program<'_, '_>, sites: &[Site]) -> Vec<SiteEvidence> {
    let mut functions: FxHashMap<DieOffset, Vec<usize>> = FxHashMap::default();
    for (n, site) in sites.iter().enumerate() {
        if let Some(function) = program.function_at(site.pc) {
            functions.entry(function).or_default().push(n);
        }
    }
    let found: Vec<_> = functions
        .into_par_iter()
        .flat_map_iter(|(die, numbers)| {
            let function = program.analyse(die);
            let all = numbers.into_iter().map(move |n| {
                let one = function
                    .as_ref()
                    .and_then(|f| of_site(program, f, &sites[n]));
                (n, one.unwrap_or_default())
            });
            all.collect::<Vec<_>>()
        })
        .collect();
    let mut evidence = vec![SiteEvidence::default(); sites.len()];
    for (n, one) in found {
        evidence[n] = one;
    }
    evidence
}

fn of_site(program: &Program<'_, '_>, function: &Function, site: &Site) -> Option<SiteEvidence> {
    let insn = program.machine().decode(site.pc, &site.bytes);
    let insn = insn.or_else(|| program.insn_at(site.pc))?;
    let operand = |writes| {
        let operand = insn.operand(writes).filter(|m| !m.string)?;
        program.evidence(function, &insn, operand)
    };
    Some(SiteEvidence {
        read: operand(false),
        written: operand(true),
        string: insn.memory.iter().flatten().any(|m| m.string),
    })
}
