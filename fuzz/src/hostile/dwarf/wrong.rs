//! Headers, forms and references that lie.

use gimli::constants as dw;

use super::{AttributeValue, DwarfBuilder, UnitHeader, text};
use crate::hostile::HostileCase;
use crate::hostile::elf::{ElfBuilder, ElfSection};

pub(super) fn cases() -> Vec<HostileCase> {
    let mut cases = vec![
        ("siblings-backwards", siblings()),
        ("forms-that-name-forms", indirect()),
        ("strings-outside", strings()),
        ("references-outside", references()),
        ("no-end", no_end()),
        ("ends-too-often", many_ends()),
        ("no-abbreviations", no_abbreviations()),
        ("unit-longer-than-section", long_unit()),
        ("reserved-lengths", reserved_lengths()),
        (
            "dwarf-64",
            with_header(UnitHeader {
                wide: true,
                ..UnitHeader::default()
            }),
        ),
        ("types-section", types_section()),
    ];
    let versions = [
        ("version-0", 0),
        ("version-1", 1),
        ("version-2", 2),
        ("version-3", 3),
        ("version-4", 4),
        ("version-6", 6),
    ];
    cases.extend(versions.map(|(name, version)| {
        let header = UnitHeader {
            version,
            ..UnitHeader::default()
        };
        (name, with_header(header))
    }));
    let addresses = [
        ("addresses-of-0", 0),
        ("addresses-of-1", 1),
        ("addresses-of-2", 2),
        ("addresses-of-3", 3),
        ("addresses-of-4", 4),
        ("addresses-of-255", 255),
    ];
    cases.extend(addresses.map(|(name, address_bytes)| {
        let header = UnitHeader {
            address_bytes,
            ..UnitHeader::default()
        };
        (name, with_header(header))
    }));
    cases
}

/// A sound unit under any header.
fn with_header(header: UnitHeader) -> Vec<u8> {
    let mut dwarf = DwarfBuilder::default();
    for wide in [header.wide, !header.wide] {
        dwarf.begin(UnitHeader { wide, ..header });
        dwarf.root(dw::DW_LANG_C11);
        let int = dwarf.int();
        let pointer = dwarf.derived(dw::DW_TAG_pointer_type, None, int);
        dwarf.structure("s", 16);
        dwarf.member("pointer", pointer, 0);
        dwarf.member("int", int, 8);
        dwarf.close();
        let low = (
            dw::DW_AT_low_pc,
            AttributeValue::Raw(dw::DW_FORM_addr, vec![1; usize::from(header.address_bytes)]),
        );
        dwarf.entry(
            dw::DW_TAG_subprogram,
            &[low, (dw::DW_AT_high_pc, AttributeValue::Number(5))],
        );
        dwarf.close();
    }
    dwarf.program()
}

fn siblings() -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    let int = dwarf.int();
    let places: [i64; 6] = [0, 1, 12, 40, 200, 0xffff_ffff];
    for place in places {
        let sibling = AttributeValue::Raw(dw::DW_FORM_ref4, (place as u32).to_le_bytes().to_vec());
        for tag in [
            dw::DW_TAG_structure_type,
            dw::DW_TAG_subprogram,
            dw::DW_TAG_array_type,
        ] {
            dwarf.open(
                tag,
                &[
                    (dw::DW_AT_name, text("s")),
                    (dw::DW_AT_sibling, sibling.clone()),
                ],
            );
            dwarf.member("m", int, 0);
            dwarf.close();
        }
    }
    dwarf.program()
}

fn indirect() -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    let indirect = dw::DW_FORM_indirect.0 as u8;
    for length in [1, 3, 5, 100, 50_000] {
        let mut name = vec![indirect; length];
        name.push(dw::DW_FORM_string.0 as u8);
        name.extend(b"s\0");
        dwarf.entry(
            dw::DW_TAG_structure_type,
            &[(
                dw::DW_AT_name,
                AttributeValue::Raw(dw::DW_FORM_indirect, name),
            )],
        );
        let mut number = vec![indirect; length];
        number.push(dw::DW_FORM_implicit_const.0 as u8);
        dwarf.entry(
            dw::DW_TAG_base_type,
            &[(
                dw::DW_AT_byte_size,
                AttributeValue::Raw(dw::DW_FORM_indirect, number),
            )],
        );
    }
    dwarf.program()
}

fn strings() -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    let forms = [
        dw::DW_FORM_strp,
        dw::DW_FORM_line_strp,
        dw::DW_FORM_strx4,
        dw::DW_FORM_strp_sup,
        dw::DW_FORM_GNU_strp_alt,
    ];
    for form in forms {
        for place in [0u32, 1, 2, 3, 100, 1 << 31, u32::MAX] {
            let name = AttributeValue::Raw(form, place.to_le_bytes().to_vec());
            dwarf.open(dw::DW_TAG_structure_type, &[(dw::DW_AT_name, name.clone())]);
            dwarf.entry(dw::DW_TAG_member, &[(dw::DW_AT_name, name)]);
            dwarf.close();
        }
    }
    let mut sections = dwarf.sections();
    // No NUL at the end; nothing that is UTF-8.
    sections.push(ElfSection::new(".debug_str", vec![0xff, 0, b'a']));
    sections.push(ElfSection::new(".debug_line_str", vec![0xc0]));
    sections.push(ElfSection::new(".debug_str_offsets", vec![0xff; 13]));
    ElfBuilder::from_sections(sections).bytes()
}

fn references() -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    for form in [
        dw::DW_FORM_ref4,
        dw::DW_FORM_ref_addr,
        dw::DW_FORM_GNU_ref_alt,
        dw::DW_FORM_ref_sup4,
    ] {
        // To the header, into an entry, to another unit, outside.
        for place in [0u32, 1, 11, 13, 17, 1000, u32::MAX] {
            let to = AttributeValue::Raw(form, place.to_le_bytes().to_vec());
            let typed = dwarf.entry(
                dw::DW_TAG_typedef,
                &[(dw::DW_AT_name, text("t")), (dw::DW_AT_type, to.clone())],
            );
            dwarf.structure("s", 8);
            dwarf.member("m", typed, 0);
            dwarf.entry(dw::DW_TAG_member, &[(dw::DW_AT_type, to.clone())]);
            dwarf.close();
            dwarf.entry(
                dw::DW_TAG_structure_type,
                &[(dw::DW_AT_specification, to.clone())],
            );
            dwarf.entry(dw::DW_TAG_variable, &[(dw::DW_AT_abstract_origin, to)]);
        }
    }
    dwarf.program()
}

fn no_end() -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    let int = dwarf.int();
    for _ in 0..20 {
        dwarf.structure("open", 8);
        dwarf.member("m", int, 0);
    }
    dwarf.program()
}

fn many_ends() -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    dwarf.int();
    dwarf.info.extend([0; 1000]);
    dwarf.structure("after", 8);
    dwarf.info.extend([0; 1000]);
    dwarf.program()
}

fn no_abbreviations() -> Vec<u8> {
    let mut sections = DwarfBuilder::new().sections();
    sections.truncate(1);
    ElfBuilder::from_sections(sections).bytes()
}

fn long_unit() -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    dwarf.int();
    dwarf.close();
    let mut sections = dwarf.sections();
    let info = &mut sections[0].bytes;
    info[..4].copy_from_slice(&0x1000_0000u32.to_le_bytes());
    ElfBuilder::from_sections(sections).bytes()
}

fn reserved_lengths() -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    dwarf.int();
    dwarf.close();
    dwarf.end();
    for length in [0u32, 1, 6, 0xffff_fff0, 0xffff_fffe] {
        dwarf.info.extend(length.to_le_bytes());
        dwarf.info.extend([5, 0, 1, 8, 0, 0, 0]);
    }
    dwarf.program()
}

/// DWARF 4's type units, with a type outside.
fn types_section() -> Vec<u8> {
    let mut sections = minimal_sections();
    for offset in [0u32, 23, 24, 30, 1000, u32::MAX] {
        let mut unit = Vec::new();
        unit.extend([4, 0, 0, 0, 0, 0, 8]);
        unit.extend(u64::from(offset).to_le_bytes());
        unit.extend(offset.to_le_bytes());
        unit.extend([1, 12, 2, 0]);
        let mut bytes = (unit.len() as u32).to_le_bytes().to_vec();
        bytes.extend(unit);
        sections.push(ElfSection::new(".debug_types", bytes));
    }
    ElfBuilder {
        relocatable: true,
        ..ElfBuilder::from_sections(sections)
    }
    .bytes()
}

fn minimal_sections() -> Vec<ElfSection> {
    let mut dwarf = DwarfBuilder::new();
    dwarf.int();
    dwarf.close();
    dwarf.sections()
}
