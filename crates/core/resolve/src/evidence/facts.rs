//! Facts about one function, by address.

use super::knowledge::VariableFact;

/// Facts per chunk, whose last end is stored.
const CHUNK: usize = 64;
/// Facts that hold at one address, at most; no function has more variables alive.
const HOLDING_MAX: usize = 4096;

/// Facts by their first address.
#[derive(Clone, Debug, Default)]
pub(super) struct FactIndex {
    sorted: Vec<VariableFact>,
    /// Last end in each chunk.
    ends: Vec<u64>,
}

impl FactIndex {
    /// Sorts the facts.
    pub(super) fn new(mut facts: Vec<VariableFact>) -> Self {
        facts.sort_by_key(|f| f.start);
        let last_end = |chunk: &[VariableFact]| chunk.iter().map(|f| f.end).max().unwrap_or(0);
        Self {
            ends: facts.chunks(CHUNK).map(last_end).collect(),
            sorted: facts,
        }
    }

    /// Returns all facts.
    pub(super) fn as_slice(&self) -> &[VariableFact] {
        &self.sorted
    }

    /// Returns the facts that hold at an address.
    pub(super) fn holding_at(&self, address: u64) -> impl Iterator<Item = &VariableFact> {
        self.begun(0, address)
    }

    /// Returns the facts that hold at an address and begin after another one.
    pub(super) fn begun_after(
        &self,
        before: u64,
        address: u64,
    ) -> impl Iterator<Item = &VariableFact> {
        self.begun(self.sorted.partition_point(|f| f.start <= before), address)
    }

    fn begun(&self, from: usize, address: u64) -> impl Iterator<Item = &VariableFact> {
        let after = self.sorted.partition_point(|f| f.start <= address);
        let chunks = self.ends.iter().enumerate().skip(from / CHUNK);
        { chunks.take_while(move |(n, _)| n * CHUNK < after) }
            .filter(move |(_, end)| address < **end)
            .flat_map(move |(n, _)| {
                let first = (n * CHUNK).max(from);
                let end = ((n + 1) * CHUNK).min(after);
                self.sorted[first.min(end)..end].iter()
            })
            .filter(move |fact| address < fact.end)
            .take(HOLDING_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::knowledge::ValueHome;
    use proptest::prelude::*;
    use relayout_layout::TypeId;

    proptest! {
        #[test]
        fn found_are_those_that_hold(
            intervals in proptest::collection::vec((0u64..200, 0u64..90), 0..400),
            before in 0u64..200,
            address in 0u64..300,
        ) {
            let facts = intervals.iter().enumerate().map(|(n, &(start, len))| VariableFact {
                start,
                end: start + len,
                home: ValueHome::Slot(n as i64),
                target: TypeId(0),
                offset: 0,
                fixed: false,
            });
            let facts = FactIndex::new(facts.collect());
            let holds = |f: &&VariableFact| (f.start..f.end).contains(&address);
            let expect: Vec<&VariableFact> = facts.as_slice().iter().filter(holds).collect();
            prop_assert_eq!(facts.holding_at(address).collect::<Vec<_>>(), expect.clone());
            let late: Vec<&VariableFact> = expect.into_iter().filter(|f| f.start > before).collect();
            prop_assert_eq!(facts.begun_after(before, address).collect::<Vec<_>>(), late);
        }
    }
}
