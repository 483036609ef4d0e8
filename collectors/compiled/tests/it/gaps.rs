//! Gaps: time of the program's own code between accesses.

use relayout_profile::ContextGaps;

use crate::stand::{BOTH, Bench, record};

/// Shortest time of a turn of the loop on any processor.
const TURN_PS: u64 = 150;

#[test]
fn code_between_accesses_is_timed() {
    for compiler in BOTH {
        let bench = Bench::new(compiler);
        let run = record(&bench.build("gaps.c", &[]), &[]);
        run.check_whole();
        assert_eq!(run.printed_number("last"), 199_999);
        let gaps = &run.program.assembled.gaps;
        let gaps_of = |context: u16| -> &ContextGaps {
            let found = gaps.iter().find(|gaps| gaps.context == context);
            found.unwrap_or_else(|| panic!("{compiler:?}: none of {context} in {gaps:?}"))
        };
        // Threads in the order in which they came; one access in some thousands.
        let (near, far) = (gaps_of(1), gaps_of(2));
        assert!((50..200).contains(&near.samples), "{compiler:?}: {gaps:?}");
        assert!((25..100).contains(&far.samples), "{compiler:?}: {gaps:?}");
        assert!(far.mean_ps > 2000 * TURN_PS, "{compiler:?}: {gaps:?}");
        assert!(near.mean_ps < far.mean_ps, "{compiler:?}: {gaps:?}");
    }
}
