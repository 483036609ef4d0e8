//! Remedies in words, for text and JSON alike.

use relayout_contend::Source;
use relayout_contend::remedy::{OwnLine, Remedy, Replayed, Shared};

/// The name that scripts rely on.
pub fn action(remedy: &Remedy) -> &'static str {
    match remedy {
        Remedy::Part { .. } => "part",
        Remedy::PartElements { .. } => "part-elements",
        Remedy::PartObjects { .. } => "part-objects",
        Remedy::Align { .. } => "align",
        Remedy::CheckStore { .. } => "check-store",
        Remedy::Lock { apart: true, .. } => "lock-apart",
        Remedy::Lock { apart: false, .. } => "lock-stays",
        Remedy::Shared { how, .. } => match how {
            Shared::Lock => "contend-less",
            Shared::References => "fewer-references",
            Shared::List => "split-list",
            Shared::PerContext => "per-context",
            Shared::Copy => "read-mostly-copy",
            Shared::Owned => "look-less",
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

/// What was replayed with a member on a line of its own, if that was.
pub fn own_line(remedy: &Remedy) -> Option<OwnLine> {
    match remedy {
        Remedy::CheckStore { own_line, .. } => *own_line,
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
        Remedy::PartElements { member, transfers } => format!(
            "Elements of `{member}` that different {who}s use lie on one line: {transfers} transfers between them \
             bring nothing that is used. To look at, not replayed: put what one uses together, or give each a line."
        ),
        Remedy::PartObjects { transfers } => format!(
            "It shares lines with other objects: {transfers} transfers between them bring nothing that is used. To \
             look at, not replayed: alignment, or where it is allocated."
        ),
        Remedy::Align { bytes, replayed } => align(*bytes, replayed.as_ref()),
        Remedy::CheckStore {
            member,
            members,
            source,
            stores,
            silent,
            replayed,
            own_line,
        } => {
            let place = position(source);
            let what = match members {
                0 | 1 => format!("Store to `{member}` only if it differs ({place}): "),
                _ => format!(
                    "Store only what differs of what is copied or cleared here, `{member}` among it ({place}): "
                ),
            };
            let replayed = replayed.as_ref().map(of).unwrap_or_default();
            let apart = own_line.as_ref().filter(|_| *members < 2);
            let apart = apart.map(with_own_line).unwrap_or_default();
            format!("{what}{silent} of {stores} stores changed nothing{replayed}.{apart}")
        }
        Remedy::Lock { apart, replayed } => match apart {
            true => format!("Put the lock on a line of its own{}.", of(replayed)),
            false => format!(
                "Leave the lock with its data: on a line of its own it would not save a tenth{}.",
                of(replayed)
            ),
        },
        Remedy::Shared { member, how } => shared(member, *how, who),
        Remedy::DropRead {
            member,
            transfers,
            needed,
        } => drop_read(member, who, *transfers, *needed),
        Remedy::OwnLine {
            variable,
            is_read_mostly,
            neighbours,
        } => own_line_for(variable, *is_read_mostly, neighbours, who),
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

fn align(bytes: u64, replayed: Option<&Replayed>) -> String {
    match replayed {
        Some(replayed) => format!(
            "Align objects to {bytes} bytes, so that none crosses a line{}.",
            of(replayed)
        ),
        None => format!("Align it to {bytes} bytes: one access moves two lines."),
    }
}

fn drop_read(member: &str, who: &str, transfers: u64, needed: u64) -> String {
    let all = format!(
        "Do without reading `{member}` of another {who}: {transfers} transfers are by that"
    );
    match needed == transfers {
        true => format!("{all}, and no layout removes them."),
        false => format!("{all}, of which no layout removes {needed}."),
    }
}

fn own_line_for(variable: &str, is_read_mostly: bool, neighbours: &[String], who: &str) -> String {
    let section = if who == "CPU" { " (__read_mostly)" } else { "" };
    let what = match is_read_mostly {
        true => format!(
            "Put `{variable}` with variables that are hardly ever stored to{section}, or on a line of its own"
        ),
        false => format!("Give `{variable}` a line of its own"),
    };
    let others = neighbours.iter().map(String::as_str);
    let others: Vec<&str> = others.filter(|name| *name != variable).collect();
    match others.is_empty() {
        true => format!("{what}."),
        false => format!("{what}: the linker put {} beside it.", others.join(", ")),
    }
}

fn of(replayed: &Replayed) -> String {
    let Replayed { today, changed } = replayed;
    format!(" (replayed: {today} transfers today, {changed} then)")
}

fn with_own_line(OwnLine { stored, checked }: &OwnLine) -> String {
    format!(
        " On a line of its own: {checked} with that check, {stored} without, as a store that changes nothing takes \
         the line all the same."
    )
}

fn shared(member: &str, how: Shared, who: &str) -> String {
    let kernel = who == "CPU";
    let what = match how {
        Shared::Lock => {
            return format!(
                "No layout helps: most transfers follow stores to the lock `{member}`. Take it less often or for \
                 shorter, or have several."
            );
        }
        Shared::References if kernel => {
            "it counts references: hold them for longer, look up without taking one (RCU), or count by CPU \
             (percpu_ref)"
                .to_owned()
        }
        Shared::References => {
            "it counts references: hold them for longer, or look up without taking one".to_owned()
        }
        Shared::List => format!(
            "it links a list or tree: have one for each {who} or several, or move several entries at a time"
        ),
        Shared::PerContext => {
            format!("it is a sum that several add to: give each {who} its own, to be summed when somebody reads")
        }
        Shared::Copy => "others read what is stored now and then: let them read a copy that is published less \
                         often, or read it less often"
            .to_owned(),
        Shared::Owned => format!(
            "each is stored to by one {who} and looked at by others: look less often, or publish apart what they need"
        ),
        Shared::Batch => format!(
            "one {who} after the other uses it: do more of it at a time, or split it by {who}"
        ),
    };
    format!(
        "No layout helps: {who}s use what others stored, most of it to `{member}`. To look at: {what}."
    )
}
