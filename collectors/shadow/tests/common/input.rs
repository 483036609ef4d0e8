//! Random accesses.

use proptest::prelude::*;
use relayout_shadow::{AccessKind, AccessValue, LINE_BYTES, PAGE_BYTES};

use super::Machine;

/// A page of kernel memory; the one after it is used too.
pub const PAGE: u64 = 0xffff_8880_0000_4000;

/// One access as a collector sees it.
#[derive(Clone)]
pub struct Input {
    pub context: u16,
    pub addr: u64,
    pub size: u8,
    pub access: AccessKind,
    pub value: Option<([u8; 16], bool)>,
}

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            context,
            addr,
            size,
            access,
            value,
        } = self;
        write!(f, "{context}: {access:?} {size} at {:#x}", addr - PAGE)?;
        match value {
            Some((bytes, certain)) => write!(f, " {:?} {certain}", &bytes[..usize::from(*size)]),
            None => Ok(()),
        }
    }
}

impl Input {
    /// Its parts in the shadow: the parts on each line, the value kept where there is one part.
    pub fn parts(&self) -> Vec<Input> {
        let first = (LINE_BYTES as u64 - self.addr % LINE_BYTES as u64) as u8;
        if self.size <= first {
            return vec![self.clone()];
        }
        let part = |addr, size| Input {
            addr,
            size,
            value: None,
            ..self.clone()
        };
        vec![
            part(self.addr, first),
            part(self.addr + u64::from(first), self.size - first),
        ]
    }

    pub fn feed(&self, machine: &mut Machine, site: u32) {
        let Machine { shadow, contexts } = machine;
        let context = &mut contexts[usize::from(self.context)];
        let value = || {
            self.value
                .map(|(bytes, certain)| AccessValue::Seen { bytes, certain })
        };
        shadow.access(context, self.addr, self.size, self.access, site, value);
        shadow.pass_accesses(context, 1, self.addr);
    }
}

/// Few places, so that accesses meet: the first lines of two pages, and what straddles them.
fn any_addr() -> impl Strategy<Value = u64> {
    prop_oneof![
        8 => (0..2u64, 0..LINE_BYTES as u64 / 8).prop_map(|(line, granule)| line * 64 + granule * 8),
        4 => 0..2 * LINE_BYTES as u64,
        2 => PAGE_BYTES as u64 - 20..PAGE_BYTES as u64 + 20,
        1 => 0..2 * PAGE_BYTES as u64 - 16,
    ]
    .prop_map(|offset| PAGE + offset)
}

/// Few values, so that silent stores happen.
fn any_value() -> impl Strategy<Value = Option<([u8; 16], bool)>> {
    let bytes = prop_oneof![Just([7; 16]), Just([8; 16]), prop::array::uniform16(7..9u8)];
    prop_oneof![
        1 => Just(None),
        4 => (bytes, prop::bool::weighted(0.8)).prop_map(Some),
    ]
}

pub fn any_access() -> impl Strategy<Value = AccessKind> {
    prop_oneof![
        4 => Just(AccessKind::Read),
        3 => Just(AccessKind::Write),
        1 => Just(AccessKind::ReadWrite)
    ]
}

fn any_input(context: u16) -> impl Strategy<Value = Input> {
    let size = prop_oneof![Just(1), Just(2), Just(4), Just(8), Just(8), Just(16)];
    (any_addr(), size, any_access(), any_value()).prop_map(move |(addr, size, access, value)| {
        Input {
            context,
            addr,
            size,
            access,
            value,
        }
    })
}

/// Numbers of contexts around the limits of what a word, a mask and a block have room for.
const SCATTERED: [u16; 12] = [0, 7, 8, 9, 55, 56, 63, 64, 65, 100, 128, 129];

/// Sequences with runs of one context, up to `runs` of them, and how many contexts there are.
pub fn any_inputs(runs: usize) -> impl Strategy<Value = (usize, Vec<Input>)> {
    // A few, more than a line's detail has room for at once, or scattered ones.
    let contexts = prop_oneof![
        6 => (2..=5u16).prop_map(|n| (0..n).collect()),
        1 => (10..=12u16).prop_map(|n| (0..n).collect()),
        1 => Just(SCATTERED.to_vec()),
    ];
    contexts.prop_flat_map(move |contexts: Vec<u16>| {
        let count = contexts.last().map_or(0, |last| usize::from(*last) + 1);
        let run = prop::sample::select(contexts)
            .prop_flat_map(|context| prop::collection::vec(any_input(context), 1..6));
        prop::collection::vec(run, 0..runs)
            .prop_map(move |runs| (count, runs.into_iter().flatten().collect()))
    })
}
