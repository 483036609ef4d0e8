//! `relayout/diff/1`: the comparison for scripts.
//!
//! Offsets, sizes and gaps are in bytes, `_bits` in bits. Lines count from 0 at the start of the
//! type. Values of a build that lacks the type or member are null.

pub mod contents;

use rayon::prelude::*;
use relayout_diff::{
    BitGap, DiffStatus, LayoutDiff, MemberMove, MemberRoom, MoveCause, PlacedMember, PusherAction,
    TypeDiff, TypeDiffDetail, TypeLayout,
};
use relayout_session::diff::HotDiff;
use schemars::JsonSchema;
use serde::Serialize;

use crate::Document;
use crate::documents::diff::contents::DiffContents;
use crate::words::layout_changes::hot::sentences;
use crate::words::layout_changes::shape_pair::ShapePair;

/// The document of `diff --json`.
#[derive(Serialize, JsonSchema)]
pub struct DiffDocument {
    /// Name and version of this document.
    schema: &'static str,
    /// File OLD.
    old: String,
    /// File NEW.
    new: String,
    /// Size of a cache line in bytes.
    line_bytes: u64,
    /// Number of types by status.
    summary: DiffSummaryDocument,
    /// Types that differ, or that were asked for.
    types: Vec<TypeDiffDocument>,
}

impl Document for DiffDocument {
    const SCHEMA: &'static str = "relayout/diff/1";
}

/// Numbers of types by status.
#[derive(Serialize, JsonSchema)]
struct DiffSummaryDocument {
    /// Types in NEW only.
    added: usize,
    /// Types in OLD only.
    removed: usize,
    /// Types that differ.
    changed: usize,
    /// Changed types that changed not only because of a type that they hold.
    changed_by_themselves: usize,
    /// Types that do not differ.
    same: usize,
    /// Copies of C types in Rust code that were not compared.
    bindings_left_out: usize,
}

#[derive(Serialize, JsonSchema)]
struct TypeDiffDocument {
    /// Name of the type, with its scope.
    name: String,
    /// `struct`, `union` or `class`.
    kind: String,
    /// `added`, `removed`, `changed` or `same`.
    status: &'static str,
    /// File of the declaration in NEW; null if unknown.
    file: Option<String>,
    /// 1-based line of the declaration; null if unknown.
    line: Option<u32>,
    /// Size in bytes in OLD; null where it is not there.
    old_size: Option<u64>,
    /// Size in bytes in NEW; null where it is not there.
    new_size: Option<u64>,
    /// Declared alignment in bytes in OLD; null without one.
    old_declared_align: Option<u64>,
    /// Declared alignment in bytes in NEW; null without one.
    new_declared_align: Option<u64>,
    /// Several types have the name; these two are compared since they come in the same order.
    matched_by_order: bool,
    /// The type changed not only because of a type that it holds.
    own: bool,
    /// Types that it holds and that changed.
    because_of: Vec<String>,
    /// Types that hold it and changed with it.
    affects: Vec<String>,
    /// Members that changed.
    members: Vec<MemberMoveDocument>,
    /// Holes and padding that differ.
    holes: Vec<GapChangeDocument>,
    /// Pairs of members that share a line in one build only.
    pairs: Vec<PairChangeDocument>,
    /// Some pairs are left out.
    pairs_cut: bool,
    /// Traffic in the profile; null without a profile, or if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    hot: Option<HotDiffDocument>,
}

#[derive(Serialize, JsonSchema)]
struct MemberMoveDocument {
    /// Path of the member.
    name: String,
    /// Offset in bytes in OLD; null where it is not there.
    old_offset: Option<u64>,
    /// Offset in bytes in NEW; null where it is not there.
    new_offset: Option<u64>,
    /// Cache line in OLD, from 0 at the start of the type.
    old_line: Option<u64>,
    /// Cache line in NEW, from 0 at the start of the type.
    new_line: Option<u64>,
    /// Size in bytes in OLD; null where it is not there.
    old_size: Option<u64>,
    /// Size in bytes in NEW; null where it is not there.
    new_size: Option<u64>,
    /// Type in OLD; null where it is not there.
    old_type: Option<String>,
    /// Type in NEW; null where it is not there.
    new_type: Option<String>,
    /// Offset in bits in OLD, of bitfields.
    #[serde(skip_serializing_if = "Option::is_none")]
    old_offset_bits: Option<u64>,
    /// Size in bits in OLD, of bitfields.
    #[serde(skip_serializing_if = "Option::is_none")]
    old_size_bits: Option<u64>,
    /// Offset in bits in NEW, of bitfields.
    #[serde(skip_serializing_if = "Option::is_none")]
    new_offset_bits: Option<u64>,
    /// Size in bits in NEW, of bitfields.
    #[serde(skip_serializing_if = "Option::is_none")]
    new_size_bits: Option<u64>,
    /// `added`, `removed`, `moved`, `pushed`, `resized`, and the like.
    change: &'static str,
    /// Changes that pushed it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pushed_by: Vec<PushDocument>,
    /// Room that an added member took; null for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    room: Option<RoomDocument>,
    /// Name of the removed member that it may have been; null without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    renamed: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct PushDocument {
    /// Members that changed before it.
    by: Vec<PusherDocument>,
    /// Distance in bits; negative towards the start.
    moved_bits: i64,
}

#[derive(Serialize, JsonSchema)]
struct PusherDocument {
    /// Path of the member.
    name: String,
    /// What happened to it.
    deed: &'static str,
}

/// Room that an added member takes in OLD, or that a removed one leaves in NEW.
#[derive(Default, Serialize, JsonSchema)]
struct RoomDocument {
    /// `hole`, `padding`, `bits`, `union`, `end`, and the like.
    kind: &'static str,
    /// Room that was there in OLD; null where there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    gap: Option<GapDocument>,
    /// Bits of it that fit the member; null if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    fitting_bits: Option<u64>,
    /// Member that shares the bytes, of kind `union`.
    #[serde(skip_serializing_if = "Option::is_none")]
    with: Option<String>,
    /// Member in whose place it is, of kind `place`.
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct GapDocument {
    /// Member before the gap.
    after: Option<String>,
    /// Offset in bytes from the start of the type.
    offset: u64,
    /// Size in bytes.
    size: u64,
    /// Offset in bits from the start of the type, of bitfields.
    #[serde(skip_serializing_if = "Option::is_none")]
    offset_bits: Option<u64>,
    /// Size in bits, of bitfields.
    #[serde(skip_serializing_if = "Option::is_none")]
    size_bits: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
struct GapChangeDocument {
    /// Member before it; null at the start.
    after: Option<String>,
    /// True for padding at the end.
    padding: bool,
    /// The gap in OLD; null where there was none.
    old: Option<GapDocument>,
    /// The gap in NEW; null where there is none.
    new: Option<GapDocument>,
}

#[derive(Serialize, JsonSchema)]
struct PairChangeDocument {
    /// Paths of the two members.
    members: [String; 2],
    /// `together` or `apart`.
    change: &'static str,
    /// Cache line that they share, or shared, from 0.
    line: u64,
}

/// Traffic of the type in the profile.
#[derive(Serialize, JsonSchema)]
struct HotDiffDocument {
    /// Transfers: moves of a cache line to a CPU that another CPU had it.
    transfers: u64,
    /// Fraction of all transfers of the profile, from 0 to 1.
    share: f64,
    /// Hot members, most transfers first.
    members: Vec<HotMoveDocument>,
    /// Pairs of hot members that came together on a line, or went apart.
    pairs: Vec<HotPairDocument>,
    /// Members that only the old build has.
    gone: Vec<String>,
    /// The same for people.
    sentences: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct HotMoveDocument {
    /// Path of the member.
    name: String,
    /// Offset in bytes in OLD.
    old_offset: u64,
    /// Offset in bytes in NEW.
    new_offset: u64,
    /// Cache line in OLD, from 0 at the start of the type.
    old_line: u64,
    /// Cache line in NEW, from 0 at the start of the type.
    new_line: u64,
    /// Size in bytes.
    size: u64,
    /// Number of loads, read-writes included.
    reads: u64,
    /// Number of stores, read-writes included.
    writes: u64,
    /// Number of CPUs or threads that accessed it.
    contexts: u32,
    /// Transfers: moves of a cache line to a CPU that another CPU had it.
    transfers: u64,
}

#[derive(Serialize, JsonSchema)]
struct HotPairDocument {
    /// Paths of the two members.
    members: [String; 2],
    /// `together` or `apart`.
    change: &'static str,
    /// Cache line that they share, or shared, from 0.
    line: u64,
    /// Accesses to the member that has fewer; 0 if neither is stored to.
    heat: u64,
}

/// Makes the document of a comparison.
pub fn diff_document(contents: &DiffContents<'_>) -> DiffDocument {
    let diff = contents.diff();
    let count = |status| {
        let types = diff.types.iter();
        types.filter(|type_diff| type_diff.status == status).count()
    };
    let by_themselves = diff.types.iter().filter(|type_diff| type_diff.by_itself);
    let shown = contents.comparison.shown.par_iter();
    DiffDocument {
        schema: DiffDocument::SCHEMA,
        old: contents.old.display().to_string(),
        new: contents.new.display().to_string(),
        line_bytes: contents.line_bytes,
        summary: DiffSummaryDocument {
            added: count(DiffStatus::Added),
            removed: count(DiffStatus::Removed),
            changed: count(DiffStatus::Changed),
            changed_by_themselves: by_themselves.count(),
            same: count(DiffStatus::Same),
            bindings_left_out: contents.comparison.bindings_left_out,
        },
        types: shown.map(|index| type_document(contents, *index)).collect(),
    }
}

fn type_document(contents: &DiffContents<'_>, index: usize) -> TypeDiffDocument {
    let (diff, line_bytes) = (contents.diff(), contents.line_bytes);
    let type_diff = &diff.types[index];
    let layout = diff.layout(type_diff);
    let old = type_diff.old.map(|index| &diff.old[index]);
    let new = type_diff.new.map(|index| &diff.new[index]);
    let size = |layout: Option<&TypeLayout>| layout.map(|layout| layout.size);
    let align = |layout: Option<&TypeLayout>| layout.and_then(|layout| layout.declared_align);
    let empty = TypeLayout {
        members: Vec::new(),
        gaps: Vec::new(),
        ..layout.clone()
    };
    let detail = TypeDiffDetail::compare(old.unwrap_or(&empty), new.unwrap_or(&empty), line_bytes);
    let pair = ShapePair {
        old: old.unwrap_or(&empty),
        new: new.unwrap_or(&empty),
        detail: &detail,
    };
    let hot = contents.comparison.hot.get(&index);
    let members = detail.members.iter();
    TypeDiffDocument {
        name: layout.key.qualified(),
        kind: layout.kind.to_string(),
        status: type_diff.status.as_str(),
        file: layout.decl.as_ref().map(|decl| decl.file.clone()),
        line: layout.decl.as_ref().map(|decl| decl.line),
        old_size: size(old),
        new_size: size(new),
        old_declared_align: align(old),
        new_declared_align: align(new),
        matched_by_order: type_diff.by_order,
        own: type_diff.by_itself,
        because_of: type_names(diff, &diff.origins(index)),
        affects: type_names(diff, &affected_types(diff, type_diff, index)),
        members: members
            .map(|member| member_document(&pair, member, line_bytes))
            .collect(),
        holes: hole_documents(&pair),
        pairs: pair_documents(&pair),
        pairs_cut: detail.pairs_cut,
        hot: hot.map(|hot| hot_document(&pair, hot, line_bytes)),
    }
}

/// Returns the holders of a type that changed by itself.
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

fn member_document(
    pair: &ShapePair<'_>,
    member: &MemberMove,
    line_bytes: u64,
) -> MemberMoveDocument {
    let old = member.old.map(|index| &pair.old.members[index]);
    let new = member.new.map(|index| &pair.new.members[index]);
    let line = |placed: Option<&PlacedMember>| Some(placed?.line_range(line_bytes)?.0);
    let size =
        |placed: Option<&PlacedMember>| Some(placed.filter(|placed| !placed.type_unknown)?.size);
    let type_name = |placed: Option<&PlacedMember>| Some(placed?.type_name.to_string());
    let bits = |placed: Option<&PlacedMember>| placed?.bits;
    let pushes = pair.detail.pushes_of(member).into_iter();
    MemberMoveDocument {
        name: pair.field(member).path.to_string(),
        old_offset: old.map(|placed| placed.offset),
        new_offset: new.map(|placed| placed.offset),
        old_line: line(old),
        new_line: line(new),
        old_size: size(old),
        new_size: size(new),
        old_type: type_name(old),
        new_type: type_name(new),
        old_offset_bits: bits(old).map(|bits| bits.offset_bits),
        old_size_bits: bits(old).map(|bits| bits.size_bits),
        new_offset_bits: bits(new).map(|bits| bits.offset_bits),
        new_size_bits: bits(new).map(|bits| bits.size_bits),
        change: change_word(old, new, member.cause),
        pushed_by: pushes
            .map(|push| PushDocument {
                by: { push.pushers.iter() }
                    .map(|pusher| PusherDocument {
                        name: pair.name(pusher.member).to_owned(),
                        deed: deed_word(pusher.action),
                    })
                    .collect(),
                moved_bits: push.moved_bits,
            })
            .collect(),
        room: { member.room.as_ref() }.map(|room| room_document(pair, member, room)),
        renamed: member.twin.map(|twin| pair.name(twin).to_owned()),
    }
}

fn change_word(
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

fn deed_word(action: PusherAction) -> &'static str {
    match action {
        PusherAction::Came => "added",
        PusherAction::Left => "removed",
        PusherAction::MovedIn => "moved-in",
        PusherAction::MovedOut => "moved-out",
        PusherAction::Resized => "resized",
    }
}

fn room_document(pair: &ShapePair<'_>, member: &MemberMove, room: &MemberRoom) -> RoomDocument {
    let layout = match member.new {
        Some(_) => pair.old,
        None => pair.new,
    };
    match room {
        MemberRoom::Gap { gap } => RoomDocument {
            kind: gap_word(gap),
            gap: Some(gap_document(layout, gap)),
            ..RoomDocument::default()
        },
        MemberRoom::GapPart { gap, bits } => RoomDocument {
            kind: gap_word(gap),
            gap: Some(gap_document(layout, gap)),
            fitting_bits: Some(*bits),
            ..RoomDocument::default()
        },
        MemberRoom::Union { member } => RoomDocument {
            kind: "union",
            with: Some(pair.name(*member).to_owned()),
            ..RoomDocument::default()
        },
        MemberRoom::MemberPlace { member } => RoomDocument {
            kind: "place",
            of: Some(pair.name(*member).to_owned()),
            ..RoomDocument::default()
        },
    }
}

fn gap_word(gap: &BitGap) -> &'static str {
    if gap.padding { "padding" } else { "hole" }
}

fn gap_document(layout: &TypeLayout, gap: &BitGap) -> GapDocument {
    let is_bytes = gap.start_bits.is_multiple_of(8) && gap.size_bits.is_multiple_of(8);
    GapDocument {
        after: gap
            .after
            .map(|index| layout.members[index].path.to_string()),
        offset: gap.start_bits / 8,
        size: gap.size_bits / 8,
        offset_bits: (!is_bytes).then_some(gap.start_bits),
        size_bits: (!is_bytes).then_some(gap.size_bits),
    }
}

fn hole_documents(pair: &ShapePair<'_>) -> Vec<GapChangeDocument> {
    let changes = pair.detail.gaps.iter();
    changes
        .map(|change| GapChangeDocument {
            after: change.after.map(|member| pair.name(member).to_owned()),
            padding: change.new.or(change.old).is_some_and(|gap| gap.padding),
            old: change.old.map(|gap| gap_document(pair.old, &gap)),
            new: change.new.map(|gap| gap_document(pair.new, &gap)),
        })
        .collect()
}

fn pair_documents(pair: &ShapePair<'_>) -> Vec<PairChangeDocument> {
    let changes = pair.detail.pairs.iter();
    changes
        .map(|change| PairChangeDocument {
            members: [change.first, change.second].map(|member| pair.name(member).to_owned()),
            change: pair_word(change.together),
            line: change.line,
        })
        .collect()
}

fn pair_word(together: bool) -> &'static str {
    if together { "together" } else { "apart" }
}

fn hot_document(pair: &ShapePair<'_>, hot: &HotDiff, line_bytes: u64) -> HotDiffDocument {
    let moves = hot.moves.iter();
    let pairs = hot.pairs.iter();
    HotDiffDocument {
        transfers: hot.transfers,
        share: hot.share,
        members: moves
            .map(|hot_move| HotMoveDocument {
                name: hot_move.member.path.clone(),
                old_offset: hot_move.old.offset,
                new_offset: hot_move.new.offset,
                old_line: hot_move.old.offset / line_bytes,
                new_line: hot_move.new.offset / line_bytes,
                size: hot_move.new.size,
                reads: hot_move.member.reads,
                writes: hot_move.member.writes,
                contexts: hot_move.member.contexts,
                transfers: hot_move.member.transfers,
            })
            .collect(),
        pairs: pairs
            .map(|pair| HotPairDocument {
                members: [pair.first, pair.second]
                    .map(|index| hot.moves[index].member.path.clone()),
                change: pair_word(pair.together),
                line: pair.line,
                heat: pair.heat,
            })
            .collect(),
        gone: hot.gone.iter().map(|member| member.path.clone()).collect(),
        sentences: sentences(pair, hot, line_bytes),
    }
}
