//! Layouts in other builds of the type, and in recordings that disagree.

use relayout_contend::TraceAccess;
use relayout_layout::abi::{AbiEngine, AtomArrangement, StructShape};
use relayout_profile::AccessKind::{Read, Write};
use relayout_profile::RunId;
use relayout_search::order::{self, MemberOrder};
use relayout_search::{
    AdviceSubject, AdviceVerdict, LayoutAdvice, ObjectHome, Options, RankedLayout,
    RecordedInstance, ScoredLayout, UserLayout, advise, score_in_build,
};

use crate::common::{access, instance, structure, subject};

fn shape(members: &[(&str, u64, u64)], size: u64) -> (relayout_layout::Aggregate, StructShape) {
    let (types, aggregate) = structure("queue", size, members);
    let shape = AbiEngine::new(&types).shape(&aggregate).expect("a struct");
    (aggregate, shape)
}

/// A producer writes at `written`, a consumer reads at `read`.
fn produced_and_consumed(written: u32, read: u32, times: usize) -> Vec<TraceAccess> {
    let round = [access(0, written, 8, Write), access(1, read, 8, Read)];
    round.into_iter().cycle().take(2 * times).collect()
}

fn fixed(accesses: Vec<TraceAccess>, bytes: u32) -> RecordedInstance {
    instance(0x1000, ObjectHome::Fixed, 0..bytes, accesses)
}

fn offset(shape: &StructShape, arrangement: &AtomArrangement, name: &str) -> u64 {
    let atom = shape.atoms.iter().position(|atom| atom.name == name);
    shape.lay_out(arrangement).places[atom.expect("a member")].offset
}

/// The recorded build has a debugging member that takes most of a line; the other has not.
#[test]
fn what_holds_in_every_build_comes_first() {
    let (aggregate, own) = shape(
        &[
            ("head", 8, 0),
            ("tail", 8, 8),
            ("debug", 48, 16),
            ("name", 8, 64),
        ],
        72,
    );
    let (_, other) = shape(&[("head", 8, 0), ("tail", 8, 8), ("name", 8, 16)], 24);
    let instances = [fixed(produced_and_consumed(0, 8, 500), 72)];
    let subject = subject(&aggregate, &own, &instances, 0);
    let options = Options::default();
    let advice = advise(subject, &[], &options).expect("candidates");
    let transfers_there = |candidate: &ScoredLayout| {
        let order = MemberOrder::from_arrangement(candidate.arrangement.clone());
        let results = score_in_build(subject, &other, &[&order], 0.0);
        (results[0].tally.transfers(), results[1].tally.transfers())
    };
    // Behind what is there only in this build is as good as any, here.
    let (today, then) = transfers_there(&advice.candidates[0]);
    assert!(advice.candidates[0].tally.transfers() < 10);
    assert_eq!(today, then);

    let builds = std::slice::from_ref(&other);
    let advice = advise(AdviceSubject { builds, ..subject }, &[], &options).expect("candidates");
    let best = &advice.candidates[0];
    let (today, then) = transfers_there(best);
    assert!(today > 400 && then < 10, "{today} {then}");
    assert!(best.tally.transfers() < 10);
    assert_eq!(advice.verdict, AdviceVerdict::Better);
    assert_eq!(advice.builds, 1);
    let worst: Vec<u64> = advice
        .candidates
        .iter()
        .map(RankedLayout::ranked_cost)
        .collect();
    assert!(worst.iter().all(|cost| *cost >= worst[0]), "{worst:?}");
    for candidate in &advice.candidates {
        assert!(candidate.ranked_cost() >= candidate.cost);
    }
}

/// A build in which every change costs more than it gains here leaves nothing to advise.
#[test]
fn a_build_where_all_candidates_lose() {
    let (aggregate, own) = shape(&[("a", 8, 0), ("b", 8, 8)], 16);
    // Here they are on lines of their own, today.
    let (_, other) = shape(&[("a", 8, 0), ("between", 56, 8), ("b", 8, 64)], 72);
    let instances = [fixed(produced_and_consumed(0, 8, 500), 16)];
    let subject = subject(&aggregate, &own, &instances, 0);
    let options = Options::default();
    let advice = advise(subject, &[], &options).expect("candidates");
    assert_eq!(advice.verdict, AdviceVerdict::Better);
    let results = score_in_build(subject, &other, &[], 0.0);
    assert!(results[0].tally.transfers() < 10);
    let builds = &[other];
    let advice = advise(AdviceSubject { builds, ..subject }, &[], &options).expect("candidates");
    let best = &advice.candidates[0];
    // Aligning keeps them apart in both: nothing is lost there.
    assert!(best.ranked_cost() < advice.current.cost);
    assert!(best.arrangement.type_align > 1 || best.arrangement.align.contains(&64));
}

/// One reads what the other's stores leave alone: where that lies on the other line of a pair, only
/// the pair term costs something, elsewhere as in the recording that was searched.
#[test]
fn pairs_of_lines_count_in_other_builds_too() {
    let (aggregate, own) = shape(
        &[
            ("written", 8, 0),
            ("rest", 56, 8),
            ("cold", 64, 64),
            ("read", 8, 128),
            ("tail", 56, 136),
        ],
        192,
    );
    let mut accesses = produced_and_consumed(0, 128, 500);
    // So that there is something today.
    accesses.extend(produced_and_consumed(0, 0, 100));
    let instances = [fixed(accesses, 192)];
    let subject = subject(&aggregate, &own, &instances, 0);
    let beside = order::parse("written\nrest\nread\ntail\ncold\n", &own).expect("an order");
    let of = |coefficient| score_in_build(subject, &own, &[&beside], coefficient);
    let [today, there] = &of(0.0)[..] else {
        panic!("two layouts")
    };
    assert_eq!((there.tally, there.cost), (today.tally, today.cost));
    assert!(!there.is_harmful(today) && there.pair_transfers.is_none());
    let [today, there] = &of(0.3)[..] else {
        panic!("two layouts")
    };
    assert_eq!(there.tally, today.tally);
    assert_eq!(today.pair_transfers, Some(0));
    assert!(there.pair_transfers > Some(400), "{there:?}");
    assert!(
        there.cost > today.cost && there.is_harmful(today),
        "{there:?}"
    );
    // Nor is it better by the build where it does worst, which costs as much as the one that was
    // recorded.
    let given = [UserLayout {
        name: "beside".into(),
        order: beside,
    }];
    let options = Options {
        pair_coefficient: 0.3,
        ..Options::default()
    };
    let builds = std::slice::from_ref(&own);
    let advice = advise(AdviceSubject { builds, ..subject }, &given, &options).expect("candidates");
    assert_eq!(
        advice.user_layouts[0].worst_build_cost,
        Some(advice.user_layouts[0].cost)
    );
    assert!(advice.user_layouts[0].cost > advice.current.cost);
}

/// Without transfers of today's layout there is no ratio; a layout with transfers is harmful all
/// the same.
#[test]
fn what_had_no_transfers_is_hurt_by_some() {
    let members = [("a", 8, 0), ("rest", 56, 8), ("b", 8, 64), ("tail", 56, 72)];
    let (aggregate, own) = shape(&members, 128);
    let together = order::parse("a\nb\nrest\ntail\n", &own).expect("an order");
    let check = |times, expect| {
        let instances = [fixed(produced_and_consumed(0, 64, times), 128)];
        let subject = subject(&aggregate, &own, &instances, 0);
        let [today, there] = &score_in_build(subject, &own, &[&together], 0.0)[..] else {
            panic!("two layouts")
        };
        assert_eq!((today.cost, there.interval), (0, None));
        assert!(there.tally.transfers() > 0);
        assert_eq!(there.is_harmful(today), expect, "{there:?}");
    };
    check(500, true);
    check(3, false);
}

#[test]
fn carried_over() {
    let (_, from) = shape(&[("a", 8, 0), ("b", 8, 8), ("c", 8, 16)], 24);
    let (_, to) = shape(
        &[("a", 8, 0), ("new", 8, 8), ("c", 8, 16), ("last", 8, 24)],
        32,
    );
    let check = |text: &str, expect: &[&str]| {
        let order = order::parse(text, &from).expect("an order");
        let there = order.carry_over(&from, &to).arrangement;
        let names: Vec<&str> = { there.order.iter() }
            .map(|atom| to.atoms[*atom].name.as_str())
            .collect();
        assert_eq!(names, expect, "{text}");
        let mut all = there.order.clone();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3], "each once");
        there
    };
    check("a\nb\nc\n", &["a", "new", "c", "last"]);
    check("c\nb\na\n", &["c", "last", "a", "new"]);
    let aligned = check("b\nc @64\na\n", &["c", "last", "a", "new"]);
    assert_eq!(aligned.align[2], 64);
    assert_eq!(offset(&to, &aligned, "a"), 16);
}

fn runs(accesses: [Vec<TraceAccess>; 2]) -> Vec<RecordedInstance> {
    let in_run = |(run, accesses)| RecordedInstance {
        run: RunId(run as u16),
        recording: RunId(run as u16),
        ..fixed(accesses, 128)
    };
    accesses.into_iter().enumerate().map(in_run).collect()
}

/// Three members of a line each; who is used with whom differs from run to run.
fn advice_on(instances: &[RecordedInstance]) -> LayoutAdvice {
    let members = [("a", 32, 0), ("b", 32, 32), ("c", 32, 64), ("d", 32, 96)];
    let (aggregate, shape) = shape(&members, 128);
    advise(
        subject(&aggregate, &shape, instances, 0),
        &[],
        &Options::default(),
    )
    .expect("candidates")
}

/// Each member that one context writes and another reads, in turn with `apart`; `together` by one
/// context.
#[test]
fn a_gain_whose_sign_changes_is_no_advice() {
    // In the first run a and b are of different contexts, in the second of one.
    let apart = produced_and_consumed(0, 32, 2000);
    let together: Vec<TraceAccess> = (0..400)
        .flat_map(|n| [access(n % 2, 0, 8, Write), access(n % 2, 32, 8, Write)])
        .collect();
    let advice = advice_on(&runs([apart.clone(), together.clone()]));
    assert_eq!(advice.verdict, AdviceVerdict::Unstable);
    let best = &advice.candidates[0];
    assert!(
        best.is_unstable(&advice.current),
        "{:?}",
        best.transfers_by_run
    );
    // Two processes of one recording are no repetitions.
    let mut processes = runs([apart.clone(), together]);
    processes[1].recording = RunId(0);
    let advice = advice_on(&processes);
    assert_eq!(advice.current.transfers_by_run.len(), 1);
    assert!(
        advice
            .candidates
            .iter()
            .all(|layout| !layout.is_unstable(&advice.current))
    );
    // The same twice is.
    let advice = advice_on(&runs([apart.clone(), apart]));
    assert_eq!(advice.verdict, AdviceVerdict::Better);
    assert!(!advice.candidates[0].is_unstable(&advice.current));
}

/// Kept members stay in every kind of candidate, rewrites too.
#[test]
fn kept_members_stay() {
    let members: Vec<(String, u64, u64)> = (0..16).map(|n| (format!("m{n}"), 8, 8 * n)).collect();
    let members: Vec<(&str, u64, u64)> = { members.iter() }
        .map(|(name, size, at)| (name.as_str(), *size, *at))
        .collect();
    let (aggregate, shape) = shape(&members, 128);
    let accesses: Vec<TraceAccess> = (0..4000u32)
        .map(|n| {
            let member = n * 7 % 16;
            let kind = if n % 3 == 0 { Write } else { Read };
            access((member % 4) as u16, member * 8, 8, kind)
        })
        .collect();
    let instances = [fixed(accesses, 128)];
    let subject = subject(&aggregate, &shape, &instances, 0);
    let free = advise(subject, &[], &Options::default()).expect("candidates");
    for kept in [0u64, 5, 15] {
        let options = Options {
            keep: vec![format!("m{kept}")],
            ..Options::default()
        };
        let advice = advise(subject, &[], &options).expect("candidates");
        let many = |advice: &LayoutAdvice| {
            advice
                .candidates
                .iter()
                .filter(|candidate| candidate.moved > 2)
                .count()
        };
        assert!(many(&advice) > 0 && many(&free) > 0, "rewrites");
        for candidate in &advice.candidates {
            assert_eq!(candidate.layout.places[kept as usize].offset, kept * 8);
        }
        assert!(advice.left_out.kept > 0);
        assert!(advice.fewest_transfers() >= free.fewest_transfers());
    }
}
