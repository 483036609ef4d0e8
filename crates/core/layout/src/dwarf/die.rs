//! Small readers of attribute values, shared by the scan and the loader.

use gimli::{AttributeValue, Operation, UnitOffset};

use super::file::Reader;

pub(super) type Unit<'s> = gimli::Unit<Reader<'s>>;
pub(super) type Dwarf<'s> = gimli::Dwarf<Reader<'s>>;
pub(super) type Value<'s> = AttributeValue<Reader<'s>>;

/// Where a reference attribute points.
#[derive(Clone, Copy, Debug)]
pub(super) enum DieReference {
    /// Within the same unit.
    Unit(UnitOffset),
    /// From the start of the same file's `.debug_info`.
    Section(usize),
    /// To the type unit with this signature.
    Signature(u64),
    /// From the start of the supplementary file's `.debug_info`.
    Supplementary(usize),
}

pub(super) fn die_reference(value: &Value<'_>) -> Option<DieReference> {
    match value {
        AttributeValue::UnitRef(offset) => Some(DieReference::Unit(*offset)),
        AttributeValue::DebugInfoRef(offset) => Some(DieReference::Section(offset.0)),
        AttributeValue::DebugInfoRefSup(offset) => Some(DieReference::Supplementary(offset.0)),
        AttributeValue::DebugTypesRef(signature) => Some(DieReference::Signature(signature.0)),
        _ => None,
    }
}

pub(super) fn is_flag_set(value: &Value<'_>) -> bool {
    matches!(value, AttributeValue::Flag(true))
}

/// The string; `None` where it is missing from its section or is not UTF-8.
pub(super) fn attribute_text<'s>(
    dwarf: &Dwarf<'s>,
    unit: &Unit<'s>,
    value: Value<'s>,
) -> Option<&'s str> {
    let reader = dwarf.attr_string(unit, value).ok()?;
    std::str::from_utf8(reader.slice()).ok()
}

/// The address of a variable that stays at one place; `None` for registers, frames and TLS.
pub(super) fn fixed_address(dwarf: &Dwarf<'_>, unit: &Unit<'_>, value: &Value<'_>) -> Option<u64> {
    let mut operations = value.exprloc_value()?.operations(unit.encoding());
    let mut address = match operations.next().ok()?? {
        Operation::Address { address } => address,
        Operation::AddressIndex { index } => dwarf.address(unit, index).ok()?,
        _ => return None,
    };
    while let Some(operation) = operations.next().ok()? {
        match operation {
            Operation::PlusConstant { value } => address = address.wrapping_add(value),
            _ => return None,
        }
    }
    Some(address)
}

/// Where a thread-local variable is in its file's thread-local segment; `None` for all others.
pub(super) fn thread_local_offset(
    dwarf: &Dwarf<'_>,
    unit: &Unit<'_>,
    value: &Value<'_>,
) -> Option<u64> {
    let mut operations = value.exprloc_value()?.operations(unit.encoding());
    let offset = match operations.next().ok()?? {
        Operation::UnsignedConstant { value } => value,
        Operation::SignedConstant { value } => u64::try_from(value).ok()?,
        Operation::Address { address } => address,
        Operation::AddressIndex { index } | Operation::ConstantIndex { index } => {
            dwarf.address(unit, index).ok()?
        }
        _ => return None,
    };
    // DW_OP_form_tls_address, or DW_OP_GNU_push_tls_address before it had a number.
    matches!(operations.next().ok()??, Operation::TLS).then_some(offset)
}
