//! Resolution with the evidence that earlier commands collected from the same debug files.

use relayout_files::{CachedRequest, CachedValues};
use relayout_profile::Profile;
use relayout_resolve::{DebugImages, Error, KeptEvidence, Options, Resolution, resolve_with};
use serde::Serialize;

/// Environment variable with functions of the program that pass requests for memory on, by commas.
const ALLOCATORS_VARIABLE: &str = "RELAYOUT_ALLOCATORS";

/// Code whose evidence is kept: files, machine and the rules of resolving, but not this program, so that the evidence
/// outlives a new version that resolves in the same way.
#[derive(Serialize)]
struct EvidenceRequest<'e> {
    identity: &'e str,
}

impl<'e> EvidenceRequest<'e> {
    fn for_evidence(evidence: &'e KeptEvidence) -> Self {
        Self {
            identity: evidence.identity(),
        }
    }
}

impl CachedRequest for EvidenceRequest<'_> {
    const KIND: &'static str = "kept";
}

/// Returns the functions that the user calls allocators.
pub(crate) fn allocators_by_user() -> Vec<String> {
    let names = std::env::var(ALLOCATORS_VARIABLE).unwrap_or_default();
    let names = names.split(',').map(str::trim);
    names
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Resolves `profile` with cached evidence, and caches new evidence.
///
/// # Errors
/// Those of [`resolve_with`].
pub fn resolve_with_cache(
    profile: &Profile,
    images: &DebugImages<'_, '_>,
) -> Result<Resolution, Error> {
    let values = CachedValues::locate();
    let mut evidence = values.as_ref().and_then(|values| {
        let fresh = KeptEvidence::new(images, &profile.meta.machine)?;
        let bytes = values.read(&EvidenceRequest::for_evidence(&fresh));
        // Damaged evidence counts as missing.
        let kept = bytes.and_then(|bytes| fresh.clone().decode(&bytes).ok());
        Some(kept.unwrap_or(fresh))
    });
    let options = Options {
        allocators: allocators_by_user(),
        ..Options::default()
    };
    let resolution = resolve_with(profile, images, options, evidence.as_mut())?;
    if let (Some(values), Some(evidence)) = (values, evidence)
        && evidence.is_changed()
    {
        values.keep(
            &EvidenceRequest::for_evidence(&evidence),
            &evidence.encode(),
        );
    }
    Ok(resolution)
}
