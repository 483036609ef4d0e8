//! `relayout/show/1`: layouts of types. Offsets and sizes are in bytes; `bit_offset` counts from
//! the member's `offset`.

use relayout_layout::abi::AbiEngine;
use relayout_layout::{Aggregate, AggregateGaps, Member, Type, TypeArena, TypeId};
use relayout_session::show::ShownType;
use schemars::JsonSchema;
use serde::Serialize;

use crate::Document;
use crate::words::escape::json_text;

/// Anonymous members nest; more than this is damaged debug information.
const DEPTH_MAX: u32 = 32;

/// Members of one type, those of anonymous members included; more are left out, for the same
/// reason.
const MEMBERS_MAX: usize = 1 << 20;

/// The document of `show --json`. Types are written one by one, each as [`type_json`] renders it.
#[derive(Serialize, JsonSchema)]
pub struct ShowDocument<'t> {
    /// Name and version of this document.
    schema: &'static str,
    /// Types.
    types: Vec<TypeDocument<'t>>,
}

impl Document for ShowDocument<'_> {
    const SCHEMA: &'static str = "relayout/show/1";
}

/// Layout of a type.
#[derive(Serialize, JsonSchema)]
pub struct TypeDocument<'t> {
    /// Name without `struct`.
    name: &'t str,
    /// Namespaces and classes around it, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<&'t str>,
    /// `struct`, `union`, `class`, `enum`, `typedef` or `base`.
    kind: &'static str,
    /// Size in bytes; null for a declaration.
    size: Option<u64>,
    /// Alignment in bytes.
    align: u64,
    /// Source file; null if unknown.
    file: Option<&'t str>,
    /// 1-based line in `file`; null if unknown.
    line: Option<u32>,
    /// Members in the order of their offsets.
    members: Vec<MemberDocument<'t>>,
    /// Virtual base classes, whose offsets are not fixed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    virtual_bases: Vec<String>,
    /// Variants of a Rust enum; null for others.
    #[serde(flatten)]
    alternatives: Option<VariantPartDocument<'t>>,
    /// Bytes between members that belong to none.
    holes: Vec<HoleDocument>,
    /// Unused bytes at the end.
    padding: u64,
    /// Number of cache lines; null for a declaration.
    cachelines: Option<u64>,
}

/// Of a Rust enum.
#[derive(Serialize, JsonSchema)]
struct VariantPartDocument<'t> {
    /// The member that tells them apart, where one does.
    discriminant: Option<MemberDocument<'t>>,
    /// Variants.
    variants: Vec<VariantDocument<'t>>,
}

#[derive(Serialize, JsonSchema)]
struct VariantDocument<'t> {
    /// Name; null without one.
    name: Option<&'t str>,
    /// Value that tells the variant; null if there is none.
    discriminant: Option<DiscriminantDocument>,
    /// Offset in bytes from the start of the outermost type.
    offset: u64,
    /// Size in bytes.
    size: Option<u64>,
    /// Members in the order of their offsets.
    members: Vec<MemberDocument<'t>>,
}

#[derive(Serialize, JsonSchema)]
struct MemberDocument<'t> {
    /// Name; null for an anonymous member.
    name: Option<&'t str>,
    /// Type in words.
    #[serde(rename = "type")]
    ty: String,
    /// From the start of the outermost type.
    offset: u64,
    /// Size in bytes; null for an incomplete type.
    size: Option<u64>,
    /// Offset in bits from the start of the outermost type, of bitfields.
    #[serde(skip_serializing_if = "Option::is_none")]
    bit_offset: Option<u64>,
    /// Size in bits, of bitfields.
    #[serde(skip_serializing_if = "Option::is_none")]
    bit_size: Option<u64>,
    /// Of an anonymous struct or union, or of a struct without a tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    members: Option<Vec<MemberDocument<'t>>>,
}

#[derive(Serialize, JsonSchema)]
struct HoleDocument {
    /// Offset in bytes from the start of the type.
    offset: u64,
    /// Size in bytes.
    size: u64,
}

/// One type, in one line.
pub fn type_json(
    abi: &AbiEngine<'_>,
    types: &TypeArena,
    found: &ShownType<'_>,
    line_bytes: u64,
) -> String {
    let id = found.id;
    let size = types.size_of(id);
    let align = abi.align_of(id);
    let aggregate = types.aggregate(id);
    let decl = aggregate.and_then(|aggregate| aggregate.decl.as_ref());
    let gaps = types.gaps(id).unwrap_or_default();
    let mut left = MEMBERS_MAX;
    let members = aggregate.map(|aggregate| members(types, aggregate, 0, 0, &mut left));
    let virtual_bases = aggregate.map_or(&[][..], |aggregate| &aggregate.virtual_bases);
    let virtual_bases = virtual_bases.iter().map(|id| types.name_of(*id)).collect();
    let row = TypeDocument {
        name: found.name,
        scope: aggregate.and_then(|aggregate| aggregate.scope.as_deref()),
        kind: type_kind(types, id),
        size,
        align: align.unwrap_or_else(|| types.align_of(id)),
        file: decl.map(|decl| decl.file.as_str()),
        line: decl.map(|decl| decl.line),
        members: members.unwrap_or_default(),
        virtual_bases,
        alternatives: aggregate.and_then(|found| alternatives(types, found, &mut left)),
        holes: aggregate.map_or_else(Vec::new, |aggregate| holes(aggregate, &gaps)),
        padding: gaps.padding,
        cachelines: size.map(|size| size.div_ceil(line_bytes)),
    };
    json_text(&row, false).expect("the keys are strings, and no value fails to serialize")
}

fn alternatives<'t>(
    types: &'t TypeArena,
    aggregate: &'t Aggregate,
    left: &mut usize,
) -> Option<VariantPartDocument<'t>> {
    let found = aggregate.variants.as_ref()?;
    let tag = found.discriminant.as_ref();
    let discriminant = tag.map(|tag| member(types, tag, 0, 0, left));
    let variants = found.variants.iter().map(|variant| {
        let offset = variant.member.offset;
        let inner = types.aggregate(variant.member.ty);
        VariantDocument {
            name: variant.member.name.as_deref(),
            discriminant: variant.discriminant.map(discriminant_document),
            offset,
            size: types.size_of(variant.member.ty),
            members: inner.map_or_else(Vec::new, |inner| members(types, inner, offset, 0, left)),
        }
    });
    Some(VariantPartDocument {
        discriminant,
        variants: variants.collect(),
    })
}

/// Value of a variant's discriminant: an integer, or text where JSON has no integer of the size.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum DiscriminantDocument {
    /// A number that may be negative.
    Signed(i64),
    /// A number.
    Unsigned(u64),
    /// A number of more than 64 bits, in decimal.
    Text(String),
}

fn discriminant_document(value: i128) -> DiscriminantDocument {
    match (i64::try_from(value), u64::try_from(value)) {
        (Ok(value), _) => DiscriminantDocument::Signed(value),
        (_, Ok(value)) => DiscriminantDocument::Unsigned(value),
        _ => DiscriminantDocument::Text(value.to_string()),
    }
}

fn type_kind(types: &TypeArena, id: TypeId) -> &'static str {
    match types.get(types.strip_typedefs(id)) {
        Type::Aggregate(aggregate) => aggregate.kind.keyword(),
        Type::Enum { .. } => "enum",
        Type::Base { .. } => "base",
        Type::Pointer { .. } => "pointer",
        Type::Array { .. } => "array",
        Type::Function { .. } => "function",
        _ => "other",
    }
}

fn members<'t>(
    types: &'t TypeArena,
    aggregate: &'t Aggregate,
    base: u64,
    depth: u32,
    left: &mut usize,
) -> Vec<MemberDocument<'t>> {
    let count = match depth > DEPTH_MAX {
        true => 0,
        false => aggregate.members.len().min(*left),
    };
    *left -= count;
    let members = aggregate.members.iter().take(count);
    members
        .map(|each| member(types, each, base, depth, left))
        .collect()
}

fn member<'t>(
    types: &'t TypeArena,
    member: &'t Member,
    base: u64,
    depth: u32,
    left: &mut usize,
) -> MemberDocument<'t> {
    let offset = base.saturating_add(member.offset);
    let first = |first: u64| first.saturating_sub(member.offset.saturating_mul(8));
    let untagged = match types.get(member.ty) {
        Type::Aggregate(inner) if inner.name.is_none() => Some(inner),
        _ => None,
    };
    let inner = match member.is_anonymous() {
        true => types.aggregate(member.ty),
        false => untagged,
    };
    let inside = inner.map(|inner| members(types, inner, offset, depth + 1, left));
    MemberDocument {
        name: member.name.as_deref(),
        ty: types.name_of(member.ty),
        offset,
        size: types.size_of(member.ty),
        bit_offset: member.bits.map(|bits| first(bits.offset_bits)),
        bit_size: member.bits.map(|bits| bits.size_bits),
        members: inside,
    }
}

fn holes(aggregate: &Aggregate, gaps: &AggregateGaps) -> Vec<HoleDocument> {
    let before = std::iter::once(gaps.before).chain(gaps.after.iter().copied());
    let holes = aggregate.members.iter().zip(before);
    holes
        .filter(|(_, gap)| gap.bytes > 0)
        .map(|(next, gap)| HoleDocument {
            offset: next.offset.saturating_sub(gap.bytes),
            size: gap.bytes,
        })
        .collect()
}
