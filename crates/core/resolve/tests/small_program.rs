//! Resolution of addresses in a small C program with known layouts, which the test compiles.

use std::error::Error;
use std::path::Path;
use std::process::Command;

use relayout_layout::dwarf::DwarfFile;
use relayout_profile::{
    AccessCoverage, AccessKind, Addr, CoherenceEvent, ConflictRow, ContextId, Profile, RangeKind,
    RangeRow, RunId, Site, SiteId,
};
use relayout_resolve::evidence::{AnalysedProgram, FileView};
use relayout_resolve::insn::x86::X86InsnSet;
use relayout_resolve::{
    AddressOwner, DebugImages, KeptEvidence, ObjectKind, Options, SourceMap, resolve, resolve_with,
};

const HEAP: u64 = 0x7000_0000;

/// Compiles the program and returns its bytes.
fn compiled() -> Result<Vec<u8>, Box<dyn Error>> {
    compiled_with(&[])
}

fn compiled_with(more_arguments: &[&str]) -> Result<Vec<u8>, Box<dyn Error>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/small_program.c");
    let folder = tempfile::tempdir()?;
    let program = folder.path().join("small_program");
    let status = Command::new("cc")
        .args(["-O2", "-g", "-no-pie", "-Wl,--build-id"])
        .args(more_arguments)
        .arg("-o")
        .args([&program, &source])
        .status()?;
    assert!(status.success(), "cc failed on {}", source.display());
    Ok(std::fs::read(program)?)
}

fn range(kind: RangeKind, start: u64, bytes: u64) -> RangeRow {
    let owner = String::from("somewhere");
    RangeRow {
        run: RunId(0),
        kind,
        start: Addr(start),
        bytes,
        owner,
        id: 0,
        first: Addr(start),
        stride: 0,
        object_bytes: 0,
    }
}

fn conflict(addr: u64, site: u32) -> ConflictRow {
    ConflictRow {
        run: RunId(0),
        transfer: CoherenceEvent::Read,
        context: ContextId(0),
        addr: Addr(addr),
        size: 4,
        site: SiteId(site),
        access: AccessKind::Read,
        other_context: ContextId(1),
        other_addr: Addr(addr),
        other_size: 4,
        other_site: SiteId(site),
        other_access: AccessKind::Read,
        count: 10,
        first_reads: None,
        false_first_touch: 0,
        false_lifetime: 0,
    }
}

/// Returns the site of the instruction that reads the member, and one without evidence.
fn read_sites(program: &FileView<'_, '_, '_>) -> Option<Vec<Site>> {
    read_sites_of(program, "reads_second")
}

fn read_sites_of(program: &FileView<'_, '_, '_>, name: &str) -> Option<Vec<Site>> {
    let symbol = program
        .debug_file()
        .symbols()
        .iter()
        .find(|s| s.name == name)?;
    let function = program.analyse(program.function_at(symbol.address)?)?;
    let mut pc = symbol.address;
    while pc < symbol.address + symbol.size {
        let insn = program.insn_at(pc)?;
        let operand = insn.operand(false).filter(|m| m.reads && m.bytes == 4);
        if operand.is_some_and(|m| program.evidence(&function, &insn, m).is_some()) {
            let bytes = program
                .debug_file()
                .bytes_at(pc, usize::from(insn.len))?
                .to_vec();
            return Some(vec![
                Site { pc, bytes },
                Site {
                    pc: 1,
                    bytes: vec![0x8b, 0x00],
                },
            ]);
        }
        pc = insn.next_address();
    }
    None
}

#[test]
fn one_resolved_access_types_the_object() -> Result<(), Box<dyn Error>> {
    let bytes = compiled()?;
    let file = DwarfFile::parse(&bytes)?;
    let images = DebugImages::from_single_file(&file);
    let program = AnalysedProgram::new(&images, &X86InsnSet);
    let program = program.main_view();
    let sites = read_sites(&program).ok_or("the read of `second` is not found")?;
    let source = SourceMap::new(&file)
        .look_up(sites[0].pc)
        .ok_or("no source place")?;
    assert_eq!(source.function, "reads_second");
    assert!(source.file.is_some_and(|f| f.ends_with("small_program.c")));

    let global = program
        .debug_file()
        .symbols()
        .iter()
        .find(|s| s.name == "small_program_global");
    let global = global.ok_or("the variable is not found")?.address;
    let object = HEAP + 48;
    let profile = Profile {
        sites,
        // The member, the same object by a site without evidence, another address, and the
        // variable.
        conflicts: vec![
            conflict(object + 16, 0),
            conflict(object + 24 + 8, 1),
            conflict(HEAP + 0x800, 1),
            conflict(global + 20, 1),
        ],
        ranges: vec![
            range(RangeKind::Heap, HEAP, 0x1000),
            range(RangeKind::Image, global & !0xfff, 0x2000),
        ],
        ..Profile::default()
    };
    let resolution = resolve(
        &profile,
        &DebugImages::from_single_file(&file),
        Options::default(),
    )?;
    let member = |addr| match resolution.address_owner(RunId(0), addr, 4) {
        AddressOwner::Member { object, path } => {
            let object = resolution.object(object);
            (object.type_name.clone(), object.base.0, path.path)
        }
        other => panic!("{addr:#x} is {other:?}"),
    };
    let outer = || String::from("outer");
    assert_eq!(
        member(Addr(object + 16)),
        (outer(), object, "inner.second".into())
    );
    assert_eq!(
        member(Addr(object + 32)),
        (outer(), object, "tail[]".into())
    );
    assert_eq!(
        member(Addr(global + 20)),
        (outer(), global, "inner.third".into())
    );
    let kind = resolution
        .object_at(RunId(0), Addr(global))
        .map(|o| o.kind.clone());
    assert_eq!(
        kind,
        Some(ObjectKind::Global {
            symbol: "small_program_global".into()
        })
    );
    let share = resolution.resolved_share(&profile);
    assert_eq!((share.resolved, share.transfers), (30, 40));
    what_was_kept_makes_no_difference(&profile, &bytes)
}

/// A second resolution with kept evidence has the same result and finds nothing new.
fn what_was_kept_makes_no_difference(
    profile: &Profile,
    program: &[u8],
) -> Result<(), Box<dyn Error>> {
    let resolved = |kept: Option<&[u8]>| -> Result<_, Box<dyn Error>> {
        let file = DwarfFile::parse(program)?;
        let images = DebugImages::from_single_file(&file);
        let mut known = KeptEvidence::new(&images, "x86_64").ok_or("no build id")?;
        if let Some(kept) = kept {
            known = known.decode(kept)?;
        }
        let resolution = resolve_with(profile, &images, Options::default(), Some(&mut known))?;
        let places = profile.conflicts.iter();
        let places: Vec<AddressOwner> = places
            .map(|c| resolution.address_owner(RunId(0), c.addr, 4))
            .collect();
        Ok((places, known))
    };
    let (first, kept) = resolved(None)?;
    assert!(kept.is_changed() && kept.site_count() > 0);
    let (second, known) = resolved(Some(&kept.encode()))?;
    assert_eq!(first, second);
    assert!(!known.is_changed());
    Ok(())
}

/// A sampled site without bytes is an instruction whose code was not recorded, and no call. Its
/// code is in the file.
#[test]
fn a_sampled_instruction_is_looked_up() -> Result<(), Box<dyn Error>> {
    let bytes = compiled()?;
    let file = DwarfFile::parse(&bytes)?;
    let images = DebugImages::from_single_file(&file);
    let program = AnalysedProgram::new(&images, &X86InsnSet);
    let mut sites = read_sites(&program.main_view()).ok_or("the read of `second` is not found")?;
    sites[0].bytes.clear();
    let object = HEAP + 48;
    let mut profile = Profile {
        sites,
        conflicts: vec![conflict(object + 16, 0)],
        ranges: vec![range(RangeKind::Heap, HEAP, 0x1000)],
        ..Profile::default()
    };
    let type_name = |profile: &Profile| -> Result<_, Box<dyn Error>> {
        let resolution = resolve(profile, &images, Options::default())?;
        let found = resolution.object_at(RunId(0), Addr(object + 16));
        Ok(found.map(|object| object.type_name.clone()))
    };
    assert_eq!(type_name(&profile)?, None);
    profile.meta.coverage = AccessCoverage::Samples;
    assert_eq!(type_name(&profile)?.as_deref(), Some("outer"));
    what_was_kept_makes_no_difference(&profile, &bytes)
}

#[test]
fn a_site_outside_the_table_is_an_error() -> Result<(), Box<dyn Error>> {
    let bytes = compiled()?;
    let file = DwarfFile::parse(&bytes)?;
    let profile = Profile {
        conflicts: vec![conflict(HEAP, 7)],
        ..Profile::default()
    };
    let error = resolve(
        &profile,
        &DebugImages::from_single_file(&file),
        Options::default(),
    )
    .err()
    .map(|e| e.to_string());
    assert_eq!(
        error.as_deref(),
        Some("a row names site 7, but the profile has 0 sites")
    );
    Ok(())
}

/// The kernel leaves out the end of `task_struct`, so that no cache has objects of its size. Most
/// instructions know only a part of it, such as its `sched_entity`.
#[test]
fn parts_agree_with_the_type_that_a_cache_is_named_for() -> Result<(), Box<dyn Error>> {
    let bytes = compiled()?;
    let file = DwarfFile::parse(&bytes)?;
    let images = DebugImages::from_single_file(&file);
    let program = AnalysedProgram::new(&images, &X86InsnSet);
    let sites = read_sites_of(&program.main_view(), "reads_part");
    let slab = |cache: &str| RangeRow {
        owner: cache.into(),
        stride: 64,
        object_bytes: 56,
        ..range(RangeKind::Slab, HEAP, 0x1000)
    };
    let mut profile = Profile {
        sites: sites.ok_or("the read of `second` is not found")?,
        // `inner` is at offset 8, its `second` at offset 16 of `outer`.
        conflicts: vec![conflict(HEAP + 64 + 16, 0)],
        ..Profile::default()
    };
    let mut owner = |cache: &str| -> Result<_, Box<dyn Error>> {
        profile.ranges = vec![slab(cache)];
        let resolution = resolve(&profile, &images, Options::default())?;
        let found = resolution.object_at(RunId(0), Addr(HEAP + 64 + 16));
        Ok(found.map(|object| (object.type_name.clone(), object.base.0 - HEAP)))
    };
    assert_eq!(owner("outer")?, Some(("outer".into(), 64)));
    assert_eq!(owner("anything")?, Some(("inner".into(), 64 + 8)));
    Ok(())
}

/// The addresses of per-cpu variables begin at 0 in older kernels, and lie in the image in newer
/// ones, above the copies.
#[test]
fn per_cpu_variables_may_have_addresses_of_the_image() -> Result<(), Box<dyn Error>> {
    let bytes = compiled_with(&[
        "-Wl,--defsym=__per_cpu_start=small_program_global",
        "-Wl,--defsym=__per_cpu_end=small_program_global+64",
    ])?;
    let file = DwarfFile::parse(&bytes)?;
    let images = DebugImages::from_single_file(&file);
    let symbol = { file.symbols().iter() }.find(|s| s.name == "small_program_global");
    let start = symbol.ok_or("the variable is not found")?.address;
    let copy_start = start - 0x1000;
    let profile = Profile {
        sites: vec![Site {
            pc: 1,
            bytes: vec![0x8b, 0x00],
        }],
        conflicts: vec![conflict(copy_start + 20, 0)],
        ranges: vec![RangeRow {
            first: Addr(copy_start.wrapping_sub(start)),
            id: 3,
            owner: String::new(),
            ..range(RangeKind::PerCpu, copy_start, 64)
        }],
        ..Profile::default()
    };
    let resolution = resolve(&profile, &images, Options::default())?;
    let kind = |address| {
        let object = resolution.object_at(RunId(0), Addr(address));
        object.map(|object| object.kind.clone())
    };
    let symbol = String::from("small_program_global");
    let per_cpu = ObjectKind::PerCpu { symbol, cpu: 3 };
    assert_eq!(kind(copy_start + 20), Some(per_cpu));
    Ok(())
}
