//! Debugging information entries: offsets, tags and attribute values.
use gimli::{
    AttributeValue, DwTag, EndianSlice, Operation, RunTimeEndian, UnitOffset, constants as dw,
};

use crate::DefinitionKind;

/// Reader of DWARF over plain slices, with an endianness known at run time.
pub type Reader<'a> = EndianSlice<'a, RunTimeEndian>;

/// Offset of a debugging information entry from the start of `.debug_info`, in bytes. Offsets of
/// entries elsewhere (in `.debug_types`, in `.dwo` files) continue behind its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DieOffset(pub usize);

pub(super) type Unit<'s> = gimli::Unit<Reader<'s>>;
pub(super) type Dwarf<'s> = gimli::Dwarf<Reader<'s>>;
pub(super) type Value<'s> = AttributeValue<Reader<'s>>;

/// Target of a reference attribute.
#[derive(Clone, Copy, Debug)]
pub(super) enum DieReference {
    /// Offset within the same unit.
    Unit(UnitOffset),
    /// Offset from the start of the same file's `.debug_info`.
    Section(usize),
    /// Signature of a type unit.
    Signature(u64),
    /// Offset from the start of the supplementary file's `.debug_info`.
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

/// String; `None` if it is missing from its section or is not UTF-8.
pub(super) fn attribute_text<'s>(
    dwarf: &Dwarf<'s>,
    unit: &Unit<'s>,
    value: Value<'s>,
) -> Option<&'s str> {
    let reader = dwarf.attr_string(unit, value).ok()?;
    std::str::from_utf8(reader.slice()).ok()
}

/// Address of a variable with a fixed address; `None` for registers, frames and TLS.
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

/// Offset of a thread-local variable in its file's thread-local segment; `None` for other
/// variables.
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

pub(super) fn definition_kind(tag: DwTag) -> Option<DefinitionKind> {
    Some(match tag {
        dw::DW_TAG_structure_type => DefinitionKind::Struct,
        dw::DW_TAG_union_type => DefinitionKind::Union,
        dw::DW_TAG_class_type => DefinitionKind::Class,
        dw::DW_TAG_enumeration_type => DefinitionKind::Enum,
        dw::DW_TAG_typedef => DefinitionKind::Typedef,
        dw::DW_TAG_base_type => DefinitionKind::Base,
        _ => return None,
    })
}

pub(super) fn is_aggregate_tag(tag: DwTag) -> bool {
    definition_kind(tag).is_some_and(DefinitionKind::is_aggregate)
}
