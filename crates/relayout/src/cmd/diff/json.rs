//! `relayout/diff/1`: the comparison for scripts. Offsets, sizes and gaps in bytes, `_bits` in
//! bits; lines count from 0 at the start of the type. What is not in a file is null.

use rayon::prelude::*;
use relayout_layout::diff::{
    Cause, Deed, Detail, Diff, Field, Gap, MemberMove, Room, Shape, Status, TypeDiff,
};
use serde_json::{Map, Value, json};

use super::hot::HotDiff;
use super::text;
use super::words::Pair;
use super::{Args, Comparison};

/// The whole document.
///
/// # Errors
/// Those of the serializer, which has none to give for these values.
pub(super) fn render(comparison: &Comparison<'_>) -> serde_json::Result<String> {
    let (args, diff) = (comparison.args, comparison.diff);
    let shown = comparison.shown.par_iter();
    let types: Vec<Value> = shown.map(|index| one(comparison, *index)).collect();
    let number = |status| {
        diff.types
            .iter()
            .filter(|each| each.status == status)
            .count()
    };
    let own = diff.types.iter().filter(|each| each.own).count();
    let document = json!({
        "schema": "relayout/diff/1",
        "old": args.old.display().to_string(),
        "new": args.new.display().to_string(),
        "line_bytes": args.cacheline_size,
        "summary": {
            "added": number(Status::Added),
            "removed": number(Status::Removed),
            "changed": number(Status::Changed),
            "changed_by_themselves": own,
            "same": number(Status::Same),
        },
        "types": types,
    });
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

fn one(comparison: &Comparison<'_>, index: usize) -> Value {
    let (args, diff) = (comparison.args, comparison.diff);
    let each = &diff.types[index];
    let shape = diff.shape(each);
    let (old, new) = (
        each.old.map(|at| &diff.old[at]),
        each.new.map(|at| &diff.new[at]),
    );
    let size = |shape: Option<&Shape>| shape.map(|shape| shape.size);
    let align = |shape: Option<&Shape>| shape.and_then(|shape| shape.declared_align);
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
    put("own", json!(each.own));
    put("because_of", json!(names(diff, &diff.origins(index))));
    put("affects", json!(names(diff, &affects(diff, each, index))));
    let empty = Shape {
        fields: Vec::new(),
        gaps: Vec::new(),
        ..shape.clone()
    };
    let (old, new) = (old.unwrap_or(&empty), new.unwrap_or(&empty));
    let detail = Detail::of(old, new, args.cacheline_size);
    let pair = Pair {
        old,
        new,
        detail: &detail,
    };
    let members = detail.members.iter();
    let members: Vec<Value> = members.map(|each| member(&pair, each, args)).collect();
    put("members", json!(members));
    put("holes", json!(holes(&pair)));
    put("pairs", json!(pairs(&pair)));
    put("pairs_cut", json!(detail.pairs_cut));
    if let Some(found) = comparison.hot.get(&index) {
        put("hot", hot(&pair, found, args.cacheline_size));
    }
    Value::Object(out)
}

/// Who holds a type that changed by itself; others are the doing of what they hold.
fn affects(diff: &Diff, each: &TypeDiff, index: usize) -> Vec<usize> {
    if each.own {
        diff.affected(index)
    } else {
        Vec::new()
    }
}

fn names(diff: &Diff, types: &[usize]) -> Vec<String> {
    let name = |index: &usize| diff.shape(&diff.types[*index]).key.qualified();
    types.iter().map(name).collect()
}

fn member(pair: &Pair<'_>, member: &MemberMove, args: &Args) -> Value {
    let old = member.old.map(|at| &pair.old.fields[at]);
    let new = member.new.map(|at| &pair.new.fields[at]);
    let line = |field: Option<&Field>| field?.lines(args.cacheline_size).map(|(first, _)| first);
    let size = |field: Option<&Field>| Some(field.filter(|field| !field.unknown)?.size);
    let mut out = Map::new();
    let mut put = |name: &str, value: Value| drop(out.insert(name.to_owned(), value));
    put("name", json!(pair.field(member).path));
    put("old_offset", json!(old.map(|field| field.offset)));
    put("new_offset", json!(new.map(|field| field.offset)));
    put("old_line", json!(line(old)));
    put("new_line", json!(line(new)));
    put("old_size", json!(size(old)));
    put("new_size", json!(size(new)));
    put("old_type", json!(old.map(|field| &field.ty)));
    put("new_type", json!(new.map(|field| &field.ty)));
    for (which, field) in [("old", old), ("new", new)] {
        if let Some(bits) = field.and_then(|field| field.bits) {
            put(&format!("{which}_offset_bits"), json!(bits.offset_bits));
            put(&format!("{which}_size_bits"), json!(bits.size_bits));
        }
    }
    put("change", json!(change(old, new, member.cause)));
    let pushes = pair.detail.pushes_of(member);
    if !pushes.is_empty() {
        let pushes: Vec<Value> = pushes
            .into_iter()
            .map(|push| {
                let by: Vec<Value> = push
                    .by
                    .iter()
                    .map(|by| json!({ "name": pair.name(by.member), "deed": deed(by.deed) }))
                    .collect();
                json!({ "by": by, "moved_bits": push.bits })
            })
            .collect();
        put("pushed_by", json!(pushes));
    }
    if let Some(found) = &member.room {
        put("room", room(pair, member, found));
    }
    if let Some(twin) = member.twin {
        put("renamed", json!(pair.name(twin)));
    }
    Value::Object(out)
}

fn change(old: Option<&Field>, new: Option<&Field>, cause: Cause) -> &'static str {
    let resized = matches!((old, new), (Some(old), Some(new)) if old.is_resized(new));
    match cause {
        Cause::Added => "added",
        Cause::Removed => "removed",
        Cause::Reordered => "moved",
        Cause::Pushed(_) if resized => "pushed-resized",
        Cause::Pushed(_) => "pushed",
        Cause::Stayed if resized => "resized",
        Cause::Stayed => "same",
    }
}

fn deed(deed: Deed) -> &'static str {
    match deed {
        Deed::Came => "added",
        Deed::Left => "removed",
        Deed::MovedIn => "moved-in",
        Deed::MovedOut => "moved-out",
        Deed::Resized => "resized",
    }
}

/// Where an added member found room (in OLD), or what a removed one's has become (in NEW).
fn room(pair: &Pair<'_>, member: &MemberMove, room: &Room) -> Value {
    let shape = if member.new.is_some() {
        pair.old
    } else {
        pair.new
    };
    match room {
        Room::Gap { gap } => json!({ "kind": kind(gap), "gap": one_gap(shape, gap) }),
        Room::Part { gap, bits } => {
            json!({ "kind": kind(gap), "gap": one_gap(shape, gap), "fitting_bits": bits })
        }
        Room::Union { with } => json!({ "kind": "union", "with": pair.name(*with) }),
        Room::Place { of } => json!({ "kind": "place", "of": pair.name(*of) }),
    }
}

fn kind(gap: &Gap) -> &'static str {
    if gap.padding { "padding" } else { "hole" }
}

fn one_gap(shape: &Shape, gap: &Gap) -> Value {
    let after = gap.after.map(|after| &shape.fields[after].path);
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
fn holes(pair: &Pair<'_>) -> Vec<Value> {
    let changes = pair.detail.gaps.iter();
    changes
        .map(|change| {
            json!({
                "after": change.after.map(|member| pair.name(member)),
                "padding": change.new.or(change.old).is_some_and(|gap| gap.padding),
                "old": change.old.map(|gap| one_gap(pair.old, &gap)),
                "new": change.new.map(|gap| one_gap(pair.new, &gap)),
            })
        })
        .collect()
}

/// Pairs of members that share a line in one file only.
fn pairs(pair: &Pair<'_>) -> Vec<Value> {
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
fn hot(pair: &Pair<'_>, hot: &HotDiff<'_>, line_bytes: u64) -> Value {
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
        "transfers": hot.of.transfers,
        "share": hot.of.share,
        "members": members,
        "pairs": pairs,
        "gone": hot.gone.iter().map(|member| &member.path).collect::<Vec<_>>(),
        "sentences": text::hot::sentences(pair, hot, line_bytes),
    })
}
