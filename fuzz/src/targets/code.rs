use std::sync::OnceLock;

use relayout_layout::dwarf::{DwarfFile, SectionStore};
use relayout_profile::{
    AccessKind, Addr, CoherenceEvent, ConflictRow, ContextId, CountRow, LineRow, Profile,
    ProfileMeta, RecordedRun, RunId, Site, SiteId,
};
use relayout_resolve::insn::instruction_set;
use relayout_resolve::{DebugImages, Options, resolve};

use crate::seeds;

/// All machines whose code is understood.
pub(super) const MACHINES: [&str; 2] = ["x86_64", "aarch64"];
/// Functions of one file that are looked at, and places in each.
const FUNCTIONS_MAX: usize = 50;
const SITES_IN_FUNCTION: u64 = 40;

const ADDRESS: u64 = 0xffff_ffff_8100_0000;

/// Any bytes as instructions of each machine, one after another.
pub fn instructions(data: &[u8]) {
    for name in MACHINES {
        let machine = instruction_set(name).expect("a machine that is known");
        let mut at = 0;
        while at < data.len() {
            let insn = machine.decode(ADDRESS + at as u64, &data[at..]);
            if let Some(insn) = &insn {
                assert!((1..=15).contains(&insn.len) && at + usize::from(insn.len) <= data.len());
                insn.operand(false);
                insn.operand(true);
            }
            at += insn.map_or(1, |insn| insn.len.into());
        }
    }
}

/// An ELF file with DWARF, its location lists and expressions among it: what instructions all over
/// its functions access, by each machine.
pub fn locations(data: &[u8]) {
    let store = SectionStore::default();
    let Ok(debug) = DwarfFile::parse_with_store(data, &store) else {
        return;
    };
    let functions = debug.functions().iter().take(FUNCTIONS_MAX);
    let sites = functions.flat_map(|function| {
        let bytes = function.high.saturating_sub(function.low);
        let step = (bytes / SITES_IN_FUNCTION).max(1);
        let debug = &debug;
        (0..SITES_IN_FUNCTION.min(bytes)).map(move |n| {
            let pc = function.low.wrapping_add(n * step);
            let bytes = (1..=15).rev().find_map(|len| debug.bytes_at(pc, len));
            let bytes = bytes.unwrap_or_default().to_vec();
            Site { pc, bytes }
        })
    });
    let sites: Vec<Site> = sites.collect();
    for name in MACHINES {
        let mut profile = profile_of_sites(sites.clone(), &debug);
        profile.meta.machine = name.to_owned();
        let options = Options {
            check_build_id: false,
            ..Options::default()
        };
        let resolution = resolve(&profile, &DebugImages::from_single_file(&debug), options)
            .expect("a sound profile");
        for row in &profile.counts {
            resolution.address_owner(row.run, row.addr, row.size.into());
        }
    }
}

/// Any bytes as the code of a program with debug information, and a profile of all of it.
pub fn evidence(data: &[u8]) {
    static PROGRAM: OnceLock<Vec<u8>> = OnceLock::new();
    let mut program = PROGRAM.get_or_init(seeds::program).clone();
    let text = seeds::section(&program, ".text");
    let len = data.len().min(text.bytes.len());
    program[text.bytes.start..][..len].copy_from_slice(&data[..len]);
    let store = SectionStore::default();
    let debug = DwarfFile::parse_with_store(&program, &store).expect("the compiler's own file");
    for name in MACHINES {
        let profile = profile_of_code(name, text.address, &data[..len], &debug);
        let resolution = resolve(
            &profile,
            &DebugImages::from_single_file(&debug),
            Options::default(),
        )
        .expect("a sound profile");
        for row in &profile.counts {
            resolution.address_owner(row.run, row.addr, row.size.into());
        }
        let share = resolution.resolved_share(&profile).fraction();
        assert!((0.0..=1.0).contains(&share), "{share}");
    }
}

/// Accesses from every place in the program's code.
pub(super) fn profile_of_code(
    name: &str,
    address: u64,
    code: &[u8],
    debug: &DwarfFile<'_>,
) -> Profile {
    let machine = instruction_set(name).expect("a machine that is known");
    let sites: Vec<Site> = (0..code.len())
        .map(|at| {
            let bytes = code[at..(at + 15).min(code.len())].to_vec();
            let decoded = machine
                .decode(address, &bytes)
                .map_or(bytes.len(), |i| i.len.into());
            Site {
                pc: address + at as u64,
                bytes: bytes[..decoded].to_vec(),
            }
        })
        .collect();
    let mut profile = profile_of_sites(sites, debug);
    profile.meta.machine = name.to_owned();
    profile
}

/// Two contexts at odds over a variable of the program.
fn profile_of_sites(sites: Vec<Site>, debug: &DwarfFile<'_>) -> Profile {
    let object = debug
        .symbols()
        .iter()
        .find(|s| s.is_object() && s.size >= 8);
    let addr = Addr(object.map_or(ADDRESS, |symbol| symbol.address));
    let row = |site: usize| (SiteId(site as u32), ContextId((site % 2) as u16));
    let counts = (0..sites.len()).map(row).map(|(site, context)| CountRow {
        run: RunId(0),
        addr: addr + u64::from(context.0) * 4,
        size: 4,
        context,
        site,
        access: AccessKind::Write,
        count: 1,
        silent: None,
    });
    let conflicts = (0..sites.len())
        .map(row)
        .map(|(site, context)| ConflictRow {
            run: RunId(0),
            transfer: CoherenceEvent::Write,
            context,
            addr: addr + u64::from(context.0) * 4,
            size: 4,
            site,
            access: AccessKind::Write,
            other_context: ContextId(1 - context.0),
            other_addr: addr + u64::from(1 - context.0) * 4,
            other_size: 4,
            other_site: SiteId(0),
            other_access: AccessKind::Write,
            count: 1,
            first_reads: None,
            false_first_touch: 1,
            false_lifetime: 1,
        });
    let lines = (0..2).map(ContextId).map(|context| LineRow {
        run: RunId(0),
        line: addr.align_down(64),
        context,
        reads: 0,
        writes: sites.len() as u64,
        read_transfers: 0,
        first_reads: None,
        write_transfers: 1,
        upgrades: 0,
        order_errors: None,
    });
    let meta = ProfileMeta {
        line_bytes: 64,
        contexts: 2,
        runs: vec![RecordedRun::default()],
        ..ProfileMeta::default()
    };
    let (counts, conflicts) = (counts.collect(), conflicts.collect());
    Profile {
        meta,
        lines: lines.collect(),
        counts,
        conflicts,
        sites,
        ..Profile::default()
    }
}
