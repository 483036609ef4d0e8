//! Cores that the guest's CPUs run on, numbered from 0, and how far they are from each other.

use alloc::vec::Vec;

use crate::cpu_set::CpuSet;
use crate::topology::{CpuDistance, CpuPlace, MachineTopology};

/// Cores of the guest's CPUs.
#[derive(Clone, Debug)]
pub(crate) struct CoreMap {
    /// Core of each CPU.
    core_of: Vec<u16>,
    /// CPUs of each core.
    cpus: Vec<CpuSet>,
    /// Cores of the same cluster, by core.
    same_cluster: Vec<CpuSet>,
    /// Cores of the same socket, by core.
    same_socket: Vec<CpuSet>,
    /// Socket of each core.
    socket_of: Vec<u32>,
    sockets: u32,
}

impl CoreMap {
    pub(crate) fn new(topology: &MachineTopology, places: &[CpuPlace]) -> Self {
        let mut cores: Vec<u32> = places.iter().map(|place| place.core).collect();
        cores.sort_unstable();
        cores.dedup();
        let mut cpus = alloc::vec![CpuSet::default(); cores.len()];
        let mut core_of = Vec::with_capacity(places.len());
        for (cpu, place) in places.iter().enumerate() {
            let core = cores.partition_point(|&core| core < place.core);
            cpus[core].insert(cpu);
            core_of.push(core as u16);
        }
        let sets = |group_of: &dyn Fn(u32) -> u32| -> Vec<CpuSet> {
            let set_of = |&core: &u32| {
                let mut set = CpuSet::default();
                let others = cores.iter().enumerate();
                others
                    .filter(|&(_, &other)| group_of(other) == group_of(core))
                    .for_each(|(at, _)| set.insert(at));
                set
            };
            cores.iter().map(set_of).collect()
        };
        Self {
            core_of,
            same_cluster: sets(&|core| topology.cluster_of(core)),
            same_socket: sets(&|core| topology.socket_of(core)),
            socket_of: { cores.iter() }
                .map(|&core| topology.socket_of(core))
                .collect(),
            sockets: topology.sockets,
            cpus,
        }
    }

    #[inline]
    pub(crate) fn core_of(&self, cpu: usize) -> usize {
        usize::from(self.core_of[cpu])
    }

    /// Returns the CPUs of a core.
    pub(crate) fn cpus_of(&self, core: usize) -> &CpuSet {
        &self.cpus[core]
    }

    /// Returns the turn of the socket of core `to` after that of core `from`, whose own turn is the last.
    pub(crate) fn socket_turn(&self, from: usize, to: usize) -> u32 {
        (self.socket_of[to] + self.sockets - 1 - self.socket_of[from]) % self.sockets
    }

    pub(crate) fn distance(&self, from: usize, to: usize) -> CpuDistance {
        self.farthest(from, &CpuSet::single(to))
    }

    /// Returns the distance of the farthest core of a set.
    pub(crate) fn farthest(&self, from: usize, cores: &CpuSet) -> CpuDistance {
        if !cores.is_within(&self.same_socket[from]) {
            CpuDistance::OtherSocket
        } else if !cores.is_within(&self.same_cluster[from]) {
            CpuDistance::SameSocket
        } else if !cores.without(from).is_empty() {
            CpuDistance::SameCluster
        } else {
            CpuDistance::SameCore
        }
    }

    /// Returns the distance of the nearest core of a set.
    pub(crate) fn nearest(&self, from: usize, cores: &CpuSet) -> CpuDistance {
        if cores.contains(from) {
            CpuDistance::SameCore
        } else if cores.meets(&self.same_cluster[from]) {
            CpuDistance::SameCluster
        } else if cores.meets(&self.same_socket[from]) {
            CpuDistance::SameSocket
        } else {
            CpuDistance::OtherSocket
        }
    }
}
