//! Absurd sizes, offsets, counts and bits.

use gimli::{DwAt, constants as dw};

use super::{AttributeValue, DwarfBuilder, text};
use crate::hostile::HostileCase;

const NUMBERS: [u64; 12] = [
    0,
    1,
    3,
    7,
    64,
    4097,
    u32::MAX as u64,
    1 << 32,
    1 << 61,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];

pub(super) fn cases() -> Vec<HostileCase> {
    vec![
        ("absurd-sizes", types_with(dw::DW_AT_byte_size)),
        ("absurd-alignments", types_with(dw::DW_AT_alignment)),
        (
            "absurd-places",
            members(dw::DW_AT_data_member_location, None),
        ),
        ("absurd-bit-sizes", members(dw::DW_AT_bit_size, None)),
        (
            "absurd-bit-offsets",
            members(dw::DW_AT_data_bit_offset, Some(dw::DW_AT_bit_size)),
        ),
        (
            "absurd-old-bit-offsets",
            members(dw::DW_AT_bit_offset, Some(dw::DW_AT_bit_size)),
        ),
        (
            "absurd-storage",
            members(dw::DW_AT_byte_size, Some(dw::DW_AT_bit_offset)),
        ),
        (
            "absurd-member-alignments",
            members(dw::DW_AT_alignment, None),
        ),
        (
            "absurd-lines",
            members(dw::DW_AT_decl_line, Some(dw::DW_AT_decl_file)),
        ),
        ("absurd-counts", arrays()),
        ("absurd-bases", bases()),
        ("absurd-enumerators", enumerators()),
        ("members-out-of-order", out_of_order()),
        ("negative-places", negative()),
    ]
}

/// Each number as that attribute of each kind of type, and a struct that holds them all.
fn types_with(name: DwAt) -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    let int = dwarf.int();
    let mut types = Vec::new();
    for number in NUMBERS {
        let attribute = (name, AttributeValue::Number(number));
        let named = |kind: &str| (dw::DW_AT_name, text(format!("{kind}{number:x}")));
        for tag in [
            dw::DW_TAG_structure_type,
            dw::DW_TAG_union_type,
            dw::DW_TAG_class_type,
        ] {
            types.push(dwarf.open(tag, &[named("s"), attribute.clone()]));
            dwarf.member("first", int, 0);
            dwarf.member("second", int, 4);
            dwarf.close();
        }
        for (tag, kind) in [
            (dw::DW_TAG_base_type, "b"),
            (dw::DW_TAG_enumeration_type, "e"),
        ] {
            types.push(dwarf.entry(tag, &[named(kind), attribute.clone()]));
        }
        let target = (dw::DW_AT_type, AttributeValue::Ref(int));
        let pointer = [target.clone(), attribute.clone()];
        types.push(dwarf.entry(dw::DW_TAG_pointer_type, &pointer));
        types.push(dwarf.entry(dw::DW_TAG_typedef, &[named("t"), target, attribute]));
    }
    for size in [64, u64::MAX] {
        for ty in &types {
            dwarf.structure("one", size);
            dwarf.member("first", int, 0);
            dwarf.member("middle", *ty, 8);
            dwarf.member("last", int, 24);
            dwarf.close();
        }
        dwarf.structure("all", size);
        for (index, ty) in types.iter().enumerate() {
            dwarf.member("m", *ty, index as u64 * 8);
        }
        dwarf.close();
    }
    dwarf.program()
}

/// Each number as that attribute of a member, together with each as another.
fn members(name: DwAt, other: Option<DwAt>) -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    let int = dwarf.int();
    let others: &[u64] = match other {
        Some(_) => &NUMBERS,
        None => &NUMBERS[..1],
    };
    for size in [0, 8, u64::MAX] {
        for number in NUMBERS {
            for second in others {
                dwarf.structure("s", size);
                dwarf.member("first", int, 0);
                let mut attributes = vec![
                    (dw::DW_AT_name, text("odd")),
                    (dw::DW_AT_type, AttributeValue::Ref(int)),
                    (name, AttributeValue::Number(number)),
                ];
                attributes.extend(other.map(|other| (other, AttributeValue::Number(*second))));
                dwarf.entry(dw::DW_TAG_member, &attributes);
                attributes.push((dw::DW_AT_bit_size, AttributeValue::Number(3)));
                dwarf.entry(dw::DW_TAG_member, &attributes);
                dwarf.member("last", int, 4);
                dwarf.close();
            }
        }
    }
    dwarf.program()
}

fn arrays() -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    let int = dwarf.int();
    let mut array_types = Vec::new();
    let mut array = |dwarf: &mut DwarfBuilder, bounds: &[(DwAt, AttributeValue)]| {
        let array = dwarf.open(
            dw::DW_TAG_array_type,
            &[(dw::DW_AT_type, AttributeValue::Ref(int))],
        );
        dwarf.entry(dw::DW_TAG_subrange_type, bounds);
        dwarf.entry(dw::DW_TAG_subrange_type, bounds);
        dwarf.close();
        array_types.push(array);
    };
    for number in NUMBERS {
        array(
            &mut dwarf,
            &[(dw::DW_AT_count, AttributeValue::Number(number))],
        );
        array(
            &mut dwarf,
            &[(dw::DW_AT_upper_bound, AttributeValue::Number(number))],
        );
        let signed = number.cast_signed();
        for lower in [i64::MIN, -1, i64::MAX] {
            array(
                &mut dwarf,
                &[
                    (dw::DW_AT_upper_bound, AttributeValue::Signed(signed)),
                    (dw::DW_AT_lower_bound, AttributeValue::Signed(lower)),
                ],
            );
        }
    }
    for ty in array_types {
        dwarf.structure("holder", u64::MAX);
        dwarf.member("first", int, 0);
        dwarf.member("array", ty, 4);
        dwarf.member("last", ty, u64::MAX - 3);
        dwarf.close();
    }
    dwarf.program()
}

/// Base classes, also virtual ones, at absurd places.
fn bases() -> Vec<u8> {
    let mut dwarf = DwarfBuilder::cpp();
    let int = dwarf.int();
    let base = dwarf.structure("base", u64::MAX);
    dwarf.member("m", int, 0);
    dwarf.close();
    for number in NUMBERS {
        dwarf.structure("derived", number);
        dwarf.entry(
            dw::DW_TAG_inheritance,
            &[
                (dw::DW_AT_type, AttributeValue::Ref(base)),
                (
                    dw::DW_AT_data_member_location,
                    AttributeValue::Number(number),
                ),
                (dw::DW_AT_virtuality, AttributeValue::Number(1)),
            ],
        );
        let expression = AttributeValue::Raw(dw::DW_FORM_exprloc, vec![3, 0x12, 0x06, 0x23]);
        dwarf.entry(
            dw::DW_TAG_inheritance,
            &[
                (dw::DW_AT_type, AttributeValue::Ref(base)),
                (dw::DW_AT_data_member_location, expression),
            ],
        );
        dwarf.member("own", int, 8);
        dwarf.close();
    }
    dwarf.program()
}

fn enumerators() -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    for size in NUMBERS {
        dwarf.open(
            dw::DW_TAG_enumeration_type,
            &[
                (dw::DW_AT_name, text("e")),
                (dw::DW_AT_byte_size, AttributeValue::Number(size)),
            ],
        );
        for value in NUMBERS {
            for value in [
                AttributeValue::Number(value),
                AttributeValue::Signed(value.cast_signed()),
            ] {
                dwarf.entry(dw::DW_TAG_enumerator, &[(dw::DW_AT_const_value, value)]);
            }
        }
        dwarf.close();
    }
    dwarf.program()
}

fn out_of_order() -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    let int = dwarf.int();
    let large = dwarf.structure("large", u64::MAX / 2);
    dwarf.member("m", int, 0);
    dwarf.close();
    for places in [[8, 4, 0], [0, 0, 100], [100, 2, 1], [0, 8, 4]] {
        for size in [0, 4, 12, 1 << 40] {
            dwarf.structure("mixed", size);
            for place in places {
                dwarf.member("i", int, place);
                dwarf.member("l", large, place);
            }
            dwarf.close();
        }
    }
    dwarf.program()
}

fn negative() -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    let int = dwarf.int();
    for place in [-1, -8, i64::MIN] {
        for name in [
            dw::DW_AT_data_member_location,
            dw::DW_AT_data_bit_offset,
            dw::DW_AT_bit_offset,
        ] {
            dwarf.structure("s", 8);
            dwarf.entry(
                dw::DW_TAG_member,
                &[
                    (dw::DW_AT_type, AttributeValue::Ref(int)),
                    (name, AttributeValue::Signed(place)),
                    (dw::DW_AT_bit_size, AttributeValue::Signed(5)),
                ],
            );
            dwarf.member("next", int, 4);
            dwarf.close();
        }
    }
    dwarf.program()
}
