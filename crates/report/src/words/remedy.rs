//! Remedies in words, for text and JSON alike.

use relayout_contend::SiteSource;
use relayout_contend::remedy::{OwnLineTransfers, Remedy, ReplayComparison, SharingPattern};

use crate::words::saving::OutlookWords;

/// The name that scripts rely on.
pub fn remedy_key(remedy: &Remedy) -> &'static str {
    match remedy {
        Remedy::SeparateMembers { .. } => "part",
        Remedy::SeparateElements { .. } => "part-elements",
        Remedy::PadElements { .. } => "pad-elements",
        Remedy::RoundRuns { .. } => "round-runs",
        Remedy::SeparateObjects { .. } => "part-objects",
        Remedy::Align { .. } => "align",
        Remedy::GuardStore { .. } => "check-store",
        Remedy::Lock { apart: true, .. } => "lock-apart",
        Remedy::Lock { apart: false, .. } => "lock-stays",
        Remedy::Shared { pattern: how, .. } => match how {
            SharingPattern::Lock => "contend-less",
            SharingPattern::References => "fewer-references",
            SharingPattern::List => "split-list",
            SharingPattern::PerContext => "per-context",
            SharingPattern::Ticket => "draw-more",
            SharingPattern::Bits => "split-bits",
            SharingPattern::WaitWord => "wait-word",
            SharingPattern::State => "fewer-states",
            SharingPattern::Copy => "read-mostly-copy",
            SharingPattern::Owned => "look-less",
            SharingPattern::Batch => "batch",
        },
        Remedy::DropRead { .. } => "drop-read",
        Remedy::OwnLine { .. } => "own-line",
        Remedy::Gather { .. } => "gather",
    }
}

/// Returns the replayed transfers of a remedy.
pub fn replayed_transfers(remedy: &Remedy) -> Option<ReplayComparison> {
    match remedy {
        Remedy::Align { replayed, .. } | Remedy::GuardStore { replayed, .. } => *replayed,
        Remedy::Lock { replayed, .. } => Some(*replayed),
        Remedy::RoundRuns { replayed, .. } => *replayed,
        _ => None,
    }
}

/// Returns the replayed transfers with the member on a line of its own.
pub fn replayed_own_line(remedy: &Remedy) -> Option<OwnLineTransfers> {
    match remedy {
        Remedy::GuardStore { own_line, .. } => *own_line,
        _ => None,
    }
}

/// Facts that the words of a remedy need.
#[derive(Clone, Copy)]
pub struct RemedyContext<'a> {
    /// What a context is: `CPU`, `thread`.
    pub context_noun: &'a str,
    /// Outlook for other layouts.
    pub outlook: &'a OutlookWords<'a>,
}

/// Returns a sentence; `position` names a place in the source.
pub fn remedy_sentence(
    remedy: &Remedy,
    context: RemedyContext<'_>,
    position: impl Fn(&SiteSource) -> String,
) -> String {
    let context_noun = context.context_noun;
    match remedy {
        Remedy::SeparateMembers {
            member,
            from,
            transfers,
        } => separate_members_sentence(member, from, *transfers, context.outlook),
        Remedy::SeparateElements { member, transfers } => format!(
            "Elements of `{member}` that different {context_noun}s use lie on one line: {transfers} transfers between them \
             bring nothing that is used. To look at, not replayed: put what one uses together, or give each a line."
        ),
        Remedy::PadElements {
            array,
            stride,
            padded_stride,
            transfers,
        } => pad_elements_sentence(array, [*stride, *padded_stride], *transfers, context_noun),
        Remedy::RoundRuns { .. } => round_runs_sentence(remedy, context_noun),
        Remedy::SeparateObjects { transfers } => format!(
            "It shares lines with other objects: {transfers} transfers between them bring nothing that is used. To \
             look at, not replayed: alignment, or where it is allocated."
        ),
        Remedy::Align { bytes, replayed } => align_sentence(*bytes, replayed.as_ref()),
        Remedy::GuardStore { .. } => guard_sentence(remedy, position),
        Remedy::Lock { apart, replayed } => lock_sentence(*apart, replayed),
        Remedy::Shared {
            member,
            pattern: how,
        } => true_sharing_sentence(member, *how, context),
        Remedy::DropRead {
            member,
            transfers,
            needed,
        } => drop_read_sentence(member, context_noun, *transfers, *needed),
        Remedy::OwnLine {
            variable,
            is_read_mostly,
            is_local: true,
            neighbours,
        } => own_line_of_local(variable, *is_read_mostly, neighbours, context_noun),
        Remedy::OwnLine {
            variable,
            is_read_mostly,
            is_local: false,
            neighbours,
        } => own_line_sentence(variable, *is_read_mostly, neighbours, context_noun),
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

fn separate_members_sentence(
    member: &str,
    from: &str,
    transfers: u64,
    outlook: &OutlookWords<'_>,
) -> String {
    if let Some(reason) = outlook.refusal_reason() {
        return format!(
            "{transfers} transfers between `{member}` and `{from}` bring nothing that is used, but no layout is \
             recommended: {reason}."
        );
    }
    let search = outlook.search_sentence();
    let search = search.map_or(String::new(), |sentence| format!(" {sentence}"));
    format!(
        "Move `{member}` off the cache line of `{from}`: {transfers} transfers between them bring nothing that is \
         used.{search}"
    )
}

fn pad_elements_sentence(
    array: &str,
    [stride, padded_stride]: [u64; 2],
    transfers: u64,
    context_noun: &str,
) -> String {
    let change = match stride == padded_stride {
        true => "Align its elements to the cache line".to_owned(),
        false => format!("Pad or align each element from {stride} to {padded_stride} bytes"),
    };
    format!(
        "Elements of `{array}` that different {context_noun}s use share cache lines: {transfers} transfers between \
         them bring nothing that is used. {change}, or give each {context_noun} a copy of its own. `relayout advise` \
         scores layouts."
    )
}

/// Returns the advice to round the borders of runs, with the larger elements as the other choice.
fn round_runs_sentence(remedy: &Remedy, context_noun: &str) -> String {
    let Remedy::RoundRuns {
        array,
        stride,
        run_elements,
        rounded_elements,
        granule_elements,
        extra_elements_max,
        padded_stride,
        transfers,
        replayed,
        padded_transfers,
    } = remedy
    else {
        return String::new();
    };
    let rounding = match (run_elements, rounded_elements) {
        (Some(own), Some(rounded)) if own != rounded => {
            format!("round each run up to whole lines, {rounded} elements instead of {own}")
        }
        (Some(own), _) => format!("keep the runs of {own} elements"),
        _ => format!("round each run up to whole lines, a multiple of {granule_elements} elements"),
    };
    let replayed = replayed.as_ref().map(replayed_words).unwrap_or_default();
    let growth = match extra_elements_max {
        0 => "The array stays as long".to_owned(),
        extra => format!("The array stays as long, or grows by up to {extra} elements"),
    };
    let times = padded_stride / (*stride).max(1);
    let padded = padded_transfers.map_or(String::new(), |then| format!(" ({then} transfers)"));
    let other = match times {
        0 | 1 => String::new(),
        _ => format!(
            " The other choice, lines of its own for each element{padded}, takes {times} times the memory."
        ),
    };
    format!(
        "Different {context_noun}s use runs of neighbouring elements of `{array}`, and only the lines at the borders of the runs \
         are shared: {transfers} transfers bring nothing that is used. Let each run begin at a line: {rounding}, and \
         align the array to the line{replayed}. {growth}.{other}"
    )
}

fn guard_sentence(remedy: &Remedy, position: impl Fn(&SiteSource) -> String) -> String {
    let Remedy::GuardStore {
        member,
        members,
        source,
        stores,
        silent,
        replayed,
        own_line,
    } = remedy
    else {
        return String::new();
    };
    let place = position(source);
    let instruction = match members {
        0 | 1 => format!("Store to `{member}` only if it differs ({place}): "),
        _ => format!(
            "Store only what differs of what is copied or cleared here, `{member}` among it ({place}): "
        ),
    };
    let replayed = replayed.as_ref().map(replayed_words).unwrap_or_default();
    let own_line = own_line.as_ref().filter(|_| *members < 2);
    let own_line = own_line.map(own_line_replayed_words).unwrap_or_default();
    format!("{instruction}{silent} of {stores} stores changed nothing{replayed}.{own_line}")
}

fn lock_sentence(apart: bool, replayed: &ReplayComparison) -> String {
    let advice = match apart {
        true => "Put the lock on a line of its own",
        false => "On a line of its own, the lock would not save a tenth",
    };
    format!("{advice}{}.", replayed_words(replayed))
}

fn align_sentence(bytes: u64, replayed: Option<&ReplayComparison>) -> String {
    match replayed {
        Some(replayed) => format!(
            "Align objects to {bytes} bytes, so that none crosses a line{}.",
            replayed_words(replayed)
        ),
        None => format!("Align it to {bytes} bytes: one access moves two lines."),
    }
}

fn drop_read_sentence(member: &str, context_noun: &str, transfers: u64, needed: u64) -> String {
    let advice = format!(
        "Avoid reading `{member}` of another {context_noun}: these reads cause {transfers} transfers"
    );
    match needed == transfers {
        true => format!("{advice}, and each brings a value that its owner stored."),
        false => format!("{advice}, of which {needed} bring a value that its owner stored."),
    }
}

fn own_line_sentence(
    variable: &str,
    is_read_mostly: bool,
    neighbours: &[String],
    context_noun: &str,
) -> String {
    let section = if context_noun == "CPU" {
        " (__read_mostly)"
    } else {
        ""
    };
    let advice = match is_read_mostly {
        true => format!(
            "Put `{variable}` with variables that are hardly ever stored to{section}, or on a line of its own"
        ),
        false => format!("Give `{variable}` a line of its own"),
    };
    let neighbour_names = neighbours.iter().map(String::as_str);
    let neighbour_names: Vec<&str> = neighbour_names.filter(|name| *name != variable).collect();
    match neighbour_names.is_empty() {
        true => format!("{advice}."),
        false => format!(
            "{advice}: the linker put {} beside it.",
            neighbour_names.join(", ")
        ),
    }
}

/// Returns what to do for a local variable that has others of its frame on its line.
fn own_line_of_local(
    variable: &str,
    is_read_mostly: bool,
    neighbours: &[String],
    context_noun: &str,
) -> String {
    let beside: Vec<&str> = { neighbours.iter().map(String::as_str) }
        .filter(|name| *name != variable)
        .collect();
    let beside = match beside.is_empty() {
        true => String::new(),
        false => format!(": {} on the stack beside it", beside.join(", ")),
    };
    let sum = match is_read_mostly {
        true => String::new(),
        false => format!(
            ", or let each {context_noun} count in a variable of its own and store the sum once, at its end"
        ),
    };
    format!(
        "Give `{variable}` a line of its own (align it, and what is declared behind it, to the cache line){sum}{beside}."
    )
}

fn replayed_words(replayed: &ReplayComparison) -> String {
    let ReplayComparison { today, changed } = replayed;
    format!(" (replayed: {today} transfers today, {changed} then)")
}

fn own_line_replayed_words(
    OwnLineTransfers {
        stored,
        guarded: checked,
    }: &OwnLineTransfers,
) -> String {
    format!(
        " On a line of its own: {checked} with that check, {stored} without, as a store that changes nothing takes \
         the line all the same."
    )
}

fn true_sharing_sentence(member: &str, how: SharingPattern, context: RemedyContext<'_>) -> String {
    let (context_noun, layouts) = (context.context_noun, context.outlook.true_sharing());
    let search = context.outlook.search_sentence();
    let search = search.map_or(String::new(), |sentence| format!(" {sentence}"));
    let is_kernel = context_noun == "CPU";
    let suggestion = match how {
        SharingPattern::Lock => {
            return format!(
                "{layouts}: most transfers follow stores to the lock `{member}`.{search} Take it less often \
                 or for shorter, or have several."
            );
        }
        SharingPattern::References if is_kernel => {
            "it counts references: hold them for longer, look up without taking one (RCU), or count by CPU \
             (percpu_ref)"
                .to_owned()
        }
        SharingPattern::References => {
            "it counts references: hold them for longer, or look up without taking one".to_owned()
        }
        SharingPattern::List => format!(
            "it links a list or tree: have one for each {context_noun} or several, or move several entries at a time"
        ),
        SharingPattern::PerContext => {
            format!("it is a sum that several add to: give each {context_noun} its own, to be summed when somebody reads")
        }
        SharingPattern::Ticket => format!(
            "{context_noun}s draw numbers from it, as tickets or indices: let each {context_noun} draw several at a \
             time, or have one such counter for each group of {context_noun}s"
        ),
        SharingPattern::Bits => format!(
            "{context_noun}s set and clear bits of it: give each {context_noun} or each kind of bit a word of its own, \
             and look at the bit before it is set"
        ),
        SharingPattern::WaitWord => "it is exchanged as a lock or a futex word is: take it less often or for shorter, \
                                     or have several"
            .to_owned(),
        SharingPattern::State => format!(
            "{context_noun}s lead it from state to state by comparing and exchanging: look at it before the exchange, \
             make fewer steps, or have several"
        ),
        SharingPattern::Copy => "others read what is stored now and then: let them read a copy that is published less \
                         often, or read it less often"
            .to_owned(),
        SharingPattern::Owned => format!(
            "each is stored to by one {context_noun} and looked at by others: look less often, or publish apart what they need"
        ),
        SharingPattern::Batch => format!(
            "one {context_noun} after the other uses it: do more of it at a time, or split it by {context_noun}"
        ),
    };
    format!(
        "{layouts}: {context_noun}s use what others stored, most of it to `{member}`.{search} To look at: {suggestion}."
    )
}
