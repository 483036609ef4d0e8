//! Positions of CPUs in a machine, and sets of CPUs that are close together or far apart.

use std::collections::BTreeMap;

use crate::topology::CpuTopology;

/// Position of a CPU. All numbers count from 0 and say only what differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuPosition {
    /// Number of the CPU.
    pub cpu: u32,
    /// Node or package.
    pub socket: u16,
    /// Cores that share a last-level cache, within the machine.
    pub cluster: u16,
    /// Core, within the machine.
    pub core: u16,
    /// Cluster within its socket.
    cluster_in_socket: u16,
    /// Core within its cluster.
    core_in_cluster: u16,
    /// Hardware thread within its core.
    pub thread: u16,
}

/// A set of CPUs that grows with the number of CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuChoice {
    /// Neighbouring cores: clusters and sockets are filled in turn.
    Pack,
    /// Sockets, and clusters in them, have one more core each in turn.
    Spread,
}

impl CpuChoice {
    /// Both, the nearest first.
    pub const ALL: [Self; 2] = [Self::Pack, Self::Spread];

    /// Returns the name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pack => "pack",
            Self::Spread => "spread",
        }
    }

    /// Puts the CPUs into the order in which sets take them. Second threads of cores come last.
    pub fn order(self, positions: &[CpuPosition]) -> Vec<CpuPosition> {
        let mut ordered = positions.to_vec();
        ordered.sort_by_key(|position| {
            let place = [
                position.socket,
                position.cluster_in_socket,
                position.core_in_cluster,
            ];
            let [socket, cluster, core] = place;
            match self {
                Self::Pack => [position.thread, socket, cluster, core],
                Self::Spread => [position.thread, core, cluster, socket],
            }
        });
        ordered
    }
}

/// Returns the positions of CPUs. A core or cache that the machine does not tell is one of the CPU's own.
pub fn cpu_positions(cpus: &[CpuTopology]) -> Vec<CpuPosition> {
    let mut sockets = NumberedGroups::default();
    let mut clusters = NumberedGroups::default();
    let mut cores = NumberedGroups::default();
    let mut threads = NumberedGroups::default();
    let position = |cpu: &CpuTopology| {
        let number = cpu.number.to_string();
        let core_name = if cpu.core.is_empty() {
            &number
        } else {
            &cpu.core
        };
        let (socket, _) = sockets.number("", &format!("{}/{}", cpu.package, cpu.node));
        let socket_name = socket.to_string();
        let cache_name = format!("{socket}/{}", cpu.cache);
        let (cluster_in_socket, cluster) = clusters.number(&socket_name, &cache_name);
        let (core_in_cluster, core) = cores.number(&cluster.to_string(), core_name);
        let (thread, _) = threads.number(&core.to_string(), &number);
        CpuPosition {
            cpu: cpu.number,
            socket,
            cluster,
            core,
            cluster_in_socket,
            core_in_cluster,
            thread,
        }
    };
    cpus.iter().map(position).collect()
}

/// Groups by name, numbered within what they are part of and in all.
#[derive(Default)]
struct NumberedGroups {
    numbers: BTreeMap<(String, String), (u16, u16)>,
    sizes: BTreeMap<String, u16>,
}

impl NumberedGroups {
    /// Returns the numbers of a group: within `whole`, and in all.
    fn number(&mut self, whole: &str, name: &str) -> (u16, u16) {
        let in_all = self.numbers.len() as u16;
        let key = (whole.to_owned(), name.to_owned());
        *self.numbers.entry(key).or_insert_with(|| {
            let size = self.sizes.entry(whole.to_owned()).or_default();
            *size += 1;
            (*size - 1, in_all)
        })
    }
}

/// Returns 1, 2, 4 and so on up to `max`, and `max`.
pub fn doubling_counts(max: usize) -> Vec<usize> {
    let powers = std::iter::successors(Some(1), |count| Some(count * 2));
    let mut counts: Vec<usize> = powers.take_while(|count| *count < max).collect();
    counts.extend((max > 0).then_some(max));
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sockets of two clusters of two cores of two threads, numbered as on x86-64 servers: second threads last.
    fn server() -> Vec<CpuTopology> {
        let cpu = |number: u32| {
            let core = number % 8;
            CpuTopology {
                number,
                core: format!("{core},{}", core + 8),
                cache: format!("{}", core / 2),
                package: format!("{}", core / 4),
                node: format!("node{}", core / 4),
            }
        };
        (0..16).map(cpu).collect()
    }

    #[track_caller]
    fn check(choice: CpuChoice, expect: [u32; 16]) {
        let ordered = choice.order(&cpu_positions(&server()));
        let cpus: Vec<u32> = ordered.iter().map(|position| position.cpu).collect();
        assert_eq!(cpus, expect);
    }

    #[test]
    fn sets_of_cpus() {
        check(
            CpuChoice::Pack,
            [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        );
        check(
            CpuChoice::Spread,
            [0, 4, 2, 6, 1, 5, 3, 7, 8, 12, 10, 14, 9, 13, 11, 15],
        );
    }

    #[test]
    fn positions_tell_groups_apart() {
        let positions = cpu_positions(&server());
        let last = positions[13];
        assert_eq!(
            (last.socket, last.cluster, last.core, last.thread),
            (1, 2, 5, 1)
        );
        let unknown = [3, 7].map(|number| CpuTopology {
            number,
            ..CpuTopology::default()
        });
        let positions = cpu_positions(&unknown);
        assert_ne!(positions[0].core, positions[1].core);
        assert_eq!(positions[0].cluster, positions[1].cluster);
        assert_eq!([positions[0].thread, positions[1].thread], [0, 0]);
    }

    #[test]
    fn counts_double() {
        assert_eq!(doubling_counts(0), [0; 0]);
        assert_eq!(doubling_counts(1), [1]);
        assert_eq!(doubling_counts(5), [1, 2, 4, 5]);
        assert_eq!(doubling_counts(8), [1, 2, 4, 8]);
    }
}
