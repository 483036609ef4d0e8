//! Names of what the CPUs of a guest in simulated time stood still for: the objects on a line, the members that
//! instructions access, and the locks among them.

use std::collections::{BTreeSet, HashMap};

use relayout_contend::{AccessTarget, AddressNamer, SiteSource, TargetObject, lock_depth};
use relayout_layout::MemberAt;
use relayout_profile::rates::{AccessRates, SimulatedRates};
use relayout_profile::{Addr, RunId, SiteId};

/// Names of a window's lines and sites, and its locks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamedWaiting {
    /// Of each of [`SimulatedRates::lines`].
    pub lines: Vec<WaitedLine>,
    /// Of each of [`SimulatedRates::sites`].
    pub sites: Vec<WaitedSite>,
    /// Locks for which CPUs stood still, most first.
    pub locks: Vec<LockWaiting>,
}

/// Names of a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WaitedLine {
    /// Object whose accesses waited most; `None` if none of its accesses is listed.
    pub object: Option<WaitedObject>,
    /// Paths of the members of that object that were accessed on the line, most waiting first.
    pub members: Vec<String>,
    /// Lock that is, or has, the most waiting one of them.
    pub lock: Option<String>,
    /// Address at which the recorded program has the line; `None` if the kernel is recorded, or has it to itself.
    pub program_address: Option<Addr>,
}

/// Object in memory, or the kind of memory that it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitedObject {
    /// Variable that it is, or is an element of.
    pub variable: Option<String>,
    /// Type; `None` if it is unknown or no aggregate.
    pub type_name: Option<String>,
    /// Kind of memory of an object of unknown type: `slab kmalloc-192`.
    pub memory: Option<String>,
    /// Slab cache that it was allocated from.
    pub cache: Option<String>,
    /// Address of its first byte; `None` if its type is unknown.
    pub base: Option<Addr>,
}

/// Names of an instruction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WaitedSite {
    /// Function, file and line.
    pub source: SiteSource,
    /// Members that it accessed, with their type or variable, most waiting first: `dentry.d_lockref.lock_count`.
    pub members: Vec<String>,
    /// Lock that is, or has, the most waiting one of them.
    pub lock: Option<String>,
}

/// Waiting for the lines of a lock: of all locks with one name.
#[derive(Clone, Debug, PartialEq)]
pub struct LockWaiting {
    /// Path of the lock in its type or variable: `mm_struct.mmap_lock`, `tasklist_lock`.
    pub name: String,
    /// Type of the lock: `rw_semaphore`.
    pub lock_type: String,
    /// Time for which CPUs stood still for it, in picoseconds.
    pub wait_ps: u64,
    /// Requests of its lines.
    pub requests: u64,
    /// Those that needed a transfer.
    pub misses: u64,
    /// Addresses of the lines.
    pub lines: BTreeSet<Addr>,
    /// Indexes of the instructions in [`SimulatedRates::sites`], most waiting first.
    pub sites: Vec<usize>,
}

impl NamedWaiting {
    /// Returns the names of the window of a program by those of the program's part and those of the kernel's. A line
    /// that both access is the program's.
    pub fn of_program_and_kernel(program: Self, kernel: Self, rates: &SimulatedRates) -> Self {
        let lines = program.lines.into_iter().zip(kernel.lines);
        let lines = lines.zip(&rates.lines);
        let sites = program.sites.into_iter().zip(kernel.sites);
        let mut locks = program.locks;
        locks.extend(kernel.locks);
        sort_locks(&mut locks);
        Self {
            lines: lines
                .map(|((own, kernels), line)| match own.object {
                    Some(_) => WaitedLine {
                        program_address: rates.program_line(line.address),
                        ..own
                    },
                    None => kernels,
                })
                .collect(),
            sites: sites
                .map(|(own, kernels)| match own.source == SiteSource::default() {
                    false => own,
                    true => kernels,
                })
                .collect(),
            locks,
        }
    }
}

fn sort_locks(locks: &mut [LockWaiting]) {
    locks.sort_by(|a, b| b.wait_ps.cmp(&a.wait_ps).then_with(|| a.name.cmp(&b.name)));
}

/// Names what CPUs stood still for. `cache_at` returns the slab cache of the object at an address.
pub fn name_waiting(
    rates: &SimulatedRates,
    namer: &dyn AddressNamer,
    cache_at: &dyn Fn(Addr) -> Option<String>,
) -> NamedWaiting {
    let place = |access: &AccessRates| (RunId(0), access.address, rates.access_bytes(access.site));
    let places: Vec<_> = rates.accesses.iter().map(place).collect();
    let targets = namer.targets_at(&places);
    let accesses: Vec<NamedAccess<'_>> = { rates.accesses.iter() }
        .zip(&targets)
        .map(|(rates, target)| NamedAccess { rates, target })
        .collect();
    let (mut by_line, mut by_site) = (HashMap::new(), HashMap::new());
    for access in &accesses {
        let on_line: &mut Vec<_> = by_line.entry(access.rates.line).or_default();
        on_line.push(access);
        let of_site: &mut Vec<_> = by_site.entry(access.rates.site).or_default();
        of_site.push(access);
    }
    let none = Vec::new();
    let lines = rates.lines.iter().map(|line| {
        let accesses = by_line.get(&line.address).unwrap_or(&none);
        name_line(accesses, cache_at)
    });
    let sites = (0..rates.sites.len()).map(|site| {
        let accesses = by_site.get(&site).unwrap_or(&none);
        WaitedSite {
            source: namer.source_of_site(SiteId(site as u32)),
            members: distinct(accesses.iter().filter_map(|access| access.full_name())),
            lock: accesses.first().and_then(|access| access.lock_name()),
        }
    });
    NamedWaiting {
        lines: lines.collect(),
        sites: sites.collect(),
        locks: sum_locks(&accesses),
    }
}

fn name_line(
    accesses: &[&NamedAccess<'_>],
    cache_at: &dyn Fn(Addr) -> Option<String>,
) -> WaitedLine {
    let Some(first) = accesses.first() else {
        return WaitedLine::default();
    };
    let object = first.object();
    let of_object = { accesses.iter() }.filter(|access| access.object().base == object.base);
    let paths = of_object.filter_map(|access| Some(access.member()?.path.clone()));
    WaitedLine {
        members: distinct(paths.filter(|path| !path.is_empty())),
        lock: first.lock_name(),
        program_address: None,
        object: Some(WaitedObject {
            cache: cache_at(first.rates.address),
            ..object
        }),
    }
}

/// Adds up the accesses of each lock.
fn sum_locks(accesses: &[NamedAccess<'_>]) -> Vec<LockWaiting> {
    let mut locks: Vec<LockWaiting> = Vec::new();
    let mut indexes = HashMap::new();
    for access in accesses {
        let (Some(name), Some(lock_type)) = (access.lock_name(), access.lock_type()) else {
            continue;
        };
        let index = *indexes.entry(name.clone()).or_insert(locks.len());
        if index == locks.len() {
            locks.push(LockWaiting {
                name,
                lock_type: lock_type.to_owned(),
                wait_ps: 0,
                requests: 0,
                misses: 0,
                lines: BTreeSet::new(),
                sites: Vec::new(),
            });
        }
        let (lock, rates) = (&mut locks[index], access.rates);
        lock.wait_ps += rates.wait_ps;
        lock.requests += rates.requests;
        lock.misses += rates.misses;
        lock.lines.insert(rates.line);
        if rates.wait_ps > 0 && !lock.sites.contains(&rates.site) {
            lock.sites.push(rates.site);
        }
    }
    locks.retain(|lock| lock.wait_ps > 0);
    sort_locks(&mut locks);
    locks
}

/// Access with its target.
struct NamedAccess<'r> {
    rates: &'r AccessRates,
    target: &'r AccessTarget,
}

impl NamedAccess<'_> {
    fn member(&self) -> Option<&MemberAt> {
        match self.target {
            AccessTarget::Member { member, .. } => Some(member),
            AccessTarget::Scalar(_) | AccessTarget::Unresolved(_) => None,
        }
    }

    fn object(&self) -> WaitedObject {
        let known = |object: &TargetObject, type_name: Option<&String>| WaitedObject {
            variable: object.variable.clone(),
            type_name: type_name.cloned(),
            base: Some(object.base),
            ..WaitedObject::default()
        };
        match self.target {
            AccessTarget::Member { object, member } => known(object, member.types_path.first()),
            AccessTarget::Scalar(object) => known(object, None),
            AccessTarget::Unresolved(memory) => WaitedObject {
                memory: Some(memory.clone()),
                ..WaitedObject::default()
            },
        }
    }

    /// Returns the name of the variable, else of the type.
    fn owner(&self) -> Option<String> {
        let object = self.object();
        object.variable.or(object.type_name)
    }

    /// Returns owner and path of the member: `dentry.d_lockref.lock_count`.
    fn full_name(&self) -> Option<String> {
        let path = self.member().map_or("", |member| member.path.as_str());
        Some(join_path(self.owner()?, path))
    }

    fn lock_type(&self) -> Option<&str> {
        let member = self.member()?;
        Some(&member.types_path[lock_depth(member)?])
    }

    /// Returns owner and path of the lock. Each type on the way to it is that of a member, but for the first.
    fn lock_name(&self) -> Option<String> {
        let member = self.member()?;
        let depth = lock_depth(member)?;
        let path: Vec<&str> = member.path.split('.').take(depth).collect();
        Some(join_path(self.owner()?, &path.join(".")))
    }
}

fn join_path(owner: String, path: &str) -> String {
    match path {
        "" => owner,
        path => format!("{owner}.{path}"),
    }
}

/// Returns each name once, in the order in which they come first.
fn distinct(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut found = Vec::new();
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}
