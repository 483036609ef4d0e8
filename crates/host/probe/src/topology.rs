//! The CPUs of this machine, and their distances.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

use relayout_files::{allowed_cpus, parse_cpu_list};
use relayout_statistics::random::{RandomSequence, SplitMix64};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bytes of a line where the machine does not say: all x86-64 and most arm64 CPUs.
const LINE_BYTES_USUAL: u32 = 64;

/// Properties that tell a machine from others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineIdentity {
    /// Model of the CPU, as the kernel names it.
    pub cpu: String,
    /// Number of CPUs that are online.
    pub cpus: u32,
    /// True on a virtual machine.
    pub virtual_machine: bool,
}

/// Numbers of cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CoreCounts {
    /// Nodes or packages, at least one: what is [`CpuRelation::OtherNode`] to each other.
    pub nodes: u32,
    /// Cores of a node.
    pub node_cores: u32,
    /// Cores of a node that share a last-level cache.
    pub cache_cores: u32,
}

/// Distance of two CPUs, the nearest first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum CpuRelation {
    /// Two hardware threads of one core.
    SmtSibling,
    /// Two cores that share a last-level cache.
    SameCache,
    /// Two cores of one package and node.
    SamePackage,
    /// Two nodes or packages.
    OtherNode,
}

/// A CPU, and its core, cache, package and node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuTopology {
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
    /// Distance of the two CPUs.
    pub relation: CpuRelation,
}

impl CpuTopology {
    /// Returns the distance to `other`. A property that the machine does not tell counts as shared.
    pub fn relation_to(&self, other: &Self) -> CpuRelation {
        if !self.core.is_empty() && self.core == other.core {
            CpuRelation::SmtSibling
        } else if self.node != other.node || self.package != other.package {
            CpuRelation::OtherNode
        } else if self.cache == other.cache {
            CpuRelation::SameCache
        } else {
            CpuRelation::SamePackage
        }
    }
}

/// Limits of a sample of pairs.
#[derive(Clone, Copy, Debug)]
pub struct PairLimits {
    /// CPUs up to which every pair is in the sample.
    every_pair_cpus_max: usize,
    /// Pairs of each relation on bigger machines.
    pairs_per_relation: usize,
}

/// Pairs of CPUs that are measured, out of all.
#[derive(Clone, Debug)]
pub struct PairSample {
    /// The chosen pairs, cores before threads of one core, near ones first.
    pub pairs: Vec<CpuPair>,
    /// Number of all pairs of each relation.
    pub counts: BTreeMap<CpuRelation, u64>,
}

impl PairLimits {
    /// Limits of a measurement of costs.
    pub const COSTS: Self = Self {
        every_pair_cpus_max: 6,
        pairs_per_relation: 2,
    };
    /// Limits of a map of pairs: at most 120 pairs, or 24 of each relation.
    pub const MAP: Self = Self {
        every_pair_cpus_max: 16,
        pairs_per_relation: 24,
    };
}

impl PairSample {
    /// Adds pairs that are threads of one core by the usual numberings, if the kernel names none: the topology that a
    /// virtual machine reports may be wrong.
    pub fn add_likely_threads(&mut self, cpus: &[CpuTopology]) {
        if self.counts.contains_key(&CpuRelation::SmtSibling) {
            return;
        }
        let half = cpus.len() / 2;
        for (index, mate) in [(0, 1), (0, half), (2, 3), (2, 2 + half)] {
            let (Some(a), Some(b)) = (cpus.get(index), cpus.get(mate)) else {
                continue;
            };
            let pair = CpuPair {
                cpu_a: a.number,
                cpu_b: b.number,
                relation: a.relation_to(b),
            };
            if index < mate && !self.pairs.contains(&pair) {
                self.pairs.push(pair);
            }
        }
    }
}

/// Chooses the pairs to measure: all pairs on small machines, else some of each relation. The first pair serves all
/// other measurements on two CPUs: two cores, as near as possible.
pub fn choose_pairs(cpus: &[CpuTopology], limits: PairLimits) -> PairSample {
    let mut by_relation: BTreeMap<CpuRelation, Vec<CpuPair>> = BTreeMap::new();
    let mut counts: BTreeMap<CpuRelation, u64> = BTreeMap::new();
    let mut random = SplitMix64::new(cpus.len() as u64);
    for (index, a) in cpus.iter().enumerate() {
        for b in &cpus[index + 1..] {
            let relation = a.relation_to(b);
            let pair = CpuPair {
                cpu_a: a.number,
                cpu_b: b.number,
                relation,
            };
            let same_relation = by_relation.entry(relation).or_default();
            let count = counts.entry(relation).or_default();
            *count += 1;
            if cpus.len() <= limits.every_pair_cpus_max
                || same_relation.len() < limits.pairs_per_relation
            {
                same_relation.push(pair);
            } else if let drawn @ 1.. = random.below(*count as usize)
                && let Some(chosen) = same_relation.get_mut(drawn)
            {
                // Each pair stays with the same chance (reservoir sampling), the first for certain.
                *chosen = pair;
            }
        }
    }
    let siblings = by_relation.remove(&CpuRelation::SmtSibling);
    let cores = by_relation.into_values().flatten();
    PairSample {
        pairs: cores.chain(siblings.into_iter().flatten()).collect(),
        counts,
    }
}

/// Counts the cores of a machine; of nodes and caches of different sizes those of the largest count.
pub fn count_cores(cpus: &[CpuTopology]) -> CoreCounts {
    let mut nodes: BTreeMap<_, BTreeMap<&str, BTreeSet<String>>> = BTreeMap::new();
    for cpu in cpus {
        let core = match cpu.core.is_empty() {
            true => cpu.number.to_string(),
            false => cpu.core.clone(),
        };
        let caches = nodes.entry((&cpu.package, &cpu.node)).or_default();
        caches.entry(&cpu.cache).or_default().insert(core);
    }
    let largest = |counts: &mut dyn Iterator<Item = usize>| counts.max().unwrap_or(1) as u32;
    let in_node =
        |caches: &BTreeMap<&str, BTreeSet<String>>| caches.values().map(BTreeSet::len).sum();
    CoreCounts {
        nodes: nodes.len().max(1) as u32,
        node_cores: largest(&mut nodes.values().map(in_node)),
        cache_cores: largest(
            &mut nodes
                .values()
                .flat_map(|caches| caches.values().map(BTreeSet::len)),
        ),
    }
}

/// The CPUs that this process may run on.
pub fn read_cpus() -> Vec<CpuTopology> {
    allowed_cpus()
        .into_iter()
        .map(|number| read_topology(number as u32))
        .collect()
}

/// Returns the properties that tell this machine from others.
pub fn identify_machine() -> MachineIdentity {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        info.lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(key, _)| key.trim() == name)
            .map(|(_, value)| value.trim().to_owned())
    };
    let arm = || {
        Some(format!(
            "{} {}",
            field("CPU implementer")?,
            field("CPU part")?
        ))
    };
    MachineIdentity {
        cpu: field("model name")
            .or_else(arm)
            .unwrap_or_else(|| "unknown".into()),
        cpus: count_listed(&first_line(Path::new("/sys/devices/system/cpu/online"))),
        virtual_machine: has_flag(&info, "hypervisor"),
    }
}

/// Returns true if the kernel slows down or kills programs with locked accesses across two lines.
pub fn split_locks_are_trapped() -> bool {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    has_flag(&info, "split_lock_detect") || has_flag(&info, "bus_lock_detect")
}

/// Bytes of a cache line.
pub fn line_bytes() -> u32 {
    let text = first_line(Path::new(
        "/sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size",
    ));
    // SAFETY: the call reads a constant of the C library.
    let system_value =
        || u32::try_from(unsafe { libc::sysconf(libc::_SC_LEVEL1_DCACHE_LINESIZE) }).ok();
    let is_usable = |bytes: &u32| bytes.is_power_of_two() && (16..=4096).contains(bytes);
    text.parse()
        .ok()
        .filter(is_usable)
        .or_else(|| system_value().filter(is_usable))
        .unwrap_or(LINE_BYTES_USUAL)
}

fn read_topology(number: u32) -> CpuTopology {
    let dir = Path::new("/sys/devices/system/cpu").join(format!("cpu{number}"));
    let topology = |name: &str| first_line(&dir.join("topology").join(name));
    let core = match topology("core_cpus_list") {
        list if list.is_empty() => topology("thread_siblings_list"),
        list => list,
    };
    CpuTopology {
        number,
        core,
        cache: last_level_cache(&dir.join("cache")),
        package: topology("physical_package_id"),
        node: numa_node(&dir),
    }
}

/// CPUs that share the cache of the highest level.
fn last_level_cache(dir: &Path) -> String {
    let caches = (0..8).map(|index| dir.join(format!("index{index}")));
    let level = |cache: &Path| first_line(&cache.join("level")).parse::<u32>().ok();
    caches
        .filter_map(|cache| Some((level(&cache)?, cache)))
        .max()
        .map(|(_, cache)| first_line(&cache.join("shared_cpu_list")))
        .unwrap_or_default()
}

/// The folder of a CPU has a link `nodeN` to its node.
fn numa_node(dir: &Path) -> String {
    fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
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
    info.lines()
        .find(|line| line.starts_with("flags"))
        .is_some_and(|line| line.split_whitespace().any(|word| word == flag))
}

/// Counts the numbers in a list such as `0-3,8`; 0 for another text.
fn count_listed(list: &str) -> u32 {
    let range_length = |range: RangeInclusive<u32>| (range.end() - range.start()).saturating_add(1);
    parse_cpu_list(list)
        .unwrap_or_default()
        .into_iter()
        .map(range_length)
        .fold(0, u32::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two packages of two caches of two cores of two threads.
    fn big() -> Vec<CpuTopology> {
        let cpu = |n: u32| CpuTopology {
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
        let relation = |b: usize| cpus[0].relation_to(&cpus[b]);
        assert_eq!(relation(1), CpuRelation::SmtSibling);
        assert_eq!(relation(2), CpuRelation::SameCache);
        assert_eq!(relation(4), CpuRelation::SamePackage);
        assert_eq!(relation(8), CpuRelation::OtherNode);
    }

    #[test]
    fn cores_are_counted() {
        let counts = |nodes, node_cores, cache_cores| CoreCounts {
            nodes,
            node_cores,
            cache_cores,
        };
        assert_eq!(count_cores(&big()), counts(2, 4, 2));
        assert_eq!(count_cores(&[]), counts(1, 1, 1));
    }

    #[test]
    fn a_big_machine_has_some_of_each_and_cores_first() {
        let pairs = choose_pairs(&big(), PairLimits::COSTS).pairs;
        let relations: Vec<CpuRelation> = pairs.iter().map(|pair| pair.relation).collect();
        use CpuRelation::*;
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
        let choose = |cpus: &[CpuTopology]| choose_pairs(cpus, PairLimits::COSTS).pairs;
        assert_eq!(choose(&big()[..6]).len(), 15);
        assert_eq!(choose(&big()[..1]), []);
        let unknown = [0, 1].map(|number| CpuTopology {
            number,
            ..CpuTopology::default()
        });
        assert_eq!(choose(&unknown)[0].relation, CpuRelation::SameCache);
    }

    /// A map of 512 CPUs takes seconds, and has pairs from everywhere.
    #[test]
    fn a_map_of_many_cpus_is_a_sample() {
        let cpu = |number: u32| CpuTopology {
            number,
            core: (number % 256).to_string(),
            cache: (number % 256 / 8).to_string(),
            package: (number % 256 / 128).to_string(),
            node: String::new(),
        };
        let cpus: Vec<CpuTopology> = (0..512).map(cpu).collect();
        let sample = choose_pairs(&cpus, PairLimits::MAP);
        assert_eq!(sample.counts.values().sum::<u64>(), 512 * 511 / 2);
        assert_eq!(sample.counts[&CpuRelation::SmtSibling], 256);
        assert_eq!(sample.pairs.len(), 4 * 24);
        let first = sample.pairs[0];
        assert_eq!((first.cpu_a, first.cpu_b), (0, 1));
        let numbers: BTreeSet<u32> = sample.pairs.iter().map(|pair| pair.cpu_a).collect();
        assert!(
            numbers.len() > 60 && numbers.last() > Some(&256),
            "{numbers:?}"
        );
        let every = choose_pairs(&cpus[..16], PairLimits::MAP);
        assert_eq!(every.pairs.len(), 120);
        let mut cores = choose_pairs(&cpus[..256], PairLimits::MAP);
        cores.add_likely_threads(&cpus[..256]);
        for mates in [(0, 1), (0, 128), (2, 3), (2, 130)] {
            let mut pairs = cores.pairs.iter();
            assert!(
                pairs.any(|pair| (pair.cpu_a, pair.cpu_b) == mates),
                "{mates:?}"
            );
        }
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
            assert_eq!(count_listed(list), count, "{list}");
        }
        assert_eq!(count_listed("0-4294967295,0-4294967294"), u32::MAX);
    }

    #[test]
    fn this_machine_is_described() {
        let cpus = read_cpus();
        assert!(!cpus.is_empty());
        let machine = identify_machine();
        assert!(
            machine.cpus as usize >= 1 && !machine.cpu.is_empty(),
            "{machine:?}"
        );
        assert!(line_bytes().is_power_of_two());
    }
}
