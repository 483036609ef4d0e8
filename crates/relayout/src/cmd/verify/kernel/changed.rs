//! Types that the patch lays out differently, as the two kernels' debug information has them.

use std::path::Path;

use anyhow::{Context as _, bail};
use relayout_layout::catalog::{Catalog, Format};
use relayout_layout::close;
use relayout_layout::diff::{self, Detail, Diff, Side, Status};
use relayout_search::order::Entry;

use super::plain;
use crate::catalog;

/// Bytes of a line, for what shares one.
const LINE_BYTES: u64 = 64;

/// A type that is asked about.
#[derive(Clone, Debug, Default)]
pub(super) struct Changed {
    pub name: String,
    /// Bytes before and after.
    pub size: [u64; 2],
    /// Members that are elsewhere after: path and offsets before and after.
    pub moved: Vec<Move>,
    /// The layout after, to be replayed; `None` where it cannot be told.
    pub after: Option<After>,
}

/// A member that moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Move {
    pub member: String,
    pub offset: [u64; 2],
}

/// A layout as its members in order.
#[derive(Clone, Debug)]
pub(super) struct After {
    pub entries: Vec<Entry>,
    /// Alignment of the type in bytes.
    pub type_align: u64,
    /// Name and offset of each.
    pub offsets: Vec<(String, u64)>,
}

/// The types that are laid out differently by themselves, and not only because of what they hold; or,
/// where some are named, these.
pub(super) fn types(before: &Path, after: &Path, named: &[String]) -> anyhow::Result<Vec<Changed>> {
    catalog::with_two(before, after, Format::Any, |old, new| {
        let (mut one, mut other) = (Side::new(old), Side::new(new));
        match named.is_empty() {
            true => {
                let (one, other) = rayon::join(|| one.load_all(), || other.load_all());
                one.and(other)
                    .context("cannot compare the types of the two kernels")?;
            }
            false => {
                for name in named {
                    let plain = plain(name);
                    if !one.load_name(plain, |_| true)? {
                        let close = close::names(old.names(), plain);
                        bail!(
                            "the kernel has no struct {plain}{}",
                            close::sentence(&close)
                        );
                    }
                    other.load_name(plain, |_| true)?;
                }
            }
        }
        let (diff, asked) = diff::complete(one, other)?;
        let wanted = (0..diff.types.len()).filter(|&at| match named.is_empty() {
            true => diff.types[at].own && diff.types[at].status == Status::Changed,
            false => asked[at],
        });
        let found: anyhow::Result<Vec<Changed>> =
            wanted.filter_map(|at| changed(&diff, at, new)).collect();
        let mut found = found?;
        found.dedup_by(|one, other| one.name == other.name);
        Ok(found)
    })
}

fn changed(diff: &Diff, at: usize, new: &Catalog<'_>) -> Option<anyhow::Result<Changed>> {
    let (old, after) = diff.shapes(&diff.types[at])?;
    let name = after.key.name.to_string();
    let detail = Detail::of(old, after, LINE_BYTES);
    let moved = detail.members.iter().filter_map(|member| {
        let (was, is) = (&old.fields[member.old?], &after.fields[member.new?]);
        (was.offset != is.offset).then(|| Move {
            member: is.path.to_string(),
            offset: [was.offset, is.offset],
        })
    });
    let moved = moved.collect();
    Some(layout(new, &name, after.size).map(|layout| Changed {
        name: name.clone(),
        size: [old.size, after.size],
        moved,
        after: layout,
    }))
}

/// The layout of a type of that name and size.
fn layout(catalog: &Catalog<'_>, name: &str, size: u64) -> anyhow::Result<Option<After>> {
    let loaded = catalog.load(&catalog.find(name))?;
    let abi = catalog.abi(&loaded.types);
    let found = { loaded.ids.iter() }
        .filter_map(|id| loaded.types.aggregate(*id))
        .find(|aggregate| aggregate.complete && aggregate.size == size);
    let Some(aggregate) = found else {
        return Ok(None);
    };
    let flat = abi.flattened(aggregate);
    let Ok(shape) = abi.shape(flat.as_ref().unwrap_or(aggregate)) else {
        return Ok(None);
    };
    let entries = { shape.atoms.iter().zip(1..) }.map(|(atom, line)| Entry {
        line,
        names: atom.names.clone(),
        align: atom.align.max(1),
        extent: Some((atom.size, atom.align.max(1))),
    });
    Ok(Some(After {
        entries: entries.collect(),
        type_align: shape.type_align.max(1),
        offsets: { shape.atoms.iter() }
            .map(|atom| (atom.name.clone(), atom.offset))
            .collect(),
    }))
}
