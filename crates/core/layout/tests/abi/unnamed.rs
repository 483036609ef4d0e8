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
struct unpadded {
	struct { int users; int map_count; long long start __attribute__((aligned(8))); };
	int cpus[];
} c;
struct padded {
	struct { int users; long long start __attribute__((aligned(8))); int map_count; };
	int cpus[];
} d;
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
        let predicted = reordered(&abi, &flat, &[2, 5, 1, 0, 3, 4]);
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

fn offsets(aggregate: &Aggregate) -> Vec<u64> {
    { aggregate.members.iter() }
        .map(|member| member.offset)
        .collect()
}

/// Returns the struct with its members in another order.
fn reordered(abi: &AbiEngine<'_>, flat: &Aggregate, order: &[usize]) -> Aggregate {
    let shape = abi.shape(flat).unwrap_or_else(|e| panic!("{e}"));
    let mut arrangement = shape.current_arrangement();
    arrangement.order = order.to_vec();
    let layout = shape.lay_out(&arrangement);
    shape.apply_arrangement(flat, &arrangement, &layout)
}

#[track_caller]
fn check_aligned(command: &str, target: TargetAbi) {
    let compiler = compiler(command, target);
    with_structs(&compiler, ALIGNED_SOURCE, |types, find| {
        let abi = AbiEngine::for_target(types, target).alignments_recorded(true);
        let flatten = |name: &str| {
            abi.flatten_anonymous(&find(name))
                .unwrap_or_else(|| panic!("{name} has one that dissolves"))
        };
        assert_eq!(offsets(&flatten("by_member")), [0, 8, 16, 24]);
        // What remains ends as its attribute says.
        assert_eq!(offsets(&flatten("by_attribute")), [0, 64, 68, 72]);
        // The dissolved struct ends at a multiple of its alignment in any order.
        let (unpadded, padded) = (flatten("unpadded"), flatten("padded"));
        let predicted = reordered(&abi, &unpadded, &[0, 2, 1, 3]);
        assert_eq!(offsets(&predicted), offsets(&padded));
        assert_eq!(predicted.size, padded.size);
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
