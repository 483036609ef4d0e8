//! Sound inputs to start from. They are made, not kept, so that they follow the formats.

use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use object::{Object, ObjectSection};
use relayout_profile::{Addr, Profile, RangeKind, RangeRow, RecordedRun, RunId, encode, segments};
use relayout_shadow::CONTEXTS_MAX;
use relayout_shadow::wire::{
    self, AllocRecord, BurstRecord, ConflictRecord, CountRecord, LineRecord, RegionRecord,
    SegmentHeader, SiteRecord, SummaryRecord, WireRecord,
};

#[path = "../../crates/core/perf-data/tests/perf/builder/mod.rs"]
pub(crate) mod perf;

use crate::hostile;
use crate::targets::{self, join, pack};

/// The seeds of a target.
pub fn target_seeds(target: &str) -> Vec<Vec<u8>> {
    match target {
        "boot_image" => vec![boot_image(), arm64_image(), zboot_image()],
        "btf" => vec![btf()],
        "btf_split" => vec![
            join(&[btf(), btf()]),
            hostile_seed(target, "split-sound"),
            hostile_seed(target, "distilled-sound"),
        ],
        "catalog" => [target_seeds("dwarf"), target_seeds("btf")].concat(),
        "check" => vec![include_bytes!("../seeds/relayout.toml").to_vec()],
        "check_lock" => vec![include_bytes!("../seeds/relayout.lock").to_vec()],
        "companions" => vec![split_program(), hostile_seed(target, "all-there")],
        "compile_commands" => vec![include_bytes!("../seeds/compile_commands.json").to_vec()],
        "diff" => {
            let other = compile(&["-c", "-g", "-fshort-enums", "-fpack-struct=4"]);
            vec![join(&[program(), other]), join(&[btf(), program()])]
        }
        "dwarf" => vec![
            program(),
            compile(&["-c", "-g", "-gz=zlib"]),
            compile(&["-c", "-gdwarf-4"]),
            compile(&["-c", "-g", "-fdebug-types-section"]),
        ],
        "evidence" | "instructions" => {
            let program = program();
            vec![program[section(&program, ".text").bytes].to_vec()]
        }
        "guest_memory" => targets::guest_memory_seeds(),
        "kept" => vec![targets::kept_content()],
        "kit_result" => vec![include_bytes!("../seeds/kit-result.txt").to_vec()],
        "kernel_module" => target_seeds("dwarf"),
        "locations" => vec![program_with(&["-O2"]), program_with(&["-O2", "-gdwarf-4"])],
        "layout_order" => vec![
            b"# all\nfirst\nlow\nlarge\nnamed\ncolour @8\neither\ncall\naligned @64\n\
            tail\n@128\n"
                .to_vec(),
        ],
        "perf_data" => perf_files(),
        "perf_samples" => targets::perf_samples_seeds(),
        "profile" => vec![pack(&encode(&profile()).expect("sound rows"))],
        "program_run" => vec![program_run()],
        "segments" => vec![join(&segment_files())],
        "source_edit" => {
            let source = include_str!("../seeds/program.c");
            vec![
                format!("everything colour first\n{source}").into_bytes(),
                format!("node key \n#ifdef A\n#endif\n{source}").into_bytes(),
                include_bytes!("../seeds/groups.h").to_vec(),
            ]
        }
        "type_index" => vec![targets::type_index_content()],
        _ => Vec::new(),
    }
}

/// Files of perf, in its forms.
fn perf_files() -> Vec<Vec<u8>> {
    use perf::{File, ping_pong};
    let with_samples = |mut file: File| {
        ping_pong(&mut file, 3);
        file
    };
    let pebs = with_samples(File::pebs());
    let mut stream = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58];
    // One raw block, the last.
    stream.extend(&(1 | (pebs.records.len() as u32) << 3).to_le_bytes()[..3]);
    stream.extend(&pebs.records);
    let mut compressed = pebs.clone();
    compressed.compress(&stream, 4);
    vec![
        pebs.bytes(),
        pebs.pipe(),
        with_samples(File::ibs()).bytes(),
        with_samples(File::spe()).bytes(),
        with_samples(File::pebs().big_endian()).bytes(),
        compressed.bytes(),
    ]
}

/// A linked ELF file with debug information.
pub fn program() -> Vec<u8> {
    program_with(&["-O1"])
}

/// The program of [`program`], compiled once: for targets that decode what was kept of it.
pub fn kept_program() -> &'static [u8] {
    static PROGRAM: OnceLock<Vec<u8>> = OnceLock::new();
    PROGRAM.get_or_init(program)
}

fn program_with(flags: &[&str]) -> Vec<u8> {
    let mut arguments = vec!["-g"];
    arguments.extend(flags);
    arguments.extend([
        "-nostdlib",
        "-static",
        "-no-pie",
        "-Wl,-e,0",
        "-Wl,--build-id",
    ]);
    compile(&arguments)
}

/// An object whose types are in a `.dwo` file, and that file.
fn split_program() -> Vec<u8> {
    let dir = tempfile::tempdir().expect("a folder for the compiler");
    let object = compile_in(dir.path(), &["-c", "-g", "-gsplit-dwarf"]);
    let dwo = std::fs::read(dir.path().join("program.dwo")).expect("what the compiler wrote");
    join(&[object, Vec::new(), Vec::new(), dwo])
}

/// A hostile input that is sound: no compiler here writes such files.
fn hostile_seed(target: &str, name: &str) -> Vec<u8> {
    let mut cases = hostile::hostile_cases(target).into_iter();
    let found = cases.find(|(case, _)| *case == name);
    found.expect("an input of that name").1
}

/// Place of a section.
pub struct SeedSection {
    /// Bytes of the file.
    pub bytes: Range<usize>,
    /// Address of the first one.
    pub address: u64,
}

/// The section with this name of an ELF file that a compiler made.
pub fn section(elf: &[u8], name: &str) -> SeedSection {
    let file = object::File::parse(elf).expect("the compiler's own file");
    let section = file
        .section_by_name(name)
        .expect("a section of every program");
    let (offset, len) = section.file_range().expect("a section with contents");
    SeedSection {
        bytes: offset as usize..(offset + len) as usize,
        address: section.address(),
    }
}

fn compile(flags: &[&str]) -> Vec<u8> {
    let dir = tempfile::tempdir().expect("a folder for the compiler");
    compile_in(dir.path(), flags)
}

fn compile_in(dir: &Path, flags: &[&str]) -> Vec<u8> {
    let out = dir.join("program.o");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds/program.c");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let mut command = Command::new(compiler);
    command
        .args(["-fno-pie", "-ffreestanding", "-w"])
        .args(flags)
        .arg("-o")
        .arg(&out)
        .arg(source);
    let status = command.status().expect("a C compiler");
    assert!(status.success(), "{command:?} failed");
    std::fs::read(out).expect("what the compiler wrote")
}

fn btf() -> Vec<u8> {
    let object = compile(&["-c", "-gbtf"]);
    object[section(&object, ".BTF").bytes].to_vec()
}

fn boot_image() -> Vec<u8> {
    let mut image = vec![0; 0x260];
    image[0x1fe..0x200].copy_from_slice(&[0x55, 0xaa]);
    image[0x202..0x206].copy_from_slice(b"HdrS");
    image[0x20e..0x210].copy_from_slice(&0x20u16.to_le_bytes());
    image[0x220..0x245].copy_from_slice(b"6.1.0-9-amd64 (a@b) #1 SMP 2024-01-01");
    image
}

fn arm64_image() -> Vec<u8> {
    let mut image = vec![0; 0x40];
    image[0x38..0x3c].copy_from_slice(b"ARM\x64");
    image.extend(b"Linux version 6.12.1 (a@b) #1 SMP 2024-01-01\n\0");
    image
}

/// A compressed image. Its payload is one block that is stored, not compressed.
fn zboot_image() -> Vec<u8> {
    let image = arm64_image();
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x20, image.len() as u8];
    let last_stored_block = 1 | (image.len() as u32) << 3;
    frame.extend(&last_stored_block.to_le_bytes()[..3]);
    frame.extend(&image);
    let mut file = b"MZ\0\0zimg".to_vec();
    file.extend(0x40u32.to_le_bytes());
    file.extend((frame.len() as u32).to_le_bytes());
    file.resize(0x18, 0);
    file.extend(b"zstd\0");
    file.resize(0x40, 0);
    file.extend(frame);
    file
}

fn profile() -> Profile {
    let files = segment_files();
    let numbers = [0, 1, CONTEXTS_MAX as u16];
    let files: Vec<(u16, &[u8])> = numbers
        .into_iter()
        .zip(files.iter().map(Vec::as_slice))
        .collect();
    let mut profile = segments::assemble(&files, RunId(0), 2)
        .expect("sound segments")
        .profile;
    profile.meta.runs = vec![RecordedRun {
        console_tail: vec!["done".into()],
        ..RecordedRun::default()
    }];
    profile.ranges = vec![RangeRow {
        run: RunId(0),
        kind: RangeKind::Slab,
        start: Addr(0x1000),
        bytes: 4096,
        owner: "kmalloc-192".into(),
        id: 0,
        first: Addr(0x1000),
        stride: 192,
        object_bytes: 192,
    }];
    profile
}

/// Two contexts and the file of sites.
fn segment_files() -> Vec<Vec<u8>> {
    let count = CountRecord {
        addr: 0x1008,
        site: 7,
        size: 8,
        access: 1,
        reserved: 0,
        count: 5,
        silent: 1,
    };
    let line = LineRecord {
        line: 0x1000,
        reads: 3,
        writes: 5,
        first_reads: 1,
        later_reads: 0,
        write_transfers: 2,
        upgrades: 1,
        order_errors: 0,
        reserved: 0,
    };
    let context = |number: u16, other: u16| {
        let mut file = Vec::new();
        append(&mut file, number, 0, &[count]);
        append(&mut file, number, 1, &[line]);
        append(&mut file, number, 2, &[conflict(other)]);
        append(
            &mut file,
            number,
            3,
            &[burst(u64::from(number)), burst(2 + u64::from(number))],
        );
        file
    };
    let mut first = context(0, 1);
    append(&mut first, 0, 4, &[REGION]);
    append(&mut first, 0, 5, &[SUMMARY]);
    let mut sites = Vec::new();
    let site = |number| SiteRecord {
        pc: 0x40_1000,
        site: number,
        len: 3,
        bytes: [0x48; 19],
    };
    append(
        &mut sites,
        CONTEXTS_MAX as u16,
        0,
        &[
            site(7),
            SiteRecord {
                pc: 0x40_1003,
                ..site(9)
            },
        ],
    );
    vec![first, context(1, 0), sites]
}

/// The map of a program and two contexts, whose sites 7 and 9 are in both of its modules' low bits.
fn program_run() -> Vec<u8> {
    let map = b"module 555500000000 555500010000 555500000000 /bin/program\n\
        module 7fff00010000 7fff00020000 7fff00010000 /lib/libc.so.6\n\
        thread 0 100 program\nthread 1 101 worker\nstack 1 1000 1000\n\
        tls 1 2000 40 555500000000\nname 1 struct pool\n";
    let mut files = segment_files();
    files.truncate(2);
    let alloc = |start, name| AllocRecord {
        start,
        bytes: 64,
        events: 5,
        first_ticket: 0,
        end_ticket: u64::MAX,
        frames: [0x5555_0000_1000, 0x5555_0000_2000, 0, 0, 0, 0, 0, 0],
        name,
        stride: 0,
    };
    append(
        &mut files[0],
        0,
        6,
        &[alloc(0x1000, 0), alloc(0x1020, 0), alloc(0x1000, 1)],
    );
    files.insert(0, map.to_vec());
    join(&files)
}

const REGION: RegionRecord = RegionRecord {
    start: 0x1000,
    first_ticket: 0,
    end_ticket: 4,
    first_op: 0,
    end_op: 2,
    visits_end_ticket: 4,
    bytes: 512,
    reserved: 0,
};

const SUMMARY: SummaryRecord = SummaryRecord {
    window_wall_ns: 1,
    window_cpu_ns: 2,
    accesses: 16,
    operations: 2,
    bursts_dropped: 0,
    entries_lost: 0,
    values_seen: 1,
    window_closed: 1,
};

fn conflict(other_context: u16) -> ConflictRecord {
    ConflictRecord {
        addr: 0x1008,
        other_addr: 0x1010,
        site: 7,
        other_site: 9,
        size: 8,
        access: 1,
        other_size: 4,
        other_access: 2,
        other_context,
        transfer: 1,
        reserved: 0,
        count: 2,
        false_first_touch: 2,
        false_lifetime: 1,
        reserved2: 0,
    }
}

fn burst(ticket: u64) -> BurstRecord {
    BurstRecord {
        ticket,
        addr: 0x1008,
        site: 7,
        size: 8,
        access: 1,
        silent: 0,
        reserved: 0,
    }
}

fn append<R: WireRecord>(file: &mut Vec<u8>, context: u16, sequence: u32, records: &[R]) {
    let header = SegmentHeader::for_records(context, sequence, records);
    file.extend(wire::as_header_bytes(&header));
    file.extend(wire::as_bytes(records));
}
