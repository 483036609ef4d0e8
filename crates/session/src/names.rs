//! Names for findings: the owner of an address and the source of an instruction.

use relayout_contend::{
    AccessTarget, AddressNamer, ElementArray, SiteOperation, SiteSource, TargetObject,
};
use relayout_profile::Profile;
use relayout_profile::{Addr, RunId, SiteId};
use relayout_resolve::{
    self as resolve, DebugImages, ObjectKind, Resolution, SiteOperations, SourceFrame, SourceMaps,
    SourcePlace,
    insn::atomic::{AtomicChange, ResultUse},
};

use crate::ResolvedProfile;

/// A resolution and its debug files, as [`AddressNamer`].
pub struct ResolvedNames<'a, 'f> {
    profile: &'a Profile,
    resolution: &'a Resolution,
    sources: SourceMaps<'a, 'f>,
    operations: SiteOperations<'a, 'f>,
    program: bool,
}

impl<'a, 'f> ResolvedNames<'a, 'f> {
    /// Returns names for `resolved`, which was resolved with `images`.
    pub fn new(resolved: &ResolvedProfile<'a>, images: &DebugImages<'a, 'f>) -> Self {
        Self {
            profile: resolved.profile,
            resolution: resolved.resolution,
            sources: SourceMaps::new(images),
            operations: SiteOperations::new(images, &resolved.profile.meta.machine),
            program: images.is_program(),
        }
    }

    fn identified_object(&self, id: resolve::ObjectId) -> TargetObject {
        let object = self.resolution.object(id);
        let variable = match &object.kind {
            ObjectKind::Global { symbol }
            | ObjectKind::PerCpu { symbol, .. }
            | ObjectKind::ThreadLocal { symbol, .. } => Some(symbol.clone()),
            _ => None,
        };
        let origin = match &object.kind {
            ObjectKind::Heap { site } if !site.is_empty() => Some(site.clone()),
            _ => None,
        };
        TargetObject {
            base: object.base,
            bytes: object.bytes,
            variable,
            origin,
            array: object.array.map(|array| ElementArray {
                base: array.base,
                stride: array.stride,
                count: array.count,
            }),
            type_percent: object.confidence_percent(),
        }
    }
}

impl ResolvedNames<'_, '_> {
    fn site_source(&self, site: SiteId) -> Option<SourcePlace> {
        let site_place = self.resolution.site_address(site)?;
        match self.profile.is_call(site) {
            true => self.sources.look_up_call(site_place),
            false => self.sources.look_up(site_place),
        }
    }
}

/// Function (if inlined), file and line of the innermost frame outside of standard libraries: the
/// user's own code rather than that of an atomic or a vector. `None` if all frames are in
/// libraries.
fn frame_outside_libraries(
    place: &SourcePlace,
) -> Option<(Option<String>, Option<String>, Option<u32>)> {
    let is_own = |frame: &&SourceFrame| frame.file.as_deref().is_some_and(|file| !is_library(file));
    if let Some(frame) = place.inlined.iter().find(is_own) {
        return Some((Some(frame.function.clone()), frame.file.clone(), frame.line));
    }
    let outer_frame = place.outer.as_ref().filter(is_own)?;
    Some((None, outer_frame.file.clone(), outer_frame.line))
}

/// True for a source file of the compiler or a standard library.
fn is_library(file: &str) -> bool {
    const LIBRARY_PREFIXES: [&str; 3] = ["/usr/include/", "/usr/lib/", "/rustc/"];
    const LIBRARY_PARTS: [&str; 4] = [
        "/include/c++/",
        "/library/core/src/",
        "/library/alloc/src/",
        "/library/std/src/",
    ];
    LIBRARY_PREFIXES.iter().any(|start| file.starts_with(start))
        || LIBRARY_PARTS.iter().any(|part| file.contains(part))
}

/// Returns the operation of an atomic instruction.
fn site_operation((change, result_use): (AtomicChange, ResultUse)) -> SiteOperation {
    let is_used = matches!(result_use, ResultUse::Value | ResultUse::Tested);
    match change {
        AtomicChange::Exchange => SiteOperation::Exchange,
        AtomicChange::CompareExchange => SiteOperation::CompareExchange,
        AtomicChange::Add if is_used => SiteOperation::DrawNumber,
        AtomicChange::Add => SiteOperation::Add,
        AtomicChange::Subtract if is_used => SiteOperation::Release,
        AtomicChange::Subtract => SiteOperation::Subtract,
        AtomicChange::SetBits | AtomicChange::ClearBits | AtomicChange::ToggleBits => {
            SiteOperation::Bits
        }
    }
}

impl AddressNamer for ResolvedNames<'_, '_> {
    fn target_at(&self, run: RunId, addr: Addr, size: u8) -> AccessTarget {
        match self.resolution.address_owner(run, addr, size.into()) {
            resolve::AddressOwner::Member { object, path } => AccessTarget::Member {
                object: self.identified_object(object),
                member: path,
            },
            resolve::AddressOwner::ScalarGlobal { object, symbol } => {
                AccessTarget::Scalar(TargetObject {
                    variable: Some(symbol),
                    ..self.identified_object(object)
                })
            }
            resolve::AddressOwner::Unresolved(class) => AccessTarget::Unresolved(class.to_string()),
        }
    }

    fn operation_of_site(&self, site: SiteId) -> SiteOperation {
        let operation = { self.resolution.site_address(site) }
            .and_then(|address| self.operations.operation(self.profile, site, address));
        operation.map_or(SiteOperation::Unknown, site_operation)
    }

    fn source_of_site(&self, site: SiteId) -> SiteSource {
        let Some(place) = self.site_source(site) else {
            return SiteSource::default();
        };
        let own_frame = self
            .program
            .then(|| frame_outside_libraries(&place))
            .flatten();
        let (inlined, file, line) = own_frame.unwrap_or_else(|| {
            let inlined = place.inlined.first().map(|frame| frame.function.clone());
            (inlined, place.file.clone(), place.line)
        });
        let inlined = inlined.filter(|name| !name.is_empty());
        if self.program && inlined.is_some() && place.function.starts_with("std::") {
            // The library runs a function of the user: a thread's body, a callback.
            return SiteSource {
                function: inlined,
                inlined: None,
                file,
                line,
            };
        }
        SiteSource {
            inlined: inlined.filter(|name| *name != place.function),
            function: Some(place.function).filter(|name| !name.is_empty()),
            file,
            line,
        }
    }
}
