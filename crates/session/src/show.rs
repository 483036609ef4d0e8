//! Types of a file: those of given names, those that a selection fits, in order.

mod filter;
mod lookup;
mod named;
mod packing;

use std::ops::ControlFlow;
use std::path::Path;

use relayout_layout::catalog::{CatalogEntry, TypeCatalog};
use relayout_layout::{TypeArena, TypeId};

use filter::{SeenExtremes, TypeFilter};

use relayout_messages::UserError;

pub use filter::{TypeLimits, TypeMeasures};
pub use named::{NamedTypes, RUNNING_KERNEL};
pub use packing::{PackedStep, PackedType};

/// Types that are loaded at once.
const BATCH: usize = 2048;

/// Types to show, and their order.
#[derive(Clone, Debug)]
pub struct TypeSelection {
    /// Names, with `*` and `?`; empty for all structs, unions and classes.
    pub names: Vec<String>,
    /// Shows each of several different types of one name, rather than the first.
    pub all: bool,
    /// Limits that a type has to meet.
    pub limits: TypeLimits,
    /// Order; `None` for that of the file.
    pub order: Option<ShowOrder>,
    /// Measures types even where no limit and no order needs it.
    pub measures: bool,
    /// Bytes of a cache line.
    pub line_bytes: u64,
}

/// Order of shown types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShowOrder {
    /// By name.
    Name,
    /// Largest first.
    Size,
    /// Most bytes in holes first.
    Holes,
    /// Most padding first.
    Padding,
}

/// A type that is shown.
#[derive(Clone, Copy, Debug)]
pub struct ShownType<'n> {
    /// Definition.
    pub id: TypeId,
    /// Name under which it was found.
    pub name: &'n str,
    /// The definition in its catalog; `None` for one that is only compared.
    pub entry: Option<CatalogEntry<'n>>,
}

/// Renders the selected types of a file with `render`, in batches for `write`, which breaks where
/// nobody reads any more. A type of which `render` makes nothing is left out.
///
/// `render` also tells types of one name apart: two with the same text are one. `notify` receives a
/// sentence for each name with several different types.
///
/// # Errors
/// A name has no type, no type fits, the debug information is malformed; and those of `write`.
pub fn render_types<E: From<UserError>>(
    file: &Path,
    catalog: &TypeCatalog<'_>,
    selection: &TypeSelection,
    notify: &dyn Fn(&str),
    same_text: &dyn Fn(&TypeArena, &ShownType<'_>) -> String,
    render: impl Fn(&TypeArena, &ShownType<'_>, Option<&TypeMeasures>) -> Option<String> + Sync,
    mut write: impl FnMut(&[String]) -> Result<ControlFlow<()>, E>,
) -> Result<(), E> {
    let inline = catalog.inline_namespaces();
    let filter = TypeFilter::new(&selection.limits, &inline)?;
    let is_measured = selection.order.is_some() || filter.is_any() || selection.measures;
    let rendered_type = |types: &TypeArena, id: TypeId, entry: &CatalogEntry<'_>| {
        let shown = ShownType {
            id,
            name: entry.name,
            entry: Some(*entry),
        };
        let measures =
            is_measured.then(|| TypeMeasures::from_type(types, id, selection.line_bytes));
        let text = filter
            .passes(types, id, measures.as_ref())
            .then(|| render(types, &shown, measures.as_ref()))
            .flatten();
        (measures, text)
    };
    let entries = lookup::selected_entries(file, catalog, selection, notify, same_text)?;
    let mut extremes = SeenExtremes::default();
    let mut sorted = Vec::new();
    let mut is_empty = true;
    for batch in entries.chunks(BATCH) {
        let rendered = catalog
            .map_loaded(batch, rendered_type)
            .map_err(UserError::from)?;
        let mut texts = Vec::new();
        for (entry, (measures, text)) in batch.iter().zip(rendered) {
            extremes.add(entry.name, measures.as_ref());
            let Some(text) = text else { continue };
            is_empty = false;
            match selection.order {
                None => texts.push(text),
                Some(order) => sorted.push((sort_rank(order, entry, measures), text)),
            }
        }
        if write(&texts)?.is_break() {
            return Ok(());
        }
    }
    if is_empty {
        let extremes = filter.describe(&extremes);
        let message = format!(
            "no type of {} fits the selection: {extremes}",
            file.display()
        );
        return Err(UserError::input(message).into());
    }
    sorted.sort_by_key(|(rank, _)| *rank);
    let texts: Vec<String> = sorted.into_iter().map(|(_, text)| text).collect();
    write(&texts).map(|_| ())
}

/// Returns the key that sorts a type, equal ones by name.
fn sort_rank<'c>(
    order: ShowOrder,
    entry: &CatalogEntry<'c>,
    measures: Option<TypeMeasures>,
) -> (u64, &'c str) {
    let measures = measures.unwrap_or_default();
    let largest_first = match order {
        ShowOrder::Name => 0,
        ShowOrder::Size => measures.size,
        ShowOrder::Holes => measures.hole_bytes,
        ShowOrder::Padding => measures.padding,
    };
    (u64::MAX - largest_first, entry.name)
}
