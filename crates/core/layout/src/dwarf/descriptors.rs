//! Descriptors of arrays whose elements are elsewhere: allocatable and assumed-shape arrays of
//! Fortran, dynamic arrays of other languages.
//!
//! DWARF has expressions that read the descriptor to find the elements (`DW_AT_data_location`) and
//! their bounds. It does not have the descriptor's size.
use gimli::{AttributeValue, Operation, constants as dw};

use super::entry::DieContext;

/// Start of the producer of gfortran, whose descriptors end with the upper bound of their last
/// dimension.
pub(super) const GFORTRAN: &str = "GNU Fortran";

/// Returns true if objects of the array type hold a descriptor.
pub(super) fn has_descriptor(array: &DieContext<'_, '_>) -> bool {
    let attributes = [
        dw::DW_AT_data_location,
        dw::DW_AT_allocated,
        dw::DW_AT_associated,
        dw::DW_AT_rank,
    ];
    let mut attributes = attributes.into_iter();
    attributes.any(|name| array.entry.attr_value(name).is_some())
}

/// Size of the descriptor in bytes, from the last word that its expressions read if it is by
/// gfortran. `None` by others, which may put more behind that, and for an unknown number of
/// dimensions.
pub(super) fn descriptor_bytes(
    array: &DieContext<'_, '_>,
    dimensions: &[DieContext<'_, '_>],
    is_gfortran: bool,
) -> Option<u64> {
    let stated = array.number(dw::DW_AT_byte_size);
    if stated.is_some() {
        return stated;
    }
    let is_plain =
        |dimension: &DieContext<'_, '_>| dimension.entry.tag() == dw::DW_TAG_subrange_type;
    if !is_gfortran || dimensions.is_empty() || !dimensions.iter().all(is_plain) {
        return None;
    }
    let word = u64::from(array.unit.encoding().address_size);
    let ends = dimensions
        .iter()
        .map(|dimension| last_offset(dimension, dw::DW_AT_upper_bound));
    let ends: Vec<u64> = ends.collect::<Option<_>>()?;
    ends.into_iter().max()?.checked_add(word)
}

/// Largest offset in the descriptor that an expression reads.
fn last_offset(dimension: &DieContext<'_, '_>, name: gimli::DwAt) -> Option<u64> {
    let AttributeValue::Exprloc(expression) = dimension.entry.attr_value(name)? else {
        return None;
    };
    let mut operations = expression.operations(dimension.unit.encoding());
    let mut last = None;
    while let Some(operation) = operations.next().ok()? {
        if let Operation::PlusConstant { value } = operation {
            last = last.max(Some(value));
        }
    }
    last
}
