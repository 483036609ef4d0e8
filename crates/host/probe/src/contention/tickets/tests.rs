use proptest::prelude::*;

use super::*;

/// Logs of the CPUs that took these tickets.
fn logs(owners: &[u16], cpus: usize) -> Vec<Vec<u32>> {
    let mut logs = vec![Vec::new(); cpus];
    for (ticket, owner) in (0..).zip(owners) {
        logs[usize::from(*owner)].push(ticket);
    }
    logs
}

fn sequence(owners: &[u16]) -> OwnerSequence {
    OwnerSequence(owners.to_vec())
}

#[test]
fn each_ticket_has_one_owner() {
    let check = |logs: &[&[u32]], expect| assert_eq!(OwnerSequence::merge(logs, 4), expect);
    check(&[&[0, 3], &[1, 2]], Ok(sequence(&[0, 1, 1, 0])));
    check(&[&[0, 3], &[1, 3]], Err(TicketDefect::GivenTwice(3)));
    check(&[&[0, 3], &[1]], Err(TicketDefect::Missing(2)));
    check(&[&[0, 3], &[1, 2, 4]], Err(TicketDefect::Unknown(4)));
}

#[test]
fn runs_of_known_sequences() {
    let lengths = |owners: &[u16], groups: &[u16]| {
        let runs = sequence(owners).run_lengths(groups).unwrap();
        (runs.mean, runs.random)
    };
    let (mean, random) = lengths(&[0, 1, 0, 1, 0, 1, 0, 1], &[0, 1]);
    // In a random order, 4 of each have 1 + 7 * 4 / 7 runs.
    assert_eq!((mean, random), (1.0, 8.0 / 5.0));
    let (mean, _) = lengths(&[0, 0, 0, 0, 1, 1, 1, 1], &[0, 1]);
    assert_eq!(mean, 4.0);
    // CPUs 0 and 1 are of one cluster, which has it five times, and then CPU 2.
    let (mean, _) = lengths(&[0, 1, 0, 0, 1, 2], &[0, 0, 1]);
    assert_eq!(mean, 3.0);
    assert_eq!(lengths(&[0, 1, 1, 0], &[0, 0]), (4.0, 4.0));
    assert_eq!(sequence(&[]).run_lengths(&[0]), None);
}

#[test]
fn near_hand_overs_of_known_sequences() {
    // Two clusters of two cores.
    let (cores, clusters) = ([0, 1, 2, 3], [0, 0, 1, 1]);
    let near = |owners: &[u16]| sequence(owners).near_hand_overs(&cores, &clusters);
    let in_turn = near(&[0, 1, 2, 3, 0, 1, 2, 3]).unwrap();
    assert_eq!(in_turn.share, 4.0 / 7.0);
    assert!((in_turn.by_chance - 1.0 / 3.0).abs() < 1e-9);
    // Runs of one core are no hand-overs.
    assert_eq!(near(&[0, 0, 0, 1, 1, 0]).unwrap().share, 1.0);
    assert_eq!(near(&[0, 0, 2, 2, 0]).unwrap().share, 0.0);
    assert_eq!(near(&[1, 1, 1]), None);
}

#[test]
fn turns_without_regard_to_groups() {
    assert_eq!(in_turn_length(&[0, 1]), Some(1.0));
    // The next one of four is of the same pair with a chance of 1 in 3.
    assert_eq!(in_turn_length(&[0, 0, 1, 1]), Some(1.5));
    assert_eq!(in_turn_length(&[0, 0]), None);
    assert_eq!(renumber_groups([7, 3, 7, 9]), [0, 1, 0, 2]);
}

proptest! {
    /// Whatever the order, merging the logs brings it back.
    #[test]
    fn merging_is_the_inverse_of_logging(owners in prop::collection::vec(0_u16..5, 0..200)) {
        let merged = OwnerSequence::merge(&logs(&owners, 5), owners.len() as u32);
        prop_assert_eq!(merged, Ok(sequence(&owners)));
    }

    /// A ticket that is missing or given twice is noticed, wherever it is.
    #[test]
    fn defects_are_noticed(
        owners in prop::collection::vec(0_u16..5, 1..200),
        at in any::<prop::sample::Index>(),
        is_lost: bool,
    ) {
        let ticket = at.index(owners.len()) as u32;
        let mut logs = logs(&owners, 6);
        let expect = if is_lost {
            logs.iter_mut().for_each(|log| log.retain(|logged| *logged != ticket));
            TicketDefect::Missing(ticket)
        } else {
            logs[5].push(ticket);
            TicketDefect::GivenTwice(ticket)
        };
        prop_assert_eq!(OwnerSequence::merge(&logs, owners.len() as u32), Err(expect));
    }

    /// Runs of wider groups are at least as long; shares are those of the logs; shares by chance are shares.
    #[test]
    fn measures_of_any_sequence(owners in prop::collection::vec(0_u16..6, 1..300)) {
        let sequence = sequence(&owners);
        let (cores, clusters, sockets) = ([0, 0, 1, 1, 2, 3], [0, 0, 0, 0, 1, 1], [0; 6]);
        let mean = |groups: &[u16]| sequence.run_lengths(groups).unwrap().mean;
        prop_assert!(1.0 <= mean(&cores) && mean(&cores) <= mean(&clusters));
        prop_assert!(mean(&clusters) <= mean(&sockets));
        prop_assert_eq!(mean(&sockets), owners.len() as f64);
        let shares = sequence.relative_shares(6);
        prop_assert!((shares.iter().sum::<f64>() - 6.0).abs() < 1e-9);
        if let Some(near) = sequence.near_hand_overs(&cores, &clusters) {
            prop_assert!((0.0..=1.0).contains(&near.share));
            prop_assert!((-1e-9..=1.0 + 1e-9).contains(&near.by_chance));
        }
    }

    /// A shuffled sequence has runs as long as a random order is said to have.
    #[test]
    fn random_orders_are_as_predicted(
        seed: u64,
        shares in prop::collection::vec(1_usize..40, 2..5),
    ) {
        use relayout_statistics::random::{RandomSequence, SplitMix64};
        let repeat = |(cpu, share): (usize, &usize)| std::iter::repeat_n(cpu as u16, share * 100);
        let mut owners: Vec<u16> = shares.iter().enumerate().flat_map(repeat).collect();
        SplitMix64::new(seed).shuffle(&mut owners);
        let groups: Vec<u16> = (0..shares.len() as u16).collect();
        let runs = sequence(&owners).run_lengths(&groups).unwrap();
        prop_assert!((runs.mean / runs.random - 1.0).abs() < 0.3, "{runs:?}");
    }
}
