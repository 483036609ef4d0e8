//! Readers on Rust, C++ and Go, against the compilers' own sizes and offsets.

use relayout_layout::catalog::TypeCatalog;
use relayout_layout::{Aggregate, AggregateGaps, TypeArena};

use relayout_testkit::require_programs;

use super::tools::{TestFolder, with_catalog};

const RUST: &str = r#"
pub mod outer {
    pub struct Point { pub x: u8, pub y: u64, pub z: u16 }
    pub mod inner {
        pub struct Point { pub a: u32, pub b: u8 }
        pub enum Shape { Circle(f32), Rect { w: u16, h: u64 }, Unit }
        pub enum Niche { Boxed(Box<u32>), Nothing }
        #[repr(i8)] pub enum Signed { Low(u16) = -1, High = 5 }
    }
}
use outer::inner::{Niche, Shape, Signed};
use std::mem::{offset_of, size_of};
fn main() {
    let all = (outer::Point { x: 1, y: 2, z: 3 }, outer::inner::Point { a: 1, b: 2 },
        [Shape::Circle(1.0), Shape::Rect { w: 1, h: 2 }, Shape::Unit],
        [Niche::Boxed(Box::new(1)), Niche::Nothing], [Signed::Low(1), Signed::High]);
    println!("{} {} {} {}", size_of::<outer::Point>(), offset_of!(outer::Point, x),
        offset_of!(outer::Point, y), offset_of!(outer::Point, z));
    println!("{} {} {}", size_of::<outer::inner::Point>(), offset_of!(outer::inner::Point, a),
        offset_of!(outer::inner::Point, b));
    println!("{} {} {}", size_of::<Shape>(), size_of::<Niche>(), size_of::<Signed>());
    std::hint::black_box(&all);
}
"#;

#[test]
fn rust() {
    let folder = TestFolder::new();
    folder.write("it.rs", RUST);
    folder.run("rustc -g it.rs -o it");
    let said = numbers(&folder.run(&folder.path("it").display().to_string()));
    with_catalog(&folder, "it", |catalog| {
        let mut found = Vec::new();
        for name in ["it::outer::Point", "outer::inner::Point"] {
            with_aggregate(catalog, name, |types, aggregate| {
                let gaps = AggregateGaps::from_aggregate(types, aggregate);
                assert_eq!(gaps.holes().count(), 0, "{aggregate:?}");
                let mut declared = aggregate.clone();
                declared.members.sort_by(|a, b| a.name.cmp(&b.name));
                places(&declared, &mut found);
            });
        }
        for name in ["inner::Shape", "inner::Niche", "inner::Signed"] {
            with_aggregate(catalog, name, |_, aggregate| found.push(aggregate.size));
        }
        assert_eq!(found, said);
        let variants =
            |name: &str| {
                let mut found = Vec::new();
                with_aggregate(catalog, name, |_, aggregate| {
                    let variants = aggregate.variants.as_ref().expect("variants");
                    let named = variants.variants.iter();
                    found.extend(named.map(|variant| {
                        (variant.member.name.clone().unwrap(), variant.discriminant)
                    }));
                });
                found
            };
        let own = |name: &str, value| (name.to_owned(), value);
        let shape = [
            own("Circle", Some(0)),
            own("Rect", Some(1)),
            own("Unit", Some(2)),
        ];
        assert_eq!(variants("inner::Shape"), shape);
        let niche = [own("Boxed", None), own("Nothing", Some(0))];
        let mut found = variants("inner::Niche");
        found.sort();
        assert_eq!(found, niche);
        assert_eq!(
            variants("inner::Signed"),
            [own("Low", Some(-1)), own("High", Some(5))]
        );
        with_aggregate(catalog, "inner::Shape", |types, aggregate| {
            assert_eq!(aggregate.scope.as_deref(), Some("it::outer::inner"));
            let rect = &aggregate.variants.as_ref().unwrap().variants[1].member;
            let inner = types.aggregate(rect.ty).unwrap();
            let height = inner
                .members
                .iter()
                .find(|member| member.name.as_deref() == Some("h"));
            let place = rect.offset + height.unwrap().offset;
            let id = catalog
                .load(&catalog.find_definitions("inner::Shape"))
                .unwrap();
            let at = |offset, size| id.types.member_at(id.ids[0], offset, size).unwrap().path;
            assert_eq!(at(place, 8), "Rect.h");
            assert_eq!(at(0, 2), "discriminant");
        });
        load_every_aggregate(catalog);
    });
}

const CPP: &str = r#"
#include <cstddef>
#include <cstdio>
#include <map>
#include <string>
namespace a { namespace b {
struct Empty {};
struct Base { char c; int i; static int shared; };
class Derived : public Base, public Empty { public: short s; long l:5, m:40; union { int u; float f; }; };
struct Front { [[no_unique_address]] Empty e; int n; };
template <typename T, int N> struct Array { T values[N]; };
struct Left : virtual Base { int left; };
struct Right : virtual Base { int right; };
struct Diamond : Left, Right { int own; };
struct Outer { struct Inner { char x; }; struct Later; Inner in; };
struct Outer::Later { int late; double far; };
} struct Front { long n, m; };
using Function = void (int);
struct CallTable {
  bool flag; void (b::Base::*call)(int); int b::Base::*data; Function b::Base::*named[2]; char tail;
}; }
#define S(t) std::printf("%zu ", sizeof(t))
#define O(t, m) std::printf("%zu ", offsetof(t, m))
int main() {
  a::b::Derived d; a::b::Front f; a::b::Array<short, 7> r; a::b::Diamond m; a::b::Outer o;
  a::b::Outer::Later l; a::Front g; std::map<std::string, int> s;
  S(a::b::Derived); O(a::b::Derived, s); S(a::b::Front); O(a::b::Front, e); O(a::b::Front, n);
  using Shorts = a::b::Array<short, 7>;
  S(a::Front); O(a::Front, n); O(a::Front, m); S(Shorts); O(Shorts, values);
  S(a::b::Diamond); S(a::b::Outer::Later); O(a::b::Outer::Later, late); O(a::b::Outer::Later, far);
  using a::CallTable; CallTable c;
  S(CallTable); O(CallTable, flag); O(CallTable, call); O(CallTable, data); O(CallTable, named); O(CallTable, tail);
  S(c.flag); S(c.call); S(c.data); S(c.named); S(c.tail);
  asm volatile("" :: "r"(&d), "r"(&f), "r"(&r), "r"(&m), "r"(&o), "r"(&l), "r"(&g), "r"(&s), "r"(&c) : "memory");
}
"#;

#[test]
fn c_plus_plus() {
    for compiler in ["g++", "clang++"] {
        require_programs(&[compiler]);
        for flags in ["-gdwarf-4", "-gdwarf-5", "-gdwarf-5 -fdebug-types-section"] {
            let folder = TestFolder::new();
            folder.write("it.cc", CPP);
            let case = format!("{compiler} -std=c++20 -Wno-invalid-offsetof {flags} it.cc -o it");
            folder.run(&case);
            let said = numbers(&folder.run(&folder.path("it").display().to_string()));
            with_catalog(&folder, "it", |catalog| {
                c_plus_plus_types(catalog, &said, &case)
            });
        }
    }
}

fn c_plus_plus_types(catalog: &TypeCatalog<'_>, said: &[u64], case: &str) {
    let mut found = Vec::new();
    with_aggregate(catalog, "a::b::Derived", |types, aggregate| {
        let bases: Vec<_> = aggregate
            .members
            .iter()
            .take_while(|member| member.is_base)
            .collect();
        let names = bases.iter().map(|base| types.name_of(base.ty));
        assert_eq!(
            names.collect::<Vec<_>>(),
            ["struct Base", "struct Empty"],
            "{case}"
        );
        let short = aggregate
            .members
            .iter()
            .find(|member| member.name.as_deref() == Some("s"));
        found.extend([aggregate.size, short.expect("s").offset]);
        let bits = aggregate
            .members
            .iter()
            .filter(|member| member.bits.is_some());
        assert_eq!(bits.count(), 2, "{case}");
    });
    for name in ["a::b::Front", "a::Front", "b::Array<short, 7>"] {
        // gcc and clang spell the template arguments differently.
        let name = match catalog.find_definitions(name).is_empty() {
            true => "b::Array<short int, 7>",
            false => name,
        };
        with_aggregate(catalog, name, |_, aggregate| places(aggregate, &mut found));
    }
    with_aggregate(catalog, "a::b::Diamond", |types, aggregate| {
        found.push(aggregate.size);
        let left = aggregate
            .members
            .first()
            .and_then(|member| types.aggregate(member.ty))
            .expect("Left");
        assert_eq!(
            left.virtual_bases.len(),
            1,
            "{case}: the place of Base is not constant"
        );
    });
    with_aggregate(catalog, "a::b::Outer::Later", |_, aggregate| {
        places(aggregate, &mut found)
    });
    with_aggregate(catalog, "a::CallTable", |types, aggregate| {
        places(aggregate, &mut found);
        sizes(types, aggregate, &mut found);
        let gaps = AggregateGaps::from_aggregate(types, aggregate);
        assert_eq!(gaps.holes().collect::<Vec<_>>(), [7], "{case}");
        let aligned = aggregate
            .members
            .iter()
            .map(|member| types.align_of(member.ty));
        assert_eq!(aligned.collect::<Vec<_>>(), [1, 8, 8, 8, 1], "{case}");
    });
    assert_eq!(found, said, "{case}");
    with_aggregate(catalog, "Base", |_, aggregate| {
        assert_eq!(aggregate.members.len(), 2, "{case}: static members")
    });
    load_every_aggregate(catalog);
}

const GO: &str = r#"
package main
import ("fmt"; "text/template"; "unsafe")
type Inner struct { A byte; B uint64 }
type Outer struct { X bool; I Inner; S []string; M map[string]int; F func(int) error; E [3]uint16 }
func main() {
	var o Outer
	fmt.Println(unsafe.Sizeof(o), unsafe.Offsetof(o.X), unsafe.Offsetof(o.I), unsafe.Offsetof(o.S),
		unsafe.Offsetof(o.M), unsafe.Offsetof(o.F), unsafe.Offsetof(o.E),
		unsafe.Sizeof(o.X), unsafe.Sizeof(o.I), unsafe.Sizeof(o.S), unsafe.Sizeof(o.M), unsafe.Sizeof(o.F),
		unsafe.Sizeof(o.E))
	if o.X { template.New("x") }
}
"#;

#[test]
fn go() {
    require_programs(&["go"]);
    let folder = TestFolder::new();
    folder.write("it.go", GO);
    folder.run("go build -o it it.go");
    let said = numbers(&folder.run(&folder.path("it").display().to_string()));
    with_catalog(&folder, "it", |catalog| {
        let mut found = Vec::new();
        with_aggregate(catalog, "main.Outer", |types, aggregate| {
            places(aggregate, &mut found);
            sizes(types, aggregate, &mut found);
            let gaps = AggregateGaps::from_aggregate(types, aggregate);
            assert_eq!(gaps.holes().count(), 1, "only the one behind X");
        });
        assert_eq!(found, said);
        load_every_aggregate(catalog);
    });
}

fn numbers(text: &str) -> Vec<u64> {
    let words = text.split_whitespace();
    words.map(|word| word.parse().expect("a number")).collect()
}

/// Adds the size and offsets of an aggregate.
fn places(aggregate: &Aggregate, found: &mut Vec<u64>) {
    found.push(aggregate.size);
    found.extend(aggregate.members.iter().map(|member| member.offset));
}

/// Adds the sizes of the members; 0 for one that has none.
fn sizes(types: &TypeArena, aggregate: &Aggregate, found: &mut Vec<u64>) {
    let sizes = { aggregate.members.iter() }.map(|member| types.size_of(member.ty).unwrap_or(0));
    found.extend(sizes);
}

#[track_caller]
fn with_aggregate(
    catalog: &TypeCatalog<'_>,
    name: &str,
    visit: impl FnOnce(&TypeArena, &Aggregate),
) {
    let entries = catalog.find_definitions(name);
    let loaded = catalog.load(&entries).expect("it can be loaded");
    let first = loaded.ids.iter().find_map(|id| loaded.types.aggregate(*id));
    visit(&loaded.types, first.unwrap_or_else(|| panic!("no {name}")));
}

/// Loads every type of the program and its standard library. No type may fail, and no member may
/// end behind its type.
fn load_every_aggregate(catalog: &TypeCatalog<'_>) {
    let entries = catalog.aggregates();
    assert!(entries.len() > 20, "only {} types", entries.len());
    let wrong = catalog.map_loaded(&entries, |types, id, entry| {
        let aggregate = types.aggregate(id)?;
        let past = aggregate.members.iter().find(|member| {
            let size = types.size_of(member.ty).unwrap_or(0);
            member.bits.is_none() && member.offset.saturating_add(size) > aggregate.size
        })?;
        Some(format!(
            "{}: {:?} at {}, size {}",
            entry.name, past.name, past.offset, aggregate.size
        ))
    });
    let wrong: Vec<String> = wrong
        .expect("all can be loaded")
        .into_iter()
        .flatten()
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
