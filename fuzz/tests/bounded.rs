//! Time and memory limits of each target, on its seeds, on hostile inputs, on the files in
//! `corpus/`, and on random changes of all these inputs.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use rayon::{ThreadPool, ThreadPoolBuilder};
use relayout_fuzz::memory::{CountingAllocator, MemoryAccount};
use relayout_fuzz::mutate::{FuzzRandom, cut_variants, mutate};
use relayout_fuzz::{hostile, seeds, targets};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Largest number of random changes per target.
const CHANGES_MAX: usize = 20_000;
const SECONDS: u64 = 3;
/// Time limit of one input. An input that takes longer counts as an endless loop.
const INPUT_LIMIT: Duration = Duration::from_secs(20);
/// Bytes of memory that every input may use, regardless of its length. Texts are cut at 16 MiB, and
/// use twice as much more while they grow, in each of two threads. A comparison processes 65536
/// members of a type, in two files.
const MEMORY_FLOOR: usize = 128 << 20;
/// Further bytes of memory for each byte of the input. Compressed sections may be 64 times as long
/// as the file. An entry of two bytes becomes a definition in the index and a type in an arena, of
/// some hundred bytes.
const MEMORY_PER_BYTE: usize = 256;
/// Largest length in bytes of seeds that are truncated at every position, and of inputs that are
/// changed at random.
const CHANGED_BYTES_MAX: usize = 64 << 10;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let Ok(entries) = fs::read_dir(folder("corpus").join(target)) else {
        return Vec::new();
    };
    let mut found: Vec<_> = entries
        .map(|entry| entry.unwrap())
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect();
    found.sort();
    found
}

/// Target that runs in threads of its own, with an account of their memory.
struct Runner {
    name: &'static str,
    target: targets::Target,
    threads: ThreadPool,
    account: &'static MemoryAccount,
}

impl Runner {
    fn new(name: &str) -> Self {
        let (name, target) = targets::ALL.into_iter().find(|(n, _)| *n == name).unwrap();
        let account = MemoryAccount::open();
        let threads = ThreadPoolBuilder::new()
            .num_threads(2)
            .start_handler(move |_| account.join())
            .build()
            .unwrap();
        Self {
            name,
            target,
            threads,
            account,
        }
    }

    /// Runs the target on `input`, and returns a description of the failure. A failing input is
    /// saved. `label` names the input in messages.
    fn run(&mut self, label: &str, input: Vec<u8>) -> Option<String> {
        let input = Arc::new(input);
        if setting("FUZZ_TRACE").is_some() {
            self.keep(&input);
        }
        let (done, result) = channel();
        let (target, shared_input) = (self.target, Arc::clone(&input));
        let before = self.account.start();
        let begun = Instant::now();
        self.threads.spawn(move || {
            // The panic hook has already printed the message.
            let result = catch_unwind(AssertUnwindSafe(|| target(&shared_input)));
            let _ = done.send(result.is_ok());
        });
        let why = match result.recv_timeout(INPUT_LIMIT) {
            Ok(true) => self.memory_of(input.len(), before),
            Ok(false) => Some("panics".to_owned()),
            Err(_) => {
                // The input still occupies the old threads.
                *self = Self::new(self.name);
                Some(format!("takes more than {INPUT_LIMIT:?}"))
            }
        };
        if setting("FUZZ_VERBOSE").is_some() && !label.starts_with("changed") {
            let (took, peak) = (begun.elapsed(), self.account.peak() - before);
            println!(
                "{} {label}: {} bytes, {took:?}, {peak}",
                self.name,
                input.len()
            );
        }
        let why = why?;
        let path = self.keep(&input);
        let (name, len) = (self.name, input.len());
        Some(format!(
            "{name}: {label} ({len} bytes, {}) {why}",
            path.display()
        ))
    }

    fn memory_of(&self, len: usize, before: isize) -> Option<String> {
        let peak = (self.account.peak() - before).max(0) as usize;
        let too_much = peak > MEMORY_FLOOR + MEMORY_PER_BYTE * len;
        too_much.then(|| format!("takes {} KiB of memory", peak >> 10))
    }

    fn keep(&self, input: &[u8]) -> PathBuf {
        let dir = folder("artifacts").join(self.name);
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join(format!("failed-{:08x}", crc32fast::hash(input)));
        fs::write(&path, input).unwrap();
        path
    }
}

fn run(name: &str) {
    let mut runner = Runner::new(name);
    let mut inputs = seeds::target_seeds(name);
    assert!(!inputs.is_empty(), "no seed for {name}");
    let small = inputs.iter().filter(|seed| seed.len() <= CHANGED_BYTES_MAX);
    let mut failed: Vec<String> = small
        .flat_map(|seed| cut_variants(seed))
        .filter_map(|cut| runner.run("a seed cut off", cut))
        .collect();
    for (number, seed) in inputs.iter().enumerate() {
        failed.extend(runner.run(&format!("seed {number}"), seed.clone()));
    }
    let large_cases = hostile::hostile_cases(name).into_iter();
    let large_cases = large_cases.filter(|(_, input)| input.len() > hostile::KEPT_BYTES_MAX);
    let hostile = large_cases.map(|(case, input)| (case.to_owned(), input));
    for (case, input) in corpus(name).into_iter().chain(hostile) {
        failed.extend(runner.run(&case, input.clone()));
        if input.len() <= CHANGED_BYTES_MAX {
            inputs.push(input);
        }
    }
    assert!(failed.is_empty(), "\n{}", failed.join("\n"));
    change_at_random(&mut runner, &inputs);
}

fn change_at_random(runner: &mut Runner, inputs: &[Vec<u8>]) {
    let mut random = FuzzRandom::new(setting("FUZZ_SEED").unwrap_or(0x5eed));
    let seconds = setting("FUZZ_SECONDS");
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(SECONDS));
    let changes_max = if seconds.is_some() {
        usize::MAX
    } else {
        CHANGES_MAX
    };
    let mut changes = 0;
    while changes < changes_max && Instant::now() < end {
        let failed = runner.run("changed at random", mutate(&mut random, inputs));
        assert_eq!(failed, None);
        changes += 1;
    }
    println!(
        "{}: {changes} changed inputs of {}",
        runner.name,
        inputs.len()
    );
}

macro_rules! bounded {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                run(stringify!($name));
            }
        )*

        #[test]
        fn all_targets_are_run() {
            let run = [$(stringify!($name)),*];
            assert_eq!(targets::ALL.map(|(name, _)| name), run);
            for name in run {
                let program = folder("fuzz_targets").join(format!("{name}.rs"));
                assert!(program.is_file(), "{name}");
            }
        }
    };
}

bounded! {
    boot_image btf btf_split catalog check check_lock companions compile_commands diff dwarf evidence
    guest_memory instructions kept kernel_module kit_result layout_order locations perf_data perf_samples profile program_run
    segments source_edit type_index
}

/// The corpus holds every hostile input exactly as the code generates it.
#[test]
fn hostile_inputs_are_kept() {
    for (target, _) in targets::ALL {
        let kept = corpus(target);
        for (name, input) in hostile::hostile_cases(target) {
            if input.len() > hostile::KEPT_BYTES_MAX {
                continue;
            }
            let found = kept.iter().find(|(kept, _)| kept == name);
            let found = found.unwrap_or_else(|| panic!("corpus/{target}/{name} is not there"));
            assert!(
                found.1 == input,
                "corpus/{target}/{name} is another; run `cargo run --release --example seeds`"
            );
        }
    }
}

/// The decoders accept every seed. A seed that fails at once would test little.
#[test]
fn seeds_are_sound() {
    use relayout_layout::dwarf::{DwarfFile, SectionStore};
    for seed in seeds::target_seeds("dwarf") {
        let store = SectionStore::default();
        let file = DwarfFile::parse_with_store(&seed, &store).unwrap();
        assert_eq!(file.find_types("everything").len(), 1);
    }
    let seed = &seeds::target_seeds("btf")[0];
    let btf = relayout_layout::btf::BtfFile::parse(seed).unwrap();
    assert_eq!(btf.find_types("everything").len(), 1);
    for seed in seeds::target_seeds("btf_split") {
        let [base, own, distilled] = targets::split(&seed);
        let parsed = match distilled.is_empty() {
            true => relayout_layout::btf::BtfFile::parse_split(&own, &base),
            false => relayout_layout::btf::BtfFile::parse_distilled(&own, &distilled, &base),
        };
        assert!(parsed.unwrap().is_split());
    }
    for seed in seeds::target_seeds("boot_image") {
        relayout_record::boot_image::BootImage::parse(&seed).unwrap();
    }
    for seed in seeds::target_seeds("perf_data") {
        assert_eq!(relayout_perf_data::decode(&seed).unwrap().samples.len(), 6);
    }
    let profile =
        relayout_profile::decode(targets::unpack(&seeds::target_seeds("profile")[0])).unwrap();
    assert_eq!(
        (
            profile.sites.len(),
            profile.bursts.len(),
            profile.regions.len()
        ),
        (2, 4, 1)
    );
}

#[test]
fn what_was_kept_is_taken() {
    let seed = &seeds::target_seeds("kept")[0];
    assert!(targets::with_kept(seed).is_some());
    assert!(targets::with_kept(&seed[..seed.len() - 1]).is_none());
}

#[test]
fn a_kept_index_of_type_names_is_taken() {
    let seed = &seeds::target_seeds("type_index")[0];
    assert!(targets::takes_type_index(seed));
    assert!(!targets::takes_type_index(&seed[..seed.len() - 1]));
}

#[test]
fn texts_are_sound() {
    let text = |target| String::from_utf8(seeds::target_seeds(target).remove(0)).unwrap();
    relayout_search::order::parse(&text("layout_order"), targets::shape()).unwrap();
    relayout_check::CheckConfig::parse(&text("check")).unwrap();
    let lock = relayout_check::LayoutLock::parse(&text("check_lock")).unwrap();
    assert_eq!(lock.records.len(), 1);
    let path = Path::new("/project/compile_commands.json");
    let database = text("compile_commands");
    relayout_toolchain::compile::CompileDatabase::parse(database.as_bytes(), path).unwrap();
    for seed in seeds::target_seeds("source_edit") {
        let text = String::from_utf8(seed).unwrap();
        let (head, source) = text.split_once('\n').unwrap();
        let mut words = head.split(' ').map(str::to_owned);
        let (name, member) = (words.next().unwrap(), words.next().unwrap());
        let after = words.next().filter(|after| !after.is_empty());
        let change = relayout_patch::SourceChange::MoveMembers {
            members: vec![member],
            to: relayout_patch::MemberPosition::after(after),
            spacing: None,
            reason: None,
        };
        relayout_patch::edit_struct("a.h", source, &name, None, &[change]).unwrap();
    }
}
