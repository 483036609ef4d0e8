//! Comparison of the emitted assertions with the check, for random structs and rules. The compiler
//! rejects the text exactly if `relayout check` finds a violation.

use std::cell::Cell;

use crate::compilers::{C, Project, Target};
use proptest::prelude::*;
use proptest::test_runner::{Config as Runs, TestRunner};
use relayout_check::emit::EmitForm;
use relayout_check::{CheckConfig, CheckSettings, Date, FileFacts, LayoutCheck};
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_layout::dwarf::SectionStore;

const TYPES: [&str; 9] = [
    "char",
    "short",
    "int",
    "long",
    "long long",
    "double",
    "void *",
    "struct { char a; long b; char c[40]; }",
    "union { int i; long double d; }",
];

#[derive(Clone, Debug)]
struct Field {
    ty: usize,
    /// Number of elements of an array.
    count: Option<u64>,
    align: Option<u64>,
}

/// Key of a rule, and its members.
#[derive(Clone, Debug)]
struct Asked {
    key: &'static str,
    members: Vec<usize>,
    number: u64,
}

fn field() -> impl Strategy<Value = Field> {
    let count = prop_oneof![4 => Just(None), 1 => (1u64..40).prop_map(Some)];
    let align = prop_oneof![6 => Just(None), 1 => Just(Some(16)), 1 => Just(Some(64))];
    (0..TYPES.len(), count, align).prop_map(|(ty, count, align)| Field { ty, count, align })
}

fn asked(fields: usize) -> impl Strategy<Value = Asked> {
    let keys = [
        "same_line",
        "within_line",
        "different_lines",
        "different_pairs",
        "no_straddle",
        "aligned",
        "size_max",
        "at",
        "align",
    ];
    let members = proptest::collection::btree_set(0..fields, 2..=3.min(fields));
    (proptest::sample::select(keys.to_vec()), members, 0u64..200).prop_map(
        |(key, members, number)| Asked {
            key,
            members: members.into_iter().collect(),
            number,
        },
    )
}

fn header(fields: &[Field]) -> String {
    let members = fields.iter().enumerate().map(|(index, field)| {
        let count = field
            .count
            .map(|count| format!("[{count}]"))
            .unwrap_or_default();
        let align = field
            .align
            .map(|bytes| format!(" __attribute__((aligned({bytes})))"));
        format!(
            "\t{} m{index}{count}{};\n",
            TYPES[field.ty],
            align.unwrap_or_default()
        )
    });
    format!("struct s {{\n{}}};\n", members.collect::<String>())
}

impl Asked {
    fn config(&self) -> String {
        let all: Vec<String> = self.members.iter().map(|m| format!("\"m{m}\"")).collect();
        let (first, bytes) = (&all[0], 1u64 << (self.number % 7));
        let value = match self.key {
            "no_straddle" | "same_line" | "within_line" | "different_lines" | "different_pairs" => {
                format!("[{}]", all.join(", "))
            }
            "aligned" => format!("{{ {first} = {bytes} }}"),
            "at" => format!("{{ {first} = {} }}", self.number),
            "align" => bytes.to_string(),
            _ => self.number.to_string(),
        };
        format!("[[type]]\nname = \"s\"\n{} = {value}\n", self.key)
    }

    fn is_relation(&self) -> bool {
        !matches!(self.key, "aligned" | "size_max" | "at" | "align")
    }
}

/// Returns true if the header, compiled for the target, satisfies the rules.
fn holds(project: &Project, target: &Target, config: &str) -> bool {
    let config = CheckConfig::parse(config).unwrap();
    let object = project.object(target);
    let store = SectionStore::default();
    let catalog = TypeCatalog::parse(&object, &store, DebugInfoFormat::Any).unwrap();
    let settings = CheckSettings {
        today: Date::parse("2026-01-01").unwrap(),
        configurations: &[],
        lock: None,
        baseline: &[],
    };
    let mut check = LayoutCheck::new(&config, settings);
    check
        .judge_file(&catalog, &FileFacts::from_headers("s.o", &object))
        .unwrap();
    let outcome = check.finish();
    assert!(outcome.checked > 0);
    outcome.violations.is_empty()
}

#[test]
fn the_compiler_and_the_check_agree() {
    let wide = Target::wide(C);
    let narrow = Target::all()
        .into_iter()
        .filter(|target| target.is_narrow && target.language == C);
    let narrow: Vec<Target> = narrow.collect();
    let mut runner = TestRunner::new_with_rng(
        Runs {
            cases: 60,
            failure_persistence: None,
            ..Runs::default()
        },
        proptest::test_runner::TestRng::deterministic_rng(Default::default()),
    );
    let cases = proptest::collection::vec(field(), 2..12)
        .prop_flat_map(|fields| (asked(fields.len()), Just(fields), any::<bool>()));
    let (held, broken) = (Cell::new(0), Cell::new(0));
    let run = runner.run(&cases, |(asked, fields, kernel)| {
        let form = if kernel {
            EmitForm::Kernel
        } else {
            EmitForm::StaticAssert
        };
        let project = Project::new(&header(&fields));
        let config = asked.config();
        let emitted = project.emit(&wide, &config, form);
        for target in std::iter::once(&wide).chain(&narrow) {
            let holds = holds(&project, target, &config);
            let count = if holds { &held } else { &broken };
            count.set(count.get() + 1);
            if holds {
                project.accepts(target, &emitted);
            } else if *target == wide || asked.is_relation() {
                project.refuses(target, &emitted);
            }
        }
        Ok(())
    });
    run.unwrap();
    assert!(
        held.get() > 20 && broken.get() > 20,
        "{held:?} held, {broken:?} did not"
    );
}
