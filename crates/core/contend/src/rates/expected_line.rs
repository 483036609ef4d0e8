//! Expected events on one line.

use std::collections::BTreeMap;

use relayout_profile::{Addr, CoherenceEvent, ConflictRow, ContextId, RunId, SiteId};
use rustc_hash::FxHashMap;

use super::alternation::alternations;
use super::rate_rows::RateRow;
use super::sample_order::LineTurns;

/// Maximum number of rows of a context, those with the highest counts. Their number multiplies with
/// that of the other contexts.
const ROWS_MAX: usize = 64;

/// Use of the line by one context.
struct LineUser {
    rows: Vec<RateRow>,
    /// Episodes of all its rows, also of those left out.
    count: f64,
    episodes: f64,
    stores: f64,
}

impl LineUser {
    fn new(mut rows: Vec<RateRow>) -> Self {
        let stores = |row: &RateRow| if row.is_store() { row.count } else { 0.0 };
        let (episodes, stores) = (episodes(&rows, |row| row.count), episodes(&rows, stores));
        rows.sort_by(|a, b| b.count.total_cmp(&a.count));
        rows.truncate(ROWS_MAX);
        rows.sort_by_key(|row| (row.addr, row.size, row.site, row.access));
        let count = rows.iter().map(|row| row.count).sum();
        Self {
            rows,
            count,
            episodes,
            stores,
        }
    }

    /// Returns its stores of the rows that count, in episodes.
    fn changing_stores(&self, is_counted: impl Fn(&RateRow) -> bool) -> f64 {
        episodes(&self.rows, |row| {
            if row.is_store() && is_counted(row) {
                row.changing
            } else {
                0.0
            }
        })
    }
}

/// Returns the number of episodes of these accesses, from the counts of the most frequent
/// instruction and of the most used granule, as the module's comment describes.
fn episodes(rows: &[RateRow], weight: impl Fn(&RateRow) -> f64) -> f64 {
    let mut sites: FxHashMap<SiteId, f64> = FxHashMap::default();
    // Stores to a granule by all instructions, and accesses to it by each.
    let mut stores: FxHashMap<(Addr, u8), f64> = FxHashMap::default();
    let mut granules: FxHashMap<(SiteId, Addr, u8), f64> = FxHashMap::default();
    for row in rows {
        let count = weight(row);
        *sites.entry(row.site).or_default() += count;
        *granules.entry((row.site, row.addr, row.size)).or_default() += count;
        if row.is_store() {
            *stores.entry((row.addr, row.size)).or_default() += count;
        }
    }
    let by_site = sites.into_values().fold(0.0, f64::max);
    let by_granule = granules
        .into_values()
        .chain(stores.into_values())
        .fold(0.0, f64::max);
    (by_site * by_granule).sqrt()
}

pub(super) struct ExpectedLine {
    run: RunId,
    users: BTreeMap<ContextId, LineUser>,
    /// Part of the alternations in random order that remains.
    share: f64,
}

impl ExpectedLine {
    /// Line of these rows; `turns` are those of its samples, where their order is known.
    pub fn new(run: RunId, rows: Vec<RateRow>, turns: Option<&LineTurns>) -> Self {
        let mut users: BTreeMap<ContextId, Vec<RateRow>> = BTreeMap::new();
        for row in rows {
            users.entry(row.context).or_default().push(row);
        }
        let users = users
            .into_iter()
            .map(|(context, rows)| (context, LineUser::new(rows)));
        let mut line = Self {
            run,
            users: users.collect(),
            share: 1.0,
        };
        if let Some(turns) = turns {
            let transfers =
                |(context, user): (&ContextId, &LineUser)| line.random_transfers(*context, user);
            line.share = turns.share(line.users.iter().map(transfers).sum());
        }
        line
    }

    /// Appends the line's events.
    pub fn estimate(&self, events: &mut Vec<ConflictRow>) {
        if self.users.len() < 2 || self.users.values().all(|user| user.stores == 0.0) {
            return;
        }
        let mut rounded = RoundedEvents {
            run: self.run,
            events,
            owed: Default::default(),
        };
        for (context, user) in &self.users {
            rounded.owed = Default::default();
            let write_transfers = self.add_transfers(*context, user, &mut rounded);
            self.add_upgrades(*context, user, write_transfers, &mut rounded);
        }
    }

    fn others(&self, context: ContextId) -> impl Iterator<Item = &LineUser> {
        self.users
            .iter()
            .filter(move |(other, _)| **other != context)
            .map(|(_, user)| user)
    }

    /// Returns the stores by others to bytes of `bytes` that changed something, in episodes.
    fn news_stores(&self, context: ContextId, bytes: &[RateRow]) -> f64 {
        let touches = |row: &RateRow| bytes.iter().any(|own| own.overlaps(row));
        self.others(context)
            .map(|user| user.changing_stores(touches))
            .sum()
    }

    /// Returns the transfers into `context` in random order.
    fn random_transfers(&self, context: ContextId, user: &LineUser) -> f64 {
        let stores: f64 = self.others(context).map(|user| user.stores).sum();
        alternations(user.episodes, stores)
    }

    /// Adds the transfers into `context`, and returns the number of write transfers.
    fn add_transfers(
        &self,
        context: ContextId,
        user: &LineUser,
        rounded: &mut RoundedEvents,
    ) -> f64 {
        let all = self.random_transfers(context, user);
        if all == 0.0 {
            return 0.0;
        }
        // Returns the share that is false, as the module's comment describes.
        let falsely = |bytes: &[RateRow]| {
            let needed = alternations(user.episodes, self.news_stores(context, bytes));
            (1.0 - needed / all).clamp(0.0, 1.0)
        };
        let by_lifetime = falsely(&user.rows);
        let mut write_transfers = 0.0;
        for row in &user.rows {
            let expected = self.share * all * row.count / user.count;
            let by_first_touch = falsely(std::slice::from_ref(row)).max(by_lifetime);
            if row.is_store() {
                write_transfers += expected;
            }
            let false_share = [by_first_touch, by_lifetime];
            let transfer = if row.is_store() {
                CoherenceEvent::Write
            } else {
                CoherenceEvent::Read
            };
            self.spread_events(context, row, expected, false_share, transfer, rounded);
        }
        write_transfers
    }

    /// Spreads `expected` events of `row` over the others' stores: true events over stores to its
    /// bytes, false events over the rest.
    fn spread_events(
        &self,
        context: ContextId,
        row: &RateRow,
        expected: f64,
        [by_first_touch, by_lifetime]: [f64; 2],
        transfer: CoherenceEvent,
        rounded: &mut RoundedEvents,
    ) {
        let stores = self
            .others(context)
            .flat_map(|user| user.rows.iter().filter(|r| r.is_store()));
        let (near, far): (Vec<&RateRow>, Vec<&RateRow>) =
            stores.partition(|other| other.changing > 0.0 && row.overlaps(other));
        // If all stores are to its bytes, some silent ones among them, they are on both sides.
        let far = if far.is_empty() { &near } else { &far };
        let false_lifetime = expected * by_lifetime;
        let false_rest = expected * (by_first_touch - by_lifetime).max(0.0);
        let weigh = |rows: &[&RateRow]| rows.iter().map(|r| r.count).sum::<f64>();
        let (all_far, all_near) = (weigh(far), weigh(&near));
        for other in far {
            let share = other.count / all_far;
            let parts = [0.0, false_rest * share, false_lifetime * share];
            rounded.push(row, other, transfer, parts);
        }
        let truly = expected * (1.0 - by_first_touch.max(by_lifetime));
        for other in &near {
            rounded.push(
                row,
                other,
                transfer,
                [truly * other.count / all_near, 0.0, 0.0],
            );
        }
    }

    fn add_upgrades(
        &self,
        context: ContextId,
        user: &LineUser,
        write_transfers: f64,
        rounded: &mut RoundedEvents,
    ) {
        let episodes: f64 = self.others(context).map(|user| user.episodes).sum();
        let expected = self.share * alternations(user.stores, episodes) - write_transfers;
        let own: f64 = user
            .rows
            .iter()
            .filter(|r| r.is_store())
            .map(|r| r.count)
            .sum();
        let others: f64 = self.others(context).map(|user| user.count).sum();
        if expected <= 0.0 || own == 0.0 {
            return;
        }
        for row in user.rows.iter().filter(|row| row.is_store()) {
            for other in self.others(context).flat_map(|user| &user.rows) {
                let events = expected * row.count / own * other.count / others;
                rounded.push(row, other, CoherenceEvent::Upgrade, [events, 0.0, 0.0]);
            }
        }
    }
}

/// Rows with whole numbers. The rest of each rounding carries over to the next row, so that sums
/// stay.
struct RoundedEvents<'a> {
    run: RunId,
    events: &'a mut Vec<ConflictRow>,
    /// Rest of roundings by kind of event: true or not classified; false by first touch alone;
    /// false by lifetime.
    owed: [[f64; 3]; 3],
}

impl RoundedEvents<'_> {
    fn push(&mut self, row: &RateRow, other: &RateRow, transfer: CoherenceEvent, parts: [f64; 3]) {
        let mut whole = [0; 3];
        for ((whole, owed), part) in whole
            .iter_mut()
            .zip(&mut self.owed[transfer as usize])
            .zip(parts)
        {
            if part > 0.0 {
                *owed += part;
                // The rest of another kind of event is not used here.
                *whole = (*owed + 0.5).floor().max(0.0) as u64;
                *owed -= *whole as f64;
            }
        }
        let [truly, first_touch, lifetime] = whole;
        let count = truly.saturating_add(first_touch).saturating_add(lifetime);
        if count == 0 {
            return;
        }
        let upgrade = transfer == CoherenceEvent::Upgrade;
        self.events.push(ConflictRow {
            run: self.run,
            transfer,
            context: row.context,
            addr: row.addr,
            size: row.size,
            site: row.site,
            access: row.access,
            other_context: other.context,
            other_addr: other.addr,
            other_size: other.size,
            other_site: other.site,
            other_access: other.access,
            count,
            first_reads: None,
            false_first_touch: if upgrade {
                0
            } else {
                first_touch.saturating_add(lifetime)
            },
            false_lifetime: if upgrade { 0 } else { lifetime },
        });
    }
}
