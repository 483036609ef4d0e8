//! Findings from small profiles.

mod elements;
mod grouping;
mod hand_cuts;
mod kinds;

use relayout_contend::{
    AccessTarget, AddressNamer, ElementArray, FindingKind, Findings, SiteSource, TargetObject, find,
};
use relayout_layout::MemberAt;
use relayout_profile::{
    AccessKind, Addr, CoherenceEvent, ConflictRow, ContextId, CountRow, Profile, RunId, Site,
    SiteId,
};

/// Chunks of 192 bytes from 0x1_0000, csds of 32 bytes at 48 of each 128 from 0x2_0000, scalars of
/// 8 bytes from 0x3_0000, locks with data from 0x4_0000, an array of nodes of 40 bytes from
/// 0x5_0000, the array `workers` of 16 elements of 16 bytes from 0x6_0000; nothing else is known.
struct Table;

fn member(
    object: (u64, u64, Option<&str>),
    path: &str,
    types: &[&str],
    at: (u64, u64),
) -> AccessTarget {
    AccessTarget::Member {
        object: TargetObject {
            base: Addr(object.0),
            bytes: object.1,
            variable: object.2.map(str::to_owned),
            declaring: None,
            origin: None,
            array: None,
            type_percent: 100,
            rival_type: None,
        },
        member: MemberAt {
            path: path.to_owned(),
            types_path: types.iter().map(|&name| name.to_owned()).collect(),
            offset: at.0,
            size: at.1,
            ..MemberAt::default()
        },
    }
}

/// An element of `workers`: a limit and a count.
fn element(addr: u64) -> AccessTarget {
    let base = addr & !15;
    let (path, offset) = if addr & 8 == 0 {
        ("limit", 0)
    } else {
        ("count", 8)
    };
    let array = ElementArray {
        base: Addr(0x6_0000),
        stride: 16,
        count: 16,
    };
    match member((base, 16, Some("workers")), path, &["worker"], (offset, 8)) {
        AccessTarget::Member { object, member } => AccessTarget::Member {
            object: TargetObject {
                array: Some(array),
                ..object
            },
            member,
        },
        other => other,
    }
}

impl AddressNamer for Table {
    fn target_at(&self, _: RunId, addr: Addr, _: u8) -> AccessTarget {
        let addr = addr.0;
        let low = addr & 0xffff;
        match addr >> 16 {
            1 => {
                let object = (addr - low % 192, 192, None);
                match low % 192 {
                    16..20 => member(object, "free_bytes", &["pcpu_chunk"], (16, 4)),
                    56..64 => member(object, "base_addr", &["pcpu_chunk"], (56, 8)),
                    _ => member(object, "", &["pcpu_chunk"], (0, 0)),
                }
            }
            2 => {
                let object = (addr - (low - 48) % 128, 32, None);
                let word = (low - 48) % 128 / 8;
                member(object, &format!("word{word}"), &["csd"], (8 * word, 8))
            }
            3 => AccessTarget::Scalar(TargetObject {
                base: Addr(addr & !7),
                bytes: 8,
                variable: Some(format!("counter{}", low / 8)),
                declaring: None,
                origin: None,
                array: None,
                type_percent: 100,
                rival_type: None,
            }),
            4 => match low {
                0..4 => {
                    let types = ["zone", "spinlock", "qspinlock"];
                    member((0x4_0000, 64, Some("zones")), "lock.val", &types, (0, 4))
                }
                _ => member((0x4_0000, 64, Some("zones")), "free", &["zone"], (8, 8)),
            },
            5 => {
                let at = low % 40 / 8 * 8;
                let names = ["next", "prev", "count", "owner", "flags"];
                let object = (addr - low % 40, 40, None);
                member(object, names[at as usize / 8], &["node"], (at, 8))
            }
            6 => element(addr),
            _ => AccessTarget::Unresolved("stack".to_owned()),
        }
    }

    fn source_of_site(&self, site: SiteId) -> SiteSource {
        SiteSource {
            function: Some(format!("f{site}")),
            inlined: None,
            file: Some("mm/x.c".into()),
            line: Some(site.0),
        }
    }
}

const READ: (AccessKind, CoherenceEvent) = (AccessKind::Read, CoherenceEvent::Read);
const WRITE: (AccessKind, CoherenceEvent) = (AccessKind::Write, CoherenceEvent::Write);

fn conflict(
    addr: u64,
    (access, transfer): (AccessKind, CoherenceEvent),
    other_addr: u64,
    count: u64,
    false_lifetime: u64,
) -> ConflictRow {
    ConflictRow {
        run: RunId(0),
        transfer,
        context: ContextId(1),
        addr: Addr(addr),
        size: 4,
        site: SiteId(1),
        access,
        other_context: ContextId(0),
        other_addr: Addr(other_addr),
        other_size: 4,
        other_site: SiteId(2),
        other_access: AccessKind::Write,
        count,
        first_reads: None,
        false_first_touch: false_lifetime,
        false_lifetime,
    }
}

fn stores(addr: u64, count: u64, silent: u64) -> CountRow {
    CountRow {
        run: RunId(0),
        addr: Addr(addr),
        size: 4,
        context: ContextId(0),
        site: SiteId(2),
        access: AccessKind::Write,
        count,
        silent: Some(silent),
    }
}

fn profile(conflicts: Vec<ConflictRow>) -> Profile {
    let site = Site {
        pc: 0,
        bytes: vec![0x89, 0x07],
    };
    Profile {
        conflicts,
        sites: vec![site; 3],
        ..Profile::default()
    }
}

fn kinds(findings: &Findings) -> Vec<(&str, i64, FindingKind)> {
    let row = |f: &'_ relayout_contend::Finding| (f.line_offset, f.kind);
    findings
        .findings
        .iter()
        .map(|f| (f.subject.type_name(), row(f).0, row(f).1))
        .collect()
}
