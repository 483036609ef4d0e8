//! A great many of something, in a small file.

use gimli::constants as dw;

use super::{AttributeValue, DwarfBuilder, UnitHeader, text};
use crate::hostile::HostileCase;
use crate::hostile::elf::{ElfBuilder, ElfSection};

pub(super) fn cases() -> Vec<HostileCase> {
    vec![
        ("many-members", members(30_000)),
        ("many-enumerators", enumerators(50_000)),
        ("many-dimensions", dimensions(100_000)),
        ("many-same-names", same_names(10_000)),
        ("many-tiny-units", tiny_units(60_000)),
        ("many-units-one-abbreviation-table", shared_abbreviations()),
        ("many-units-overlapping-tables", overlapping_abbreviations()),
        ("many-attributes", attributes()),
        ("many-type-units", type_units(20_000)),
    ]
}

fn members(count: u64) -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    let int = dwarf.int();
    dwarf.structure("wide", count * 4);
    for index in 0..count {
        dwarf.member("m", int, index * 4);
    }
    dwarf.close();
    // All at one place.
    dwarf.structure("heap", 4);
    for _ in 0..count {
        dwarf.member("m", int, 0);
    }
    dwarf.close();
    dwarf.program()
}

fn enumerators(count: u64) -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    let colour = dwarf.open(
        dw::DW_TAG_enumeration_type,
        &[
            (dw::DW_AT_name, text("colour")),
            (dw::DW_AT_byte_size, AttributeValue::Number(4)),
        ],
    );
    for index in 0..count {
        dwarf.entry(
            dw::DW_TAG_enumerator,
            &[
                (dw::DW_AT_name, text("e")),
                (dw::DW_AT_const_value, AttributeValue::Number(index)),
            ],
        );
    }
    dwarf.close();
    dwarf.structure("holder", 400);
    for index in 0..100 {
        dwarf.member("colour", colour, index * 4);
    }
    dwarf.close();
    dwarf.program()
}

fn dimensions(count: u64) -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    let int = dwarf.int();
    let array = dwarf.open(
        dw::DW_TAG_array_type,
        &[(dw::DW_AT_type, AttributeValue::Ref(int))],
    );
    for _ in 0..count {
        dwarf.entry(
            dw::DW_TAG_subrange_type,
            &[(dw::DW_AT_count, AttributeValue::Number(1))],
        );
    }
    dwarf.close();
    dwarf.structure("holder", 400);
    for index in 0..100 {
        dwarf.member("cube", array, index * 4);
    }
    dwarf.close();
    dwarf.program()
}

/// Definitions of one name that all differ.
fn same_names(count: u64) -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    let int = dwarf.int();
    for index in 0..count {
        dwarf.structure("same", 4 + index);
        dwarf.member("m", int, index % 7);
        dwarf.close();
    }
    dwarf.program()
}

fn tiny_units(count: usize) -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    dwarf.int();
    dwarf.close();
    for index in 0..count {
        dwarf.begin(UnitHeader::default());
        if index % 2 == 0 {
            dwarf.entry(dw::DW_TAG_compile_unit, &[]);
        }
    }
    dwarf.program()
}

/// A table of many abbreviations, of which the first is a unit's and the last a struct's.
fn table(count: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for code in 1..=count as u64 {
        super::uleb(&mut bytes, code);
        let tag = if code == 1 {
            dw::DW_TAG_compile_unit
        } else {
            dw::DW_TAG_structure_type
        };
        super::uleb(&mut bytes, u64::from(tag.0));
        bytes.push(u8::from(code == 1));
        bytes.extend([dw::DW_AT_name.0 as u8, dw::DW_FORM_string.0 as u8, 0, 0]);
    }
    bytes.push(0);
    bytes
}

fn with_table(abbrev: Vec<u8>, headers: impl Iterator<Item = u32>, last: u64) -> Vec<u8> {
    let mut dwarf = DwarfBuilder::default();
    for abbrev in headers {
        dwarf.begin(UnitHeader {
            abbrev,
            ..UnitHeader::default()
        });
        dwarf.info.extend(b"\x01u\0");
        super::uleb(&mut dwarf.info, last);
        dwarf.info.extend(b"s\0\0");
    }
    dwarf.end();
    ElfBuilder::from_sections([
        ElfSection::new(".debug_info", dwarf.info),
        ElfSection::new(".debug_abbrev", abbrev),
    ])
    .bytes()
}

fn shared_abbreviations() -> Vec<u8> {
    let count = 20_000;
    let headers = (0..2000).map(|_| 0);
    with_table(table(count), headers, count as u64)
}

/// Each unit's table begins one abbreviation after the other's, and goes on to the same end.
fn overlapping_abbreviations() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut starts = Vec::new();
    for _ in 0..1000 {
        starts.push(bytes.len() as u32);
        // Codes need not be in order, only different; three bytes each.
        let code = 0x8000 + starts.len() as u64;
        super::uleb(&mut bytes, code);
        bytes.extend([dw::DW_TAG_member.0 as u8, 0, 0, 0]);
    }
    bytes.extend(table(1000));
    with_table(bytes, starts.into_iter(), 1000)
}

/// One abbreviation with very many attributes that take no bytes, and very many entries of it.
fn attributes() -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    let many = vec![(dw::DW_AT_prototyped, AttributeValue::Yes); 50_000];
    for _ in 0..50_000 {
        dwarf.entry(dw::DW_TAG_structure_type, &many[..10]);
    }
    for _ in 0..100 {
        dwarf.entry(dw::DW_TAG_structure_type, &many);
    }
    dwarf.program()
}

fn type_units(count: u64) -> Vec<u8> {
    let mut dwarf = DwarfBuilder::default();
    for index in 0..count {
        dwarf.begin(UnitHeader::default());
        let start = dwarf.info.len() - 6;
        dwarf.info[start] = dw::DW_UT_type.0;
        dwarf.info.extend((index / 2).to_le_bytes());
        dwarf.info.extend(24u32.to_le_bytes());
        dwarf.open(dw::DW_TAG_type_unit, &[]);
        dwarf.structure("t", 1);
    }
    dwarf.program()
}
