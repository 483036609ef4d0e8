//! Names for findings: the owner of an address and the source of an instruction.

use rayon::prelude::*;
use relayout_contend::{
    AccessTarget, AddressNamer, DeclaringFunction, ElementArray, SiteOperation, SiteSource,
    TargetObject,
};
use relayout_layout::readable_function_name;
use relayout_profile::Profile;
use relayout_profile::{Addr, RunId, SiteId};
use relayout_resolve::{
    self as resolve, DebugImages, ObjectKind, Resolution, SiteOperations, SourceFrame, SourceMaps,
    SourcePlace, StackVariable,
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
}

impl ResolvedNames<'_, '_> {
    /// Reads what sources are looked up in, which the first lookup does otherwise.
    pub fn load_sources(&self) {
        self.sources.load_units();
    }

    /// Returns the functions at an instruction, those that were inlined there first.
    pub fn functions_of_site(&self, site: SiteId) -> Vec<String> {
        let Some(place) = self.site_source(site) else {
            return Vec::new();
        };
        let inlined = place.inlined.into_iter().map(|frame| frame.function);
        inlined.chain([place.function]).collect()
    }

    fn site_source(&self, site: SiteId) -> Option<SourcePlace> {
        let site_place = self.resolution.site_address(site)?;
        match self.profile.is_call(site) {
            true => self.sources.look_up_call(site_place),
            false => self.sources.look_up(site_place),
        }
    }
}

/// Frame of the user's own code, with the helpers that were inlined into it.
struct OwnFrame<'p> {
    /// Function, if it was inlined itself.
    inlined: Option<&'p str>,
    file: Option<&'p str>,
    line: Option<u32>,
    /// Innermost helper.
    helper: Option<&'p str>,
}

impl<'p> OwnFrame<'p> {
    /// Returns the innermost frame that is no helper's: the code that calls an atomic operation or a
    /// vector rather than theirs. Where all are helpers, the innermost.
    fn of_place(place: &'p SourcePlace, is_helper: impl Fn(&str) -> bool) -> Self {
        let is_own =
            |frame: &SourceFrame| frame.file.as_deref().is_some_and(|file| !is_helper(file));
        let helper_before = |index: usize| {
            let innermost = place.inlined.first().filter(|_| index > 0);
            innermost.map(|frame| frame.function.as_str())
        };
        if let Some(index) = place.inlined.iter().position(is_own) {
            let frame = &place.inlined[index];
            return Self {
                inlined: Some(frame.function.as_str()),
                file: frame.file.as_deref(),
                line: frame.line,
                helper: helper_before(index),
            };
        }
        if let Some(outer) = place.outer.as_ref().filter(|outer| is_own(outer)) {
            return Self {
                inlined: None,
                file: outer.file.as_deref(),
                line: outer.line,
                helper: helper_before(place.inlined.len()),
            };
        }
        Self {
            inlined: place.inlined.first().map(|frame| frame.function.as_str()),
            file: place.file.as_deref(),
            line: place.line,
            helper: None,
        }
    }
}

/// Returns true for a source file of helpers in the kernel: its headers for all of it.
fn is_kernel_helper(file: &str) -> bool {
    file.starts_with("include/") || file.contains("/include/")
}

/// Returns true for a source file of the compiler or a standard library.
pub fn is_library_file(file: &str) -> bool {
    const LIBRARY_PREFIXES: [&str; 3] = ["/usr/include/", "/usr/lib/", "/rustc/"];
    const LIBRARY_PARTS: [&str; 7] = [
        "/include/c++/",
        "/library/core/src/",
        "/library/alloc/src/",
        "/library/std/src/",
        "/go/src/internal/",
        "/go/src/runtime/",
        "/go/src/sync/",
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

fn target_at(resolution: &Resolution, run: RunId, addr: Addr, size: u8) -> AccessTarget {
    match resolution.address_owner(run, addr, size.into()) {
        resolve::AddressOwner::Member { object, path } => AccessTarget::Member {
            object: identified_object(resolution, object),
            member: path,
        },
        resolve::AddressOwner::ScalarGlobal { object, symbol } => {
            AccessTarget::Scalar(TargetObject {
                variable: Some(symbol),
                ..identified_object(resolution, object)
            })
        }
        resolve::AddressOwner::Unresolved(class) => AccessTarget::Unresolved(class.to_string()),
    }
}

fn identified_object(resolution: &Resolution, id: resolve::ObjectId) -> TargetObject {
    let object = resolution.object(id);
    let declaring = |local: &StackVariable| DeclaringFunction {
        name: local.function.clone(),
        file: local.declared.as_ref().map(|line| line.file.clone()),
        line: local.declared.as_ref().map(|line| line.line),
    };
    let origin = match &object.kind {
        ObjectKind::Heap { site, holder } => {
            let words = [site.as_str(), holder.as_str()].into_iter();
            let words: Vec<&str> = words.filter(|words| !words.is_empty()).collect();
            (!words.is_empty()).then(|| words.join(", "))
        }
        _ => None,
    };
    TargetObject {
        base: object.base,
        bytes: object.bytes,
        variable: object.variable().map(str::to_owned),
        declaring: object.kind.stack_variable().map(declaring),
        origin,
        array: object.array.map(|array| ElementArray {
            base: array.base,
            stride: array.stride,
            count: array.count,
        }),
        type_percent: object.confidence_percent(),
        rival_type: object.rival.clone(),
    }
}

impl AddressNamer for ResolvedNames<'_, '_> {
    fn target_at(&self, run: RunId, addr: Addr, size: u8) -> AccessTarget {
        target_at(self.resolution, run, addr, size)
    }

    fn targets_at(&self, places: &[(RunId, Addr, u8)]) -> Vec<AccessTarget> {
        let resolution = self.resolution;
        let target =
            |&(run, addr, size): &(RunId, Addr, u8)| target_at(resolution, run, addr, size);
        places.par_iter().map(target).collect()
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
        let is_helper = if self.program {
            is_library_file
        } else {
            is_kernel_helper
        };
        let own = OwnFrame::of_place(&place, is_helper);
        let (file, line) = (own.file.map(str::to_owned), own.line);
        let is_new = |name: &&str| !name.is_empty() && *name != place.function;
        let inlined = own.inlined.filter(is_new);
        let names: Vec<String> = { inlined.into_iter() }
            .chain(own.helper.filter(is_new))
            .map(readable_function_name)
            .collect();
        let runs_callback = self.program && place.function.starts_with("std::");
        if let (true, Some(callback)) = (runs_callback, inlined) {
            // The library runs a function of the user: a thread's body, a callback.
            return SiteSource {
                function: Some(readable_function_name(callback)),
                inlined: own.helper.filter(is_new).map(readable_function_name),
                file,
                line,
            };
        }
        SiteSource {
            inlined: (!names.is_empty()).then(|| names.join(" > ")),
            function: { !place.function.is_empty() }
                .then(|| readable_function_name(&place.function)),
            file,
            line,
        }
    }
}
