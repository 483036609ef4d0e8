//! Words that several texts share.

use relayout_profile::ProfileMeta;

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
