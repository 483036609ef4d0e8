//! A small profile of a kernel, and its findings.
#![allow(dead_code, reason = "each test file uses its part")]

use relayout_contend::{AccessTarget, AddressNamer, SiteSource, TargetObject, find};
use relayout_layout::MemberAt;
use relayout_profile::{
    AccessKind, Addr, CoherenceEvent, ConflictRow, ContextId, CountRow, LineRow, Profile,
    ProfileMeta, RecordedGuest, RecordedRun, RecordingSetting, RunId, Site, SiteId,
};
use relayout_report::{FindingSelection, ReportContents};

pub const CHUNK: u64 = 0xffff_8881_0010_0000;
pub const NODE: u64 = 0xffff_8881_0020_0000;
pub const GLOBALS: u64 = 0xffff_ffff_8200_0000;
pub const STACK: u64 = 0xffff_c900_0000_0000;

/// The kernel as this test knows it.
pub struct Kernel;

pub fn member_place(
    base: u64,
    bytes: u64,
    name: &str,
    types: &[&str],
    (offset, size): (u64, u64),
) -> AccessTarget {
    AccessTarget::Member {
        object: TargetObject {
            base: Addr(base),
            bytes,
            variable: (base == NODE).then(|| "osq_node".to_owned()),
            declaring: None,
            origin: None,
            array: None,
            type_percent: 100,
            rival_type: None,
        },
        member: MemberAt {
            path: name.to_owned(),
            types_path: types.iter().map(|&name| name.to_owned()).collect(),
            offset,
            size,
            ..MemberAt::default()
        },
    }
}

impl AddressNamer for Kernel {
    fn target_at(&self, _: RunId, addr: Addr, _: u8) -> AccessTarget {
        let chunk = |name, types: &[&str], extent| member_place(CHUNK, 192, name, types, extent);
        let node = |name, extent| member_place(NODE, 24, name, &["optimistic_spin_node"], extent);
        match addr.wrapping_sub(Addr(CHUNK)) {
            16..20 => return chunk("free_bytes", &["pcpu_chunk"], (16, 4)),
            20..24 => {
                return chunk(
                    "chunk_md.scan_hint",
                    &["pcpu_chunk", "pcpu_block_md"],
                    (20, 4),
                );
            }
            64..72 => return chunk("bound_map", &["pcpu_chunk"], (64, 8)),
            56..64 => return chunk("base_addr", &["pcpu_chunk"], (56, 8)),
            _ => {}
        }
        match addr.wrapping_sub(Addr(NODE)) {
            0..8 => return node("next", (0, 8)),
            16..20 => return node("locked", (16, 4)),
            20..24 => return node("cpu", (20, 4)),
            _ => {}
        }
        let addr = addr.0;
        match addr {
            GLOBALS.. => AccessTarget::Scalar(TargetObject {
                base: Addr(addr & !7),
                bytes: 8,
                variable: Some(["jiffies", "nr_files"][(addr >> 3 & 1) as usize].to_owned()),
                declaring: None,
                origin: None,
                array: None,
                type_percent: 100,
                rival_type: None,
            }),
            _ => AccessTarget::Unresolved("vmalloc".to_owned()),
        }
    }

    fn source_of_site(&self, site: SiteId) -> SiteSource {
        let (function, file, line) = [
            ("free_percpu", "mm/percpu.c", 2259),
            ("pcpu_alloc_area", "mm/percpu.c", 1245),
            ("osq_lock", "kernel/locking/osq_lock.c", 128),
            ("osq_lock", "kernel/locking/osq_lock.c", 97),
            ("do_timer", "kernel/time/timekeeping.c", 2284),
            ("alloc_empty_file", "fs/file_table.c", 148),
        ][site.index()];
        SiteSource {
            function: Some(function.to_owned()),
            inlined: (line == 128).then(|| "vcpu_is_preempted".to_owned()),
            file: Some(format!("/build/linux-6.1/{file}")),
            line: Some(line),
        }
    }
}

pub const READ: AccessKind = AccessKind::Read;
pub const WRITE: AccessKind = AccessKind::Write;

/// `(address, site, access)` missing against another, `count` times; false by touch and lifetime.
pub fn conflict(
    run: u16,
    here: (u64, u32, AccessKind),
    there: (u64, u32, AccessKind),
    (count, touch, life): (u64, u64, u64),
) -> ConflictRow {
    ConflictRow {
        run: RunId(run),
        transfer: if here.2 == READ {
            CoherenceEvent::Read
        } else {
            CoherenceEvent::Write
        },
        context: ContextId(1 + run),
        addr: Addr(here.0),
        size: 4,
        site: SiteId(here.1),
        access: here.2,
        other_context: ContextId(0),
        other_addr: Addr(there.0),
        other_size: 4,
        other_site: SiteId(there.1),
        other_access: there.2,
        count,
        first_reads: Some(if here.2 == READ { count / 4 } else { 0 }),
        false_first_touch: touch,
        false_lifetime: life,
    }
}

pub fn count(context: u16, at: (u64, u32, AccessKind), count: u64, silent: u64) -> CountRow {
    let (addr, site, access) = at;
    CountRow {
        run: RunId(0),
        addr: Addr(addr),
        size: 4,
        context: ContextId(context),
        site: SiteId(site),
        access,
        count,
        silent: Some(silent),
    }
}

pub fn profile() -> Profile {
    let base_addr = (CHUNK + 56, 0, READ);
    let free_bytes = (CHUNK + 16, 1, AccessKind::ReadWrite);
    let cpu_read = (NODE + 20, 2, READ);
    let cpu_store = (NODE + 20, 3, WRITE);
    let jiffies = (GLOBALS, 4, AccessKind::ReadWrite);
    let nr_files = (GLOBALS + 8, 5, AccessKind::ReadWrite);
    let upgrade = ConflictRow {
        transfer: CoherenceEvent::Upgrade,
        ..conflict(0, free_bytes, base_addr, (900, 0, 0))
    };
    let conflicts = vec![
        conflict(0, base_addr, free_bytes, (1980, 1800, 240)),
        conflict(1, base_addr, free_bytes, (1900, 1700, 250)),
        conflict(1, (CHUNK + 20, 1, WRITE), free_bytes, (64, 0, 0)),
        upgrade,
        conflict(0, cpu_read, cpu_store, (700, 700, 690)),
        conflict(0, jiffies, nr_files, (40, 40, 40)),
        conflict(0, nr_files, jiffies, (60, 60, 55)),
        conflict(0, (STACK, 4, WRITE), (STACK, 5, WRITE), (150, 2, 1)),
    ];
    let counts = vec![
        count(1, base_addr, 5200, 0),
        count(2, base_addr, 5100, 0),
        count(0, free_bytes, 2600, 3),
        count(0, cpu_store, 800, 790),
        count(1, cpu_read, 750, 0),
        count(0, jiffies, 400, 0),
        count(1, nr_files, 300, 0),
    ];
    let lines = vec![LineRow {
        run: RunId(0),
        line: Addr(CHUNK),
        context: ContextId(1),
        reads: 40_000,
        writes: 0,
        read_transfers: 1980,
        first_reads: Some(495),
        write_transfers: 0,
        upgrades: 0,
        order_errors: Some(4),
    }];
    let site = Site {
        pc: 0,
        bytes: Vec::new(),
    };
    Profile {
        meta: meta(),
        sites: vec![site; 6],
        conflicts,
        counts,
        lines,
        ..Profile::default()
    }
}

pub fn meta() -> ProfileMeta {
    let run = RecordedRun {
        seed: 1,
        complete: true,
        ended: "end marker".into(),
        window_wall_ns: 3_200_000_000,
        window_cpu_ns: 6_100_000_000,
        lost_share: Some(0.02),
        accesses: 26_000_000,
        operations: 12_000,
        ..RecordedRun::default()
    };
    let cut = RecordedRun {
        seed: 2,
        complete: false,
        ended: "guest panicked".into(),
        lost_share: Some(0.5),
        ..run.clone()
    };
    let setting = |name: &str, value: &str| RecordingSetting {
        name: name.into(),
        value: value.into(),
    };
    ProfileMeta {
        tool_version: "0.1.0".into(),
        target: "kernel".into(),
        workload: "mntns".into(),
        settings: vec![
            setting("cpus", "4"),
            setting("yield", "1000"),
            setting("memory", "2G"),
            setting(
                "kernel-command-line",
                "quiet nokaslr mitigations=off slab_nomerge",
            ),
        ],
        guest: Some(RecordedGuest {
            cpu_model: "max,erms=off,fsrm=off".into(),
            unwatched_functions: vec!["copy_page".into()],
        }),
        line_bytes: 64,
        contexts: 4,
        machine: "x86_64".into(),
        collector: "QEMU 10.0.2, plugin API 4".into(),
        build_id: "0123abcd".into(),
        release: "6.1.0-56-cloud-amd64".into(),
        values_seen: true,
        runs: vec![run, cut],
        ..ProfileMeta::default()
    }
}

pub fn rendered(
    selection: &FindingSelection,
    render: impl Fn(&ReportContents) -> String,
) -> String {
    rendered_of(&profile(), selection, render)
}

pub fn rendered_of(
    profile: &Profile,
    selection: &FindingSelection,
    render: impl Fn(&ReportContents) -> String,
) -> String {
    let findings = find(profile, &Kernel);
    render(&ReportContents {
        profile: "out.relayout",
        meta: &profile.meta,
        findings: &findings,
        selection,
        production: None,
        judgements: None,
        sources: &[],
        layouts: &[],
        freed: &[],
    })
}
