//! Lines of the recorded objects under one layout.

use std::collections::BTreeMap;

use relayout_contend::BytePlacement;
use relayout_layout::abi::StructLayout;
use relayout_profile::{Addr, RunId};
use relayout_timed::{BytePlace, LineLayout, LineName};

use super::LayoutScorer;
use crate::coverage::AtomCoverage;
use crate::mapping::OffsetMapping;
use crate::subject::AdviceSubject;

/// Places of the bytes of all recorded objects under one layout. Bytes of other memory stay where they are.
pub struct ObjectPlacements {
    /// Objects by run and first byte.
    objects: BTreeMap<(RunId, Addr), PlacedObject>,
    line_bytes: u32,
}

struct PlacedObject {
    number: u32,
    bytes: u64,
    phase: u32,
    mapping: OffsetMapping,
}

/// Places the objects of one subject under any number of layouts.
pub struct ObjectPlacer<'a>(LayoutScorer<'a>);

impl<'a> ObjectPlacer<'a> {
    /// Prepares the objects of `subject`.
    pub fn new(subject: AdviceSubject<'a>) -> Self {
        let current = subject.shape.lay_out(&subject.shape.current_arrangement());
        let coverage = AtomCoverage::new(&subject, &current);
        Self(LayoutScorer::new(subject, current, &coverage))
    }

    /// Returns the places as they were recorded.
    pub fn place_today(&self) -> ObjectPlacements {
        self.place_objects(&self.0.current)
    }

    /// Returns the places under a layout.
    pub fn place_objects(&self, layout: &StructLayout) -> ObjectPlacements {
        let LayoutScorer {
            subject,
            current,
            tails,
            ..
        } = &self.0;
        let mapping = OffsetMapping::new(subject.shape, current, layout);
        let mut objects = BTreeMap::new();
        let slots = self.0.slots(layout);
        let instances = subject.instances.iter().enumerate();
        for (((index, instance), slot), tail) in instances.zip(&slots).zip(tails) {
            let last = instance.starts().last().unwrap_or(0);
            let bytes = u64::from(last) + current.size + tail;
            // An object that is recorded in several stretches of time is one.
            let number = objects.len() as u32;
            objects
                .entry((instance.run, instance.trace.base))
                .or_insert_with(|| PlacedObject {
                    number,
                    bytes,
                    phase: slot.phase,
                    mapping: { mapping.clone() }.with_row(self.0.moved_starts(index, slot, layout)),
                });
        }
        ObjectPlacements {
            objects,
            line_bytes: subject.line_bytes.max(1),
        }
    }
}

impl LineLayout for ObjectPlacements {
    fn place(&self, run: RunId, addr: Addr) -> BytePlace {
        let line_bytes = u64::from(self.line_bytes);
        let before = self.objects.range(..=(run, addr)).next_back();
        let own = before.and_then(|((own_run, base), object)| {
            let offset = addr - *base;
            let is_inside = *own_run == run && offset < object.bytes;
            Some((object, u32::try_from(offset).ok().filter(|_| is_inside)?))
        });
        let Some((object, offset)) = own else {
            let line = addr.0 / line_bytes;
            return (LineName::Memory(line), (addr.0 % line_bytes) as u32);
        };
        let place = object.phase.saturating_add(object.mapping.place(offset));
        let line = LineName::Object(object.number, place / self.line_bytes);
        (line, place % self.line_bytes)
    }
}
