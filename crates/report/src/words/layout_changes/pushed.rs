//! Members that moved because of others: one sentence per pusher, not one per member.

use relayout_diff::{MemberMove, MemberPush, MoveCause, PusherAction};
use relayout_layout::word_lists::word_series;

use crate::words::counted;
use crate::words::layout_changes::shape_pair::{ShapePair, place_text, size_text};

/// A sentence for each push; with `verbose` also each member that it moved.
pub(crate) fn sentences(pair: &ShapePair<'_>, verbose: bool) -> Vec<String> {
    let pushes = &pair.detail.pushes;
    let mut moved: Vec<Vec<&MemberMove>> = vec![Vec::new(); pushes.len()];
    for member in &pair.detail.members {
        if let MoveCause::Pushed(push) = member.cause {
            moved[blamed_push(pushes, push)].push(member);
        }
    }
    let mut lines = Vec::new();
    for (push, members) in pushes.iter().zip(&moved) {
        let Some((first, rest)) = members.split_first() else {
            continue;
        };
        lines.push(push_sentence(pair, push, first, rest));
        if verbose {
            lines.extend(rest.iter().filter_map(|member| {
                let (old, new) = pair.fields(member)?;
                Some(format!(
                    "    {} {} -> {}",
                    new.path,
                    place_text(old),
                    place_text(new)
                ))
            }));
        }
    }
    lines
}

/// Index of the push to blame for `pushes[push]`. A push without pushers of its own differs from
/// the one below only by alignment, so the one below is blamed.
pub(crate) fn blamed_push(pushes: &[MemberPush], push: usize) -> usize {
    let mut at = push;
    while let (true, Some(below)) = (pushes[at].pushers.is_empty(), pushes[at].on_top_of) {
        at = below;
    }
    at
}

/// Formats a push: `n pushed c from 8 to 16, and 3 members after it`.
fn push_sentence(
    pair: &ShapePair<'_>,
    push: &MemberPush,
    first: &MemberMove,
    rest: &[&MemberMove],
) -> String {
    let Some((old, new)) = pair.fields(first) else {
        return String::new();
    };
    let way = format!("from {} to {}", place_text(old), place_text(new));
    let mut text = format!("{} {way}", push_text(pair, push, &new.path));
    if push.on_top_of.is_some() {
        let direction = if push.moved_bits > 0 { "more" } else { "less" };
        let bits = size_text(push.moved_bits.unsigned_abs());
        text.push_str(&format!(" ({bits} {direction} than what is before it)"));
    }
    if !rest.is_empty() {
        text.push_str(&format!(
            ", and {} after it",
            counted(rest.len() as u64, "member")
        ));
        let by = |member: &&MemberMove| {
            let (old, new) = pair.fields(member)?;
            Some(i128::from(new.start_bits()) - i128::from(old.start_bits()))
        };
        let far = rest.iter().chain([&first]).filter_map(by);
        let (least, most) = far.fold((i128::MAX, i128::MIN), |(least, most), by| {
            (least.min(by), most.max(by))
        });
        // A hole took up some, or alignment asked for more.
        if least != most && least % 8 == 0 && most % 8 == 0 {
            text.push_str(&format!(" (by {:+} to {:+})", least / 8, most / 8));
        }
    }
    text
}

/// The sentence up to where `moved` was: `n pushed c`, `without n, c moved`.
pub(crate) fn push_text(pair: &ShapePair<'_>, push: &MemberPush, moved: &str) -> String {
    let names = |deeds: &[PusherAction], before: &str| -> Vec<String> {
        let by = push
            .pushers
            .iter()
            .filter(|pusher| deeds.contains(&pusher.action));
        by.map(|pusher| format!("{before}{}", pair.name(pusher.member)))
            .collect()
    };
    if push.moved_bits > 0 {
        let mut pushers = names(&[PusherAction::Came], "");
        pushers.extend(names(&[PusherAction::MovedIn], "the moved "));
        pushers.extend(names(&[PusherAction::Resized], "the larger "));
        if pushers.is_empty() {
            pushers.push("alignment".to_owned());
        }
        return format!("{} pushed {moved}", word_series(&pushers, 3));
    }
    let left = word_series(&names(&[PusherAction::Left, PusherAction::MovedOut], ""), 3);
    let smaller = word_series(&names(&[PusherAction::Resized], "the smaller "), 3);
    match (left.is_empty(), smaller.is_empty()) {
        (true, true) => format!("with less alignment, {moved} moved"),
        (true, false) => format!("{smaller} moved {moved}"),
        (false, true) => format!("without {left}, {moved} moved"),
        (false, false) => format!("without {left} and with {smaller}, {moved} moved"),
    }
}
