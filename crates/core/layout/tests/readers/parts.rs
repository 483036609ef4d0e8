//! Types outside of the `.debug_info` of the file itself: type units, split units, packages,
//! supplementary files by `dwz`; and compressed sections.

use relayout_testkit::require_programs;

use super::tools::{TestFolder, layouts};

const A: &str = "struct alpha { char c; long l; struct beta *b; };
union both { int i; float f; };
struct alpha va; union both ub; int fa(struct alpha *x) { return x->c; }
";
const B: &str = "struct beta { int i; struct alpha *a; unsigned f:3; struct { char x, y; } in; };
struct alpha { char c; long l; struct beta *b; };
struct beta vb; int main(void) { struct beta x = vb; return x.i; }
";

/// Folder with `a.c` and `b.c`, and `plain`, a program of them with all its types in itself.
fn sources(compiler: &str) -> TestFolder {
    let folder = TestFolder::new();
    folder.write("a.c", A);
    folder.write("b.c", B);
    folder.run(&format!("{compiler} -g a.c b.c -o plain"));
    assert_eq!(layouts(&folder, "plain").0.len(), 3);
    folder
}

/// Asserts that the file has the types of `plain`, and that nothing is missing.
#[track_caller]
fn check(folder: &TestFolder, name: &str, case: &str) {
    let none: Vec<String> = Vec::new();
    assert_eq!(
        layouts(folder, name),
        (layouts(folder, "plain").0, none),
        "{case}: {name}"
    );
}

#[test]
fn type_units() {
    for version in [4, 5] {
        let folder = sources("gcc");
        let flags = format!("-gdwarf-{version} -fdebug-types-section");
        for extra in ["", "-gz=zlib", "-gz=zlib-gnu"] {
            let case = format!("{flags} {extra}");
            folder.run(&format!("gcc {case} -c a.c b.c"));
            folder.run("ld -r a.o b.o -o both.o");
            check(&folder, "both.o", &case);
            folder.run("gcc a.o b.o -o program");
            check(&folder, "program", &case);
        }
    }
}

#[test]
fn compressed_sections() {
    let folder = sources("gcc");
    for kind in ["zlib", "zlib-gnu", "zstd"] {
        folder.run(&format!(
            "objcopy --compress-debug-sections={kind} plain packed"
        ));
        check(&folder, "packed", kind);
        folder.run("gcc -g -c b.c");
        folder.run(&format!(
            "objcopy --compress-debug-sections={kind} b.o packed.o"
        ));
        assert_eq!(
            layouts(&folder, "packed.o"),
            layouts(&folder, "b.o"),
            "{kind}"
        );
    }
}

#[test]
fn split_units() {
    for compiler in ["gcc", "clang"] {
        require_programs(&[compiler]);
        let folder = sources(compiler);
        for version in [4, 5] {
            for units in ["", "-fdebug-types-section"] {
                let case = format!("{compiler} -g -gdwarf-{version} -gsplit-dwarf {units}");
                folder.run(&format!("{case} -c a.c b.c"));
                folder.run(&format!("{compiler} a.o b.o -o program"));
                check(&folder, "program", &case);
                let b = layouts(&folder, "b.o").0;
                assert_eq!(
                    layouts(&folder, "b.dwo").0,
                    b,
                    "{case}: without its program"
                );
            }
        }
    }
}

#[test]
fn split_units_in_the_object_itself() {
    require_programs(&["clang"]);
    let folder = sources("clang");
    for version in [4, 5] {
        let case = format!("clang -g -gdwarf-{version} -gsplit-dwarf=single");
        folder.run(&format!("{case} -c a.c b.c"));
        folder.run("clang a.o b.o -o program");
        check(&folder, "program", &case);
    }
}

#[test]
fn packages() {
    // Neither package tool of Debian 12 makes a package of DWARF 5 by gcc.
    for (tool, compiler, version) in [
        ("dwp", "gcc", 4),
        ("llvm-dwp", "clang", 4),
        ("llvm-dwp", "clang", 5),
    ] {
        require_programs(&[tool, compiler]);
        for units in ["", "-fdebug-types-section"] {
            let folder = sources(compiler);
            let case = format!("{compiler} -g -gdwarf-{version} -gsplit-dwarf {units}");
            folder.run(&format!("{case} -c a.c b.c"));
            folder.run(&format!("{compiler} a.o b.o -o program"));
            folder.run(&format!("{tool} -e program -o program.dwp"));
            folder.remove("a.dwo");
            folder.remove("b.dwo");
            check(&folder, "program", &case);
            check(&folder, "program.dwp", &case);
        }
    }
}

#[test]
fn missing_split_units_are_named_and_the_rest_is_read() {
    let folder = sources("gcc");
    folder.run("gcc -g -gsplit-dwarf -c a.c b.c");
    folder.run("gcc a.o b.o -o program");
    let all = layouts(&folder, "program").0;
    folder.remove("a.dwo");
    let (found, missing) = layouts(&folder, "program");
    assert_eq!(found.len(), 2, "the types of b.c");
    assert!(found.iter().all(|text| all.contains(text)));
    assert_eq!(missing.len(), 1);
    assert!(missing[0].contains("a.dwo is not there"), "{}", missing[0]);
    folder.run("cp b.dwo a.dwo");
    let (found, missing) = layouts(&folder, "program");
    assert_eq!(found.len(), 2);
    assert!(
        missing[0].contains("a.dwo is of another build"),
        "{}",
        missing[0]
    );
}

#[test]
fn common_types_that_dwz_moved() {
    require_programs(&["dwz"]);
    // dwz moves only types that are large enough and in both files.
    let members: String = (0..200)
        .map(|n| format!("long m{n}; char c{n}; "))
        .collect();
    let wide = format!("struct wide {{ {members} }};\n");
    let folder = TestFolder::new();
    for (name, other) in [("one", "mine"), ("two", "yours")] {
        let own = format!("struct {other} {{ struct wide *w; char c; long l; }} it;\n");
        let main = "int main(void) { return it.c + (int)sizeof(struct wide); }\n";
        folder.write(
            &format!("{name}.c"),
            &format!("{wide}{own}struct wide w;\n{main}"),
        );
        folder.run(&format!("gcc -g -Wl,--build-id {name}.c -o {name}"));
        folder.run(&format!("cp {name} {name}.whole"));
    }
    folder.run("dwz -m common one two");
    let sections = folder.run("readelf -SW one");
    assert!(sections.contains(".gnu_debugaltlink"), "dwz moved nothing");
    for name in ["one", "two"] {
        let whole = layouts(&folder, &format!("{name}.whole"));
        assert_eq!(layouts(&folder, name), whole, "{name}");
    }
    folder.remove("common");
    let missing = layouts(&folder, "one").1;
    assert!(missing[0].contains("supplementary file"), "{missing:?}");
}
