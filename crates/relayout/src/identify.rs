//! Lets findings ask a resolution: who lives at an address, where an instruction comes from.

use relayout_contend::{Identify, Object, Place, Source};
use relayout_profile::Profile;
use relayout_resolve::{
    self as resolve, Frame, Images, ObjectKind, Resolution, SourcePlace, Sources,
};

use crate::input::Input;

/// A resolution and the debug files behind it, as [`Identify`].
pub struct Identified<'a, 'f> {
    profile: &'a Profile,
    resolution: &'a Resolution,
    sources: Sources<'a, 'f>,
    program: bool,
}

impl<'a, 'f> Identified<'a, 'f> {
    /// `images` are what `input` was resolved with.
    pub fn new(input: &Input<'a>, images: &Images<'a, 'f>) -> Self {
        Self {
            profile: input.profile,
            resolution: input.resolution,
            sources: Sources::new(images),
            program: images.is_program(),
        }
    }

    fn object(&self, id: resolve::ObjectId) -> Object {
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
        Object {
            base: object.base,
            bytes: object.bytes,
            variable,
            origin,
        }
    }
}

impl Identified<'_, '_> {
    fn source_of(&self, site: u32) -> Option<SourcePlace> {
        let at = self.resolution.site_place(site)?;
        match self.profile.is_call(site) {
            true => self.sources.look_up_call(at),
            false => self.sources.look_up(at),
        }
    }
}

/// Function (if inlined), file and line of the innermost frame that is not of a standard library: where
/// the user's own code is, and not what an atomic or a vector does for it. `None` if all are.
fn outside_libraries(place: &SourcePlace) -> Option<(Option<String>, Option<String>, Option<u32>)> {
    let own = |frame: &&Frame| frame.file.as_deref().is_some_and(|file| !is_library(file));
    if let Some(frame) = place.inlined.iter().find(own) {
        return Some((Some(frame.function.clone()), frame.file.clone(), frame.line));
    }
    let outer = place.outer.as_ref().filter(own)?;
    Some((None, outer.file.clone(), outer.line))
}

/// Whether a source file belongs to the compiler or a standard library.
fn is_library(file: &str) -> bool {
    const STARTS: [&str; 3] = ["/usr/include/", "/usr/lib/", "/rustc/"];
    const PARTS: [&str; 4] = [
        "/include/c++/",
        "/library/core/src/",
        "/library/alloc/src/",
        "/library/std/src/",
    ];
    STARTS.iter().any(|start| file.starts_with(start))
        || PARTS.iter().any(|part| file.contains(part))
}

impl Identify for Identified<'_, '_> {
    fn place(&self, run: u16, addr: u64, size: u8) -> Place {
        match self.resolution.place(run, addr, size.into()) {
            resolve::Place::Member { object, path } => Place::Member {
                object: self.object(object),
                member: path,
            },
            resolve::Place::ScalarGlobal { object, symbol } => Place::Scalar(Object {
                variable: Some(symbol),
                ..self.object(object)
            }),
            resolve::Place::Unresolved(class) => Place::Unresolved(class.to_string()),
        }
    }

    fn source(&self, site: u32) -> Source {
        let Some(place) = self.source_of(site) else {
            return Source::default();
        };
        let own = self.program.then(|| outside_libraries(&place)).flatten();
        let (inlined, file, line) = own.unwrap_or_else(|| {
            let inlined = place.inlined.first().map(|frame| frame.function.clone());
            (inlined, place.file.clone(), place.line)
        });
        let inlined = inlined.filter(|name| !name.is_empty());
        if self.program && inlined.is_some() && place.function.starts_with("std::") {
            // What the library runs for the user: a thread's body, a callback.
            return Source {
                function: inlined,
                inlined: None,
                file,
                line,
            };
        }
        Source {
            inlined: inlined.filter(|name| *name != place.function),
            function: Some(place.function).filter(|name| !name.is_empty()),
            file,
            line,
        }
    }
}
