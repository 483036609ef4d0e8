use std::sync::OnceLock;

use relayout_check::emit::{AssertionEmitter, EmitForm};
use relayout_check::{
    CheckConfig, CheckSettings, Date, FileFacts, KernelConfig, LayoutCheck, LayoutLock,
    baseline_types,
};
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_layout::dwarf::SectionStore;

use crate::seeds;

/// A configuration: what it asserts of a program, that program as its own baseline, and the
/// assertions as C.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    KernelConfig::parse(text);
    match CheckConfig::parse(text) {
        Ok(config) => judge_seed(&config, None),
        Err(error) => drop(error.to_string()),
    }
}

/// A lock file: written again it is the same, and a program is judged by it.
pub fn check_lock(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(lock) = LayoutLock::parse(text) else {
        return;
    };
    let written = lock.to_text();
    let again = LayoutLock::parse(&written).expect("what was written can be read");
    assert_eq!(again.to_text(), written, "a lock file changed");
    judge_seed(recorded(), Some(&lock));
}

fn recorded() -> &'static CheckConfig {
    static CONFIG: OnceLock<CheckConfig> = OnceLock::new();
    let text = "[[type]]\nname = \"*\"\nas_recorded = true\n";
    CONFIG.get_or_init(|| CheckConfig::parse(text).expect("a sound configuration"))
}

/// Any file against rules for all types and members.
pub(super) fn judge_all(catalog: &TypeCatalog<'_>, data: &[u8]) {
    static CONFIG: OnceLock<CheckConfig> = OnceLock::new();
    let text = "[[type]]\nname = \"*\"\nsize_max = 64\nalign = 8\n\
                no_straddle = [\"*\"]\nwithin_line = [[\"*\"]]\n";
    let config = CONFIG.get_or_init(|| CheckConfig::parse(text).expect("a sound configuration"));
    judge_file(
        config,
        None,
        catalog,
        &FileFacts::from_headers("program", data),
    );
}

fn judge_seed(config: &CheckConfig, lock: Option<&LayoutLock>) {
    judge_file(
        config,
        lock,
        catalog(),
        &FileFacts::from_headers("program", program()),
    );
}

fn judge_file(
    config: &CheckConfig,
    lock: Option<&LayoutLock>,
    catalog: &TypeCatalog<'_>,
    facts: &FileFacts,
) {
    let known = baseline_types(config, facts, catalog).unwrap_or_default();
    let today = Date::from_unix_seconds(1_800_000_000);
    let mut check = LayoutCheck::new(
        config,
        CheckSettings {
            today,
            configurations: &[],
            lock,
            baseline: &known,
        },
    );
    let _ = check.judge_file(catalog, facts);
    check.finish();
    for form in [EmitForm::StaticAssert, EmitForm::Kernel] {
        let mut emitter = AssertionEmitter::new(config, lock, form, today);
        if emitter.add_file(facts, &[], catalog, |_| true).is_ok() {
            emitter.finish(&[]);
        }
    }
}

fn program() -> &'static [u8] {
    static PROGRAM: OnceLock<Vec<u8>> = OnceLock::new();
    PROGRAM.get_or_init(seeds::program)
}

fn catalog() -> &'static TypeCatalog<'static> {
    static STORE: OnceLock<SectionStore> = OnceLock::new();
    static CATALOG: OnceLock<TypeCatalog<'static>> = OnceLock::new();
    CATALOG.get_or_init(|| {
        let store = STORE.get_or_init(SectionStore::default);
        TypeCatalog::parse(program(), store, DebugInfoFormat::Any).expect("the compiler's own file")
    })
}
