//! The text of every type of a C file equals the text of `pahole` 1.24.

use std::path::{Path, PathBuf};

use relayout_layout::dwarf::{DwarfFile, DwarfTypeLoader, SectionStore};
use relayout_pahole_text::{Options, render};
use relayout_testkit::compile_c;

const EXPECTED: &str = include_str!("layouts.txt");
const EXPECTED_TYPES: usize = 13;

/// C file with the types.
fn layouts_c() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../core/layout/tests/data/layouts.c")
}

/// The C file as a relocatable object.
fn object(flags: &[&str]) -> Vec<u8> {
    compile_c(&layouts_c(), &[&["-c"], flags].concat())
}

/// Tag and text of each type of the fixture.
fn expected() -> Vec<(&'static str, String)> {
    let mut blocks = Vec::new();
    let mut block = String::new();
    for line in EXPECTED.split_inclusive('\n') {
        block.push_str(line);
        if line.starts_with('}') {
            let head = &EXPECTED[EXPECTED.find(&block).unwrap_or(0)..];
            blocks.push((head.split(' ').nth(1).unwrap(), std::mem::take(&mut block)));
        }
    }
    blocks
}

/// Asserts that every type of the fixture has the text of pahole 1.24.
fn check_text(bytes: &[u8]) {
    let store = SectionStore::default();
    let file = DwarfFile::parse_with_store(bytes, &store).unwrap();
    let mut types = DwarfTypeLoader::new(&file);
    let expected = expected();
    assert_eq!(expected.len(), EXPECTED_TYPES);
    for (name, text) in expected {
        let id = types.load(file.find_types(name)[0]).unwrap();
        assert_eq!(
            render(types.types(), id, &Options::default()).unwrap(),
            text
        );
    }
}

#[test]
fn text_is_paholes_from_dwarf_5() {
    check_text(&object(&["-gdwarf-5"]));
}

#[test]
fn text_is_paholes_from_compressed_sections() {
    check_text(&object(&["-g", "-gz=zlib"]));
}

#[test]
fn text_is_paholes_from_type_units() {
    let flags = ["-shared", "-fPIC", "-gdwarf-5", "-fdebug-types-section"];
    check_text(&compile_c(&layouts_c(), &flags));
}
