//! Unnamed members of tagged structs in C, as `-fms-extensions` allows them. Each struct is compiled
//! in two orders, and the engine has to predict the second layout from the first.

use relayout_layout::abi::{AbiEngine, StructShape, TargetAbi};
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_layout::dwarf::SectionStore;
use relayout_layout::{Aggregate, TypeArena};

use super::{TestCompiler, compiler};

const SOURCE: &str = "
struct counters { void *freelist; unsigned long count; char tail; };
union either { int left; short right; };
struct first {
	char flags;
	struct counters;
	union either;
	struct { int x; struct inner { char a; long b; }; };
	char last;
} a;
struct second {
	union either;
	char last;
	struct counters;
	char flags;
	struct { int x; struct inner; };
} b;
";

/// Structs without a tag whose alignment and padding are due to a member, as in the kernel's
/// `mm_struct` with an aligned `atomic64_t`, or to an attribute of their own.
const ALIGNED_SOURCE: &str = "
struct by_member {
	struct {
		int users;
		long long start __attribute__((aligned(8)));
		int map_count;
	};
	int cpus[2];
} a;
struct by_attribute {
	struct { int count; } __attribute__((aligned(64)));
	struct { int owner; int state; };
	int last;
} b;
";

fn with_structs(
    compiler: &TestCompiler,
    source: &str,
    look: impl FnOnce(&TypeArena, &dyn Fn(&str) -> Aggregate),
) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let object = compiler.compile(source, true, folder.path());
    let store = SectionStore::default();
    let catalog =
        TypeCatalog::parse(&object, &store, DebugInfoFormat::Any).expect("the object has types");
    let loaded = catalog.load(&catalog.aggregates()).expect("types load");
    let find = |name: &str| {
        let found = loaded.ids.iter().find_map(|id| {
            let aggregate = loaded.types.aggregate(*id)?;
            (aggregate.name.as_deref() == Some(name)).then(|| aggregate.clone())
        });
        found.unwrap_or_else(|| panic!("{name} is in the object"))
    };
    look(&loaded.types, &find);
}

/// Names of the atoms in the source, with their offsets.
fn declared(shape: &StructShape) -> Vec<(&str, u64)> {
    let atoms = shape.atoms.iter();
    atoms
        .map(|atom| (&*atom.declared_names()[0], atom.offset))
        .collect()
}

#[track_caller]
fn check(command: &str) {
    let compiler = compiler(command, TargetAbi::X86_64);
    with_structs(&compiler, SOURCE, |types, find| {
        let abi = AbiEngine::new(types).alignments_recorded(true);
        // Members of the struct without a tag are its own; those of a tagged one stay together.
        let flatten = |name| {
            abi.flatten_anonymous(&find(name))
                .expect("it has such a struct")
        };
        let (flat, second) = (flatten("first"), flatten("second"));
        let shape = abi.shape(&flat).unwrap_or_else(|e| panic!("{e}"));
        let expect = [
            ("flags", 0),
            ("struct counters", 8),
            ("union either", 32),
            ("x", 40),
            ("struct inner", 48),
            ("last", 64),
        ];
        assert_eq!(declared(&shape), expect);
        assert_eq!(shape.atoms[1].names, ["freelist", "count", "tail"]);
        assert!(shape.atoms[1].is_called("count") && shape.atoms[1].is_called("struct counters"));
        let mut arrangement = shape.current_arrangement();
        arrangement.order = vec![2, 5, 1, 0, 3, 4];
        let layout = shape.lay_out(&arrangement);
        let predicted = shape.apply_arrangement(&flat, &arrangement, &layout);
        let offsets = |aggregate: &Aggregate| -> Vec<u64> {
            aggregate
                .members
                .iter()
                .map(|member| member.offset)
                .collect()
        };
        assert_eq!(offsets(&predicted), offsets(&second));
        assert_eq!(predicted.size, second.size);
    });
}

#[test]
fn as_gcc_lays_them_out() {
    check("gcc -fms-extensions");
}

#[test]
fn as_clang_lays_them_out() {
    check("clang -fms-extensions");
}

#[track_caller]
fn check_aligned(command: &str, target: TargetAbi) {
    let compiler = compiler(command, target);
    with_structs(&compiler, ALIGNED_SOURCE, |types, find| {
        let abi = AbiEngine::for_target(types, target).alignments_recorded(true);
        let flat_offsets = |name: &str| -> Vec<(String, u64)> {
            let aggregate = find(name);
            let flat = abi
                .flatten_anonymous(&aggregate)
                .expect("one can be dissolved");
            let shape = abi.shape(&flat).unwrap_or_else(|e| panic!("{e}"));
            let layout = shape.lay_out(&shape.current_arrangement());
            assert_eq!(layout.size, aggregate.size, "{name}");
            let atoms = shape.atoms.iter();
            atoms
                .map(|atom| (atom.declared_names()[0].to_string(), atom.offset))
                .collect()
        };
        let owned = |expect: &[(&str, u64)]| -> Vec<(String, u64)> {
            { expect.iter() }
                .map(|(name, offset)| ((*name).to_owned(), *offset))
                .collect()
        };
        let by_member = [("users", 0), ("start", 8), ("map_count", 16), ("cpus", 24)];
        assert_eq!(flat_offsets("by_member"), owned(&by_member));
        let by_attribute = &flat_offsets("by_attribute")[1..];
        let expect = [("owner", 64), ("state", 68), ("last", 72)];
        assert_eq!(by_attribute, owned(&expect));
    });
}

#[test]
fn alignment_of_a_member_dissolves() {
    check_aligned("gcc", TargetAbi::X86_64);
    check_aligned("gcc -m32", TargetAbi::I386);
    check_aligned("clang -m32", TargetAbi::I386);
}

/// Names inside one are found from outside, by offset and by path.
#[test]
fn their_members_are_found() {
    let compiler = compiler("gcc -fms-extensions", TargetAbi::X86_64);
    with_structs(&compiler, SOURCE, |types, find| {
        let first = find("first");
        assert!(first.members.iter().all(|member| !member.is_base));
        let mut types = types.clone();
        let id = types.add(relayout_layout::Type::Aggregate(first));
        let count = types.member_at(id, 16, 8).expect("inside");
        assert_eq!(count.path, "count");
        assert_eq!(count.types_path, ["first", "counters"]);
        let either = types.member_at(id, 32, 2).expect("inside");
        assert_eq!(either.path, "right");
    });
}
