//! Members that came, left, grew or were put elsewhere, and the holes that this filled or opened.

use relayout_diff::{BitGap, GapChange, MemberMove, MemberRoom, MoveCause};

use crate::words::layout_changes::shape_pair::{ShapePair, place_text, size_text};

/// A sentence for each member that somebody edited.
pub(crate) fn sentences(pair: &ShapePair<'_>) -> Vec<String> {
    let members = pair.detail.members.iter();
    members
        .filter_map(|member| member_sentence(pair, member))
        .collect()
}

fn member_sentence(pair: &ShapePair<'_>, member: &MemberMove) -> Option<String> {
    match member.cause {
        MoveCause::Added => Some(added_sentence(pair, member)),
        MoveCause::Removed => Some(removed_sentence(pair, member)),
        MoveCause::Stayed | MoveCause::Pushed(_) | MoveCause::Reordered => {
            changed_sentence(pair, member)
        }
    }
}

/// `+ int n;  offset 8, 4 bytes: ...`.
fn added_sentence(pair: &ShapePair<'_>, member: &MemberMove) -> String {
    let mut text = format!("+ {}", declared_text(pair, member));
    let moved = pushes_others(pair, member);
    match &member.room {
        Some(MemberRoom::Gap { gap }) => {
            text.push_str(&format!(
                ": fills {} {}",
                filled_part(pair, member, gap),
                place_in_old(pair, gap)
            ));
            if !moved {
                text.push_str(" and moves nothing");
            }
        }
        Some(MemberRoom::GapPart { gap, bits }) => {
            let rest = pair.field(member).size_bits() - bits;
            text.push_str(&format!(
                ": {} of it fit into {} {}, {} did not",
                size_text(*bits),
                hole_text(gap),
                place_in_old(pair, gap),
                size_text(rest)
            ));
        }
        Some(MemberRoom::Union { member: with }) => {
            text.push_str(&format!(": shares its bytes with {}", pair.name(*with)));
            if !moved {
                text.push_str(" and moves nothing");
            }
        }
        Some(MemberRoom::MemberPlace { member: of }) => {
            let name = pair.name(*of);
            text.push_str(&if member.twin == Some(*of) {
                format!(": same place, size and type as {name} had; renamed?")
            } else {
                format!(": in the place of {name}")
            });
        }
        None if !moved && is_at_end(pair, member) => text.push_str(": at the end"),
        None => {}
    }
    text
}

/// Returns true if no member of both files follows the added `member`.
fn is_at_end(pair: &ShapePair<'_>, member: &MemberMove) -> bool {
    let field = pair.field(member);
    let mut both = (pair.detail.members.iter()).filter_map(|other| Some(pair.fields(other)?.1));
    field.size_bits() > 0 && both.all(|other| other.end_bits() <= field.start_bits())
}

fn removed_sentence(pair: &ShapePair<'_>, member: &MemberMove) -> String {
    let mut text = format!("- {}", declared_text(pair, member));
    match &member.room {
        Some(MemberRoom::Gap { gap } | MemberRoom::GapPart { gap, .. }) => {
            let kind = gap_kind(gap);
            text.push_str(&format!(": left a {kind} of {}", size_text(gap.size_bits)));
        }
        Some(MemberRoom::Union { member: with }) => {
            text.push_str(&format!(": shared its bytes with {}", pair.name(*with)));
        }
        // Said where the new one is.
        Some(MemberRoom::MemberPlace { .. }) | None => {}
    }
    text
}

/// A member that has another size, or stands elsewhere.
fn changed_sentence(pair: &ShapePair<'_>, member: &MemberMove) -> Option<String> {
    let (old, new) = pair.fields(member)?;
    let resized = old.is_resized(new);
    let reordered = member.cause == MoveCause::Reordered;
    if !resized && !reordered {
        return None;
    }
    let mut text = format!("~ {}", new.path);
    if resized {
        let (before, after) = (old.size_bits(), new.size_bits());
        let verb = if after > before { "grew" } else { "shrank" };
        text.push_str(&format!(
            " {verb} from {} to {}",
            size_text(before),
            size_text(after)
        ));
        if old.type_name != new.type_name {
            text.push_str(&format!(" ({}, was {})", new.type_name, old.type_name));
        }
    }
    if reordered {
        let and = if resized { " and" } else { "" };
        text.push_str(&format!(
            "{and} was moved from {} to {}",
            place_text(old),
            place_text(new)
        ));
    }
    Some(text)
}

/// `int n; offset 8, 4 bytes`.
fn declared_text(pair: &ShapePair<'_>, member: &MemberMove) -> String {
    let field = pair.field(member);
    let size = size_text(field.size_bits());
    format!(
        "{} ({}) at {}, {size}",
        field.path,
        field.type_name,
        place_text(field)
    )
}

fn pushes_others(pair: &ShapePair<'_>, member: &MemberMove) -> bool {
    let detail = pair.detail;
    let is_this = |index: usize| std::ptr::eq(&detail.members[index], member);
    let by = detail.pushes.iter().flat_map(|push| &push.pushers);
    by.into_iter().any(|pusher| is_this(pusher.member))
}

/// `the hole of 4 bytes`, `3 of the 5 unused bits`.
fn filled_part(pair: &ShapePair<'_>, member: &MemberMove, gap: &BitGap) -> String {
    let size = pair.field(member).size_bits();
    if size == gap.size_bits {
        hole_text(gap)
    } else {
        format!("{} of {}", size_text(size), hole_text(gap))
    }
}

fn hole_text(gap: &BitGap) -> String {
    format!("the {} of {}", gap_kind(gap), size_text(gap.size_bits))
}

fn gap_kind(gap: &BitGap) -> &'static str {
    match (gap.padding, gap.size_bits.is_multiple_of(8)) {
        (true, _) => "padding",
        (false, true) => "hole",
        (false, false) => "gap",
    }
}

/// `after x`, in the old shape.
fn place_in_old(pair: &ShapePair<'_>, gap: &BitGap) -> String {
    match gap.after {
        Some(after) => format!("after {}", pair.old.members[after].path),
        None => "at the start".to_owned(),
    }
}

/// Gaps that came or went, where no sentence above says so.
pub(crate) fn gap_sentences(pair: &ShapePair<'_>) -> Vec<String> {
    let changes = pair.detail.gaps.iter();
    changes
        .filter_map(|change| gap_sentence(pair, change))
        .collect()
}

fn gap_sentence(pair: &ShapePair<'_>, change: &GapChange) -> Option<String> {
    let after = match change.after {
        Some(member) => format!("after {}", pair.name(member)),
        None => "at the start".to_owned(),
    };
    let size = |gap: &BitGap| size_text(gap.size_bits);
    match (&change.old, &change.new) {
        (Some(old), None) => {
            let filled = has_room_in(pair, MoveCause::Added, old);
            (!filled).then(|| format!("{} {after} is gone", hole_text(old)))
        }
        (None, Some(new)) => {
            // What an added member left of the gap that it is in is no news.
            let rest = change.after.is_some_and(|member| {
                let member = &pair.detail.members[member];
                let filled = matches!(
                    member.room,
                    Some(MemberRoom::Gap { .. } | MemberRoom::GapPart { .. })
                );
                member.cause == MoveCause::Added && filled
            });
            let said = rest || has_room_in(pair, MoveCause::Removed, new);
            (!said).then(|| format!("new {} of {} {after}", gap_kind(new), size(new)))
        }
        (Some(old), Some(new))
            if has_room_in(pair, MoveCause::Added, old)
                || has_room_in(pair, MoveCause::Removed, new) =>
        {
            None
        }
        (Some(old), Some(new)) if old.padding == new.padding => {
            Some(format!("{} {after} is {} now", hole_text(old), size(new)))
        }
        (Some(old), Some(new)) => Some(format!(
            "{} {after} is a {} of {} now",
            hole_text(old),
            gap_kind(new),
            size(new)
        )),
        (None, None) => None,
    }
}

/// Returns true if a member with this cause lies in `gap`. The sentence about that member then
/// names the gap.
fn has_room_in(pair: &ShapePair<'_>, cause: MoveCause, gap: &BitGap) -> bool {
    let room = |member: &MemberMove| match &member.room {
        Some(MemberRoom::Gap { gap } | MemberRoom::GapPart { gap, .. }) => Some(*gap),
        _ => None,
    };
    let members = pair.detail.members.iter();
    members
        .filter(|member| member.cause == cause)
        .any(|member| room(member) == Some(*gap))
}
