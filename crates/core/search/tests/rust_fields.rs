//! Wrapped fields against rustc: offsets and sizes are those that the compiler gives.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use relayout_layout::abi::{AbiEngine, StructShape};
use relayout_layout::dwarf::{DwarfFile, DwarfTypeLoader, SectionStore};
use relayout_layout::{Aggregate, TypeArena};
use relayout_search::RustFieldRules;
use relayout_statistics::random::{RandomSequence, SplitMix64};

/// Structs to compare.
const STRUCTS: usize = 120;
/// Types of fields. Those with a niche are rare, as in structs that threads share.
const FIELDS: [&str; 14] = [
    "u8",
    "u16",
    "u32",
    "u64",
    "usize",
    "[u8; 6]",
    "[u64; 3]",
    "[u64; 4]",
    "[u64; 16]",
    "[u32; 16]",
    "(u8, u64)",
    "core::sync::atomic::AtomicU64",
    "core::sync::atomic::AtomicBool",
    "core::cell::UnsafeCell<[u8; 24]>",
];

/// A struct with the fields that are wrapped in its counterpart.
struct ComparedStruct {
    fields: Vec<&'static str>,
    wrapped: Vec<usize>,
    wrapper_bytes: u64,
}

impl ComparedStruct {
    /// Name of a field, or its size where it fills cache lines. The order of declaration, which debug
    /// information does not have, decides between fields of the same whole lines; they share no line
    /// in any order.
    fn words_of(&self, shape: &StructShape, wrapped: &[usize], name: &str) -> String {
        let atom = { shape.atoms.iter() }
            .position(|atom| atom.name == name)
            .expect("a field");
        let size = match wrapped.contains(&atom) {
            true => shape.atoms[atom].size.next_multiple_of(self.wrapper_bytes),
            false => shape.atoms[atom].size,
        };
        match size % 64 {
            0 => format!("{size} bytes"),
            _ => name.to_owned(),
        }
    }

    /// Lays out the shape of the plain struct with the wrapped fields, beside the compiler's struct.
    fn lay_out(&self, shape: &StructShape, expected: &Aggregate) -> ComparedLayouts {
        let atom_of = |field: &usize| {
            let name = format!("f{field}");
            let mut atoms = shape.atoms.iter();
            atoms.position(|atom| atom.name == name).expect("a field")
        };
        let wrapped: Vec<usize> = self.wrapped.iter().map(atom_of).collect();
        let rules = RustFieldRules {
            is_repr_c: false,
            wrapper_bytes: self.wrapper_bytes,
            line_bytes: 64,
        };
        let layout = rules.lay_out_wrapped(shape, &wrapped);
        let words_of = |name: &str| self.words_of(shape, &wrapped, name);
        let mut found: Vec<(u64, String)> = { shape.atoms.iter().zip(&layout.places) }
            .map(|(atom, place)| (place.offset, words_of(&atom.name)))
            .collect();
        found.sort_unstable();
        let mut made: Vec<(u64, String)> = { expected.members.iter() }
            .map(|member| {
                (
                    member.offset,
                    words_of(member.name.as_deref().unwrap_or_default()),
                )
            })
            .collect();
        made.sort_unstable();
        ComparedLayouts {
            words: format!("{:?} {:?}", self.fields, self.wrapped),
            found: (found, layout.size),
            made: (made, expected.size),
        }
    }
}

/// Types of fields with a niche. rustc places such a field at either end of the fields of its
/// alignment, so that the niche is near an end of the struct.
const FIELDS_WITH_NICHE: [&str; 3] = ["bool", "Option<u32>", "core::ptr::NonNull<u8>"];

fn random_struct(random: &mut SplitMix64, types: &[&'static str]) -> ComparedStruct {
    let count = 2 + random.below(7);
    let fields: Vec<&str> = (0..count)
        .map(|_| types[random.below(types.len())])
        .collect();
    let mut wrapped = vec![random.below(count), random.below(count)];
    wrapped.sort_unstable();
    wrapped.dedup();
    let wrapper_bytes = [64, 128][random.below(2)];
    ComparedStruct {
        fields,
        wrapped,
        wrapper_bytes,
    }
}

/// Source with `Plain0`, `Wrapped0`, and so on.
fn source(structs: &[ComparedStruct]) -> String {
    let mut text = "#![no_std]\n".to_owned();
    for bytes in [64, 128] {
        writeln!(
            text,
            "#[repr(align({bytes}))] pub struct Line{bytes}<T>(pub T);"
        )
        .unwrap();
    }
    for (number, compared) in structs.iter().enumerate() {
        for name in ["Plain", "Wrapped"] {
            write!(text, "pub struct {name}{number} {{").unwrap();
            for (index, field) in compared.fields.iter().enumerate() {
                let is_wrapped = name == "Wrapped" && compared.wrapped.contains(&index);
                let bytes = compared.wrapper_bytes;
                match is_wrapped {
                    true => write!(text, "pub f{index}: Line{bytes}<{field}>,").unwrap(),
                    false => write!(text, "pub f{index}: {field},").unwrap(),
                }
            }
            writeln!(text, "}}\n#[no_mangle] pub fn use_{name}{number}(s: &{name}{number}) -> usize {{ core::mem::size_of_val(s) }}").unwrap();
        }
    }
    text
}

fn compile(text: &str, folder: &Path) -> Vec<u8> {
    let (file, object) = (folder.join("structs.rs"), folder.join("structs.o"));
    std::fs::write(&file, text).unwrap();
    let words = "--crate-type=lib --emit=obj -g -A warnings --edition 2021 -C panic=abort -o";
    let mut rustc = Command::new("rustc");
    let rustc = rustc.args(words.split(' ')).arg(&object).arg(&file);
    assert!(rustc.status().unwrap().success());
    std::fs::read(object).unwrap()
}

/// A struct of the object file with its types.
fn load(file: &DwarfFile<'_>, name: &str) -> (TypeArena, Aggregate) {
    let mut loader = DwarfTypeLoader::new(file);
    let dies = file.find_types(name);
    let die = dies.first().unwrap_or_else(|| panic!("no {name}"));
    let id = loader.load(*die).unwrap();
    let types = loader.into_types();
    let aggregate = types.aggregate(id).expect("a struct").clone();
    (types, aggregate)
}

/// Offsets of the engine and of the compiler, each with the size, for structs of these types.
struct ComparedLayouts {
    words: String,
    found: (Vec<(u64, String)>, u64),
    made: (Vec<(u64, String)>, u64),
}

fn compare(seed: u64, types: &[&'static str]) -> Vec<ComparedLayouts> {
    let mut random = SplitMix64::new(seed);
    let structs: Vec<ComparedStruct> = (0..STRUCTS)
        .map(|_| random_struct(&mut random, types))
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let object = compile(&source(&structs), folder.path());
    let store = SectionStore::default();
    let file = DwarfFile::parse_with_store(&object, &store).unwrap();
    let numbered = structs.iter().enumerate();
    numbered
        .map(|(number, compared)| {
            let (types, plain) = load(&file, &format!("Plain{number}"));
            let (_, expected) = load(&file, &format!("Wrapped{number}"));
            let shape = AbiEngine::new(&types).shape(&plain).unwrap();
            compared.lay_out(&shape, &expected)
        })
        .collect()
}

#[test]
fn offsets_are_those_of_rustc() {
    for compared in compare(7, &FIELDS) {
        assert_eq!(compared.found, compared.made, "{}", compared.words);
    }
}

/// Debug information has no niches, so fields beside the wrapped ones may change places.
#[test]
fn wrapped_fields_have_their_lines_beside_niches() {
    let types = [&FIELDS[..], &FIELDS_WITH_NICHE].concat();
    for compared in compare(8, &types) {
        let whole = |(fields, size): &(Vec<(u64, String)>, u64)| {
            let whole = fields.iter().filter(|(_, words)| words.ends_with(" bytes"));
            let mut sizes: Vec<String> = whole.map(|(_, words)| words.clone()).collect();
            sizes.sort();
            let mixed = fields
                .iter()
                .filter(|(_, words)| !words.ends_with(" bytes"));
            let first = mixed.map(|(offset, _)| offset / 64).min();
            (sizes, first, *size)
        };
        let (found, made) = (whole(&compared.found), whole(&compared.made));
        assert_eq!(found, made, "{}", compared.words);
    }
}
