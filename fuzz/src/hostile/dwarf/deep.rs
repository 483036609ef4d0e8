//! Entries in entries in entries, and types of types of types.

use gimli::constants as dw;

use super::{AttributeValue, DwarfBuilder, text};
use crate::hostile::HostileCase;

const DEEP: usize = 100_000;
/// Levels of entries in each other. Scopes and children are looked up level by level, so that time
/// grows with the square.
const NESTED: usize = 5000;
/// Levels of what doubles with each.
const DOUBLINGS: usize = 36;

pub(super) fn cases() -> Vec<HostileCase> {
    vec![
        ("deep-typedefs", chain(dw::DW_TAG_typedef, DEEP)),
        ("deep-pointers", chain(dw::DW_TAG_pointer_type, DEEP)),
        ("deep-arrays", chain(dw::DW_TAG_array_type, DEEP)),
        ("deep-functions", chain(dw::DW_TAG_subroutine_type, DEEP)),
        ("typedefs-at-the-limit", chain(dw::DW_TAG_typedef, 70)),
        ("deep-structs", structs(DEEP, Some("s"), false)),
        ("deep-structs-in-arrays", structs(1000, Some("s"), true)),
        ("deep-anonymous-structs", structs(2000, None, false)),
        ("structs-at-the-limit", structs(120, Some("s"), false)),
        ("deep-namespaces", nested(dw::DW_TAG_namespace, NESTED)),
        ("deep-classes", nested(dw::DW_TAG_class_type, NESTED)),
        (
            "deep-functions-bodies",
            nested(dw::DW_TAG_subprogram, NESTED),
        ),
        ("deep-blocks", nested(dw::DW_TAG_lexical_block, NESTED)),
        ("doubling-structs", doubling(true, false)),
        ("doubling-anonymous-structs", doubling(false, false)),
        ("doubling-unions", doubling(true, true)),
        ("doubling-anonymous-unions", doubling(false, true)),
        ("doubling-functions", doubling_functions()),
        ("doubling-nothing", doubling_nothing()),
    ]
}

/// A type of a type of a type.
fn chain(tag: gimli::DwTag, depth: usize) -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    let int = dwarf.int();
    let mut target = dwarf.label();
    let first = target;
    for _ in 0..depth {
        let next = dwarf.label();
        dwarf.place_label(target);
        match tag {
            dw::DW_TAG_typedef => drop(dwarf.derived(tag, Some("t"), next)),
            dw::DW_TAG_pointer_type => drop(dwarf.derived(tag, None, next)),
            _ => {
                dwarf.open(tag, &[(dw::DW_AT_type, AttributeValue::Ref(next))]);
                dwarf.entry(
                    dw::DW_TAG_subrange_type,
                    &[(dw::DW_AT_count, AttributeValue::Number(2))],
                );
                dwarf.close();
            }
        }
        target = next;
    }
    dwarf.alias_label(target, int);
    dwarf.structure("holder", 8);
    dwarf.member("deep", first, 0);
    dwarf.close();
    dwarf.program()
}

/// A struct that holds a struct that holds a struct.
fn structs(depth: usize, name: Option<&str>, in_array: bool) -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    let int = dwarf.int();
    let mut inner = int;
    for level in 0..depth {
        let size = (dw::DW_AT_byte_size, AttributeValue::Number(8));
        let held = if in_array && level > 0 {
            let array = dwarf.open(
                dw::DW_TAG_array_type,
                &[(dw::DW_AT_type, AttributeValue::Ref(inner))],
            );
            dwarf.entry(
                dw::DW_TAG_subrange_type,
                &[(dw::DW_AT_count, AttributeValue::Number(1))],
            );
            dwarf.close();
            array
        } else {
            inner
        };
        let outer = match name {
            Some(name) => {
                let name = text(format!("{name}{level}"));
                dwarf.open(dw::DW_TAG_structure_type, &[(dw::DW_AT_name, name), size])
            }
            None => dwarf.open(dw::DW_TAG_structure_type, &[size]),
        };
        if name.is_some() {
            dwarf.member("inner", held, 0);
        } else {
            dwarf.entry(
                dw::DW_TAG_member,
                &[(dw::DW_AT_type, AttributeValue::Ref(held))],
            );
        }
        dwarf.close();
        inner = outer;
    }
    dwarf.structure("holder", 8);
    dwarf.member("deep", inner, 0);
    dwarf.close();
    dwarf.program()
}

/// Entries that are children of each other; the innermost has a type. None says where its next
/// sibling is.
fn nested(tag: gimli::DwTag, depth: usize) -> Vec<u8> {
    let mut dwarf = DwarfBuilder::cpp();
    for _ in 0..depth {
        dwarf.open(
            tag,
            &[
                (dw::DW_AT_name, text("n")),
                (dw::DW_AT_byte_size, AttributeValue::Number(1)),
            ],
        );
    }
    dwarf.int();
    for _ in 0..depth {
        dwarf.close();
    }
    dwarf.program()
}

/// Each type holds the one before it twice.
fn doubling(named: bool, union: bool) -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    let mut inner = dwarf.int();
    let tag = match union {
        true => dw::DW_TAG_union_type,
        false => dw::DW_TAG_structure_type,
    };
    for level in 0..DOUBLINGS {
        let size = 4u64 << if union { 0 } else { level + 1 };
        let size = (dw::DW_AT_byte_size, AttributeValue::Number(size));
        let name = (dw::DW_AT_name, text(format!("d{level}")));
        let outer = match named {
            true => dwarf.open(tag, &[name, size]),
            false => dwarf.open(tag, &[size]),
        };
        for half in 0..2u64 {
            let offset = if union { 0 } else { half * (4 << level) };
            let ty = (dw::DW_AT_type, AttributeValue::Ref(inner));
            let at = (
                dw::DW_AT_data_member_location,
                AttributeValue::Number(offset),
            );
            let name = (dw::DW_AT_name, text(format!("m{half}")));
            match named {
                true => dwarf.entry(dw::DW_TAG_member, &[name, ty, at]),
                false => dwarf.entry(dw::DW_TAG_member, &[ty, at]),
            };
        }
        dwarf.close();
        inner = outer;
    }
    dwarf.structure("holder", 64);
    dwarf.member("deep", inner, 0);
    dwarf.close();
    dwarf.program()
}

/// Each function takes the one before it twice.
fn doubling_functions() -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    let mut inner = dwarf.int();
    for _ in 0..DOUBLINGS {
        let of = (dw::DW_AT_type, AttributeValue::Ref(inner));
        let function = dwarf.open(dw::DW_TAG_subroutine_type, std::slice::from_ref(&of));
        dwarf.entry(dw::DW_TAG_formal_parameter, std::slice::from_ref(&of));
        dwarf.entry(dw::DW_TAG_formal_parameter, &[of]);
        dwarf.close();
        inner = dwarf.derived(dw::DW_TAG_pointer_type, None, function);
    }
    dwarf.structure("holder", 8);
    dwarf.member("call", inner, 0);
    dwarf.close();
    dwarf.program()
}

/// Each anonymous struct holds the one before it twice, and there is no member in any.
fn doubling_nothing() -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    let size = (dw::DW_AT_byte_size, AttributeValue::Number(0));
    let mut inner = dwarf.open(dw::DW_TAG_structure_type, std::slice::from_ref(&size));
    dwarf.close();
    for _ in 0..DOUBLINGS {
        let outer = dwarf.open(dw::DW_TAG_structure_type, std::slice::from_ref(&size));
        for _ in 0..2 {
            dwarf.entry(
                dw::DW_TAG_member,
                &[(dw::DW_AT_type, AttributeValue::Ref(inner))],
            );
        }
        dwarf.close();
        inner = outer;
    }
    dwarf.structure("holder", 8);
    dwarf.entry(
        dw::DW_TAG_member,
        &[(dw::DW_AT_type, AttributeValue::Ref(inner))],
    );
    dwarf.close();
    dwarf.program()
}
