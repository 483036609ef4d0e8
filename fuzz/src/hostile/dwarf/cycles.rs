//! Entries that lead back to themselves.

use gimli::constants as dw;

use super::{AttributeValue, DwarfBuilder, text};
use crate::hostile::HostileCase;

pub(super) fn cases() -> Vec<HostileCase> {
    let mut cases: Vec<HostileCase> = BY_VALUE
        .iter()
        .map(|(name, between)| (*name, holds_itself(between)))
        .collect();
    cases.extend([
        ("typedef-of-itself", chain(dw::DW_TAG_typedef, 1)),
        ("typedefs-in-a-ring", chain(dw::DW_TAG_typedef, 3)),
        ("const-of-itself", chain(dw::DW_TAG_const_type, 1)),
        ("array-of-itself", chain(dw::DW_TAG_array_type, 1)),
        ("arrays-in-a-ring", chain(dw::DW_TAG_array_type, 2)),
        ("pointer-to-itself", chain(dw::DW_TAG_pointer_type, 1)),
        ("pointers-in-a-ring", chain(dw::DW_TAG_pointer_type, 2)),
        ("functions-in-a-ring", chain(dw::DW_TAG_subroutine_type, 2)),
        ("enum-of-itself", chain(dw::DW_TAG_enumeration_type, 1)),
        ("specifications-in-a-ring", specifications()),
        ("origins-in-a-ring", origins()),
        ("anonymous-behind-pointers", anonymous_behind_pointers()),
        ("units-import-each-other", imports()),
        ("signature-of-itself", signature()),
    ]);
    cases
}

/// Types between a struct and itself.
const BY_VALUE: [(&str, &[gimli::DwTag]); 6] = [
    ("holds-itself", &[]),
    ("holds-itself-in-an-array", &[dw::DW_TAG_array_type]),
    ("holds-itself-const", &[dw::DW_TAG_const_type]),
    ("holds-itself-by-another-name", &[dw::DW_TAG_typedef]),
    (
        "holds-itself-by-names-and-arrays",
        &[
            dw::DW_TAG_typedef,
            dw::DW_TAG_array_type,
            dw::DW_TAG_volatile_type,
            dw::DW_TAG_typedef,
            dw::DW_TAG_array_type,
        ],
    ),
    ("holds-what-holds-it", &[dw::DW_TAG_structure_type]),
];

fn holds_itself(between: &[gimli::DwTag]) -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    let int = dwarf.int();
    let mut next = dwarf.label();
    let outer = dwarf.structure("outer", 16);
    dwarf.member("first", int, 0);
    dwarf.member("again", next, 4);
    dwarf.member("last", int, 12);
    dwarf.close();
    for tag in between {
        let target = dwarf.label();
        dwarf.place_label(next);
        match *tag {
            dw::DW_TAG_structure_type => {
                dwarf.structure("inner", 8);
                dwarf.member("back", target, 0);
                dwarf.close();
            }
            dw::DW_TAG_array_type => {
                dwarf.open(*tag, &[(dw::DW_AT_type, AttributeValue::Ref(target))]);
                dwarf.entry(
                    dw::DW_TAG_subrange_type,
                    &[(dw::DW_AT_count, AttributeValue::Number(2))],
                );
                dwarf.close();
            }
            _ => drop(dwarf.derived(*tag, Some("name"), target)),
        }
        next = target;
    }
    dwarf.alias_label(next, outer);
    dwarf.program()
}

/// Entries that each refer to the next, the last to the first, and a struct that holds them.
fn chain(tag: gimli::DwTag, length: usize) -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    let labels: Vec<_> = (0..length).map(|_| dwarf.label()).collect();
    for (index, label) in labels.iter().enumerate() {
        let next = labels[(index + 1) % length];
        let target = (dw::DW_AT_type, AttributeValue::Ref(next));
        dwarf.place_label(*label);
        if tag == dw::DW_TAG_typedef {
            dwarf.derived(tag, Some("name"), next);
        } else if matches!(tag, dw::DW_TAG_array_type | dw::DW_TAG_subroutine_type) {
            dwarf.open(tag, std::slice::from_ref(&target));
            dwarf.entry(
                dw::DW_TAG_subrange_type,
                &[(dw::DW_AT_count, AttributeValue::Number(3))],
            );
            dwarf.entry(dw::DW_TAG_formal_parameter, &[target]);
            dwarf.close();
        } else {
            dwarf.entry(tag, &[target]);
        }
    }
    dwarf.structure("holder", 64);
    dwarf.member("ring", labels[0], 0);
    dwarf.member("again", labels[length - 1], 32);
    dwarf.close();
    dwarf.program()
}

fn specifications() -> Vec<u8> {
    let mut dwarf = DwarfBuilder::cpp();
    let labels: Vec<_> = (0..3).map(|_| dwarf.label()).collect();
    for (index, label) in labels.iter().enumerate() {
        let next = AttributeValue::Ref(labels[(index + 1) % 3]);
        dwarf.place_label(*label);
        dwarf.open(
            dw::DW_TAG_structure_type,
            &[
                (dw::DW_AT_specification, next),
                (dw::DW_AT_byte_size, AttributeValue::Number(4)),
            ],
        );
        dwarf.close();
    }
    dwarf.program()
}

fn origins() -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    let labels: Vec<_> = (0..2).map(|_| dwarf.label()).collect();
    let mut location = vec![9, dw::DW_OP_addr.0];
    location.extend(0x1000u64.to_le_bytes());
    for (index, label) in labels.iter().enumerate() {
        let next = AttributeValue::Ref(labels[1 - index]);
        dwarf.place_label(*label);
        dwarf.entry(
            dw::DW_TAG_variable,
            &[
                (dw::DW_AT_abstract_origin, next),
                (
                    dw::DW_AT_location,
                    AttributeValue::Raw(dw::DW_FORM_exprloc, location.clone()),
                ),
            ],
        );
    }
    dwarf.program()
}

/// Anonymous structs come along with pointers to them.
fn anonymous_behind_pointers() -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    let (pointer, inner) = (dwarf.label(), dwarf.label());
    dwarf.structure("outer", 8);
    dwarf.member("pointer", pointer, 0);
    dwarf.close();
    dwarf.place_label(pointer);
    dwarf.derived(dw::DW_TAG_pointer_type, None, inner);
    dwarf.place_label(inner);
    dwarf.open(
        dw::DW_TAG_structure_type,
        &[(dw::DW_AT_byte_size, AttributeValue::Number(16))],
    );
    dwarf.member("pointer", pointer, 0);
    dwarf.member("whole", inner, 8);
    dwarf.close();
    dwarf.program()
}

fn imports() -> Vec<u8> {
    let mut dwarf = DwarfBuilder::default();
    for other in [0u32, 0, 5, 40, u32::MAX] {
        dwarf.begin(super::UnitHeader::default());
        dwarf.root(dw::DW_LANG_C11);
        let import = AttributeValue::Raw(dw::DW_FORM_ref_addr, other.to_le_bytes().to_vec());
        dwarf.entry(dw::DW_TAG_imported_unit, &[(dw::DW_AT_import, import)]);
        dwarf.structure("imported", 4);
        dwarf.close();
        dwarf.close();
    }
    dwarf.program()
}

/// A type unit whose type says that it is in that type unit.
fn signature() -> Vec<u8> {
    let signature = AttributeValue::Raw(dw::DW_FORM_ref_sig8, 7u64.to_le_bytes().to_vec());
    let mut dwarf = DwarfBuilder::default();
    dwarf.begin(super::UnitHeader::default());
    // The header of a type unit: signature and offset follow.
    dwarf.info[6] = dw::DW_UT_type.0;
    dwarf.info.extend(7u64.to_le_bytes());
    dwarf.info.extend(26u32.to_le_bytes());
    dwarf.open(
        dw::DW_TAG_type_unit,
        &[(dw::DW_AT_language, AttributeValue::Number(0x21))],
    );
    dwarf.info.resize(26, 0);
    for name in ["one", "two"] {
        dwarf.open(
            dw::DW_TAG_structure_type,
            &[
                (dw::DW_AT_name, text(name)),
                (dw::DW_AT_byte_size, AttributeValue::Number(8)),
                (dw::DW_AT_signature, signature.clone()),
            ],
        );
        dwarf.entry(
            dw::DW_TAG_member,
            &[
                (dw::DW_AT_name, text("self")),
                (dw::DW_AT_type, signature.clone()),
            ],
        );
        dwarf.close();
    }
    dwarf.program()
}
