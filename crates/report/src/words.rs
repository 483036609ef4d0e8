//! Words that several texts share.

use relayout_profile::{ProfileMeta, RecordedRun};

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
pub(crate) fn busy_host_words(runs: &[RecordedRun]) -> Option<String> {
    let busy = runs.iter().filter(|run| run.was_host_busy());
    let lost_share = busy.filter_map(|run| run.lost_share).reduce(f64::max)?;
    Some(format!(
        "the machine was too busy to trust the order of findings: others took {:.0}% of the CPU time",
        lost_share * 100.0
    ))
}

/// Name of the contexts of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContextNoun {
    /// CPUs of a kernel.
    Cpus,
    /// Threads of a program.
    Threads,
}

impl ContextNoun {
    pub(crate) fn from_meta(meta: &ProfileMeta) -> Self {
        match meta.target.as_str() {
            "program" => Self::Threads,
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
