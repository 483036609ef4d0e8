//! Comparison of the C ABI engine with a compiler over every struct of a file, in random orders of
//! their members.
//!
//! ```text
//! cargo run --release -p relayout-layout --example abi -- VMLINUX [--compiler 'gcc -m32'] [--seed N]
//! ```
//!
//! Writes each struct as C three times: in its own order, in a random one, and in a random one with
//! random alignments on members and on the type. The compiler's object file contains the offsets of
//! the members; nothing is run. A compiler with `++` in its name gets C++.

#[path = "../tests/common/compiled.rs"]
mod compiled;

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use compiled::{
    ArrangementCase, ComparisonCounts, TestCompiler, aligned_arrangement, compare,
    reproduces_own_layout, shuffled_arrangement, structs,
};
use relayout_layout::abi::emit::EmitLanguage;
use relayout_layout::abi::{AbiEngine, AbiError, StructShape, TargetAbi};
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_layout::dwarf::SectionStore;
use relayout_layout::{Aggregate, SourceLine};
use relayout_statistics::random::SplitMix64;

/// Number of names whose definitions share a translation unit.
const UNIT_NAMES: usize = 1000;

struct Options {
    path: String,
    compiler: Option<String>,
    seed: u64,
    format: DebugInfoFormat,
}

#[derive(Default)]
struct AbiTotals {
    structs: usize,
    refused: BTreeMap<&'static str, Vec<String>>,
    /// Number of structs by the number of their attributes.
    attributes: BTreeMap<usize, usize>,
    /// Structs with more than two attributes.
    many_attributes: Vec<String>,
    own: ComparisonCounts,
    shuffled: ComparisonCounts,
    aligned: ComparisonCounts,
    own_order_differs: Vec<String>,
    engine: Duration,
}

impl AbiTotals {
    /// Adds the attributes of a shape, and a difference from its own layout.
    fn add(&mut self, shape: &StructShape, aggregate: &Aggregate) {
        let attributes = shape.attributes();
        let count = attributes.len();
        *self.attributes.entry(count).or_default() += 1;
        if count > 2 {
            let words: Vec<String> = attributes.iter().map(ToString::to_string).collect();
            let words = words.join(", ");
            self.many_attributes
                .push(format!("{}: {words}", name(aggregate)));
        }
        if !reproduces_own_layout(shape, aggregate) {
            self.own_order_differs.push(name(aggregate));
        }
    }
}

fn main() {
    let options = options();
    let file = std::fs::File::open(&options.path).expect("the file can be opened");
    // SAFETY: nobody writes to the file meanwhile.
    let bytes = unsafe { memmap2::Mmap::map(&file) }.expect("the file can be mapped");
    let target = TargetAbi::from_elf(&bytes).unwrap_or(TargetAbi::X86_64);
    let command = options.compiler.clone().unwrap_or_else(|| "gcc".to_owned());
    let language = match command.contains("++") {
        true => EmitLanguage::Cxx,
        false => EmitLanguage::C,
    };
    let compiler = TestCompiler::new(&command, language, target);
    let store = SectionStore::default();
    let catalog = TypeCatalog::parse(&bytes, &store, options.format).expect("types can be read");
    let start = Instant::now();
    let totals = run(&catalog, &compiler, options.seed);
    print(&totals, start.elapsed(), &command, options.seed);
    let comparisons = [&totals.own, &totals.shuffled, &totals.aligned];
    if !totals.own_order_differs.is_empty()
        || comparisons
            .iter()
            .any(|compared| !compared.wrong.is_empty())
    {
        std::process::exit(1);
    }
}

fn options() -> Options {
    let mut options = Options {
        path: String::new(),
        compiler: None,
        seed: 1,
        format: DebugInfoFormat::Any,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().expect("the option has a value");
        match argument.as_str() {
            "--compiler" => options.compiler = Some(value()),
            "--seed" => options.seed = value().parse().expect("a number"),
            "--btf" => options.format = DebugInfoFormat::Btf,
            _ => options.path = argument,
        }
    }
    assert!(!options.path.is_empty(), "which file?");
    options
}

fn run(catalog: &TypeCatalog<'_>, compiler: &TestCompiler, seed: u64) -> AbiTotals {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut random = SplitMix64::new(seed);
    let mut totals = AbiTotals::default();
    let mut seen: HashSet<(Option<String>, Option<SourceLine>, u64, usize)> = HashSet::new();
    let entries = catalog.aggregates();
    for names in entries.chunks(UNIT_NAMES) {
        let loaded = catalog.load(names).expect("the types can be loaded");
        let abi = AbiEngine::for_target(&loaded.types, compiler.target);
        let abi = abi.alignments_recorded(catalog.knows_alignments());
        let mut shapes = Vec::new();
        for (_, aggregate) in structs(&loaded.types) {
            let key = (
                aggregate.name.clone(),
                aggregate.decl.clone(),
                aggregate.size,
                aggregate.members.len(),
            );
            if !seen.insert(key) {
                continue;
            }
            totals.structs += 1;
            let before = Instant::now();
            let shape = abi.shape(aggregate);
            totals.engine += before.elapsed();
            match shape {
                Ok(shape) => {
                    totals.add(&shape, aggregate);
                    shapes.push((aggregate, shape));
                }
                Err(e) => totals
                    .refused
                    .entry(kind(&e))
                    .or_default()
                    .push(e.to_string()),
            }
        }
        let cases = |arrange: &mut dyn FnMut(&StructShape) -> _| -> Vec<ArrangementCase<'_>> {
            let cases = shapes.iter().map(|(aggregate, shape)| ArrangementCase {
                name: name(aggregate),
                aggregate,
                shape,
                arrangement: arrange(shape),
            });
            cases.collect()
        };
        let compare = |cases: &[ArrangementCase<'_>]| compare(&abi, cases, compiler, folder.path());
        totals
            .own
            .add(compare(&cases(&mut |shape| shape.current_arrangement())));
        totals.shuffled.add(compare(&cases(&mut |shape| {
            shuffled_arrangement(&mut random, shape)
        })));
        totals.aligned.add(compare(&cases(&mut |shape| {
            aligned_arrangement(&mut random, shape)
        })));
    }
    totals
}

fn name(aggregate: &Aggregate) -> String {
    match (&aggregate.name, &aggregate.decl) {
        (Some(name), _) => name.clone(),
        (None, Some(decl)) => format!("{}:{}", decl.file, decl.line),
        (None, None) => "?".to_owned(),
    }
}

fn kind(error: &AbiError) -> &'static str {
    match error {
        AbiError::Incomplete { .. } => "only declared",
        AbiError::NotAStruct { .. } => "unions",
        AbiError::UnknownSize { .. } => "a member's size is not known",
        AbiError::Overlap { .. } => "members overlap",
        AbiError::Variants { .. } => "Rust enums",
        AbiError::Base { .. } => "base classes",
        AbiError::Virtual { .. } => "virtual functions or bases",
        AbiError::Wide { .. } => "bitfields wider than their type",
        AbiError::Unexplained { .. } => "gaps",
        AbiError::Huge { .. } => "absurd size",
        AbiError::NotC { .. } => "not C",
    }
}

fn print(totals: &AbiTotals, elapsed: Duration, command: &str, seed: u64) {
    println!("{} structs, seed {seed}, {command}", totals.structs);
    println!(
        "engine took {:?} to take them apart, all took {elapsed:?}",
        totals.engine
    );
    println!("attributes that explain a struct: {:?}", totals.attributes);
    println!("more than two: {}", list(&totals.many_attributes));
    for (kind, errors) in &totals.refused {
        println!("refused, {kind}: {}", errors.len());
        for error in errors.iter().take(5) {
            println!("    {error}");
        }
    }
    println!(
        "own order differs from debug information: {}",
        list(&totals.own_order_differs)
    );
    for (order, compared) in [
        ("own order", &totals.own),
        ("random order", &totals.shuffled),
        ("random order and alignments", &totals.aligned),
    ] {
        println!(
            "{order}: {} structs, {} offsets, {} bitfields; cannot be written: {}; wrong: {}",
            compared.structs,
            compared.offsets,
            compared.bitfields,
            list(&compared.refused),
            list(&compared.wrong),
        );
    }
}

fn list(names: &[String]) -> String {
    let mut text = names.len().to_string();
    for name in names.iter().take(20) {
        text.push_str("\n    ");
        text.push_str(name);
    }
    text
}
