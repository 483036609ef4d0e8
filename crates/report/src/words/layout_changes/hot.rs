//! Text about a hot type for reviewers: the members that moved, the members that pushed them, and
//! the members that now share a cache line.

use relayout_diff::MoveCause;
use relayout_layout::LocatedMember;
use relayout_layout::word_lists::word_series;
use relayout_session::diff::{HotDiff, HotMove, HotPair};

use crate::words::counted;
use crate::words::layout_changes::pushed;
use crate::words::layout_changes::shape_pair::{ShapePair, place_text};

/// Changed pairs of one type that are said.
const PAIRS_MAX: usize = 24;

/// Sentences about pairs of one type.
const SENTENCES_MAX: usize = 6;

/// Hot members of one type whose move is said.
const MOVES_MAX: usize = 8;

/// The sentences about one type, hottest first.
pub(crate) fn sentences(pair: &ShapePair<'_>, hot: &HotDiff, line_bytes: u64) -> Vec<String> {
    let mut lines: Vec<String> = pair_sentences(pair, hot, line_bytes)
        .into_iter()
        .take(SENTENCES_MAX)
        .map(|sentence| sentence.text)
        .collect();
    let phase = hot.phase.filter(|phase| *phase > 0);
    if let (Some(phase), false) = (phase, lines.is_empty()) {
        lines.push(format!(
            "objects began {phase} bytes into a line when recorded; lines here are counted from \
             their first byte"
        ));
    }
    lines
}

/// Sentence about pairs that changed for one reason.
pub(crate) struct PairSentence {
    /// `n pushed c from 8 to 16: c and d now share line 0`.
    pub text: String,
    /// Indices of the pairs in [`HotDiff::pairs`].
    pub pairs: Vec<usize>,
}

/// Returns the sentences about the first pairs, in their order.
pub(crate) fn pair_sentences(
    pair: &ShapePair<'_>,
    hot: &HotDiff,
    line_bytes: u64,
) -> Vec<PairSentence> {
    let groups = hot_groups(pair, hot, line_bytes);
    let sentence = |group: &HotGroup| PairSentence {
        text: format!(
            "{}: {}",
            cause_text(pair, group),
            effect_text(pair, hot, group)
        ),
        pairs: group.pairs.clone(),
    };
    groups.iter().map(sentence).collect()
}

/// Pairs that changed for one reason: each of `moved` with each of `others`.
#[derive(Debug, PartialEq, Eq)]
struct HotGroup {
    /// Members of the type that moved, as indices in `Detail::members`.
    holders: Vec<usize>,
    /// Hot members in those.
    moved: Vec<usize>,
    /// Hot members that they met or left.
    others: Vec<usize>,
    /// Indices in [`HotDiff::pairs`].
    pairs: Vec<usize>,
    together: bool,
    line: u64,
}

fn hot_groups(pair: &ShapePair<'_>, hot: &HotDiff, line_bytes: u64) -> Vec<HotGroup> {
    let mut groups: Vec<HotGroup> = Vec::new();
    let worth_telling = hot.pairs.iter().enumerate();
    let worth_telling = worth_telling.filter(|(_, pair)| pair.heat > 0);
    for (index, changed) in worth_telling.take(PAIRS_MAX) {
        let (moved, other) = split_by_move(hot, changed, line_bytes);
        let same = |group: &&mut HotGroup| {
            let key = (group.moved[0], group.together, group.line);
            key == (moved, changed.together, changed.line)
        };
        match groups.iter_mut().find(same) {
            Some(group) => {
                group.others.push(other);
                group.pairs.push(index);
            }
            None => groups.push(HotGroup {
                holders: innermost_holder(pair, &hot.moves[moved].member.path)
                    .into_iter()
                    .collect(),
                moved: vec![moved],
                others: vec![other],
                pairs: vec![index],
                together: changed.together,
                line: changed.line,
            }),
        }
    }
    let push = |holder: Option<&usize>| {
        let cause = pair.detail.members[*holder?].cause;
        match cause {
            MoveCause::Pushed(push) => Some(pushed::blamed_push(&pair.detail.pushes, push)),
            _ => None,
        }
    };
    let mut joined: Vec<HotGroup> = Vec::new();
    for mut group in groups {
        group.others.sort_unstable();
        let pushed = push(group.holders.first());
        let same = |other: &&mut HotGroup| {
            let key = (&other.others, other.together, other.line);
            let alike = key == (&group.others, group.together, group.line);
            alike && pushed.is_some() && push(other.holders.first()) == pushed
        };
        match joined.iter_mut().find(same) {
            Some(other) => {
                other.moved.extend(group.moved);
                other.pairs.extend(group.pairs);
                other.holders.extend(group.holders);
                other.holders.dedup();
            }
            None => joined.push(group),
        }
    }
    joined
}

/// The one of a pair that moved to another line, or moved at all; of two that did the hotter one.
fn split_by_move(hot: &HotDiff, pair: &HotPair, line_bytes: u64) -> (usize, usize) {
    let moved = |index: usize| {
        let (old, new) = (&hot.moves[index].old, &hot.moves[index].new);
        let crossed = old.offset / line_bytes != new.offset / line_bytes;
        (crossed, old.offset != new.offset)
    };
    if moved(pair.first) >= moved(pair.second) {
        (pair.first, pair.second)
    } else {
        (pair.second, pair.first)
    }
}

/// The member of the type itself that holds the one at a path.
fn innermost_holder(pair: &ShapePair<'_>, path: &str) -> Option<usize> {
    let members = pair.detail.members.iter();
    members
        .enumerate()
        .filter(|(_, member)| member.old.is_some() && member.new.is_some())
        .filter(|(_, member)| holds(&pair.field(member).path, path))
        .max_by_key(|(_, member)| pair.field(member).path.len())
        .map(|(index, _)| index)
}

/// Returns true if the member named `outer` is at `path` or contains the member at `path`.
pub(crate) fn holds(outer: &str, path: &str) -> bool {
    path.strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Formats a cause: `write_protect_seq pushed mmap_lock from 120 to 128`.
fn cause_text(pair: &ShapePair<'_>, group: &HotGroup) -> String {
    let holder = group.holders.first();
    let member = holder.map(|index| &pair.detail.members[*index]);
    let Some((member, (old, new))) = member.and_then(|each| Some((each, pair.fields(each)?)))
    else {
        return "inside a member".to_owned();
    };
    let rest: Vec<&str> = group.holders[1..].iter().map(|at| pair.name(*at)).collect();
    let rest = match rest.as_slice() {
        [] => String::new(),
        rest => format!(", with {}", word_series(rest, 6)),
    };
    let way = format!("from {} to {}{rest}", place_text(old), place_text(new));
    match member.cause {
        MoveCause::Pushed(push) => {
            let push = &pair.detail.pushes[pushed::blamed_push(&pair.detail.pushes, push)];
            format!("{} {way}", pushed::push_text(pair, push, &new.path))
        }
        MoveCause::Reordered => format!("{} was moved {way}", new.path),
        _ if old.size != new.size => {
            format!("{} went from {} to {} bytes", new.path, old.size, new.size)
        }
        _ => format!("{} is laid out differently", new.path),
    }
}

/// `count and owner now share line 2`.
fn effect_text(pair: &ShapePair<'_>, hot: &HotDiff, group: &HotGroup) -> String {
    let within = match group.holders.as_slice() {
        [holder] => Some(pair.name(*holder)),
        _ => None,
    };
    let members = || group.moved.iter().chain(&group.others);
    let within = within.filter(|outer| {
        members().all(|index| {
            let short = &hot.moves[*index].short;
            short.len() > outer.len() && holds(outer, short)
        })
    });
    let names = |indices: Vec<usize>| -> Vec<&str> {
        let short = indices.iter().map(|index| hot.moves[*index].short.as_str());
        short
            .map(|short| {
                let inner = within.and_then(|outer| short.strip_prefix(outer));
                inner.map_or(short, |inner| inner.trim_start_matches('.'))
            })
            .collect()
    };
    let by_place = |indices: &[usize]| {
        let mut sorted = indices.to_vec();
        sorted.sort_by_key(|index| hot.moves[*index].new.offset);
        sorted
    };
    if let ([moved_index], [other]) = (group.moved.as_slice(), group.others.as_slice()) {
        let names = names(by_place(&[*moved_index, *other])).join(" and ");
        let now = if group.together { "now" } else { "no longer" };
        return format!("{names} {now} share line {}", group.line);
    }
    let moved = word_series(&names(by_place(&group.moved)), 6);
    let others = word_series(&names(by_place(&group.others)), 6);
    let s = if group.moved.len() == 1 { "s" } else { "" };
    if group.together {
        format!("{moved} now share{s} line {} with {others}", group.line)
    } else {
        format!(
            "{moved} no longer share{s} line {} with {others}",
            group.line
        )
    }
}

fn line_of(place: &LocatedMember, line_bytes: u64) -> u64 {
    place.offset / line_bytes
}

/// Hot members that moved: `mmap_lock.owner 120 -> 128 (line 1 -> 2), 29364 transfers, ...`.
pub(crate) fn moves(hot: &HotDiff, line_bytes: u64) -> Vec<String> {
    let moved = |each: &&HotMove| each.old.offset != each.new.offset;
    let moved_members: Vec<&HotMove> = hot.moves.iter().filter(moved).collect();
    let mut lines: Vec<String> = moved_members
        .iter()
        .take(MOVES_MAX)
        .map(|each| {
            let member = &each.member;
            let (before, after) = (
                line_of(&each.old, line_bytes),
                line_of(&each.new, line_bytes),
            );
            let lines = if before == after {
                format!("line {after}")
            } else {
                format!("line {before} -> {after}")
            };
            format!(
                "{} {} -> {} ({lines}), {} transfers, {} reads, {} writes by {}",
                each.short,
                each.old.offset,
                each.new.offset,
                member.transfers,
                member.reads,
                member.writes,
                counted(member.contexts.into(), "context")
            )
        })
        .collect();
    if moved_members.len() > MOVES_MAX {
        lines.push(format!(
            "{} more hot members moved",
            moved_members.len() - MOVES_MAX
        ));
    }
    if !hot.gone.is_empty() {
        let mut gone: Vec<&str> = hot.gone.iter().map(|member| member.path.as_str()).collect();
        gone.dedup();
        lines.push(format!(
            "hot members that are gone: {}",
            word_series(&gone, MOVES_MAX)
        ));
    }
    lines
}
