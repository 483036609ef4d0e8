//! Operations of sites on the values that they access.

use relayout_profile::{Profile, SiteId};

use crate::evidence::AnalysedProgram;
use crate::images::{DebugImages, LinkedAddress};
use crate::insn::atomic::{AtomicChange, ResultUse, atomic_use, entry_point_use, register_use};
use crate::insn::instruction_set;

/// Bytes of code behind a site that are searched for a use of its result.
const CODE_BYTES_MAX: usize = 160;

/// Atomic operations of sites, read from the code of the debug files.
pub struct SiteOperations<'f, 'a> {
    /// `None` for an unknown machine.
    program: Option<AnalysedProgram<'f, 'a>>,
}

impl<'f, 'a> SiteOperations<'f, 'a> {
    /// Makes a reader of operations; `machine` is that of the profile.
    pub fn new(images: &DebugImages<'f, 'a>, machine: &str) -> Self {
        Self {
            program: instruction_set(machine).map(|machine| AnalysedProgram::new(images, machine)),
        }
    }

    /// Returns what the site at `address` does with the value, and the use of the value before.
    /// `None` if it is not atomic. `address` is that of the instruction, or what a call returns to.
    pub fn operation(
        &self,
        profile: &Profile,
        site: SiteId,
        address: LinkedAddress,
    ) -> Option<(AtomicChange, ResultUse)> {
        let program = self.program.as_ref()?;
        let view = program.file_view(address.file);
        let machine = program.machine();
        let behind = |address: u64| {
            { (1..=CODE_BYTES_MAX).rev() }.find_map(|len| view.debug_file().bytes_at(address, len))
        };
        if profile.is_call(site) {
            let name = view.call_before(address.address)?;
            let code = behind(address.address).unwrap_or_default();
            let result_use = register_use(machine, code, machine.result_register());
            return entry_point_use(name, result_use);
        }
        let executed = &profile.sites.get(site.index())?.bytes;
        let insn = machine.atomic(executed)?;
        // The kernel patches instructions, but not what follows.
        let rest = behind(address.address + u64::from(insn.len)).unwrap_or_default();
        let code: Vec<u8> = executed[..usize::from(insn.len).min(executed.len())]
            .iter()
            .chain(rest)
            .copied()
            .collect();
        atomic_use(machine, &code)
    }
}
