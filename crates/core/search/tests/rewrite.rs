//! Full rewrites against all layouts there are, and the bound against replay.

use proptest::prelude::*;
use relayout_contend::replay;
use relayout_layout::abi::{AbiEngine, AtomArrangement, StructLayout};
use relayout_profile::AccessKind;
use relayout_search::{ObjectHome, Options, advise};

use crate::common::made::{Case, Random, large_struct};
use crate::common::{access, instance, structure, subject};

impl Case {
    /// Replays by the places of members alone.
    fn transfers(&self, layout: &StructLayout) -> u64 {
        let current = self.shape.lay_out(&self.shape.current_arrangement());
        let place = |offset: u32| {
            let holds = |place: &&relayout_layout::abi::AtomPlace| {
                place.offset <= u64::from(offset) && u64::from(offset) < place.end
            };
            let atom = current
                .places
                .iter()
                .position(|place| holds(&place))
                .unwrap();
            (u64::from(offset) - current.places[atom].offset + layout.places[atom].offset) as u32
        };
        replay(&self.instances[0].trace, 0, &place, self.line_bytes).transfers()
    }

    /// The fewest transfers of all orders, each with every set of members aligned to the line.
    fn fewest_of_all(&self, aligned_sets: impl Fn(usize) -> Vec<u32>) -> u64 {
        let count = self.shape.atoms.len();
        let mut fewest = u64::MAX;
        let mut order: Vec<usize> = (0..count).collect();
        permutations(&mut order, 0, &mut |order| {
            for set in aligned_sets(count) {
                let align = |atom: usize| match set >> atom & 1 {
                    1 => u64::from(self.line_bytes),
                    _ => 1,
                };
                let layout = self.shape.lay_out(&AtomArrangement {
                    order: order.to_vec(),
                    align: (0..count).map(align).collect(),
                    type_align: 1,
                    spreads: Vec::new(),
                    run_align: 1,
                });
                fewest = fewest.min(self.transfers(&layout));
            }
        });
        fewest
    }
}

fn permutations(order: &mut Vec<usize>, from: usize, each: &mut impl FnMut(&[usize])) {
    if from == order.len() {
        return each(order);
    }
    for other in from..order.len() {
        order.swap(from, other);
        permutations(order, from + 1, each);
        order.swap(from, other);
    }
}

fn uses(contexts: u16, members: usize) -> impl Strategy<Value = Vec<(u16, usize, u8)>> {
    proptest::collection::vec((0..contexts, 0..members, 0u8..3), 20..120)
}

fn sizes(members: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = Vec<u64>> {
    proptest::collection::vec(prop_oneof![Just(1), Just(2), Just(4), Just(8u64)], members)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The best of all orders and alignments is found, and no layout is below the bound.
    #[test]
    fn nothing_is_better_than_the_best_found(
        sizes in sizes(2..=5),
        uses in uses(3, 5),
    ) {
        let case = Case::new(&sizes, &uses, 16);
        let advice = case.advise(&Options::default());
        let fewest = case.fewest_of_all(|count| (0..1 << count).collect());
        prop_assert_eq!(advice.fewest_transfers(), fewest);
        if let Some(bound) = advice.bound {
            prop_assert!(bound.transfers <= fewest, "bound {} of {}", bound.transfers, fewest);
        }
    }

    /// The score of every candidate is the count of a replay of its members' places.
    #[test]
    fn scores_are_replays(sizes in sizes(3..=9), uses in uses(4, 9)) {
        let case = Case::new(&sizes, &uses, 16);
        let advice = case.advise(&Options::default());
        for candidate in &advice.candidates {
            prop_assert_eq!(candidate.tally.transfers(), case.transfers(&candidate.layout));
            if let Some(bound) = advice.bound {
                prop_assert!(bound.transfers <= candidate.tally.transfers());
            }
        }
    }
}

/// Eight members in all 40,320 orders, each as it is, with every single member aligned and with
/// all.
#[test]
fn eight_members_in_all_orders() {
    let mut random = Random(7);
    let uses: Vec<(u16, usize, u8)> = (0..200)
        .map(|_| {
            (
                random.below(4) as u16,
                random.below(8),
                random.below(3) as u8,
            )
        })
        .collect();
    let case = Case::new(&[8, 4, 2, 8, 1, 4, 8, 8], &uses, 16);
    let advice = case.advise(&Options::default());
    let fewest = case.fewest_of_all(|count| {
        let single = (0..count).map(|atom| 1 << atom);
        single.chain([0, (1 << count) - 1]).collect()
    });
    assert_eq!(advice.fewest_transfers(), fewest);
    assert_eq!(advice.bound.unwrap().transfers, fewest);
}

/// 64 members of which 25 are accessed: a layout proven to be within 5 % of the best there is.
#[test]
fn large_struct_is_solved() {
    let case = large_struct(30_000, 3);
    let advice = case.advise(&Options::default());
    let (bound, best) = (advice.bound.unwrap(), advice.fewest_transfers());
    let gap = bound.gap(best);
    eprintln!(
        "{} candidates; today {}, best {}, bound {}, gap {:.2} %; not tried: {:?}",
        advice.candidates.len(),
        advice.current.tally.transfers(),
        best,
        bound.transfers,
        gap * 100.0,
        advice.left_out,
    );
    assert!(gap <= 0.05, "{gap}");
}

/// A class of C++ that has nothing but its pointer to virtual functions.
#[test]
fn a_struct_without_movable_members_has_no_rewrites() {
    let (types, aggregate) = structure("s", 8, &[("_vptr.s", 8, 0)]);
    let shape = AbiEngine::new(&types).shape(&aggregate).unwrap();
    let uses = (0..40u16).map(|nth| access(nth % 2, 0, 8, AccessKind::Write));
    let instances = vec![instance(0x1000, ObjectHome::Fixed, 0..8, uses.collect())];
    let subject = subject(&aggregate, &shape, &instances, 0);
    let advice = advise(subject, &[], &Options::default()).unwrap();
    let kept = &advice.current.layout;
    assert!(
        advice
            .candidates
            .iter()
            .all(|found| &found.layout == kept || found.layout.size > kept.size)
    );
}
