//! `relayout show` on small objects that the C compiler writes here: what it prints, and how it
//! ends.

use std::fmt::Write;

use crate::common::Place;
use serde_json::Value;

const SOURCE: &str = include_str!("show/types.c");

/// A folder with the object `types`.
fn place() -> Place {
    let place = Place::new();
    place.compile("types", SOURCE, &["-g", "-O0", "-c"]);
    place
}

/// The commands' output is as kept in `snapshots`.
#[track_caller]
fn check(name: &str, commands: &[&str]) {
    let place = place();
    let mut text = String::new();
    for words in commands {
        let ended = place.run_words(words);
        let code = ended.code.unwrap_or(-1);
        let _ = writeln!(text, "$ relayout {words}");
        let _ = write!(text, "{}{}", ended.stdout, ended.stderr);
        let _ = writeln!(text, "[exit {code}]\n");
    }
    insta::assert_snapshot!(name, text);
}

#[test]
fn layouts() {
    check("layouts", &["show types", "show types -c 16 --hex outer"]);
}

#[test]
fn expanded() {
    check(
        "expanded",
        &["show types --expand outer", "show -E types either"],
    );
}

#[test]
fn named_types() {
    check(
        "named",
        &[
            "show types inner either",
            "show types -C inner,number",
            "show types color alias",
            "show types inn*",
            "show types *e* --unions --sizes",
        ],
    );
}

#[test]
fn sizes_and_sorting() {
    check(
        "sizes",
        &[
            "show types --sizes",
            "show types -s --sort",
            "show types -s --sort=size",
            "show types -s --sort=holes",
            "show types -s --sort=padding",
        ],
    );
}

#[test]
fn selections() {
    check(
        "selections",
        &[
            "show types -s --holes 1",
            "show types -s --size-min 8 --size-max 16",
            "show types -s --lines-min 2",
            "show types -s --lines-max 1 -c 16",
            "show types -s --structs",
            "show types -s --unions",
        ],
    );
}

#[test]
fn containers() {
    check(
        "contains",
        &[
            "show types --contains inner",
            "show types --contains inner --recursive",
            "show types -i number",
            "show types -i *nn* -s",
        ],
    );
}

#[test]
fn nothing_to_show() {
    check(
        "nothing",
        &[
            "show types --holes 9",
            "show types --size-min 1000 --lines-max 1",
            "show types --contains nobody",
            "show types --structs either",
            "show types none_*",
            "show types struct::",
            "show types --recursive",
            "show types --json --sizes",
            "show types -j 0",
        ],
    );
}

#[test]
fn json_has_the_keys_that_scripts_use() {
    let place = place();
    let ended = place.run(&["show", "types", "--json", "-j", "1"]);
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""));
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(document["schema"], "relayout/show/1");
    let types = document["types"].as_array().unwrap();
    let find = |name: &str| types.iter().find(|ty| ty["name"] == name).unwrap();
    let outer = find("outer");
    assert_eq!(outer["kind"], "struct");
    assert_eq!(outer["size"], 88);
    assert_eq!(outer["align"], 8);
    assert_eq!(outer["cachelines"], 2);
    assert_eq!(outer["padding"], 7);
    assert_eq!(outer["file"], "[DIR]/types.c");
    assert_eq!(outer["holes"][0]["offset"], 1);
    assert_eq!(outer["holes"][0]["size"], 3);
    let flag = &outer["members"][2];
    assert_eq!(flag["name"], "low");
    assert_eq!(
        (&flag["bit_offset"], &flag["bit_size"]),
        (&0.into(), &3.into())
    );
    assert_eq!(find("either")["kind"], "union");
}

/// As many threads as one likes, and the same output.
#[test]
fn threads_do_not_show() {
    let place = place();
    let single = place.run(&["show", "types", "-j1"]);
    let four = place.run(&["show", "types", "-j", "4"]);
    assert_eq!((single.code, single.stdout), (Some(0), four.stdout));
}

/// Types of Fortran are printed as its compiler lays them out, with a note that other languages are
/// not promised.
#[test]
fn other_languages_are_noted() {
    let place = Place::new();
    let object: &[u8] = include_bytes!("../data/fortran/derived.o");
    place.write("derived.o", object);
    let ended = place.run_words("show derived.o pt --json");
    let note = "relayout: derived.o has 1 unit of Fortran; relayout reads C, C++, Rust and Go";
    assert!(ended.stderr.starts_with(note), "{}", ended.stderr);
    assert_eq!(
        ended.stderr.matches("Fortran").count(),
        1,
        "{}",
        ended.stderr
    );
    let document: Value = serde_json::from_str(&ended.stdout).expect("a document");
    let shown = &document["types"][0];
    assert_eq!(shown["size"], 280);
    let found: Vec<(&str, u64, u64)> = { shown["members"].as_array().unwrap().iter() }
        .map(|member| {
            let number = |key: &str| member[key].as_u64().unwrap_or_else(|| panic!("{member}"));
            (
                member["name"].as_str().unwrap(),
                number("offset"),
                number("size"),
            )
        })
        .collect();
    let expected = [
        ("a", 0, 1),
        ("x", 8, 8),
        ("name", 16, 5),
        ("flag", 24, 4),
        ("z", 32, 16),
        ("arr", 48, 64),
        ("q", 112, 88),
        ("fixed", 200, 48),
        ("shifted", 248, 12),
        ("s", 264, 8),
        ("_s_length", 272, 8),
    ];
    assert_eq!(found, expected);
    let text = place.run_words("show derived.o pt").stdout;
    assert!(
        text.contains("fixed[3][4];") && text.contains("shifted[3];"),
        "{text}"
    );
    assert!(text.contains("holes: 4, sum holes: 18"), "{text}");
    let plain = place.compile("plain.o", "struct s { int x; } s;", &["-g", "-c"]);
    assert!(plain.exists());
    let compared = place.run_words("diff derived.o plain.o");
    assert_eq!(
        compared.stderr.matches("Fortran").count(),
        1,
        "{}",
        compared.stderr
    );
    assert_eq!(place.run_words("show plain.o").stderr, "");
}
