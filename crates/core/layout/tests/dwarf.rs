//! Reader of DWARF on objects that gcc compiles here.

use crate::common;

use relayout_layout::dwarf::{DwarfFile, DwarfTypeLoader};
use relayout_layout::{Error, Type};

#[test]
fn sections_that_change_need_a_store() {
    let bytes = common::object(&["-g"]);
    let error = DwarfFile::parse(&bytes).err().unwrap();
    assert!(
        matches!(
            error,
            Error::NeedsStore {
                section: ".debug_info"
            }
        ),
        "{error}"
    );
}

#[test]
fn program_has_variables_functions_and_symbols() {
    let bytes = program();
    let file = DwarfFile::parse(&bytes).unwrap();
    assert_eq!(file.build_id().unwrap().len(), 20);
    let names: Vec<&str> = file.globals().iter().map(|global| global.name).collect();
    for name in ["counter", "lines", "hidden", "either", "pointed"] {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
    assert!(file.globals().is_sorted_by_key(|global| global.address));
    for global in file.globals() {
        let symbol = file
            .symbols()
            .iter()
            .find(|symbol| symbol.name == global.name)
            .unwrap();
        assert_eq!(symbol.address, global.address, "{}", global.name);
        assert!(symbol.is_object());
    }
    let step = file
        .symbols()
        .iter()
        .find(|symbol| symbol.name == "step")
        .unwrap();
    let range = file
        .functions()
        .iter()
        .find(|range| range.low == step.address)
        .unwrap();
    assert_eq!(range.high - range.low, step.size);
    let code = file.bytes_at(range.low, 4).unwrap();
    assert_eq!(code.len(), 4);
    let local: Vec<&str> = file
        .static_locals()
        .iter()
        .map(|global| global.name)
        .collect();
    assert_eq!(local, ["calls"]);
}

#[test]
fn pointers_are_stubs_until_completed() {
    let bytes = program();
    let file = DwarfFile::parse(&bytes).unwrap();
    let mut types = DwarfTypeLoader::new(&file);
    let pointed = file
        .globals()
        .iter()
        .find(|global| global.name == "pointed")
        .unwrap();
    let pointer = types.load(pointed.type_die).unwrap();
    let Type::Pointer {
        target: Some(target),
        ..
    } = *types.types().get(pointer)
    else {
        panic!()
    };
    assert!(!types.types().aggregate(target).unwrap().complete);
    assert_eq!(types.types().size_of(target), None);
    let same = types.complete(target).unwrap();
    assert_eq!(same, target);
    assert_eq!(types.types().size_of(target), Some(48));
    assert_eq!(types.types().name_of(pointer), "struct holes *");
    let again = types.load(file.find_types("holes")[0]).unwrap();
    assert_eq!(again, target, "one entry is one type");
}

#[test]
fn members_by_offset() {
    let bytes = program();
    let file = DwarfFile::parse(&bytes).unwrap();
    let mut types = DwarfTypeLoader::new(&file);
    let mut check =
        |name: &str, offset: u64, size: u64, expect: Option<(&str, u64, u64, &[&str])>| {
            let id = types.load(file.find_types(name)[0]).unwrap();
            let found = types.types().member_at(id, offset, size);
            let found = found.as_ref().map(|found| {
                let path: Vec<&str> = found.types_path.iter().map(String::as_str).collect();
                (found.path.as_str(), found.offset, found.size, path)
            });
            let expect =
                expect.map(|(path, offset, size, types)| (path, offset, size, types.to_vec()));
            assert_eq!(found, expect, "{name} +{offset}, {size} bytes");
        };
    check("holes", 8, 8, Some(("b", 8, 8, &["holes"])));
    check("holes", 3, 1, Some(("", 1, 7, &["holes"])));
    check(
        "holes",
        32,
        8,
        Some(("list.prev", 32, 8, &["holes", "list"])),
    );
    check("holes", 45, 1, Some(("", 41, 7, &["holes"])));
    check("holes", 48, 1, None);
    check("lines", 8, 8, Some(("head[]", 8, 8, &["lines"])));
    check("lines", 72, 8, Some(("both", 72, 8, &["lines"])));
    check("lines", 76, 4, Some(("y", 76, 4, &["lines"])));
    check("lines", 92, 4, Some(("named.id", 92, 4, &["lines"])));
    check(
        "lines",
        252,
        4,
        Some(("count.counter", 252, 4, &["lines", "atomic_t"])),
    );
    check("lines", 288, 8, Some(("pairs[]", 288, 8, &["lines"])));
    check("bits", 4, 4, Some(("one", 4, 1, &["bits"])));
    check("bits", 6, 1, Some(("more", 6, 1, &["bits"])));
    check(
        "flexible",
        1000,
        1,
        Some(("data[]", 1000, 1, &["flexible"])),
    );
    check("list", 16, 8, None);
}

#[test]
fn declarations_say_where() {
    let bytes = program();
    let file = DwarfFile::parse(&bytes).unwrap();
    let mut types = DwarfTypeLoader::new(&file);
    let id = types.load(file.find_types("pair")[0]).unwrap();
    let pair = types.types().aggregate(id).unwrap();
    let decl = pair.decl.as_ref().unwrap();
    assert!(decl.file.ends_with("tests/data/layouts.c"), "{}", decl.file);
    let source = std::fs::read_to_string(common::layouts_c()).unwrap();
    let line = source.lines().nth(decl.line as usize - 1).unwrap();
    assert!(line.starts_with("struct pair"), "{line}");
}

#[test]
fn bad_input_is_named() {
    let check = |bytes: &[u8], expect: &str| {
        let error = DwarfFile::parse(bytes).err().expect("an error").to_string();
        assert!(error.contains(expect), "{error}");
    };
    check(b"", "it is empty");
    check(b"#!/bin/sh\n", "not an ELF file: it starts with a script");
    check(b"\x1f\x8b\x08\x00", "gzip data; decompress it first");
    check(b"\x7fELF", "truncated ELF file: the header");
    let mut boot = vec![0; 0x400];
    boot[0x202..0x206].copy_from_slice(b"HdrS");
    check(&boot, "Linux boot image");
    let whole = program();
    check(&whole[..whole.len() / 2], "truncated ELF file");
    check(
        &whole[..60],
        "truncated ELF file: the header ends at byte 64, the file has 60",
    );
    check(
        &common::gcc(&common::layouts_c(), &["-shared", "-fPIC", "-s"]),
        "build with -g",
    );
}

/// Shared object: linked, so that sections are read in place, and without a main.
fn program() -> Vec<u8> {
    common::gcc(
        &common::layouts_c(),
        &["-shared", "-fPIC", "-g", "-O0", "-Wl,--build-id=sha1"],
    )
}

#[test]
fn a_file_is_shared_between_threads() {
    fn check<T: Sync + Send>(_: &T) {}
    let bytes = program();
    check(&DwarfFile::parse(&bytes).unwrap());
}
