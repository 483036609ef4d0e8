//! Placement of the guest's CPUs on the machine's cores.

use alloc::vec::Vec;

use crate::CPUS_MAX;
use crate::topology::{CpuPlace, MachineTopology};

/// Way to place CPUs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CpuPlacement {
    /// Cores in order, so that a cluster and a socket fill before the next. Second threads come when all cores have one.
    Pack,
    /// Sockets in turn, and the clusters of each socket in turn. Second threads come when all cores have one.
    Spread,
    /// A thread of the machine for each CPU. Threads are numbered as Linux does: the first threads of all cores come
    /// before the second ones.
    List(Vec<u32>),
}

/// Reason for which CPUs have no place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlacementError {
    /// The machine has fewer threads than the guest has CPUs.
    TooFewThreads {
        /// Threads of the machine, or of the list.
        threads: u32,
    },
    /// The list names a thread that the machine does not have.
    NoSuchThread {
        /// Its number.
        thread: u32,
    },
    /// The list names a thread twice.
    ThreadTwice {
        /// Its number.
        thread: u32,
    },
    /// There are more CPUs than [`CPUS_MAX`].
    TooManyCpus,
}

impl CpuPlacement {
    /// Returns a place for each of `cpus` CPUs.
    ///
    /// ```
    /// use relayout_machine::{CpuPlacement, find_machine};
    ///
    /// let machine = &find_machine("milan-2s").expect("it is in the table").topology;
    /// let cores = |placement: CpuPlacement| -> Vec<u32> {
    ///     let places = placement.places(4, machine).expect("there is room");
    ///     places.iter().map(|place| place.core).collect()
    /// };
    /// assert_eq!(cores(CpuPlacement::Pack), [0, 1, 2, 3]);
    /// assert_eq!(cores(CpuPlacement::Spread), [0, 48, 8, 56]);
    /// assert_eq!(cores(CpuPlacement::List(vec![0, 96, 5, 6])), [0, 0, 5, 6]);
    /// ```
    pub fn places(
        &self,
        cpus: usize,
        topology: &MachineTopology,
    ) -> Result<Vec<CpuPlace>, PlacementError> {
        if cpus > CPUS_MAX {
            return Err(PlacementError::TooManyCpus);
        }
        let threads = match self {
            Self::Pack => (0..topology.all_threads()).collect(),
            Self::Spread => spread_threads(topology),
            Self::List(list) => {
                validate_list(list, topology)?;
                list.clone()
            }
        };
        if threads.len() < cpus {
            let threads = threads.len() as u32;
            return Err(PlacementError::TooFewThreads { threads });
        }
        let cores = topology.all_cores();
        let place = |thread: u32| CpuPlace {
            core: thread % cores,
            thread: thread / cores,
        };
        Ok(threads.into_iter().take(cpus).map(place).collect())
    }
}

fn validate_list(list: &[u32], topology: &MachineTopology) -> Result<(), PlacementError> {
    for (at, &thread) in list.iter().enumerate() {
        if thread >= topology.all_threads() {
            return Err(PlacementError::NoSuchThread { thread });
        }
        if list[..at].contains(&thread) {
            return Err(PlacementError::ThreadTwice { thread });
        }
    }
    Ok(())
}

/// Returns all threads: those that come first are as far from each other as possible.
fn spread_threads(topology: &MachineTopology) -> Vec<u32> {
    let cores = topology.all_cores();
    let mut order: Vec<u32> = (0..cores).collect();
    let in_socket = |core: u32| core % topology.cores.max(1);
    let cluster_cores = topology.cluster_cores.clamp(1, topology.cores.max(1));
    order.sort_by_key(|&core| {
        let (cluster, nth) = (
            in_socket(core) / cluster_cores,
            in_socket(core) % cluster_cores,
        );
        (nth, cluster, topology.socket_of(core))
    });
    (0..topology.threads.max(1))
        .flat_map(|thread| order.iter().map(move |core| thread * cores + core))
        .collect()
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::{CpuPlacement, PlacementError};
    use crate::machines::find_machine;

    #[test]
    fn second_threads_come_last() {
        let machine = find_machine("cascade-lake-2s").expect("known").topology;
        for placement in [CpuPlacement::Pack, CpuPlacement::Spread] {
            let places = placement.places(96, &machine).expect("it has 96 threads");
            assert!(places[..48].iter().all(|place| place.thread == 0));
            assert!(places[48..].iter().all(|place| place.thread == 1));
            assert_eq!(places[0].core, places[48].core);
        }
    }

    #[test]
    fn no_room() {
        let machine = find_machine("graviton3-1s").expect("known").topology;
        let error = |placement: CpuPlacement, cpus| placement.places(cpus, &machine).unwrap_err();
        let threads = 64;
        assert_eq!(
            error(CpuPlacement::Pack, 65),
            PlacementError::TooFewThreads { threads }
        );
        assert_eq!(
            error(CpuPlacement::List(vec![1, 64]), 2),
            PlacementError::NoSuchThread { thread: 64 }
        );
        assert_eq!(
            error(CpuPlacement::List(vec![1, 1]), 2),
            PlacementError::ThreadTwice { thread: 1 }
        );
        assert_eq!(
            error(CpuPlacement::Spread, 513),
            PlacementError::TooManyCpus
        );
    }
}
