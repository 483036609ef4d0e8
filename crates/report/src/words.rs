//! Words that several renderings share.

pub(crate) mod access;
pub(crate) mod advice;
pub(crate) mod effects;
pub mod escape;
pub(crate) mod experiment;
pub(crate) mod finding;
pub(crate) mod freed_line;
pub(crate) mod kernel_experiment;
pub(crate) mod kinds;
pub(crate) mod layout_changes;
pub(crate) mod line_picture;
pub(crate) mod magnitude;
pub(crate) mod notes;
pub(crate) mod percent;
pub(crate) mod recording_changes;
pub(crate) mod remedy;
pub(crate) mod saving;
pub(crate) mod short_names;
pub(crate) mod simulated_time;
pub(crate) mod source_excerpt;
pub(crate) mod source_positions;
pub(crate) mod wrap;

use relayout_profile::{AccessCoverage, ProfileMeta, RecordedTime};

use percent::{percent, whole_percent};

/// Returns `1 pair`, `2 pairs`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    let ending = match count {
        1 => "",
        _ if noun.ends_with('s') => "es",
        _ => "s",
    };
    format!("{count} {noun}{ending}")
}

/// Returns `1 more pair`, `2 more pairs`.
pub(crate) fn count_more(count: u64, noun: &str) -> String {
    counted(count, &format!("more {noun}"))
}

/// Returns a clause that says that the host was too busy with others, if it was.
pub(crate) fn busy_host_words(meta: &ProfileMeta) -> Option<String> {
    let share = whole_percent(meta.distrusted_lost_share()?);
    Some(format!(
        "the machine was too busy to trust the order of findings: others took {share} of the CPU time"
    ))
}

/// Returns a clause that says that the order of simulated time was not kept, if it was not.
pub(crate) fn out_of_order_words(meta: &ProfileMeta) -> Option<String> {
    let share = whole_percent(meta.distrusted_order_share()?);
    Some(format!(
        "transfers are missing: {share} of the accesses to contended lines were out of order"
    ))
}

/// Returns a clause that says which part of the time was recorded, if that was not all of it.
pub(crate) fn recorded_time_words(meta: &ProfileMeta) -> Option<String> {
    if meta.coverage != AccessCoverage::Sliced {
        return None;
    }
    Some(match &*meta.recorded_times() {
        [] => "a part of the time, in slices".to_owned(),
        [time] => {
            let share = percent(time.slices_share());
            let slices = format!("in slices of {} ms", time.slice_ns / 1_000_000);
            match time.whole_ns {
                0 => format!("{share} of the time, {slices}"),
                whole_ns => format!(
                    "everything for the first {:.1} s, then {share} of the time {slices}",
                    whole_ns as f64 / 1e9
                ),
            }
        }
        times => {
            let shares = times.iter().map(RecordedTime::share);
            let least = shares.clone().fold(1.0, f64::min);
            let most = shares.fold(0.0, f64::max);
            format!(
                "{} to {} of the time of each recording",
                percent(least),
                percent(most)
            )
        }
    })
}

/// Name of the contexts of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContextNoun {
    /// CPUs of a kernel, or of a program in simulated time.
    Cpus,
    /// Threads of a program.
    Threads,
}

impl ContextNoun {
    pub(crate) fn from_meta(meta: &ProfileMeta) -> Self {
        Self::from_target(&meta.target, meta.simulated_machine.is_some())
    }

    /// Returns the noun for what was recorded, `kernel` or `program`, in simulated time or in the host's order. In
    /// simulated time the threads of a program take turns on CPUs, whose lines they are.
    pub(crate) fn from_target(target: &str, is_simulated: bool) -> Self {
        match (target, is_simulated) {
            ("program", false) => Self::Threads,
            _ => Self::Cpus,
        }
    }

    /// Returns the title of a narrow column.
    pub(crate) fn column_title(self) -> &'static str {
        match self {
            Self::Cpus => "CPUs",
            Self::Threads => "Thr.",
        }
    }

    pub(crate) fn singular(self) -> &'static str {
        match self {
            Self::Cpus => "CPU",
            Self::Threads => "thread",
        }
    }
}

#[cfg(test)]
mod tests {
    use relayout_profile::RecordedRun;

    use super::*;

    const S: u64 = 1_000_000_000;

    fn time(whole_s: u64, sliced_s: u64, slices_ms: u64) -> Option<RecordedTime> {
        Some(RecordedTime {
            whole_ns: whole_s * S,
            sliced_ns: sliced_s * S,
            slices_ns: slices_ms * 1_000_000,
            slice_ns: 20_000_000,
        })
    }

    /// Checks the words about recordings with these times; of a complete one there is none.
    #[track_caller]
    fn check(coverage: AccessCoverage, times: &[Option<RecordedTime>], expect: Option<&str>) {
        let runs = times.iter().map(|&recorded_time| RecordedRun {
            recorded_time,
            window_wall_ns: S,
            ..RecordedRun::default()
        });
        let meta = ProfileMeta {
            coverage,
            runs: runs.collect(),
            ..ProfileMeta::default()
        };
        assert_eq!(recorded_time_words(&meta).as_deref(), expect);
    }

    #[test]
    fn parts_of_the_time() {
        use AccessCoverage::*;
        check(Complete, &[None], None);
        check(Samples, &[None], None);
        check(Sliced, &[None], Some("a part of the time, in slices"));
        let given = "5.0% of the time, in slices of 20 ms";
        check(Sliced, &[time(0, 10, 500)], Some(given));
        let adaptive = "everything for the first 2.0 s, then 2.1% of the time in slices of 20 ms";
        check(Sliced, &[time(2, 10, 210)], Some(adaptive));
        let repeated = "25.0% to 100.0% of the time of each recording";
        check(Sliced, &[time(2, 8, 500), None], Some(repeated));
    }
}
