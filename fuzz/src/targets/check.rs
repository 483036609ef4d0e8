use std::sync::OnceLock;

use relayout_check::emit::{Emitter, Form};
use relayout_check::{Check, Config, Date, Facts, KernelConfig, Lock, Settings, baseline};
use relayout_layout::catalog::{Catalog, Format};
use relayout_layout::dwarf::SectionStore;

use crate::seeds;

/// A configuration: what it asserts of a program, that program as its own baseline, and the
/// assertions as C.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    KernelConfig::parse(text);
    match Config::parse(text) {
        Ok(config) => judge_seed(&config, None),
        Err(error) => drop(error.to_string()),
    }
}

/// A lock file: written again it is the same, and a program is judged by it.
pub fn check_lock(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(lock) = Lock::parse(text) else {
        return;
    };
    let written = lock.to_text();
    let again = Lock::parse(&written).expect("what was written can be read");
    assert_eq!(again.to_text(), written, "a lock file changed");
    judge_seed(recorded(), Some(&lock));
}

fn recorded() -> &'static Config {
    static CONFIG: OnceLock<Config> = OnceLock::new();
    let text = "[[type]]\nname = \"*\"\nas_recorded = true\n";
    CONFIG.get_or_init(|| Config::parse(text).expect("a sound configuration"))
}

/// Any file against rules for all types and members.
pub(super) fn judge_all(catalog: &Catalog<'_>, data: &[u8]) {
    static CONFIG: OnceLock<Config> = OnceLock::new();
    let text = "[[type]]\nname = \"*\"\nsize_max = 64\nalign = 8\n\
                no_straddle = [\"*\"]\nwithin_line = [[\"*\"]]\n";
    let config = CONFIG.get_or_init(|| Config::parse(text).expect("a sound configuration"));
    judge_file(config, None, catalog, &Facts::of("program", data));
}

fn judge_seed(config: &Config, lock: Option<&Lock>) {
    judge_file(config, lock, catalog(), &Facts::of("program", program()));
}

fn judge_file(config: &Config, lock: Option<&Lock>, catalog: &Catalog<'_>, facts: &Facts) {
    let known = baseline(config, facts, catalog).unwrap_or_default();
    let today = Date::from_unix_seconds(1_800_000_000);
    let mut check = Check::new(
        config,
        Settings {
            today,
            configurations: &[],
            lock,
            baseline: &known,
        },
    );
    let _ = check.file(catalog, facts);
    check.finish();
    for form in [Form::StaticAssert, Form::Kernel] {
        let mut emitter = Emitter::new(config, lock, form, today);
        if emitter.add(facts, &[], catalog, |_| true).is_ok() {
            emitter.finish(&[]);
        }
    }
}

fn program() -> &'static [u8] {
    static PROGRAM: OnceLock<Vec<u8>> = OnceLock::new();
    PROGRAM.get_or_init(seeds::program)
}

fn catalog() -> &'static Catalog<'static> {
    static STORE: OnceLock<SectionStore> = OnceLock::new();
    static CATALOG: OnceLock<Catalog<'static>> = OnceLock::new();
    CATALOG.get_or_init(|| {
        let store = STORE.get_or_init(SectionStore::default);
        Catalog::parse_in(program(), store, Format::Any).expect("the compiler's own file")
    })
}
