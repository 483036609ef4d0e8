//! Costs of contended lines on a machine.

use crate::replay::AccessCounts;

/// Use of a line by a context.
///
/// Stores with nothing but stores around them wait in the processor's buffer, and those to one line
/// leave it together. With loads of the line or stores to other lines between them they leave it
/// one by one, and the context stalls for longer: that is an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LineHabit {
    /// The context only loads from the line.
    Load,
    /// The context does nothing but store to the line.
    Store,
    /// The context stores to the line, among other things.
    Update,
    /// The context runs locked instructions on the line.
    Exchange,
}

/// Stores are updates if at least one in this many goes with a load of the line or a store to
/// another line: fewer than a processor's buffer holds.
const UPDATE_PART: u64 = 8;
/// Stores count as exchanges if at least one in this many is an exchange.
const EXCHANGE_PART: u64 = 4;

/// Costs of accesses on a machine, in loops that do nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MachineCosts {
    /// Time to move a line from one CPU to another, in nanoseconds.
    pub transfer_ns: f64,
    /// Time of an access to a line that no other context uses, in nanoseconds, by [`LineHabit`].
    pub alone_ns: [f64; 4],
    /// Time of an access to a line for which two contexts fight all the time, in nanoseconds, by
    /// the [`LineHabit`] of the context and that of the other. The entry for two that only load is
    /// not used.
    pub contended_ns: [[f64; 4]; 4],
}

impl LineHabit {
    /// All habits, in order.
    pub const ALL: [Self; 4] = [Self::Load, Self::Store, Self::Update, Self::Exchange];

    /// Habit of a context with these accesses to the line, and `stores_elsewhere` to other lines
    /// meanwhile.
    pub(super) fn from_accesses(on_line: &AccessCounts, stores_elsewhere: u64) -> Self {
        let stores = on_line.stores.saturating_add(on_line.exchanges);
        let goes_with = |others: u64| others.saturating_mul(UPDATE_PART) >= stores;
        if stores == 0 {
            Self::Load
        } else if on_line.exchanges.saturating_mul(EXCHANGE_PART) >= stores {
            Self::Exchange
        } else if goes_with(on_line.loads) || goes_with(stores_elsewhere) {
            Self::Update
        } else {
            Self::Store
        }
    }
}

impl MachineCosts {
    /// Returns the time of these accesses without waits, in nanoseconds.
    pub(super) fn alone(&self, accesses: &AccessCounts) -> f64 {
        accesses.loads as f64 * self.alone_ns[LineHabit::Load as usize]
            + accesses.stores as f64 * self.alone_ns[LineHabit::Store as usize]
            + accesses.exchanges as f64 * self.alone_ns[LineHabit::Exchange as usize]
    }

    /// Returns how long a context keeps working after it gets a line until it waits for it again,
    /// where both it and the other context use the line all the time; in nanoseconds of its own
    /// work.
    ///
    /// In the probe's loop a context works for the fraction `d = alone / contended` of its time,
    /// and waits for the rest. Each time it waits for a transfer `S`, and for the other context
    /// where that is waiting for the line, which it is for the fraction `1 - d'` of *its* time: so
    /// for `S * (2 - d')`.
    pub(super) fn keeps_ns(&self, own: LineHabit, other: LineHabit) -> f64 {
        if (own, other) == (LineHabit::Load, LineHabit::Load) {
            return f64::INFINITY;
        }
        let works = |own: LineHabit, other: LineHabit| {
            let (own, other) = (own as usize, other as usize);
            self.alone_ns[own] / self.contended_ns[own][other]
        };
        let (own, other) = (works(own, other), works(other, own).min(1.0));
        match own < 1.0 {
            true => self.transfer_ns * (2.0 - other) * own / (1.0 - own),
            // The loop shows no contention.
            false => f64::INFINITY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(loads: u64, stores: u64, exchanges: u64, elsewhere: u64, expect: LineHabit) {
        let accesses = AccessCounts {
            loads,
            stores,
            exchanges,
        };
        assert_eq!(
            LineHabit::from_accesses(&accesses, elsewhere),
            expect,
            "{accesses:?}"
        );
    }

    #[test]
    fn habits() {
        check(1000, 0, 0, 1000, LineHabit::Load);
        check(0, 1000, 0, 10, LineHabit::Store);
        check(10, 1000, 0, 0, LineHabit::Store);
        check(200, 1000, 0, 0, LineHabit::Update);
        check(0, 1000, 0, 200, LineHabit::Update);
        check(0, 300, 100, 0, LineHabit::Exchange);
        check(0, 0, 1, u64::MAX, LineHabit::Exchange);
        check(0, u64::MAX / 2, 0, u64::MAX, LineHabit::Update);
    }

    #[test]
    fn a_line_is_kept_for_as_long_as_the_loops_say() {
        let costs = MachineCosts {
            transfer_ns: 100.0,
            alone_ns: [1.0, 1.0, 1.0, 2.0],
            contended_ns: [
                [0.0, 2.0, 2.0, 2.0],
                [4.0, 2.0, 2.0, 2.0],
                [1.0, 2.0, 2.0, 2.0],
                [8.0, 8.0, 8.0, 8.0],
            ],
        };
        // Works a quarter of its time; the other, half of its.
        let kept = costs.keeps_ns(LineHabit::Store, LineHabit::Load);
        assert!((kept - 100.0 * 1.5 / 3.0).abs() < 1e-9, "{kept}");
        assert_eq!(
            costs.keeps_ns(LineHabit::Update, LineHabit::Load),
            f64::INFINITY
        );
        assert_eq!(
            costs.keeps_ns(LineHabit::Load, LineHabit::Load),
            f64::INFINITY
        );
        // Not probed.
        assert!(
            MachineCosts::default()
                .keeps_ns(LineHabit::Store, LineHabit::Load)
                .is_infinite()
        );
    }
}
