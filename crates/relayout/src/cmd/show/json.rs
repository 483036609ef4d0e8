//! The layouts as JSON, schema `relayout/show/1`. Offsets and sizes in bytes; `bit_offset` counts
//! from the member's `offset`.

use relayout_layout::abi::Abi;
use relayout_layout::pahole::{self, Gaps};
use relayout_layout::{Aggregate, Member, Type, TypeId, Types};
use serde_json::{Map, Value, json};

use super::Found;

/// Anonymous members nest; more than this is damaged debug information.
const DEPTH_MAX: u32 = 32;

/// The whole document.
pub(super) fn document(types: Vec<Value>) -> serde_json::Result<String> {
    let document = json!({ "schema": "relayout/show/1", "types": types });
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

/// One type.
pub(super) fn one(types: &Types, found: &Found<'_>, line_bytes: u64) -> Value {
    let id = found.id;
    let size = types.size_of(id);
    let align = Abi::new(types).align_of(id);
    let mut out = Map::new();
    out.insert("name".to_owned(), json!(found.name));
    out.insert("kind".to_owned(), json!(kind(types, id)));
    out.insert("size".to_owned(), json!(size));
    out.insert(
        "align".to_owned(),
        json!(align.unwrap_or_else(|| types.align_of(id))),
    );
    let aggregate = types.aggregate(id);
    let decl = aggregate.and_then(|aggregate| aggregate.decl.as_ref());
    out.insert("file".to_owned(), json!(decl.map(|decl| &decl.file)));
    out.insert("line".to_owned(), json!(decl.map(|decl| decl.line)));
    let gaps = pahole::gaps(types, id).unwrap_or_default();
    let members = aggregate.map(|aggregate| members(types, aggregate, 0, 0));
    out.insert("members".to_owned(), json!(members.unwrap_or_default()));
    if let Some(aggregate) = aggregate {
        nested(types, aggregate, &mut out);
    }
    let holes = aggregate.map(|aggregate| holes(aggregate, &gaps));
    out.insert("holes".to_owned(), json!(holes.unwrap_or_default()));
    out.insert("padding".to_owned(), json!(gaps.padding));
    out.insert(
        "cachelines".to_owned(),
        json!(size.map(|size| size.div_ceil(line_bytes))),
    );
    Value::Object(out)
}

/// What only languages above C have.
fn nested(types: &Types, aggregate: &Aggregate, out: &mut Map<String, Value>) {
    if let Some(scope) = &aggregate.scope {
        out.insert("scope".to_owned(), json!(scope));
    }
    if !aggregate.virtual_bases.is_empty() {
        let bases = aggregate.virtual_bases.iter().map(|id| types.name_of(*id));
        out.insert("virtual_bases".to_owned(), json!(bases.collect::<Vec<_>>()));
    }
    let Some(alternatives) = &aggregate.variants else {
        return;
    };
    let discriminant = alternatives.discriminant.as_ref();
    let discriminant = discriminant.map(|tag| member(types, tag, 0, 0));
    out.insert("discriminant".to_owned(), json!(discriminant));
    let variants = alternatives.variants.iter().map(|variant| {
        let inner = types.aggregate(variant.member.ty);
        let members = inner.map(|inner| members(types, inner, variant.member.offset, 0));
        json!({
            "name": variant.member.name,
            "discriminant": variant.discriminant.map(number),
            "offset": variant.member.offset,
            "size": types.size_of(variant.member.ty),
            "members": members.unwrap_or_default(),
        })
    });
    out.insert("variants".to_owned(), json!(variants.collect::<Vec<_>>()));
}

/// JSON readers know integers of 64 bits; a larger one is text.
fn number(value: i128) -> Value {
    match (i64::try_from(value), u64::try_from(value)) {
        (Ok(value), _) => json!(value),
        (_, Ok(value)) => json!(value),
        _ => json!(value.to_string()),
    }
}

fn kind(types: &Types, id: TypeId) -> String {
    match types.get(types.strip(id)) {
        Type::Aggregate(aggregate) => aggregate.kind.to_string(),
        Type::Enum { .. } => "enum".to_owned(),
        Type::Base { .. } => "base".to_owned(),
        Type::Pointer { .. } => "pointer".to_owned(),
        Type::Array { .. } => "array".to_owned(),
        Type::Function { .. } => "function".to_owned(),
        _ => "other".to_owned(),
    }
}

fn members(types: &Types, aggregate: &Aggregate, base: u64, depth: u32) -> Vec<Value> {
    if depth > DEPTH_MAX {
        return Vec::new();
    }
    aggregate
        .members
        .iter()
        .map(|each| member(types, each, base, depth))
        .collect()
}

fn member(types: &Types, member: &Member, base: u64, depth: u32) -> Value {
    let offset = base.saturating_add(member.offset);
    let mut out = Map::new();
    out.insert("name".to_owned(), json!(member.name));
    out.insert("type".to_owned(), json!(types.name_of(member.ty)));
    out.insert("offset".to_owned(), json!(offset));
    out.insert("size".to_owned(), json!(types.size_of(member.ty)));
    if let Some(bits) = member.bits {
        let first = bits
            .offset_bits
            .saturating_sub(member.offset.saturating_mul(8));
        out.insert("bit_offset".to_owned(), json!(first));
        out.insert("bit_size".to_owned(), json!(bits.size_bits));
    }
    if let Type::Aggregate(inner) = types.get(member.ty)
        && inner.name.is_none()
    {
        out.insert(
            "members".to_owned(),
            json!(members(types, inner, offset, depth + 1)),
        );
    }
    Value::Object(out)
}

fn holes(aggregate: &Aggregate, gaps: &Gaps) -> Vec<Value> {
    let before = std::iter::once(gaps.before).chain(gaps.after.iter().copied());
    let holes = aggregate
        .members
        .iter()
        .zip(before)
        .filter(|(_, gap)| gap.bytes > 0);
    holes
        .map(|(next, gap)| {
            let offset = next.offset.saturating_sub(gap.bytes);
            json!({ "offset": offset, "size": gap.bytes })
        })
        .collect()
}
