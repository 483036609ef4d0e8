//! Which CPUs there are, and how far they are apart.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::file::Machine;

/// CPUs up to which every pair is measured; with more, [`PAIRS_PER_RELATION`] of each relation.
const EVERY_PAIR_CPUS_MAX: usize = 6;
/// Pairs of one relation on bigger machines.
const PAIRS_PER_RELATION: usize = 2;
/// Bytes of a line where the machine does not say: all x86-64 and most arm64 CPUs.
const LINE_BYTES_USUAL: u32 = 64;

/// How far two CPUs are apart; the nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// Two hardware threads of one core.
    SmtSibling,
    /// Two cores that share a last-level cache.
    SameCache,
    /// Two cores of one package and node.
    SamePackage,
    /// Two nodes or packages.
    OtherNode,
}

/// A CPU and what it is part of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpu {
    /// Its number.
    pub number: u32,
    /// CPUs of its core, as the kernel lists them.
    pub core: String,
    /// CPUs that share its last-level cache.
    pub cache: String,
    /// Its package.
    pub package: String,
    /// Its NUMA node.
    pub node: String,
}

/// Two CPUs to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuPair {
    /// The one.
    pub cpu_a: u32,
    /// The other.
    pub cpu_b: u32,
    /// How far they are apart.
    pub relation: Relation,
}

impl Cpu {
    /// How far `other` is away. What the machine does not say counts as shared.
    pub fn relation(&self, other: &Self) -> Relation {
        if !self.core.is_empty() && self.core == other.core {
            Relation::SmtSibling
        } else if self.node != other.node || self.package != other.package {
            Relation::OtherNode
        } else if self.cache == other.cache {
            Relation::SameCache
        } else {
            Relation::SamePackage
        }
    }
}

/// The pairs to measure: every one on small machines, else some of each relation. The first is the
/// one for everything else that takes two CPUs: two cores, as near as there are.
pub fn pairs(cpus: &[Cpu]) -> Vec<CpuPair> {
    let mut by_relation: BTreeMap<Relation, Vec<CpuPair>> = BTreeMap::new();
    for (index, a) in cpus.iter().enumerate() {
        for b in &cpus[index + 1..] {
            let relation = a.relation(b);
            let of_it = by_relation.entry(relation).or_default();
            if cpus.len() <= EVERY_PAIR_CPUS_MAX || of_it.len() < PAIRS_PER_RELATION {
                of_it.push(CpuPair {
                    cpu_a: a.number,
                    cpu_b: b.number,
                    relation,
                });
            }
        }
    }
    let siblings = by_relation.remove(&Relation::SmtSibling);
    let cores = by_relation.into_values().flatten();
    cores.chain(siblings.into_iter().flatten()).collect()
}

/// The CPUs that this process may run on.
pub fn allowed_cpus() -> Vec<Cpu> {
    allowed_numbers().into_iter().map(describe).collect()
}

/// What tells this machine from others.
pub fn machine() -> Machine {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let mut lines = info.lines().filter_map(|line| line.split_once(':'));
        let found = lines.find(|(key, _)| key.trim() == name);
        found.map(|(_, value)| value.trim().to_owned())
    };
    let arm = || {
        Some(format!(
            "{} {}",
            field("CPU implementer")?,
            field("CPU part")?
        ))
    };
    Machine {
        cpu: field("model name")
            .or_else(arm)
            .unwrap_or_else(|| "unknown".into()),
        cpus: list_count(&first_line(Path::new("/sys/devices/system/cpu/online"))),
        virtual_machine: has_flag(&info, "hypervisor"),
    }
}

/// Whether a locked access across two lines would be slowed down or killed by the kernel.
pub fn split_locks_are_trapped() -> bool {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    has_flag(&info, "split_lock_detect") || has_flag(&info, "bus_lock_detect")
}

/// Bytes of a cache line.
pub fn line_bytes() -> u32 {
    let text = first_line(Path::new(
        "/sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size",
    ));
    // SAFETY: asks for a number.
    let asked = || u32::try_from(unsafe { libc::sysconf(libc::_SC_LEVEL1_DCACHE_LINESIZE) }).ok();
    let usable = |bytes: &u32| bytes.is_power_of_two() && (16..=4096).contains(bytes);
    let said = text.parse().ok().filter(usable);
    said.or_else(|| asked().filter(usable))
        .unwrap_or(LINE_BYTES_USUAL)
}

fn allowed_numbers() -> Vec<u32> {
    // SAFETY: the set is as long as said, and the calls read and write no more.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) != 0 {
            return Vec::new();
        }
        let all = 0..libc::CPU_SETSIZE as usize;
        all.filter(|&cpu| libc::CPU_ISSET(cpu, &set))
            .map(|cpu| cpu as u32)
            .collect()
    }
}

fn describe(number: u32) -> Cpu {
    let dir = Path::new("/sys/devices/system/cpu").join(format!("cpu{number}"));
    let topology = |name: &str| first_line(&dir.join("topology").join(name));
    let core = match topology("core_cpus_list") {
        list if list.is_empty() => topology("thread_siblings_list"),
        list => list,
    };
    Cpu {
        number,
        core,
        cache: last_cache(&dir.join("cache")),
        package: topology("physical_package_id"),
        node: node(&dir),
    }
}

/// CPUs that share the cache of the highest level.
fn last_cache(dir: &Path) -> String {
    let caches = (0..8).map(|index| dir.join(format!("index{index}")));
    let level = |cache: &Path| first_line(&cache.join("level")).parse::<u32>().ok();
    let last = caches
        .filter_map(|cache| Some((level(&cache)?, cache)))
        .max();
    last.map(|(_, cache)| first_line(&cache.join("shared_cpu_list")))
        .unwrap_or_default()
}

/// The folder of a CPU has a link `nodeN` to its node.
fn node(dir: &Path) -> String {
    let names = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names
        .find(|name| {
            name.strip_prefix("node")
                .is_some_and(|n| n.parse::<u32>().is_ok())
        })
        .unwrap_or_default()
}

fn first_line(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().next().unwrap_or_default().trim().to_owned()
}

fn has_flag(info: &str, flag: &str) -> bool {
    let mut lines = info.lines().filter(|line| line.starts_with("flags"));
    lines
        .next()
        .is_some_and(|line| line.split_whitespace().any(|word| word == flag))
}

/// How many numbers a list such as `0-3,8` names.
fn list_count(list: &str) -> u32 {
    let one = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to) = (from.parse::<u32>().ok()?, to.parse::<u32>().ok()?);
        to.checked_sub(from)?.checked_add(1)
    };
    list.split(',').filter_map(one).fold(0, u32::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two packages of two caches of two cores of two threads.
    fn big() -> Vec<Cpu> {
        let cpu = |n: u32| Cpu {
            number: n,
            core: format!("core {}", n / 2),
            cache: format!("cache {}", n / 4),
            package: format!("{}", n / 8),
            node: format!("node{}", n / 8),
        };
        (0..16).map(cpu).collect()
    }

    #[test]
    fn relations_of_a_big_machine() {
        let cpus = big();
        let relation = |b: usize| cpus[0].relation(&cpus[b]);
        assert_eq!(relation(1), Relation::SmtSibling);
        assert_eq!(relation(2), Relation::SameCache);
        assert_eq!(relation(4), Relation::SamePackage);
        assert_eq!(relation(8), Relation::OtherNode);
    }

    #[test]
    fn a_big_machine_has_some_of_each_and_cores_first() {
        let pairs = pairs(&big());
        let relations: Vec<Relation> = pairs.iter().map(|pair| pair.relation).collect();
        use Relation::*;
        assert_eq!(
            relations,
            [
                SameCache,
                SameCache,
                SamePackage,
                SamePackage,
                OtherNode,
                OtherNode,
                SmtSibling,
                SmtSibling
            ]
        );
        assert_eq!((pairs[0].cpu_a, pairs[0].cpu_b), (0, 2));
    }

    #[test]
    fn a_small_machine_has_every_pair() {
        assert_eq!(pairs(&big()[..6]).len(), 15);
        assert_eq!(pairs(&big()[..1]), []);
        let unknown = [0, 1].map(|number| Cpu {
            number,
            ..Cpu::default()
        });
        assert_eq!(pairs(&unknown)[0].relation, Relation::SameCache);
    }

    #[test]
    fn lists_of_cpus() {
        for (list, count) in [
            ("0-1", 2),
            ("0", 1),
            ("0-3,8,10-11", 7),
            ("", 0),
            ("3-1,x", 0),
        ] {
            assert_eq!(list_count(list), count, "{list}");
        }
        assert_eq!(list_count("0-4294967295,0-4294967294"), u32::MAX);
    }

    #[test]
    fn this_machine_is_described() {
        let cpus = allowed_cpus();
        assert!(!cpus.is_empty());
        let machine = machine();
        assert!(
            machine.cpus as usize >= 1 && !machine.cpu.is_empty(),
            "{machine:?}"
        );
        assert!(line_bytes().is_power_of_two());
    }
}
