//! Unnamed members of tagged structs in C, as `-fms-extensions` allows them. Each struct is compiled
//! in two orders, and the engine has to predict the second layout from the first.

use relayout_layout::abi::{AbiEngine, StructShape, TargetAbi};
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_layout::dwarf::SectionStore;
use relayout_layout::{Aggregate, TypeArena};

use super::compiler;

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

fn with_structs(command: &str, look: impl FnOnce(&TypeArena, &dyn Fn(&str) -> Aggregate)) {
    let compiler = compiler(command, TargetAbi::X86_64);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let object = compiler.compile(SOURCE, true, folder.path());
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
    with_structs(command, |types, find| {
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

/// Names inside one are found from outside, by offset and by path.
#[test]
fn their_members_are_found() {
    with_structs("gcc -fms-extensions", |types, find| {
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
