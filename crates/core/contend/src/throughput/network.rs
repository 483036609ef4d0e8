//! A closed queueing network of contexts and contended lines, solved by approximate mean value
//! analysis.
//!
//! Contexts circulate: each thinks (runs without waiting), then visits the lines that it has to
//! wait for, and so on. A line serves one request after the other. Of a line with service times
//! `S`, a visit of context `c` takes its own service and that of those it finds there:
//!
//! ```text
//! R(c, l) = V(c, l) * S(c, l) + V(c, l) * sum over others u of Q(u, l) * S(u, l)
//! X(c) = 1 / (Z(c) + sum over l of R(c, l))        Q(c, l) = X(c) * R(c, l)
//! ```
//!
//! which is Bard's and Schweitzer's approximation of the arrival theorem (Schweitzer 1979;
//! Lazowska, Zahorjan, Graham and Sevcik, *Quantitative System Performance*, 1984, chapter 7) for
//! classes of one customer: what a customer finds is taken to be what is there on average with
//! itself away. Compared with the exact solution it overstates cycle times: by up to a fifth where
//! contexts do nothing but wait for each other, by less than a twentieth where they wait half of
//! the time.

/// Contexts that behave in the same way.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ContextClass {
    /// Number of contexts; at least 1, not necessarily whole.
    pub count: f64,
    /// Time of its work without waits, in nanoseconds.
    pub think_ns: f64,
    /// Visits to stations, where it waits.
    pub visits: Vec<StationVisit>,
}

/// Requests of a class to a station while it does its work once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct StationVisit {
    /// Number of the station.
    pub station: usize,
    /// Number of requests.
    pub count: f64,
    /// Time to serve a request, in nanoseconds.
    pub service_ns: f64,
}

const ITERATIONS_MAX: usize = 1000;
/// Relative change of all cycle times at which the solution is good enough.
const ENOUGH: f64 = 1e-6;

/// Returns the time that each class takes for its work once, with all others there, in nanoseconds.
pub(super) fn cycle_times(classes: &[ContextClass], stations: usize) -> Vec<f64> {
    let alone = |class: &ContextClass| {
        let served = class
            .visits
            .iter()
            .map(|visit| visit.count * visit.service_ns);
        class.think_ns + served.sum::<f64>()
    };
    let mut cycles: Vec<f64> = classes.iter().map(alone).collect();
    // Time spent by class and visit.
    let mut stays: Vec<Vec<f64>> = classes
        .iter()
        .map(|class| {
            class
                .visits
                .iter()
                .map(|v| v.count * v.service_ns)
                .collect()
        })
        .collect();
    for _ in 0..ITERATIONS_MAX {
        let mut waiting = vec![0.0; stations];
        for ((class, stays), cycle) in classes.iter().zip(&stays).zip(&cycles) {
            for (visit, stay) in class.visits.iter().zip(stays) {
                waiting[visit.station] +=
                    class.count * queue_length(*stay, *cycle) * visit.service_ns;
            }
        }
        let mut change: f64 = 0.0;
        for ((class, stays), cycle) in classes.iter().zip(&mut stays).zip(&mut cycles) {
            let mut next = class.think_ns;
            for (visit, stay) in class.visits.iter().zip(stays.iter_mut()) {
                // All waiting contexts, but for one of this class: the context itself.
                let own = queue_length(*stay, *cycle) * visit.service_ns;
                let others = (waiting[visit.station] - own).max(0.0);
                // Half of the way, because two classes that wait for each other would swing
                // otherwise.
                *stay = f64::midpoint(*stay, visit.count * (visit.service_ns + others));
                next += *stay;
            }
            if next > 0.0 {
                change = change.max((next - *cycle).abs() / next);
            }
            *cycle = next;
        }
        if change < ENOUGH {
            break;
        }
    }
    cycles
}

/// Returns the average number of one context's requests at a station.
fn queue_length(stay: f64, cycle: f64) -> f64 {
    if cycle > 0.0 { stay / cycle } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(think_ns: f64, visits: &[(usize, f64, f64)]) -> ContextClass {
        let visit = |&(station, count, service_ns): &(usize, f64, f64)| StationVisit {
            station,
            count,
            service_ns,
        };
        ContextClass {
            count: 1.0,
            think_ns,
            visits: visits.iter().map(visit).collect(),
        }
    }

    /// Exact mean value analysis over all subsets of contexts with one service time for each
    /// station (Reiser and Lavenberg 1980): the cycle times with all of them there.
    fn exact(classes: &[ContextClass], stations: usize) -> Vec<f64> {
        let all = 1_usize << classes.len();
        let mut queues = vec![vec![0.0; stations]; all];
        let mut cycles = vec![0.0; classes.len()];
        for subset in 1..all {
            let mut here = vec![0.0; stations];
            for (number, class) in classes
                .iter()
                .enumerate()
                .filter(|(n, _)| subset >> n & 1 == 1)
            {
                let without = &queues[subset & !(1 << number)];
                let stay = |v: &StationVisit| v.count * v.service_ns * (1.0 + without[v.station]);
                let cycle = class.think_ns + class.visits.iter().map(stay).sum::<f64>();
                for visit in &class.visits {
                    here[visit.station] += stay(visit) / cycle;
                }
                cycles[number] = cycle;
            }
            queues[subset] = here;
        }
        cycles
    }

    #[track_caller]
    fn near(found: f64, expect: f64, within: f64) {
        assert!(
            (found / expect - 1.0).abs() <= within,
            "{found} for {expect}"
        );
    }

    #[test]
    fn alone_nobody_is_waited_for() {
        near(
            cycle_times(&[class(10.0, &[(0, 2.0, 40.0)])], 1)[0],
            90.0,
            1e-6,
        );
    }

    #[test]
    fn two_that_do_nothing_else_take_turns() {
        let both = [class(0.0, &[(0, 1.0, 40.0)]), class(0.0, &[(0, 1.0, 40.0)])];
        for cycle in cycle_times(&both, 1) {
            near(cycle, 80.0, 1e-3);
        }
    }

    #[test]
    fn a_line_serves_no_faster_than_it_can() {
        let many = vec![class(100.0, &[(0, 1.0, 40.0)]); 48];
        for cycle in cycle_times(&many, 1) {
            near(cycle, 48.0 * 40.0, 0.05);
        }
    }

    #[test]
    fn one_class_of_many_is_many_classes() {
        let combined = ContextClass {
            count: 16.0,
            ..class(500.0, &[(0, 1.0, 40.0), (1, 0.5, 40.0)])
        };
        let single = class(500.0, &[(0, 1.0, 40.0), (1, 0.5, 40.0)]);
        near(
            cycle_times(&[combined], 2)[0],
            cycle_times(&vec![single; 16], 2)[0],
            1e-4,
        );
    }

    #[test]
    fn the_approximation_is_near_the_exact_solution() {
        for (think, within) in [
            (0.0, 0.2),
            (20.0, 0.2),
            (80.0, 0.15),
            (400.0, 0.05),
            (4000.0, 0.01),
        ] {
            let classes = [
                class(think, &[(0, 1.0, 40.0), (1, 1.0, 40.0)]),
                class(2.0 * think, &[(0, 2.0, 40.0)]),
                class(think / 2.0, &[(1, 1.0, 40.0)]),
                class(think + 50.0, &[(0, 1.0, 40.0), (2, 3.0, 40.0)]),
            ];
            let found = cycle_times(&classes, 3);
            for (found, expect) in found.iter().zip(exact(&classes, 3)) {
                near(*found, expect, within);
            }
        }
    }

    #[test]
    fn nothing_to_do_takes_no_time() {
        assert_eq!(cycle_times(&[class(0.0, &[])], 0), [0.0]);
    }
}
