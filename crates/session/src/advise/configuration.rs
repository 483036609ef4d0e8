//! Shapes of the types in builds of other configurations.

use std::path::PathBuf;

use relayout_layout::abi::StructShape;
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};

use super::gathered::GatheredType;
use crate::type_files::unreadable_types;
use crate::{ResolvedProfile, with_types};
use relayout_messages::UserError;

/// A build of another configuration.
pub(super) struct ConfigurationBuild {
    pub name: String,
    /// Shapes of the requested types, or the reasons why there are none.
    pub shapes: Vec<Result<StructShape, String>>,
}

impl ConfigurationBuild {
    /// Reads the shapes of `types` from the build at `path`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(
        resolved: &ResolvedProfile<'_>,
        types: &[GatheredType<'_>],
        (name, path): &(String, PathBuf),
    ) -> Result<Self, UserError> {
        resolved.progress.step(&format!("reading {name}"));
        let notify = |text: &str| resolved.progress.warn(text);
        let shapes = with_types(path, DebugInfoFormat::Any, None, &notify, |catalog| {
            types
                .iter()
                .map(|gathered| {
                    shape_in_catalog(catalog, &gathered.definition_name())
                        .map_err(UserError::wrap(unreadable_types(path)))
                })
                .collect()
        });
        Ok(Self {
            name: name.clone(),
            shapes: shapes.map_err(UserError::wrap(format!("configuration {name}")))?,
        })
    }
}

/// Returns the shape of the struct in another file, or the reason why there is none.
///
/// # Errors
/// The debug information cannot be read.
pub(super) fn shape_in_catalog(
    catalog: &TypeCatalog<'_>,
    name: &str,
) -> Result<Result<StructShape, String>, relayout_layout::Error> {
    let entries = catalog.find_definitions(name);
    let loaded = catalog.load(&entries)?;
    let abi = catalog.abi(&loaded.types);
    let aggregate = loaded
        .ids
        .iter()
        .filter_map(|id| loaded.types.aggregate(*id))
        .find(|aggregate| aggregate.complete);
    let shape = aggregate.map(|aggregate| {
        let flattened = abi.flatten_anonymous(aggregate);
        abi.shape(flattened.as_ref().unwrap_or(aggregate))
    });
    Ok(match shape {
        None => Err(format!("it has no struct {name}")),
        Some(shape) => shape.map_err(|error| error.to_string()),
    })
}

/// Returns the shapes of a type in the builds that have it.
pub(super) fn shapes_of_type(builds: &[ConfigurationBuild], type_index: usize) -> Vec<StructShape> {
    builds
        .iter()
        .flat_map(|build| &build.shapes[type_index])
        .cloned()
        .collect()
}
