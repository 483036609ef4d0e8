//! Each target on its seeds, on what is kept in `corpus/`, and on random changes of both.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use relayout_fuzz::mutate::{Random, mutate};
use relayout_fuzz::{seeds, targets};

/// Random changes tried per target, unless the time is over.
const CHANGES_MAX: usize = 20_000;
const SECONDS: u64 = 3;
/// One input must not take longer than this: it would be endless, or as good as.
const INPUT_LIMIT: Duration = Duration::from_secs(10);

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let Ok(entries) = fs::read_dir(folder("corpus").join(target)) else {
        return Vec::new();
    };
    entries
        .map(|entry| fs::read(entry.unwrap().path()).unwrap())
        .collect()
}

fn check(name: &str) {
    let (_, target) = targets::ALL.into_iter().find(|(n, _)| *n == name).unwrap();
    let mut inputs = seeds::of(name);
    assert!(!inputs.is_empty(), "no seed for {name}");
    inputs.extend(corpus(name));
    for input in &inputs {
        run(name, target, input);
    }
    let mut random = Random::new(setting("FUZZ_SEED").unwrap_or(0x5eed));
    let seconds = setting("FUZZ_SECONDS");
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(SECONDS));
    let changes_max = if seconds.is_some() {
        usize::MAX
    } else {
        CHANGES_MAX
    };
    let mut changes = 0;
    while changes < changes_max && Instant::now() < end {
        run(name, target, &mutate(&mut random, &inputs));
        changes += 1;
    }
    println!("{name}: {changes} changed inputs of {}", inputs.len());
}

fn run(name: &str, target: targets::Target, input: &[u8]) {
    let begun = Instant::now();
    let keep = || {
        let dir = folder("artifacts").join(name);
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join(format!("failed-{:08x}", crc32fast::hash(input)));
        fs::write(&path, input).unwrap();
        eprintln!("{name}: the input is kept as {}", path.display());
    };
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| target(input))) {
        keep();
        resume_unwind(panic);
    }
    if begun.elapsed() > INPUT_LIMIT {
        keep();
        panic!(
            "{name}: took {:?} for {} bytes",
            begun.elapsed(),
            input.len()
        );
    }
}

macro_rules! bounded {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            check(stringify!($name));
        }
    )*};
}

bounded!(boot_image btf dwarf evidence instructions layout_order profile segments source_edit);

/// What the decoders refuse at once tests little.
#[test]
fn seeds_are_sound() {
    use relayout_layout::dwarf::{DwarfFile, SectionStore};
    for seed in seeds::of("dwarf") {
        let store = SectionStore::default();
        let file = DwarfFile::parse_in(&seed, &store).unwrap();
        assert_eq!(file.find_types("everything").len(), 1);
    }
    let seed = &seeds::of("btf")[0];
    let btf = relayout_layout::btf::Btf::parse(seed).unwrap();
    assert_eq!(btf.find_types("everything").len(), 1);
    relayout_host::bzimage::version(&seeds::of("boot_image")[0]).unwrap();
    let profile = relayout_profile::decode(targets::unpack(&seeds::of("profile")[0])).unwrap();
    assert_eq!(
        (
            profile.sites.len(),
            profile.bursts.len(),
            profile.regions.len()
        ),
        (2, 4, 1)
    );
    let order = String::from_utf8(seeds::of("layout_order").remove(0)).unwrap();
    relayout_search::order::parse(&order, targets::shape()).unwrap();
    for seed in seeds::of("source_edit") {
        let text = String::from_utf8(seed).unwrap();
        let (head, source) = text.split_once('\n').unwrap();
        let mut words = head.split(' ').map(str::to_owned);
        let (name, member) = (words.next().unwrap(), words.next().unwrap());
        let after = words.next().filter(|after| !after.is_empty());
        let change = relayout_patch::Change::MoveMember {
            member,
            after,
            reason: None,
        };
        relayout_patch::edit_struct("a.h", source, &name, None, &[change]).unwrap();
    }
}

#[test]
fn all_targets_are_run() {
    for (name, _) in targets::ALL {
        let text = include_str!("bounded.rs");
        let listed = text
            .lines()
            .find(|line| line.starts_with("bounded!("))
            .unwrap();
        assert!(listed.contains(name), "{name}");
        assert!(
            folder("fuzz_targets").join(format!("{name}.rs")).is_file(),
            "{name}"
        );
    }
}
