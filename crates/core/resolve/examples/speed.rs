//! Measures the cost of resolving a profile of many distinct instructions, taken evenly from a
//! kernel's text.
//!
//!     cargo run --release -p relayout-resolve --example speed -- VMLINUX [SITES] [PROFILE]
//!
//! Every n-th instruction that accesses memory outside of its own frame is a site, 100,000 by
//! default, and accesses one slot of a general-purpose slab cache. Printed are wall time and peak
//! memory, then the same with the evidence that the first resolution kept. With PROFILE, that
//! profile is resolved instead. RAYON_NUM_THREADS sets the threads. The checksum of all objects and
//! of the owner of each transfer must depend neither on the threads nor on the kept evidence.

use std::error::Error;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::time::Instant;

use relayout_layout::dwarf::DwarfFile;
use relayout_profile::{
    AccessKind, Addr, ContextId, CountRow, Profile, ProfileMeta, RangeKind, RangeRow, RunId, Site,
    SiteId,
};
use relayout_resolve::evidence::{AnalysedProgram, FileView};
use relayout_resolve::insn::InstructionSet as _;
use relayout_resolve::insn::x86::X86InsnSet;
use relayout_resolve::{DebugImages, KeptEvidence, Options, Resolution, resolve_with};

const SITES: usize = 100_000;
/// Accesses to one object, on average.
const SITES_PER_OBJECT: usize = 8;
const SLOTS: u64 = 0xffff_8881_0000_0000;
const SLOT_BYTES: u64 = 192;
const SLAB_SLOTS: u64 = 21;
const PAGE_BYTES: u64 = 4096;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let path = args
        .first()
        .ok_or("usage: speed VMLINUX [SITES] [PROFILE]")?;
    let sites = args.get(1).map_or(Ok(SITES), |n| n.parse())?;
    // SAFETY: the file is not changed while this runs.
    let bytes = unsafe { memmap2::Mmap::map(&File::open(path)?)? };
    let profile = match args.get(2) {
        Some(profile) => relayout_profile::store::read(Path::new(profile))?,
        None => spread_profile(&bytes, sites)?,
    };
    let cold = measure(&bytes, &profile, None)?;
    println!("kept: {} KB", cold.kept.len() / 1024);
    let warm = measure(&bytes, &profile, Some(&cold.kept))?;
    if cold.checksum != warm.checksum {
        return Err("what was kept makes a difference".into());
    }
    Ok(())
}

/// Result of one resolution.
struct TimedResolution {
    checksum: u64,
    kept: Vec<u8>,
}

/// Resolves the profile, with the evidence of an earlier resolution if there is some.
fn measure(
    bytes: &[u8],
    profile: &Profile,
    kept: Option<&[u8]>,
) -> Result<TimedResolution, Box<dyn Error>> {
    let (start, cpu) = (Instant::now(), cpu_ticks());
    let file = DwarfFile::parse(bytes)?;
    let images = DebugImages::from_single_file(&file);
    let read = start.elapsed();
    let mut known =
        KeptEvidence::new(&images, &profile.meta.machine).ok_or("a vmlinux without a build id")?;
    if let Some(kept) = kept {
        known = known.decode(kept)?;
    }
    let taken = start.elapsed() - read;
    let resolution = resolve_with(profile, &images, Options::default(), Some(&mut known))?;
    let total = start.elapsed();
    let cpu_s = (cpu_ticks() - cpu) / TICKS_PER_S;
    println!(
        "{}: {} sites, {} accesses: {:.2} s ({cpu_s:.2} s of CPU time), of it {:.2} s to read the debug \
         file's index and {:.3} s to take what was kept; {} MB at most",
        kept.map_or("cold", |_| "warm"),
        profile.sites.len(),
        profile.counts.len() + profile.conflicts.len(),
        total.as_secs_f64(),
        read.as_secs_f64(),
        taken.as_secs_f64(),
        memory_max_kib().unwrap_or(0) / 1024
    );
    let checksum = checksum(profile, &resolution);
    let objects = resolution.objects().len();
    println!("{objects} objects, checksum {checksum:016x}");
    Ok(TimedResolution {
        checksum,
        kept: known.encode(),
    })
}

/// Makes a profile with sites all over the text.
fn spread_profile(bytes: &[u8], wanted: usize) -> Result<Profile, Box<dyn Error>> {
    let file = DwarfFile::parse(bytes)?;
    let images = DebugImages::from_single_file(&file);
    let program = AnalysedProgram::new(&images, &X86InsnSet);
    let instructions = memory_instructions(&program.main_view());
    let step = (instructions.len() / wanted.max(1)).max(1);
    let chosen: Vec<(u64, bool)> = instructions
        .into_iter()
        .step_by(step)
        .take(wanted)
        .collect();
    let site = |&(pc, _): &(u64, bool)| Site {
        pc,
        bytes: file
            .bytes_at(pc, 15)
            .map(<[u8]>::to_vec)
            .unwrap_or_default(),
    };
    let mut profile = Profile {
        meta: ProfileMeta {
            machine: "x86_64".to_owned(),
            target: "kernel".to_owned(),
            ..ProfileMeta::default()
        },
        sites: chosen.iter().map(site).collect(),
        ..Profile::default()
    };
    for (n, (_, writes)) in chosen.iter().enumerate() {
        let slot = (n / SITES_PER_OBJECT) as u64;
        let slab = SLOTS + slot / SLAB_SLOTS * PAGE_BYTES;
        let addr = slab + slot % SLAB_SLOTS * SLOT_BYTES + (n as u64 * 8) % SLOT_BYTES;
        profile.counts.push(CountRow {
            run: RunId(0),
            context: ContextId(0),
            addr: Addr(addr),
            size: 8,
            site: SiteId(n as u32),
            access: if *writes {
                AccessKind::Write
            } else {
                AccessKind::Read
            },
            count: 1,
            silent: None,
        });
        if slot.is_multiple_of(SLAB_SLOTS) && n.is_multiple_of(SITES_PER_OBJECT) {
            profile.ranges.push(slab_range(slab));
        }
    }
    Ok(profile)
}

/// Returns the address of each instruction with an operand outside of its own frame, and whether it
/// stores.
fn memory_instructions(program: &FileView<'_, '_, '_>) -> Vec<(u64, bool)> {
    let stack = X86InsnSet.stack_pointer();
    let mut instructions = Vec::new();
    for function in program.debug_file().functions() {
        let mut pc = function.low;
        while pc < function.high {
            let Some(insn) = program.insn_at(pc) else {
                break;
            };
            let operand = insn.memory.iter().flatten().find(|m| m.base != Some(stack));
            instructions.extend(operand.map(|m| (pc, m.writes)));
            pc = insn.next_address();
        }
    }
    instructions.sort_unstable();
    instructions.dedup_by_key(|site| site.0);
    instructions
}

fn slab_range(start: u64) -> RangeRow {
    RangeRow {
        run: RunId(0),
        kind: RangeKind::Slab,
        start: Addr(start),
        bytes: PAGE_BYTES,
        owner: format!("kmalloc-{SLOT_BYTES}"),
        id: 0,
        first: Addr(start),
        stride: SLOT_BYTES as u32,
        object_bytes: SLOT_BYTES as u32,
    }
}

fn checksum(profile: &Profile, resolution: &Resolution) -> u64 {
    let mut hash = std::hash::DefaultHasher::new();
    for object in resolution.objects() {
        (object.run, object.base, object.bytes, &object.type_name).hash(&mut hash);
        object.confidence.to_bits().hash(&mut hash);
    }
    for row in &profile.conflicts {
        let place = resolution.address_owner(row.run, row.addr, row.size.into());
        format!("{place:?}").hash(&mut hash);
    }
    hash.finish()
}

/// Unit of the CPU time that Linux reports: 100ths of a second.
const TICKS_PER_S: f64 = 100.0;

/// Returns the CPU time of this process so far, user and system, in ticks (proc(5): fields 14 and
/// 15).
fn cpu_ticks() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let fields = after_name.split_whitespace().skip(11).take(2);
    fields.filter_map(|f| f.parse::<f64>().ok()).sum()
}

/// Returns the peak memory of this process, as Linux counts it.
fn memory_max_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
