//! A slow reading of the definitions in `docs/glossary.md`: it keeps the whole history of each line
//! and looks back and forth over it.
//!
//! One approximation of the shadow is modelled: of a line that only one context has used so far it
//! remembers which aligned 8 bytes were written, not which bytes; and of who wrote them, the
//! context. So the stores from before a line's second context appears count as changing whole
//! granules, until they stop being news.
//!
//! And one in naming the other side: among the stores to one aligned four bytes, the shadow knows
//! the last only.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use relayout_shadow::{AccessKind, LINE_BYTES, ShadowConfig};

use super::input::Input;

/// One access to one line.
#[derive(Clone, Debug)]
pub struct Touch {
    pub context: u16,
    pub site: u32,
    pub addr: u64,
    pub size: u8,
    pub access: AccessKind,
    /// Bytes of the line that it uses.
    bytes: Vec<u64>,
    /// Bytes that it changed, as far as is known.
    changed: Vec<u64>,
    /// From before a second context appeared on the line.
    private: bool,
    pub silent: Option<bool>,
    pub order_error: bool,
    pub event: Option<Event>,
    /// Coherence events of the line up to and including this.
    pub events: u32,
    /// The line is written and shared.
    pub contended: bool,
}

impl Touch {
    pub fn stores(&self) -> bool {
        self.access != AccessKind::Read
    }
}

/// A coherence event.
#[derive(Clone, Debug)]
pub struct Event {
    /// As in the wire format.
    pub transfer: u8,
    pub false_first_touch: bool,
    /// Possible other sides.
    pub others: Vec<Other>,
}

/// A possible other side of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    pub context: u16,
    /// `None` where the shadow cannot know.
    pub site: Option<u32>,
}

/// The history of one line.
#[derive(Default)]
pub struct Line {
    pub touches: Vec<Touch>,
    values: HashMap<u64, u8>,
    known: BTreeSet<u64>,
}

/// The histories of all lines, by address.
pub struct Reference {
    pub lines: BTreeMap<u64, Line>,
    config: ShadowConfig,
}

impl Reference {
    pub fn new(config: ShadowConfig) -> Self {
        Self {
            lines: BTreeMap::new(),
            config,
        }
    }

    /// The access `part`, which lies on one line.
    pub fn access(&mut self, part: &Input, site: u32) -> &Touch {
        let start = part.addr - part.addr % LINE_BYTES as u64;
        self.lines
            .entry(start)
            .or_default()
            .access(part, site, &self.config)
    }
}

impl Line {
    fn access(&mut self, part: &Input, site: u32, config: &ShadowConfig) -> &Touch {
        let bytes: Vec<u64> = (part.addr..part.addr + u64::from(part.size)).collect();
        let stores = part.access != AccessKind::Read;
        let alone = self.touches.iter().all(|t| t.context == part.context);
        let contended = !alone && (stores || self.touches.iter().any(Touch::stores));
        let before = self.touches.last().map_or(0, |t| t.events);
        let event = self.event(part.context, &bytes, stores);
        let mut touch = Touch {
            context: part.context,
            site,
            addr: part.addr,
            size: part.size,
            access: part.access,
            changed: Vec::new(),
            private: alone,
            silent: None,
            order_error: false,
            events: before + u32::from(event.is_some()),
            event,
            contended,
            bytes,
        };
        if contended {
            let value = part.value.filter(|_| before >= config.values_from);
            self.compare(&mut touch, value);
        }
        if stores && touch.silent != Some(true) {
            touch.changed = match alone {
                true => touch
                    .bytes
                    .iter()
                    .flat_map(|b| b / 8 * 8..b / 8 * 8 + 8)
                    .collect(),
                false => touch.bytes.clone(),
            };
        }
        self.touches.push(touch);
        self.touches.last().expect("just pushed")
    }

    /// Compares values where they are looked at: of stores, and of loads that fetch the line.
    fn compare(&mut self, touch: &mut Touch, value: Option<([u8; 16], bool)>) {
        let had = self.has_copy(touch.context, self.touches.len());
        if !touch.stores() && had {
            return;
        }
        let Some((new, certain)) = value else {
            if touch.stores() {
                self.known.retain(|byte| !touch.bytes.contains(byte));
            }
            return;
        };
        let known = touch.bytes.iter().all(|byte| self.known.contains(byte));
        let same = touch
            .bytes
            .iter()
            .zip(new)
            .all(|(b, v)| self.values.get(b) == Some(&v));
        if touch.stores() {
            touch.silent = certain.then_some(known && same);
        } else {
            touch.order_error = known && !same;
        }
        for (byte, value) in touch.bytes.iter().zip(new) {
            self.values.insert(*byte, value);
            if certain {
                self.known.insert(*byte);
            } else {
                self.known.remove(byte);
            }
        }
    }

    fn stores_by_others(
        &self,
        context: u16,
        from: usize,
        to: usize,
    ) -> impl Iterator<Item = usize> {
        (from..to).filter(move |&i| self.touches[i].stores() && self.touches[i].context != context)
    }

    fn last_own(&self, context: u16, at: usize) -> Option<usize> {
        (0..at).rev().find(|&i| self.touches[i].context == context)
    }

    /// Returns whether `context` has a valid copy before touch number `at`.
    fn has_copy(&self, context: u16, at: usize) -> bool {
        self.last_own(context, at)
            .is_some_and(|own| self.stores_by_others(context, own, at).next().is_none())
    }

    /// Touches that changed the news which `context` has at `at`.
    fn news(&self, context: u16, at: usize) -> Vec<usize> {
        let from = self.last_own(context, at).unwrap_or(0);
        self.stores_by_others(context, from, at).collect()
    }

    /// The event that an access by `context` is, now.
    fn event(&self, context: u16, bytes: &[u64], stores: bool) -> Option<Event> {
        let now = self.touches.len();
        if self.has_copy(context, now) {
            let sharers: BTreeSet<u16> = self.touches.iter().map(|t| t.context).collect();
            let sharers = sharers
                .into_iter()
                .filter(|&o| o != context && self.has_copy(o, now));
            let others: Vec<Other> = sharers
                .map(|context| Other {
                    context,
                    site: None,
                })
                .collect();
            let upgrade = Event {
                transfer: 2,
                false_first_touch: false,
                others,
            };
            return (stores && !upgrade.others.is_empty()).then_some(upgrade);
        }
        let last_store = self.stores_by_others(context, 0, now).last()?;
        let news = self.news(context, now);
        let needed: Vec<u64> = bytes
            .iter()
            .copied()
            .filter(|b| self.changed(&news, |c| c == b))
            .collect();
        let others = match needed.as_slice() {
            [] => vec![self.other(last_store, false)],
            needed => self.last_changes(&news, needed),
        };
        let false_first_touch = needed.is_empty();
        let contexts: BTreeSet<u16> = self.touches.iter().map(|t| t.context).collect();
        let holders = contexts.into_iter().filter(|&o| self.has_copy(o, now));
        let transfer = match (stores, holders.count()) {
            (true, _) => 1,
            (false, 1) => 0,
            (false, _) => 3,
        };
        Some(Event {
            transfer,
            false_first_touch,
            others,
        })
    }

    fn changed(&self, news: &[usize], is: impl Fn(&u64) -> bool) -> bool {
        news.iter()
            .any(|&i| self.touches[i].changed.iter().any(&is))
    }

    /// The last touch of `news` that changed a byte of `needed`, if it is the line's last store;
    /// else those that last changed the aligned four bytes around each.
    fn last_changes(&self, news: &[usize], needed: &[u64]) -> Vec<Other> {
        if let Some(last) = news
            .last()
            .filter(|&&i| self.changed(&[i], |c| needed.contains(c)))
        {
            return vec![self.other(*last, true)];
        }
        let last_of = |byte: &u64| {
            let same_word = |c: &u64| c / 4 == byte / 4;
            news.iter()
                .rev()
                .copied()
                .find(|&i| self.changed(&[i], same_word))
        };
        needed
            .iter()
            .filter_map(last_of)
            .map(|i| self.other(i, true))
            .collect()
    }

    fn other(&self, at: usize, by_granule: bool) -> Other {
        let touch = &self.touches[at];
        let site = (!(by_granule && touch.private)).then_some(touch.site);
        Other {
            context: touch.context,
            site,
        }
    }

    /// Returns whether touch number `at`, a transfer, is false by lifetime.
    pub fn is_false_by_lifetime(&self, at: usize) -> bool {
        let context = self.touches[at].context;
        let news: BTreeSet<u64> = self
            .news(context, at)
            .iter()
            .flat_map(|&i| self.touches[i].changed.clone())
            .collect();
        let end = self
            .stores_by_others(context, at, self.touches.len())
            .next();
        let tenure = &self.touches[at..end.unwrap_or(self.touches.len())];
        !tenure
            .iter()
            .any(|t| t.context == context && t.bytes.iter().any(|b| news.contains(b)))
    }
}
