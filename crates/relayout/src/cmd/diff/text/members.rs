//! Members that came, left, grew or were put elsewhere, and the holes that this filled or opened.

use relayout_layout::diff::{Cause, Gap, GapChange, MemberMove, Room};

use crate::cmd::diff::words::{Pair, amount, place};

/// A sentence for each member that somebody edited.
pub(super) fn sentences(pair: &Pair<'_>) -> Vec<String> {
    let members = pair.detail.members.iter();
    members
        .filter_map(|member| sentence(pair, member))
        .collect()
}

fn sentence(pair: &Pair<'_>, member: &MemberMove) -> Option<String> {
    match member.cause {
        Cause::Added => Some(came(pair, member)),
        Cause::Removed => Some(left(pair, member)),
        Cause::Stayed | Cause::Pushed(_) | Cause::Reordered => changed(pair, member),
    }
}

/// `+ int n;  offset 8, 4 bytes: ...`.
fn came(pair: &Pair<'_>, member: &MemberMove) -> String {
    let mut text = format!("+ {}", declared(pair, member));
    let moved = pushes(pair, member);
    match &member.room {
        Some(Room::Gap { gap }) => {
            text.push_str(&format!(
                ": fills {} {}",
                what_of(pair, member, gap),
                where_old(pair, gap)
            ));
            if !moved {
                text.push_str(" and moves nothing");
            }
        }
        Some(Room::Part { gap, bits }) => {
            let rest = pair.field(member).size_bits() - bits;
            text.push_str(&format!(
                ": {} of it fit into {} {}, {} did not",
                amount(*bits),
                hole(gap),
                where_old(pair, gap),
                amount(rest)
            ));
        }
        Some(Room::Union { with }) => {
            text.push_str(&format!(": shares its bytes with {}", pair.name(*with)));
            if !moved {
                text.push_str(" and moves nothing");
            }
        }
        Some(Room::Place { of }) => {
            let name = pair.name(*of);
            text.push_str(&if member.twin == Some(*of) {
                format!(": same place, size and type as {name} had; renamed?")
            } else {
                format!(": in the place of {name}")
            });
        }
        None if !moved && is_last(pair, member) => text.push_str(": at the end"),
        None => {}
    }
    text
}

/// Whether nothing that both files have stands behind an added member.
fn is_last(pair: &Pair<'_>, member: &MemberMove) -> bool {
    let field = pair.field(member);
    let mut both = (pair.detail.members.iter()).filter_map(|other| Some(pair.fields(other)?.1));
    field.size_bits() > 0 && both.all(|other| other.end_bits() <= field.start_bits())
}

fn left(pair: &Pair<'_>, member: &MemberMove) -> String {
    let mut text = format!("- {}", declared(pair, member));
    match &member.room {
        Some(Room::Gap { gap } | Room::Part { gap, .. }) => {
            let kind = kind(gap);
            text.push_str(&format!(": left a {kind} of {}", amount(gap.size_bits)));
        }
        Some(Room::Union { with }) => {
            text.push_str(&format!(": shared its bytes with {}", pair.name(*with)));
        }
        // Said where the new one is.
        Some(Room::Place { .. }) | None => {}
    }
    text
}

/// A member that has another size, or stands elsewhere.
fn changed(pair: &Pair<'_>, member: &MemberMove) -> Option<String> {
    let (old, new) = pair.fields(member)?;
    let resized = old.is_resized(new);
    let reordered = member.cause == Cause::Reordered;
    if !resized && !reordered {
        return None;
    }
    let mut text = format!("~ {}", new.path);
    if resized {
        let (before, after) = (old.size_bits(), new.size_bits());
        let verb = if after > before { "grew" } else { "shrank" };
        text.push_str(&format!(
            " {verb} from {} to {}",
            amount(before),
            amount(after)
        ));
        if old.ty != new.ty {
            text.push_str(&format!(" ({}, was {})", new.ty, old.ty));
        }
    }
    if reordered {
        let and = if resized { " and" } else { "" };
        text.push_str(&format!(
            "{and} was moved from {} to {}",
            place(old),
            place(new)
        ));
    }
    Some(text)
}

/// `int n; offset 8, 4 bytes`.
fn declared(pair: &Pair<'_>, member: &MemberMove) -> String {
    let field = pair.field(member);
    let size = amount(field.size_bits());
    format!("{} ({}) at {}, {size}", field.path, field.ty, place(field))
}

fn pushes(pair: &Pair<'_>, member: &MemberMove) -> bool {
    let detail = pair.detail;
    let is_this = |index: usize| std::ptr::eq(&detail.members[index], member);
    let by = detail.pushes.iter().flat_map(|push| &push.by);
    by.into_iter().any(|pusher| is_this(pusher.member))
}

/// `the hole of 4 bytes`, `3 of the 5 unused bits`.
fn what_of(pair: &Pair<'_>, member: &MemberMove, gap: &Gap) -> String {
    let size = pair.field(member).size_bits();
    if size == gap.size_bits {
        hole(gap)
    } else {
        format!("{} of {}", amount(size), hole(gap))
    }
}

fn hole(gap: &Gap) -> String {
    format!("the {} of {}", kind(gap), amount(gap.size_bits))
}

fn kind(gap: &Gap) -> &'static str {
    match (gap.padding, gap.size_bits.is_multiple_of(8)) {
        (true, _) => "padding",
        (false, true) => "hole",
        (false, false) => "gap",
    }
}

/// `after x`, in the old shape.
fn where_old(pair: &Pair<'_>, gap: &Gap) -> String {
    match gap.after {
        Some(after) => format!("after {}", pair.old.fields[after].path),
        None => "at the start".to_owned(),
    }
}

/// Gaps that came or went, where no sentence above says so.
pub(super) fn gaps(pair: &Pair<'_>) -> Vec<String> {
    let changes = pair.detail.gaps.iter();
    changes.filter_map(|change| gap(pair, change)).collect()
}

fn gap(pair: &Pair<'_>, change: &GapChange) -> Option<String> {
    let after = match change.after {
        Some(member) => format!("after {}", pair.name(member)),
        None => "at the start".to_owned(),
    };
    let size = |gap: &Gap| amount(gap.size_bits);
    match (&change.old, &change.new) {
        (Some(old), None) => {
            let filled = has(pair, Cause::Added, old);
            (!filled).then(|| format!("{} {after} is gone", hole(old)))
        }
        (None, Some(new)) => {
            // What an added member left of the gap that it is in is no news.
            let rest = change.after.is_some_and(|member| {
                let member = &pair.detail.members[member];
                let filled = matches!(member.room, Some(Room::Gap { .. } | Room::Part { .. }));
                member.cause == Cause::Added && filled
            });
            let said = rest || has(pair, Cause::Removed, new);
            (!said).then(|| format!("new {} of {} {after}", kind(new), size(new)))
        }
        (Some(old), Some(new))
            if has(pair, Cause::Added, old) || has(pair, Cause::Removed, new) =>
        {
            None
        }
        (Some(old), Some(new)) if old.padding == new.padding => {
            Some(format!("{} {after} is {} now", hole(old), size(new)))
        }
        (Some(old), Some(new)) => Some(format!(
            "{} {after} is a {} of {} now",
            hole(old),
            kind(new),
            size(new)
        )),
        (None, None) => None,
    }
}

/// Whether a member that came or left is where the gap was or is, and said to be.
fn has(pair: &Pair<'_>, cause: Cause, gap: &Gap) -> bool {
    let room = |member: &MemberMove| match &member.room {
        Some(Room::Gap { gap } | Room::Part { gap, .. }) => Some(*gap),
        _ => None,
    };
    let members = pair.detail.members.iter();
    members
        .filter(|member| member.cause == cause)
        .any(|member| room(member) == Some(*gap))
}
