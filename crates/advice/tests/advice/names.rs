//! Names of instructions: their function and line, and what they do.

use relayout_advice::is_library_file;
use relayout_contend::{AddressNamer as _, SiteOperation, SiteSource};
use relayout_profile::SiteId;
use relayout_testprofile::Step;

use crate::advice::fixture::{address_of, atomic_instruction};
use crate::advice::recording::{Recording, add, in_function, store};

/// Source of the first instruction of a function, which accesses `hot`.
fn source_in(function: &str) -> SiteSource {
    let step = in_function(function, store(0, address_of("hot") + 8));
    let recording = Recording::of_kernel(vec![step]);
    recording.with_names(|names| names.source_of_site(SiteId(0)))
}

/// Tests the line of an instruction in `user.c`, its function, and those that were inlined.
#[track_caller]
fn check_source(function: &str, line: u32, inlined: Option<&str>) {
    let source = source_in(function);
    let file = source.file.as_deref().unwrap_or_default();
    assert!(file.ends_with("user.c"), "{file}");
    assert_eq!(source.line, Some(line));
    assert_eq!(source.function.as_deref(), Some(function));
    assert_eq!(source.inlined.as_deref(), inlined);
}

#[test]
fn code_of_a_kernel_is_where_it_calls_a_helper_of_a_header() {
    check_source("store_by_helper", 8, Some("set_word"));
    check_source("store_by_own", 3, Some("set_second"));
}

#[test]
fn functions_of_an_instruction_begin_with_the_innermost() {
    let step = in_function("store_by_helper", store(0, address_of("hot") + 8));
    let recording = Recording::of_kernel(vec![step]);
    let functions = recording.with_names(|names| names.functions_of_site(SiteId(0)));
    assert_eq!(functions, ["set_word", "store_by_helper"]);
}

#[test]
fn an_instruction_outside_of_all_functions_has_no_source() {
    let recording = Recording::of_kernel(vec![store(0, address_of("hot"))]);
    recording.with_names(|names| {
        assert_eq!(names.source_of_site(SiteId(0)), SiteSource::default());
        assert_eq!(names.operation_of_site(SiteId(0)), SiteOperation::Unknown);
        assert!(names.functions_of_site(SiteId(0)).is_empty());
    });
}

#[test]
fn atomic_instructions_are_told_apart_by_the_use_of_their_result() {
    let check = |function: &str, expect: SiteOperation| {
        let step = Step {
            pc: Some(atomic_instruction(function)),
            ..add(0, address_of("hot"))
        };
        let recording = Recording::of_kernel(vec![step]);
        let found = recording.with_names(|names| names.operation_of_site(SiteId(0)));
        assert_eq!(found, expect, "{function}");
    };
    check("draw_number", SiteOperation::DrawNumber);
    check("count_up", SiteOperation::Add);
    check("release", SiteOperation::Release);
    check("count_down", SiteOperation::Subtract);
    check("exchange", SiteOperation::Exchange);
    check("compare_exchange", SiteOperation::CompareExchange);
    check("set_bit", SiteOperation::Bits);
}

#[test]
fn files_of_compilers_and_standard_libraries_are_not_the_user_s() {
    let library = [
        "/usr/include/stdlib.h",
        "/usr/lib/gcc/x86_64-linux-gnu/12/include/stddef.h",
        "/rustc/9fc6b431/library/core/src/sync/atomic.rs",
        "/opt/gcc/include/c++/12/bits/atomic_base.h",
        "/home/me/rust/library/std/src/sync/mutex.rs",
    ];
    for file in library {
        assert!(is_library_file(file), "{file}");
    }
    for file in ["/home/me/usr/include/a.h", "src/main.rs", "library/core.c"] {
        assert!(!is_library_file(file), "{file}");
    }
}
