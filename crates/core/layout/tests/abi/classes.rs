//! C++ classes with base classes. Each is compiled with its members in two orders, and the engine
//! has to predict the second layout from the first.

use relayout_layout::abi::{AbiEngine, AbiError, TargetAbi};
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_layout::dwarf::SectionStore;
use relayout_layout::{Aggregate, AggregateKind, Member, Type, TypeArena, TypeId};

use super::compiler;

const SOURCE: &str = "
struct Empty {};
struct Plain { long a; char b; };
struct Made { Made(); long a; char b; };
struct Dynamic { virtual ~Dynamic(); int a; };
Dynamic::~Dynamic() {}
struct Derived : Dynamic { char b; };
template <class T> struct Of {};

#define FIRST { char c; int i; long l; short s : 3; }
#define SECOND { short s : 3; long l; char c; int i; }
#define BOTH(NAME, BASES) \\
	struct NAME##0 : BASES FIRST a##NAME; struct NAME##1 : BASES SECOND b##NAME;
#define AND ,
BOTH(OnEmpty, Empty)
BOTH(OnPlain, Plain)
BOTH(OnMade, Made)
BOTH(OnDynamic, Dynamic)
BOTH(OnDerived, Derived)
BOTH(OnThree, Empty AND Of<int> AND Made)
BOTH(OnSecond, Plain AND Dynamic)
struct Virtual0 { virtual void f(); char c; int i; long l; short s : 3; };
struct Virtual1 { virtual void f(); short s : 3; long l; char c; int i; };
void Virtual0::f() {}
void Virtual1::f() {}
Virtual0 v0; Virtual1 v1;

struct Unclear : Made { long l; char c; } unclear;
struct Shared : Empty { Empty e; char c; } shared;
struct OnVirtual : virtual Plain { char c; long l; } on_virtual;
struct Reused { [[no_unique_address]] Made m; char c; } reused;
";

/// Object file with the classes of [`SOURCE`].
fn compiled() -> Vec<u8> {
    let compiler = compiler("g++", TargetAbi::X86_64);
    let folder = tempfile::tempdir().expect("a temporary folder");
    compiler.compile(SOURCE, true, folder.path())
}

fn with_classes(look: impl FnOnce(&TypeArena, &dyn Fn(&str) -> Aggregate)) {
    let object = compiled();
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

#[test]
fn members_behind_bases() {
    with_classes(|types, find| {
        let abi = AbiEngine::new(types).alignments_recorded(true);
        let names = ["OnEmpty", "OnPlain", "OnMade", "OnDynamic", "OnDerived"];
        for name in names.into_iter().chain(["OnThree", "OnSecond", "Virtual"]) {
            let first = find(&format!("{name}0"));
            let second = find(&format!("{name}1"));
            let shape = abi.shape(&first).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(shape.attributes(), vec![], "{name}");
            let mut arrangement = shape.current_arrangement();
            let at = |name: &str| shape.atoms.iter().position(|atom| atom.name == name);
            arrangement.order = ["s", "l", "c", "i"]
                .map(|name| at(name).expect("an atom for each member"))
                .to_vec();
            let again = shape.apply_arrangement(&first, &arrangement, &shape.lay_out(&arrangement));
            assert_eq!(places(&again), places(&second), "{name}");
            assert_eq!(again.size, second.size, "{name}");
        }
    });
}

/// Names and first bits of members.
fn places(aggregate: &Aggregate) -> Vec<(Option<String>, u64)> {
    let members = aggregate.members.iter();
    let own = members.filter(|member| !member.name.as_deref().unwrap_or("_vptr").starts_with('_'));
    own.map(|member| {
        let first = member
            .bits
            .map_or(member.offset * 8, |bits| bits.offset_bits);
        (member.name.clone(), first)
    })
    .collect()
}

#[test]
fn refused_with_a_reason() {
    with_classes(|types, find| {
        let abi = AbiEngine::new(types).alignments_recorded(true);
        let check = |name: &str, expect: fn(&AbiError) -> bool| {
            let outcome = abi.shape(&find(name));
            assert!(outcome.as_ref().is_err_and(expect), "{name}: {outcome:?}");
        };
        check("Unclear", |e| matches!(e, AbiError::Base { .. }));
        check("Shared", |e| matches!(e, AbiError::Base { .. }));
        check("OnVirtual", |e| matches!(e, AbiError::Virtual { .. }));
        check("Reused", |e| matches!(e, AbiError::Overlap { .. }));
    });
}

/// Damaged debug information can name a base class twice, so that the ways to the first class
/// double with each class.
#[test]
fn a_base_of_many_ways_is_looked_at_once() {
    let class = |index: u32| {
        let base = |_| Member {
            name: None,
            is_base: true,
            ..Member::new("", TypeId(index - 1), 0)
        };
        Type::Aggregate(Aggregate {
            kind: AggregateKind::Class,
            name: Some(format!("C{index}")),
            members: (0..2).filter(|_| index > 0).map(base).collect(),
            complete: true,
            ..Aggregate::default()
        })
    };
    let mut types = TypeArena::default();
    for index in 0..64 {
        types.add(class(index));
    }
    let last = types.aggregate(TypeId(63)).expect("a class");
    let shape = AbiEngine::new(&types).shape(last);
    // Sizes are asked for to a depth below that.
    let is_refused = matches!(shape, Err(AbiError::UnknownSize { .. }));
    assert!(is_refused, "{shape:?}");
}
