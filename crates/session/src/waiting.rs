//! Names of what a guest in simulated time waited for, by its debug files.

use relayout_advice::{NamedWaiting, ResolvedNames, name_waiting};
use relayout_messages::{RecordingProgress, UserError};
use relayout_profile::rates::SimulatedRates;
use relayout_profile::{Addr, Profile, RunId};
use relayout_resolve::ObjectKind;

use crate::resolved_profile::resolve_read_profile;

/// Names what the CPUs of a guest stood still for while they executed a program: its part by the files of `program`, and
/// the kernel's by those of `kernel`. The profiles have the accesses of each ([`SimulatedRates::of_program`],
/// [`SimulatedRates::of_kernel`]) as rows.
///
/// # Errors
/// Same as [`name_rates`].
pub fn name_program_rates(
    program: &Profile,
    kernel: &Profile,
    rates: &SimulatedRates,
    progress: &dyn RecordingProgress,
) -> Result<NamedWaiting, UserError> {
    let own_rates = rates.of_program();
    let of_program = name_rates(program, &own_rates, progress)?;
    let of_kernel = name_rates(kernel, &rates.of_kernel(), progress)?;
    Ok(NamedWaiting::of_program_and_kernel(
        of_program, of_kernel, &own_rates,
    ))
}

/// Names the lines, instructions and locks of a window. `profile` has its accesses as rows
/// ([`SimulatedRates::fill_tables`]).
///
/// # Errors
/// A debug file cannot be read, or is of another build.
pub fn name_rates(
    profile: &Profile,
    rates: &SimulatedRates,
    progress: &dyn RecordingProgress,
) -> Result<NamedWaiting, UserError> {
    resolve_read_profile(
        profile,
        &[],
        progress,
        |_| Ok(()),
        |resolved, images| {
            let cache_at = |addr: Addr| {
                let object = resolved.resolution.object_at(RunId(0), addr)?;
                match &object.kind {
                    ObjectKind::Slab { cache } => Some(cache.clone()),
                    _ => None,
                }
            };
            let names = ResolvedNames::new(resolved, images);
            Ok(name_waiting(rates, &names, &cache_at))
        },
    )
}
