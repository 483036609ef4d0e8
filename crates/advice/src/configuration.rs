//! Shapes of the types in builds of other configurations.

use relayout_layout::abi::StructShape;
use relayout_layout::catalog::TypeCatalog;

/// A build of another configuration.
pub struct ConfigurationBuild {
    /// Name that the user gave it.
    pub name: String,
    /// Shapes of the requested types, or the reasons why there are none.
    pub shapes: Vec<Result<StructShape, String>>,
}

/// Returns the shape of the struct in another file, or the reason why there is none.
///
/// # Errors
/// The debug information cannot be read.
pub fn shape_in_catalog(
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
pub fn shapes_of_type(builds: &[ConfigurationBuild], type_index: usize) -> Vec<StructShape> {
    builds
        .iter()
        .flat_map(|build| &build.shapes[type_index])
        .cloned()
        .collect()
}
