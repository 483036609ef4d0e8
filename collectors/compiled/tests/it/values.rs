//! Silent stores, on request.

use relayout_profile::{AccessKind, Addr};

use crate::stand::{BOTH, Bench, Recorded, start};

/// Counted stores of `size` bytes at `addr`, and the silent ones among them.
fn stores_at(run: &Recorded, addr: u64, size: u8) -> (u64, u64) {
    let counts = run.program.assembled.profile.counts.iter();
    let stores = counts
        .filter(|row| (row.addr, row.size) == (Addr(addr), size) && row.access != AccessKind::Read);
    stores.fold((0, 0), |(all, silent), row| {
        (
            all + row.count,
            silent + row.silent.expect("values are seen"),
        )
    })
}

#[test]
fn stores_that_change_nothing_are_known() {
    for compiler in BOTH {
        let bench = Bench::new(compiler);
        let program = bench.build("values.c", &["-mcx16"]);
        let run = start(&program, &[], "yield=100,seed=1,values=1", &[]).wait();
        run.check_whole();
        assert!(run.program.assembled.profile.meta.values_seen);
        let shared = run.printed_number("shared");
        let rounds = run.printed_number("rounds");
        // Offset, size, and whether the stores are silent. Signals and other threads can hide that
        // of some, but must not make one silent that is not.
        for (offset, size, is_silent) in [
            (0, 8, true),
            (8, 8, false),
            (32, 4, false),
            (36, 4, true),
            (40, 2, false),
            (42, 1, true),
            (48, 16, true),
        ] {
            let (all, silent) = stores_at(&run, shared + offset, size);
            let place = format!("{compiler:?} {offset}: {silent} of {all}");
            // The first stores come before the line is watched.
            assert!(all * 10 > rounds * 9, "{place}");
            if is_silent {
                assert!(silent * 10 > all * 9, "{place}");
            } else {
                assert_eq!(silent, 0, "{place}");
            }
        }
    }
}
