//! Simulated time.

/// Picoseconds since the simulated window opened.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct SimulatedTime(pub u64);

impl SimulatedTime {
    /// A time that does not come.
    pub const NEVER: Self = Self(u64::MAX);

    /// Returns the time that lies `ps` picoseconds later. [`SimulatedTime::NEVER`] stays.
    #[must_use]
    pub fn after(self, ps: u64) -> Self {
        Self(self.0.saturating_add(ps))
    }

    /// Returns the time that lies `ps` picoseconds earlier, or the beginning.
    #[must_use]
    pub fn before(self, ps: u64) -> Self {
        match self {
            Self::NEVER => Self::NEVER,
            Self(time) => Self(time.saturating_sub(ps)),
        }
    }

    /// Returns the picoseconds since `earlier`, or 0 if that lies later.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}
