//! Which event a record belongs to.

use rustc_hash::FxHashMap;

use super::bytes::{Order, Reader};
use super::error::Error;
use super::header::EventAttr;

/// Finds events by the id in a record.
pub(super) struct Ids {
    by_id: FxHashMap<u64, usize>,
    place: Place,
    time_from_end: TimeFromEnd,
}

/// Where samples have their id.
enum Place {
    /// Only one event, or all look the same and have no id.
    First,
    /// Bytes from the start of a sample.
    At(usize),
}

/// Where other records have their time.
enum TimeFromEnd {
    /// In all of them the same; `None` if they have none.
    Same(Option<usize>),
    /// By event, whose id ends the record.
    ByEvent(Vec<Option<usize>>),
}

impl Ids {
    /// # Errors
    /// There is no event, or there are several in several forms and no id in one place.
    pub fn new(events: &[EventAttr]) -> Result<Self, Error> {
        let first = events.first().ok_or(Error::NoEvents)?;
        let same = |of: fn(&EventAttr) -> Option<usize>| events.iter().all(|e| of(e) == of(first));
        let alike = events
            .iter()
            .all(|e| e.attr.sample_type == first.attr.sample_type);
        let place = match first.attr.sample_id_at() {
            _ if events.len() == 1 => Place::First,
            Some(at) if same(|e| e.attr.sample_id_at()) => Place::At(at),
            None if alike => Place::First,
            _ => {
                return Err(Error::Ambiguous {
                    events: events.len(),
                });
            }
        };
        let time_from_end = if same(|e| e.attr.time_from_end()) {
            TimeFromEnd::Same(first.attr.time_from_end())
        } else {
            TimeFromEnd::ByEvent(events.iter().map(|e| e.attr.time_from_end()).collect())
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
    pub fn of_sample(&self, body: &[u8], order: Order) -> Option<usize> {
        match self.place {
            Place::First => Some(0),
            Place::At(at) => {
                let id = Reader::new(body.get(at..)?, order).u64()?;
                self.by_id.get(&id).copied()
            }
        }
    }

    /// Where a record that is no sample has its time, in bytes from its end.
    pub fn time_from_end(&self, body: &[u8], order: Order) -> Option<usize> {
        match &self.time_from_end {
            TimeFromEnd::Same(from_end) => *from_end,
            TimeFromEnd::ByEvent(all) => {
                let at = body.len().checked_sub(8)?;
                let id = Reader::new(&body[at..], order).u64()?;
                all.get(*self.by_id.get(&id)?).copied().flatten()
            }
        }
    }
}
