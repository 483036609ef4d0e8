//! `relayout/diff/1`: the comparison for scripts. Offsets, sizes and gaps in bytes, `_bits` in
//! bits; lines count from 0 at the start of the type. What is not in a file is null.

use rayon::prelude::*;
use relayout_diff::{
    BitGap, DiffStatus, LayoutDiff, MemberMove, MemberRoom, MoveCause, PlacedMember, PusherAction,
    TypeDiff, TypeDiffDetail, TypeLayout,
};
use serde_json::{Map, Value, json};

use super::hot::HotDiff;
use super::text;
use super::words::ShapePair;
use super::{Args, ShownDiff};

/// The whole document.
///
/// # Errors
/// Those of the serializer, which has none to give for these values.
pub(super) fn render(comparison: &ShownDiff<'_>) -> serde_json::Result<String> {
    let (args, diff) = (comparison.args, comparison.diff);
    let shown = comparison.shown.par_iter();
    let types: Vec<Value> = shown.map(|index| type_json(comparison, *index)).collect();
    let number = |status| {
        diff.types
            .iter()
            .filter(|each| each.status == status)
            .count()
    };
    let own = diff.types.iter().filter(|each| each.by_itself).count();
    let document = json!({
        "schema": "relayout/diff/1",
        "old": args.old.display().to_string(),
        "new": args.new.display().to_string(),
        "line_bytes": args.cacheline_size,
        "summary": {
            "added": number(DiffStatus::Added),
            "removed": number(DiffStatus::Removed),
            "changed": number(DiffStatus::Changed),
            "changed_by_themselves": own,
            "same": number(DiffStatus::Same),
        },
        "types": types,
    });
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

fn type_json(comparison: &ShownDiff<'_>, index: usize) -> Value {
    let (args, diff) = (comparison.args, comparison.diff);
    let each = &diff.types[index];
    let shape = diff.layout(each);
    let (old, new) = (
        each.old.map(|at| &diff.old[at]),
        each.new.map(|at| &diff.new[at]),
    );
    let size = |shape: Option<&TypeLayout>| shape.map(|shape| shape.size);
    let align = |shape: Option<&TypeLayout>| shape.and_then(|shape| shape.declared_align);
    let mut out = Map::new();
    let mut put = |name: &str, value: Value| drop(out.insert(name.to_owned(), value));
    put("name", json!(shape.key.qualified()));
    put("kind", json!(shape.kind.to_string()));
    put("status", json!(each.status.as_str()));
    put("file", json!(shape.decl.as_ref().map(|decl| &decl.file)));
    put("line", json!(shape.decl.as_ref().map(|decl| decl.line)));
    put("old_size", json!(size(old)));
    put("new_size", json!(size(new)));
    put("old_declared_align", json!(align(old)));
    put("new_declared_align", json!(align(new)));
    put("matched_by_order", json!(each.by_order));
    put("own", json!(each.by_itself));
    put("because_of", json!(type_names(diff, &diff.origins(index))));
    put(
        "affects",
        json!(type_names(diff, &affected_types(diff, each, index))),
    );
    let empty = TypeLayout {
        members: Vec::new(),
        gaps: Vec::new(),
        ..shape.clone()
    };
    let (old, new) = (old.unwrap_or(&empty), new.unwrap_or(&empty));
    let detail = TypeDiffDetail::compare(old, new, args.cacheline_size);
    let pair = ShapePair {
        old,
        new,
        detail: &detail,
    };
    let members = detail.members.iter();
    let members: Vec<Value> = members.map(|each| member_json(&pair, each, args)).collect();
    put("members", json!(members));
    put("holes", json!(holes_json(&pair)));
    put("pairs", json!(pairs_json(&pair)));
    put("pairs_cut", json!(detail.pairs_cut));
    if let Some(found) = comparison.hot.get(&index) {
        put("hot", hot_json(&pair, found, args.cacheline_size));
    }
    Value::Object(out)
}

/// Who holds a type that changed by itself; others are the doing of what they hold.
fn affected_types(diff: &LayoutDiff, type_diff: &TypeDiff, index: usize) -> Vec<usize> {
    if type_diff.by_itself {
        diff.affected_holders(index)
    } else {
        Vec::new()
    }
}

fn type_names(diff: &LayoutDiff, types: &[usize]) -> Vec<String> {
    let name = |index: &usize| diff.layout(&diff.types[*index]).key.qualified();
    types.iter().map(name).collect()
}

fn member_json(pair: &ShapePair<'_>, member: &MemberMove, args: &Args) -> Value {
    let old = member.old.map(|at| &pair.old.members[at]);
    let new = member.new.map(|at| &pair.new.members[at]);
    let line = |field: Option<&PlacedMember>| {
        field?
            .line_range(args.cacheline_size)
            .map(|(first, _)| first)
    };
    let size = |field: Option<&PlacedMember>| Some(field.filter(|field| !field.type_unknown)?.size);
    let mut out = Map::new();
    let mut put = |name: &str, value: Value| drop(out.insert(name.to_owned(), value));
    put("name", json!(pair.field(member).path));
    put("old_offset", json!(old.map(|field| field.offset)));
    put("new_offset", json!(new.map(|field| field.offset)));
    put("old_line", json!(line(old)));
    put("new_line", json!(line(new)));
    put("old_size", json!(size(old)));
    put("new_size", json!(size(new)));
    put("old_type", json!(old.map(|field| &field.type_name)));
    put("new_type", json!(new.map(|field| &field.type_name)));
    for (which, field) in [("old", old), ("new", new)] {
        if let Some(bits) = field.and_then(|field| field.bits) {
            put(&format!("{which}_offset_bits"), json!(bits.offset_bits));
            put(&format!("{which}_size_bits"), json!(bits.size_bits));
        }
    }
    put("change", json!(change_text(old, new, member.cause)));
    let pushes = pair.detail.pushes_of(member);
    if !pushes.is_empty() {
        let pushes: Vec<Value> = pushes
            .into_iter()
            .map(|push| {
                let by: Vec<Value> = push
                    .pushers
                    .iter()
                    .map(|by| json!({ "name": pair.name(by.member), "deed": deed_text(by.action) }))
                    .collect();
                json!({ "by": by, "moved_bits": push.moved_bits })
            })
            .collect();
        put("pushed_by", json!(pushes));
    }
    if let Some(found) = &member.room {
        put("room", room_json(pair, member, found));
    }
    if let Some(twin) = member.twin {
        put("renamed", json!(pair.name(twin)));
    }
    Value::Object(out)
}

fn change_text(
    old: Option<&PlacedMember>,
    new: Option<&PlacedMember>,
    cause: MoveCause,
) -> &'static str {
    let resized = matches!((old, new), (Some(old), Some(new)) if old.is_resized(new));
    match cause {
        MoveCause::Added => "added",
        MoveCause::Removed => "removed",
        MoveCause::Reordered => "moved",
        MoveCause::Pushed(_) if resized => "pushed-resized",
        MoveCause::Pushed(_) => "pushed",
        MoveCause::Stayed if resized => "resized",
        MoveCause::Stayed => "same",
    }
}

fn deed_text(deed: PusherAction) -> &'static str {
    match deed {
        PusherAction::Came => "added",
        PusherAction::Left => "removed",
        PusherAction::MovedIn => "moved-in",
        PusherAction::MovedOut => "moved-out",
        PusherAction::Resized => "resized",
    }
}

/// Where an added member found room (in OLD), or what a removed one's has become (in NEW).
fn room_json(pair: &ShapePair<'_>, member: &MemberMove, room: &MemberRoom) -> Value {
    let shape = if member.new.is_some() {
        pair.old
    } else {
        pair.new
    };
    match room {
        MemberRoom::Gap { gap } => json!({ "kind": gap_kind(gap), "gap": gap_json(shape, gap) }),
        MemberRoom::GapPart { gap, bits } => {
            json!({ "kind": gap_kind(gap), "gap": gap_json(shape, gap), "fitting_bits": bits })
        }
        MemberRoom::Union { member: with } => json!({ "kind": "union", "with": pair.name(*with) }),
        MemberRoom::MemberPlace { member: of } => json!({ "kind": "place", "of": pair.name(*of) }),
    }
}

fn gap_kind(gap: &BitGap) -> &'static str {
    if gap.padding { "padding" } else { "hole" }
}

fn gap_json(shape: &TypeLayout, gap: &BitGap) -> Value {
    let after = gap.after.map(|after| &shape.members[after].path);
    let mut value = json!({
        "after": after,
        "offset": gap.start_bits / 8,
        "size": gap.size_bits / 8,
    });
    if !gap.start_bits.is_multiple_of(8) || !gap.size_bits.is_multiple_of(8) {
        value["offset_bits"] = json!(gap.start_bits);
        value["size_bits"] = json!(gap.size_bits);
    }
    value
}

/// Holes and padding that differ.
fn holes_json(pair: &ShapePair<'_>) -> Vec<Value> {
    let changes = pair.detail.gaps.iter();
    changes
        .map(|change| {
            json!({
                "after": change.after.map(|member| pair.name(member)),
                "padding": change.new.or(change.old).is_some_and(|gap| gap.padding),
                "old": change.old.map(|gap| gap_json(pair.old, &gap)),
                "new": change.new.map(|gap| gap_json(pair.new, &gap)),
            })
        })
        .collect()
}

/// Pairs of members that share a line in one file only.
fn pairs_json(pair: &ShapePair<'_>) -> Vec<Value> {
    let changes = pair.detail.pairs.iter();
    changes
        .map(|change| {
            json!({
                "members": [pair.name(change.first), pair.name(change.second)],
                "change": if change.together { "together" } else { "apart" },
                "line": change.line,
            })
        })
        .collect()
}

/// What the profile says: the type's transfers, its hot members in both files, pairs of them that
/// came together or went apart with the hottest first, and the same as sentences.
fn hot_json(pair: &ShapePair<'_>, hot: &HotDiff<'_>, line_bytes: u64) -> Value {
    let members: Vec<Value> = (hot.moves.iter())
        .map(|each| {
            json!({
                "name": each.member.path,
                "old_offset": each.old.offset,
                "new_offset": each.new.offset,
                "old_line": each.old.offset / line_bytes,
                "new_line": each.new.offset / line_bytes,
                "size": each.new.size,
                "reads": each.member.reads,
                "writes": each.member.writes,
                "contexts": each.member.contexts,
                "transfers": each.member.transfers,
            })
        })
        .collect();
    let name = |index: usize| &hot.moves[index].member.path;
    let pairs: Vec<Value> = (hot.pairs.iter())
        .map(|changed| {
            json!({
                "members": [name(changed.first), name(changed.second)],
                "change": if changed.together { "together" } else { "apart" },
                "line": changed.line,
                "heat": changed.heat,
            })
        })
        .collect();
    json!({
        "transfers": hot.hot_type.transfers,
        "share": hot.hot_type.share,
        "members": members,
        "pairs": pairs,
        "gone": hot.gone.iter().map(|member| &member.path).collect::<Vec<_>>(),
        "sentences": text::hot::sentences(pair, hot, line_bytes),
    })
}
