//! Structs of members of given sizes, and what is done to them.

use relayout_contend::TraceAccess;
use relayout_layout::abi::{AbiEngine, StructShape};
use relayout_profile::AccessKind;
use relayout_search::{LayoutAdvice, ObjectHome, Options, RecordedInstance, advise};

use super::{access, instance, structure, subject};

/// Members of these sizes one after the other, as C places them.
fn members(sizes: &[u64]) -> (u64, Vec<(String, u64, u64)>) {
    let mut end = 0u64;
    let mut list = Vec::new();
    for (index, &size) in sizes.iter().enumerate() {
        let offset = end.next_multiple_of(size.min(8));
        list.push((format!("m{index}"), size, offset));
        end = offset + size;
    }
    let align = sizes.iter().map(|size| *size.min(&8)).max().unwrap_or(1);
    (end.next_multiple_of(align), list)
}

pub struct Case {
    pub shape: StructShape,
    pub aggregate: relayout_layout::Aggregate,
    pub instances: Vec<RecordedInstance>,
    pub line_bytes: u32,
}

impl Case {
    /// `uses`: context, member, kind (0 and 1 load, 2 store).
    pub fn new(sizes: &[u64], uses: &[(u16, usize, u8)], line_bytes: u32) -> Self {
        let (size, list) = members(sizes);
        let named: Vec<(&str, u64, u64)> = list
            .iter()
            .map(|(name, size, at)| (name.as_str(), *size, *at))
            .collect();
        let (types, aggregate) = structure("s", size, &named);
        let shape = AbiEngine::new(&types).shape(&aggregate).unwrap();
        let accesses: Vec<TraceAccess> = (uses.iter())
            .map(|&(context, member, kind)| {
                let (_, bytes, offset) = &list[member % list.len()];
                let kind = if kind == 2 {
                    AccessKind::Write
                } else {
                    AccessKind::Read
                };
                access(context, *offset as u32, (*bytes).min(8) as u8, kind)
            })
            .collect();
        let covered = 0..size as u32;
        let instances = vec![instance(0x1000, ObjectHome::Fixed, covered, accesses)];
        Self {
            shape,
            aggregate,
            instances,
            line_bytes,
        }
    }

    pub fn advise(&self, options: &Options) -> LayoutAdvice {
        let mut subject = subject(&self.aggregate, &self.shape, &self.instances, 0);
        subject.line_bytes = self.line_bytes;
        advise(subject, &[], options).unwrap()
    }
}

/// A linear congruential generator.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// 64 members of which 25 are accessed.
pub fn large_struct(accesses: usize, seed: u64) -> Case {
    let sizes: Vec<u64> = (0..64).map(|nth| [8, 4, 8, 2, 8, 4][nth % 6]).collect();
    let uses = uses_of_large_struct(accesses, seed);
    let accessed: std::collections::BTreeSet<usize> = uses.iter().map(|(_, m, _)| *m).collect();
    assert_eq!(accessed.len(), 25, "{accessed:?}");
    Case::new(&sizes, &uses, 64)
}

/// Uses of 25 of 64 members: some read by all contexts, some written by one context each, some
/// counters that all write, some written together under a lock.
fn uses_of_large_struct(accesses: usize, seed: u64) -> Vec<(u16, usize, u8)> {
    let mut random = Random(seed);
    let mut uses = Vec::new();
    while uses.len() < accesses {
        let context = random.below(8) as u16;
        match random.below(6) {
            0..=2 => uses.push((context, 2 * random.below(9), 0)),
            3 => uses.push((context, 20 + 3 * random.below(4), 2)),
            4 => uses.push((context, 33 + 4 * usize::from(context % 6), 2)),
            _ => uses.extend((0..6).map(|nth| (context, 55 + nth, 2 * (nth % 2) as u8))),
        }
    }
    uses
}
