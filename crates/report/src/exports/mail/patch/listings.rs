//! Layouts as pahole prints them, in the width of a message.

use std::fmt::Write as _;

use relayout_advice::{GatheredType, MemberAccesses, ResolvedProfile};
use relayout_search::ScoredLayout;
use relayout_session::advise::{PatchOutcome, PatchedType};

use crate::words::advice::PoolView;
use crate::words::advice::listing::pahole_listing;

/// Characters of a line in a message, at most, as `checkpatch.pl` asks.
const LINE_CHARACTERS_MAX: usize = 75;

/// Lines of a layout; of a larger struct only the accessed members are listed.
const LISTING_LINES_MAX: usize = 48;

/// Returns today's layout and that of the patch, as pahole prints them.
pub(super) fn layout_listings(
    resolved: &ResolvedProfile<'_>,
    patched: &PatchedType<'_>,
) -> Option<String> {
    let advised = &patched.advised;
    let Some(PatchOutcome::Diff(written)) = &patched.patch else {
        return None;
    };
    let view = PoolView {
        resolved,
        gathered: &advised.searched.gathered,
        pool: written.edited.pool(advised)?,
    };
    let scored: &ScoredLayout = written.edited.candidate(advised)?;
    let mut text = String::new();
    for (title, scored) in [("Before", &view.pool.advice.current), ("After", scored)] {
        let full_listing = pahole_listing(&view, scored);
        let shown = match full_listing.lines().count() <= LISTING_LINES_MAX {
            true => full_listing,
            false => accessed_members(view.gathered, &advised.accesses, scored),
        };
        let _ = writeln!(text, "{title} (pahole):\n");
        for line in shown.lines() {
            let _ = writeln!(text, "{}", narrow_line(line.trim_end()));
        }
        text.push('\n');
    }
    Some(text)
}

/// Returns a line of pahole's, without aligning spaces if it is too long with them.
fn narrow_line(line: &str) -> String {
    if line.chars().count() <= LINE_CHARACTERS_MAX {
        return line.to_owned();
    }
    let (indent, code) = line.split_at(line.len() - line.trim_start().len());
    let words: Vec<&str> = code.split_whitespace().collect();
    format!("{indent}{}", words.join(" "))
}

/// Returns the accessed members with their places.
fn accessed_members(
    gathered: &GatheredType<'_>,
    accesses: &[MemberAccesses],
    scored: &ScoredLayout,
) -> String {
    let mut text = format!(
        "{} {{ /* accessed members only */\n",
        gathered.advised_subject.title()
    );
    for &atom in &scored.arrangement.order {
        let name = &gathered.shape.atoms[atom].name;
        let place = &scored.layout.places[atom];
        let is_used = accesses.iter().any(|member_use| {
            let rest = member_use.member.strip_prefix(name.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        });
        if is_used {
            let size = place.end - place.offset;
            let _ = writeln!(text, "\t{name:<40} /* {:>5} {size:>5} */", place.offset);
        }
    }
    let _ = writeln!(text, "\n\t/* size: {} */\n}};", scored.layout.size);
    text
}
