//! Lets findings ask a resolution: who lives at an address, where an instruction comes from.

use relayout_contend::{Identify, Object, Place, Source};
use relayout_profile::Profile;
use relayout_resolve::{self as resolve, Images, ObjectKind, Resolution, SourcePlace, Sources};

use crate::input::Input;

/// A resolution and the debug files behind it, as [`Identify`].
pub struct Identified<'a, 'f> {
    profile: &'a Profile,
    resolution: &'a Resolution,
    sources: Sources<'a, 'f>,
}

impl<'a, 'f> Identified<'a, 'f> {
    /// `images` are what `input` was resolved with.
    pub fn new(input: &Input<'a>, images: &Images<'a, 'f>) -> Self {
        Self {
            profile: input.profile,
            resolution: input.resolution,
            sources: Sources::new(images),
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
        Object {
            base: object.base,
            bytes: object.bytes,
            variable,
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
        let inlined = place.inlined.into_iter().next().map(|frame| frame.function);
        Source {
            inlined: inlined.filter(|name| !name.is_empty() && *name != place.function),
            function: Some(place.function).filter(|name| !name.is_empty()),
            file: place.file,
            line: place.line,
        }
    }
}
