//! Random structs, laid out by GCC and by the engine: in the order that was compiled, and in
//! another order of the same members.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::{Abi, Arrangement, Shape};
use crate::{Aggregate, BitRange, Member, Type, TypeId, Types};

/// Spelling and size of the types that members are made of; the last three are declared in
/// [`PREAMBLE`].
const TYPES: [(&str, u64); 9] = [
    ("unsigned char", 1),
    ("unsigned short", 2),
    ("unsigned int", 4),
    ("unsigned long", 8),
    ("long double", 16),
    ("void *", 8),
    ("struct mixed", 8),
    ("struct bytes", 3),
    ("struct squeezed", 9),
];

/// Alignment in bytes of [`TYPES`].
const NATURAL_ALIGN: [u64; 9] = [1, 2, 4, 8, 16, 8, 4, 1, 1];

const PREAMBLE: &str = "
#include <stddef.h>
#include <stdio.h>
#include <string.h>
struct mixed { unsigned char a; unsigned int b; };
struct bytes { unsigned char a[3]; };
struct squeezed { unsigned char a; unsigned long b; } __attribute__((packed));
static void bit(const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n * 8; i++)
		if (p[i / 8] >> (i % 8) & 1) { printf(\"%zu \", i); return; }
}
";

#[derive(Clone, Debug)]
struct Field {
    ty: usize,
    /// Width in bits of a bitfield.
    width: Option<u64>,
    count: Option<u64>,
    align: Option<u64>,
}

#[derive(Clone, Debug)]
struct Struct {
    fields: Vec<Field>,
    /// Another order of the atoms, as sort keys.
    keys: Vec<u32>,
    packed: bool,
    align: Option<u64>,
}

fn field() -> impl Strategy<Value = Field> {
    let plain = (
        0..TYPES.len(),
        proptest::option::weighted(0.2, 1u64..6),
        aligns(0.1),
    )
        .prop_map(|(ty, count, align)| Field {
            ty,
            width: None,
            count,
            align,
        });
    let bits = (0usize..4).prop_flat_map(|ty| {
        (Just(ty), 1..=TYPES[ty].1 * 8).prop_map(|(ty, width)| Field {
            ty,
            width: Some(width),
            count: None,
            align: None,
        })
    });
    prop_oneof![2 => plain, 1 => bits]
}

fn aligns(weight: f64) -> impl Strategy<Value = Option<u64>> {
    proptest::option::weighted(weight, (1u32..7).prop_map(|shift| 1 << shift))
}

fn one_struct() -> impl Strategy<Value = Struct> {
    (
        proptest::collection::vec(field(), 1..10),
        proptest::collection::vec(any::<u32>(), 10),
        proptest::bool::weighted(0.25),
        aligns(0.15),
    )
        .prop_map(|(fields, keys, packed, align)| Struct {
            fields,
            keys,
            packed,
            align,
        })
}

/// One struct as GCC laid it out.
#[derive(Debug)]
struct Compiled {
    size: u64,
    /// Bits from the start, by field in the order declared.
    first_bits: Vec<u64>,
}

fn declare(text: &mut String, tag: &str, what: &Struct, order: &[usize]) {
    let packed = if what.packed { ", packed" } else { "" };
    let align = what
        .align
        .map(|align| format!(", aligned({align})"))
        .unwrap_or_default();
    write!(text, "struct {tag} {{ ").unwrap();
    for &index in order {
        let field = &what.fields[index];
        let name = TYPES[field.ty].0;
        write!(text, "{name} f{index}").unwrap();
        if let Some(width) = field.width {
            write!(text, ":{width}").unwrap();
        }
        if let Some(count) = field.count {
            write!(text, "[{count}]").unwrap();
        }
        if let Some(align) = field.align {
            write!(text, " __attribute__((aligned({align})))").unwrap();
        }
        text.push_str("; ");
    }
    writeln!(text, "}} __attribute__((unused{packed}{align}));").unwrap();
}

fn measure(main: &mut String, tag: &str, what: &Struct, order: &[usize]) {
    write!(main, "{{ struct {tag} s; printf(\"%zu \", sizeof s); ").unwrap();
    for &index in order {
        match what.fields[index].width {
            Some(_) => write!(
                main,
                "memset(&s, 0, sizeof s); s.f{index} = -1; bit((void *)&s, sizeof s); "
            ),
            None => write!(
                main,
                "printf(\"%zu \", 8 * offsetof(struct {tag}, f{index})); "
            ),
        }
        .unwrap();
    }
    main.push_str("puts(\"\"); }\n");
}

/// Compiles every (struct, order) in one program and runs it.
fn compile(cases: &[(&Struct, Vec<usize>)], folder: &Path) -> Vec<Compiled> {
    let (mut text, mut main) = (PREAMBLE.to_owned(), String::new());
    for (number, (what, order)) in cases.iter().enumerate() {
        declare(&mut text, &format!("s{number}"), what, order);
        measure(&mut main, &format!("s{number}"), what, order);
    }
    write!(text, "int main(void)\n{{\n{main}return 0; }}\n").unwrap();
    let (source, program) = (folder.join("t.c"), folder.join("t"));
    std::fs::write(&source, text).unwrap();
    let gcc = Command::new("gcc")
        .args(["-w", "-O0", "-o"])
        .arg(&program)
        .arg(&source)
        .output();
    let gcc = gcc.expect("gcc is needed for this test");
    assert!(
        gcc.status.success(),
        "{}",
        String::from_utf8_lossy(&gcc.stderr)
    );
    let out = Command::new(&program).output().unwrap();
    String::from_utf8(out.stdout)
        .unwrap()
        .lines()
        .map(|line| {
            let mut numbers = line
                .split_whitespace()
                .map(|number| number.parse().unwrap());
            Compiled {
                size: numbers.next().unwrap(),
                first_bits: numbers.collect(),
            }
        })
        .collect()
}

/// The arena that a reader would make: [`TYPES`] first, then what they consist of.
fn arena() -> Types {
    let member = |name: &str, ty: u32, offset| Member {
        name: Some(name.to_owned()),
        ty: TypeId(ty),
        offset,
        bits: None,
        declared_align: None,
        decl: None,
    };
    let aggregate = |name: &str, size, members| Type::Aggregate(blank(name, size, None, members));
    let mut types: Vec<Type> = TYPES[..6]
        .iter()
        .map(|(name, size)| Type::Base {
            name: (*name).to_owned(),
            size: *size,
        })
        .collect();
    types.push(aggregate(
        "mixed",
        8,
        vec![member("a", 0, 0), member("b", 2, 4)],
    ));
    types.push(aggregate("bytes", 3, vec![member("a", 9, 0)]));
    types.push(aggregate(
        "squeezed",
        9,
        vec![member("a", 0, 0), member("b", 3, 1)],
    ));
    types.push(Type::Array {
        element: TypeId(0),
        counts: vec![Some(3)],
    });
    Types { types }
}

fn blank(name: &str, size: u64, declared_align: Option<u64>, members: Vec<Member>) -> Aggregate {
    Aggregate {
        name: Some(name.to_owned()),
        size,
        declared_align,
        members,
        complete: true,
        ..Aggregate::default()
    }
}

/// The struct as a reader would give it.
fn read_back(types: &mut Types, what: &Struct, compiled: &Compiled) -> Aggregate {
    let members = what.fields.iter().zip(&compiled.first_bits).enumerate();
    let members = members.map(|(index, (field, first))| {
        let mut ty = TypeId(u32::try_from(field.ty).unwrap());
        if let Some(count) = field.count {
            types.types.push(Type::Array {
                element: ty,
                counts: vec![Some(count)],
            });
            ty = TypeId(u32::try_from(types.types.len()).unwrap() - 1);
        }
        let natural = NATURAL_ALIGN[field.ty];
        Member {
            name: Some(format!("f{index}")),
            ty,
            offset: first / 8,
            bits: field.width.map(|size_bits| BitRange {
                offset_bits: *first,
                size_bits,
            }),
            // GCC ignores an attribute that would lower it, in the debug information too.
            declared_align: field.align.filter(|align| what.packed || *align >= natural),
            decl: None,
        }
    });
    let members = members.collect();
    blank("s", compiled.size, what.align, members)
}

/// The fields in the order that the atoms have when sorted by the struct's keys.
fn shuffled(what: &Struct, shape: &Shape) -> (Arrangement, Vec<usize>) {
    let mut arrangement = shape.current();
    arrangement.order.sort_by_key(|atom| what.keys[*atom]);
    let fields = arrangement
        .order
        .iter()
        .flat_map(|atom| shape.atoms[*atom].members.clone());
    let fields = fields.collect();
    (arrangement, fields)
}

fn check(shape: &Shape, arrangement: &Arrangement, compiled: &Compiled) -> Result<(), String> {
    let layout = shape.lay_out(arrangement);
    let mut first_bits = Vec::new();
    for &atom in &arrangement.order {
        let place = &layout.places[atom];
        match place.bits.is_empty() {
            true => first_bits.push(place.offset * 8),
            false => first_bits.extend(&place.bits),
        }
    }
    if first_bits == compiled.first_bits && layout.size == compiled.size {
        return Ok(());
    }
    Err(format!(
        "engine {first_bits:?} size {}, gcc {compiled:?}",
        layout.size
    ))
}

/// Packed without a trace: all members sit where they would anyway, so nothing can tell.
fn hides_packed(what: &Struct, shape: &Shape) -> bool {
    what.packed != shape.packed
}

#[test]
fn same_as_gcc() {
    let folder = tempfile::tempdir().unwrap();
    let mut runner = TestRunner::new(Config {
        cases: 8,
        max_shrink_iters: 200,
        failure_persistence: None,
        ..Config::default()
    });
    let many = proptest::collection::vec(one_struct(), 1..200);
    let outcome = runner.run(&many, |structs| {
        let declared: Vec<(&Struct, Vec<usize>)> = structs
            .iter()
            .map(|what| (what, (0..what.fields.len()).collect()))
            .collect();
        let compiled = compile(&declared, folder.path());
        let mut others = Vec::new();
        for (what, compiled) in structs.iter().zip(&compiled) {
            let mut types = arena();
            let aggregate = read_back(&mut types, what, compiled);
            let shape = Abi::new(&types).shape(&aggregate);
            let shape = shape.map_err(|e| TestCaseError::fail(format!("{e}: {what:?}")))?;
            check(&shape, &shape.current(), compiled)
                .map_err(|e| TestCaseError::fail(format!("own order: {e}\n{what:?}")))?;
            prop_assert!(!shape.unexplained, "unexplained: {:?}", what);
            if !hides_packed(what, &shape) {
                let (arrangement, fields) = shuffled(what, &shape);
                others.push(((what, fields), arrangement, shape));
            }
        }
        let cases: Vec<_> = others.iter().map(|(case, ..)| case.clone()).collect();
        for ((case, arrangement, shape), compiled) in
            others.iter().zip(compile(&cases, folder.path()))
        {
            check(shape, arrangement, &compiled)
                .map_err(|e| TestCaseError::fail(format!("other order: {e}\n{case:?}")))?;
        }
        Ok(())
    });
    if let Err(e) = outcome {
        panic!("{e}");
    }
}
