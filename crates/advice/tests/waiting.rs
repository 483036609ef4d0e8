//! Waiting in simulated time: lines and instructions by name, and locks.

use relayout_advice::{NamedWaiting, name_waiting};
use relayout_contend::{AccessTarget, AddressNamer, SiteSource, TargetObject};
use relayout_layout::MemberAt;
use relayout_profile::rates::{AccessRates, LineRates, SimulatedRates, SiteRates};
use relayout_profile::{AccessKind, Addr, RunId, SiteId};

/// A dentry at 0x1000 with its lock at 0x58, a spin lock variable at 0x2000, and slab memory without a type.
struct FewObjects;

fn object(base: u64, variable: Option<&str>) -> TargetObject {
    TargetObject {
        base: Addr(base),
        bytes: 0x100,
        variable: variable.map(str::to_owned),
        declaring: None,
        origin: None,
        array: None,
        type_percent: 100,
        rival_type: None,
    }
}

fn member(object: TargetObject, path: &str, types: &[&str]) -> AccessTarget {
    AccessTarget::Member {
        object,
        member: MemberAt {
            path: path.to_owned(),
            types_path: types.iter().map(ToString::to_string).collect(),
            ..MemberAt::default()
        },
    }
}

impl AddressNamer for FewObjects {
    fn target_at(&self, _: RunId, addr: Addr, _: u8) -> AccessTarget {
        match addr.0 {
            0x1058 => member(
                object(0x1000, None),
                "d_lockref.lock_count",
                &["dentry", "lockref"],
            ),
            0x1040 => member(object(0x1000, None), "d_flags", &["dentry"]),
            0x2000 => {
                let lock = object(0x2000, Some("tasklist_lock"));
                member(lock, "cnts", &["qrwlock"])
            }
            _ => AccessTarget::Unresolved("slab kmalloc-64".to_owned()),
        }
    }

    fn source_of_site(&self, site: SiteId) -> SiteSource {
        SiteSource {
            function: Some(format!("function_{}", site.0)),
            ..SiteSource::default()
        }
    }
}

fn access(address: u64, site: usize, wait_ps: u64) -> AccessRates {
    AccessRates {
        address: Addr(address),
        line: Addr(address & !63),
        site,
        kind: AccessKind::ReadWrite,
        wait_ps,
        requests: 10,
        misses: 4,
    }
}

fn named() -> NamedWaiting {
    let line = |address| LineRates {
        address: Addr(address),
        ..LineRates::default()
    };
    let rates = SimulatedRates {
        lines: [0x1040, 0x3000, 0x2000, 0x5000].map(line).to_vec(),
        accesses: vec![
            access(0x1058, 0, 900),
            access(0x3010, 2, 300),
            access(0x1058, 1, 200),
            access(0x2000, 1, 100),
            access(0x1040, 2, 0),
        ],
        sites: vec![SiteRates::default(); 3],
        ..SimulatedRates::default()
    };
    let cache = |addr: Addr| (addr.0 < 0x2000).then(|| "dentry".to_owned());
    name_waiting(&rates, &FewObjects, &cache)
}

#[test]
fn lines_have_their_object_and_members() {
    let [dentry, slab, lock, unknown] = &named().lines[..] else {
        panic!("four lines");
    };
    let object = dentry.object.as_ref().unwrap();
    assert_eq!(object.type_name.as_deref(), Some("dentry"));
    assert_eq!(object.cache.as_deref(), Some("dentry"));
    assert_eq!(object.base, Some(Addr(0x1000)));
    assert_eq!(dentry.members, ["d_lockref.lock_count", "d_flags"]);
    assert_eq!(dentry.lock.as_deref(), Some("dentry.d_lockref"));
    let object = slab.object.as_ref().unwrap();
    assert_eq!(object.memory.as_deref(), Some("slab kmalloc-64"));
    assert_eq!((slab.members.len(), slab.lock.as_ref()), (0, None));
    let object = lock.object.as_ref().unwrap();
    assert_eq!(object.variable.as_deref(), Some("tasklist_lock"));
    assert_eq!(lock.lock.as_deref(), Some("tasklist_lock"));
    assert_eq!(unknown.object, None);
}

#[test]
fn sites_have_members_of_all_their_lines() {
    let sites = named().sites;
    assert_eq!(sites[1].source.function.as_deref(), Some("function_1"));
    assert_eq!(
        sites[1].members,
        ["dentry.d_lockref.lock_count", "tasklist_lock.cnts"]
    );
    assert_eq!(sites[1].lock.as_deref(), Some("dentry.d_lockref"));
    assert_eq!(sites[2].members, ["dentry.d_flags"]);
    assert_eq!(sites[2].lock, None);
}

#[test]
fn locks_are_the_sums_of_their_accesses() {
    let locks = named().locks;
    let found: Vec<_> = { locks.iter() }
        .map(|lock| {
            (
                lock.name.as_str(),
                lock.lock_type.as_str(),
                lock.wait_ps,
                lock.requests,
                &lock.sites[..],
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("dentry.d_lockref", "lockref", 1100, 20, &[0, 1][..]),
            ("tasklist_lock", "qrwlock", 100, 10, &[1]),
        ]
    );
}
