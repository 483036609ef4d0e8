//! Visits: accesses to contended lines with the number of the thread's accesses, its operation, and
//! what its exchanges did.

use relayout_profile::{Addr, VisitRow};

use crate::stand::{BOTH, Bench, Recorded, record};

/// The visits of a context to the word at `addr`, in order.
fn visits(run: &Recorded, context: u16, addr: u64) -> Vec<VisitRow> {
    let mut visits = run.program.assembled.profile.visits.clone();
    visits.retain(|visit| (visit.context.0, visit.addr) == (context, Addr(addr)));
    visits
}

/// Accesses from one visit of a word to the next, in the median of the first context.
fn check(run: &Recorded) -> u64 {
    run.check_whole();
    let shared = run.printed_number("shared");
    let never = visits(run, 0, shared + 16);
    assert!(never.len() > 1000, "{}", never.len());
    assert!(never.iter().all(|v| v.locked && v.stored != Some(true)));
    // An access may be written out before its outcome is known.
    let unknown = never.iter().filter(|v| v.stored.is_none()).count();
    assert!(unknown * 100 < never.len(), "{unknown}");
    let own = visits(run, 0, shared);
    assert!(
        own.iter()
            .all(|v| v.compare_exchange && v.stored != Some(false))
    );
    let mut gaps = Vec::new();
    for pair in never.windows(2) {
        let operations = pair[1].operation - pair[0].operation;
        gaps.push((pair[1].clock - pair[0].clock) / u64::from(operations.max(1)));
    }
    gaps.sort_unstable();
    gaps[gaps.len() / 2]
}

#[test]
fn visits_count_the_accesses_between_them() {
    for compiler in BOTH {
        let bench = Bench::new(compiler);
        let program = bench.build("visits.c", &[]);
        let [few, many] = ["100", "300"].map(|turns| check(&record(&program, &[turns])));
        // A store, and maybe the load of the limit, for each turn.
        assert!(
            [200, 400].contains(&(many - few)),
            "{compiler:?}: {few} {many}"
        );
    }
}
