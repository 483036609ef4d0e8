//! Finds the event of a record.

use rustc_hash::FxHashMap;

use super::bytes::{ByteOrder, ByteReader};
use super::error::Error;
use super::header::EventAttr;

/// Finds events by the id in a record.
pub(super) struct EventIds {
    by_id: FxHashMap<u64, usize>,
    place: IdPlace,
    time_from_end: TimePlace,
}

/// Place of the id in samples.
enum IdPlace {
    /// Only one event, or all look the same and have no id.
    First,
    /// Bytes from the start of a sample.
    At(usize),
}

/// Place of the time in other records.
enum TimePlace {
    /// In all of them the same; `None` if they have none.
    Same(Option<usize>),
    /// By event, whose id ends the record.
    ByEvent(Vec<Option<usize>>),
}

impl EventIds {
    /// # Errors
    /// There is no event, or there are several in several forms and no id in one place.
    pub fn new(events: &[EventAttr]) -> Result<Self, Error> {
        let first = events.first().ok_or(Error::NoEvents)?;
        let same = |field: fn(&EventAttr) -> Option<usize>| {
            events.iter().all(|e| field(e) == field(first))
        };
        let alike = events
            .iter()
            .all(|e| e.attr.sample_type == first.attr.sample_type);
        let place = match first.attr.sample_id_at() {
            _ if events.len() == 1 => IdPlace::First,
            Some(at) if same(|e| e.attr.sample_id_at()) => IdPlace::At(at),
            None if alike => IdPlace::First,
            _ => {
                return Err(Error::Ambiguous {
                    events: events.len(),
                });
            }
        };
        let time_from_end = if same(|e| e.attr.time_from_end()) {
            TimePlace::Same(first.attr.time_from_end())
        } else {
            TimePlace::ByEvent(events.iter().map(|e| e.attr.time_from_end()).collect())
        };
        let by_id = (0..)
            .zip(events)
            .flat_map(|(n, e)| e.ids.iter().map(move |&id| (id, n)));
        Ok(Self {
            by_id: by_id.collect(),
            place,
            time_from_end,
        })
    }

    /// The event of a sample.
    pub fn event_of_sample(&self, body: &[u8], order: ByteOrder) -> Option<usize> {
        match self.place {
            IdPlace::First => Some(0),
            IdPlace::At(at) => {
                let id = ByteReader::new(body.get(at..)?, order).u64()?;
                self.by_id.get(&id).copied()
            }
        }
    }

    /// Returns the place of the time in a record that is no sample, in bytes from its end.
    pub fn time_from_end(&self, body: &[u8], order: ByteOrder) -> Option<usize> {
        match &self.time_from_end {
            TimePlace::Same(from_end) => *from_end,
            TimePlace::ByEvent(by_event) => {
                let at = body.len().checked_sub(8)?;
                let id = ByteReader::new(&body[at..], order).u64()?;
                by_event.get(*self.by_id.get(&id)?).copied().flatten()
            }
        }
    }
}
