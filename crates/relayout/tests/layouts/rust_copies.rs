//! Copies of C types in Rust code, as Linux has them: a rule of `check` for the C type and `diff`
//! are about the C type alone.

use std::process::Command;

use crate::common::Place;
use serde_json::Value;

const C: &str = "struct page { long flags; int refs; } page;";
/// The crate `bindings` with a stale copy, as nothing compares it with C.
const BINDINGS: &str = "
#![no_std]
pub mod bindings_raw {
    #[repr(C)]
    pub struct page { pub flags: i64, pub refs: i32, pub extra: i64 }
    #[repr(C)]
    pub struct page__bindgen_ty_1 { pub next: i64 }
}
#[no_mangle]
pub static COPY: bindings_raw::page = bindings_raw::page { flags: 0, refs: 0, extra: 0 };
#[no_mangle]
pub static PART: bindings_raw::page__bindgen_ty_1 = bindings_raw::page__bindgen_ty_1 { next: 0 };
";

/// Writes the object `name` with both.
fn compile_both(place: &Place, name: &str, c: &str, bindings: &str) {
    let (first, second) = (format!("{name}.c.o"), format!("{name}.rs.o"));
    place.compile(&first, c, &["-g", "-c"]);
    let source = place.write("bindings.rs", bindings);
    let mut rustc = Command::new("rustc");
    rustc
        .args([
            "--crate-name=bindings",
            "--crate-type=lib",
            "--emit=obj",
            "-g",
            "-A",
            "warnings",
        ])
        .args(["-C", "panic=abort", "-o"])
        .arg(place.path(&second))
        .arg(source);
    assert!(crate::common::start(&mut rustc).wait().unwrap().success());
    let mut linker = Command::new("ld");
    linker
        .args(["-r", "-o"])
        .args([place.path(name), place.path(&first), place.path(&second)]);
    assert!(crate::common::start(&mut linker).wait().unwrap().success());
}

fn place() -> Place {
    let place = Place::new();
    compile_both(&place, "old.o", C, BINDINGS);
    place
}

#[test]
fn a_rule_is_about_the_c_type() {
    let place = place();
    place.write(
        "relayout.toml",
        "[[type]]\nname = \"page\"\nsize_max = 16\n",
    );
    let ended = place.run_words("check old.o");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.stdout, "1 assertion checked, none violated\n");
}

#[test]
fn a_rule_with_the_scope_is_about_the_copy() {
    let place = place();
    for name in ["bindings_raw::page", "bindings::*::page"] {
        place.write(
            "relayout.toml",
            format!("[[type]]\nname = \"{name}\"\nsize_max = 16\n"),
        );
        let ended = place.run_words("check old.o");
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let says = "bindings::bindings_raw::page violates size_max";
        assert!(ended.stdout.contains(says), "{ended:?}");
    }
}

/// A type that only a copy has is not the type of a rule: a pass needs evidence.
#[test]
fn a_rule_for_a_copy_alone_finds_nothing() {
    let place = place();
    place.write(
        "relayout.toml",
        "[[type]]\nname = \"page__bindgen_ty_1\"\nsize_max = 16\n",
    );
    let ended = place.run_words("check old.o");
    assert_eq!(ended.code, Some(1), "{ended:?}");
}

#[test]
fn diff_leaves_them_out_and_says_so() {
    let place = place();
    let grown = C.replace("int refs;", "int refs, more[3];");
    let copies = BINDINGS.replace("pub extra: i64", "pub extra: [i64; 4]");
    let copies = copies.replace("extra: 0", "extra: [0; 4]");
    compile_both(&place, "new.o", &grown, &copies);
    let text = |words: &str| {
        let ended = place.run_words(&format!("diff old.o new.o {words}"));
        assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{words}");
        ended.stdout
    };
    let mut all = String::new();
    for words in [
        "",
        "--bindings",
        "page",
        "pa*",
        "--bindings page",
        "bindings::bindings_raw::page",
        "page__bindgen_ty_1",
    ] {
        all += &format!("$ relayout diff old.o new.o {words}\n{}\n", text(words));
    }
    insta::assert_snapshot!("rust_copies_diff", all);
    let document: Value = serde_json::from_str(&text("--json")).unwrap();
    assert_eq!(document["summary"]["bindings_left_out"], 2);
    assert_eq!(document["types"].as_array().unwrap().len(), 1);
}
