//! Profiles of files that are written here.

use relayout_perf_data::{decode, kernel_text, process_modules};
use relayout_profile::perf::{
    self, ImportOptions, ImportTarget, ImportedProfile, SampledInstruction, choose_target,
};
use relayout_profile::{AccessCoverage, AccessKind, validate};

use crate::perf::builder::*;

fn options(what: ImportTarget) -> ImportOptions {
    ImportOptions {
        target: what,
        slide: 0,
        image: (0, 0),
        line_bytes: 64,
        modules: Vec::new(),
    }
}

#[track_caller]
fn import(
    file: &File,
    options: &ImportOptions,
    code: fn(u64) -> Option<SampledInstruction>,
) -> ImportedProfile {
    let recording = decode(&file.bytes()).expect("a good file");
    let imported = perf::import_samples(&recording, options, &mut { code }).expect("imports");
    validate::validate(&imported.profile).expect("a valid profile");
    let files = relayout_profile::encode(&imported.profile).expect("encodes");
    let again = relayout_profile::decode(files).expect("decodes");
    assert_eq!(again.lines, imported.profile.lines);
    assert_eq!(again.bursts, imported.profile.bursts);
    assert_eq!(again.meta.coverage, AccessCoverage::Samples);
    imported
}

fn unknown(_: u64) -> Option<SampledInstruction> {
    None
}

#[test]
fn two_threads_on_one_line() {
    let mut file = File::pebs();
    ping_pong(&mut file, 10);
    let profile = import(&file, &options(ImportTarget::Process(100)), unknown).profile;
    assert_eq!(profile.meta.contexts, 2);
    assert!(profile.meta.hitm_seen);
    assert_eq!(profile.meta.target, "program");
    let [reader, writer] = &profile.lines[..] else {
        panic!("{:?}", profile.lines)
    };
    assert_eq!(
        (
            reader.context.0,
            reader.reads,
            reader.writes,
            reader.read_transfers
        ),
        (0, 10_000, 0, 10_000)
    );
    assert_eq!(
        (
            writer.context.0,
            writer.reads,
            writer.writes,
            writer.write_transfers
        ),
        (1, 0, 10_000, 0)
    );
    let [read, write] = &profile.counts[..] else {
        panic!("{:?}", profile.counts)
    };
    assert_eq!(
        (read.access, read.count, read.size, read.silent),
        (AccessKind::Read, 10_000, 1, None)
    );
    assert_eq!(
        (write.access, write.addr - read.addr),
        (AccessKind::Write, 8)
    );
    let threads = &profile.meta.runs[0].threads;
    assert_eq!(
        threads
            .iter()
            .map(|t| (t.context, t.tid))
            .collect::<Vec<_>>(),
        [(0, 100), (1, 101)]
    );
    // A thread that never got a name has its creator's.
    assert_eq!(threads[1].name, "bench");
    assert!(profile.conflicts.is_empty() && profile.regions.is_empty());
    // In the order in which they were taken; of one time, in that of the file.
    let order: Vec<_> = { profile.bursts.iter() }
        .map(|b| (b.ticket, b.context, b.access, b.addr))
        .collect();
    let turns = (0..10).flat_map(|_| [read, write]);
    let expect = (0..).zip(turns);
    assert_eq!(
        order,
        expect
            .map(|(ticket, row)| (ticket, row.context, row.access, row.addr))
            .collect::<Vec<_>>()
    );
}

/// Each CPU's samples are together in the file.
#[test]
fn samples_are_ordered_by_time() {
    let mut file = File::pebs();
    for (cpu, times) in [(0, [30, 10, 50]), (1, [40, 20, 20])] {
        for time_ns in times {
            file.sample(Sample {
                tid: 100 + cpu,
                cpu,
                time_ns,
                ..Sample::default()
            });
        }
    }
    let order = |file: &File| {
        let profile = import(file, &options(ImportTarget::Process(100)), unknown).profile;
        profile
            .bursts
            .iter()
            .map(|b| b.context.0)
            .collect::<Vec<_>>()
    };
    assert_eq!(order(&file), [0, 1, 1, 0, 1, 0]);
    // Where a time is missing, no order is known.
    file.sample(Sample {
        time_ns: 0,
        ..Sample::default()
    });
    assert_eq!(order(&file), [0_u16; 0]);
    let notes = import(&file, &options(ImportTarget::Process(100)), unknown).notes;
    let note = "1 samples do not say when they were taken: the order of none is known";
    assert!(notes.contains(&note.into()), "{notes:?}");
}

#[test]
fn instructions_say_how_much_and_whether_both() {
    let known = |pc| {
        let bytes = vec![0x48, 0xff, 0x07];
        Some(SampledInstruction {
            bytes,
            access_bytes: 8,
            modifies: pc == 0x40_1000,
        })
    };
    // One event for all: the load is half of a read-write.
    let mut ibs = File::ibs();
    ibs.sample(Sample {
        addr: 0x103c,
        ..Sample::default()
    });
    let profile = import(&ibs, &options(ImportTarget::Process(100)), known).profile;
    assert_eq!(
        (profile.counts[0].access, profile.counts[0].size),
        (AccessKind::ReadWrite, 8)
    );
    assert_eq!(profile.sites[0].bytes, [0x48, 0xff, 0x07]);
    // It straddles, and counts on both lines.
    assert_eq!(
        profile
            .lines
            .iter()
            .map(|l| (l.line.0, l.reads, l.writes))
            .collect::<Vec<_>>(),
        [(0x1000, 1, 1), (0x1040, 1, 1)]
    );
    // An event of its own for stores: neither half counts twice.
    let mut pebs = File::pebs();
    pebs.sample(Sample::default());
    pebs.sample(Sample {
        event: 1,
        source: STORE,
        ..Sample::default()
    });
    let profile = import(&pebs, &options(ImportTarget::Process(100)), known).profile;
    assert_eq!(
        profile.counts.iter().map(|c| c.access).collect::<Vec<_>>(),
        [AccessKind::Read, AccessKind::Write]
    );
    assert_eq!((profile.lines[0].reads, profile.lines[0].writes), (1, 1));
    // A locked load stores as well, known or not; that its line was modified elsewhere is then a
    // store's miss.
    let mut locked = File::ibs();
    locked.sample(Sample {
        source: LOAD_HITM_LOCKED,
        ..Sample::default()
    });
    let profile = import(&locked, &options(ImportTarget::Process(100)), unknown).profile;
    assert_eq!(profile.counts[0].access, AccessKind::ReadWrite);
    assert_eq!(
        (
            profile.lines[0].read_transfers,
            profile.lines[0].write_transfers
        ),
        (0, 1)
    );
}

#[test]
fn which_process() {
    let mut file = File::pebs();
    ping_pong(&mut file, 3);
    file.comm(200, 200, "other", false, 0);
    file.sample(Sample {
        pid: 200,
        tid: 200,
        ..Sample::default()
    });
    let recording = decode(&file.bytes()).unwrap();
    assert_eq!(
        choose_target(&recording, None, false),
        Ok(ImportTarget::Process(100))
    );
    assert_eq!(
        choose_target(&recording, Some(200), false),
        Ok(ImportTarget::Process(200))
    );
    let error = choose_target(&recording, Some(1), false)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "no memory sample of process 1; there are some of 100 (bench, 6 samples), 200 (other, 1 samples)"
    );
    let error = choose_target(&recording, None, true)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("none of the 7 memory samples is of a kernel address"),
        "{error}"
    );
    let notes = import(&file, &options(ImportTarget::Process(200)), unknown).notes;
    assert!(
        notes.contains(&"6 samples of other processes are left out (--pid chooses)".into()),
        "{notes:?}"
    );
}

#[test]
fn only_the_kernels() {
    let mut file = File::pebs();
    let text = 0xffff_ffff_9a00_0000;
    file.kernel(text, 0x200_0000, text);
    let sample = Sample {
        pc: text + 0x10,
        addr: text + 0x100_0040,
        cpu: 5,
        ..Sample::default()
    };
    file.sample(sample);
    file.sample(Sample {
        addr: 0xffff_8881_0000_1000,
        cpu: 2,
        ..sample
    });
    let recording = decode(&file.bytes()).unwrap();
    let error = choose_target(&recording, None, false)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("all 2 memory samples are of kernel addresses"),
        "{error}"
    );
    assert!(error.contains("--kernel"), "{error}");
    assert_eq!(kernel_text(&recording), Some(("_text", text)));
    let slide = text - 0xffff_ffff_8100_0000;
    let image = (text, text + 0x400_0000);
    let options = ImportOptions {
        slide,
        image,
        ..options(ImportTarget::Kernel)
    };
    let profile = import(&file, &options, unknown).profile;
    assert_eq!(profile.meta.target, "kernel");
    assert_eq!(profile.sites[0].pc, 0xffff_ffff_8100_0010);
    // The image moved, the direct map did not; contexts are CPUs.
    assert_eq!(
        profile
            .counts
            .iter()
            .map(|c| (c.addr.0, c.context.0))
            .collect::<Vec<_>>(),
        [(0xffff_8881_0000_1000, 2), (0xffff_ffff_8200_0040, 5),]
    );
    assert_eq!(profile.meta.contexts, 6);
}

#[test]
fn modules_are_those_since_the_last_exec() {
    let mut file = File::pebs();
    file.mmap2(100, (0x10_0000, 0x1000, 0), "/usr/bin/perf", 1);
    file.comm(100, 100, "bench", true, 10);
    file.mmap2(100, (0x40_1000, 0x1000, 0x1000), "/bin/bench", 11);
    file.mmap2(100, (0x40_0000, 0x1000, 0), "/bin/bench", 12);
    file.mmap2(100, (0x7000_0000, 0x1000, 0), "[vdso]", 13);
    // A child without an exec of its own has its parent's, from before the fork.
    file.fork(300, 100, 300, 100, 50);
    file.mmap2(300, (0x60_0000, 0x1000, 0), "/lib/later.so", 60);
    file.mmap2(100, (0x50_0000, 0x1000, 0), "/lib/too-late.so", 70);
    file.sample(Sample {
        time_ns: 5,
        ..Sample::default()
    });
    file.sample(Sample::default());
    let recording = decode(&file.bytes()).unwrap();
    let paths = |pid| {
        process_modules(&recording, pid)
            .into_iter()
            .map(|m| (m.path, m.pieces.len()))
            .collect::<Vec<_>>()
    };
    let named = |list: &[(&str, usize)]| {
        list.iter()
            .map(|(path, n)| (path.to_string(), *n))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        paths(100),
        named(&[("/bin/bench", 2), ("/lib/too-late.so", 1)])
    );
    assert_eq!(
        paths(300),
        named(&[("/bin/bench", 2), ("/lib/later.so", 1)])
    );
    let bench = &process_modules(&recording, 100)[0];
    assert_eq!((bench.start(), bench.end()), (0x40_0000, 0x40_2000));
    assert_eq!(bench.file_offset(0x40_1234), Some(0x1234));
    assert_eq!(bench.file_offset(0x40_2000), None);
    let imported = import(&file, &options(ImportTarget::Process(100)), unknown);
    assert_eq!(imported.profile.meta.runs[0].accesses, 1);
    assert!(
        imported
            .notes
            .iter()
            .any(|n| n.starts_with("1 samples from before the process's last exec")),
        "{:?}",
        imported.notes
    );
}

#[test]
fn what_is_missing_is_said() {
    let mut file = File::pebs();
    ping_pong(&mut file, 2);
    file.lost(12);
    let ImportedProfile { profile, notes } =
        import(&file, &options(ImportTarget::Process(100)), unknown);
    assert!(!profile.meta.runs[0].complete);
    assert!(
        notes
            .iter()
            .any(|note| note.starts_with("12 samples and records were lost")),
        "{notes:?}"
    );
    assert!(
        notes
            .iter()
            .any(|note| note.starts_with("4 samples are of instructions whose file")),
        "{notes:?}"
    );
}
