//! Evidence of all sites of a profile.

use rayon::prelude::*;
use relayout_layout::dwarf::DieOffset;
use relayout_profile::{Profile, RunId, Site, SiteId};
use rustc_hash::FxHashMap;

use super::calls;
use super::flow::AnalysedFunction;
use super::knowledge::OperandQuery;
use super::program::{AnalysedProgram, FileView};
use super::site_evidence::{SiteCode, SiteEvidence};
use crate::access::AccessKey;
use crate::images::{DebugImages, FileId, LinkedAddress};
use crate::insn::{AddressSegment, InsnFlow, MemoryOperand};
use crate::kept::KeptEvidence;

/// Link-time address and evidence of each site.
#[derive(Debug, Default)]
pub struct SiteTable {
    /// Address by site, in the first run that has the site.
    first_addresses: Vec<Option<LinkedAddress>>,
    /// Address in runs that had other code at the same address.
    other_addresses: FxHashMap<(RunId, SiteId), Option<LinkedAddress>>,
    evidence: Vec<SiteEvidence>,
    other_evidence: FxHashMap<(RunId, SiteId), SiteEvidence>,
}

impl SiteTable {
    /// Locates the profile's sites and finds their evidence. Only functions with sites that are
    /// missing in `kept` are analysed, and their evidence is added to it.
    pub fn new(
        program: &AnalysedProgram<'_, '_>,
        images: &DebugImages<'_, '_>,
        profile: &Profile,
        accesses: &[(AccessKey, u64)],
        kept: Option<&mut KeptEvidence>,
    ) -> Self {
        let mut found = Self::locate_sites(images, &profile.sites, accesses);
        let code = |site: SiteId, at: Option<LinkedAddress>| SiteCode {
            at: at.unwrap_or(NOWHERE),
            bytes: &profile.sites[site.index()].bytes,
            is_call: profile.is_call(site),
        };
        let others: Vec<_> = found
            .other_addresses
            .iter()
            .map(|(&key, &at)| (key, at))
            .collect();
        let wanted: Vec<SiteCode<'_>> = { (0..).zip(&found.first_addresses) }
            .map(|(site, &at)| code(SiteId(site), at))
            .chain(others.iter().map(|&((_, site), at)| code(site, at)))
            .collect();
        let mut evidence = sites_evidence(program, &wanted, kept);
        let rest = evidence.split_off(profile.sites.len());
        found.other_evidence = others.iter().map(|other| other.0).zip(rest).collect();
        found.evidence = evidence;
        found
    }

    fn locate_sites(
        images: &DebugImages<'_, '_>,
        sites: &[Site],
        accesses: &[(AccessKey, u64)],
    ) -> Self {
        let mut found = Self::default();
        let mut runs: Vec<Option<RunId>> = vec![None; sites.len()];
        // Accesses are ascending by run, so the first run is the lowest.
        for (key, _) in accesses {
            let run = runs[key.site.index()].get_or_insert(key.run);
            if *run != key.run {
                let pc = sites[key.site.index()].pc;
                let at = images.locate(key.run, pc);
                if at != images.locate(*run, pc) {
                    found.other_addresses.insert((key.run, key.site), at);
                }
            }
        }
        let place =
            |(site, run): (&Site, Option<RunId>)| images.locate(run.unwrap_or_default(), site.pc);
        found.first_addresses = sites.iter().zip(runs).map(place).collect();
        found
    }

    /// Returns the evidence of a site in a run.
    ///
    /// # Panics
    /// Panics if the profile has no such site.
    pub fn evidence(&self, run: RunId, site: SiteId) -> &SiteEvidence {
        let other = self.other_evidence.get(&(run, site));
        other.unwrap_or(&self.evidence[site.index()])
    }

    /// Returns the address of the site's code in a run; `None` if no known file was mapped there.
    pub fn address_in_run(&self, run: RunId, site: SiteId) -> Option<LinkedAddress> {
        match self.other_addresses.get(&(run, site)) {
            Some(other) => *other,
            None => self.site_address(site),
        }
    }

    /// Returns the address of the site's code in the first run that has it; `None` if no known file
    /// was mapped there.
    pub fn site_address(&self, site: SiteId) -> Option<LinkedAddress> {
        self.first_addresses.get(site.index()).copied().flatten()
    }
}

/// Address of code in no known file.
const NOWHERE: LinkedAddress = LinkedAddress {
    file: FileId(u16::MAX),
    address: 0,
};

/// Returns the evidence of `sites`, in their order.
fn sites_evidence(
    program: &AnalysedProgram<'_, '_>,
    sites: &[SiteCode<'_>],
    kept: Option<&mut KeptEvidence>,
) -> Vec<SiteEvidence> {
    let Some(kept) = kept else {
        return analyse_sites(program, sites);
    };
    let mut known = kept.restore(&program.store, sites);
    let is_new = |n: &usize| known[*n].is_none() && sites[*n].at != NOWHERE;
    let new: Vec<usize> = (0..sites.len()).filter(is_new).collect();
    let new_sites: Vec<_> = new.iter().map(|&n| sites[n]).collect();
    let found = analyse_sites(program, &new_sites);
    let evidenced = new_sites.iter().zip(&found);
    kept.keep_sites(
        &program.store,
        evidenced.map(|(&site, &evidence)| (site, evidence)),
    );
    for (n, evidence) in new.into_iter().zip(found) {
        known[n] = Some(evidence);
    }
    known.into_iter().map(Option::unwrap_or_default).collect()
}

/// Finds the evidence of `sites` by analysing their functions.
fn analyse_sites(program: &AnalysedProgram<'_, '_>, sites: &[SiteCode<'_>]) -> Vec<SiteEvidence> {
    let mut functions: FxHashMap<(FileId, DieOffset), Vec<usize>> = FxHashMap::default();
    let known = sites.iter().enumerate();
    for (n, site) in known.filter(|(_, site)| site.at != NOWHERE) {
        let LinkedAddress { file, address } = site.at;
        let pc = address.wrapping_sub(u64::from(site.is_call));
        if let Some(function) = program.file_view(file).function_at(pc) {
            functions.entry((file, function)).or_default().push(n);
        }
    }
    let found: Vec<_> = functions
        .into_par_iter()
        .flat_map_iter(|((file, die), numbers)| {
            let view = program.file_view(file);
            let code: Vec<SiteCode<'_>> = numbers.iter().map(|&n| sites[n]).collect();
            let evidence = match view.analyse(die) {
                Some(function) => function_evidence(&view, &function, &code),
                None => vec![SiteEvidence::default(); code.len()],
            };
            numbers.into_iter().zip(evidence)
        })
        .collect();
    let mut evidence = vec![SiteEvidence::default(); sites.len()];
    for (n, site_evidence) in found {
        evidence[n] = site_evidence;
    }
    evidence
}

/// Operands of one site, before their evidence is known.
#[derive(Clone, Copy, Debug, Default)]
struct SiteOperands {
    /// Operands that are read and written, if they are evidence.
    queries: [Option<OperandQuery>; 2],
    /// See [`SiteEvidence::bytes`].
    bytes: [u32; 2],
    /// See [`SiteEvidence::string`].
    string: bool,
}

/// Returns the evidence of sites in one function, in their order.
fn function_evidence(
    view: &FileView<'_, '_, '_>,
    function: &AnalysedFunction,
    sites: &[SiteCode<'_>],
) -> Vec<SiteEvidence> {
    let operands = sites.iter().map(|site| match site.is_call {
        true => call_operands(view, function, site.at.address),
        false => insn_operands(view, site.at.address, site.bytes),
    });
    let operands: Vec<SiteOperands> = operands.map(Option::unwrap_or_default).collect();
    let queries = operands.iter().flat_map(|site| site.queries).flatten();
    let queries: Vec<OperandQuery> = queries.collect();
    let mut found = view.evidence_of_all(function, &queries).into_iter();
    let mut next =
        |query: Option<OperandQuery>| query.and_then(|_| found.next()).unwrap_or_default();
    { operands.iter() }
        .map(|site| {
            let [read, written] = site.queries.map(&mut next);
            SiteEvidence {
                read: read.accessed,
                written: written.accessed,
                frame: [read.frame, written.frame],
                bytes: site.bytes,
                string: site.string,
            }
        })
        .collect()
}

fn insn_operands(view: &FileView<'_, '_, '_>, pc: u64, bytes: &[u8]) -> Option<SiteOperands> {
    let insn = view.program().machine().decode(pc, bytes);
    let insn = insn.or_else(|| view.insn_at(pc))?;
    let operands = [false, true].map(|writes| insn.operand(writes).filter(|m| !m.string));
    let query = |&operand: &MemoryOperand| OperandQuery {
        pc: insn.address,
        operand,
        wants_type: true,
    };
    Some(SiteOperands {
        queries: operands.map(|operand| operand.map(query)),
        bytes: operands.map(|operand| operand.map_or(0, |m| m.bytes)),
        string: insn.memory.iter().flatten().any(|m| m.string),
    })
}

/// Returns the operands of a call that stands for an access: the pointers passed to it.
fn call_operands(
    view: &FileView<'_, '_, '_>,
    function: &AnalysedFunction,
    back: u64,
) -> Option<SiteOperands> {
    let insn = function.insn_before(back)?;
    let call = Some(insn).filter(|insn| matches!(insn.flow, InsnFlow::Call(_)))?;
    let accessed = calls::call_access(view.callee_name(call)?)?;
    let argument = |parameter: Option<u8>| {
        let reg = view.program().machine().parameter_register(parameter?)?;
        let operand = MemoryOperand {
            segment: AddressSegment::Flat,
            base: Some(reg),
            index: None,
            displacement: 0,
            bytes: 0,
            reads: false,
            writes: false,
            string: false,
        };
        Some(OperandQuery {
            pc: call.address,
            operand,
            wants_type: !accessed.walks_range,
        })
    };
    Some(SiteOperands {
        queries: [argument(accessed.read), argument(accessed.written)],
        bytes: [0; 2],
        string: accessed.walks_range,
    })
}
