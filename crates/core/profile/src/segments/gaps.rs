//! Time between accesses: what the timed gaps of a run say of each context.

use std::collections::BTreeMap;

use relayout_shadow::wire::GapRecord;

use crate::model::ContextGaps;

/// Longer than a processor waits for a line.
const WAIT_MAX_PS: f64 = 1e6;
/// A gap takes longer by how it is timed: by at most so much. What is no longer may be no code at
/// all: loops of nothing but atomics had means of 17 to 32 ns.
const TIMING_MAX_PS: f64 = 40e3;
/// Fewer gaps tell neither that, if they are after one instruction, nor what a context does.
const SAMPLES_MIN: usize = 16;
/// By what part of it gaps with nothing in them differ.
const TIMING_ERROR: f64 = 0.25;

/// Gaps in picoseconds, by context, site and whether the access before them may have waited for its
/// line.
#[derive(Default)]
pub(super) struct TimedGaps(BTreeMap<(u16, u32, bool), Vec<f64>>);

impl TimedGaps {
    pub(super) fn add(&mut self, context: u16, record: &GapRecord) {
        let key = (context, record.site, record.is_shared != 0);
        let gaps = self.0.entry(key).or_default();
        gaps.push(record.ps as f64);
    }

    /// By context, of those that have enough.
    pub(super) fn into_rows(mut self) -> Vec<ContextGaps> {
        for gaps in self.0.values_mut() {
            gaps.sort_unstable_by(f64::total_cmp);
        }
        let timing_ps = self.timing_ps();
        let mut contexts: BTreeMap<u16, Vec<f64>> = BTreeMap::new();
        for ((context, _, waits), gaps) in &self.0 {
            let usual = gaps[gaps.len() / 2] - timing_ps;
            let code_gaps = gaps.iter().map(|&gap| match gap < WAIT_MAX_PS {
                // What timing adds cannot be told from code.
                true if usual <= TIMING_MAX_PS => 0.0,
                // In some of them the line was waited for; in the one in the middle it was not.
                true if *waits => usual,
                _ => gap - timing_ps,
            });
            contexts.entry(*context).or_default().extend(code_gaps);
        }
        let context_gaps = |(context, gaps): (u16, Vec<f64>)| {
            let (mean, deviation) = mean_and_deviation(&gaps);
            let standard_errors = 2.0 * deviation / (gaps.len() as f64).sqrt();
            ContextGaps {
                context,
                samples: gaps.len() as u64,
                mean_ps: mean.max(0.0) as u64,
                error_ps: (standard_errors + TIMING_ERROR * timing_ps) as u64,
            }
        };
        let enough = |(_, gaps): &(u16, Vec<f64>)| gaps.len() >= SAMPLES_MIN;
        contexts
            .into_iter()
            .filter(enough)
            .map(context_gaps)
            .collect()
    }

    /// Returns the time that timing adds to a gap: after the instruction that is followed by the
    /// next access soonest there is nothing else. Its middle half, since the counter goes in steps.
    fn timing_ps(&self) -> f64 {
        let sampled = self.0.values().filter(|gaps| gaps.len() >= SAMPLES_MIN);
        let middle = sampled.map(|gaps| {
            let quarter = gaps.len() / 4;
            mean_and_deviation(&gaps[quarter..gaps.len() - quarter]).0
        });
        let least = middle.fold(f64::INFINITY, f64::min);
        if least.is_finite() {
            least.clamp(0.0, TIMING_MAX_PS)
        } else {
            0.0
        }
    }
}

fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|value| (value - mean) * (value - mean));
    (mean, (squares.sum::<f64>() / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Site, whether its line had moved, and gaps in nanoseconds.
    type After<'a> = (u32, bool, &'a [i64]);

    /// Samples, mean and error of a context.
    #[track_caller]
    fn check(input: &[After<'_>], expect: Option<(u64, u64, u64)>) {
        let mut timed = TimedGaps::default();
        for &(site, is_shared, gaps) in input {
            for ns in gaps {
                let record = GapRecord {
                    ps: ns * 1000,
                    site,
                    is_shared: is_shared.into(),
                };
                timed.add(3, &record);
            }
        }
        let row = |(samples, mean_ps, error_ps)| ContextGaps {
            context: 3,
            samples,
            mean_ps,
            error_ps,
        };
        let expect: Vec<ContextGaps> = expect.map(row).into_iter().collect();
        assert_eq!(timed.into_rows(), expect);
    }

    #[test]
    fn gaps_are_what_the_program_does_between_accesses() {
        // Too few to tell anything; and of each instruction too few to tell what timing took.
        check(&[(7, false, &[100; 15])], None);
        let apart: [After<'_>; 2] = [(7, false, &[100; 8]), (9, false, &[100; 8])];
        check(&apart, Some((16, 100_000, 0)));
        // The shortest say it: 20 ns, a quarter of which is not certain.
        let both: [After<'_>; 2] = [(7, false, &[20; 16]), (9, false, &[120; 16])];
        check(&both, Some((32, 50_000, 22_677)));
        // As long as timing can take, not longer.
        check(&[(7, false, &[500; 16])], Some((16, 460_000, 10_000)));
        // Noise is no time before zero.
        check(&[(7, false, &[-3; 20])], Some((20, 0, 0)));
    }

    #[test]
    fn what_timing_may_have_added_is_no_code() {
        // 40 ns more than the shortest, and a little more than that.
        let short: [After<'_>; 2] = [(7, false, &[20; 16]), (9, true, &[60; 16])];
        check(&short, Some((32, 0, 5_000)));
        let long: [After<'_>; 2] = [(7, false, &[20; 16]), (9, true, &[61; 16])];
        check(&long, Some((32, 20_500, 12_247)));
        // An instruction that is seldom followed by much.
        let mixed = [30, 30, 30, 5000].repeat(4);
        check(&[(7, false, &mixed)], Some((16, 1_242_500, 1_083_536)));
    }

    #[test]
    fn what_is_waited_for_a_line_is_no_code() {
        let waited = [100, 100, 100, 300, 300].repeat(3);
        check(
            &[(7, true, &waited), (9, false, &[100])],
            Some((16, 100_000, 0)),
        );
        // Where the line had not moved there was nothing to wait for.
        let longer = [100, 100, 100, 100, 250].repeat(3);
        check(
            &[(7, false, &longer), (9, false, &[100])],
            Some((16, 128_125, 29_273)),
        );
        // No line takes that long.
        let long = [100, 100, 100, 5000].repeat(3);
        check(
            &[(7, true, &long), (9, false, &[100; 4])],
            Some((16, 1_018_750, 956_265)),
        );
    }
}
