//! Members that moved because of others: one sentence per pusher, not one per member.

use relayout_layout::diff::{Cause, Deed, MemberMove, Push};

use crate::cmd::diff::words::{Pair, amount, count, list, place};

/// A sentence for each push; with `verbose` also each member that it moved.
pub(super) fn sentences(pair: &Pair<'_>, verbose: bool) -> Vec<String> {
    let pushes = &pair.detail.pushes;
    let mut moved: Vec<Vec<&MemberMove>> = vec![Vec::new(); pushes.len()];
    for member in &pair.detail.members {
        if let Cause::Pushed(push) = member.cause {
            moved[blamed(pushes, push)].push(member);
        }
    }
    let mut lines = Vec::new();
    for (push, members) in pushes.iter().zip(&moved) {
        let Some((first, rest)) = members.split_first() else {
            continue;
        };
        lines.push(sentence(pair, push, first, rest));
        if verbose {
            lines.extend(rest.iter().filter_map(|member| {
                let (old, new) = pair.fields(member)?;
                Some(format!("    {} {} -> {}", new.path, place(old), place(new)))
            }));
        }
    }
    lines
}

/// Where alignment alone makes a push differ from the one before it, the latter gets the blame.
pub(super) fn blamed(pushes: &[Push], push: usize) -> usize {
    let mut at = push;
    while let (true, Some(below)) = (pushes[at].by.is_empty(), pushes[at].on_top_of) {
        at = below;
    }
    at
}

/// `n pushed c from 8 to 16, and 3 members after it`.
fn sentence(pair: &Pair<'_>, push: &Push, first: &MemberMove, rest: &[&MemberMove]) -> String {
    let Some((old, new)) = pair.fields(first) else {
        return String::new();
    };
    let way = format!("from {} to {}", place(old), place(new));
    let mut text = format!("{} {way}", pushes(pair, push, &new.path));
    if push.on_top_of.is_some() {
        let direction = if push.bits > 0 { "more" } else { "less" };
        let bits = amount(push.bits.unsigned_abs());
        text.push_str(&format!(" ({bits} {direction} than what is before it)"));
    }
    if !rest.is_empty() {
        text.push_str(&format!(", and {} after it", count(rest.len(), "member")));
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
pub(super) fn pushes(pair: &Pair<'_>, push: &Push, moved: &str) -> String {
    let names = |deeds: &[Deed], before: &str| -> Vec<String> {
        let by = push.by.iter().filter(|pusher| deeds.contains(&pusher.deed));
        by.map(|pusher| format!("{before}{}", pair.name(pusher.member)))
            .collect()
    };
    if push.bits > 0 {
        let mut pushers = names(&[Deed::Came], "");
        pushers.extend(names(&[Deed::MovedIn], "the moved "));
        pushers.extend(names(&[Deed::Resized], "the larger "));
        if pushers.is_empty() {
            pushers.push("alignment".to_owned());
        }
        return format!("{} pushed {moved}", list(&pushers, 3));
    }
    let left = list(&names(&[Deed::Left, Deed::MovedOut], ""), 3);
    let smaller = list(&names(&[Deed::Resized], "the smaller "), 3);
    match (left.is_empty(), smaller.is_empty()) {
        (true, true) => format!("with less alignment, {moved} moved"),
        (true, false) => format!("{smaller} moved {moved}"),
        (false, true) => format!("without {left}, {moved} moved"),
        (false, false) => format!("without {left} and with {smaller}, {moved} moved"),
    }
}
