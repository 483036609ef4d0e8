//! The report of a small profile: text and JSON.

use relayout_contend::{
    AccessTarget, AddressNamer, FindSettings, Findings, SiteSource, TargetObject, find, find_with,
};
use relayout_layout::MemberAt;
use relayout_profile::ContextId;
use relayout_profile::{
    AccessKind, CoherenceEvent, ConflictRow, CountRow, LeftOutReader, LineRow, PairRow, Profile,
    ProfileMeta, RangeKind, RangeRow, RecordedGuest, RecordedRun, RecordingSetting, Site,
};
use relayout_profile::{Addr, RunId, SiteId};
use relayout_report::{FindingSelection, ReportContents, json, text};

const CHUNK: u64 = 0xffff_8881_0010_0000;
const NODE: u64 = 0xffff_8881_0020_0000;
const GLOBALS: u64 = 0xffff_ffff_8200_0000;
const STACK: u64 = 0xffff_c900_0000_0000;

/// The kernel as this test knows it.
struct Kernel;

fn member_place(
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

const READ: AccessKind = AccessKind::Read;
const WRITE: AccessKind = AccessKind::Write;

/// `(address, site, access)` missing against another, `count` times; false by touch and lifetime.
fn conflict(
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

fn count(context: u16, at: (u64, u32, AccessKind), count: u64, silent: u64) -> CountRow {
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

fn profile() -> Profile {
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

fn meta() -> ProfileMeta {
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

fn rendered(selection: &FindingSelection, render: impl Fn(&ReportContents) -> String) -> String {
    rendered_of(&profile(), selection, render)
}

fn rendered_of(
    profile: &Profile,
    selection: &FindingSelection,
    render: impl Fn(&ReportContents) -> String,
) -> String {
    let findings = find(profile, &Kernel);
    render(&ReportContents {
        meta: &profile.meta,
        findings: &findings,
        selection,
        production: None,
        judgements: None,
        sources: &[],
    })
}

#[test]
fn text_of_all() {
    insta::assert_snapshot!(rendered(&FindingSelection::default(), text::render));
}

/// The stack is in vmalloc space, so a reader of slabs would not have named it.
#[test]
fn readers_that_were_left_out_are_told_of_with_their_cost() {
    let mut profile = profile();
    let reader = |name: &str, area| LeftOutReader {
        reader: name.into(),
        missing: format!("member '{name}.next'"),
        areas: vec![area],
    };
    profile.meta.left_out_readers = vec![
        reader("stacks", RangeKind::Vmalloc),
        reader("slabs", RangeKind::DirectMap),
    ];
    let area = |kind, start| RangeRow {
        run: RunId(0),
        kind,
        start: Addr(start),
        bytes: 1 << 12,
        owner: String::new(),
        id: 0,
        first: Addr(start),
        stride: 0,
        object_bytes: 0,
    };
    profile.ranges = vec![
        area(RangeKind::Vmalloc, STACK & !0xfff),
        area(RangeKind::DirectMap, CHUNK & !0xfff),
    ];
    let all = FindingSelection::default();
    let text = rendered_of(&profile, &all, text::render);
    for line in [
        "  not read   stacks: member 'stacks.next' is missing; at most 3.1% of transfers have no \
         name for it\n",
        "  not read   slabs: member 'slabs.next' is missing; at most 0.0% of transfers have no \
         name for it\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let document = rendered_of(&profile, &all, |report| json::render(report).unwrap());
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let stacks = &document["left_out_readers"][0];
    assert_eq!(stacks["missing"], "member 'stacks.next'");
    assert_eq!(stacks["transfers"], 150);
    assert_eq!(stacks["share"], document["unresolved_classes"][0]["share"]);
    assert_eq!(document["left_out_readers"][1]["transfers"], 0);
}

/// The kernel, but the types of chunks were elected by evidence that hardly agrees.
struct UncertainKernel;

impl AddressNamer for UncertainKernel {
    fn target_at(&self, run: RunId, addr: Addr, size: u8) -> AccessTarget {
        match Kernel.target_at(run, addr, size) {
            AccessTarget::Member { mut object, member } => {
                object.type_percent = if object.base == Addr(CHUNK) { 62 } else { 100 };
                AccessTarget::Member { object, member }
            }
            other => other,
        }
    }

    fn source_of_site(&self, site: SiteId) -> SiteSource {
        Kernel.source_of_site(site)
    }
}

#[test]
fn uncertain_types_are_marked() {
    let profile = profile();
    let contents = |findings: &Findings, render: fn(&ReportContents, usize) -> String, width| {
        let selection = &FindingSelection::default();
        let report = ReportContents {
            meta: &profile.meta,
            findings,
            selection,
            production: None,
            judgements: None,
            sources: &[],
        };
        render(&report, width)
    };
    let uncertain = find(&profile, &UncertainKernel);
    for width in [100, 160] {
        let text = contents(&uncertain, text::render_within, width);
        let in_table = text
            .lines()
            .find(|line| line.trim_start().starts_with("1 "));
        assert!(
            in_table.unwrap().ends_with("pcpu_chunk +0, 62% sure"),
            "{text}"
        );
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let sentence = "The type of 2 of 2 objects was elected by evidence that hardly agrees, with a \
                        confidence from 62% (below 75%): see --explain 1.";
        assert!(words.contains(sentence), "{text}");
        assert_eq!(text.matches("sure").count(), 2, "{text}");
        let certain = contents(&find(&profile, &Kernel), text::render_within, width);
        assert!(!certain.contains("sure"), "{certain}");
    }
    let document = contents(&uncertain, |report, _| json::render(report).unwrap(), 0);
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["findings"][0]["uncertain_objects"], 2);
    assert_eq!(document["findings"][0]["type_confidence_percent"], 62);
}

#[test]
fn older_profiles_do_not_tell_first_reads() {
    let mut old = profile();
    old.lines.iter_mut().for_each(|row| row.first_reads = None);
    let conflicts = old.conflicts.iter_mut();
    conflicts.for_each(|row| row.first_reads = None);
    let all = FindingSelection::default();
    let text = rendered_of(&old, &all, text::render);
    for said in [
        "4894 (4580 reads, 314 writes) and 900 upgrades",
        "80.6%     -     -    2%",
        "This profile does not tell first reads from later ones.",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let document = rendered_of(&old, &all, |report| json::render(report).unwrap());
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let finding = &document["findings"][0];
    for part in [&document, finding] {
        assert!(part["first_reads"].is_null() && part["later_reads"].is_null());
    }
    assert_eq!(finding["read_transfers"], 3880);
    assert_eq!(finding["transfers"], 3944);
}

#[test]
fn json_of_one_type() {
    let selection = FindingSelection {
        type_name: Some("struct pcpu_chunk".into()),
        ..Default::default()
    };
    insta::assert_snapshot!(rendered(&selection, |report| json::render(report).unwrap()));
}

#[test]
fn selections() {
    let profile = profile();
    let findings = find(&profile, &Kernel);
    let assert_selected = |selection: FindingSelection, ranks: &[u32], passed: usize| {
        let (picked, selected_count) = selection.select_findings(&findings);
        assert_eq!(
            picked
                .iter()
                .map(|finding| finding.rank)
                .collect::<Vec<_>>(),
            ranks
        );
        assert_eq!(selected_count, passed);
    };
    assert_selected(FindingSelection::default(), &[1, 2, 3], 3);
    assert_selected(
        FindingSelection {
            top: 1,
            ..Default::default()
        },
        &[1],
        3,
    );
    assert_selected(
        FindingSelection {
            share_min: 0.1,
            ..Default::default()
        },
        &[1, 2],
        2,
    );
    let named = |name: &str| FindingSelection {
        type_name: Some(name.into()),
        ..Default::default()
    };
    assert_selected(named("osq_node"), &[2], 1);
    assert_selected(named("optimistic_spin_node"), &[2], 1);
    assert_selected(named("pcpu_block_md"), &[], 0);
}

#[test]
fn text_of_nothing() {
    let (profile, selection) = (Profile::default(), FindingSelection::default());
    let findings = Findings::default();
    let report = ReportContents {
        meta: &profile.meta,
        findings: &findings,
        selection: &selection,
        production: None,
        judgements: None,
        sources: &[],
    };
    insta::assert_snapshot!(text::render(&report));
}

/// Of an object whose `bound_map`, on its second line, is stored to while others read `base_addr`.
fn adjacent(pair_coefficient: Option<f64>, render: impl Fn(&ReportContents) -> String) -> String {
    let pair = |context, samples| PairRow {
        run: RunId(0),
        context,
        addr: Addr(CHUNK + 56),
        size: 8,
        site: SiteId(0),
        access: READ,
        other_context: ContextId(0),
        other_addr: Addr(CHUNK + 64),
        other_size: 8,
        other_site: SiteId(1),
        other_access: WRITE,
        samples,
    };
    let mut profile = Profile {
        pairs: vec![pair(ContextId(1), 30), pair(ContextId(2), 34)],
        ..profile()
    };
    profile.conflicts.truncate(1);
    profile.counts.clear();
    for run in &mut profile.meta.runs {
        run.pair_period = Some(1024);
    }
    let findings = find_with(&profile, &Kernel, &FindSettings { pair_coefficient });
    render(&ReportContents {
        production: None,
        judgements: None,
        sources: &[],
        meta: &profile.meta,
        findings: &findings,
        selection: &FindingSelection::default(),
    })
}

#[test]
fn text_of_adjacent_lines() {
    insta::assert_snapshot!(adjacent(Some(0.25), text::render));
}

#[test]
fn adjacent_lines_that_may_be_are_told_of() {
    let assert_told = |coefficient, why: &str| {
        let text = adjacent(coefficient, text::render);
        let place = text.find("Adjacent lines: possible, not measurable here: 1 pair of lines");
        let told = &text[place.expect("the line")..];
        assert!(told.contains("(65536 pair transfers, estimated)"), "{told}");
        assert!(told.contains(why), "{told}");
        assert!(!text.contains("adjacent-line"), "{text}");
    };
    assert_told(None, "not known: `relayout probe`, or --pair-coefficient");
    assert_told(Some(0.0), "is 0, so they cost nothing here");
}

#[test]
fn adjacent_lines_are_in_no_sum() {
    let json = |coefficient| {
        let text = adjacent(coefficient, |report| json::render(report).unwrap());
        serde_json::from_str::<serde_json::Value>(&text).expect("JSON")
    };
    let (with, without) = (json(Some(0.25)), json(None));
    for sum in ["transfers_total", "resolved_share", "unresolved", "lines"] {
        assert_eq!(with[sum], without[sum]);
    }
    let finding = &with["findings"][0];
    assert_eq!(finding["kind"], "adjacent-line");
    assert_eq!(
        (&finding["transfers"], &finding["share"]),
        (&0.into(), &0.0.into())
    );
    assert_eq!(finding["adjacent"]["cost_transfers_estimated"], 16384.0);
    assert_eq!(with["line_pairs"]["candidates"], 1);
}
