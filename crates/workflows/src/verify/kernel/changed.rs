//! Types that the patch lays out differently, by the debug information of both kernels.

use std::path::Path;

use relayout_diff::{DiffSide, DiffStatus, LayoutDiff, TypeDiffDetail};
use relayout_layout::TypePattern;
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_search::order::OrderEntry;

use relayout_messages::UserError;
use relayout_session::with_both_types;

/// Bytes of a cache line.
const LINE_BYTES: u64 = 64;

/// A type whose transfers are compared.
#[derive(Clone, Debug, Default)]
pub struct ChangedType {
    /// Name.
    pub name: String,
    /// Bytes before and after.
    pub size: [u64; 2],
    /// Members at another offset.
    pub moved: Vec<MovedMember>,
    /// New layout, to be replayed; `None` where debug information does not tell it.
    pub after: Option<PatchedLayout>,
}

/// A member that moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedMember {
    /// Path of the member.
    pub member: String,
    /// Offsets before and after.
    pub offset: [u64; 2],
}

/// A layout as its members in order.
#[derive(Clone, Debug)]
pub struct PatchedLayout {
    /// Members in order.
    pub entries: Vec<OrderEntry>,
    /// Alignment of the type in bytes.
    pub type_align: u64,
    /// Name and offset of each member.
    pub offsets: Vec<(String, u64)>,
}

/// Returns the types that are laid out differently by themselves, and not only because of a type
/// that they hold; or the named ones.
pub(super) fn changed_types(
    before: &Path,
    after: &Path,
    named: &[String],
    notify: &dyn Fn(&str),
) -> Result<Vec<ChangedType>, UserError> {
    with_both_types(before, after, DebugInfoFormat::Any, notify, |old, new| {
        let (mut old_side, mut new_side) = (DiffSide::new(old), DiffSide::new(new));
        match named.is_empty() {
            true => {
                let (old_loaded, new_loaded) =
                    rayon::join(|| old_side.load_all(), || new_side.load_all());
                old_loaded.and(new_loaded).map_err(UserError::wrap(
                    "cannot compare the types of the two kernels",
                ))?;
            }
            false => {
                for name in named {
                    let pattern = TypePattern::parse(name).map_err(UserError::input)?;
                    if !old_side.load_matching(&pattern, false)? {
                        let close = pattern.similar_definitions(old.type_names());
                        let message = format!("the kernel has no struct {}", pattern.bare_name());
                        return Err(UserError::unknown_name(message, &close, None));
                    }
                    new_side.load_matching(&pattern, false)?;
                }
            }
        }
        let (diff, asked) = relayout_diff::compare_sides(old_side, new_side)?;
        let wanted = (0..diff.types.len()).filter(|&at| match named.is_empty() {
            true => diff.types[at].by_itself && diff.types[at].status == DiffStatus::Changed,
            false => asked[at],
        });
        let found: Result<Vec<ChangedType>, UserError> = wanted
            .filter_map(|at| changed_type(&diff, at, new))
            .collect();
        let mut found = found?;
        found.dedup_by(|later, earlier| later.name == earlier.name);
        Ok(found)
    })
}

fn changed_type(
    diff: &LayoutDiff,
    at: usize,
    new: &TypeCatalog<'_>,
) -> Option<Result<ChangedType, UserError>> {
    let (old, after) = diff.both_layouts(&diff.types[at])?;
    let name = after.key.name.to_string();
    let detail = TypeDiffDetail::compare(old, after, LINE_BYTES);
    let moved = detail
        .members
        .iter()
        .filter_map(|member| {
            let (was, is) = (&old.members[member.old?], &after.members[member.new?]);
            (was.offset != is.offset).then(|| MovedMember {
                member: is.path.to_string(),
                offset: [was.offset, is.offset],
            })
        })
        .collect();
    Some(
        patched_layout(new, &name, after.size).map(|layout| ChangedType {
            name: name.clone(),
            size: [old.size, after.size],
            moved,
            after: layout,
        }),
    )
}

/// The layout of a type of that name and size.
fn patched_layout(
    catalog: &TypeCatalog<'_>,
    name: &str,
    size: u64,
) -> Result<Option<PatchedLayout>, UserError> {
    let loaded = catalog.load(&relayout_diff::entries_named(catalog, name))?;
    let abi = catalog.abi(&loaded.types);
    let found = loaded
        .ids
        .iter()
        .filter_map(|id| loaded.types.aggregate(*id))
        .find(|aggregate| aggregate.complete && aggregate.size == size);
    let Some(aggregate) = found else {
        return Ok(None);
    };
    let flat = abi.flatten_anonymous(aggregate);
    let Ok(shape) = abi.shape(flat.as_ref().unwrap_or(aggregate)) else {
        return Ok(None);
    };
    let entries = shape.atoms.iter().zip(1..).map(|(atom, line)| OrderEntry {
        line,
        names: atom.names.clone(),
        align: atom.align.max(1),
        extent: Some((atom.size, atom.align.max(1))),
    });
    Ok(Some(PatchedLayout {
        entries: entries.collect(),
        type_align: shape.type_align.max(1),
        offsets: shape
            .atoms
            .iter()
            .map(|atom| (atom.name.clone(), atom.offset))
            .collect(),
    }))
}
