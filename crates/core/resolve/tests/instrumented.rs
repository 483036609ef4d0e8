//! Accesses announced by calls of real compilers' instrumentation, in a program that is mapped at
//! another address than its link-time address.

use std::error::Error;
use std::path::Path;
use std::process::Command;

use relayout_layout::dwarf::DwarfFile;
use relayout_profile::{
    AccessKind, Addr, CoherenceEvent, ConflictRow, ContextId, LoadedModule, Profile, ProfileMeta,
    RangeKind, RangeRow, RecordedRun, RunId, Site, SiteId,
};
use relayout_resolve::evidence::{AnalysedProgram, FileView};
use relayout_resolve::insn::x86::X86InsnSet;
use relayout_resolve::{
    AddressOwner, DebugImages, ObjectKind, Options, Resolution, SourceMaps, resolve,
};

type Failure = Box<dyn Error>;

const BIAS: u64 = 0x5555_5555_4000;
const HEAP: u64 = 0x7000_0000;

/// Compiles the fixture, which is never run.
fn compiled(compiler: &str, flags: &[&str]) -> Result<Vec<u8>, Failure> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let folder = tempfile::tempdir()?;
    let [program, object, stub] =
        ["instrumented", "instrumented.o", "libstub.so"].map(|name| folder.path().join(name));
    let run = |command: &mut Command| -> Result<(), Failure> {
        let output = command.output()?;
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}: {text}");
        Ok(())
    };
    let instrument = ["-g", "-c", "-fPIE", "-fsanitize=thread", "-o"];
    run(Command::new(compiler)
        .args(flags)
        .args(instrument)
        .args([object.as_path(), &fixtures.join("instrumented.c")]))?;
    run(Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([stub.as_path(), &fixtures.join("collector_stub.c")]))?;
    run(Command::new("cc")
        .args(["-pie", "-Wl,--build-id", "-o"])
        .args([&program, &object, &stub]))?;
    Ok(std::fs::read(program)?)
}

/// Returns callee and return address of the calls in a function of the file.
fn calls(view: &FileView<'_, '_, '_>, function: &str) -> Vec<(String, u64)> {
    let symbols = view.debug_file().symbols();
    let symbol = symbols.iter().find(|s| s.name == function).expect(function);
    let mut found = Vec::new();
    let mut pc = symbol.address;
    while pc < symbol.address + symbol.size {
        let insn = view.insn_at(pc).expect("an instruction");
        if let Some(name) = view.callee_name(&insn) {
            found.push((name.to_owned(), insn.next_address()));
        }
        pc = insn.next_address();
    }
    found
}

fn check_compiler(compiler: &str, flags: &[&str]) -> Result<(), Failure> {
    let bytes = compiled(compiler, flags)?;
    let file = DwarfFile::parse(&bytes)?;
    let main = main_profile(&file, Vec::new(), Vec::new(), Vec::new());
    let images = DebugImages::from_modules(&main, &file, |_| None);
    let program = AnalysedProgram::new(&images, &X86InsnSet);
    let view = program.main_view();
    // Argument of each call: function, callee, type and member.
    let expect = [
        ("count_item", "write4", "item", "refs"),
        ("count_item", "pthread_mutex_lock", "stats", "lock"),
        ("count_item", "write8", "stats", "misses"),
        ("count_item", "fetch_add", "stats", "total"),
        ("last_refs", "read4", "item", "refs"),
    ];
    for (function, callee, type_name, member) in expect {
        let (_, back) = calls(&view, function)
            .into_iter()
            .find(|(name, _)| name.contains(callee))
            .ok_or_else(|| format!("{compiler} {flags:?}: no call of {callee} in {function}"))?;
        let sites = vec![Site {
            pc: back + BIAS,
            bytes: Vec::new(),
        }];
        let address = HEAP + 0x100;
        let profile = main_profile(&file, sites, vec![conflict(address, 0)], Vec::new());
        let resolution = resolve(&profile, &images, Options::default())?;
        let evidence = resolution.evidence(RunId(0), SiteId(0));
        let evidence = evidence.read.or(evidence.written);
        let evidence = evidence
            .ok_or_else(|| format!("{compiler} {flags:?}: {callee} in {function} tells nothing"))?;
        let types = resolution.types();
        let offset = u64::try_from(evidence.offset)?;
        let path = types
            .member_at(evidence.ty, offset, 4)
            .ok_or("no member")?
            .path;
        assert_eq!(
            types.name_of(evidence.ty).trim_start_matches("struct "),
            type_name,
            "{compiler} {flags:?} {function} {callee}"
        );
        assert!(
            path.starts_with(member),
            "{compiler} {flags:?} {function} {callee}: {path}"
        );
        let source = SourceMaps::new(&images)
            .look_up_call(resolution.site_address(SiteId(0)).ok_or("nowhere")?);
        assert_eq!(source.map(|s| s.function).as_deref(), Some(function));
    }
    Ok(())
}

#[test]
fn gcc() -> Result<(), Failure> {
    check_compiler("gcc", &["-O2"])?;
    check_compiler("gcc", &["-O0"])?;
    check_compiler("gcc", &["-O2", "-fno-plt"])
}

#[test]
fn clang() -> Result<(), Failure> {
    relayout_testkit::require_programs(&["clang"]);
    check_compiler("clang", &["-O2"])?;
    check_compiler("clang", &["-O1", "-fno-plt"])
}

fn main_profile(
    file: &DwarfFile<'_>,
    sites: Vec<Site>,
    conflicts: Vec<ConflictRow>,
    ranges: Vec<RangeRow>,
) -> Profile {
    let path = String::from("/bin/instrumented");
    let module = LoadedModule {
        path: path.clone(),
        build_id: file.build_id_text().unwrap_or_default(),
        start: BIAS,
        end: BIAS + 0x10_0000,
        bias: BIAS,
    };
    let run = RecordedRun {
        modules: vec![module],
        ..RecordedRun::default()
    };
    Profile {
        meta: ProfileMeta {
            target: "program".to_owned(),
            debug_file: path,
            runs: vec![run],
            ..ProfileMeta::default()
        },
        sites,
        conflicts,
        ranges,
        ..Profile::default()
    }
}

/// Returns a site whose instruction gives no evidence.
fn untold_site() -> Site {
    Site {
        pc: 1,
        bytes: vec![0x8b, 0x00],
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
        other_access: AccessKind::Write,
        count: 10,
        first_reads: None,
        false_first_touch: 0,
        false_lifetime: 0,
    }
}

fn range(kind: RangeKind, start: u64, bytes: u64, owner: &str) -> RangeRow {
    RangeRow {
        run: RunId(0),
        kind,
        start: Addr(start),
        bytes,
        owner: owner.to_owned(),
        id: 0,
        first: Addr(start),
        stride: 0,
        object_bytes: 0,
    }
}

/// Returns `(type, base, path)`, or the class of the memory.
fn member(resolution: &Resolution, addr: u64) -> (String, u64, String) {
    match resolution.address_owner(RunId(0), Addr(addr), 4) {
        AddressOwner::Member { object, path } => {
            let object = resolution.object(object);
            (object.type_name.clone(), object.base.0, path.path)
        }
        AddressOwner::ScalarGlobal { object, symbol } => {
            let object = resolution.object(object);
            (object.type_name.clone(), object.base.0, symbol)
        }
        AddressOwner::Unresolved(class) => (class.to_string(), addr, String::new()),
    }
}

fn placed_member(type_name: &str, base: u64, path: &str) -> (String, u64, String) {
    (type_name.to_owned(), base, path.to_owned())
}

#[test]
fn globals_threads_and_named_objects_are_certain() -> Result<(), Failure> {
    let bytes = compiled("gcc", &["-O2"])?;
    let file = DwarfFile::parse(&bytes)?;
    let symbol = |name: &str| {
        let found = file.symbols().iter().find(|s| s.name == name);
        found.map(|s| s.address).ok_or_else(|| format!("no {name}"))
    };
    let (stats, counter) = (symbol("all_stats")? + BIAS, symbol("plain_counter")? + BIAS);
    let block = 0x6000_0000;
    let own = |name| symbol(name).map(|offset| offset + block);
    let (own_stats, own_counter) = (own("own_stats")?, own("own_counter")?);
    let mut named = range(RangeKind::Named, HEAP, 4 * 64, "struct item");
    named.stride = 64;
    let mut tls = range(RangeKind::Tls, block, 0x200, "/bin/instrumented");
    tls.id = 3;
    let ranges = vec![
        range(RangeKind::Image, BIAS, 0x10_0000, "/bin/instrumented"),
        named,
        tls,
    ];
    let addresses = [stats + 8, counter, own_stats, own_counter, HEAP + 64 + 8];
    let conflicts = addresses.iter().map(|&a| conflict(a, 0)).collect();
    let profile = main_profile(&file, vec![untold_site()], conflicts, ranges);
    let images = DebugImages::from_modules(&profile, &file, |_| None);
    let resolution = resolve(&profile, &images, Options::default())?;
    assert_eq!(
        member(&resolution, stats + 8),
        placed_member("stats", stats, "misses")
    );
    assert_eq!(
        member(&resolution, counter),
        placed_member("long unsigned int", counter, "plain_counter")
    );
    assert_eq!(
        member(&resolution, own_stats),
        placed_member("stats", own_stats, "hits")
    );
    assert_eq!(
        member(&resolution, own_counter),
        placed_member("long unsigned int", own_counter, "own_counter")
    );
    assert_eq!(
        member(&resolution, HEAP + 72),
        placed_member("item", HEAP + 64, "stats")
    );
    let kind = resolution
        .object_at(RunId(0), Addr(own_counter))
        .map(|o| o.kind.clone());
    let expect = ObjectKind::ThreadLocal {
        symbol: "own_counter".into(),
        context: 3,
    };
    assert_eq!(kind, Some(expect));
    Ok(())
}

#[test]
fn allocations_of_one_place_hold_the_same() -> Result<(), Failure> {
    let bytes = compiled("gcc", &["-O2"])?;
    let file = DwarfFile::parse(&bytes)?;
    let empty = main_profile(&file, Vec::new(), Vec::new(), Vec::new());
    let images = DebugImages::from_modules(&empty, &file, |_| None);
    let program = AnalysedProgram::new(&images, &X86InsnSet);
    let view = program.main_view();
    let back = |function: &str, callee: &str| {
        let mut callees = calls(&view, function).into_iter();
        let found = callees.find(|(name, _)| name.contains(callee));
        found
            .map(|call| call.1 + BIAS)
            .ok_or_else(|| format!("no {callee} in {function}"))
    };
    let (item_call, items_call) = (back("item_new", "calloc")?, back("items_new", "malloc")?);
    let site = |pc| Site {
        pc,
        bytes: Vec::new(),
    };
    let sites = vec![site(back("count_item", "write4")?), untold_site()];
    let main = back("main", "")?;
    let (item_stack, items_stack) = (
        format!("{item_call:x} {main:x}"),
        format!("{items_call:x} {main:x}"),
    );
    let ranges = vec![
        range(RangeKind::Heap, HEAP, 40, &item_stack),
        range(RangeKind::Heap, HEAP + 64, 40, &item_stack),
        range(RangeKind::Heap, HEAP + 0x1000, 8 * 40, &items_stack),
        range(RangeKind::Heap, HEAP + 0x2000, 40, ""),
    ];
    let write = |addr, site| ConflictRow {
        access: AccessKind::ReadWrite,
        ..conflict(addr, site)
    };
    let conflicts = vec![
        write(HEAP + 16, 0),
        // The second allocation is only accessed by an instruction without evidence.
        write(HEAP + 64 + 8, 1),
        write(HEAP + 0x1000 + 40 + 16, 0),
        write(HEAP + 0x1000 + 5 * 40, 1),
        write(HEAP + 0x2000, 1),
    ];
    let profile = main_profile(&file, sites, conflicts, ranges);
    let resolution = resolve(&profile, &images, Options::default())?;
    assert_eq!(
        member(&resolution, HEAP + 16),
        placed_member("item", HEAP, "refs")
    );
    assert_eq!(
        member(&resolution, HEAP + 72),
        placed_member("item", HEAP + 64, "stats")
    );
    let element = HEAP + 0x1000 + 5 * 40;
    assert_eq!(
        member(&resolution, element),
        placed_member("item [8]", HEAP + 0x1000, "[].next")
    );
    assert_eq!(member(&resolution, HEAP + 0x2000).0, "heap");
    let site = |addr| match resolution.object_at(RunId(0), addr).map(|o| &o.kind) {
        Some(ObjectKind::Heap { site, .. }) => site.as_str(),
        _ => "",
    };
    assert_eq!(site(Addr(HEAP)), "calloc in item_new (instrumented.c:29)");
    assert_eq!(
        site(Addr(element)),
        "malloc in items_new (instrumented.c:34)"
    );
    let share = resolution.resolved_share(&profile);
    assert_eq!((share.resolved, share.transfers), (40, 50));
    Ok(())
}

/// Compares the types of allocations with stores to elements of last arrays, as a compiler's
/// instrumentation announces them.
fn check_last_arrays(compiler: &str, flags: &[&str]) -> Result<(), Failure> {
    let bytes = compiled(compiler, flags)?;
    let file = DwarfFile::parse(&bytes)?;
    let empty = main_profile(&file, Vec::new(), Vec::new(), Vec::new());
    let images = DebugImages::from_modules(&empty, &file, |_| None);
    let program = AnalysedProgram::new(&images, &X86InsnSet);
    let view = program.main_view();
    // Function that stores, size of an allocation, offsets of the stores, type and last member.
    let expect: [(&str, u64, &[u64], &str, &str); 6] = [
        ("add_cell", 40, &[8, 16, 24, 32], "row", "cells[]"),
        // Three structs would fill the memory, but a second struct has no element at 16.
        ("add_cell", 48, &[8, 16, 24, 32, 40], "row", "cells[]"),
        ("add_cell", 16, &[8], "row", "cells[]"),
        ("add_in_page", 56, &[16, 32, 48], "page", "pairs[].value"),
        ("add_in_list", 40, &[16, 32], "list", "pairs[].value"),
        ("add_lone", 48, &[8, 24, 40], "lone [3]", "[].cells[]"),
    ];
    let (mut sites, mut ranges, mut conflicts) = (Vec::new(), Vec::new(), Vec::new());
    let starts = (HEAP..).step_by(0x1000);
    for (start, (function, bytes, stores, ..)) in starts.clone().zip(expect) {
        let (_, back) = calls(&view, function)
            .into_iter()
            .find(|(name, _)| name.contains("write8"))
            .ok_or_else(|| format!("{compiler} {flags:?}: no store in {function}"))?;
        let site = u32::try_from(sites.len())?;
        let store = |offset: &u64| ConflictRow {
            access: AccessKind::Write,
            size: 8,
            ..conflict(start + offset, site)
        };
        conflicts.extend(stores.iter().map(store));
        ranges.push(range(RangeKind::Heap, start, bytes, ""));
        sites.push(Site {
            pc: back + BIAS,
            bytes: Vec::new(),
        });
    }
    let profile = main_profile(&file, sites, conflicts, ranges);
    let resolution = resolve(&profile, &images, Options::default())?;
    for (start, (function, bytes, stores, type_name, path)) in starts.zip(expect) {
        let last = start + stores[stores.len() - 1];
        assert_eq!(
            member(&resolution, last),
            placed_member(type_name, start, path),
            "{compiler} {flags:?}: {function} in {bytes} bytes"
        );
        let object = resolution.object_at(RunId(0), Addr(last));
        assert_eq!(object.map(|object| object.bytes), Some(bytes), "{function}");
    }
    Ok(())
}

#[test]
fn elements_of_a_last_array_are_parts_of_its_owner() -> Result<(), Failure> {
    relayout_testkit::require_programs(&["clang"]);
    for level in ["-O0", "-O1", "-O2", "-O3"] {
        check_last_arrays("gcc", &[level])?;
        check_last_arrays("clang", &[level])?;
    }
    Ok(())
}
