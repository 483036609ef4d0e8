//! Tests from a database to an object file.

use std::path::{Path, PathBuf};

use relayout_files::InterruptFlag;
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_layout::dwarf::SectionStore;
use relayout_testkit::require_programs;

use super::*;

fn no_file(_: &Path) -> Option<String> {
    None
}

fn read_from_disk(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// The arguments of an entry with this command, in `/d`.
#[track_caller]
fn entry(command: &str, file: &str) -> CompileCommand {
    let text = serde_json::json!([{"directory": "/d", "file": file, "command": command}]);
    let database =
        CompileDatabase::parse(text.to_string().as_bytes(), Path::new("/p/c.json")).unwrap();
    database.commands[0].clone()
}

#[track_caller]
fn check_flags(command: &str, expect: &[&str]) {
    let recipe = CompileRecipe::from_command(&entry(command, "x.c"), &no_file)
        .unwrap()
        .unwrap();
    let words: Vec<&str> = recipe
        .compiler
        .iter()
        .chain(&recipe.flags)
        .map(String::as_str)
        .collect();
    assert_eq!(words, expect, "{command}");
}

#[track_caller]
fn check_refused(text: &str, why: &str) {
    let error = CompileDatabase::parse(text.as_bytes(), Path::new("/p/c.json")).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("/p/c.json is not a compilation database: {why}")
    );
}

#[test]
fn reads_both_forms() {
    let text = r#"[
        {"directory": "/d", "file": "./a/../x.c", "arguments": ["gcc", "-DA=b c", "-c", "x.c"]},
        {"directory": "sub", "file": "/x.c", "command": "gcc '-DA=\"b c\"' -DB=\\\"d\\\" x.c"}
    ]"#;
    let database = CompileDatabase::parse(text.as_bytes(), Path::new("/p/c.json")).unwrap();
    let [with_arguments, with_command] = &database.commands[..] else {
        panic!("{database:?}")
    };
    assert_eq!(with_arguments.file, Path::new("/d/x.c"));
    assert_eq!(
        with_arguments.arguments().unwrap(),
        ["gcc", "-DA=b c", "-c", "x.c"]
    );
    assert_eq!(with_command.directory, Path::new("/p/sub"));
    assert_eq!(with_command.file, Path::new("/x.c"));
    assert_eq!(
        with_command.arguments().unwrap(),
        ["gcc", "-DA=\"b c\"", "-DB=\"d\"", "x.c"]
    );
}

#[test]
fn refuses_what_is_no_database() {
    check_refused(
        "{}",
        "invalid type: map, expected a sequence at line 1 column 0",
    );
    check_refused("[{}]", "missing field `directory` at line 1 column 3");
    check_refused("[", "EOF while parsing a list at line 1 column 1");
    check_refused(
        r#"[{"directory": "/", "file": "x.c"}]"#,
        "the entry of x.c has neither 'arguments' nor 'command'",
    );
}

#[test]
fn names_the_file_of_a_command_that_cannot_be_split() {
    let why = "the command for /d/x.c in the compilation database is empty, or has quotes that do \
               not close";
    for command in ["gcc 'x.c", "", " "] {
        let error = CompileRecipe::from_command(&entry(command, "x.c"), &no_file).unwrap_err();
        assert_eq!(error.to_string(), why, "{command}");
    }
}

#[test]
fn keeps_what_shapes_types() {
    check_flags(
        "gcc -Wp,-MMD,mm/.mmap.o.d -nostdinc -I./include -include ./c.h -D__KERNEL__ -Wall -Werror \
         -m64 -g -DKBUILD_MODNAME='\"mmap\"' -c -o mm/mmap.o mm/mmap.c",
        &[
            "gcc",
            "-nostdinc",
            "-I./include",
            "-include",
            "./c.h",
            "-D__KERNEL__",
            "-m64",
            "-DKBUILD_MODNAME=\"mmap\"",
        ],
    );
    check_flags(
        "ccache distcc arm-gcc -mfpu=neon -c x.c",
        &["arm-gcc", "-mfpu=neon"],
    );
    check_flags(
        "/usr/bin/zig cc -target arm -MF d -c x.c",
        &["/usr/bin/zig", "cc", "-target", "arm"],
    );
    check_flags("gcc -x c -xc++ -DX -- x.c -DY", &["gcc", "-DX"]);
    check_flags("gcc -DX -o", &["gcc", "-DX"]);
    check_flags("gcc -DX -I", &["gcc", "-DX"]);
    check_flags("ccache", &["ccache"]);
}

#[test]
fn takes_another_compiler() {
    let mut recipe = CompileRecipe::from_command(&entry("gcc -DX x.c", "x.c"), &no_file)
        .unwrap()
        .unwrap();
    recipe.set_compiler("'/a b/zig' cc").unwrap();
    assert_eq!(recipe.compiler, ["/a b/zig", "cc"]);
    for bad in ["", "'gcc"] {
        let error = recipe.set_compiler(bad).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("'{bad}' is not a compiler's command")
        );
    }
}

#[test]
fn tells_the_language() {
    let check = |command: &str, file: &str, expect| {
        let recipe = CompileRecipe::from_command(&entry(command, file), &no_file).unwrap();
        let found = recipe.map(|recipe| recipe.language);
        assert_eq!(found, expect, "{command} {file}");
    };
    check("gcc -c x.c", "x.c", Some(SourceLanguage::C));
    check("gcc -c x.cc", "x.cc", Some(SourceLanguage::Cpp));
    check("g++-12 -c x.c", "x.c", Some(SourceLanguage::Cpp));
    check("gcc -x c++ -c x.c", "x.c", Some(SourceLanguage::Cpp));
    check("gcc -xc -c x.cc", "x.cc", Some(SourceLanguage::C));
    check("gcc -c x.S", "x.S", None);
    check("gcc -x assembler-with-cpp -c x.c", "x.c", None);
    check("rustc x.rs", "x.rs", None);
    check("gcc -include -x x.c", "x.c", Some(SourceLanguage::C));
}

/// Checks which of the files, each with its flags and text, is chosen for a header.
#[track_caller]
fn check_choice(files: &[(&str, &str, &str)], header: &str, expect: &str) {
    let entries: Vec<_> = files
        .iter()
        .map(|(file, flags, _)| {
            serde_json::json!({"directory": "/d", "file": file, "command": format!("gcc {flags} {file}")})
        })
        .collect();
    let text = serde_json::Value::from(entries).to_string();
    let read = |path: &Path| {
        let path = path.strip_prefix("/d").ok()?;
        let found = files.iter().find(|(file, ..)| Path::new(file) == path);
        found.map(|(_, _, text)| (*text).to_owned())
    };
    // Whatever the order of the entries.
    let mut database = CompileDatabase::parse(text.as_bytes(), Path::new("/d/c.json")).unwrap();
    for _ in 0..2 {
        let recipe = choose_recipe(&database, Path::new(header), &read).unwrap();
        assert_eq!(recipe.source_file, Path::new("/d").join(expect), "{header}");
        database.commands.reverse();
    }
}

#[test]
fn chooses_the_entry_of_a_near_file() {
    let files = [
        ("arch/x86/boot/a.c", "-m16", "#include <linux/mm_types.h>\n"),
        ("drivers/a.c", "-m64", ""),
        ("mm/b.c", "-m64", "#include <linux/mm_types.h>\n"),
        (
            "mm/mm_types.c",
            "-m64",
            "#include <linux/other_mm_types.h>\n",
        ),
        ("kernel/sched/core.c", "-m64", " # include \"sched.h\"\n"),
        ("kernel/x.c", "-m64", "#include \"sched.h\"\n"),
        ("lib/s.S", "", "#include <linux/mm_types.h>\n"),
        ("cpp/a.cc", "-m64", ""),
    ];
    // Chosen by an include; -m16 is rare.
    check_choice(&files, "/d/include/linux/mm_types.h", "mm/b.c");
    // Itself.
    check_choice(&files, "/d/kernel/x.c", "kernel/x.c");
    // Beside it, in quotes.
    check_choice(&files, "/d/kernel/sched/sched.h", "kernel/sched/core.c");
    // Nobody includes it: nearest, then by name.
    check_choice(&files, "/d/mm/none.h", "mm/b.c");
    check_choice(&files, "/d/mm/mm_types.h", "mm/mm_types.c");
    // C++ by its name.
    check_choice(&files, "/d/include/linux/mm_types.hpp", "cpp/a.cc");
}

#[test]
fn names_what_has_no_entry() {
    let path = Path::new("/d/c.json");
    let database = CompileDatabase::parse(b"[]", path).unwrap();
    let error = choose_recipe(&database, Path::new("/d/a.hpp"), &no_file).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("/d/c.json has no entry that compiles C++;")
    );
    let error = database
        .recipe_of_file(Path::new("/d/a.c"), &no_file)
        .unwrap_err();
    assert_eq!(error.to_string(), "/d/c.json has no entry for /d/a.c");
}

/// A folder with a header and a source file, and a database with this command for it.
fn project(header: &str, command: &str) -> (tempfile::TempDir, PathBuf, CompileDatabase) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.h");
    std::fs::write(&path, header).unwrap();
    std::fs::write(dir.path().join("x.c"), "#include \"x.h\"\n").unwrap();
    let text = serde_json::json!([{"directory": dir.path(), "file": "x.c", "command": command}]);
    let database =
        CompileDatabase::parse(text.to_string().as_bytes(), &dir.path().join("c.json")).unwrap();
    (dir, path, database)
}

fn compile(header: &str, command: &str, types: &[&str]) -> Result<Vec<u8>, Error> {
    let (_dir, path, database) = project(header, command);
    let recipe = choose_recipe(&database, &path, &read_from_disk).unwrap();
    let unit = HeaderUnit {
        header: path,
        types: types.iter().map(|&t| t.to_owned()).collect(),
        ..HeaderUnit::default()
    };
    UnitCompiler::new(InterruptFlag::catch())
        .unwrap()
        .compile(&recipe, &unit)
}

#[track_caller]
fn sizes(object: &[u8], name: &str) -> Vec<Option<u64>> {
    let store = SectionStore::default();
    let catalog = TypeCatalog::parse(object, &store, DebugInfoFormat::Any).unwrap();
    let loaded = catalog.load(&catalog.find_definitions(name)).unwrap();
    loaded
        .ids
        .iter()
        .map(|id| loaded.types.size_of(*id))
        .collect()
}

const HEADER: &str = "struct used { long a; char b; };\n\
                      #ifdef CONFIG_BIG\nstruct big { struct used u[BIG]; };\n#endif\n";

#[test]
fn compiles_types_that_nobody_uses() {
    let object = compile(
        HEADER,
        "gcc -g0 -Werror -Wall -MMD -MF /nowhere/x -c x.c -o x.o",
        &[],
    );
    assert_eq!(sizes(&object.unwrap(), "used"), [Some(16)]);
    let object = compile(
        HEADER,
        "gcc -flto -O2 -DCONFIG_BIG '-DBIG=1 + 1' x.c",
        &["struct big"],
    );
    assert_eq!(sizes(&object.unwrap(), "big"), [Some(32)]);
}

#[test]
fn compiles_for_other_targets() {
    let header = "struct node { struct node *next; long long count; };\n";
    for (compiler, bytes) in [
        ("arm-linux-gnueabihf-gcc", 16),
        ("gcc -m32 -msse2", 12),
        ("gcc -m32 -malign-double", 16),
        ("clang", 16),
    ] {
        let program = compiler.split(' ').next().unwrap();
        require_programs(&[program]);
        let object = compile(header, &format!("{compiler} -c x.c"), &[]).unwrap();
        assert_eq!(sizes(&object, "node"), [Some(bytes)], "{compiler}");
    }
}

#[test]
fn compiles_instances_of_templates() {
    require_programs(&["g++"]);
    let header = "template <typename T, int N> struct Ring { T slots[N]; long head; };\n";
    let object = compile(header, "g++ x.c", &["Ring<int, 4>"]).unwrap();
    assert_eq!(sizes(&object, "Ring<int, 4>"), [Some(24)]);
}

#[test]
fn shows_what_the_compiler_says() {
    let error = compile("struct broken { unknown_t x; };\n", "gcc -c x.c", &[]).unwrap_err();
    let text = error.to_string();
    for part in [
        "gcc cannot compile",
        "x.h:1:17: error: unknown type name 'unknown_t'",
    ] {
        assert!(text.contains(part), "{part} in:\n{text}");
    }
    let error = compile(HEADER, "gcc -c x.c", &["struct big"]).unwrap_err();
    assert!(error.to_string().contains("struct big:"), "{error}");
}

#[test]
fn names_a_compiler_that_is_not_there() {
    let error = compile(HEADER, "no-such-gcc -c x.c", &[]).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("there is no compiler 'no-such-gcc', which "),
        "{text}"
    );
    assert_eq!(
        error.category(),
        relayout_messages::ErrorCategory::Environment
    );
}

#[test]
fn nothing_is_left_behind() {
    let compiler = UnitCompiler::new(InterruptFlag::catch()).unwrap();
    let dir = compiler.folder().to_owned();
    let (_project, header, database) = project(HEADER, "gcc -save-temps -c x.c");
    let recipe = choose_recipe(&database, &header, &read_from_disk).unwrap();
    let unit = HeaderUnit {
        header,
        ..HeaderUnit::default()
    };
    compiler.compile(&recipe, &unit).unwrap();
    assert!(dir.is_dir());
    drop(compiler);
    assert!(!dir.exists());
    let left: Vec<_> = std::fs::read_dir(_project.path())
        .unwrap()
        .flatten()
        .map(|e| e.file_name())
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
}
