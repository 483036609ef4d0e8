//! Layouts of a type in each build, from the rows that are kept.

use std::collections::BTreeMap;

use relayout_diff::{PlacedMember, TypeKey, TypeLayout, TypeTag};
use relayout_layout::{AggregateKind, BitRange};

use super::cells::{QueryRow, QueryRows};
use super::selection::quote;
use crate::FleetError;
use crate::engine::QueryEngine;

/// Key of a build: release and build id.
pub type BuildKey = (String, String);

/// Layout of a type in a build.
#[derive(Clone, Debug)]
pub struct KeptLayout {
    /// Layout.
    pub layout: TypeLayout,
    /// Bytes of a cache line.
    pub line_bytes: u64,
}

/// Reads the layouts of a type, by build.
///
/// # Errors
/// A query fails.
pub async fn read_layouts(
    engine: &QueryEngine,
    type_name: &str,
) -> Result<BTreeMap<BuildKey, KeptLayout>, FleetError> {
    let query = format!(
        "SELECT DISTINCT release, build_id, line_bytes, type_bytes, position, member, offset_bytes, size_bytes, \
         bit_offset, bit_size, member_type FROM layouts WHERE type = {} ORDER BY release, build_id, position",
        quote(type_name)
    );
    let rows = QueryRows::new(engine.query(&query).await?)?;
    let mut layouts: BTreeMap<BuildKey, KeptLayout> = BTreeMap::new();
    for row in rows.iter() {
        let build = (row.text("release"), row.text("build_id"));
        let kept = layouts.entry(build).or_insert_with(|| KeptLayout {
            layout: empty_layout(type_name, bytes(&row, "type_bytes")),
            line_bytes: bytes(&row, "line_bytes").max(1),
        });
        kept.layout.members.push(placed_member(&row));
    }
    Ok(layouts)
}

fn bytes(row: &QueryRow<'_>, name: &str) -> u64 {
    u64::try_from(row.integer(name)).unwrap_or(0)
}

fn empty_layout(type_name: &str, size: u64) -> TypeLayout {
    TypeLayout {
        key: TypeKey {
            tag: TypeTag::Struct,
            scope: None,
            name: type_name.into(),
        },
        kind: AggregateKind::Struct,
        size,
        declared_align: None,
        decl: None,
        members: Vec::new(),
        gaps: Vec::new(),
        fingerprint: 0,
    }
}

fn placed_member(row: &QueryRow<'_>) -> PlacedMember {
    let bit = |name: &str| {
        row.optional_integer(name)
            .and_then(|bits| u64::try_from(bits).ok())
    };
    let bits = bit("bit_offset").zip(bit("bit_size"));
    PlacedMember {
        path: row.text("member").into(),
        offset: bytes(row, "offset_bytes"),
        size: bytes(row, "size_bytes"),
        type_unknown: false,
        bits: bits.map(|(offset_bits, size_bits)| BitRange {
            offset_bits,
            size_bits,
        }),
        type_name: row.text("member_type").into(),
        held_type: None,
    }
}
