//! Remedies in words, for text and JSON alike.

use relayout_contend::Source;
use relayout_contend::remedy::{Remedy, Replayed, Shared};

/// The name that scripts rely on.
pub fn action(remedy: &Remedy) -> &'static str {
    match remedy {
        Remedy::Part { .. } => "part",
        Remedy::Align { .. } => "align",
        Remedy::CheckStore { .. } => "check-store",
        Remedy::Lock { apart: true, .. } => "lock-apart",
        Remedy::Lock { apart: false, .. } => "lock-stays",
        Remedy::Shared { how, .. } => match how {
            Shared::Lock => "contend-less",
            Shared::PerContext => "per-context",
            Shared::Copy => "read-mostly-copy",
            Shared::Batch => "batch",
        },
        Remedy::DropRead { .. } => "drop-read",
        Remedy::OwnLine { .. } => "own-line",
        Remedy::Gather { .. } => "gather",
    }
}

/// What was replayed, if it was.
pub fn replayed(remedy: &Remedy) -> Option<Replayed> {
    match remedy {
        Remedy::Align { replayed, .. } | Remedy::CheckStore { replayed, .. } => *replayed,
        Remedy::Lock { replayed, .. } => Some(*replayed),
        _ => None,
    }
}

/// A sentence; `who` is what a context is (`CPU`, `thread`), `position` names a place in the source.
pub fn words(remedy: &Remedy, who: &str, position: impl Fn(&Source) -> String) -> String {
    match remedy {
        Remedy::Part {
            member,
            from,
            transfers,
        } => format!(
            "Keep `{member}` from the line of `{from}`: {transfers} transfers between them bring nothing that is \
             used. `relayout advise` scores layouts."
        ),
        Remedy::Align { bytes, replayed } => match replayed {
            Some(replayed) => format!(
                "Align objects to {bytes} bytes, so that none crosses a line{}.",
                of(replayed)
            ),
            None => format!("Align it to {bytes} bytes: one access moves two lines."),
        },
        Remedy::CheckStore {
            member,
            source,
            stores,
            silent,
            replayed,
        } => format!(
            "Store to `{member}` only if it differs ({}): {silent} of {stores} stores changed nothing{}.",
            position(source),
            replayed.as_ref().map(of).unwrap_or_default()
        ),
        Remedy::Lock {
            apart: true,
            replayed,
        } => {
            format!("Put the lock on a line of its own{}.", of(replayed))
        }
        Remedy::Lock {
            apart: false,
            replayed,
        } => format!(
            "Leave the lock with its data: on a line of its own it would not save a tenth{}.",
            of(replayed)
        ),
        Remedy::Shared { member, how } => shared(member, *how, who),
        Remedy::DropRead { member, transfers } => format!(
            "Do without reading `{member}` of another {who}: {transfers} transfers that no layout removes."
        ),
        Remedy::OwnLine {
            variable,
            neighbours,
        } => {
            let others = neighbours.iter().map(String::as_str);
            let others: Vec<&str> = others.filter(|name| *name != variable.as_str()).collect();
            match others.is_empty() {
                true => format!("Give `{variable}` a line of its own."),
                false => format!(
                    "Give `{variable}` a line of its own: the linker put {} beside it.",
                    others.join(", ")
                ),
            }
        }
        Remedy::Gather {
            member,
            loads,
            stores,
        } => format!(
            "Put `{member}` with what is hardly ever stored to ({stores} stores, {loads} loads): there it stays in \
             every cache."
        ),
    }
}

fn of(replayed: &Replayed) -> String {
    let Replayed { today, changed } = replayed;
    format!(" (replayed: {today} transfers today, {changed} then)")
}

fn shared(member: &str, how: Shared, who: &str) -> String {
    let what = match how {
        Shared::Lock => {
            return format!(
                "No layout helps: {who}s wait for the lock `{member}`. Take it less often or for shorter, or have several."
            );
        }
        Shared::PerContext => format!("give each {who} its own, and sum them when somebody reads"),
        Shared::Copy => "let readers use a copy that is published less often".to_owned(),
        Shared::Batch => "store to it in batches".to_owned(),
    };
    format!(
        "No layout helps: after `{member}`, a {who} uses what others stored to the line. To look at: {what}."
    )
}
