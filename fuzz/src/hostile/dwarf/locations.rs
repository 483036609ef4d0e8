//! Variables whose places are lists and expressions made to cost much.

use gimli::constants as dw;

use super::{AttributeValue, DieLabel, DwarfBuilder, text, uleb};
use crate::hostile::HostileCase;
use crate::hostile::elf::{ElfBuilder, ElfSection};

/// Address of the code.
const ADDRESS: u64 = 0x40_1000;
/// `SHF_ALLOC` and `SHF_EXECINSTR`.
const CODE: u64 = 6;

/// Hostile files with code.
pub fn cases() -> Vec<HostileCase> {
    let jumps = [0xeb, 0x00].repeat(20_000);
    let stores = [0x48, 0x89, 0x45, 0xf8].repeat(10_000);
    let register = list(4_000, &[dw::DW_OP_reg5.0]);
    let slot = list(1, &[dw::DW_OP_fbreg.0, 0x70]);
    let skips = [dw::DW_OP_skip.0, 0xfd, 0xff].repeat(3);
    let nested = {
        let mut inner = vec![dw::DW_OP_reg5.0];
        for _ in 0..40 {
            let mut outer = vec![dw::DW_OP_entry_value.0];
            uleb(&mut outer, inner.len() as u64);
            outer.extend(inner);
            inner = outer;
        }
        inner
    };
    vec![
        (
            "many-variables-one-list",
            function(&jumps, 4_000, &register),
        ),
        (
            "many-stores-many-variables",
            function(&stores, 5_000, &slot),
        ),
        (
            "list-without-end",
            function(&jumps[..40], 10, &register[..60]),
        ),
        (
            "list-of-overflows",
            function(&jumps[..40], 10, &overflowing()),
        ),
        (
            "expression-skips-back",
            function(&jumps[..40], 10, &list(3, &skips)),
        ),
        (
            "expression-in-itself",
            function(&jumps[..40], 10, &list(3, &nested)),
        ),
        (
            "expression-empty",
            function(&jumps[..40], 10, &list(3, &[])),
        ),
        ("scopes-in-scopes", scopes(3_000)),
        ("functions-in-functions", functions(20_000)),
    ]
}

/// A list whose entries all hold everywhere.
fn list(entries: usize, expression: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..entries {
        bytes.push(dw::DW_LLE_start_length.0);
        bytes.extend(ADDRESS.to_le_bytes());
        uleb(&mut bytes, 1 << 20);
        uleb(&mut bytes, expression.len() as u64);
        bytes.extend(expression);
    }
    bytes.push(dw::DW_LLE_end_of_list.0);
    bytes
}

fn overflowing() -> Vec<u8> {
    let mut bytes = vec![dw::DW_LLE_base_address.0];
    bytes.extend(u64::MAX.to_le_bytes());
    for (start, end) in [(u64::MAX, 1), (1, u64::MAX), (0, 0)] {
        bytes.push(dw::DW_LLE_offset_pair.0);
        uleb(&mut bytes, start);
        uleb(&mut bytes, end);
        bytes.extend([1, dw::DW_OP_reg5.0]);
    }
    bytes.push(dw::DW_LLE_start_length.0);
    bytes.extend(u64::MAX.to_le_bytes());
    uleb(&mut bytes, u64::MAX);
    bytes.extend([1, dw::DW_OP_reg5.0, dw::DW_LLE_end_of_list.0]);
    bytes
}

/// A pointer to a struct that points to itself.
fn pointer(dwarf: &mut DwarfBuilder) -> DieLabel {
    let target = dwarf.label();
    let pointer = dwarf.derived(dw::DW_TAG_pointer_type, None, target);
    let node = dwarf.structure("node", 16);
    dwarf.alias_label(target, node);
    dwarf.member("next", pointer, 0);
    dwarf.close();
    pointer
}

/// The entry of the function, open.
fn open_function(dwarf: &mut DwarfBuilder, code: &[u8]) {
    open_function_at(dwarf, ADDRESS, code.len() as u64);
}

fn open_function_at(dwarf: &mut DwarfBuilder, start: u64, bytes: u64) {
    let address = |at: u64| AttributeValue::Raw(dw::DW_FORM_addr, at.to_le_bytes().to_vec());
    dwarf.open(
        dw::DW_TAG_subprogram,
        &[
            (dw::DW_AT_name, text("f")),
            (dw::DW_AT_low_pc, address(start)),
            (dw::DW_AT_high_pc, AttributeValue::Number(bytes)),
            (
                dw::DW_AT_frame_base,
                AttributeValue::Raw(dw::DW_FORM_exprloc, vec![1, dw::DW_OP_call_frame_cfa.0]),
            ),
        ],
    );
}

/// A function of this code with so many pointer variables, all with one list.
fn function(code: &[u8], variables: usize, list: &[u8]) -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    let pointer = pointer(&mut dwarf);
    open_function(&mut dwarf, code);
    for _ in 0..variables {
        dwarf.entry(
            dw::DW_TAG_variable,
            &[
                (dw::DW_AT_type, AttributeValue::Ref(pointer)),
                (
                    dw::DW_AT_location,
                    AttributeValue::Raw(dw::DW_FORM_sec_offset, vec![0; 4]),
                ),
            ],
        );
    }
    dwarf.close();
    file(dwarf, code, list)
}

/// Blocks within each other, each with a variable that lives all through it.
fn scopes(depth: usize) -> Vec<u8> {
    let code = [0x48, 0x89, 0x45, 0xf8].repeat(100);
    let address = AttributeValue::Raw(dw::DW_FORM_addr, ADDRESS.to_le_bytes().to_vec());
    let mut dwarf = DwarfBuilder::new();
    let pointer = pointer(&mut dwarf);
    open_function(&mut dwarf, &code);
    for _ in 0..depth {
        dwarf.open(
            dw::DW_TAG_lexical_block,
            &[
                (dw::DW_AT_low_pc, address.clone()),
                (dw::DW_AT_high_pc, AttributeValue::Number(code.len() as u64)),
            ],
        );
        dwarf.entry(
            dw::DW_TAG_variable,
            &[
                (dw::DW_AT_type, AttributeValue::Ref(pointer)),
                (
                    dw::DW_AT_location,
                    AttributeValue::Raw(dw::DW_FORM_exprloc, vec![2, dw::DW_OP_fbreg.0, 0x70]),
                ),
            ],
        );
    }
    for _ in 0..=depth {
        dwarf.close();
    }
    file(dwarf, &code, &[])
}

/// Functions within each other, each with code of its own.
fn functions(depth: u64) -> Vec<u8> {
    const BYTES: u64 = 4;
    let code = [0x48, 0x89, 0x45, 0xf8].repeat(depth as usize);
    let mut dwarf = DwarfBuilder::new();
    for n in 0..depth {
        open_function_at(&mut dwarf, ADDRESS + BYTES * n, BYTES);
    }
    for _ in 0..depth {
        dwarf.close();
    }
    file(dwarf, &code, &[])
}

fn file(dwarf: DwarfBuilder, code: &[u8], list: &[u8]) -> Vec<u8> {
    let mut sections = dwarf.sections();
    sections.push(ElfSection::new(".debug_loclists", list.to_vec()));
    sections.push(ElfSection {
        flags: CODE,
        address: ADDRESS,
        ..ElfSection::new(".text", code.to_vec())
    });
    ElfBuilder::from_sections(sections).bytes()
}
