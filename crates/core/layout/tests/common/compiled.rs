//! Layouts of emitted structs by a compiler, read from its object file without running it. A
//! section of numbers holds sizes, alignments and offsets. Constants with one field of all bits set
//! show the bitfields.

#![allow(dead_code)]

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use object::{Object, ObjectSection, ObjectSymbol};
use relayout_layout::abi::emit::{EmitLanguage, EmittedStruct, StructEmitter};
use relayout_layout::abi::{AbiEngine, AtomArrangement, StructShape, TargetAbi};
use relayout_layout::{Aggregate, AggregateKind, Type, TypeArena, TypeId};
use relayout_statistics::random::{RandomSequence, SplitMix64};

/// Compiler, its language and its target.
#[derive(Clone, Debug)]
pub struct TestCompiler {
    pub program: String,
    pub arguments: Vec<String>,
    pub language: EmitLanguage,
    pub target: TargetAbi,
}

impl TestCompiler {
    /// Compiler from a command line such as `gcc -m32`.
    pub fn new(command: &str, language: EmitLanguage, target: TargetAbi) -> Self {
        let mut words = command.split_whitespace().map(str::to_owned);
        Self {
            program: words.next().expect("a command has a first word"),
            arguments: words.collect(),
            language,
            target,
        }
    }

    /// Fails the test unless the compiler works.
    #[track_caller]
    pub fn require(&self) {
        let flags: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        relayout_testkit::require_compiler(&self.program, &flags, "c", "int x;");
    }

    /// Object file of a translation unit.
    pub fn compile(&self, text: &str, debug: bool, folder: &Path) -> Vec<u8> {
        let (extension, standard) = match self.language {
            EmitLanguage::C => ("c", "-std=gnu11"),
            EmitLanguage::Cxx => ("cc", "-std=gnu++20"),
        };
        let source = folder.join("unit").with_extension(extension);
        let output = folder.join("unit.o");
        std::fs::write(&source, text).expect("the folder can be written");
        let done = Command::new(&self.program)
            .args(&self.arguments)
            .args(["-c", "-w", "-O0", standard])
            .args(debug.then_some("-g"))
            .arg("-o")
            .args([&output, &source])
            .output()
            .expect("the compiler runs");
        let stderr = String::from_utf8_lossy(&done.stderr);
        let start: Vec<&str> = stderr.lines().take(30).collect();
        if !done.status.success() {
            let kept = std::env::temp_dir()
                .join("relayout-abi-failed")
                .with_extension(extension);
            std::fs::copy(&source, &kept).expect("the source can be kept");
            panic!(
                "{} on {}:\n{}",
                self.program,
                kept.display(),
                start.join("\n")
            );
        }
        std::fs::read(output).expect("the compiler wrote its output")
    }
}

/// Arrangement of a struct.
pub struct ArrangementCase<'t> {
    /// Name in messages.
    pub name: String,
    pub aggregate: &'t Aggregate,
    pub shape: &'t StructShape,
    pub arrangement: AtomArrangement,
}

/// Counts and differences of a comparison.
#[derive(Debug, Default)]
pub struct ComparisonCounts {
    pub structs: usize,
    /// Number of compared offsets of members.
    pub offsets: usize,
    pub bitfields: usize,
    /// Cases whose types C cannot express.
    pub refused: Vec<String>,
    /// Cases in which compiler and engine differ.
    pub wrong: Vec<String>,
}

impl ComparisonCounts {
    pub fn add(&mut self, other: Self) {
        self.structs += other.structs;
        self.offsets += other.offsets;
        self.bitfields += other.bitfields;
        self.refused.extend(other.refused);
        self.wrong.extend(other.wrong);
    }
}

/// Emits all cases in one translation unit, compiles it and compares.
pub fn compare(
    abi: &AbiEngine<'_>,
    cases: &[ArrangementCase<'_>],
    compiler: &TestCompiler,
    folder: &Path,
) -> ComparisonCounts {
    let mut compared = ComparisonCounts::default();
    let mut emitter = StructEmitter::new(abi, compiler.language, "relayout_");
    let mut emitted = Vec::new();
    for case in cases {
        let tag = format!("s{}", emitted.len());
        match emitter.define_struct(&tag, case.aggregate, case.shape, &case.arrangement) {
            Ok(done) => emitted.push((case, done)),
            Err(e) => compared.refused.push(format!("{}: {e}", case.name)),
        }
    }
    if emitted.is_empty() {
        return compared;
    }
    let cxx = compiler.language == EmitLanguage::Cxx;
    let text = emitter.text().to_owned() + &probe_constants(&emitted, cxx);
    let object = compiler.compile(&text, false, folder);
    let measured = MeasuredObject::read(&object);
    let mut numbers = measured.numbers.iter().copied();
    for (index, (case, done)) in emitted.iter().enumerate() {
        let wrong = differences(index, done, &mut numbers, &measured, cxx);
        compared.structs += 1;
        let bits = done.members.iter().filter(|spot| spot.width_bits.is_some());
        let bits = bits.filter(|spot| !(cxx && spot.in_anonymous)).count();
        compared.bitfields += bits;
        let plain = done.members.iter().filter(|spot| spot.width_bits.is_none());
        compared.offsets += plain.count();
        if let Some(wrong) = wrong {
            compared.wrong.push(format!("{}: {wrong}", case.name));
        }
    }
    compared
}

/// Constants that contain the offsets.
fn probe_constants(emitted: &[(&ArrangementCase<'_>, EmittedStruct)], cxx: bool) -> String {
    let (mut numbers, mut constants) = (String::new(), String::new());
    for (index, (_, done)) in emitted.iter().enumerate() {
        write!(
            numbers,
            "sizeof(struct s{index}), __alignof__(struct s{index}),"
        )
        .unwrap();
        for (nth, spot) in done.members.iter().enumerate() {
            let name = &spot.name;
            match spot.width_bits {
                None => write!(numbers, "__builtin_offsetof(struct s{index}, {name}),").unwrap(),
                Some(_) if cxx && spot.in_anonymous => {}
                Some(_) => {
                    let ones = match cxx {
                        true => format!("(decltype(s{index}::{name}))-1"),
                        false => "-1".to_owned(),
                    };
                    writeln!(
                        constants,
                        "static const struct s{index} b{index}_{nth} __asm__(\"b{index}_{nth}\") \
                         __attribute__((used)) = {{ .{name} = {ones} }};"
                    )
                    .unwrap();
                }
            }
        }
        numbers.push('\n');
    }
    format!(
        "static const unsigned long long numbers[] \
         __attribute__((used, section(\"measured\"))) = {{\n{numbers}}};\n{constants}"
    )
}

/// Numbers and constants of an object file.
struct MeasuredObject<'o> {
    file: object::File<'o>,
    numbers: Vec<u64>,
    symbols: std::collections::HashMap<&'o str, (u64, u64, object::SectionIndex)>,
}

impl<'o> MeasuredObject<'o> {
    fn read(object: &'o [u8]) -> Self {
        let file = object::File::parse(object).expect("compilers write object files");
        let section = file
            .section_by_name("measured")
            .expect("the numbers are there");
        let number = |bytes: &[u8]| {
            let bytes = bytes.try_into().expect("chunks of 8");
            match file.is_little_endian() {
                true => u64::from_le_bytes(bytes),
                false => u64::from_be_bytes(bytes),
            }
        };
        let data = section.data().expect("the section has contents");
        let numbers = data.chunks_exact(8).map(number).collect();
        let symbols = file.symbols().filter_map(|symbol| {
            let section = symbol.section_index()?;
            Some((
                symbol.name().ok()?,
                (symbol.address(), symbol.size(), section),
            ))
        });
        let symbols = symbols.collect();
        Self {
            file,
            numbers,
            symbols,
        }
    }

    /// First bit set in a constant, and the number of bits set, in the order of bitfields.
    fn bits(&self, name: &str) -> (u64, u64) {
        let (start, size, section) = self.symbols[name];
        let section = self
            .file
            .section_by_index(section)
            .expect("symbols have sections");
        let data = section.data().expect("the section has contents");
        let start = usize::try_from(start).expect("offsets fit");
        let bytes = &data[start..][..usize::try_from(size).expect("sizes fit")];
        let first = bytes
            .iter()
            .position(|byte| *byte != 0)
            .expect("a bit is set");
        let within = match self.file.is_little_endian() {
            true => bytes[first].trailing_zeros(),
            false => bytes[first].leading_zeros(),
        };
        let count: u32 = bytes.iter().map(|byte| byte.count_ones()).sum();
        (first as u64 * 8 + u64::from(within), u64::from(count))
    }
}

fn differences(
    index: usize,
    emitted: &EmittedStruct,
    numbers: &mut impl Iterator<Item = u64>,
    measured: &MeasuredObject<'_>,
    cxx: bool,
) -> Option<String> {
    let mut wrong = Vec::new();
    let mut differ = |property: &str, engine: u64, compiler: u64| {
        if engine != compiler {
            wrong.push(format!("{property}: engine {engine}, compiler {compiler}"));
        }
    };
    let mut next = || numbers.next().expect("one number for each question");
    differ("size", emitted.layout.size, next());
    differ("alignment", emitted.layout.align, next());
    for (nth, spot) in emitted.members.iter().enumerate() {
        match spot.width_bits {
            None => differ(&spot.name, spot.first_bit, next() * 8),
            Some(_) if cxx && spot.in_anonymous => {}
            Some(width) => {
                let (first, count) = measured.bits(&format!("b{index}_{nth}"));
                differ(&spot.name, spot.first_bit, first);
                differ("width", width, count);
            }
        }
    }
    (!wrong.is_empty()).then(|| wrong.join("; "))
}

/// Random order. A flexible atom stays last.
pub fn shuffled_arrangement(random: &mut SplitMix64, shape: &StructShape) -> AtomArrangement {
    let mut arrangement = shape.current_arrangement();
    let fixed = shape.atoms.last().is_some_and(|atom| atom.flexible);
    let count = arrangement.order.len() - usize::from(fixed);
    random.shuffle(&mut arrangement.order[..count]);
    arrangement
}

/// Random order with alignments as the search adds them: on some members and on some types, none
/// smaller than the unit of a bitfield.
pub fn aligned_arrangement(random: &mut SplitMix64, shape: &StructShape) -> AtomArrangement {
    let mut arrangement = shuffled_arrangement(random, shape);
    for align in &mut arrangement.align {
        if random.below(4) == 0 {
            *align = 8 << random.below(5);
        }
    }
    if random.below(4) == 0 {
        arrangement.type_align = 8 << random.below(5);
    }
    arrangement
}

/// Structs and classes of an arena whose members are known, by id.
pub fn structs(types: &TypeArena) -> Vec<(TypeId, &Aggregate)> {
    let ids = (0..types.len()).map(|index| TypeId(u32::try_from(index).expect("an arena's index")));
    ids.filter_map(|id| match types.get(id) {
        Type::Aggregate(aggregate)
            if aggregate.complete && aggregate.kind != AggregateKind::Union =>
        {
            Some((id, aggregate))
        }
        _ => None,
    })
    .collect()
}

/// Returns true if the layout of the own order is the compiled one.
pub fn reproduces_own_layout(shape: &StructShape, aggregate: &Aggregate) -> bool {
    let current = shape.current_arrangement();
    let again = shape.apply_arrangement(aggregate, &current, &shape.lay_out(&current));
    let mut pairs = again.members.iter().zip(&aggregate.members);
    again.size == aggregate.size
        && pairs.all(|(new, old)| match (new.bits, old.bits) {
            (Some(new), Some(old)) => new == old,
            _ => new.offset == old.offset,
        })
}
