//! Sections that say they are larger than they are, or are.

use gimli::constants as dw;

use super::HostileCase;
use super::dwarf::{AttributeValue, DwarfBuilder, text};
use super::elf::{ElfBuilder, ElfSection, deflated, repeated};
use crate::targets::join;

const MIB: u64 = 1 << 20;

pub(super) fn cases() -> Vec<HostileCase> {
    let mut cases = compressed();
    cases.extend([
        ("one-stream-in-many-sections", shared_stream(2000)),
        ("one-place-in-many-sections", shared_place(2000)),
        ("sections-overlap", overlapping()),
        ("sections-outside", outside()),
        ("sections-without-end", claims(u64::MAX, u64::MAX)),
        ("class-32", sound(true, false, false)),
        ("class-32-big-endian", sound(true, true, false)),
        ("big-endian", sound(false, true, false)),
        ("relocatable", sound(false, false, true)),
        ("links-without-end", links()),
    ]);
    cases
}

fn compressed() -> Vec<HostileCase> {
    let zeros = deflated(&vec![0; 16 * MIB as usize]);
    let names = deflated(&b"int\0".repeat(4 * MIB as usize));
    let old = |claimed: u64, stream: &[u8]| {
        let mut bytes = b"ZLIB".to_vec();
        bytes.extend(claimed.to_be_bytes());
        bytes.extend(stream);
        ElfSection::new(".zdebug_info", bytes)
    };
    let info = ".debug_info";
    let with = |section| {
        ElfBuilder::from_sections(vec![section, ElfSection::new(".debug_abbrev", vec![0])]).bytes()
    };
    vec![
        ("zlib-bomb", with(ElfSection::zlib(info, 16 * MIB, &zeros))),
        (
            "zlib-claims-more",
            with(ElfSection::zlib(info, 1 << 40, &zeros)),
        ),
        (
            "zlib-claims-most",
            with(ElfSection::zlib(info, u64::MAX, &zeros)),
        ),
        ("zlib-claims-less", with(ElfSection::zlib(info, 10, &zeros))),
        ("zlib-of-nothing", with(ElfSection::zlib(info, 100, &[]))),
        (
            "zlib-of-noise",
            with(ElfSection::zlib(info, 100, &[0xa5; 300])),
        ),
        (
            "zstd-bomb",
            with(ElfSection::zstd(info, 1 << 30, &repeated(0, 8192))),
        ),
        (
            "zstd-claims-more",
            with(ElfSection::zstd(info, 1 << 40, &repeated(0, 100))),
        ),
        (
            "zstd-claims-less",
            with(ElfSection::zstd(info, 10, &repeated(0, 8192))),
        ),
        (
            "unknown-compression",
            with(ElfSection::compressed(info, 77, 100, &zeros)),
        ),
        ("zdebug-bomb", with(old(16 * MIB, &zeros))),
        ("zdebug-claims-more", with(old(u64::MAX, &zeros))),
        (
            "zdebug-cut-off",
            with(ElfSection::new(".zdebug_info", b"ZLIB\0".to_vec())),
        ),
        (
            "names-bomb",
            ElfBuilder::from_sections(strings_bomb(&names)).bytes(),
        ),
        ("all-sections-are-bombs", all_bombs(&zeros)),
        (
            "btf-bomb",
            ElfBuilder::from_sections([ElfSection::zlib(".BTF", 16 * MIB, &zeros)]).bytes(),
        ),
    ]
}

/// Sound entries whose names would be in a bomb.
fn strings_bomb(names: &[u8]) -> Vec<ElfSection> {
    let mut dwarf = DwarfBuilder::new();
    for place in 0..200u32 {
        let name = AttributeValue::Raw(dw::DW_FORM_strp, (place * 4).to_le_bytes().to_vec());
        dwarf.entry(dw::DW_TAG_structure_type, &[(dw::DW_AT_name, name)]);
    }
    let mut sections = dwarf.sections();
    sections.push(ElfSection::zlib(".debug_str", 16 * MIB, names));
    sections
}

const NAMES: [&str; 10] = [
    ".debug_info",
    ".debug_abbrev",
    ".debug_str",
    ".debug_line",
    ".debug_line_str",
    ".debug_types",
    ".debug_addr",
    ".debug_ranges",
    ".debug_rnglists",
    ".debug_str_offsets",
];

fn all_bombs(zeros: &[u8]) -> Vec<u8> {
    let bomb = |name: &&str| ElfSection::zlib(name, 16 * MIB, zeros);
    ElfBuilder::from_sections(NAMES.iter().map(bomb).collect::<Vec<_>>()).bytes()
}

/// Headers that all lead to the same bytes; objects may have many sections of a name.
fn shared(section: ElfSection, count: usize) -> Vec<u8> {
    let mut first = ElfBuilder {
        relocatable: true,
        ..ElfBuilder::from_sections([section.clone()])
    };
    for _ in 0..count {
        first.sections.push(ElfSection {
            bytes: Vec::new(),
            // Directly behind the header of the file.
            claims: Some((64, section.bytes.len() as u64)),
            ..section.clone()
        });
    }
    first.bytes()
}

fn shared_stream(count: usize) -> Vec<u8> {
    let zeros = deflated(&vec![0; MIB as usize]);
    shared(ElfSection::zlib(".debug_info", MIB, &zeros), count)
}

fn shared_place(count: usize) -> Vec<u8> {
    shared(ElfSection::new(".debug_info", vec![0; MIB as usize]), count)
}

fn overlapping() -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    dwarf.int();
    dwarf.close();
    let sections = dwarf.sections();
    let mut file = ElfBuilder::from_sections(sections);
    for name in NAMES {
        file.sections.push(ElfSection {
            claims: Some((0, 200)),
            ..ElfSection::new(name, Vec::new())
        });
    }
    file.bytes()
}

fn outside() -> Vec<u8> {
    claims(1 << 20, 1)
}

fn claims(offset: u64, size: u64) -> Vec<u8> {
    let section = ElfSection {
        claims: Some((offset, size)),
        ..ElfSection::new(".debug_info", vec![0; 40])
    };
    ElfBuilder::from_sections([section]).bytes()
}

/// A file of another kind, with one struct.
fn sound(narrow: bool, big_endian: bool, relocatable: bool) -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    let int = dwarf.int();
    dwarf.structure("s", 8);
    dwarf.member("a", int, 0);
    dwarf.member("b", int, 4);
    dwarf.close();
    dwarf.close();
    ElfBuilder {
        narrow,
        big_endian,
        relocatable,
        sections: dwarf.sections(),
    }
    .bytes()
}

/// Sections that name other files, without an end.
fn links() -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    dwarf.int();
    let mut sections = dwarf.sections();
    sections.push(ElfSection::new(".gnu_debugaltlink", vec![b'a'; 5000]));
    sections.push(ElfSection::new(".debug_sup", vec![5, 0, 0, b'a']));
    sections.push(ElfSection::new(".gnu_debuglink", vec![b'b'; 7]));
    sections.push(ElfSection::new(".note.gnu.build-id", vec![0xff; 11]));
    ElfBuilder::from_sections(sections).bytes()
}

/// A program and up to three files that it refers to: what `dwz` made, a package, a `.dwo`.
pub(super) fn companions() -> Vec<HostileCase> {
    let skeleton = skeleton(7);
    let file = |id| split_file(id);
    let dwz = sound(false, false, false);
    let mut cases = vec![
        (
            "all-there",
            join(&[skeleton.clone(), dwz.clone(), Vec::new(), file(7)]),
        ),
        (
            "another-build",
            join(&[skeleton.clone(), dwz, Vec::new(), file(8)]),
        ),
        ("itself-as-everything", join(&vec![skeleton.clone(); 4])),
        ("supplementary-of-itself", join(&vec![links_to_itself(); 4])),
    ];
    for (name, cu_index) in [
        ("package-without-units", index(0, 0, 0)),
        ("package-of-too-many", index(u32::MAX, u32::MAX, u32::MAX)),
        ("package-of-many-columns", index(8, 1, 1 << 30)),
        ("package-of-many-slots", index(1, 1, 1 << 31)),
        ("package-sound-size", index(8, 1, 2)),
    ] {
        let mut sections = split_sections(7);
        sections.push(ElfSection::new(".debug_cu_index", cu_index));
        let package = ElfBuilder::from_sections(sections).bytes();
        cases.push((
            name,
            join(&[skeleton.clone(), Vec::new(), package, Vec::new()]),
        ));
    }
    let mut bomb = split_sections(7);
    bomb[0] = ElfSection::zlib(
        ".debug_info.dwo",
        16 * MIB,
        &deflated(&vec![0; 16 * MIB as usize]),
    );
    let bomb = ElfBuilder::from_sections(bomb).bytes();
    cases.push((
        "bomb-split-off",
        join(&[skeleton, bomb.clone(), bomb.clone(), bomb]),
    ));
    cases
}

/// A unit of DWARF 5 whose contents are elsewhere.
fn skeleton(id: u64) -> Vec<u8> {
    let mut dwarf = DwarfBuilder::default();
    dwarf.begin(super::dwarf::UnitHeader::default());
    let kind = dwarf.info.len() - 6;
    dwarf.info[kind] = dw::DW_UT_skeleton.0;
    dwarf.info.extend(id.to_le_bytes());
    dwarf.entry(
        dw::DW_TAG_skeleton_unit,
        &[
            (dw::DW_AT_dwo_name, text("a.dwo")),
            (dw::DW_AT_comp_dir, text("/")),
        ],
    );
    let mut sections = dwarf.sections();
    sections.push(ElfSection::new(".gnu_debugaltlink", b"dwz\0\x01".to_vec()));
    ElfBuilder::from_sections(sections).bytes()
}

fn split_sections(id: u64) -> Vec<ElfSection> {
    let mut dwarf = DwarfBuilder::default();
    dwarf.begin(super::dwarf::UnitHeader::default());
    let kind = dwarf.info.len() - 6;
    dwarf.info[kind] = dw::DW_UT_split_compile.0;
    dwarf.info.extend(id.to_le_bytes());
    dwarf.root(dw::DW_LANG_C11);
    let int = dwarf.int();
    dwarf.structure("split", 4);
    dwarf.member("m", int, 0);
    dwarf.close();
    dwarf.close();
    let mut sections = dwarf.sections();
    for section in &mut sections {
        section.name.push_str(".dwo");
    }
    sections
}

fn split_file(id: u64) -> Vec<u8> {
    ElfBuilder::from_sections(split_sections(id)).bytes()
}

/// A file that names itself as what `dwz` made of it.
fn links_to_itself() -> Vec<u8> {
    let mut dwarf = DwarfBuilder::new();
    let import = AttributeValue::Raw(dw::DW_FORM_GNU_ref_alt, vec![0; 4]);
    dwarf.entry(
        dw::DW_TAG_imported_unit,
        &[(dw::DW_AT_import, import.clone())],
    );
    dwarf.entry(
        dw::DW_TAG_typedef,
        &[(dw::DW_AT_name, text("t")), (dw::DW_AT_type, import)],
    );
    dwarf.close();
    let mut sections = dwarf.sections();
    sections.push(ElfSection::new(".gnu_debugaltlink", b"a\0".to_vec()));
    ElfBuilder::from_sections(sections).bytes()
}

/// The beginning of a package's index: slots, units and columns.
fn index(slots: u32, units: u32, columns: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in [5, columns, units, slots] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(7u64.to_le_bytes());
    bytes.extend([1; 300]);
    bytes
}
